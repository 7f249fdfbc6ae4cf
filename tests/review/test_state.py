"""The sets as they are now: what decisions do, undo, the queue, and other runs' sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.review import Decision, Kind, QueueFilter, ReviewedSet, ReviewState
from synsetmine.review.decisions import standing_decisions
from synsetmine.runs import Judgement, MinedSet
from tests.support.reviewparts import mined_set, mined_sets, some_decision

ASPIRIN = mined_set("D1", "aspirin", "ASA:0.9", "acetylsalicylic acid:0.6", entity="D1")
HEART = mined_set("s2", "heart attack", "myocardial infarction:0.8", "angina:0.55")
LONE = mined_set("s3", "stroke")


class Desk:
    """A person at a desk: decides, stores nothing, but numbers and stamps as a store does."""

    def __init__(self, *mined: MinedSet) -> None:
        self.state = ReviewState(mined)
        self.made: list[Decision] = []

    def __call__(self, kind: Kind, set_id: str, *terms: str, **others: str) -> Decision:
        decision = self.state.decide(kind, set_id, reviewer="ann", terms=terms, **others)  # type: ignore[arg-type]
        return self.take(decision)

    def take(self, decision: Decision) -> Decision:
        stamped = decision.stamp(f"2026-01-01T00:00:{len(self.made):06.3f}Z")
        self.made.append(stamped)
        self.state.apply(stamped)
        return stamped

    def undo(self, decision: Decision) -> None:
        self.take(replace(decision, kind="undo", undoes=decision.id))

    def terms(self) -> dict[str, tuple[str, ...]]:
        return {found.id: found.keys for found in self.state.sets}


def image(state: ReviewState) -> tuple[list[ReviewedSet], object, object]:
    """All that can be seen of a state."""
    everything = QueueFilter(status=frozenset(state.progress), min_size=1)
    return state.sets, state.progress, state.queue(everything, count=1000)


def verdicts(found: ReviewedSet) -> dict[str, str]:
    return {
        term.text: f"{term.judgement.verdict} {term.judgement.scope}"
        for term in found.mined.terms
        if term.judgement
    }


def test_accepting_calls_all_terms_correct() -> None:
    desk = Desk(ASPIRIN, HEART)
    made = desk("accept", "D1")
    found = desk.state["D1"]
    assert found.status == "accepted"
    assert {t.judgement for t in found.mined.terms} == {
        Judgement("correct", "exact", "ann", made.when)
    }
    assert desk.state["s2"] == ReviewedSet(HEART)


def test_accepting_leaves_what_was_judged_before() -> None:
    desk = Desk(HEART)
    desk("judge", "s2", "angina", verdict="correct", scope="related")
    desk("judge", "s2", "heart attack", verdict="unsure")
    assert desk.state.progress["changed"] == 1
    made = desk("accept", "s2", scope="narrow")
    assert made.terms == ("myocardial infarction", "angina")
    assert verdicts(desk.state["s2"]) == {
        "heart attack": "unsure exact",
        "myocardial infarction": "correct narrow",
        "angina": "correct related",
    }
    assert desk.state["s2"].status == "accepted"


def test_a_removed_term_is_a_set_of_its_own() -> None:
    desk = Desk(HEART)
    desk("judge", "s2", "angina", verdict="incorrect")
    made = desk("remove", "s2", "angina")
    assert desk.terms() == {
        "s2": ("heart attack", "myocardial infarction"),
        made.other: ("angina",),
    }
    assert desk.state[made.other].mined.terms[0].judgement is None
    assert desk.state.progress == {
        "open": 0,
        "changed": 1,
        "accepted": 0,
        "rejected": 0,
        "unsure": 0,
    }
    desk("accept", "s2")
    desk("remove", "s2", "heart attack")
    assert desk.state["s2"].status == "accepted"


def test_a_split_keeps_the_id_for_those_that_stay() -> None:
    desk = Desk(ASPIRIN)
    desk("rename", "D1", "ASA")
    assert desk.state["D1"].mined.preferred == "ASA"
    made = desk("split", "D1", "ASA", "acetylsalicylic acid")
    assert desk.terms() == {"D1": ("aspirin",), made.other: ("ASA", "acetylsalicylic acid")}
    rest, new = desk.state["D1"].mined, desk.state[made.other].mined
    assert (rest.entity, rest.preferred) == ("D1", "")
    assert (new.entity, new.preferred) == (None, "")


def test_a_merge_takes_the_other_set_in_with_its_entity() -> None:
    desk = Desk(ASPIRIN, HEART)
    desk("accept", "D1")
    desk("merge", "s2", other="D1")
    (found,) = desk.state.sets
    assert found.keys == (*ReviewedSet(HEART).keys, *ReviewedSet(ASPIRIN).keys)
    assert (found.id, found.mined.entity, found.status) == ("s2", "D1", "changed")
    assert set(verdicts(found)) == set(ReviewedSet(ASPIRIN).keys)


def test_two_accepted_sets_make_an_accepted_one() -> None:
    desk = Desk(ASPIRIN, HEART)
    for set_id in ("D1", "s2"):
        desk("accept", set_id)
    desk("merge", "D1", other="s2")
    assert desk.state["D1"].status == "accepted"


@pytest.mark.parametrize(("kind", "status"), [("reject", "rejected"), ("unsure", "unsure")])
def test_a_whole_set_is_rejected_or_left(kind: Kind, status: str) -> None:
    desk = Desk(HEART)
    desk(kind, "s2")
    assert desk.state["s2"].status == status
    assert desk.state["s2"].mined == HEART
    desk("judge", "s2", "angina", verdict="correct")
    assert desk.state["s2"].status == "changed"


def test_undo_brings_everything_back() -> None:
    desk = Desk(ASPIRIN, HEART, LONE)
    before = image(desk.state)
    first = desk("merge", "s2", other="s3")
    between = image(desk.state)
    second = desk("split", "s2", "angina", "stroke")
    desk.undo(second)
    assert image(desk.state) == between
    desk.undo(first)
    assert image(desk.state) == before


def test_impossible_decisions_are_refused() -> None:
    desk = Desk(ASPIRIN, LONE)
    for kind, set_id, terms, others, problem in (
        ("accept", "s9", (), {}, "there is no such set: 's9'"),
        ("merge", "D1", (), {"other": "s9"}, "there is no such set: 's9'"),
        ("merge", "D1", (), {"other": "D1"}, "merge needs another set: 'D1'"),
        ("remove", "D1", ("stroke",), {}, "the set has no such term: 'stroke'"),
        ("remove", "D1", ("ASA", "aspirin"), {}, "remove takes one term"),
        ("remove", "s3", ("stroke",), {}, "remove must leave a term in the set"),
        ("split", "D1", (), {}, "split needs a term: 'D1'"),
        ("judge", "D1", ("ASA",), {}, "judge needs a verdict: 'D1'"),
        ("judge", "D1", ("ASA",), {"verdict": "maybe"}, "verdict must be one of correct"),
        ("accept", "D1", (), {"scope": "wide"}, "scope must be one of exact, broad"),
        ("rename", "D1", (), {}, "rename takes one term"),
        ("praise", "D1", (), {}, "kind must be one of accept"),
    ):
        with pytest.raises(DataError, match=problem):
            desk.state.decide(kind, set_id, reviewer="ann", terms=terms, **others)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="needs a reviewer"):
        desk.state.decide("accept", "D1", reviewer=" ")
    with pytest.raises(DataError, match="not valid Unicode"):
        desk.state.decide("accept", "D1", reviewer="\udc80")


@st.composite
def histories(draw: st.DrawFn) -> tuple[Desk, list[tuple[object, ...]]]:
    """Some decisions, with what the state looked like before each."""
    desk = Desk(*draw(mined_sets()))
    images: list[tuple[object, ...]] = []
    for _ in range(draw(st.integers(0, 8))):
        if decision := some_decision(draw, desk.state):
            images.append(image(desk.state))
            desk.take(decision)
    return desk, images


def check_partition(state: ReviewState, terms: Sequence[str]) -> None:
    """Each term is in one set, and the queue has every set once, in order."""
    assert sorted(key for found in state.sets for key in found.keys) == sorted(terms)
    assert all(found.mined.terms for found in state.sets)
    assert [found.position() for found in state.sets] == sorted(
        found.position() for found in state.sets
    )
    assert len({found.id for found in state.sets}) == len(state) == len(state.sets)
    for found in state.sets:
        assert state[found.id] is found
    several = [found.status for found in state.sets if len(found.keys) > 1]
    assert {s: several.count(s) for s in state.progress} == state.progress


@settings(deadline=None)
@given(histories())
def test_any_decisions_keep_a_partition_and_undo_goes_back_step_by_step(
    history: tuple[Desk, list[tuple[object, ...]]],
) -> None:
    desk, images = history
    terms = [key for mined in desk.state._mined for key in ReviewedSet(mined).keys]
    check_partition(desk.state, terms)
    folded = ReviewState(desk.state._mined, reversed(desk.made))
    assert image(folded) == image(desk.state)
    assert set(folded.extents.values()) <= {"whole"}
    for before, decision in zip(
        reversed(images), reversed(standing_decisions(desk.made)), strict=True
    ):
        desk.undo(decision)
        assert image(desk.state) == before
        check_partition(desk.state, terms)
    assert desk.state.extents == {}


@settings(deadline=None)
@given(st.data())
def test_an_undo_in_any_order_gives_what_stands(data: st.DataObject) -> None:
    """A store refuses what others depend on, but files may be merged in any way."""
    desk, _ = data.draw(histories())
    for decision in data.draw(st.permutations(standing_decisions(desk.made))):
        desk.undo(decision)
        again = ReviewState(desk.state._mined, standing_decisions(desk.made))
        assert image(desk.state) == image(again)


@pytest.mark.slow
@settings(deadline=None)
@given(st.data())
def test_decisions_that_come_in_late_are_put_in_their_place(data: st.DataObject) -> None:
    desk, _ = data.draw(histories())
    late = ReviewState(desk.state._mined)
    for decision in data.draw(st.permutations(desk.made)):
        late.apply(decision)
        late.apply(decision)  # once is enough
    assert image(late) == image(desk.state)


@settings(deadline=None)
@given(histories(), mined_sets())
def test_decisions_on_other_sets_keep_a_partition(
    history: tuple[Desk, list[tuple[object, ...]]], other: list[MinedSet]
) -> None:
    desk, _ = history
    state = ReviewState(other, desk.made)
    check_partition(state, [key for mined in other for key in ReviewedSet(mined).keys])
    assert set(state.extents) == {decision.id for decision in desk.made}
    there = {key for mined in other for key in ReviewedSet(mined).keys}
    for decision in desk.made:
        if there.isdisjoint(decision.members) and there.isdisjoint(decision.others):
            assert state.extents[decision.id] == "none"


def after_another_run(decision: Decision, *mined: MinedSet) -> tuple[ReviewState, str]:
    state = ReviewState(mined, [decision])
    return state, state.extents[decision.id]


def test_an_accepted_set_is_found_again_under_another_id() -> None:
    made = Desk(ASPIRIN)("accept", "D1")
    state, extent = after_another_run(
        made, mined_set("x", "aspirin", "ASA", "acetylsalicylic acid", "Bayer:0.7")
    )
    assert extent == "whole"
    assert state["x"].status == "changed"  # somebody has to look at the new name
    assert "Bayer" not in verdicts(state["x"])
    state, extent = after_another_run(made, mined_set("x", "ASA", "aspirin"))
    assert (state["x"].status, extent) == ("accepted", "part")


def test_what_was_accepted_together_comes_together() -> None:
    made = Desk(ASPIRIN)("accept", "D1")
    state, extent = after_another_run(
        made, mined_set("x", "ASA", "aspirin"), mined_set("y", "acetylsalicylic acid", "acid")
    )
    assert state["x"].keys == ("ASA", "aspirin", "acetylsalicylic acid")
    assert (state["x"].status, state["y"].keys, extent) == ("accepted", ("acid",), "whole")


def test_a_removed_term_that_is_elsewhere_already_stays_there() -> None:
    made = Desk(HEART)("remove", "s2", "angina")
    state, extent = after_another_run(
        made, mined_set("x", "angina", "chest pain"), mined_set("y", "heart attack")
    )
    assert {s.id: s.keys for s in state.sets} == {
        "x": ("angina", "chest pain"),
        "y": ("heart attack",),
    }
    assert extent == "part"  # one of the three terms is gone
    _, extent = after_another_run(made, mined_set("x", "angina"))
    assert extent == "none"


def test_a_rejected_set_with_new_terms_is_to_be_reviewed() -> None:
    made = Desk(HEART)("reject", "s2")
    same, _ = after_another_run(made, mined_set("x", "angina", "heart attack"))
    assert same["x"].status == "rejected"
    more, extent = after_another_run(made, mined_set("x", "angina", "heart attack", "stroke"))
    assert (more["x"].status, extent) == ("open", "none")


def test_the_least_certain_come_first_and_those_without_probability_last() -> None:
    sets = [
        mined_set("sure", "a", "b:0.9"),
        mined_set("none", "c", "d"),
        mined_set("unsure", "e", "f:0.4", "g:0.99"),
        mined_set("one", "h"),
    ]
    state = ReviewState(sets)
    page = state.queue(QueueFilter())
    assert [found.id for found in page.sets] == ["unsure", "sure", "none"]
    assert (page.total, page.after) == (3, None)
    assert state["none"].position() == (math.inf, "none")


def test_filters() -> None:
    desk = Desk(
        ASPIRIN, HEART, mined_set("D7", "fever", "pyrexia", entity="D7", name="Fever"), LONE
    )
    desk("unsure", "s2")

    def ids(wanted: QueueFilter) -> set[str]:
        return {found.id for found in desk.state.queue(wanted).sets}

    assert ids(QueueFilter()) == {"D1", "D7"}
    assert ids(QueueFilter(status=frozenset({"unsure"}))) == {"s2"}
    assert ids(QueueFilter(seeded=True)) == {"D1", "D7"}
    assert ids(QueueFilter(new_names=True)) == {"D1"}
    assert ids(QueueFilter(text="SALICYL")) == {"D1"}
    assert ids(QueueFilter(text="fever")) == {"D7"}
    assert ids(QueueFilter(text="s3", min_size=1)) == {"s3"}
    assert ids(QueueFilter(min_size=3)) == {"D1"}


def test_pages_go_on_where_the_last_one_ended() -> None:
    desk = Desk(*(mined_set(f"s{i}", f"a{i}", f"b{i}:0.{i}") for i in range(1, 8)))
    first = desk.state.queue(QueueFilter(), count=3)
    assert [found.id for found in first.sets] == ["s1", "s2", "s3"]
    for set_id in ("s2", "s3", "s5"):
        desk("accept", set_id)
    second = desk.state.queue(QueueFilter(), after=first.after, count=3)
    assert [found.id for found in second.sets] == ["s4", "s6", "s7"]
    assert (second.total, second.after) == (4, None)


class Looked(dict[str, ReviewedSet]):
    """Sets that count how often one was looked for."""

    count = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.count += 1
        return super().get(key, default)


def test_a_thousand_splits_to_one_id() -> None:
    mined = [mined_set(f"s{i}", f"a{i}", f"b{i}") for i in range(1000)]
    state = ReviewState(mined)
    state._sets = looked = Looked(state._sets)
    for i in range(1000):
        state.apply(
            Decision(
                kind="split",
                reviewer="ann",
                set_id=f"s{i}",
                members=(f"a{i}", f"b{i}"),
                terms=(f"b{i}",),
                other="new",
            ).stamp(f"2026-01-01T00:00:{i // 1000:02}.{i % 1000:03}Z")
        )
    assert {state.home(f"b{i}").id for i in range(1000)} == {  # type: ignore[union-attr]
        "new",
        *(f"new-{number}" for number in range(2, 1001)),
    }
    assert looked.count < 10_000


class Compared(str):
    """A text that counts how often it was compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Compared.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_decision_on_a_large_set_compares_no_term_with_all_others() -> None:
    members = tuple(f"t{i}" for i in range(2000))
    terms = tuple(map(Compared, reversed(members)))
    others = tuple(Compared(f"u{i}") for i in range(2000))
    Compared.compared = 0
    common: dict[str, Any] = {"reviewer": "ann", "set_id": "s", "members": members}
    Decision(kind="judge", terms=terms, verdict="correct", **common)
    Decision(kind="merge", other="o", others=others, **common)
    assert Compared.compared < 10_000


