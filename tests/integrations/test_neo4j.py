"""The resolver of neo4j-graphrag, against a graph database that speaks Bolt and Cypher."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import neo4j
import pytest
from neo4j_graphrag.components.resolver import EntityResolver
from neo4j_graphrag.components.types import LexicalGraphConfig, ResolutionStats
from neo4j_graphrag.experimental.pipeline import Pipeline

from synsetmine.errors import DataError
from synsetmine.integrations.neo4j import SynonymResolver
from synsetmine.pipeline.plan import Plan
from tests.support.graphserver import DATABASE, PASSWORD, USER, graph_server
from tests.support.namemodels import WordModel

GRAPH = """
CREATE (doc:Document {path: 'curie.txt'}),
       (chunk:Chunk {text: 'Marie Curie won twice. In 1891 Curie, Marie moved to Paris.'}),
       (a:__Entity__:__KGBuilder__:Person {name: 'Marie Curie', born: 1867}),
       (b:__Entity__:__KGBuilder__:Person {name: 'Curie, Marie', description: 'a physicist'}),
       (c:__Entity__:__KGBuilder__:Person {name: 'Marie Curie', born: 1868}),
       (d:__Entity__:__KGBuilder__:Ship {name: 'Marie Curie'}),
       (e:__Entity__:__KGBuilder__:City {name: 'Paris'}),
       (f:__Entity__:__KGBuilder__:City {name: 12}),
       (g:Person {name: 'Curie, Marie'}),
       (a)-[:FROM_CHUNK]->(chunk), (b)-[:FROM_CHUNK]->(chunk), (e)-[:FROM_CHUNK]->(chunk),
       (a)-[:WON {prize: 'Nobel'}]->(doc), (b)-[:LIVED_IN]->(e), (c)-[:LIVED_IN]->(e)
