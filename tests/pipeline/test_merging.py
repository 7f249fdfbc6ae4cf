"""Plans applied to tables of a knowledge graph, and undone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.pipeline.graph_files import Encoding, GraphTable, read_table, write_tables
from synsetmine.pipeline.grouping import group
from synsetmine.pipeline.merging import apply_plan
from synsetmine.pipeline.plan import Merge, Plan, PlannedMember
from synsetmine.pipeline.restoration import undo_plan
from synsetmine.pipeline.settings import GraphColumns
from tests.support.namemodels import WordModel

ENTITIES = pa.table(
    {
        "id": [1, 2, 3, 4, 5],
        "title": ["IBM", "Lyon", "I.B.M.", "Jordan", "Jordan"],
        "type": ["company", "city", None, "country", "person"],
        "description": ["makes computers", None, "is old", "a land", "plays"],
        "degree": pa.array([3, 1, 4, 1, 5], pa.int32()),
        "units": [["a", "b"], [], ["b", "c"], None, ["d"]],
        "seen": [None, None, datetime(2026, 1, 2, tzinfo=UTC), None, None],
    }
)
RELATIONS = pa.table(
    {
        "source": ["I.B.M.", "Lyon", "IBM", "Jordan", "Lyon"],
        "target": ["Lyon", "I.B.M.", "I.B.M.", "Lyon", "Lyon"],
        "weight": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)


def merge(set_id: str, canonical: str, *members: PlannedMember) -> Merge:
    return Merge(set_id, canonical, members)


IBM = merge("s1", "IBM", PlannedMember("IBM"), PlannedMember("I.B.M."))
JORDAN = merge(
    "s2",
    "Michael Jordan",
    PlannedMember("Michael Jordan"),
    PlannedMember("Jordan", type="Person", identified_by="type"),
)
PLAN = Plan((IBM, JORDAN))


def rows_of(table: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def test_rows_of_one_merge_become_one() -> None:
    applied = apply_plan(PLAN, ENTITIES, columns=GraphColumns(sum=["degree"]))
    ibm, lyon, country, person = rows_of(applied.entities)
    assert ibm["title"] == "IBM"
    assert ibm["id"] == 1
    assert ibm["type"] == "company"
    assert ibm["description"] == "makes computers | is old"
    assert ibm["degree"] == 7
    assert ibm["units"] == ["a", "b", "c"]
    assert ibm["seen"] == datetime(2026, 1, 2, tzinfo=UTC)  # the first row has none
    assert ibm["set_id"] == "s1"
    assert [row["row"] for row in ibm["merged_from"]] == [0, 2]
    assert ibm["merged_from"][1]["values"] == rows_of(ENTITIES)[2]
    assert (country["title"], person["title"]) == ("Jordan", "Michael Jordan")
    assert (lyon["set_id"], lyon["merged_from"]) == (None, None)
    assert applied.entities.schema.field("degree").type == pa.int32()
    counts = applied.counts
    assert (counts.entities, counts.merged, counts.renamed) == (5, 1, 2)
    assert (counts.ambiguous, counts.unused) == (0, 0)
    assert repr(applied) == "AppliedPlan(5 entities: 4 after merging)"


def test_without_names_of_columns_numbers_are_not_added() -> None:
    ibm = rows_of(apply_plan(PLAN, ENTITIES).entities)[0]
    assert ibm["degree"] == 3
    joined = apply_plan(PLAN, ENTITIES, columns=GraphColumns(join=["title"]))
    assert rows_of(joined.entities)[0]["description"] == "makes computers"


def test_the_row_of_the_canonical_name_is_kept() -> None:
    turned = ENTITIES.take([2, 1, 0, 3, 4])
    rows = rows_of(apply_plan(PLAN, turned).entities)
    assert [row["id"] for row in rows] == [1, 2, 4, 5]
    assert rows[0]["description"] == "makes computers | is old"


def test_ends_of_relations_get_the_canonical_name() -> None:
    applied = apply_plan(PLAN, relations=RELATIONS)
    rows = rows_of(applied.relations)
    assert [(row["source"], row["target"]) for row in rows] == [
        ("IBM", "Lyon"),
        ("Lyon", "IBM"),
        ("IBM", "IBM"),
        ("Jordan", "Lyon"),
        ("Lyon", "Lyon"),
    ]
    assert [row["source_original"] for row in rows] == ["I.B.M.", None, None, None, None]
    counts = applied.counts
    assert (counts.relations, counts.changed, counts.self_relations) == (5, 3, 1)
    assert counts.ambiguous_ends == 1  # Jordan
    assert counts.unused == 1
    assert counts.summary == "5 relations: 3 changed; 1 self-relation"


def test_an_end_is_the_entity_with_exactly_its_name() -> None:
    entities = pa.table(
        {"id": ["1", "2", "3", "4"], "name": ["TESLA", "Tesla", "Mercury", "MERCURY"]}
    )
    cars = (PlannedMember("Tesla Motors"), PlannedMember("TESLA", identified_by="row", ids=("1",)))
    person = (
        PlannedMember("Nikola Tesla"),
        PlannedMember("Tesla", identified_by="row", ids=("2",)),
    )
    plan = Plan((merge("s1", "Tesla Motors", *cars), merge("s2", "Nikola Tesla", *person)))
    ends = ["TESLA", "Tesla", "tesla", "mercury", "MERCURY", "Lyon"]
    relations = pa.table({"source": ends, "target": ["Lyon"] * len(ends)})
    applied = apply_plan(plan, entities, relations)
    sources = [row["source"] for row in rows_of(applied.relations)]
    assert sources == ["Tesla Motors", "Nikola Tesla", "tesla", "mercury", "MERCURY", "Lyon"]
    assert [(end.row, end.column, end.name) for end in applied.ambiguous_ends] == [
        (2, "source", "tesla"),
        (3, "source", "mercury"),
    ]
    restored = undo_plan(plan, applied.entities, applied.relations)
    assert restored.relations.equals(relations)


def test_two_entities_with_exactly_the_name_of_an_end_are_ambiguous() -> None:
    entities = pa.table({"name": ["Tesla", "Tesla"], "type": ["person", "company"]})
    company = PlannedMember("Tesla", type="company", identified_by="type")
    plan = Plan((merge("s", "Tesla Motors", PlannedMember("Tesla Motors"), company),))
    relations = pa.table({"source": ["Tesla"], "target": ["Lyon"]})
    applied = apply_plan(plan, entities, relations)
    assert [row["name"] for row in rows_of(applied.entities)] == ["Tesla", "Tesla Motors"]
    assert applied.relations["source"].to_pylist() == ["Tesla"]
    assert [end.name for end in applied.ambiguous_ends] == ["Tesla"]


def test_relations_that_became_self_relations_are_dropped_on_request() -> None:
    applied = apply_plan(PLAN, relations=RELATIONS, drop_self_relations=True)
    assert [row["weight"] for row in rows_of(applied.relations)] == [1.0, 2.0, 4.0, 5.0]
    (loop,) = rows_of(applied.self_relations)
    assert (loop["weight"], loop["original_row"], loop["target_original"]) == (3.0, 2, "I.B.M.")
    restored = undo_plan(PLAN, None, applied.relations, applied.self_relations)
    assert restored.relations.equals(RELATIONS)
    assert restored.summary == "0 entities and 3 relations restored"


@pytest.mark.parametrize("types", [pa.int64(), pa.string()])
def test_relations_may_have_ids(types: Any) -> None:
    relations = pa.table(
        {"source": pa.array(["3", "5"], pa.string()).cast(types), "target": ["2", "3"]}
    )
    columns = GraphColumns(refer_to="id")
    applied = apply_plan(PLAN, ENTITIES, relations, columns=columns)
    first, second = rows_of(applied.relations)
    assert (str(first["source"]), first["target"]) == ("1", "2")
    assert (str(second["source"]), second["target"]) == ("5", "1")
    restored = undo_plan(PLAN, applied.entities, applied.relations, columns=columns)
    assert restored.relations.equals(relations)
    with pytest.raises(DataError, match="need the table of entities"):
        apply_plan(PLAN, None, relations, columns=columns)


def test_names_of_several_entities_are_kept_apart_by_rows_or_ids() -> None:
    listed = ["Jordan", "Jordan", "Michael Jordan", "Lyon"]
    entities = pa.table({"id": ["a", "b", "c", "d"], "name": listed})
    by_row = PlannedMember("Jordan", identified_by="row", rows=(1,))
    by_id = PlannedMember("Jordan", identified_by="row", ids=("b",))
    for member in (by_row, by_id):
        plan = Plan((merge("s", "Michael Jordan", PlannedMember("Michael Jordan"), member),))
        rows = rows_of(apply_plan(plan, entities).entities)
        assert [row["name"] for row in rows] == ["Jordan", "Michael Jordan", "Lyon"]
        assert [row["id"] for row in rows] == ["a", "c", "d"]
        other = entities.take([0, 2, 3]) if member is by_row else entities.drop(["id"])
        counts = apply_plan(plan, other).counts  # another table: its rows say nothing
        assert counts.merged == 0
        assert counts.ambiguous == (1 if member is by_row else 2)


def test_a_type_that_the_plan_does_not_have_is_another_entity() -> None:
    entities = pa.table({"name": ["I.B.M.", "Jordan"], "type": ["song", "river"]})
    known = merge("s1", "IBM", PlannedMember("IBM"), PlannedMember("I.B.M.", type="company"))
    applied = apply_plan(Plan((known, JORDAN)), entities)
    assert applied.counts.merged == applied.counts.renamed == applied.counts.ambiguous == 0
    assert applied.counts.unused == 2


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ({}, "expected a table of entities"),
        ({"entities": ["a"]}, "expected a table of pyarrow, pandas or polars"),
        ({"entities": pa.table({"x": ["a"]})}, "the columns are x: 'name'"),
        ({"relations": pa.table({"source": ["a"]})}, "the columns are source: 'target'"),
        ({"entities": pa.table({"name": [1]})}, r"a name must be a string \(row 0\): 1"),
        ({"entities": pa.table({"name": ["a"], "set_id": [1]})}, "undo the plan"),
        (
            {"relations": pa.table({"source": ["a"], "target": ["a"], "source_original": ["b"]})},
            "undo the plan",
        ),
    ],
)
def test_tables_that_cannot_be_merged(tables: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        apply_plan(PLAN, **tables)


@pytest.mark.parametrize(("refer_to", "other"), [("id", "name"), ("name", "id")])
def test_what_relations_refer_to_is_checked(tmp_path: Path, refer_to: Any, other: str) -> None:
    """Names in place of ids would leave relations to rows that are gone."""
    ends = {"id": ("1", "2"), "name": ("ibm", "Lyon")}[other]
    path = tmp_path / "r.csv"
    path.write_text("source,target\n{},{}\n".format(*ends))
    columns = GraphColumns(refer_to=refer_to)
    with pytest.raises(DataError, match=f"have {other}s of entities; set refer_to"):
        apply_plan(PLAN, GraphTable(ENTITIES), read_table(path), columns=columns)
    columns = GraphColumns(refer_to=other)  # type: ignore[arg-type]
    applied = apply_plan(PLAN, GraphTable(ENTITIES), read_table(path), columns=columns)
    assert applied.counts.relations == 1
    numbers = pa.table({"source": [1], "target": [7]})
    with pytest.raises(DataError, match="have ids of entities; set refer_to"):
        apply_plan(PLAN, ENTITIES, numbers)


def test_only_numbers_are_added() -> None:
    table = pa.table({"name": ["IBM", "I.B.M."], "title": ["a", "b"]})
    with pytest.raises(DataError, match="the column title cannot be summed"):
        apply_plan(PLAN, table, columns=GraphColumns(sum=["title"]))


def test_tables_that_no_plan_was_applied_to_cannot_be_restored() -> None:
    with pytest.raises(DataError, match="no plan was applied to it: 'set_id'"):
        undo_plan(PLAN, ENTITIES)
    with pytest.raises(DataError, match="no plan was applied to it: 'source_original'"):
        undo_plan(PLAN, None, RELATIONS)
    broken = ENTITIES.append_column("set_id", [["s1"] * 5]).append_column(
        "merged_from", [["x"] * 5]
    )
    with pytest.raises(DataError, match="not as apply-plan wrote it"):
        undo_plan(PLAN, broken)


def test_undo_restores_tables_of_arrow() -> None:
    columns = GraphColumns(sum=["degree"])
    applied = apply_plan(PLAN, ENTITIES, RELATIONS, columns=columns)
    restored = undo_plan(PLAN, applied.entities, applied.relations, columns=columns)
    assert restored.entities.equals(ENTITIES)
    assert restored.relations.equals(RELATIONS)
    assert (restored.restored_entities, restored.restored_relations) == (3, 3)


def test_a_part_of_a_plan_is_undone() -> None:
    applied = apply_plan(PLAN, ENTITIES, RELATIONS)
    restored = undo_plan(Plan((JORDAN,)), applied.entities, applied.relations)
    assert [row["title"] for row in rows_of(restored.entities)] == [
        "IBM",
        "Lyon",
        "Jordan",
        "Jordan",
    ]
    assert [row["set_id"] for row in rows_of(restored.entities)] == ["s1", None, None, None]
    assert restored.relations.equals(applied.relations)
    whole = undo_plan(Plan((IBM,)), restored.entities, restored.relations)
    assert whole.entities.equals(ENTITIES)
    assert whole.relations.equals(RELATIONS)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_come_back_in_their_library(library: str) -> None:
    module = pytest.importorskip(library)
    make = pa.Table.to_pandas if library == "pandas" else module.from_arrow
    entities, relations = make(ENTITIES.drop(["units", "seen"])), make(RELATIONS)
    applied = apply_plan(PLAN, entities, relations, drop_self_relations=True)
    assert type(applied.entities) is type(entities)
    assert list(applied.entities["title"]) == ["IBM", "Lyon", "Jordan", "Michael Jordan"]
    restored = undo_plan(PLAN, applied.entities, applied.relations, applied.self_relations)
    assert restored.entities.equals(entities)
    assert restored.relations.equals(relations)


@pytest.mark.parametrize(
    "index", [[10, 20, 30, 40, 50], range(3, 8), ["a", "b", "c", "d", "e"], [1, 1, 2, 2, 3]]
)
@pytest.mark.parametrize("name", [None, "id", "key"])
def test_the_index_of_pandas_comes_back(index: Sequence[object], name: str | None) -> None:
    pandas = pytest.importorskip("pandas")
    columns = ENTITIES.drop(["id", "units", "seen"]).to_pandas()
    frame = columns.set_index(pandas.Index(index, name=name))
    applied = apply_plan(PLAN, frame)
    assert list(applied.entities.index) == [index[0], index[1], index[3], index[4]]
    assert applied.entities.index.name == name
    pandas.testing.assert_frame_equal(undo_plan(PLAN, applied.entities).entities, frame)


def test_fields_that_some_objects_lack_keep_their_order(tmp_path: Path) -> None:
    path, merged = tmp_path / "e.jsonl", tmp_path / "merged.jsonl"
    text = (
        '{"id": 1, "name": "IBM", "degree": 3}\n'
        '{"id": 2, "type": "firm", "name": "I.B.M.", "note": null, "degree": 4}\n'
        '{"name": "Lyon", "place": [5]}\n'
    )
    path.write_text(text)
    write_tables({merged: apply_plan(PLAN, read_table(path)).entities})
    write_tables({path: undo_plan(PLAN, read_table(merged)).entities})
    assert path.read_text() == text


def test_fields_that_only_dropped_relations_have_come_back(tmp_path: Path) -> None:
    path, merged, dropped = (tmp_path / f"{name}.jsonl" for name in ("r", "merged", "dropped"))
    text = (
        '{"source": "IBM", "since": 1911, "target": "I.B.M.", "note": "x"}\n'
        '{"source": "Lyon", "target": "I.B.M."}\n'
    )
    path.write_text(text)
    applied = apply_plan(PLAN, relations=read_table(path), drop_self_relations=True)
    write_tables({merged: applied.relations, dropped: applied.self_relations})
    restored = undo_plan(PLAN, None, read_table(merged), read_table(dropped))
    write_tables({path: restored.relations})
    assert path.read_text() == text


cells = st.sampled_from(
    ["a b", "b a", "A b", "c", "c d", "D c", "e", "=x", 'é, "q"', "x\ny", " a b "]
)
entity_rows = st.lists(
    st.tuples(cells, st.sampled_from(["p", "q", ""]), st.sampled_from(["one", "two", "", "1"])),
    min_size=1,
    max_size=8,
)
relation_rows = st.lists(st.tuples(cells, cells, st.text('ab,"\n', max_size=3)), max_size=6)


ENCODINGS: dict[str, Encoding] = {"csv": "text", "tsv": "text", "parquet": "arrow", "jsonl": "json"}


def as_table(encoding: Encoding, columns: dict[str, list[str]]) -> GraphTable:
    if encoding == "json":
        columns = {n: [json.dumps(v, ensure_ascii=False) for v in c] for n, c in columns.items()}
    arrays = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    return GraphTable(pa.table(arrays), encoding)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "tsv"])
@given(entity_rows, relation_rows, st.booleans(), st.booleans())
@settings(max_examples=12, deadline=None)
def test_undo_is_exact_in_files(
    tmp_path_factory: pytest.TempPathFactory,
    ending: str,
    entities: list[tuple[str, str, str]],
    relations: list[tuple[str, str, str]],
    with_ids: bool,
    drop: bool,
) -> None:
    """Group, plan, apply and undo: the same bytes."""
    folder = tmp_path_factory.mktemp("graph")

    def cells(rows: list[tuple[str, str, str]], place: int) -> list[str]:
        return [r[place].replace("\n", " ") if ending == "tsv" else r[place] for r in rows]

    names, types, texts = (cells(entities, place) for place in range(3))
    ends, weights = (cells(relations, 0), cells(relations, 1)), cells(relations, 2)
    ids = [str(number) for number in range(len(entities))]
    columns = {"id": ids, "name": names, "type": types, "description": texts}
    links = {"source": ends[0], "target": ends[1], "weight": weights}
    paths = folder / f"entities.{ending}", folder / f"relations.{ending}"
    made = (as_table(ENCODINGS[ending], table) for table in (columns, links))
    write_tables(dict(zip(paths, made, strict=True)))
    before = [path.read_bytes() for path in paths]
    result = group(names, types=types, contexts=texts, model=WordModel())
    result.write_plan(folder / "plan.jsonl", ids=ids if with_ids else None)
    applied = apply_plan(folder / "plan.jsonl", *map(read_table, paths), drop_self_relations=drop)
    merged = folder / f"e.{ending}", folder / f"r.{ending}", folder / f"loops.{ending}"
    tables = (applied.entities, applied.relations, applied.self_relations)
    write_tables({p: t for p, t in zip(merged, tables, strict=True) if t is not None})
    new, *others = (read_table(path) for path in merged if path.exists())
    if with_ids:
        left = [" ".join(name.split()) for name in new.texts("name", "name")]
        assert len(left) == len({set_id for set_id in result.ids if set_id})
        assert {*left} == {*result.canonical}
    restored = undo_plan(folder / "plan.jsonl", new, *others)
    write_tables(dict(zip(paths, (restored.entities, restored.relations), strict=True)))
    assert [path.read_bytes() for path in paths] == before


def test_a_column_of_its_own_keeps_empty_cells(tmp_path: Path) -> None:
    cells = ["", "a\n\nb", "", '"']
    write_tables({tmp_path / "x.csv": as_table("text", {"name": cells})})
    assert read_table(tmp_path / "x.csv").values("name") == cells


@given(entity_rows, st.integers(0, 99))
@settings(max_examples=25)
def test_the_order_of_rows_does_not_change_what_is_merged(
    rows: list[tuple[str, str, str]], seed: int
) -> None:
    plan = group([row[0] for row in rows], types=[r[1] for r in rows], model=WordModel()).plan()
    order = Random(seed).sample(range(len(rows)), len(rows))

    def merged(table: list[tuple[str, str, str]]) -> list[Any]:
        entities = pa.table({"name": [row[0] for row in table], "type": [row[1] for row in table]})
        applied = apply_plan(plan, entities)
        return sorted(
            (row["name"], row["set_id"] or "", len(row["merged_from"] or ()))
            for row in rows_of(applied.entities)
        )

    assert merged(rows) == merged([rows[place] for place in order])
