"""A registry of known entities that grows."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.corpus.name_lists import NameRow
from synsetmine.errors import DataError
from synsetmine.pipeline.grouping import group
from synsetmine.pipeline.name_sets import Grouping
from synsetmine.pipeline.registry import (
    KnownEntity,
    Registry,
    read_registry,
)
from tests.support.namemodels import WordModel


def test_entities_keep_their_ids_while_names_join() -> None:
    first = group(["heart failure", "lung cancer", "IBM"])
    registry = Registry().grown(first)
    assert len(registry) == 3
    second = group(["failure, heart", "I.B.M.", "Lyon"], known=registry)
    assert second.ids[:2] == (first.ids[0], first.ids[2])
    assert second.canonical[:2] == ("heart failure", "IBM")
    grown = registry.grown(second)
    assert len(grown) == 4
    assert grown.entities[:3] != registry.entities
    names = {entity.id: [name.name for name in entity.names] for entity in grown.entities}
    assert names[first.ids[0] or ""] == ["heart failure", "failure, heart"]
    again = group(["failure, heart", "I.B.M.", "Lyon", "lung cancer"], known=grown)
    assert again.ids == (*second.ids, first.ids[1])
    assert grown.grown(again) == grown


def test_known_entities_are_never_merged() -> None:
    registry = Registry(
        (KnownEntity("a", (NameRow("IBM"),)), KnownEntity("b", (NameRow("I.B.M."),)))
    )
    assert group(["IBM", "I.B.M."], known=registry).ids == ("a", "b")


def test_pairs_that_are_never_merged_are_kept() -> None:
    listed = ["IBM", "I.B.M."]
    pair = ("IBM", "I.B.M.")
    registry = Registry().grown(group(["Lyon"]), never=[pair])
    assert registry.never == (pair,)
    result = group(listed, known=registry)
    assert result.ids[0] != result.ids[1]
    assert registry.grown(result, never=[("i.b.m.", "ibm")]).never == (pair,)
    assert len({*group(listed).ids}) == 1


def test_types_tell_entities_of_one_name_apart() -> None:
    listed, types = ["Jordan", "Jordan", "Jordan"], ["country", "person", None]
    first = group(listed[:2], types=types[:2])
    registry = Registry().grown(first)
    second = group(listed, types=["Person", "country", None], known=registry)
    assert second.ids[:2] == first.ids[::-1]
    assert second.ids[2] not in first.ids  # it could be either
    assert second.counts.ambiguous == 1
    (typed,) = group(["Jordan"], types=["river"], known=registry).ids
    assert typed not in first.ids
    only = Registry((KnownEntity("x", (NameRow("Jordan", "person"),)),))
    result = group(["Jordan"], known=only)
    assert result.ids == ("x",)
    assert result.alone[0].type == "person"
    grown = only.grown(result)
    assert grown.grown(group(["Jordan"], known=grown)) == grown


def row(name: str, row_id: str = "", *, type_: str = "", context: str = "") -> NameRow:
    return NameRow(name, type_, contexts=(context,) if context else (), id=row_id)


def test_entities_of_a_graph_are_registered() -> None:
    first = Registry().with_graph(
        [
            KnownEntity("s1", (row("IBM", "1", context="a"), row("I.B.M.", "2"))),
            KnownEntity("", (row("Mercury", "3"),)),
            KnownEntity("", (row("Mercury", "4"),)),
        ]
    )
    ibm, one, other = first.entities
    assert (ibm.id, ibm.ids, [name.name for name in ibm.names]) == ("s1", ("1",), ["IBM", "I.B.M."])
    assert [(e.ids, e.names[0].sense) for e in (one, other)] == [(("3",), 0), (("4",), 1)]
    again = [KnownEntity("", (row("IBM", "1", context="a | b"),))]
    again += [KnownEntity(other.id, (row("Hermes"), row("Mercury", "4"), row("Hermes", "9")))]
    again += [KnownEntity("", (row("IBM", "8"),))]  # a row that a reviewer did not merge
    second = first.with_graph(again)
    assert second.entities[:2] == (ibm, one)
    assert [name.name for name in second.entities[2].names] == ["Hermes", "Mercury"]
    assert second.entities[2].names[1].sense == 1
    new = second.entities[3]
    assert (new.ids, new.names[0].sense, new.id == ibm.id) == (("8",), 1, False)
    with pytest.raises(DataError, match="merges two entities of the registry"):
        first.with_graph([KnownEntity("s1", (row("IBM", "1"), row("Mercury", "3")))])


def test_a_registry_with_ids_is_read_as_it_was_written(tmp_path: Path) -> None:
    registry = Registry().with_graph([KnownEntity("", (row("IBM", "1", type_="company"),))])
    registry.write(tmp_path / "r.jsonl")
    assert read_registry(tmp_path / "r.jsonl") == registry


def test_rows_without_ids_are_known_by_their_names() -> None:
    registry = Registry().grown(group(["IBM", "Lyon"]))
    graph = [KnownEntity("", (row(name),)) for name in ("lyon", "IBM", "IBM")]
    after = registry.with_graph(graph)
    assert {entity.id for entity in registry.entities} < {entity.id for entity in after.entities}
    assert len(after) == 3


class NoTwo(WordModel):
    """No two terms are one thing."""

    def prepare(self, vocabulary: Any, views: Any, **options: Any) -> Any:
        prepared = super().prepare(vocabulary, views)
        prepared.probabilities = lambda members, terms: [0.0 for _ in terms]  # type: ignore[method-assign]
        return prepared


def test_contexts_tell_entities_of_one_name_apart() -> None:
    contexts = ["asia is far", "asia is near", "ball game", "ball again", "asia too"]
    first = group(["Jordan"] * 5, contexts=contexts, model=NoTwo())
    assert len({*first.ids}) == 2
    registry = Registry().grown(first)
    assert sorted(len(entity.names[0].contexts) for entity in registry.entities) == [2, 3]
    more = ["ball three", "ball again", "asia again", None, "river bank"]
    second = group(["jordan"] * 5, contexts=more, known=registry, model=NoTwo())
    asia, ball = first.ids[0], first.ids[2]
    assert second.ids[:4] == (ball, ball, asia, asia)
    assert second.ids[4] not in first.ids
    grown = registry.grown(second)
    assert group(["jordan"] * 5, contexts=more, known=grown, model=NoTwo()).ids == second.ids
    assert group(["Jordan"] * 5, contexts=contexts, known=grown, model=NoTwo()).ids == first.ids


def test_a_registry_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "registry.jsonl"
    assert read_registry(path) == Registry()
    registry = Registry(
        (
            KnownEntity("a", (NameRow("Zürich", "city", 1, ("a\nb", "c")), NameRow("Zurich"))),
            KnownEntity("b", (NameRow("Zürich", "city", 0),)),
        ),
        (("a", "b"), ("x", "y")),
    )
    registry.write(path)
    assert read_registry(path) == registry
    assert repr(registry) == "Registry(2 entities, 2 cannot-link pairs)"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["{"], "registry.jsonl:1: not JSON"),
        (['{"id": "a"}'], 'registry.jsonl:1: expected {"id"'),
        (['{"id": "a", "names": []}'], 'expected {"id"'),
        (['{"id": "a", "names": ["b"]}'], 'expected {"name"'),
        (['{"id": "a", "names": [{"name": "b", "type": 1}]}'], "a type must be a string: 1"),
        (['{"id": "a", "names": [{"name": "b", "sense": -1}]}'], "a number from 0 on: -1"),
        (['{"id": "a", "names": [{"name": "b", "contexts": "c"}]}'], "a list of strings: 'c'"),
        (['{"never": ["a"]}'], 'expected {"id"'),
        (
            ['{"id": "a", "names": [{"name": "B"}]}', '{"id": "c", "names": [{"name": "b"}]}'],
            "registry.jsonl:2: the entity on line 1 has this name, with this type and sense: 'b'",
        ),
        (
            2 * ['{"id": "a", "names": [{"name": "b"}]}'],
            "registry.jsonl:2: another line has this id",
        ),
    ],
)
def test_a_broken_registry_is_a_clear_error(tmp_path: Path, lines: list[str], problem: str) -> None:
    (tmp_path / "registry.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError) as raised:
        read_registry(tmp_path / "registry.jsonl")
    assert problem in str(raised.value)


names = st.sampled_from(["a b", "B  a", "A b", "a b c", "c", "c d", "D c", "e", ""])
rows = st.lists(
    st.tuples(
        names, st.sampled_from(["p", "P", "q", ""]), st.sampled_from(["x one", "y", "x", "z", None])
    ),
    max_size=10,
)


def grouped(listed: list[tuple[str, str, str | None]], registry: Registry) -> Grouping:
    columns = ([row[place] for row in listed] for place in range(3))
    words, types, contexts = columns
    return group(words, types=types, contexts=contexts, known=registry, model=WordModel())


@given(rows, rows, st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_the_same_input_twice_has_the_same_ids_and_adds_nothing(
    listed: list[tuple[str, str, str | None]],
    more: list[tuple[str, str, str | None]],
    seed: int,
) -> None:
    registry = Registry().grown(grouped(listed, Registry()))
    result = grouped(more, registry)
    grown = registry.grown(result)
    again = grouped(more, grown)
    assert again.ids == result.ids
    assert again.canonical == result.canonical
    assert grown.grown(again) == grown
    assert {entity.id for entity in registry.entities} <= {entity.id for entity in grown.entities}
    order = Random(seed).sample(range(len(more)), len(more))
    shuffled = grouped([more[place] for place in order], registry)
    assert shuffled.ids == tuple(result.ids[place] for place in order)
    assert registry.grown(shuffled) == grown
