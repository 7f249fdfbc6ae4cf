"""OBO ontologies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal
from urllib.parse import quote

from synsetmine.errors import DataError, import_extra
from synsetmine.io.files import Source
from synsetmine.kb.base import KnowledgeBuilder, short_id

_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}
_IN_QUOTES = re.compile(r'[\\"\n\r\t\f]')
# `!` starts a remark, `{` qualifiers, and blanks at the start are passed over.
_UNQUOTED = re.compile(r'[\\"\n\r\t\f!{}]|\A\s')
_IN_ADDRESSES = ":/?#@!$&'()*+,;=%"
_IN_IDS = re.compile(r'[\\"\n\r\t\f!{}: ]')


def obo_problem(name: str) -> str:
    """Why a synonym cannot be written; empty if it can.

    The standard's `"x\\\\"` is what fastobo, and all that is built on it, cannot read.
    """
    return "a term with a backslash at its end" if name.endswith("\\") else ""


def synonym_clause(
    name: str, scope: str, sources: Sequence[str] = (), *, kind: str = "", comment: str = ""
) -> str:
    """`synonym: "MI" EXACT ABBREVIATION [] {comment="…"}`; the sources are ids such as `orcid:…`.

    The kind is a synonym type that the file's header declares. A backslash at the end of a comment
    has a space behind it, as fastobo cannot read it else.
    """
    comment += " " * comment.endswith("\\")
    parts = (
        *("synonym:", _quote(name), scope.upper(), kind, f"[{', '.join(sources)}]"),
        f"{{comment={_quote(comment)}}}" if comment else "",
    )
    return " ".join(filter(None, parts))


def name_clause(name: str) -> str:
    return f"name: {escape_line(name)}"


def id_clause(prefix: str, rest: str) -> str:
    """An id such as `DOID:14330`, or an address."""
    address = rest.startswith("//")
    local = quote(rest, safe=_IN_ADDRESSES) if address else _IN_IDS.sub(_escape, rest)
    return f"id: {prefix}:{local}"


def escape_line(text: str) -> str:
    """A text that takes the rest of its line."""
    return _UNQUOTED.sub(_escape, text)


def _quote(text: str) -> str:
    return f'"{_IN_QUOTES.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _LETTERS.get(char, f"\\{char}")


Scope = Literal["EXACT", "BROAD", "NARROW", "RELATED"]

# The clauses that are needed. A strange cross-reference elsewhere does no harm then.
_CLAUSE = re.compile(
    r"(id|name|def|alt_id|is_obsolete|replaced_by|(?:exact_|broad_|narrow_|related_)?synonym)\s*:"
)
# Older files write `exact_synonym`, or leave the scope out.
_SYNONYM = re.compile(
    r'(?:(exact|broad|narrow|related)_)?synonym\s*:\s*("(?:[^"\\]|\\.)*")'
    r"\s*(EXACT|BROAD|NARROW|RELATED)?(?=[\s\[]|$)"
)
_DEFINITION = re.compile(r'def\s*:\s*("(?:[^"\\]|\\.)*")')
_BLOCK = 1000


@dataclass(slots=True)
class Frame:
    """One `[Term]`: the clauses that are needed, each with its line."""

    numbers: list[int]
    lines: list[str] = field(default_factory=lambda: ["[Term]"])

    def take(self, number: int, line: str) -> None:
        """Note a line of the frame, if it holds such a clause."""
        text = line.strip()
        is_broken = text.startswith("def") and not _DEFINITION.match(text)
        if _CLAUSE.match(text) and not is_broken:
            self.numbers.append(number)
            self.lines.append(_plain_clause(text))

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass(slots=True)
class OboTerm:
    """What a frame says; `old` ids lead to the term, and an obsolete one may lead to `new` ones."""

    id: str
    names: list[str] = field(default_factory=list)
    synonyms: list[tuple[str, str]] = field(default_factory=list)  # scope, name
    definition: str = ""
    obsolete: bool = False
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


def add_obo(
    source: Source, builder: KnowledgeBuilder, *, scopes: Collection[str], short_ids: bool
) -> None:
    """Read the terms: their names and the synonyms of these scopes.

    Obsolete terms are left out; alternative ids and those that a term replaces lead to it.
    """
    frames = _frames(source)
    while block := list(islice(frames, _BLOCK)):
        _add_block(block, source, builder, scopes, short_ids)


def starts_frame(line: str) -> bool:
    return line.lstrip().startswith("[")


def starts_term(line: str) -> bool:
    return line.partition("!")[0].strip() == "[Term]"


def parse_frame(frame: Frame) -> Any:
    """A frame as fastobo reads it."""
    try:
        return _parse(frame.text)[0]
    except SyntaxError as error:
        row = min(error.lineno or 1, len(frame.lines)) - 1
        problem = DataError("not OBO", line=frame.numbers[row], value=frame.lines[row])
        raise problem from None


def _parse(text: str) -> Any:
    return import_extra("fastobo", "reading OBO", "ontology").loads(text)


def read_term(parsed: Any, *, short_ids: bool) -> OboTerm:
    """What a frame that fastobo has read says of its term."""

    def identifier(ident: object) -> str:
        return short_id(str(ident)) if short_ids else str(ident)

    term = OboTerm(identifier(parsed.id))
    for clause in parsed:
        match clause.raw_tag():
            case "name":
                term.names.append(clause.name)
            case "synonym":
                term.synonyms.append((clause.synonym.scope, clause.synonym.desc))
            case "def":
                term.definition = clause.definition
            case "is_obsolete":
                term.obsolete = clause.obsolete
            case "alt_id":
                term.old.append(identifier(clause.alt_id))
            case "replaced_by":
                term.new.append(identifier(clause.term))
    return term


def _frames(source: Source) -> Iterator[Frame]:
    frame: Frame | None = None
    for number, line in source.lines():
        if starts_frame(line):
            if frame is not None:
                yield frame
            frame = Frame([number]) if starts_term(line) else None
        elif frame is not None:
            frame.take(number, line)
    if frame is not None:
        yield frame


def _plain_clause(clause: str) -> str:
    """A synonym or definition without what follows: its type, sources and remarks."""
    if definition := _DEFINITION.match(clause):
        return f"def: {definition[1]} []"
    match = _SYNONYM.match(clause)
    if match is None:
        return clause
    scope = (match[1] or match[3] or "RELATED").upper()
    return f"synonym: {match[2]} {scope} []"


def _add_block(
    block: list[Frame],
    source: Source,
    builder: KnowledgeBuilder,
    scopes: Collection[str],
    short_ids: bool,
) -> None:
    try:
        parsed = list(_parse("\n".join(frame.text for frame in block)))
    except SyntaxError:
        parsed = []
    for number, frame in enumerate(block):
        try:
            # A block with a broken term is read again, term by term.
            term = parsed[number] if parsed else parse_frame(frame)
            _add_term(read_term(term, short_ids=short_ids), builder, frame.numbers[0], scopes)
        except DataError as error:
            source.reject(error, error.line or frame.numbers[0])


def _add_term(term: OboTerm, builder: KnowledgeBuilder, line: int, scopes: Collection[str]) -> None:
    for alternative in term.old:
        builder.replace(alternative, term.id)
    if term.obsolete:
        builder.leave_out(term.id)
        for replacing in term.new[:1]:
            builder.replace(term.id, replacing)
    else:
        synonyms = [name for scope, name in term.synonyms if scope in scopes]
        builder.add(term.id, term.names + synonyms, line=line)
        builder.define(term.id, term.definition)
