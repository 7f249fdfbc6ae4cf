"""Names of sets as literal mappings of SSSLM, which PyOBO and the Biolexica read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from synsetmine.cells import rows_of
from synsetmine.export.about import About
from synsetmine.export.entries import Entry
from synsetmine.export.labels import confidence, names_of, synonym_scope
from synsetmine.files import write_text
from synsetmine.reviewers import orcid_of

COLUMNS = (
    *("text", "curie", "name", "predicate", "type", "provenance", "contributor", "date"),
    *("language", "comment", "source", "taxon"),
)
_LABEL = "rdfs:label"
_ABBREVIATION = "OMO:0003000"
_PREDICATES = {
    "exact": "oboInOwl:hasExactSynonym",
    "broad": "oboInOwl:hasBroadSynonym",
    "narrow": "oboInOwl:hasNarrowSynonym",
    "related": "oboInOwl:hasRelatedSynonym",
}


def write_ssslm(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """One row a name; that of the preferred term has the predicate `rdfs:label`.

    The others are synonyms of their scope, those that a reviewer is unsure of related ones.
    """
    write_text(path, rows_of((COLUMNS, *_rows(entries, about)), "\t"))
    return [path]


def _rows(entries: Sequence[Entry], about: About) -> Iterator[list[str]]:
    language = about.language.partition("-")[0].lower()
    for entry in entries:
        curie = ":".join(about.curie(entry.id, entry.entity))
        for term in names_of(entry):
            judged, sure = term.judgement, confidence(term)
            orcid = None if judged is None else orcid_of(judged.reviewer)
            row = dict.fromkeys(COLUMNS, "") | {
                "text": term.text,
                "curie": curie,
                "name": entry.preferred.text,
                "predicate": _LABEL
                if term is entry.preferred
                else _PREDICATES[synonym_scope(term)],
                "type": _ABBREVIATION if term.kind == "abbreviation" else "",
                "contributor": f"orcid:{orcid}" if orcid else "",
                "date": "" if judged is None else judged.when[:10],
                "language": language if len(language) == 2 else "",  # it has no longer ones
                "comment": "" if sure is None else f"probability {sure:.6g}",
                "source": "synsetmine",
            }
            yield list(row.values())
