"""New names as mappings to the entities of the knowledge base, in SSSOM's TSV.

A name is a literal, so each row is what SSSOM calls a literal mapping: the name is the
`subject_label`, the entity the object. The `subject_id`, which the standard would leave out, is
the set and the name; many programs require one.

The subject is the name, so the predicate turns its scope around: a name that is *broader*
than the entity (scope `broad`) has the entity as its narrower match (`skos:narrowMatch`).

Here no term of a set is preferred; `object_label` is the knowledge base's own name of the entity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from urllib.parse import quote

from synsetmine.errors import DataError
from synsetmine.export.entries import OWN_PREFIX, About, Entry, confidence, evidence_line, new_names
from synsetmine.io.files import write_text
from synsetmine.io.tables import rows_of
from synsetmine.runs import Judgement
from synsetmine.runs.results import orcid_of

COLUMNS = (
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
    "comment",
)
_ALWAYS = 6  # columns; of the others only those with something in them are written
_PREDICATES = {
    "exact": "skos:exactMatch",
    "broad": "skos:narrowMatch",
    "narrow": "skos:broadMatch",
    "related": "skos:relatedMatch",
}
# A variant of a known name is found by its words, all else by a model's probability.
_LEXICAL = "semapv:LexicalMatching"
_SEMANTIC = "semapv:SemanticSimilarityThresholdMatching"
_VARIANTS = frozenset({"spelling", "inflection", "word-order"})
_AGREEMENT = {"correct": "1.0", "unsure": "0.0", "incorrect": "-1.0"}
_ORCIDS = "https://orcid.org/"
_BUILT_IN = frozenset({"linkml", "owl", "rdf", "rdfs", "semapv", "skos", "sssom", "xsd"})
_NO_LICENCE = "https://w3id.org/sssom/license/unspecified"


def write_sssom(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """One row a name that an entity got from the miner; sets without an entity have no rows."""
    if all(entry.entity is None for entry in entries):
        problem = "SSSOM maps names to entities, and no set here grew from one of a knowledge base"
        raise DataError(problem)
    prefixes = _Prefixes({OWN_PREFIX: f"{about.base}name/"})
    rows = list(_rows(entries, about, prefixes))
    kept = [i for i in range(len(COLUMNS)) if i < _ALWAYS or any(row[i] for row in rows)]
    table = rows_of(([row[i] for i in kept] for row in (COLUMNS, *rows)), "\t")
    write_text(path, "".join(f"#{line}\n" for line in _header(about, prefixes)) + table)
    return [path]


def _header(about: About, prefixes: _Prefixes) -> Iterator[str]:
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


def _rows(entries: Sequence[Entry], about: About, prefixes: _Prefixes) -> Iterator[list[str]]:
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
                _LEXICAL if term.kind in _VARIANTS else _SEMANTIC,
                *_review(term.judgement, prefixes),
                "" if sure is None else f"{sure:.6g}",
                "" if term.judgement is None else _AGREEMENT[term.judgement.verdict],
                evidence_line(term.evidence[0]) if term.evidence else "",
            ]


def _review(judgement: Judgement | None, prefixes: _Prefixes) -> tuple[str, str, str]:
    """Id or name of the reviewer, and the day."""
    if judgement is None:
        return "", "", ""
    day = judgement.when[:10]
    orcid = orcid_of(judgement.reviewer)
    if orcid is None:
        return "", judgement.reviewer.replace("|", "\\|"), day  # several stand between bars
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
