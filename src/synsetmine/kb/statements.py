"""The statements of an RDF file, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any
from urllib.parse import quote

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.files import plain_name
from synsetmine.kb.source import Source

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
_LONGEST_ENTITY = 1000
_MOST_NAMED = 10_000  # so often entities may be named, whatever they stand for, and beyond it
_GROWTH = 16  # for no more than so many bytes for each that is read
_DEEPEST = 100
_DEEPEST_XML = 2000
_LONGEST_MARKUP = 2**20
_TAIL = 4096
_ROOT = re.compile(rb"<(?:[\w.-]+:)?RDF[\s>]")
_ROOT_END = re.compile(rb"</(?:[\w.-]+:)?RDF\s*>")
# Anything but the five entities that XML has by itself, and characters by their numbers.
_REFERENCE = re.compile(rb"&(?!#|amp;|lt;|gt;|quot;|apos;)")
# Comments, what is quoted, instructions, declarations; and tags, of which groups tell the kind.
_MARKUP = re.compile(
    rb"""<(?:!--.*?-->|!\[CDATA\[.*?\]\]>|\?.*?\?>|!(?=[A-Z])"""
    rb"""|(/)?[^/!?\s](?:[^>"'/]|"[^"]*"|'[^']*'|/(?!>))*+(/)?>)""",
    re.S,
)


def statements(source: Source) -> Iterator[Any]:
    """Triples or quads of pyoxigraph.

    In N-Triples and N-Quads a broken line can be left out. In the other syntaxes it is not clear
    what the rest means, so that the file cannot be read.
    """
    syntax = _syntax(source)
    return _by_lines(source, syntax) if syntax in ("nt", "nq") else _streamed(source, syntax)


def pyoxigraph() -> Any:
    try:
        import pyoxigraph as ox
    except ImportError:
        problem = "reading RDF needs the extra: pip install 'synsetmine[ontology]'"
        raise SynsetmineError(problem) from None
    return ox


def _syntax(source: Source) -> str:
    """The ending that pyoxigraph knows the syntax by."""
    ending = plain_name(source.path).rpartition(".")[2].lower()
    if ending in SYNTAXES:
        return SYNTAXES[ending]
    with source.open() as stream:
        start = stream.read(4096).decode(errors="replace").lstrip("\ufeff \t\r\n")
    if start.startswith(("{", "[{", "[ {", "[\n")):
        return "jsonld"
    if re.match(r"(Prefix|Ontology)\s*\(|Prefix:|Ontology:", start) or "<Ontology" in start:
        problem = "OWL in functional, Manchester or OWL/XML syntax; save it as RDF/XML or Turtle"
        raise DataError(problem, path=source.path, value=start[:60])
    if re.match(r"<(\?xml|!DOCTYPE|!--|rdf:RDF|\w+:RDF|RDF)", start):
        return "rdf"
    return "ttl"


def _streamed(source: Source, syntax: str) -> Iterator[Any]:
    ox = pyoxigraph()
    form = ox.RdfFormat.from_extension(syntax)
    # Relative IRIs need a base; the file's name says no more than it must.
    base = f"file:///{quote(plain_name(source.path))}"
    with source.open() as stream:
        guarded = _Guarded(stream, xml=syntax == "rdf")
        try:
            yield from ox.parse(guarded, format=form, base_iri=base, lenient=True)
        except SyntaxError as error:
            problem = DataError("not RDF", path=source.path, line=error.lineno, value=error.msg)
            raise problem from None
        except MemoryError as error:  # what the parser calls a literal beyond its limit
            raise DataError("not RDF", path=source.path, value=str(error)) from None
        except DataError as error:
            raise error.at(source.path) from None


def _by_lines(source: Source, syntax: str) -> Iterator[Any]:
    ox = pyoxigraph()
    form = ox.RdfFormat.from_extension(syntax)
    lines = source.lines()
    while block := list(islice(lines, _BLOCK)):
        try:
            text = "\n".join(_shallow(line) for _, line in block)
            yield from list(ox.parse(text, format=form, lenient=True))
            continue
        except (SyntaxError, DataError):
            pass  # read it again, line by line
        for number, line in block:
            try:
                yield from list(ox.parse(_shallow(line), format=form, lenient=True))
            except SyntaxError:
                source.reject(DataError("not RDF", value=line), number)
            except DataError as error:
                source.reject(error, number)


def _shallow(line: str) -> str:
    if line.count("<<(") > _DEEPEST:
        raise DataError("statements within statements within statements", value=line)
    return line


class _Guarded:
    """A stream that stops where the parser would fill the memory or the stack, or be content.

    The parser writes out the entities of XML, also those made of others: ten lines can make a
    gigabyte. Statements that quote statements are read to any depth, elements within elements in
    time that grows with the square of it. And it takes XML that breaks off for whole.
    """

    def __init__(self, stream: IO[bytes], *, xml: bool) -> None:
        self._stream = stream
        self._xml = xml
        self._declaration = b""
        self._longest = 0  # of the declarations of entities
        self._read = self._named = 0
        self._markup = b""
        self._end = b""
        self._opened = False
        self._depth = 0

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        if self._xml:
            self._check_xml(chunk)
        else:
            self._check_depth(chunk)
        return chunk

    def _check_xml(self, chunk: bytes) -> None:
        self._declaration, longest = _after_entities(self._declaration + chunk)
        self._longest = max(self._longest, longest)
        self._check_growth(chunk)
        self._check_elements(chunk)
        self._end += chunk
        self._opened = self._opened or _ROOT.search(self._end) is not None
        self._end = self._end[-_TAIL:]
        if not chunk and self._opened and not _ROOT_END.search(self._end):
            raise DataError("the file breaks off", value=self._end[-60:])

    def _check_growth(self, chunk: bytes) -> None:
        """Short entities, too, can be named a million times."""
        self._read += len(chunk)
        self._named += len(_REFERENCE.findall(chunk))
        written_out = (self._named - _MOST_NAMED) * self._longest
        if written_out > _GROWTH * self._read:
            raise DataError("XML entities that blow the file up", value=chunk[:80])

    def _check_elements(self, chunk: bytes) -> None:
        text = self._markup + chunk
        place = text.find(b"<")
        while place >= 0 and (found := _MARKUP.match(text, place)):
            is_tag = found[0][1:2] not in b"!?"
            self._depth += is_tag * (0 if found[2] else -1 if found[1] else 1)
            if self._depth > _DEEPEST_XML:
                problem = f"more than {_DEEPEST_XML:,} elements within each other"
                raise DataError(problem, value=found[0][:80])
            place = text.find(b"<", found.end())
        self._markup = text[place:] if place >= 0 else b""  # it waits for its end
        if len(self._markup) > _LONGEST_MARKUP:
            raise DataError("a tag or comment is longer than 1 MiB", value=self._markup[:80])

    def _check_depth(self, chunk: bytes) -> None:
        self._depth = max(self._depth + chunk.count(b"<<(") - chunk.count(b")>>"), 0)
        if self._depth > _DEEPEST:
            raise DataError("statements within statements within statements", value=chunk[:80])


def _after_entities(text: bytes) -> tuple[bytes, int]:
    """Check the declarations of entities; what may start another, and how long the longest is."""
    mark = b"<!ENTITY"
    longest = 0
    place = text.find(mark)
    while place >= 0:
        end = text.find(b"<", place + len(mark))
        declaration = text[place:] if end < 0 else text[place:end]
        longest = max(longest, len(declaration))
        if longest > _LONGEST_ENTITY or (end >= 0 and _REFERENCE.search(declaration)):
            problem = "an XML entity that is long or made of other entities"
            raise DataError(problem, value=declaration[:80])
        if end < 0:
            return declaration, longest
        place = text.find(mark, end)
    return text[-len(mark) + 1 :], longest
