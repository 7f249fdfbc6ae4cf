"""The knowledge base: look-ups against a naive one, and the file it is saved in."""

from __future__ import annotations

import pickle
import random
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError, Skipped
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.kb.building import KnowledgeBuilder
from synsetmine.kb.names import clean_name
from synsetmine.kb.strings import Column, Strings, Texts
from synsetmine.text import normal_form, tokens
from tests.strategies import PIECES

quick = settings(max_examples=60, deadline=None)

NO_NAME = "a name without a letter or digit"
NO_ENTITY = "an entity without a usable name"
LOOP = "a replaced id that leads back to itself"

HEART = Entity("D006333", "Heart Failure", ("Cardiac Failure", "heart-failure", "HF"))
HAFNIUM = Entity("C001", "Hafnium", ("Hf", "HF"))


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


def tidy(name: str) -> str:
    composed = unicodedata.normalize("NFC", name)
    plain = [" " if unicodedata.category(c) == "Cc" or c.isspace() else c for c in composed]
    return " ".join(word for word in "".join(plain).split(" ") if word)


pieces = st.sampled_from([p for p in PIECES if p.isprintable() or p.isspace()])
names = st.lists(pieces | st.text(max_size=3), min_size=1, max_size=4).map("".join)
ids = st.sampled_from(["a", "b", "c", "d", "Q1", "DOID:1", "http://x/é", "plumless", "buckeroo"])
entities = st.builds(Entity, ids, names, st.lists(names, max_size=4).map(tuple))


# --- Look-ups ---------------------------------------------------------------------------------


@given(st.lists(entities, max_size=12), st.dictionaries(ids, ids, max_size=8), names)
@example([HEART, HAFNIUM], {}, "hf")
@example([Entity("a", "+"), Entity("b", "x")], {"a": "b"}, "x")
@quick
def test_every_answer_is_that_of_a_naive_knowledge_base(
    listed: list[Entity], replaced: dict[str, str], other: str
) -> None:
    kb = KnowledgeBase.of(listed, replaced=replaced)
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
        assert kb.is_ambiguous(surface) == (len(naive.entities_named(surface)) > 1)
        for entity in naive.known:
            forms = {normal_form(surface), " ".join(tokens(surface))}
            assert kb.knows(entity, surface) == bool(forms & set(naive.known[entity]) - {""})
    for entity in ("a", "b", "c", "d", "Q1", "DOID:1", "http://x/é", "plumless", "buckeroo", "z"):
        assert (entity in kb) == (entity in naive.known)
        assert kb.current(entity) == naive.current(entity)
    assert dict(kb.replaced()) == {
        old: naive.current(old)
        for old in replaced
        if old not in naive.known and naive.current(old) is not None
    }
    assert kb.replaced_count == len(dict(kb.replaced()))


@given(st.lists(entities, max_size=12))
@quick
def test_forms_and_rows_lead_from_a_form_to_its_entities(listed: list[Entity]) -> None:
    kb = KnowledgeBase.of(listed)
    forms = kb.forms.to_pylist()
    assert len(set(forms)) == len(forms)
    assert set(forms) == {normal_form(name) for entity in kb for name in kb.names(entity)}
    assert kb.form_starts[0] == 0
    assert kb.form_starts[-1] == len(kb.form_entities) == kb.name_count
    assert [kb.entity_at(row) for row in range(len(kb))] == list(kb) == kb.ids.to_pylist()
    for number, form in enumerate(forms):
        assert kb.form_number(form) == number
        rows = kb.form_entities[kb.form_starts[number] : kb.form_starts[number + 1]]
        named = tuple(kb.entity_at(int(row)) for row in rows)
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


