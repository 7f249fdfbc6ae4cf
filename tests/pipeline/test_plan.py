"""Plans of merges."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.pipeline.grouping import group
from synsetmine.pipeline.plan import Plan, read_plan
from tests.support.namemodels import PreparedWords, WordModel

NAMES = ["IBM", "Jordan", "heart failure", "I.B.M.", "Jordan", "Heart Failure", "failure, heart"]
TYPES = ["company", "country", "disease", "company", "person", "disease", "disease"]
CONTEXTS = ["IBM (I.B.M.) sells computers.", None, "The heart fails.", "Computers.", None, None, ""]


def plan_of(**more: Any) -> Plan:
    return group(NAMES, types=TYPES, contexts=CONTEXTS).plan(**more)


def test_a_merge_has_its_names_rows_and_reasons() -> None:
    heart, ibm = plan_of()
    assert (heart.canonical, heart.type) == ("Heart Failure", "disease")
    assert [(member.name, member.rows) for member in heart.members] == [
        ("Heart Failure", (5,)),
        ("heart failure", (2,)),
        ("failure, heart", (6,)),
    ]
    kinds = [member.why and (member.why.other, member.why.kind) for member in heart.members]
    assert kinds == [
        ("failure, heart", "word-order"),
        ("Heart Failure", "spelling"),
        ("Heart Failure", "word-order"),
    ]
    assert heart.probability == min(member.probability or 0 for member in heart.members)
    why = ibm.members[0].why
    assert why is not None
    assert why.statement == "parenthesis"
    assert why.sentence == "IBM (I.B.M.) sells computers."
    assert why.context_log_odds is not None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_plan_is_a_table_to_look_at(library: Any, capsys: pytest.CaptureFixture[str]) -> None:
    frame = plan_of(progress=True).to_frame(library)
    assert "explaining" in capsys.readouterr().err
    assert [*frame["canonical"]] == ["Heart Failure"] * 3 + ["IBM"] * 2
    assert [*frame["name"]][3:] == ["IBM", "I.B.M."]
    assert [*frame["nearest"]][3:] == ["I.B.M.", "IBM"]
    assert frame["sentence"][3] == "IBM (I.B.M.) sells computers."
    assert len(Plan(()).to_frame(library)) == 0


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = group(NAMES, types=TYPES, contexts=CONTEXTS)
    path = tmp_path / "plan.jsonl"
    result.write_plan(path)
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [record["id"] for record in records] == [s.id for s in result.sets]
    assert records[1]["members"][0]["why"]["nearest"] == "I.B.M."
    written = read_plan(path)
    for merge, read in zip(result.plan(), written, strict=True):
        assert (merge.id, merge.canonical, merge.type) == (read.id, read.canonical, read.type)
        for member, copy in zip(merge.members, read.members, strict=True):
            assert (member.name, member.rows, member.identified_by) == (
                copy.name,
                copy.rows,
                copy.identified_by,
            )
    written.write(tmp_path / "again.jsonl")
    assert read_plan(tmp_path / "again.jsonl") == written


def test_with_ids_rows_of_one_name_are_merged_too() -> None:
    listed = ["Lyon", "Lyon", "IBM", "I.B.M.", "Bonn"]
    ids = ["a", "b", "c", "d", "e"]
    result = group(listed)
    assert [merge.canonical for merge in result.plan()] == ["IBM"]
    ibm, lyon = result.plan(ids=ids)
    assert [member.ids for member in ibm.members] == [("c",), ("d",)]
    assert ibm.members[0].rows == ()
    assert [(member.ids, member.why) for member in lyon.members] == [(("a", "b"), None)]
    assert lyon.id == result.ids[0]


def test_what_tells_equal_names_apart() -> None:
    listed = ["Jordan", "Michael Jordan", "Jordan", "Jordan", "Lyon"]
    always = [("Michael Jordan", "Jordan")]
    types = ["person", "person", "country", None, None]
    (merge,) = group(listed, types=types, always=always).plan()
    by = {(m.name, m.type): m.identified_by for m in merge.members}
    assert by["Jordan", "person"] == "type"
    assert by["Michael Jordan", "person"] == "name"
    listed = ["pie", "pie", "pie", "Pie!"]
    result = group(listed, contexts=["a", "b", "b", None], model=Senses())
    (merge,) = result.plan(ids=["1", "2", "3", "4"])
    assert [(m.name, m.identified_by, m.ids) for m in merge.members] == [("pie", "row", ("2", "3"))]


class Senses(WordModel):
    """No two terms are one thing."""

    def prepare(self, vocabulary: Any, views: Any, **options: Any) -> PreparedWords:
        return _Senses(super().prepare(vocabulary, views).terms)


class _Senses(PreparedWords):
    def probabilities(self, members: Any, terms: Any) -> list[float]:
        return [0.0 for _ in terms]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "plan.jsonl:1: not JSON"),
        ("[]", 'plan.jsonl:1: expected {"id"'),
        ('{"id": "s", "canonical": "a", "members": []}', 'expected {"id"'),
        ('{"id": "s", "canonical": " ", "members": [{"name": "a"}]}', "an id and a canonical name"),
        ('{"id": "s", "canonical": "a", "members": [{"nam": "a"}]}', 'expected {"name"'),
        ('{"id": "s", "canonical": "a", "members": [{"name": "a", "rows": [-1]}]}', "row numbers"),
        ('{"id": "s", "canonical": "a", "members": [{"name": "a", "ids": "x"}]}', "ids of rows"),
        (
            '{"id": "s", "canonical": "a", "members": [{"name": "a", "identified_by": "x"}]}',
            "must be one of name, type, row",
        ),
        (
            '{"id": "s", "canonical": "a", "type": 1, "members": [{"name": "a"}]}',
            "expected a string",
        ),
        (
            '{"id": "s", "canonical": "a", "probability": "x", "members": [{"name": "a"}]}',
            "expected a number",
        ),
    ],
)
def test_a_broken_plan_is_a_clear_error(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "plan.jsonl").write_text(line)
    with pytest.raises(DataError, match=r"plan\.jsonl:1") as raised:
        read_plan(tmp_path / "plan.jsonl")
    assert problem in str(raised.value)


def test_an_id_stands_once(tmp_path: Path) -> None:
    line = '{"id": "s", "canonical": "a", "members": [{"name": "a"}]}\n'
    (tmp_path / "plan.jsonl").write_text(2 * line)
    with pytest.raises(DataError, match=r"plan\.jsonl:2: line 1 already has this id"):
        read_plan(tmp_path / "plan.jsonl")


def test_ids_belong_to_one_entity_each() -> None:
    with pytest.raises(DataError, match="two rows with different names have this id: 'x'"):
        group(["Lyon", "Bonn"]).plan(ids=["x", "x"])
    with pytest.raises(DataError, match="1 ids for 2 names"):
        group(["Lyon", "Bonn"]).plan(ids=["x"])


@pytest.mark.parametrize("make", [list, np.array, pandas.Series, polars.Series])
def test_ids_may_be_whole_numbers(tmp_path: Path, make: Callable[[list[int]], Any]) -> None:
    """As the column of a table has them."""
    plan = group(["IBM", "I.B.M.", "Lyon"]).plan(ids=make([7, 8, 9]))
    plan.write(tmp_path / "plan.jsonl")
    (merge,) = read_plan(tmp_path / "plan.jsonl")
    assert [member.ids for member in merge.members] == [("7",), ("8",)]


words = st.sampled_from(["a b", "b a", "A  b", "c", "c d", "d c", "", "e"])
rows = st.lists(
    st.tuples(words, st.sampled_from(["x", "y", ""]), st.sampled_from(["p", "q", None])),
    max_size=8,
)


@given(rows, st.integers(0, 99))
@settings(max_examples=50)
def test_the_order_of_the_rows_makes_no_difference(
    listed: list[tuple[str, str, str | None]], seed: int
) -> None:
    def plan(order: list[int]) -> list[Any]:
        names, types, contexts = ([listed[row][part] for row in order] for part in range(3))
        result = group(names, types=types, contexts=contexts, model=WordModel())
        assert None not in [result.ids[place] for place, row in enumerate(order) if listed[row][0]]
        return [
            (merge.id, merge.canonical, merge.probability, member.name, member.why)
            for merge in result.plan()
            for member in merge.members
        ] + [
            sorted(
                (order[r], merge.id)
                for merge in result.plan()
                for m in merge.members
                for r in m.rows
            )
        ]

    order = [*range(len(listed))]
    shuffled = Random(seed).sample(order, len(order))
    assert plan(order) == plan(shuffled)
