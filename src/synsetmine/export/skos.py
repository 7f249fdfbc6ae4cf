"""Sets as concepts of a SKOS scheme, in Turtle.

Judged scopes: a broad, narrow or related name is no altLabel, since a program may put an altLabel
in the place of the prefLabel. A concept of its own, joined by skos:broader, would claim to know
which thing the name means elsewhere, and a skos:note would hide the name from programs. So such
names are synonyms of OBO in OWL (oboInOwl:hasBroadSynonym, …): ontology tools know them, and those
that know SKOS alone pass over them. An exact name of which a reviewer is not sure is a
skos:hiddenLabel: a search finds it, but nobody is shown it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from synsetmine.export.entries import OBO_PROPERTIES, About, Entry, is_unsure, names_of
from synsetmine.io.files import write_text
from synsetmine.runs import MinedTerm

_PREFIXES = {
    "dct": "http://purl.org/dc/terms/",
    "oboInOwl": "http://www.geneontology.org/formats/oboInOwl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f-\x9f]')


def write_skos(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """One skos:ConceptScheme with a skos:Concept a set; the prefLabel is the preferred term."""
    head = [f"@prefix {name}: <{address}> .\n" for name, address in _PREFIXES.items()]
    blocks = [_scheme(about), *(_concept(entry, about) for entry in entries)]
    write_text(path, "".join(head) + "".join(f"\n{block}\n" for block in blocks))
    return [path]


def _scheme(about: About) -> str:
    facts = [("dct:title", _quoted(about.title)), ("dct:creator", _quoted(about.tool))]
    if about.created:
        facts.append(("dct:created", f"{_quoted(about.created)}^^xsd:date"))
    if about.licence:
        facts.append(("dct:license", f"<{about.licence}>"))
    return _block(f"<{about.scheme}>", "skos:ConceptScheme", facts)


def _concept(entry: Entry, about: About) -> str:
    facts = [
        ("skos:inScheme", f"<{about.scheme}>"),
        ("skos:notation", _quoted(entry.id)),
        ("skos:prefLabel", _literal(entry.preferred.text, about)),
    ]
    facts += [(_property(term), _literal(term.text, about)) for term in names_of(entry)[1:]]
    if entry.entity is not None and about.entity_iri(entry.entity) != about.iri(entry.id):
        facts.append(("skos:exactMatch", f"<{about.entity_iri(entry.entity)}>"))
    return _block(f"<{about.iri(entry.id)}>", "skos:Concept", facts)


def _property(term: MinedTerm) -> str:
    scope = term.scope
    if scope != "exact":
        return OBO_PROPERTIES[scope]
    return "skos:hiddenLabel" if is_unsure(term) else "skos:altLabel"


def _block(subject: str, kind: str, facts: Sequence[tuple[str, str]]) -> str:
    statements = " ;\n    ".join(f"{name} {value}" for name, value in (("a", kind), *facts))
    return f"{subject} {statements} ."


def _literal(text: str, about: About) -> str:
    return _quoted(text) + (f"@{about.language}" if about.language else "")


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPES.get(char, f"\\u{ord(char):04X}")
