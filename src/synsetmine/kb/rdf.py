"""RDF: SKOS and OWL in Turtle, N-Triples and RDF/XML."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import IO, Any
from urllib.parse import quote

from synsetmine.errors import DataError, import_extra
from synsetmine.io.files import Source, open_binary, plain_name
from synsetmine.kb.base import KnowledgeBuilder, accepts, long_id, short_id

# Ending -> the parser's own name of the syntax; files of other endings show their syntax.
SYNTAXES = {
    "ttl": "ttl",
    "turtle": "ttl",
    "nt": "nt",
    "ntriples": "nt",
    "nq": "nq",
    "nquads": "nq",
    "trig": "trig",
    "n3": "n3",
    "jsonld": "jsonld",
}

_BLOCK = 5000
_DEEPEST = 100
_TAIL = 4096  # bytes, longer than the declarations of entities that are allowed
_ROOT = re.compile(rb"<(?:[\w.-]+:)?RDF[\s>]")
# A declaration of a long entity, or of one with others than XML's own five and numbered characters.
_ENTITY = re.compile(rb"<!ENTITY(?:[^<]{1000}|[^<]*&(?!#|amp;|lt;|gt;|quot;|apos;)[^<]*<)")
_ROOT_END = re.compile(rb"</(?:[\w.-]+:)?RDF\s*>")


def statements(source: Source) -> Iterator[Any]:
    """Triples or quads of pyoxigraph.

    In N-Triples and N-Quads a broken line can be left out. In the other syntaxes it is not clear
    what the rest means, so that the file cannot be read.
    """
    syntax = _syntax(source)
    return _by_lines(source, syntax) if syntax in ("nt", "nq") else _read_stream(source, syntax)


def pyoxigraph() -> Any:
    return import_extra("pyoxigraph", "reading RDF", "ontology")


def _syntax(source: Source) -> str:
    """The ending that pyoxigraph knows the syntax by."""
    ending = plain_name(source.path).rpartition(".")[2].lower()
    if ending in SYNTAXES:
        return SYNTAXES[ending]
    with open_binary(source.path) as stream:
        start = stream.read(4096).decode(errors="replace").lstrip("\ufeff \t\r\n")
    if start.startswith(("{", "[{", "[ {", "[\n")):
        return "jsonld"
    if re.match(r"(Prefix|Ontology)\s*\(|Prefix:|Ontology:", start) or "<Ontology" in start:
        problem = "OWL in functional, Manchester or OWL/XML syntax; save it as RDF/XML or Turtle"
        raise DataError(problem, path=source.path, value=start[:60])
    if re.match(r"<(\?xml|!DOCTYPE|!--|rdf:RDF|\w+:RDF|RDF)", start):
        return "rdf"
    return "ttl"


def _read_stream(source: Source, syntax: str) -> Iterator[Any]:
    ox = pyoxigraph()
    format = ox.RdfFormat.from_extension(syntax)
    # Relative IRIs need a base; the file's name says no more than it must.
    base = f"file:///{quote(plain_name(source.path))}"
    with source.open() as stream:
        limited = _LimitedStream(stream, xml=syntax == "rdf")
        try:
            yield from ox.parse(limited, format=format, base_iri=base, lenient=True)
        except SyntaxError as error:
            problem = DataError("not RDF", path=source.path, line=error.lineno, value=error.msg)
            raise problem from None
        except MemoryError as error:  # what the parser calls a literal beyond its limit
            raise DataError("not RDF", path=source.path, value=str(error)) from None
        except DataError as error:
            raise error.at(source.path) from None


def _by_lines(source: Source, syntax: str) -> Iterator[Any]:
    ox = pyoxigraph()
    format = ox.RdfFormat.from_extension(syntax)
    lines = source.lines()
    while block := list(islice(lines, _BLOCK)):
        try:
            text = "\n".join(_shallow(line) for _, line in block)
            yield from list(ox.parse(text, format=format, lenient=True))
            continue
        except (SyntaxError, DataError):
            pass  # read it again, line by line
        for number, line in block:
            try:
                yield from list(ox.parse(_shallow(line), format=format, lenient=True))
            except SyntaxError:
                source.reject(DataError("not RDF", value=line), number)
            except DataError as error:
                source.reject(error, number)


def _shallow(line: str) -> str:
    if line.count("<<(") > _DEEPEST:
        raise DataError("statements nested too deeply", value=line)
    return line


class _LimitedStream:
    """A stream that stops where the parser would fill the stack or memory, or be content.

    The parser reads statements that quote statements to any depth, and takes XML that breaks off as
    whole. It expands the entities of XML, also those made of others: ten lines can make a gigabyte.
    """

    def __init__(self, stream: IO[bytes], *, xml: bool) -> None:
        self._stream = stream
        self._xml = xml
        self._end = b""  # of what was read
        self._opened = False
        self._depth = 0

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        if self._xml:
            self._check_xml(chunk)
        else:
            self._depth = max(self._depth + chunk.count(b"<<(") - chunk.count(b")>>"), 0)
            if self._depth > _DEEPEST:
                raise DataError("statements nested too deeply", value=chunk[:80])
        return chunk

    def _check_xml(self, chunk: bytes) -> None:
        text = self._end + chunk
        if entity := _ENTITY.search(text):
            problem = "an XML entity that is too long or refers to other entities"
            raise DataError(problem, value=entity[0][:80])
        self._opened = self._opened or _ROOT.search(text) is not None
        self._end = text[-_TAIL:]
        if not chunk and self._opened and not _ROOT_END.search(self._end):
            raise DataError("the file is truncated", value=self._end[-60:])


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
_DEFINITIONS = frozenset({f"{_SKOS}definition", f"{_OBO}IAO_0000115"})
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
    names_properties: Sequence[str] = (),
) -> None:
    """Read all that has a label and is not a property, an ontology or a list of concepts.

    Labels count if they are in the language or in none. Deprecated terms are left out; alternative
    ids and those that a term replaces lead to it. The properties are IRIs of further ones
    for preferred and other names.
    """
    names = _NAMES | {_SYNONYMS[scope]: 2 for scope in scopes}
    if name_property is not None:
        names[name_property] = -1
    names |= dict.fromkeys(names_properties, 2)
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
        elif predicate in _DEFINITIONS:
            if isinstance(value, self._literal) and accepts(self._language, value.language):
                self._builder.define(self._id(subject.value), value.value)
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