def test_an_entity_that_is_not_known_is_told() -> None:
    kb = KnowledgeBase.of([HEART])
    for look in (kb.name, kb.names):
        with pytest.raises(DataError, match="the knowledge base has no such entity: 'D1'"):
            look("D1")
    with pytest.raises(IndexError):
        kb.entities_of_form(len(kb.forms))
    with pytest.raises(IndexError):
        kb.entities_of_form(-1)
    with pytest.raises(IndexError):
        kb.entity_at(1)
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


# --- Building ---------------------------------------------------------------------------------


@given(names)
@quick
def test_names_are_cleaned(name: str) -> None:
    cleaned = clean_name(name)
    assert cleaned == tidy(name)
    assert clean_name(cleaned) == cleaned
    assert normal_form(cleaned) == normal_form(unicodedata.normalize("NFC", name))


def test_names_have_no_tabs_line_ends_or_control_characters() -> None:
    entity = Entity("a", " cafe\u0301\tau\r\nlait \0", ("x\x85y\u2028z\xa0",))
    assert KnowledgeBase.of([entity]).names("a") == ("café au lait", "x y z")


def test_entities_with_one_id_become_one() -> None:
    listed = [Entity("a", "one", ("two",)), Entity("b", "x"), Entity("a", "three", ("One.", "4"))]
    kb = KnowledgeBase.of(listed)
    assert list(kb) == ["a", "b"]
    assert kb.name("a") == "one"
    assert sorted(kb.names("a")) == ["4", "one", "three", "two"]