@pytest.mark.slow
def test_a_hundred_thousand_sets_and_ten_thousand_decisions() -> None:
    mined = [
        mined_set(f"s{i}", *(f"t{i}-{j}:0.{i % 90 + 10}" for j in range(3))) for i in range(100_000)
    ]
    fresh = ReviewState(mined)
    kinds: list[Kind] = ["accept", "remove", "merge", "judge", "reject"]
    made = []
    for i in range(10_000):
        kind, set_id = kinds[i % 5], f"s{3 * i}"
        terms = fresh[set_id].keys[:1] if kind in ("remove", "judge") else ()
        decision = fresh.decide(
            kind,
            set_id,
            reviewer="ann",
            terms=terms,
            verdict="incorrect" if kind == "judge" else None,
            other=f"s{3 * i + 1}" if kind == "merge" else "",
        )
        minutes = f"{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}"
        made.append(decision.stamp(f"2026-01-01T{minutes}.000Z"))
    for decision in made:
        fresh.apply(decision)
    assert fresh.queue(QueueFilter(text="t5")).total > 1000
    fresh.apply(fresh.decide("accept", "s1", reviewer="ann").stamp("2027-01-01T00:00:00.000Z"))
    assert fresh.progress["accepted"] == 2001
    assert fresh.progress["rejected"] == 2000
