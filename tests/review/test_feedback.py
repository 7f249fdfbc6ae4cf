"""What reviews say to export, training and mining."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.review import Decision, ReviewState, ReviewStore
from synsetmine.review.decisions import write_decisions
from synsetmine.review.feedback import (
    Constraints,
    cannot_link_pairs,
    find_decisions,
    reviewed_sets,
    seed_sets,
    training_sets,
)
from synsetmine.runs import MinedSet
from synsetmine.types import SynonymSets, Term
from tests.review.test_state import Desk, histories
from tests.support.reviewparts import mined_set, mined_sets


def sets(**members: str) -> SynonymSets:
    return SynonymSets.of([map(Term, text.split()) for text in members.values()], members)


def shown(found: SynonymSets) -> dict[str, str]:
    return {i: " ".join(map(str, m)) for i, m in zip(found.ids, found, strict=True)}


def pairs(found: Iterable[tuple[Term, Term]]) -> set[str]:
    return {f"{gone}-{stayed}" for gone, stayed in found}


def desk_of(**members: str) -> Desk:
    return Desk(*(mined_set(i, *text.split()) for i, text in members.items()))


def test_removed_terms_are_apart_from_those_that_stay() -> None:
    desk = desk_of(X="a b c d")
    desk("remove", "X", "c")
    assert pairs(cannot_link_pairs(desk.made)) == {"c-a", "c-b", "c-d"}
    desk("remove", "X", "d")  # of c and d nothing is known, but that neither belongs there
    assert pairs(cannot_link_pairs(desk.made)) == {"c-a", "c-b", "d-a", "d-b"}


def test_of_two_wrong_terms_nothing_is_said_however_they_were_found() -> None:
    desk = desk_of(X="a b c d")
    desk("judge", "X", "c", verdict="incorrect")
    desk("remove", "X", "d")
    assert pairs(cannot_link_pairs(desk.made)) == {"c-a", "c-b", "d-a", "d-b"}


def test_split_reject_and_incorrect_tell_apart() -> None:
    desk = desk_of(X="a b c d", Y="e f g", Z="h i j")
    desk("split", "X", "c", "d")
    desk("reject", "Y")
    desk("judge", "Z", "j", verdict="incorrect")
    assert pairs(cannot_link_pairs(desk.made)) == {
        *("c-a", "c-b", "d-a", "d-b"),
        *("e-f", "f-e", "e-g", "g-e", "f-g", "g-f"),
        *("j-h", "j-i"),
    }
    for decision in list(desk.made):
        desk.undo(decision)
    assert cannot_link_pairs(desk.made) == frozenset()


def test_what_is_not_a_name_is_apart_and_is_reported() -> None:
    desk = desk_of(X="a b c d")
    desk("judge", "X", "c", verdict="not-a-name")
    desk("judge", "X", "d", verdict="not-a-name")
    desk("judge", "X", "d", verdict="correct")
    constraints = Constraints.from_decisions(desk.made)
    assert constraints.not_names == {Term("c")}
    assert pairs(constraints.cannot_link) == {"c-a", "c-b"}
    assert constraints.alone == {Term("c")}


def test_the_last_word_counts() -> None:
    desk = desk_of(X="a b c", Y="d e")
    gone = desk("remove", "X", "c")
    desk("merge", "X", other=gone.other)
    assert cannot_link_pairs(desk.made) == frozenset()
    desk("judge", "Y", "d", verdict="incorrect")
    desk("judge", "Y", "e", verdict="correct")  # e was never wrong, d still is
    assert pairs(cannot_link_pairs(desk.made)) == {"d-e"}
    desk("judge", "Y", "d", verdict="correct")
    assert cannot_link_pairs(desk.made) == frozenset()
    desk("reject", "Y")
    desk("accept", "Y")
    assert cannot_link_pairs(desk.made) == frozenset()


def test_a_rejected_pair_is_apart_until_both_terms_are_accepted() -> None:
    desk = desk_of(X="a b")
    desk("reject", "X")
    desk("accept", "X", "a")
    assert pairs(cannot_link_pairs(desk.made)) == {"b-a"}
    desk("accept", "X", "b")
    assert cannot_link_pairs(desk.made) == frozenset()
    assert shown(Constraints.from_decisions(desk.made).must_link) == {"X": "a b"}


def test_correct_terms_are_together() -> None:
    desk = desk_of(X="a b c", Y="d e f", Z="g h", W="i j")
    desk("judge", "X", "c", verdict="correct", scope="broad")
    desk("accept", "X")
    desk("judge", "Y", "d", "e", verdict="correct")
    desk("accept", "Z")
    desk("reject", "Z")
    desk("judge", "W", "i", verdict="correct")
    said = Constraints.from_decisions(desk.made)
    assert shown(said.must_link) == {"X": "a b c", "Y": "d e"}
    assert shown(said.exact) == {"X": "a b", "Y": "d e"}


def test_what_is_said_needs_no_mined_sets_and_outlives_them() -> None:
    first = desk_of(X="a b", Y="c d")
    first("accept", "X")
    second = desk_of(X="a b c", Z="d e")  # another run
    second.made += first.made
    second("remove", "X", "c")
    second("accept", "Z")
    said = Constraints.from_decisions(second.made)
    assert shown(said.must_link) == {"X": "a b", "Z": "d e"}
    assert pairs(said.cannot_link) == {"c-a", "c-b"}


@settings(deadline=None)
@given(histories())
def test_correct_terms_of_a_state_are_those_said(history: tuple[Desk, object]) -> None:
    desk, _ = history
    said = Constraints.from_decisions(desk.made)
    expected = {
        frozenset(
            Term(t.text)
            for t in found.mined.terms
            if t.judgement is not None and t.judgement.verdict == "correct"
        )
        for found in desk.state.sets
        if found.status != "rejected"
    }
    assert said.must_link.partition == {members for members in expected if len(members) > 1}
    for members in said.must_link:
        assert not any((a, b) in said.cannot_link for a in members for b in members)


def test_sets_for_export() -> None:
    desk = desk_of(X="a b c", Y="d e", Z="f g", W="h i")
    gone = desk("remove", "X", "c")
    desk("accept", "X")
    desk("reject", "Y")
    desk("rename", "W", "i")
    mined = desk.state._mined

    def ids(found: Sequence[MinedSet]) -> list[str]:
        return [one.id for one in found]

    everything = reviewed_sets(mined, desk.made)
    assert ids(everything) == ["X", "Z", "W", gone.other]
    assert everything[2].preferred == "i"
    assert [t.judgement is not None for t in everything[0].terms] == [True, True]
    assert ids(reviewed_sets(mined, desk.made, accepted_only=True)) == ["X"]
    assert reviewed_sets(mined, []) == list(mined)


def test_accepted_sets_join_the_training_sets() -> None:
    training = sets(E1="k1 k2", E2="k3 k4", E3="k5 k6")
    desk = desk_of(E1="k1 k2 n1", S="n2 n3 n4", T="k3 n5", U="k5 k4 n6")
    for set_id in ("E1", "T", "U"):
        desk("accept", set_id)
    gone = desk("remove", "S", "n4")
    desk("accept", "S")
    informed = training_sets(training, Constraints.from_decisions(desk.made))
    assert shown(informed.sets) == {
        "E1": "k1 k2 n1",
        "E2": "k3 k4 n5",
        "E3": "k5 k6 n6",
        "S": "n2 n3",
        gone.other: "n4",  # alone it is a negative
    }
    assert informed.counts == {
        "sets": 1,
        "terms": 5,
        "terms that have another set": 1,  # k4 stays where it is
        "terms separated": 1,
    }


def test_a_known_name_that_was_removed_is_no_longer_trained_on() -> None:
    desk = desk_of(E1="k1 k2 n1")
    gone = desk("remove", "E1", "k2")
    informed = training_sets(sets(E1="k1 k2 k9", E2="k3 k4"), Constraints.from_decisions(desk.made))
    assert shown(informed.sets) == {"E1": "k1 k9", "E2": "k3 k4", gone.other: "k2"}
    assert informed.counts == {"terms separated": 1}


def test_negatives_are_terms_that_are_with_no_others() -> None:
    desk = desk_of(X="a b c", Y="d e", Z="f g h", W="i j")
    gone = desk("remove", "X", "c")
    desk("reject", "Y")
    desk("judge", "Z", "h", verdict="incorrect")
    assert Constraints.from_decisions(desk.made).alone == set(map(Term, "cdeh"))
    desk("merge", "W", other=gone.other)
    assert Constraints.from_decisions(desk.made).alone == set(map(Term, "deh"))


def test_entities_held_out_stay_unseen() -> None:
    desk = desk_of(E7="t1 n1", S="n2 t2", U="n3 n4", V="n5 t1x")
    for set_id in ("E7", "S", "U"):
        desk("accept", set_id)
    desk("reject", "V")
    informed = training_sets(
        sets(E1="k1 k2"),
        Constraints.from_decisions(desk.made),
        held_out=sets(E7="t1 t3", E8="t2 t4", E9="t1x t5"),
    )
    assert {"U", "E1"} <= set(informed.sets.ids)
    assert {str(t) for t in informed.sets.terms} == {"k1", "k2", "n3", "n4", "n5"}
    assert informed.counts["sets of entities held out"] == 2


def test_accepted_sets_are_seeds() -> None:
    known = sets(E1="k1 k2", E2="k3 k4", E3="k5 k6", E4="k7 k8")
    desk = desk_of(E1="k1 k2 n1", S="n2 n3", T="k3 n5", U="k5 k6 k7")
    for set_id in ("E1", "S", "T"):
        desk("accept", set_id)
    out = desk("split", "U", "k6", "k7")
    desk("accept", out.other)
    informed = seed_sets(known, Constraints.from_decisions(desk.made))
    assert shown(informed.sets) == {
        "E1": "k1 k2 n1",
        "E2": "k3 n5 k4",  # a known name comes in, and the known id stays
        "E3": "k5",
        "E4": "k6 k7 k8",
        "S": "n2 n3",
    }
    assert informed.counts == {"sets": 4, "cannot-link pairs": 2}


def test_seeds_lose_what_was_kept_apart() -> None:
    known = sets(E1="k1 k2", E2="k3 k4", E3="k5 k6 k7")
    desk = desk_of(E1="k1 k2 n1", E2="k3 k4", E3="k5 k6")
    desk("remove", "E1", "k2")
    desk("accept", "E1")
    desk("reject", "E2")
    desk("judge", "E3", "k6", verdict="incorrect")
    informed = seed_sets(known, Constraints.from_decisions(desk.made))
    assert shown(informed.sets) == {"E1": "k1 n1", "E3": "k5 k7"}
    assert informed.counts == {"sets": 1, "terms separated": 4, "cannot-link pairs": 4}


def test_known_names_that_were_kept_apart_do_not_join_an_accepted_set_together() -> None:
    desk = desk_of(X="a b e", Y="c d")
    desk("remove", "X", "a")
    desk("accept", "Y")
    informed = seed_sets(sets(E1="a b c"), Constraints.from_decisions(desk.made))
    assert shown(informed.sets) == {"E1": "c d b"}
    assert informed.counts == {"sets": 1, "terms separated": 1, "cannot-link pairs": 2}


def test_without_decisions_nothing_changes() -> None:
    known = sets(E1="k1 k2", E2="k3")
    assert seed_sets(known, Constraints.from_decisions([])).sets == known
    assert training_sets(known, Constraints.from_decisions([])).sets == known


@settings(deadline=None)
@given(histories(), mined_sets(terms="abcdefghijklmn"))
def test_seeds_and_training_sets_hold_no_pair_that_is_apart(
    history: tuple[Desk, object], known: list[MinedSet]
) -> None:
    desk, _ = history
    said = Constraints.from_decisions(desk.made)
    given_sets = SynonymSets.of(
        [[Term(t.text) for t in one.terms] for one in known], [one.id for one in known]
    )
    for informed in (seed_sets(given_sets, said), training_sets(given_sets, said)):
        for members in informed.sets:
            assert not any((a, b) in said.cannot_link for a in members for b in members)
    seeds = seed_sets(given_sets, said).sets
    for members in said.must_link:
        assert len(set(seeds.labels(members))) == 1
    trained = training_sets(given_sets, said).sets
    assert said.alone <= set(trained.terms)


def test_decisions_are_found_in_a_run_a_store_or_a_file(tmp_path: Path) -> None:
    with pytest.raises(SynsetmineError, match="has no reviews yet"):
        find_decisions(tmp_path)
    with ReviewStore(tmp_path / "reviews.sqlite") as store:
        made = [store.add(Decision(kind="unsure", reviewer="ann", set_id="s", members=("a",)))]
    write_decisions(tmp_path / "reviews.tsv", made)
    for place in (tmp_path, tmp_path / "reviews.sqlite", tmp_path / "reviews.tsv"):
        assert find_decisions(place) == made
    with pytest.raises(DataError, match=r"nothing\.tsv: No such file"):
        find_decisions(tmp_path / "nothing.tsv")
    with pytest.raises(DataError, match=r"nothing\.sqlite: No such file"):
        find_decisions(tmp_path / "nothing.sqlite")
    assert not (tmp_path / "nothing.sqlite").exists()


def test_rejecting_a_known_entity_keeps_its_known_names() -> None:
    known = mined_set("D1", "ulcer", "peptic ulcer", "gastritis:0.6", "reflux:0.7", entity="D1")
    state = ReviewState([known])
    judged = state.decide("judge", "D1", reviewer="ann", terms=["reflux"], verdict="not-a-name")
    state.apply(judged.stamp("2026-01-01T00:00:00.000Z"))
    reject = state.decide("reject", "D1", reviewer="ann").stamp("2026-01-02T00:00:00.000Z")
    assert reject.terms == ("gastritis", "reflux")
    state.apply(reject)
    assert state["D1"].status == "rejected"
    assert [term.verdict for term in state["D1"].mined.terms] == [
        *(None, None, "incorrect", "not-a-name")
    ]
    (kept,) = reviewed_sets([known], [reject])
    assert [term.text for term in kept.terms if not term.is_wrong] == ["ulcer", "peptic ulcer"]
    assert reviewed_sets([known], [reject], accepted_only=True) == []
    pairs = cannot_link_pairs([reject])
    going, staying = ("gastritis", "reflux"), ("ulcer", "peptic ulcer")
    assert pairs == {(Term(one), Term(other)) for one in going for other in staying}
    before = SynonymSets.of([[Term("ulcer"), Term("peptic ulcer")]], ["D1"])
    assert seed_sets(before, Constraints.from_decisions([reject])).sets == before


def test_a_set_without_known_or_new_names_is_rejected_as_a_whole() -> None:
    for found in (mined_set("s1", "a:0.6", "b"), mined_set("D1", "a", "b", entity="D1")):
        reject = ReviewState([found]).decide("reject", found.id, reviewer="ann")
        assert reject.terms == ()
        assert reviewed_sets([found], [reject.stamp("2026-01-02T00:00:00.000Z")]) == []
