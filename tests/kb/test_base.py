"""The look-ups of the knowledge base, against a naive one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.kb import Entity, KnowledgeBase, page_of
from synsetmine.normalization import normal_form, tokens
from tests.support.kbentities import HAFNIUM, HEART, entities, ids, names, tidy

quick = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kb")


@dataclass
class Naive:
    """A knowledge base of dictionaries, written for reading."""

    known: dict[str, dict[str, str]] = field(default_factory=dict)  # entity -> form -> name
    replaced: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, entities: Sequence[Entity], replaced: Mapping[str, str]) -> Naive:
        preferred: dict[str, list[str]] = {}
        others: dict[str, list[str]] = {}
        for entity in entities:
            preferred.setdefault(entity.id, []).append(entity.name)
            others.setdefault(entity.id, []).extend(entity.names)
        naive = cls(replaced=replaced)
        for entity_id in preferred:
            names: dict[str, str] = {}
            for name in map(tidy, preferred[entity_id] + others[entity_id]):
                if normal_form(name):
                    names.setdefault(normal_form(name), name)
            if names:
                naive.known[entity_id] = names
        return naive

    def entities_named(self, surface: str) -> set[str]:
        return {entity for entity, names in self.known.items() if normal_form(surface) in names}

    def current(self, entity: str) -> str | None:
        seen = set()
        while entity not in self.known:
            if entity in seen or entity not in self.replaced:
                return None
            seen.add(entity)
            entity = self.replaced[entity]
        return entity


@given(st.lists(entities, max_size=12), st.dictionaries(ids, ids, max_size=8), names)
@example([HEART, HAFNIUM], {}, "hf")
@example([Entity("a", "+"), Entity("b", "x")], {"a": "b"}, "x")
@quick
def test_every_answer_is_that_of_a_naive_knowledge_base(
    listed: list[Entity], replaced: dict[str, str], other: str
) -> None:
    kb = KnowledgeBase.of(listed, replacements=replaced)
    naive = Naive.of(listed, replaced)
    assert list(kb) == list(naive.known)
    assert len(kb) == len(naive.known)
    assert kb.name_count == sum(map(len, naive.known.values()))
    for entity, known in naive.known.items():
        assert tuple(known.values()) == kb.names(entity)
        assert kb.name(entity) == kb.names(entity)[0]
    surfaces = [other, *(name for e in listed for name in (e.name, *e.names))]
    for surface in surfaces:
        assert set(kb.entities_named(surface)) == naive.entities_named(surface)
        for entity in naive.known:
            forms = {normal_form(surface), " ".join(tokens(surface))}
            assert kb.knows(entity, surface) == bool(forms & set(naive.known[entity]) - {""})
    for entity in ("a", "b", "c", "d", "Q1", "DOID:1", "http://x/é", "plumless", "buckeroo", "z"):
        assert (entity in kb) == (entity in naive.known)
        assert kb.current(entity) == naive.current(entity)
    assert dict(kb.retired_ids()) == {
        old: naive.current(old)
        for old in replaced
        if old not in naive.known and naive.current(old) is not None
    }


@given(st.lists(entities, max_size=12))
@quick
def test_forms_and_rows_lead_from_a_form_to_its_entities(listed: list[Entity]) -> None:
    kb = KnowledgeBase.of(listed)
    forms = kb.forms.to_pylist()
    assert len(set(forms)) == len(forms)
    assert set(forms) == {normal_form(name) for entity in kb for name in kb.names(entity)}
    assert kb.form_starts[0] == 0
    assert kb.form_starts[-1] == len(kb.form_entities) == kb.name_count
    by_row = kb.ids.to_pylist()
    assert list(kb) == by_row
    for number, form in enumerate(forms):
        assert kb.form_number(form) == number
        rows = kb.form_entities[kb.form_starts[number] : kb.form_starts[number + 1]]
        named = tuple(by_row[row] for row in rows)
        assert named == kb.entities_of_form(number) == kb.entities_named(form)
        assert len(set(named)) == len(named)
        prefers = [kb.preferred_forms[row] == number for row in rows]
        assert prefers == [normal_form(kb.name(entity)) == form for entity in named]
        assert prefers == sorted(prefers, reverse=True)
    assert kb.ambiguous_forms.tolist() == [
        number for number in range(len(forms)) if len(kb.entities_of_form(number)) > 1
    ]


def test_the_filter_of_the_paper() -> None:
    usa = Entity("Q30", "United States of America", ("USA", "U.S.", "America"))
    kb = KnowledgeBase.of([usa, Entity("Q408", "U.S. Steel", ("United States Steel",))])
    assert kb.knows("Q30", "America")
    assert kb.knows("Q30", "united-states of AMERICA")
    assert not kb.knows("Q30", "U.S. Steel")
    assert kb.knows("Q408", "u.s. steel")
    assert not kb.knows("Q30", "usa")  # a short name in capitals is found in its own case only
    assert not kb.knows("Q30", "...")
    assert not kb.knows("nobody", "America")


def test_those_that_prefer_a_name_come_first() -> None:
    kb = KnowledgeBase.of([Entity("1", "x", ("common cold",)), Entity("2", "Common Cold")])
    assert kb.entities_named("common-cold") == ("2", "1")


def test_an_entity_that_is_not_known_is_reported() -> None:
    kb = KnowledgeBase.of([HEART])
    for look in (kb.name, kb.names):
        with pytest.raises(DataError, match="the knowledge base has no such entity: 'D1'"):
            look("D1")
    with pytest.raises(IndexError):
        kb.entities_of_form(len(kb.forms))
    with pytest.raises(IndexError):
        kb.entities_of_form(-1)
    assert 7 not in kb
    assert "\ud800" not in kb
    assert kb.entities_named("\ud800") == ()


def test_an_empty_knowledge_base_answers(tmp_path: Path) -> None:
    empty = KnowledgeBase.of([])
    empty.save(tmp_path / "x.kb")
    for kb in (empty, KnowledgeBase.load(tmp_path / "x.kb")):
        assert (len(kb), kb.name_count, list(kb), len(kb.forms)) == (0, 0, [], 0)
        assert kb.entities_named("x") == ()
        assert kb.current("x") is None
        assert kb.ambiguous_forms.tolist() == []


def test_a_name_known_in_small_letters_may_be_written_in_capitals() -> None:
    kb = KnowledgeBase.of([Entity("E1", "usa", ("united states",)), Entity("E2", "AIDS")])
    assert kb.knows("E1", "USA")
    assert not kb.knows("E2", "aids")
    assert not kb.knows("E2", "USA")


@pytest.mark.parametrize(
    ("entity", "page"),
    [
        ("http://purl.obolibrary.org/obo/X_1", "http://purl.obolibrary.org/obo/X_1"),
        ("MONDO:0005148", "https://bioregistry.io/MONDO:0005148"),
        ("mesh:D003920", "https://bioregistry.io/mesh:D003920"),
        ("D003920", "https://meshb.nlm.nih.gov/record/ui?ui=D003920"),
        ("C000589", ""),
        ("C0011849", "https://uts.nlm.nih.gov/uts/umls/concept/C0011849"),
        ("Q3025883", "https://www.wikidata.org/wiki/Q3025883"),
        ("Talk:Diabetes", ""),
        ("javascript:alert", ""),
        ("https://", ""),
        ("", ""),
    ],
)
def test_ids_that_lead_to_a_page(entity: str, page: str) -> None:
    assert page_of(entity) == page


def test_definitions() -> None:
    kb = KnowledgeBase.of(
        [
            Entity("b", "B"),
            Entity("a", "A", (), " One\n\tof   two. "),
            Entity("a", "A", (), "Two."),
            Entity("c", "!", (), "It has no name."),
            Entity("d", "D", (), "x" * 5000),
            Entity("e", "E", (), "half \ud800"),
        ]
    )
    assert [kb.definition(entity) for entity in "abce"] == ["One of two.", "", "", ""]
    assert kb.definition("d") == "x" * 1000
    assert kb.definition("unknown") == ""