"""


class Graph:
    def __init__(self, driver: neo4j.Driver) -> None:
        self.driver = driver

    def query(self, query: str, **parameters: Any) -> list[Any]:
        """The values of each row; of one column the values themselves."""
        records = self.driver.execute_query(query, parameters, database_=DATABASE).records
        return [tuple(one) if len(one) > 1 else one[0] for one in map(neo4j.Record.values, records)]

    def people(self) -> list[Any]:
        return self.query("MATCH (n:Person:__Entity__) RETURN properties(n) ORDER BY n.name")

    def resolver(self, filter_query: str | None = None, **options: Any) -> SynonymResolver:
        return SynonymResolver(self.driver, filter_query, neo4j_database=DATABASE, **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    with (
        graph_server(tmp_path_factory.mktemp("graph")) as address,
        neo4j.GraphDatabase.driver(address, auth=(USER, PASSWORD)) as driver,
    ):
        yield Graph(driver)


@pytest.fixture
def graph(server: Graph) -> Graph:
    server.query("MATCH (n) DETACH DELETE n")
    server.query(GRAPH)
    return server


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "neo4j_graphrag.components.resolver", None)
    monkeypatch.delitem(sys.modules, "synsetmine.integrations.neo4j")
    with pytest.raises(ImportError, match=r"needs the extra: pip install 'synsetmine\[neo4j\]'"):
        import_module("synsetmine.integrations.neo4j")


def test_it_is_a_component_of_pipelines() -> None:
    assert issubclass(SynonymResolver, EntityResolver)
    assert SynonymResolver.component_inputs == {}
    assert set(SynonymResolver.component_outputs) == set(ResolutionStats.model_fields)


@pytest.mark.slow
def test_names_of_one_entity_become_one_node(graph: Graph) -> None:
    stats = asyncio.run(graph.resolver().run())
    assert stats.number_of_nodes_to_resolve == 5
    assert stats.number_of_created_nodes == 1
    (curie,) = graph.people()
    assert curie["name"] == "Marie Curie"
    assert curie["description"] == "a physicist"
    assert curie["born"] in (1867, 1868)
    assert graph.query("MATCH (n:Ship) RETURN n.name") == ["Marie Curie"]
    assert graph.query("MATCH (n:Person) RETURN count(n)") == [2]  # one is no entity
    ends = graph.query("MATCH (n:Person)-[r]->(m) RETURN DISTINCT type(r), labels(m)[0]")
    assert sorted(kind for kind, _ in ends) == ["FROM_CHUNK", "LIVED_IN", "WON"]
    assert graph.query("MATCH (:Person)-[r:WON]->() RETURN r.prize") == ["Nobel"]
    again = asyncio.run(graph.resolver().run())
    assert (again.number_of_nodes_to_resolve, again.number_of_created_nodes) == (3, 0)


@pytest.mark.slow
def test_a_plan_is_made_edited_and_followed(graph: Graph, tmp_path: Path) -> None:
    (merge,) = graph.resolver().plan()
    assert (merge.canonical, merge.type) == ("Marie Curie", "Person")
    assert [(member.name, len(member.ids)) for member in merge.members] == [
        ("Marie Curie", 2),
        ("Curie, Marie", 1),
    ]
    assert len(graph.people()) == 3
    first = replace(merge, canonical="M. Curie", members=merge.members[:1])
    Plan((first,)).write(tmp_path / "plan.jsonl")
    stats = asyncio.run(graph.resolver(plan=tmp_path / "plan.jsonl").run())
    assert stats.number_of_created_nodes == 1
    assert [one["name"] for one in graph.people()] == ["Curie, Marie", "M. Curie"]
    again = asyncio.run(graph.resolver(plan=Plan((first,))).run())  # of nodes that are gone
    assert again.number_of_created_nodes == 0


@pytest.mark.slow
def test_descriptions_and_sentences_of_chunks_are_the_contexts(graph: Graph) -> None:
    model = WordModel()
    graph.resolver(model=model, context_properties=["description", "note"]).plan()
    views = model.views[0]
    texts = {(t.surface, t.sense): texts for t, texts in (views.contexts or {}).items()}
    assert texts == {
        ("Marie Curie", "0 person"): ("Marie Curie won twice.",),
        ("Curie, Marie", "0 person"): ("In 1891 Curie, Marie moved to Paris.", "a physicist"),
        ("Paris", "0 city"): ("In 1891 Curie, Marie moved to Paris.",),
    }


@pytest.mark.slow
def test_a_filter_a_property_and_a_lexical_graph_can_be_named(graph: Graph) -> None:
    graph.query("MATCH (n:Person) WHERE n.born IS NULL SET n.`full name` = n.name, n.known = true")
    graph.query("MATCH (n:Ship) SET n.`full name` = 'Marie Curie', n.known = true")
    graph.query(
        "MATCH (n:Ship), (c:Chunk) CREATE (n)-[:`SEEN ``IN`]->(:Page {words: 'Marie Curie'})"
    )
    config = LexicalGraphConfig(
        node_to_chunk_relationship_type="SEEN `IN", chunk_text_property="words"
    )
    model = WordModel()
    resolver = graph.resolver(
        "WHERE entity.known",
        resolve_property="full name",
        lexical_graph_config=config,
        model=model,
    )
    assert len(resolver.plan()) == 1
    assert [*(model.views[0].contexts or {}).values()] == [("a physicist",), ("Marie Curie",)]


@pytest.mark.slow
def test_pairs_that_must_not_be_merged_are_kept(graph: Graph) -> None:
    resolver = graph.resolver(never=[("Marie Curie", "Curie, Marie")])
    assert asyncio.run(resolver.run()).number_of_created_nodes == 1
    assert [one["name"] for one in graph.people()] == ["Curie, Marie", "Marie Curie"]
    with pytest.raises(DataError, match="precision"):
        asyncio.run(graph.resolver(precision="reckless").run())


@pytest.mark.slow
def test_it_runs_in_a_pipeline(graph: Graph) -> None:
    pipeline = Pipeline()
    pipeline.add_component(graph.resolver(), "resolver")
    result = asyncio.run(pipeline.run({}))
    assert result.result["resolver"]["number_of_created_nodes"] == 1
    assert len(graph.people()) == 1


@pytest.mark.slow
def test_an_empty_graph(server: Graph) -> None:
    server.query("MATCH (n) DETACH DELETE n")
    stats = asyncio.run(server.resolver().run())
    assert (stats.number_of_nodes_to_resolve, stats.number_of_created_nodes) == (0, 0)
