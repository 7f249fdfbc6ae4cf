"""Training sets from links."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.linking import supervision
from synsetmine.linking.supervision import known_sets, split_entities, supervise
from synsetmine.normalization import normal_form
from synsetmine.types import Ambiguous, Link, SynonymSets, Term


class Names:
    """A knowledge base of the plainest kind."""

    def __init__(self, **names: set[str]) -> None:
        self._forms = {entity: set(map(normal_form, of)) for entity, of in names.items()}

    def __contains__(self, entity: object) -> bool:
        return entity in self._forms

    def known_form(self, entity: str, surface: str) -> str | None:
        form = normal_form(surface)
        return form if form in self._forms[entity] else None


def surfaces(sets: SynonymSets) -> list[set[str]]:
    return [{term.surface for term in members} for members in sets]


def test_the_example_of_the_paper() -> None:
    """The U.S. Steel, located in Pennsylvania, USA, is a leading steel producer in America."""
    kb = Names(united_states={"USA", "America", "United States", "U.S."})
    links = [
        Link("U.S. Steel", "united_states", 1),
        Link("USA", "united_states", 1),
        Link("America", "united_states", 1),
    ]
    found = supervise(links, kb, min_count=1)
    assert surfaces(found.sets) == [{"USA", "America"}]
    assert found.sets.ids == ("united_states",)
    assert found.dropped[supervision.UNKNOWN_NAME].examples == (links[0],)
    assert found.rejected == {Term("U.S. Steel"): 1}
    assert (found.kept.links, found.kept.mentions) == (2, 2)


def test_every_fate_is_reported() -> None:
    kb = Names(a={"one", "first", "shared"}, b={"two", "second", "shared", "tie"}, c={"tie"})
    links = [
        Link("one", "a", 9),
        Link("first", "a", 8),
        Link("two", "b", 7),
        Link("second", "b", 1),
        Link("nobody", "x", 3),
        Link("wrong", "a", 4),
        Link("--", "a", 5),
        Link("shared", "a", 6),
        Link("shared", "b", 5),
        Link("tie", "b", 2),
        Link("tie", "c", 2),
    ]
    found = supervise(links, kb, min_count=2)
    assert found.sets == SynonymSets.of([[Term("one"), Term("first"), Term("shared")]], ["a"])
    fates = {reason: tally.examples for reason, tally in found.dropped.items()}
    assert fates == {
        supervision.NO_WORD: (links[6],),
        supervision.UNKNOWN_ENTITY: (links[4],),
        supervision.UNKNOWN_NAME: (links[5],),
        supervision.RARE: (links[3],),
        supervision.SEVERAL: (links[9], links[10]),
        supervision.LOST: (links[8],),
        supervision.ALONE: (links[2],),
    }
    assert found.counts == {Term("one"): 9, Term("first"): 8, Term("two"): 7, Term("shared"): 6}
    assert found.alone == SynonymSets.of([[Term("two")]], ["b"])
    assert set(found.rejected) == {Term("nobody"), Term("wrong"), Term("second"), Term("tie")}


def test_surfaces_of_one_normal_form_are_one_term_as_written_most_often() -> None:
    kb = Names(d={"Heart Failure", "cardiac failure"})
    links = [
        Link("heart-failure", "d", 2),
        Link("Heart failure", "d", 3),
        Link("HEART FAILURE", "d", 1),
        Link("cardiac failure", "d", 1),
    ]
    found = supervise(links, kb, min_count=1)
    assert found.sets.sets == ((Term("Heart failure"), Term("cardiac failure")),)
    assert found.counts[Term("Heart failure")] == 6


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("skip", [{"A1"}, {"B1"}]),
        ("common", [{"A1", "x"}, {"B1"}]),
        ("senses", [{"A1", "x||a"}, {"B1", "x||b"}]),
    ],
)
def test_a_surface_that_names_several_entities(policy: Ambiguous, expected: list[set[str]]) -> None:
    kb = Names(a={"A1", "x"}, b={"B1", "x"})
    links = [Link("A1", "a", 5), Link("B1", "b", 5), Link("x", "a", 5), Link("x", "b", 3)]
    found = supervise(links, kb, min_count=2, min_terms=1, ambiguous=policy)
    assert [{str(term) for term in members} for members in found.sets] == expected


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(DataError, match="'guess'"):
        supervise([], Names(), ambiguous="guess")  # type: ignore[arg-type]


some_links = st.lists(
    st.builds(
        Link,
        surface=st.sampled_from(["a", "A", "a-b", "A B", "b", "WHO", "who", "!", "c"]),
        entity=st.sampled_from(["e1", "e2", "e3", "e4"]),
        count=st.integers(1, 4),
    ),
    max_size=25,
)


@given(some_links, st.sampled_from(["skip", "common", "senses"]), st.randoms())
def test_nothing_is_lost_and_the_order_of_links_is_no_matter(
    links: list[Link], policy: Ambiguous, chance: random.Random
) -> None:
    kb = Names(e1={"a", "a b", "WHO"}, e2={"b", "a", "who"}, e3={"c", "b", "a"})
    found = supervise(links, kb, ambiguous=policy)
    mentions = found.kept.mentions + sum(tally.mentions for tally in found.dropped.values())
    assert mentions == sum(link.count for link in links)
    shuffled = links.copy()
    chance.shuffle(shuffled)
    again = supervise(shuffled, kb, ambiguous=policy)
    assert again == found
    known = {normal_form(term.surface) for term in found.counts}
    assert not known & {normal_form(term.surface) for term in found.rejected}
    assert known | {normal_form(term.surface) for term in found.rejected} == {
        form for link in links if (form := normal_form(link.surface))
    }
    for entity, members in zip(found.sets.ids, found.sets, strict=True):
        assert all(kb.known_form(entity, term.surface) for term in members)


@given(
    st.lists(st.sets(st.integers(0, 30), min_size=1, max_size=4), min_size=2, max_size=15),
    st.floats(0.05, 0.95),
    st.integers(0, 5),
)
def test_a_split_by_entity_shares_no_surface(
    numbers: list[set[int]], fraction: float, seed: int
) -> None:
    sets = SynonymSets.of(
        [[Term(f"t{n}", f"e{i}") for n in members] for i, members in enumerate(numbers)]
    )
    # A surface that all sets share leaves nothing to split.
    sets = SynonymSets.of([*sets, [Term("apart")]])
    training, test = split_entities(sets, fraction, seed=seed)
    assert sorted(training.ids + test.ids) == sorted(sets.ids)
    assert min(len(training), len(test)) > 0
    assert not {t.surface for t in training.terms} & {t.surface for t in test.terms}
    assert (training, test) == split_entities(sets, fraction, seed=seed)


def test_a_split_takes_about_the_share_asked_for() -> None:
    sets = SynonymSets.of([[Term(f"a{i}"), Term(f"b{i}")] for i in range(200)])
    sizes = Counter(len(split_entities(sets, 0.2, seed=seed)[1]) for seed in range(5))
    assert sizes == {40: 5}


@pytest.mark.parametrize("senses", ["", "a", "ab"])
def test_where_all_entities_share_a_surface_none_is_held_out(senses: str) -> None:
    sets = SynonymSets.of([[Term("x", sense)] for sense in senses])
    assert split_entities(sets, 0.5, seed=0) == (sets, SynonymSets((), ()))


def test_a_name_in_capitals_is_no_synonym_of_itself() -> None:
    kb = KnowledgeBase.of([Entity("D1", "gold"), Entity("D2", "AIDS", ("aids syndrome",))])
    links = [Link("gold", "D1", 5), Link("GOLD", "D1", 3), Link("AIDS", "D2", 4)]
    found = supervise([*links, Link("aids", "D2", 9)], kb, min_count=1)
    assert found.counts == {Term("gold"): 8, Term("AIDS"): 4}
    assert found.rejected == {Term("aids"): 9}


def test_a_group_too_large_for_the_test_share_stays_for_training() -> None:
    chained = [[Term(f"t{i}", f"e{i}"), Term(f"t{i + 1}", f"e{i}")] for i in range(60)]
    apart = [[Term(f"a{i}"), Term(f"b{i}")] for i in range(40)]
    sets = SynonymSets.of([*chained, *apart])
    for seed in range(10):
        assert len(split_entities(sets, 0.2, seed=seed)[1]) == 20


@st.composite
def knowledge_with_seen_names(draw: st.DrawFn) -> tuple[KnowledgeBase, SynonymSets, set[str]]:
    """A knowledge base with shared names, some of them in a corpus, and entities to leave out."""
    names = st.sampled_from(["HF", "hf", "Heart", "heart-failure", "Heart Failure", "AIDS", "aids"])
    ids = draw(st.lists(st.sampled_from("abcde"), min_size=1, unique=True))
    kb = KnowledgeBase.of(
        Entity(i, draw(names), tuple(draw(st.lists(names, max_size=4)))) for i in ids
    )
    free = {form for entity in kb for form in map(normal_form, kb.names(entity))}
    seen: dict[str, list[Term]] = {}
    for entity in kb:
        for form in sorted({*map(normal_form, kb.names(entity))} & free):
            if draw(st.booleans()):
                seen.setdefault(entity, []).append(Term(form))
                free.remove(form)
    left_out = draw(st.sets(st.sampled_from(ids)))
    return kb, SynonymSets.of(seen.values(), seen.keys()), left_out


@given(knowledge_with_seen_names())
def test_known_sets_hold_each_name_once(
    drawn: tuple[KnowledgeBase, SynonymSets, set[str]],
) -> None:
    kb, seen, left_out = drawn
    sets = known_sets(kb, seen, without=left_out)
    home = {
        normal_form(term.surface): set_id
        for set_id, members in zip(sets.ids, sets, strict=True)
        for term in members
    }
    assert len(home) == len(sets.terms)  # no form twice
    assert left_out.isdisjoint(sets.ids)
    assert list(sets.ids) == [entity for entity in kb if entity in sets.ids]
    seen_home = {
        term.surface: set_id
        for set_id, members in zip(seen.ids, seen, strict=True)
        for term in members
    }
    forms_of = {entity: [normal_form(name) for name in kb.names(entity)] for entity in kb}
    every = {form for forms in forms_of.values() for form in forms}
    owners = {form: [e for e in kb if form in forms_of[e]] for form in every}
    for form, entities in owners.items():
        if form in seen_home:  # linking has decided
            expected = None if seen_home[form] in left_out else seen_home[form]
        elif len(entities) == 1:
            expected = None if entities[0] in left_out else entities[0]
        else:  # the first entity that prefers it
            preferring = [e for e in entities if forms_of[e][0] == form and e not in left_out]
            expected = preferring[0] if preferring else None
        assert home.get(form) == expected, form


def test_known_sets_write_names_as_the_corpus_does() -> None:
    heart = Entity("H", "Heart Failure", ("Cardiac Failure", "HF"))
    hafnium = Entity("C", "HF", ("Hafnium",))
    kb = KnowledgeBase.of([heart, hafnium])
    seen = SynonymSets.of([[Term("cardiac failure"), Term("HF")]], ["H"])
    sets = known_sets(kb, seen)
    assert sets.ids == ("H", "C")
    assert [[str(term) for term in members] for members in sets] == [
        ["Heart Failure", "cardiac failure", "HF"],
        ["Hafnium"],
    ]
    without = known_sets(kb, seen, without={"H"})
    assert [[str(term) for term in members] for members in without] == [["Hafnium"]]


def test_known_sets_write_names_as_the_vocabulary_does() -> None:
    """A linker may leave out names that the vocabulary has, such as those of other fields."""
    heart = Entity("H", "Heart Failure", ("Cardiac Failure", "HF"))
    hafnium = Entity("C", "Hafnium", ("HF", "celtium"))
    kb = KnowledgeBase.of([heart, hafnium])
    seen = SynonymSets.of([[Term("cardiac failure")]], ["H"])
    vocabulary = [Term("heart-failure"), Term("CARDIAC FAILURE"), Term("HF"), Term("Celtium")]
    sets = known_sets(kb, seen, vocabulary=[*vocabulary, Term("hafnium", "C"), Term("zinc")])
    assert [[str(term) for term in members] for members in sets] == [
        ["heart-failure", "cardiac failure"],  # linking has decided on the second
        ["Hafnium", "Celtium"],
    ]
