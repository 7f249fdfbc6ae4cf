"""An entity resolver for pipelines of neo4j-graphrag: one node for all names of an entity."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from synsetmine.corpus.name_lists import NameRow
from synsetmine.integrations.mentions import GroupOptions, group_mentions, sentences_with
from synsetmine.pipeline.plan import Plan, plan_in

try:
    import neo4j
    from neo4j_graphrag.components.resolver import EntityResolver
    from neo4j_graphrag.components.types import LexicalGraphConfig, ResolutionStats
except ModuleNotFoundError as error:
    problem = "the resolver of entities in Neo4j needs the extra: pip install 'synsetmine[neo4j]'"
    raise ImportError(problem) from error

RESERVED = ("__Entity__", "__KGBuilder__")  # labels that say nothing about the type of an entity

# The nodes of a set become its first node: it keeps its properties, and gets those that it lacks.
MERGE = """
UNWIND $sets AS synset
UNWIND synset.ids AS id
MATCH (entity) WHERE elementId(entity) = id
WITH synset, collect(entity) AS entities WHERE size(entities) > 1
CALL apoc.refactor.mergeNodes(entities, {properties: 'discard', mergeRels: true}) YIELD node
SET node += synset.properties
RETURN count(node) AS merged
"""


class SynonymResolver(EntityResolver):
    """Merges entities with the same labels whose names mean the same thing.

    The contexts of a name are the `context_properties` of its node, and the sentences of the
    chunks it was extracted from that mention it. `filter_query` is a WHERE clause about `entity`.
    With a `plan` the merges are those of the plan. Further options are those of
    `synsetmine.group`.
    """

    def __init__(
        self,
        driver: neo4j.Driver,
        filter_query: str | None = None,
        *,
        resolve_property: str = "name",
        context_properties: Sequence[str] = ("description",),
        lexical_graph_config: LexicalGraphConfig | None = None,
        neo4j_database: str | None = None,
        plan: Plan | str | Path | None = None,
        **options: Unpack[GroupOptions],
    ) -> None:
        super().__init__(driver, filter_query)
        self.resolve_property = resolve_property
        self.context_properties = tuple(context_properties)
        self.lexical_graph_config = lexical_graph_config or LexicalGraphConfig()
        self.neo4j_database = neo4j_database
        self.given_plan = None if plan is None else plan_in(plan)
        self.options = options

    async def run(self) -> ResolutionStats:
        """Merge the nodes in one transaction."""
        return await asyncio.to_thread(self._resolve)

    def plan(self) -> Plan:
        """What `run` would merge, and why; the graph stays as it is."""
        return self._plan(self._entities())

    def _resolve(self) -> ResolutionStats:
        entities = self._entities()
        sets = [
            {
                "ids": [node for member in merge.members for node in member.ids],
                "properties": {self.resolve_property: merge.canonical},
            }
            for merge in self._plan(entities)
        ]
        merged = self._query(MERGE, sets=sets)[0]["merged"] if sets else 0
        return ResolutionStats(
            number_of_nodes_to_resolve=sum(bool(entity.mention.name) for entity in entities),
            number_of_created_nodes=merged,
        )

    def _plan(self, entities: Sequence[_Entity]) -> Plan:
        if self.given_plan is not None:
            return self.given_plan
        grouping = group_mentions([entity.mention for entity in entities], **self.options)
        return grouping.plan(ids=[entity.id for entity in entities])

    def _entities(self) -> list[_Entity]:
        """The entities that are to be resolved; a name that is not a string is missing."""
        lexical = self.lexical_graph_config
        match = f"MATCH (entity:__Entity__) {self.filter_query or ''}"
        chunks = (
            f"{match} MATCH (entity)-[:{_quote(lexical.node_to_chunk_relationship_type)}]->(chunk)"
        )
        texts = {
            record["id"]: record["text"]
            for record in self._query(
                f"{chunks} RETURN DISTINCT elementId(chunk) AS id, chunk[$text] AS text",
                text=lexical.chunk_text_property,
            )
            if isinstance(record["text"], str)
        }
        chunks_of: dict[str, list[str]] = {}
        pairs = f"{chunks} RETURN elementId(entity) AS id, elementId(chunk) AS chunk"
        for record in self._query(pairs):
            chunks_of.setdefault(record["id"], []).append(record["chunk"])
        nodes = self._query(
            f"{match} RETURN elementId(entity) AS id, labels(entity) AS labels, "
            "entity[$name] AS name, [key IN $contexts | entity[key]] AS contexts",
            name=self.resolve_property,
            contexts=self.context_properties,
        )
        entities = []
        for node in nodes:
            name = node["name"] if isinstance(node["name"], str) else ""
            contexts = [text for text in node["contexts"] if isinstance(text, str)]
            if name:
                for chunk in sorted(set(chunks_of.get(node["id"], ()))):
                    contexts += sentences_with(name, texts.get(chunk, ""))
            labels = " ".join(sorted(set(node["labels"]).difference(RESERVED)))
            entities.append(_Entity(node["id"], NameRow(name, labels, contexts=tuple(contexts))))
        return entities

    def _query(self, query: str, **parameters: Any) -> list[neo4j.Record]:
        result = self.driver.execute_query(query, parameters, database_=self.neo4j_database)
        return result.records


class _Entity(NamedTuple):
    id: str  # of the node
    mention: NameRow


def _quote(name: str) -> str:
    """A name as Cypher takes it whatever its characters."""
    return "`" + name.replace("`", "``") + "`"
