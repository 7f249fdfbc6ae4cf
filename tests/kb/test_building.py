"""Building a knowledge base, and the columns of strings that it is made of."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb import Entity, KnowledgeBase, columns
from synsetmine.kb.base import KnowledgeBuilder, clean_name
from synsetmine.kb.columns import Strings
from synsetmine.normalization import normal_form
from tests.support.kbentities import HAFNIUM, HEART, names, tidy

quick = settings(max_examples=60, deadline=None)

NO_NAME = "a name without a letter or digit"
NO_ENTITY = "an entity without a usable name"
LOOP = "replaced ids that form a cycle"


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
    skipped = ErrorCounts()
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
    skipped = ErrorCounts()
    kb = KnowledgeBase.of([HEART, broken, HAFNIUM], skipped=skipped)
    assert list(kb) == [HEART.id, HAFNIUM.id]  # nothing of the broken one stays behind
    assert len(skipped) == 1


def test_replaced_ids_are_followed_and_loops_broken() -> None:
    skipped = ErrorCounts()
    replaced = {"old": "older", "older": "a", "l1": "l2", "l2": "l1", "in": "l1", "gone": "far"}
    replaced |= {"self": "self", "b": "a"}
    kb = KnowledgeBase.of(
        [Entity("a", "x"), Entity("b", "y")], replacements=replaced, skipped=skipped
    )
    assert dict(kb.retired_ids()) == {"old": "a", "older": "a"}
    assert [kb.current(i) for i in ("a", "b", "old", "l1", "in", "gone", "far", "self")] == [
        "a", "b", "a", None, None, None, None, None,
    ]  # fmt: skip
    assert skipped.counts == {LOOP: 3}
    with pytest.raises(DataError, match="an entity needs an id"):
        KnowledgeBase.of([HEART], replacements={"": "D006333"})


def test_a_long_chain_of_replaced_ids_is_followed_to_its_end() -> None:
    chain = {str(number): str(number + 1) for number in range(1000)}
    kb = KnowledgeBase.of([Entity("1000", "x")], replacements=chain)
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
    skipped = ErrorCounts()
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
    assert dict(kb.retired_ids()) == {"Old": "Newest", "New": "Newest"}
    assert skipped.counts == {LOOP: 2}


def test_many_blocks_make_one_knowledge_base(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [Entity(str(i % 70), f"name {i}", (f"alias {i % 9}",)) for i in range(200)]
    whole = KnowledgeBase.of(listed)
    monkeypatch.setattr(columns, "BLOCK", 7)
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
    assert list(Strings.of(array.slice(1, 2))) == ["bc", ""]
    assert list(Strings.of(array.slice(4))) == []
    assert Strings.of(array.slice(2)).find("déf") == 1
