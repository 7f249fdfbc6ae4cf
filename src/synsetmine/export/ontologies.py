"""Sets for ontology tools: SKOS concepts, OBO terms, and SSSOM mappings of new names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from urllib.parse import quote

from synsetmine.corpus.citations import source_address
from synsetmine.errors import DataError
from synsetmine.export.entries import (
    OBO_PROPERTIES,
    OWN_PREFIX,
    About,
    confidence,
    evidence_line,
    names_of,
    new_names,
    reviewer_curie,
    sources_of,
    synonym_scope,
)
from synsetmine.io.files import write_text
from synsetmine.io.tables import rows_of
from synsetmine.kb.obo import escape_line, id_clause, name_clause, synonym_clause
from synsetmine.runs import Judgement, MinedSet, MinedTerm
from synsetmine.runs.results import orcid_of
from synsetmine.types import VARIANTS

# --- SKOS, in Turtle ---

_SKOS_PREFIXES = {
    "dct": "http://purl.org/dc/terms/",
    "oboInOwl": "http://www.geneontology.org/formats/oboInOwl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f-\x9f]')


def write_skos(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """One skos:ConceptScheme with a skos:Concept a set; the prefLabel is the preferred term.

    A broad, narrow or related name is no altLabel, since a program may put an altLabel in the
    place of the prefLabel. A concept of its own, joined by skos:broader, would claim to know which
    thing the name means elsewhere, and a skos:note would hide the name from programs. So such
    names are synonyms of OBO in OWL (oboInOwl:hasBroadSynonym, …): ontology tools know them, and
    those that know SKOS alone ignore them. An exact name of which a reviewer is not sure is a
    skos:hiddenLabel: a search finds it, but no page shows it. The best sentence of each name is a
    skos:editorialNote.
    """
    head = [f"@prefix {name}: <{address}> .\n" for name, address in _SKOS_PREFIXES.items()]
    blocks = [_scheme(about), *(_concept(entry, about) for entry in entries)]
    write_text(path, "".join(head) + "".join(f"\n{block}\n" for block in blocks))
    return [path]


def _scheme(about: About) -> str:
    facts = [("dct:title", _quote(about.title)), ("dct:creator", _quote(about.tool))]
    if about.created:
        facts.append(("dct:created", f"{_quote(about.created)}^^xsd:date"))
    if about.licence:
        facts.append(("dct:license", f"<{about.licence}>"))
    return _block(f"<{about.scheme}>", "skos:ConceptScheme", facts)


def _concept(entry: MinedSet, about: About) -> str:
    facts = [
        ("skos:inScheme", f"<{about.scheme}>"),
        ("skos:notation", _quote(entry.id)),
        ("skos:prefLabel", _literal(entry.terms[0].text, about)),
    ]
    names = names_of(entry)
    facts += [(_property(term), _literal(term.text, about)) for term in names[1:]]
    facts += [
        ("skos:editorialNote", _quote(f"{term.text}: {line}"))
        for term in names
        if (line := evidence_line(term, about))
    ]
    if entry.entity is not None and about.entity_iri(entry.entity) != about.iri(entry.id):
        facts.append(("skos:exactMatch", f"<{about.entity_iri(entry.entity)}>"))
    return _block(f"<{about.iri(entry.id)}>", "skos:Concept", facts)


def _property(term: MinedTerm) -> str:
    if term.scope != "exact":
        return OBO_PROPERTIES[term.scope]
    return "skos:hiddenLabel" if term.verdict == "unsure" else "skos:altLabel"


def _block(subject: str, kind: str, facts: Sequence[tuple[str, str]]) -> str:
    statements = " ;\n    ".join(f"{name} {value}" for name, value in (("a", kind), *facts))
    return f"{subject} {statements} ."


def _literal(text: str, about: About) -> str:
    return _quote(text) + (f"@{about.language}" if about.language else "")


def _quote(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPES.get(char, f"\\u{ord(char):04X}")


# --- OBO ---

ABBREVIATION = "ABBREVIATION"  # the synonym type, which the header declares


def write_obo(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """One `[Term]` a set; its `name` is the preferred term, the others are synonyms.

    The scope is the synonym's: EXACT, BROAD, NARROW or RELATED, as a reviewer judged it or else as
    the run proposes it. An exact synonym that a reviewer is unsure of is RELATED, OBO's word for no
    stronger claim. An abbreviation has the type ABBREVIATION. The documents that have the name
    and the reviewer's ORCID are the synonym's sources, the best sentence its comment. OBO 1.4 has
    no field for licence and language.
    """
    typed = any(term.kind == "abbreviation" for entry in entries for term in entry.terms[1:])
    frames = [_obo_header(about, typed=typed), *(_frame(entry, about) for entry in entries)]
    write_text(path, "\n".join("".join(f"{line}\n" for line in frame) for frame in frames))
    return [path]


def _obo_header(about: About, *, typed: bool) -> list[str]:
    types = [f'synonymtypedef: {ABBREVIATION} "abbreviation"'] if typed else []
    version = [f"data-version: {about.created}"] if about.created else []
    remark = f"remark: {escape_line(about.in_words)}"
    return ["format-version: 1.4", *version, *types, "ontology: synsetmine", remark]


def _frame(entry: MinedSet, about: About) -> list[str]:
    return [
        "[Term]",
        id_clause(*about.curie(entry.id, entry.entity)),
        name_clause(entry.terms[0].text),
        *(_synonym(term, about) for term in names_of(entry)[1:]),
    ]


def _synonym(term: MinedTerm, about: About) -> str:
    sources = filter(None, [*sources_of(term, about), reviewer_curie(term)])
    kind = ABBREVIATION if term.kind == "abbreviation" else ""
    comment = evidence_line(term, about)
    scope = synonym_scope(term)
    return synonym_clause(term.text, scope, tuple(sources), kind=kind, comment=comment)


# --- SSSOM's TSV ---

SSSOM_COLUMNS = (
    "subject_id",
    "subject_label",
    "predicate_id",
    "object_id",
    "object_label",
    "mapping_justification",
    "reviewer_id",
    "reviewer_label",
    "review_date",
    "confidence",
    "reviewer_agreement",
    "subject_source",
    "see_also",
    "comment",
)
_ALWAYS = 6  # columns; of the others only those with something in them are written
# The subject is the name: one that is broader than the entity has it as its narrower match.
_PREDICATES = {
    "exact": "skos:exactMatch",
    "broad": "skos:narrowMatch",
    "narrow": "skos:broadMatch",
    "related": "skos:relatedMatch",
}
# A variant of a known name is found by its words, all else by a model's probability.
_LEXICAL = "semapv:LexicalMatching"
_SEMANTIC = "semapv:SemanticSimilarityThresholdMatching"
_AGREEMENT = {"correct": "1.0", "unsure": "0.0", "incorrect": "-1.0", "not-a-name": "-1.0"}
_ORCIDS = "https://orcid.org/"
_BUILT_IN = frozenset({"linkml", "owl", "rdf", "rdfs", "semapv", "skos", "sssom", "xsd"})
_NO_LICENCE = "https://w3id.org/sssom/license/unspecified"


def write_sssom(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """One row a name that an entity got from the miner; sets without an entity have no rows.

    A name is a literal, so each row is what SSSOM calls a literal mapping: the name is the
    `subject_label`, the entity the object. The `subject_id`, which the standard would leave out,
    is the set and the name; many programs require one. No term of a set is preferred here;
    `object_label` is the knowledge base's own name of the entity.
    """
    if all(entry.entity is None for entry in entries):
        problem = (
            "SSSOM maps names to entities, but none of these sets has an entity of a knowledge base"
        )
        raise DataError(problem)
    prefixes = _Prefixes({OWN_PREFIX: f"{about.base}name/"})
    rows = list(_mappings(entries, about, prefixes))
    kept = [i for i in range(len(SSSOM_COLUMNS)) if i < _ALWAYS or any(row[i] for row in rows)]
    table = rows_of(([row[i] for i in kept] for row in (SSSOM_COLUMNS, *rows)), "\t")
    write_text(path, "".join(f"#{line}\n" for line in _metadata(about, prefixes)) + table)
    return [path]


def _metadata(about: About, prefixes: _Prefixes) -> Iterator[str]:
    """The metadata of the mapping set, in YAML; a JSON string is one of YAML's too."""
    yield "curie_map:"
    for prefix, space in sorted(prefixes.spaces.items()):
        yield f"  {json.dumps(prefix)}: {json.dumps(space)}"  # unquoted, `no` would be false
    name, _, version = about.tool.partition(" ")
    title = "".join(char if char.isprintable() else " " for char in about.title)
    metadata = {
        "sssom_version": "1.1",  # the first that has review_date and reviewer_agreement
        "mapping_set_id": about.scheme,
        "mapping_set_title": title,
        "license": about.licence or _NO_LICENCE,
        "subject_type": "rdfs literal",
        "mapping_tool": name,
        "mapping_tool_version": version,
        "mapping_date": about.created,
    }
    yield from (f"{slot}: {json.dumps(v, ensure_ascii=False)}" for slot, v in metadata.items() if v)