def test_what_has_no_name_is_left_out_and_counted() -> None:
    skipped = Skipped()
    listed = [Entity("a", "+", ("x", "!?")), Entity("b", "…", ("",)), Entity("c", "y")]
    kb = KnowledgeBase.of(listed, skipped=skipped)
    assert list(kb) == ["a", "c"]
    assert kb.names("a") == ("x",)
    assert skipped.counts == {NO_NAME: 4, NO_ENTITY: 1}
    assert str(skipped.examples[NO_NAME][0]) == f"{NO_NAME}: '+'"
    assert str(skipped.examples[NO_ENTITY][0]) == f"{NO_ENTITY}: 'b'"
    assert list(KnowledgeBase.of(listed)) == ["a", "c"]


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (Entity("", "x"), "an entity needs an id: ''"),
        (Entity(" \t", "x"), r"an entity needs an id: ' \\t'"),
        (Entity("\ud800", "x"), r"ids and names must be valid Unicode: '\\ud800'"),
        (Entity("x", "a\ud800"), r"ids and names must be valid Unicode: 'a\\ud800'"),
        (Entity("x", "a", ("b", "\udfff")), r"ids and names must be valid Unicode: '\\udfff'"),
    ],
)
def test_broken_ids_and_names_are_refused_or_counted(broken: Entity, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        KnowledgeBase.of([HEART, broken])
    skipped = Skipped()
    kb = KnowledgeBase.of([HEART, broken, HAFNIUM], skipped=skipped)
    assert list(kb) == [HEART.id, HAFNIUM.id]  # nothing of the broken one stays behind
    assert len(skipped) == 1


def test_replaced_ids_are_followed_and_loops_broken() -> None:
    skipped = Skipped()
    replaced = {"old": "older", "older": "a", "l1": "l2", "l2": "l1", "in": "l1", "gone": "far"}
    replaced |= {"self": "self", "b": "a"}
    kb = KnowledgeBase.of([Entity("a", "x"), Entity("b", "y")], replaced=replaced, skipped=skipped)
    assert dict(kb.replaced()) == {"old": "a", "older": "a"}
    assert [kb.current(i) for i in ("a", "b", "old", "l1", "in", "gone", "far", "self")] == [
        "a", "b", "a", None, None, None, None, None,
    ]  # fmt: skip
    assert skipped.counts == {LOOP: 3}
    with pytest.raises(DataError, match="an entity needs an id"):
        KnowledgeBase.of([HEART], replaced={"": "D006333"})


def test_a_long_chain_of_replaced_ids_is_followed_to_its_end() -> None:
    chain = {str(number): str(number + 1) for number in range(1000)}
    kb = KnowledgeBase.of([Entity("1000", "x")], replaced=chain)
    assert {kb.current(old) for old in chain} == {"1000"}


def test_names_in_any_order_and_with_ranks() -> None:
    builder = KnowledgeBuilder()
    builder.add("a", ["third"], rank=2)
    builder.add("b", ["other"], rank=5)
    builder.add("a", ["first", "second"])
    builder.add("a", ["Third", "First,"], rank=1)
    builder.leave_out("b")
    builder.leave_out("never seen")
    builder.replace("b", "a")
    kb = KnowledgeBase(builder.columns())
    assert list(kb) == ["a"]
    assert kb.names("a") == ("first", "second", "Third")
    assert kb.current("b") == "a"
    assert kb.forms.to_pylist() == ["third", "first", "second"]  # `other` has gone with its entity


def test_with_merging_the_names_of_a_replaced_id_go_to_what_replaced_it() -> None:
    skipped = Skipped()
    builder = KnowledgeBuilder(skipped=skipped)
    builder.add("New", ["Old"], rank=2)
    builder.replace("Old", "New")
    builder.add("Newest", ["New"], rank=2)
    builder.replace("New", "Newest")
    builder.add("Newest", ["Newest"])
    builder.add("A", ["B"])
    builder.replace("B", "A")
    builder.add("B", ["A"])
    builder.replace("A", "B")
    builder.add("C", ["C"])
    builder.replace("C", "Outside")
    kb = KnowledgeBase(builder.columns(merge=True))
    assert list(kb) == ["Newest", "C"]
    assert kb.names("Newest") == ("Newest", "Old", "New")
    assert dict(kb.replaced()) == {"Old": "Newest", "New": "Newest"}
    assert skipped.counts == {LOOP: 2}


def test_many_blocks_make_one_knowledge_base(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [Entity(str(i % 70), f"name {i}", (f"alias {i % 9}",)) for i in range(200)]
    whole = KnowledgeBase.of(listed)
    monkeypatch.setattr(Column, "BLOCK", 7)
    blocks = KnowledgeBase.of(listed)
    assert [blocks.names(entity) for entity in blocks] == [whole.names(entity) for entity in whole]


# --- Strings ----------------------------------------------------------------------------------


@given(st.lists(names, unique=True, max_size=30), names)
@example(["plumless", "buckeroo", ""], "x")  # the first two have the same checksum
@quick
def test_strings_are_found_by_their_checksums(texts: list[str], other: str) -> None:
    strings = Strings.of(pa.array(texts, pa.large_string()))
    assert list(strings) == texts
    for number, text in enumerate(texts):
        assert strings.find(text) == number
        assert strings[number] == text
    assert (strings.find(other) is None) == (other not in texts)


def test_a_part_of_an_array_can_be_read() -> None:
    array = pa.array(["a", "bc", "", "déf"], pa.large_string())
    assert list(Texts(array.slice(1, 2))) == ["bc", ""]
    assert list(Texts(array.slice(4))) == []
    assert Strings.of(array.slice(2)).find("déf") == 1


# --- Saving and loading -----------------------------------------------------------------------


@given(st.lists(entities, max_size=8), st.dictionaries(ids, ids, max_size=8))
@quick
def test_what_is_saved_is_loaded(
    folder: Path, listed: list[Entity], replaced: dict[str, str]
) -> None:
    kb = KnowledgeBase.of(listed, replaced=replaced)
    kb.save(folder / "x.kb")
    for same in (KnowledgeBase.load(folder / "x.kb"), pickle.loads(pickle.dumps(kb))):
        assert [(e, same.names(e)) for e in same] == [(e, kb.names(e)) for e in kb]
        assert same.forms == kb.forms
        assert list(same.replaced()) == list(kb.replaced())
        for ours, theirs in (
            (same.form_starts, kb.form_starts),
            (same.form_entities, kb.form_entities),
            (same.preferred_forms, kb.preferred_forms),
        ):
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)
        for entity in kb:
            assert all(same.knows(entity, name) for name in kb.names(entity))


def test_the_same_knowledge_base_makes_the_same_file(tmp_path: Path) -> None:
    for name in ("1.kb", "2.kb"):
        KnowledgeBase.of([HEART, HAFNIUM], replaced={"x": "C001"}).save(tmp_path / name)
    assert (tmp_path / "1.kb").read_bytes() == (tmp_path / "2.kb").read_bytes()


def test_a_loaded_knowledge_base_can_be_used_up_loaded_and_saved_again(tmp_path: Path) -> None:
    path = tmp_path / "x.kb"
    KnowledgeBase.of([HEART, HAFNIUM]).save(path)
    kb = pickle.loads(pickle.dumps(KnowledgeBase.load(path)))
    assert kb.names("C001") == ("Hafnium", "Hf", "HF")
    loaded = KnowledgeBase.load(path)
    loaded.save(path)  # over the file that it is mapped from
    assert loaded.names("C001") == KnowledgeBase.load(path).names("C001") == kb.names("C001")


def test_damaged_files_are_told(tmp_path: Path) -> None:
    kb = KnowledgeBase.of([Entity(f"e{i}", f"name {i}", (f"n {i % 7}",)) for i in range(20)])
    path = tmp_path / "x.kb"
    kb.save(path)
    good = path.read_bytes()
    rng = random.Random(0)
    broken = [good[:size] for size in (0, 1, 8, 100, len(good) // 2, len(good) - 1)]
    for _ in range(150):
        place = rng.randrange(len(good))
        broken.append(
            good[:place] + bytes([good[place] ^ (1 << rng.randrange(8))]) + good[place + 1 :]
        )
    told = []
    for content in broken:
        path.write_bytes(content)
        try:
            same = KnowledgeBase.load(path)
        except DataError as error:
            told.append(str(error))
        else:  # what changed was only filling
            assert [same.names(entity) for entity in same] == [kb.names(entity) for entity in kb]
    assert len(told) > len(broken) / 2
    assert all(message.startswith(f"{path}: ") for message in told)


def test_changed_letters_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.kb"
    KnowledgeBase.of([HEART]).save(path)
    path.write_bytes(path.read_bytes().replace(b"Cardiac", b"Cordiac"))
    with pytest.raises(DataError, match="a damaged knowledge base: its checksum is another"):
        KnowledgeBase.load(path)


def test_other_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path / 'gone.kb'}: "):
        KnowledgeBase.load(tmp_path / "gone.kb")
    with pytest.raises(DataError, match=f"{tmp_path}: "):
        KnowledgeBase.load(tmp_path)
    path = tmp_path / "x.kb"
    path.write_text("id,name\n1,x\n")
    with pytest.raises(DataError, match="not a knowledge base, or a damaged one"):
        KnowledgeBase.load(path)
    table = pa.table({"id": ["1"]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match="not a knowledge base that was saved by this program"):
        KnowledgeBase.load(path)
    schema = table.schema.with_metadata({"form": "synsetmine.kb", "version": "99"})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match="of another version of this program: read it anew: '99'"):
        KnowledgeBase.load(path)


def test_an_interrupted_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.kb"
    KnowledgeBase.of([HEART]).save(path)

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        KnowledgeBase.of([HAFNIUM]).save(path)
    assert list(KnowledgeBase.load(path)) == [HEART.id]
    assert [file.name for file in tmp_path.iterdir()] == ["x.kb"]


def test_a_name_known_in_small_letters_may_be_written_in_capitals() -> None:
    kb = KnowledgeBase.of([Entity("E1", "usa", ("united states",)), Entity("E2", "AIDS")])
    assert kb.knows("E1", "USA")
    assert not kb.knows("E2", "aids")
    assert not kb.knows("E2", "USA")
