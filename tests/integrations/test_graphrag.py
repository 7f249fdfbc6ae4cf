"""Duplicate entities in an index of GraphRAG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synsetmine.errors import DataError
from synsetmine.integrations.graphrag import merge_graphrag, plan_graphrag
from synsetmine.pipeline.plan import Plan, read_plan
from tests.support.graphragfiles import (
    BANK,
    ENTITIES,
    ENTITY_SCHEMA,
    FUND,
    RELATIONSHIP_SCHEMA,
    RELATIONSHIPS,
    write_index,
)
from tests.support.namemodels import WordModel


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return write_index(tmp_path / "output")


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def test_an_entity_is_one_row_with_what_all_its_rows_had(index: Path, tmp_path: Path) -> None:
    merged = merge_graphrag(index, tmp_path / "merged")
    bank, city, fund = rows(tmp_path / "merged" / "entities.parquet")
    assert bank == {
        "id": "entity-0",
        "human_readable_id": 0,
        "title": BANK,
        "type": "ORGANIZATION",
        "description": "The central bank of the euro area. | It sets the interest rates.",
        "text_unit_ids": ["t1", "t2", "t3"],
        "frequency": 4,
        "degree": 2,
    }
    assert (city["id"], city["title"], city["degree"]) == ("entity-3", "FRANKFURT AM MAIN", 1)
    assert fund == rows(index / "entities.parquet")[4]
    assert repr(merged) == (
        "MergedIndex(5 entities: 3 after merging; 5 relations: 5 changed; 1 self-relation; "
        "1 parallel relationship)"
    )


def test_relationships_with_the_same_ends_are_one(index: Path, tmp_path: Path) -> None:
    merge_graphrag(index, tmp_path / "merged")
    first, *others = rows(tmp_path / "merged" / "relationships.parquet")
    assert first == {
        "id": "relationship-0",
        "human_readable_id": 0,
        "source": BANK,
        "target": "FRANKFURT AM MAIN",
        "description": "The bank has its seat there. | The ECB moved there.",
        "weight": 3.5,
        "combined_degree": 3,
        "text_unit_ids": ["t1", "t3"],
    }
    assert [(one["source"], one["target"], one["id"]) for one in others] == [
        (FUND, BANK, "relationship-3"),  # both directions stay, as GraphRAG has them
        (BANK, FUND, "relationship-4"),
    ]


def test_the_tables_keep_their_schema(index: Path, tmp_path: Path) -> None:
    merge_graphrag(index, tmp_path / "merged")
    for name, schema in (("entities", ENTITY_SCHEMA), ("relationships", RELATIONSHIP_SCHEMA)):
        written = pq.read_schema(tmp_path / "merged" / f"{name}.parquet")
        assert written.names == schema.names
        assert written.equals(schema)


def test_degrees_are_those_of_a_graph(index: Path, tmp_path: Path) -> None:
    """A weighted graph of networkx counts the same, also self-relations that were there before."""
    networkx = pytest.importorskip("networkx")
    loop: tuple[Any, ...] = (BANK, BANK, "It watches itself.", 1.0, [])
    write_index(index, ENTITIES[:5], [*RELATIONSHIPS, loop])
    merge_graphrag(index, tmp_path / "merged")
    edges = rows(tmp_path / "merged" / "relationships.parquet")
    graph = networkx.Graph([(one["source"], one["target"]) for one in edges])
    entities = rows(tmp_path / "merged" / "entities.parquet")
    assert {one["title"]: one["degree"] for one in entities} == dict(graph.degree())
    assert [one["combined_degree"] for one in edges] == [
        graph.degree(one["source"]) + graph.degree(one["target"]) for one in edges
    ]


def test_types_and_descriptions_are_looked_at(index: Path) -> None:
    write_index(index, [*ENTITIES[:5], ("FRANKFURT", "PERSON", None, None)], [])
    model = WordModel()
    plan = plan_graphrag(index, model=model)
    assert [merge.canonical for merge in plan] == ["FRANKFURT AM MAIN"]
    views = model.views[0]
    contexts = {(t.surface, t.sense): texts for t, texts in (views.contexts or {}).items()}
    assert contexts["ECB", "0 organization"] == ("It sets the interest rates.",)
    assert ("FRANKFURT", "0 person") not in contexts


def test_the_most_frequent_title_names_the_entity(index: Path) -> None:
    table = pq.read_table(index / "entities.parquet")
    place = table.column_names.index("frequency")
    often = pa.array([9 if title == "ECB" else 2 for title in table["title"].to_pylist()])
    field = table.schema.field("frequency")
    table = table.set_column(place, field, often.cast(field.type))
    pq.write_table(table, index / "entities.parquet")
    names = [merge.canonical for merge in plan_graphrag(index, precision="cautious")]
    assert names == ["ECB", "FRANKFURT AM MAIN"]


def test_a_plan_may_be_edited(index: Path, tmp_path: Path) -> None:
    plan = plan_graphrag(index, precision="cautious")
    assert {merge.canonical for merge in plan} == {BANK, "FRANKFURT AM MAIN"}
    Plan(tuple(merge for merge in plan if merge.canonical == BANK)).write(tmp_path / "plan.jsonl")
    merge_graphrag(index, tmp_path / "merged", plan=tmp_path / "plan.jsonl")
    titles = [one["title"] for one in rows(tmp_path / "merged" / "entities.parquet")]
    assert titles == [BANK, "FRANKFURT", "FRANKFURT AM MAIN", FUND]
    again = merge_graphrag(index, tmp_path / "other", plan=read_plan(tmp_path / "plan.jsonl"))
    assert (again.counts.merged, again.parallel) == (1, 0)


def test_nothing_to_merge_changes_nothing(index: Path, tmp_path: Path) -> None:
    merge_graphrag(index, tmp_path / "merged", plan=Plan(()))
    for name in ("entities.parquet", "relationships.parquet"):
        assert rows(tmp_path / "merged" / name) == rows(index / name)


def test_columns_that_the_tables_lack_are_not_added(tmp_path: Path) -> None:
    """The tables of a graph that is brought along: only what GraphRAG needs."""
    folder = tmp_path / "own"
    folder.mkdir()
    entities = {"id": ["1", "2"], "title": ["Paris University", "University of Paris"]}
    pq.write_table(
        pa.table({**entities, "text_unit_ids": [["a"], None]}), folder / "entities.parquet"
    )
    relationships = {"id": ["1"], "source": ["Paris University"], "target": ["Sorbonne"]}
    pq.write_table(pa.table(relationships), folder / "relationships.parquet")
    merge_graphrag(folder, tmp_path / "merged")
    assert rows(tmp_path / "merged" / "entities.parquet") == [
        {"id": "2", "title": "University of Paris", "text_unit_ids": ["a"]}
    ]
    assert rows(tmp_path / "merged" / "relationships.parquet") == [
        {"id": "1", "source": "University of Paris", "target": "Sorbonne"}
    ]


def test_an_index_is_not_written_over_itself_and_must_be_whole(index: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="would replace the one that is read"):
        merge_graphrag(index, index / ".." / "output")
    (index / "relationships.parquet").unlink()
    with pytest.raises(DataError, match=r"relationships.parquet"):
        merge_graphrag(index, tmp_path / "merged")
    pq.write_table(pa.table({"name": ["a"]}), index / "entities.parquet")
    with pytest.raises(DataError, match="no column has this name; the columns are name: 'title'"):
        plan_graphrag(index)
    assert not (tmp_path / "merged").exists()


def test_graphrag_itself_reads_the_merged_index(index: Path, tmp_path: Path) -> None:
    """Skipped without the package, which needs older versions of other packages than ours."""
    adapters = pytest.importorskip("graphrag.query.indexer_adapters")
    schemas = pytest.importorskip("graphrag.data_model.schemas")
    typed = pytest.importorskip("graphrag.data_model.dfs")
    degree = pytest.importorskip("graphrag.graphs.compute_degree")
    pandas = pytest.importorskip("pandas")
    merge_graphrag(index, tmp_path / "merged")
    entities = typed.entities_typed(pandas.read_parquet(tmp_path / "merged/entities.parquet"))
    edges = typed.relationships_typed(
        pandas.read_parquet(tmp_path / "merged/relationships.parquet")
    )
    assert list(entities.columns) == schemas.ENTITIES_FINAL_COLUMNS
    assert list(edges.columns) == schemas.RELATIONSHIPS_FINAL_COLUMNS
    communities = pandas.DataFrame({"community": [0], "level": [0], "entity_ids": [["entity-0"]]})
    read = {one.title: one for one in adapters.read_indexer_entities(entities, communities, None)}
    assert read[BANK].short_id == "0"
    assert (read[BANK].id, read[BANK].rank, read[BANK].type) == ("entity-0", 2, "ORGANIZATION")
    assert list(read[BANK].text_unit_ids) == ["t1", "t2", "t3"]
    counted = degree.compute_degree(edges).set_index("title")["degree"].to_dict()
    assert {title: one.rank for title, one in read.items()} == counted
    relationships = adapters.read_indexer_relationships(edges)
    assert {one.source for one in relationships} | {one.target for one in relationships} <= set(
        read
    )
    assert sum(one.weight for one in relationships) == 5.5