def _mappings(
    entries: Sequence[MinedSet], about: About, prefixes: _Prefixes
) -> Iterator[list[str]]:
    for entry in entries:
        new = new_names(entry)
        if entry.entity is None or not new:
            continue
        prefix, local = about.curie(entry.id, entry.entity)
        iri = about.entity_iri(entry.entity)
        entity = prefixes.shorten(iri, prefix, quote(local, safe=":"))
        for term in new:
            sure = confidence(term)
            yield [
                f"{OWN_PREFIX}:{quote(entry.id, safe='')}/{quote(term.text, safe='')}",
                term.text,
                _PREDICATES[term.scope],
                entity,
                entry.name,
                _LEXICAL if term.kind in VARIANTS else _SEMANTIC,
                *_review(term.judgement, prefixes),
                "" if sure is None else f"{sure:.6g}",
                _AGREEMENT[term.verdict] if term.verdict else "",
                *_sources(term, about, prefixes),
                evidence_line(term, about),
            ]


def _sources(term: MinedTerm, about: About, prefixes: _Prefixes) -> tuple[str, str]:
    """The document that the name is from, and the addresses of all that have it."""
    sources = sources_of(term, about)
    pages = [source_address(source) for source in sources]
    best = ""
    if sources:
        prefix, _, local = sources[0].partition(":")
        best = prefixes.shorten(pages[0], prefix, local)
    return best, "|".join(page.replace("|", "%7C") for page in pages)


