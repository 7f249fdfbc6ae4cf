"""Ontologies in the OBO format."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.kb.building import KnowledgeBuilder
from synsetmine.kb.identifiers import short_id
from synsetmine.kb.source import Source

SCOPES = ("EXACT", "BROAD", "NARROW", "RELATED")

# The clauses that are needed. A strange cross-reference elsewhere does no harm then.
_CLAUSE = re.compile(
    r"(id|name|alt_id|is_obsolete|replaced_by|(?:exact_|broad_|narrow_|related_)?synonym)\s*:"
)
# Older files write `exact_synonym`, or leave the scope out.
_SYNONYM = re.compile(
    r'(?:(exact|broad|narrow|related)_)?synonym\s*:\s*("(?:[^"\\]|\\.)*")'
    r"\s*(EXACT|BROAD|NARROW|RELATED)?(?=[\s\[]|$)"
)
_BLOCK = 1000


@dataclass(slots=True)
class _Frame:
    """One `[Term]` with the line of each clause."""

    numbers: list[int]
    lines: list[str] = field(default_factory=lambda: ["[Term]"])

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def add_obo(
    source: Source, builder: KnowledgeBuilder, *, scopes: Collection[str], short_ids: bool
) -> None:
    """Read the terms: their names and the synonyms of these scopes.

    Obsolete terms are left out; alternative ids and those that a term replaces lead to it.
    """
    block: list[_Frame] = []
    for frame in _frames(source):
        block.append(frame)
        if len(block) == _BLOCK:
            _add_block(block, source, builder, scopes, short_ids)
            block = []
    _add_block(block, source, builder, scopes, short_ids)


def _frames(source: Source) -> Iterator[_Frame]:
    frame: _Frame | None = None
    for number, line in source.lines():
        text = line.strip()
        if text.startswith("["):
            if frame is not None:
                yield frame
            frame = _Frame([number]) if text.partition("!")[0].strip() == "[Term]" else None
        elif frame is not None and _CLAUSE.match(text):
            frame.numbers.append(number)
            frame.lines.append(_plain_synonym(text))
    if frame is not None:
        yield frame


def _plain_synonym(clause: str) -> str:
    """A synonym with its scope and without what follows: its type, sources and remarks."""
    match = _SYNONYM.match(clause)
    if match is None:
        return clause
    scope = (match[1] or match[3] or "RELATED").upper()
    return f"synonym: {match[2]} {scope} []"


def _add_block(
    block: list[_Frame],
    source: Source,
    builder: KnowledgeBuilder,
    scopes: Collection[str],
    short_ids: bool,
) -> None:
    fastobo = _fastobo()
    try:
        parsed = list(fastobo.loads("\n".join(frame.text for frame in block)))
    except SyntaxError:
        parsed = []
    for number, frame in enumerate(block):
        try:
            # A block with a broken term is read again, term by term.
            term = parsed[number] if parsed else fastobo.loads(frame.text)[0]
            _add_term(term, builder, frame.numbers[0], scopes, short_ids)
        except SyntaxError as error:
            place = min(error.lineno or 1, len(frame.lines)) - 1
            source.reject(DataError("not OBO", value=frame.lines[place]), frame.numbers[place])
        except DataError as error:
            source.reject(error, frame.numbers[0])


def _add_term(
    term: Any, builder: KnowledgeBuilder, line: int, scopes: Collection[str], short_ids: bool
) -> None:
    def identifier(ident: object) -> str:
        return short_id(str(ident)) if short_ids else str(ident)

    entity = identifier(term.id)
    names: list[str] = []
    synonyms: list[str] = []
    obsolete = False
    old: list[str] = []
    new: list[str] = []
    for clause in term:
        match clause.raw_tag():
            case "name":
                names.append(clause.name)
            case "synonym" if clause.synonym.scope in scopes:
                synonyms.append(clause.synonym.desc)
            case "is_obsolete":
                obsolete = clause.obsolete
            case "alt_id":
                old.append(identifier(clause.alt_id))
            case "replaced_by":
                new.append(identifier(clause.term))
    for alternative in old:
        builder.replace(alternative, entity)
    if obsolete:
        builder.leave_out(entity)
        for replacing in new[:1]:
            builder.replace(entity, replacing)
    else:
        builder.add(entity, names + synonyms, line=line)


def _fastobo() -> Any:
    try:
        import fastobo
    except ImportError:
        problem = "reading OBO needs the extra: pip install 'synsetmine[ontology]'"
        raise SynsetmineError(problem) from None
    return fastobo
