"""Thesauri in SKOS and ontologies in OWL, in any syntax of RDF."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from synsetmine.errors import DataError
from synsetmine.kb.building import KnowledgeBuilder
from synsetmine.kb.identifiers import long_id, short_id
from synsetmine.kb.languages import accepts
from synsetmine.kb.source import Source
from synsetmine.kb.statements import pyoxigraph, statements

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_XL = "http://www.w3.org/2008/05/skos-xl#"
_OBO = "http://purl.obolibrary.org/obo/"
_OIO = "http://www.geneontology.org/formats/oboInOwl#"

# The lower the rank, the better a name.
_NAMES = {
    f"{_SKOS}prefLabel": 0,
    f"{_RDFS}label": 1,
    f"{_SKOS}altLabel": 2,
    f"{_OBO}IAO_0000118": 2,
    f"{_SKOS}hiddenLabel": 3,
}
_XL_NAMES = {f"{_XL}prefLabel": 0, f"{_XL}altLabel": 2, f"{_XL}hiddenLabel": 3}
_SYNONYMS = {
    "EXACT": f"{_OIO}hasExactSynonym",
    "BROAD": f"{_OIO}hasBroadSynonym",
    "NARROW": f"{_OIO}hasNarrowSynonym",
    "RELATED": f"{_OIO}hasRelatedSynonym",
}
_DEPRECATED = f"{_OWL}deprecated"
_REPLACED_BY = frozenset({f"{_OBO}IAO_0100001", "http://purl.org/dc/terms/isReplacedBy"})
_ALTERNATIVE = f"{_OIO}hasAlternativeId"
_TYPE = f"{_RDF}type"
_NO_ENTITIES = frozenset(
    {
        f"{_RDF}Property",
        f"{_RDFS}Datatype",
        f"{_OWL}AnnotationProperty",
        f"{_OWL}DatatypeProperty",
        f"{_OWL}ObjectProperty",
        f"{_OWL}Ontology",
        f"{_SKOS}Collection",
        f"{_SKOS}ConceptScheme",
        f"{_SKOS}OrderedCollection",
        f"{_XL}Label",
    }
)


def add_rdf(
    source: Source,
    builder: KnowledgeBuilder,
    *,
    language: str,
    scopes: Collection[str],
    short_ids: bool,
    name_property: str | None = None,
    names_property: str | None = None,
) -> None:
    """Read all that has a label and is not a property, an ontology or a list of concepts.

    Labels count if they are in the language or in none. Deprecated terms are left out; alternative
    ids and those that a term replaces lead to it. The two properties are IRIs of further
    properties for preferred and other names.
    """
    names = _NAMES | {_SYNONYMS[scope]: 2 for scope in scopes}
    if name_property is not None:
        names[name_property] = -1
    if names_property is not None:
        names[names_property] = 2
    graph = _Graph(builder, names, language, short_ids)
    for statement in statements(source):
        try:
            graph.take(statement)
        except DataError as error:
            source.reject(error)
    graph.finish()


class _Graph:
    """What the statements of a graph say about names, in whatever order they come."""

    def __init__(
        self, builder: KnowledgeBuilder, names: dict[str, int], language: str, short_ids: bool
    ) -> None:
        self._builder = builder
        self._ranks = names
        self._language = language
        self._short_ids = short_ids
        self._label_nodes: list[tuple[str, int, str]] = []  # entity, rank, node of a SKOS-XL label
        self._literals: dict[str, list[tuple[int, str]]] = {}  # node -> language rank, label
        ox = pyoxigraph()
        self._iri, self._literal = ox.NamedNode, ox.Literal

    def take(self, statement: Any) -> None:
        predicate = statement.predicate.value
        subject, value = statement.subject, statement.object
        if predicate == f"{_XL}literalForm":
            self._take_literal(subject, value)
        if not isinstance(subject, self._iri):
            return
        if predicate in self._ranks:
            self._take_name(subject.value, self._ranks[predicate], value)
        elif predicate in _XL_NAMES:
            node = str(value)
            self._label_nodes.append((self._id(subject.value), _XL_NAMES[predicate], node))
        elif predicate == _TYPE:
            if isinstance(value, self._iri) and value.value in _NO_ENTITIES:
                self._builder.leave_out(self._id(subject.value))
        elif predicate == _DEPRECATED:
            if isinstance(value, self._literal) and value.value.strip().lower() in ("true", "1"):
                self._builder.leave_out(self._id(subject.value))
        elif predicate in _REPLACED_BY:
            self._builder.replace(self._id(subject.value), self._other_id(subject.value, value))
        elif predicate == _ALTERNATIVE:
            self._builder.replace(self._other_id(subject.value, value), self._id(subject.value))

    def finish(self) -> None:
        """Give entities the labels that are nodes of their own."""
        for entity, rank, node in self._label_nodes:
            for language_rank, name in self._literals.get(node, ()):
                self._builder.add(entity, (name,), rank=3 * rank + language_rank + 3)

    def _take_name(self, subject: str, rank: int, value: Any) -> None:
        if isinstance(value, self._literal) and accepts(self._language, value.language):
            rank = 3 * rank + self._language_rank(value) + 3
            self._builder.add(self._id(subject), (value.value,), rank=rank)

    def _take_literal(self, node: Any, value: Any) -> None:
        if isinstance(value, self._literal) and accepts(self._language, value.language):
            label = (self._language_rank(value), value.value)
            self._literals.setdefault(str(node), []).append(label)

    def _language_rank(self, value: Any) -> int:
        """The language itself before no language, and that before a variant of the language."""
        if value.language is None:
            return 1
        return 0 if value.language.lower() == self._language.lower() else 2

    def _id(self, iri: str) -> str:
        return short_id(iri) if self._short_ids else iri

    def _other_id(self, subject: str, value: Any) -> str:
        """An id in the place of an object: an IRI, or a literal such as `DOID:9999`."""
        text = value.value if isinstance(value, self._iri | self._literal) else str(value)
        if self._short_ids:
            return short_id(text)
        is_short = isinstance(value, self._literal) and short_id(subject) != subject
        return long_id(text) if is_short else text
