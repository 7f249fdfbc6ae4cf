"""Documents linked by the known names of a knowledge base."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.linking.linkers import DictionaryLinker, Linker
from synsetmine.linking.supervision import link_corpus, resolve_common
from synsetmine.normalization import normal_form
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import Document, Mention
from tests.support.corpusfiles import store_texts
from tests.text.test_matcher import plain_search

PLACES = {
    "US": ("United States", "USA", "US", "America"),
    "NYC": ("New York City", "New York", "Big Apple"),
    "NYS": ("New York", "NY", "Empire State"),
    "AM": ("America", "Americas"),
    "JP": ("日本", "Japan"),
}


def knowledge(names: Mapping[str, Sequence[str]] = PLACES) -> KnowledgeBase:
    return KnowledgeBase.of(Entity(i, first, tuple(rest)) for i, (first, *rest) in names.items())


def documents(texts: Iterable[str]) -> list[Document]:
    return [Document(f"d{number}", text) for number, text in enumerate(texts)]


def linked(linker: Linker, text: str) -> list[tuple[str, str]]:
    (mentions,) = linker.link(documents([text]))
    return [(text[m.start : m.end], m.entity) for m in mentions]


def test_every_name_is_linked_to_its_entity() -> None:
    linker = DictionaryLinker(knowledge())
    text = "From the united-states (USA, not usa) to 日本 and the Big Apple, New York City."
    assert linked(linker, text) == [
        ("united-states", "US"),
        ("USA", "US"),
        ("日本", "JP"),
        ("Big Apple", "NYC"),
        ("New York City", "NYC"),
    ]


def test_each_document_has_its_own_mentions() -> None:
    texts = ["Japan", "", "naïve", "no name", "日本 and Japan", "New", "York City"]
    assert DictionaryLinker(knowledge()).link(documents(texts)) == [
        (Mention(0, 5, "JP"),),
        (),
        (),
        (),
        (Mention(0, 2, "JP"), Mention(7, 12, "JP")),
        (),
        (),
    ]
    assert DictionaryLinker(knowledge()).link([]) == []


# --- Names of several entities ----------------------------------------------------------------

AMBIGUOUS = "New York in America, Japan"


def test_ambiguous_names_are_skipped() -> None:
    assert linked(DictionaryLinker(knowledge()), AMBIGUOUS) == [("Japan", "JP")]


def test_ambiguous_names_are_linked_to_each_entity() -> None:
    linker = DictionaryLinker(knowledge(), ambiguous="senses")
    assert linked(linker, AMBIGUOUS) == [
        ("New York", "NYS"),  # who prefers the name comes first
        ("New York", "NYC"),
        ("America", "AM"),
        ("America", "US"),
        ("Japan", "JP"),
    ]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"NYC": 2, "NYS": 1, "US": 1}, [("New York", "NYC"), ("America", "US")]),
        ({"NYC": 1, "NYS": 2}, [("New York", "NYS")]),
        ({"NYC": 3, "NYS": 3, "AM": 1}, [("America", "AM")]),
        ({}, []),
    ],
)
def test_ambiguous_names_go_to_the_most_common_entity(
    tmp_path: Path, seen: dict[str, int], expected: list[tuple[str, str]]
) -> None:
    alone = {"NYC": "Big Apple", "NYS": "Empire State", "US": "USA", "AM": "Americas"}
    texts = [AMBIGUOUS, *(alone[entity] for entity in seen for _ in range(seen[entity]))]
    out = tmp_path / "mentions.parquet"
    linker = DictionaryLinker(knowledge(), ambiguous="senses")
    link_corpus(store_texts([texts]), linker, out, engine=LocalEngine(1))
    assert resolve_common(out) == len(expected) + 1 + sum(seen.values())
    rows = pq.read_table(out).to_pylist()
    first = [(row["surface"], row["entity"]) for row in rows if row["document"] == 0]
    assert first == [*expected, ("Japan", "JP")]


def test_what_is_left_out_keeps_its_place() -> None:
    kb = knowledge({"a": ["New York City"], "b": ["New York City"], "c": ["York"]})
    assert linked(DictionaryLinker(kb), "New York City, York") == [("York", "c")]


# --- Names that are never linked --------------------------------------------------------------


def test_numbers_and_single_characters_are_not_linked() -> None:
    names = ["1984", "3 4", "½", "Ⅳ", "C", "C++", "C#", "水", "日本", "B2", "é", "3M", "x y"]
    kb = knowledge({name: [name] for name in names})
    text = "1984 3-4 ½ Ⅳ C, C++ C# 水 日本 B2 é 3M x-y"
    linkable = ["C++", "C#", "日本", "B2", "3M", "x y"]
    assert [entity for _, entity in linked(DictionaryLinker(kb), text)] == linkable


# --- Against a plain search -------------------------------------------------------------------

NAMES = [*"abcdef", "a b", "b a", "a b c", "AB", "ab", "CD", "cd", "1", "1 2", "a 1", "漢", "漢 漢"]


def plainly_linked(
    names: Mapping[str, Sequence[str]], text: str, ambiguous: str
) -> set[tuple[int, int, str]]:
    entities: dict[str, list[str]] = {}
    for entity, known in names.items():
        for form in {normal_form(name) for name in known}:
            entities.setdefault(form, []).append(entity)
    found: set[tuple[int, int, str]] = set()
    for _, start, end, form in plain_search(list(entities), [text]):
        if len(form.replace(" ", "")) < 2 or not any(map(str.isalpha, form)):
            continue
        chosen = entities[form]
        if len(chosen) > 1 and ambiguous == "skip":
            continue
        found.update((start, end, entity) for entity in chosen)
    return found


@given(
    st.dictionaries(
        st.sampled_from("vwxyz"), st.lists(st.sampled_from(NAMES), min_size=1), max_size=5
    ),
    st.lists(st.sampled_from([*"abcd12漢", "AB", "ab", "CD", "Cd"]), max_size=20).map(" ".join),
    st.sampled_from(["skip", "senses"]),
)
@settings(max_examples=300, deadline=None)
def test_it_links_what_a_plain_search_links(
    names: dict[str, list[str]], text: str, ambiguous: Literal["skip", "senses"]
) -> None:
    linker = DictionaryLinker(knowledge(names), ambiguous=ambiguous)
    (mentions,) = linker.link(documents([text]))
    found = [(m.start, m.end, m.entity) for m in mentions]
    assert [start for start, _, _ in found] == sorted(start for start, _, _ in found)
    assert len(set(found)) == len(found)
    assert set(found) == plainly_linked(names, text, ambiguous)


# --- Files and processes ----------------------------------------------------------------------


def test_a_linker_is_opened_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, names = tmp_path / "kb.arrow", tmp_path / "kb.names"
    knowledge().save(path)
    assert linked(DictionaryLinker.open(path, names), "Japan") == [("Japan", "JP")]
    assert NameMatcher.load(names).is_built_from(knowledge().forms)
    with monkeypatch.context() as patch:
        patch.delattr(NameMatcher, "build")  # it is there already
        linker = DictionaryLinker.open(path, names)
    assert linked(linker, AMBIGUOUS) == [("Japan", "JP")]
    knowledge({"x": ["Japan", "Nippon"]}).save(path)
    assert linked(DictionaryLinker.open(path, names), "Nippon") == [("Nippon", "x")]
    assert not NameMatcher.load(names).is_built_from(knowledge().forms)


def test_nothing_but_a_matcher_is_opened_or_overwritten(tmp_path: Path) -> None:
    path, names = tmp_path / "kb.arrow", tmp_path / "kb.names"
    knowledge().save(path)
    names.write_bytes(b"something of value")
    with pytest.raises(DataError, match=f"{names}: not a name matcher"):
        DictionaryLinker.open(path, names)
    assert names.read_bytes() == b"something of value"
    with pytest.raises(DataError, match=r"gone\.arrow: .*No such file"):
        DictionaryLinker.open(tmp_path / "gone.arrow", names)


def test_an_opened_linker_travels_as_two_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = knowledge({f"e{i}": [f"name {i}", f"n{i}"] for i in range(2000)})
    many.save(tmp_path / "kb.arrow")
    monkeypatch.chdir(tmp_path)
    linker = DictionaryLinker.open(Path("kb.arrow"), Path("kb.names"), ambiguous="senses")
    sent = pickle.dumps(linker)
    assert len(sent) < 1000
    monkeypatch.chdir("/")
    assert linked(pickle.loads(sent), "Name 7, n8") == [("Name 7", "e7"), ("n8", "e8")]


def test_parts_of_compounds_are_linked_on_request(tmp_path: Path) -> None:
    kb = knowledge({"E": ["Herzinfarkt"], "S": ["서울"]})
    kb.save(tmp_path / "kb.arrow")
    text = "Das Herzinfarktrisiko in 서울에서"
    for compounds in (False, True):
        opened = DictionaryLinker.open(
            tmp_path / "kb.arrow", tmp_path / "kb.names", compounds=compounds
        )
        for linker in (opened, DictionaryLinker(kb, compounds=compounds)):
            found = [("Herzinfarkt", "E")] * compounds + [("서울", "S")]
            assert linked(linker, text) == linked(pickle.loads(pickle.dumps(linker)), text) == found


@pytest.mark.parametrize("opened", [True, False])
def test_worker_processes_link_as_this_one_does(tmp_path: Path, opened: bool) -> None:
    kb = knowledge()
    kb.save(tmp_path / "kb.arrow")
    linker = (
        DictionaryLinker.open(tmp_path / "kb.arrow", tmp_path / "kb.names", ambiguous="senses")
        if opened
        else DictionaryLinker(kb, ambiguous="senses")
    )
    texts = [f"{number} Japan; {AMBIGUOUS} {number}" for number in range(40)]
    corpus = store_texts([texts[start : start + 5] for start in range(0, 40, 5)])
    out = tmp_path / "mentions.parquet"
    assert link_corpus(corpus, linker, out, engine=LocalEngine(2)) == 240
    mentions = linker.link(documents(texts))
    assert [
        (row["document"], row["start"], row["end"], row["entity"])
        for row in pq.read_table(out).to_pylist()
    ] == [(n, m.start, m.end, m.entity) for n in range(40) for m in mentions[n]]


def test_a_matcher_of_other_names_is_refused() -> None:
    with pytest.raises(DataError, match="the names of another knowledge base"):
        DictionaryLinker(knowledge(), matcher=NameMatcher.build(["japan"]))


def test_common_entities_are_known_after_one_pass(tmp_path: Path) -> None:
    """As in two passes, where the first one counts the names that are not ambiguous."""
    names = {f"e{i}": [f"n{i}", f"n{i % 3} x", "shared", f"both{i // 2}"] for i in range(8)}
    kb, random = knowledge(names), np.random.default_rng(0)
    words = [*(f"n{i}" for i in range(7)), "n0 x", "n1 x", "n2 x", "shared", "both1", "both3", "."]
    texts = [" ".join(random.choice(words, 12)) for _ in range(60)]
    corpus = store_texts([texts[:20], texts[20:21], texts[21:]])
    all_senses, alone = tmp_path / "senses.parquet", tmp_path / "alone.parquet"
    engine = LocalEngine(1)
    link_corpus(corpus, DictionaryLinker(kb, ambiguous="senses"), all_senses, engine=engine)
    link_corpus(corpus, DictionaryLinker(kb, ambiguous="skip"), alone, engine=engine)
    prior = Counter(pq.read_table(alone)["entity"].to_pylist())
    places: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in pq.read_table(all_senses).to_pylist():
        places.setdefault((row["document"], row["start"]), []).append(row)
    common = []
    for rows in places.values():
        most = max(prior[row["entity"]] for row in rows)
        best = [row for row in rows if prior[row["entity"]] == most]
        common += best if len(rows) == 1 or (len(best) == 1 and most) else []
    assert resolve_common(all_senses) == len(common)
    assert pq.read_table(all_senses).to_pylist() == common
    assert {"shared", "both1"} < {row["surface"] for row in common}