def _review(judgement: Judgement | None, prefixes: _Prefixes) -> tuple[str, str, str]:
    """Id or name of the reviewer, and the day."""
    if judgement is None:
        return "", "", ""
    day = judgement.when[:10]
    orcid = orcid_of(judgement.reviewer)
    if orcid is None:
        return "", judgement.reviewer.replace("|", "\\|"), day  # several are separated by bars
    return prefixes.shorten(_ORCIDS + orcid, "orcid", orcid), "", day


@dataclass(frozen=True)
class _Prefixes:
    """Short names of the addresses that the rows use."""

    spaces: dict[str, str]

    def shorten(self, iri: str, prefix: str, local: str) -> str:
        """The address as a CURIE, with this prefix if it can be had."""
        if not iri.endswith(local):  # an id that was an address before: its prefix is `https`
            prefix, local = "", re.split(r"[/#](?=.)", iri)[-1]
        space = iri.removesuffix(local)
        same = (name for name, known in self.spaces.items() if known == space)
        proposed = [prefix] if prefix and prefix not in _BUILT_IN else []
        others = (f"ns{n}" for n in count(1))
        free = (name for name in chain(proposed, others) if name not in self.spaces)
        name = next(chain(same, free))  # one name for an address, and one address for a name
        self.spaces[name] = space
        return f"{name}:{local}"
