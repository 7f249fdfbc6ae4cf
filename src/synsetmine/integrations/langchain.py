"""Graph documents of LangChain: one node for all names of an entity.

It works with each package that has a `GraphDocument` (langchain-neo4j, langchain-community), and
imports none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, Unpack

from synsetmine.corpus.name_lists import NameRow
from synsetmine.errors import DataError
from synsetmine.integrations.mentions import (
    GroupOptions,
    distinct_names,
    group_mentions,
    sentences_with,
)
from synsetmine.pipeline.name_sets import Grouping

UNTYPED = "Node"  # the type of a node that was made without one

Document = TypeVar("Document")


@dataclass(frozen=True, repr=False)
class MergedDocuments(Generic[Document]):
    """Graph documents in which an entity has one node, and the sets that say which."""

    documents: list[Document]
    grouping: Grouping

    def __repr__(self) -> str:
        return f"MergedDocuments({len(self.documents)} documents, {self.grouping.summary})"


def merge_graph_documents(
    documents: Iterable[Document],
    *,
    context_properties: Sequence[str] = ("description",),
    **options: Unpack[GroupOptions],
) -> MergedDocuments[Document]:
    """Copies of the documents in which all nodes of an entity are one node.

    The id of a node is its name. Its contexts are its `context_properties` and the sentences of
    the source that mention it; nodes of different types are different entities. A merged node has
    for each property the first value of its nodes. Relationships that become equal are one, and
    those between two names of one entity are left out. Further options are those of
    `synsetmine.group`.
    """
    documents = list(documents)
    for document in documents:
        if not hasattr(document, "relationships"):
            raise DataError("expected a list of GraphDocument", value=document)
    nodes = [list(_nodes(document)) for document in documents]
    mentions = [
        _mention(node, document, context_properties)
        for document, own in zip(documents, nodes, strict=True)
        for node in own
    ]
    grouping = group_mentions(mentions, **options)
    merged = iter(_merge_nodes([node for own in nodes for node in own], grouping))
    results = [
        _with_nodes(document, {_key(node): next(merged) for node in own})
        for document, own in zip(documents, nodes, strict=True)
    ]
    return MergedDocuments(results, grouping)


class _Key(NamedTuple):
    """What tells the nodes of a document apart."""

    id: str | int
    type: str


def _key(node: Any) -> _Key:
    return _Key(node.id, node.type)


def _nodes(document: Any) -> Iterator[Any]:
    """The nodes of a document and of its relationships, each once."""
    ends = [node for one in document.relationships for node in (one.source, one.target)]
    yield from {_key(node): node for node in (*ends, *document.nodes)}.values()


def _mention(node: Any, document: Any, context_properties: Sequence[str]) -> NameRow:
    name = str(node.id)
    texts = [node.properties.get(key) for key in context_properties]
    contexts = [text for text in texts if isinstance(text, str)]
    source = getattr(document.source, "page_content", "")
    type_ = "" if node.type == UNTYPED else node.type
    return NameRow(name, type_, contexts=(*contexts, *sentences_with(name, source)))


def _merge_nodes(nodes: Sequence[Any], grouping: Grouping) -> list[Any]:
    """For each node the one that replaces it; a node without a name stays."""
    types = [s.type for s in grouping.sets] + [member.type for member in grouping.alone]
    names = distinct_names(grouping)
    members: dict[int, list[Any]] = {}
    for node, row in zip(nodes, grouping.rows, strict=True):
        if row is not None:
            members.setdefault(row, []).append(node)
    replacements: dict[int, Any] = {}
    for row, own in members.items():
        properties: dict[str, Any] = {}
        for node in own:
            properties = {**node.properties, **properties}
        update = {"id": names[row], "type": types[row] or UNTYPED, "properties": properties}
        replacements[row] = own[0].model_copy(update=update)
    return [
        node if row is None else replacements[row]
        for node, row in zip(nodes, grouping.rows, strict=True)
    ]


def _with_nodes(document: Any, replacements: Mapping[_Key, Any]) -> Any:
    """A copy of the document with other nodes."""
    nodes = {_key(new): new for new in (replacements[_key(node)] for node in document.nodes)}
    relationships: dict[tuple[_Key, _Key, str], Any] = {}
    for relation in document.relationships:
        ends = _key(relation.source), _key(relation.target)
        source, target = (replacements[end] for end in ends)
        if source is target and ends[0] != ends[1]:
            continue
        key = _key(source), _key(target), relation.type
        properties = dict(relation.properties)
        if key in relationships:
            properties.update(relationships[key].properties)
        update = {"source": source, "target": target, "properties": properties}
        relationships[key] = relation.model_copy(update=update)
    return document.model_copy(
        update={"nodes": [*nodes.values()], "relationships": [*relationships.values()]}
    )
