"""Sets as plain data in CSV, JSON and Parquet, the table of new names that patches a KB, and
lexica for spaCy's entity ruler, Gilda and SSSLM.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from synsetmine.corpus.citations import source_id
from synsetmine.errors import DataError, ErrorCounts, import_extra, skip_broken
from synsetmine.export.entries import (
    OBO_PROPERTIES,
    About,
    confidence,
    evidence_line,
    is_mined,
    judgement_on,
    names_of,
    new_names,
    reviewer_curie,
    sources_of,
    synonym_scope,
)
from synsetmine.io.files import atomic_write, compression_of, numbered_lines, write_text
from synsetmine.io.tables import cell_of, escape_formula, rows_of, unescape_formula
from synsetmine.kb.base import clean_name
from synsetmine.kb.patch import NewName
from synsetmine.kb.readers import tab_rows
from synsetmine.normalization import keeps_case, normal_form
from synsetmine.runs import MinedSet, MinedTerm, Scope, Sentence, Verdict
from synsetmine.runs.results import orcid_of
from synsetmine.types import NameKind

COLUMNS = {
    "set_id": "string",
    "preferred": "string",
    "term": "string",
    "sense": "string",
    "count": "int64",
    "probability": "double",
    "known": "bool",
    "action": "string",
    "kind": "string",
    "relation": "string",
    "nearest": "string",
    "entity": "string",
    "entity_name": "string",
    "verdict": "string",
    "scope": "string",
    "reviewer": "string",
    "when": "string",
    "evidence": "string",
    "document": "string",
    "sentence": "string",
}

_JUDGED = ("verdict", "scope", "reviewer", "when")
_NO_SENTENCE = Sentence("", "", 0, 0)


def write_csv(path: Path, entries: Sequence[MinedSet], _about: About) -> list[Path]:
    """One row a term, the preferred one first; `preferred` has it in every row of its set.

    What looks like a formula has an apostrophe in front, since spreadsheets run formulas.
    """
    rows = ([cell_of(value) for value in row.values()] for row in _rows(entries))
    write_text(path, rows_of((list(COLUMNS), *rows), ","))
    return [path]


def write_parquet(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """The same rows with their types; nothing is guarded, and missing values are null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = {"title": about.title, "tool": about.tool, "created": about.created}
    metadata = {f"synsetmine.{name}": value for name, value in values.items() if value}
    schema = pa.schema(
        [(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()], metadata=metadata
    )
    rows = [
        {name: None if value == "" else value for name, value in row.items()}
        for row in _rows(entries)
    ]
    with atomic_write(path) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), temporary)
    return [path]


def write_jsonl(path: Path, entries: Sequence[MinedSet], _about: About) -> list[Path]:
    """One set a line as files of sets have it, the preferred term first, and more.

    `details` describes the terms, in the same order.
    """
    lines = (json.dumps(_record(entry), ensure_ascii=False) for entry in entries)
    write_text(path, "".join(f"{line}\n" for line in lines))
    return [path]


def _rows(entries: Sequence[MinedSet]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        for term in entry.terms:
            row = {
                "set_id": entry.id,
                "preferred": entry.terms[0].text,
                **_details(term),
                **_best_evidence(term),
                "entity": entry.entity,
                "entity_name": entry.name,
            }
            yield {name: row[name] for name in COLUMNS}


def _record(entry: MinedSet) -> dict[str, Any]:
    return {
        "id": entry.id,
        "terms": [str(term.term) for term in entry.terms],
        "preferred": entry.terms[0].text,
        "entity": entry.entity,
        "entity_name": entry.name,
        "details": [_details(term) | {"evidence": _evidence(term)} for term in entry.terms],
    }


def _details(term: MinedTerm) -> dict[str, Any]:
    return {
        "term": term.text,
        "sense": term.sense,
        "count": term.count,
        "probability": confidence(term),
        "known": term.known,
        "action": term.action,
        "kind": term.kind,
        "relation": term.relation,
        "nearest": term.nearest,
        **{name: getattr(term.judgement, name, None) for name in _JUDGED},
    }


def _best_evidence(term: MinedTerm) -> dict[str, str]:
    best = next(iter(term.quotes(term.sentences)), _NO_SENTENCE)
    return {"evidence": best.relation, "document": best.document, "sentence": best.text}


def _evidence(term: MinedTerm) -> list[dict[str, str]]:
    return [
        {"relation": one.relation, "document": one.document, "text": one.text}
        for one in term.quotes(term.sentences)
    ]


# --- New names for known entities ---

PATCH_COLUMNS = (
    *("entity", "entity_name", "new_name", "kind", "relation", "nearest", "scope"),
    *("probability", "count", "known", "verdict", "reviewer", "when"),
    *("evidence", "document", "sentence"),
)
_NEEDED = frozenset({"entity", "new_name"})


def write_patch(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """New names of entities for a curator: one row a name, the surest of each entity first.

    A patch adds names and leaves the preferred one as it is. Cells are guarded against
    spreadsheets that would run them as formulas.
    """
    if all(entry.entity is None for entry in entries):
        raise DataError(
            "none of these sets has an entity of a knowledge base, so there is nothing to patch"
        )
    write_text(path, rows_of((PATCH_COLUMNS, *_patch_rows(entries, about)), "\t"))
    return [path]


def read_patch(path: Path, *, refused: ErrorCounts, reviewed: bool = False) -> Iterator[NewName]:
    """The names to add: those called correct and, unless `reviewed`, those that nobody judged.

    The others go to `refused`. Only the columns `entity` and `new_name` must be there.
    """
    header: list[str] | None = None
    for number, row in tab_rows(numbered_lines(path)):
        with skip_broken(path, number, None):
            if header is None:
                header = _check_header(row)
                continue
            if len(row) > len(header):
                raise DataError("a row with more cells than the header", value="\t".join(row))
            cells = dict(zip(header, map(unescape_formula, row), strict=False))
            name, verdict = _new_name(cells), _one_of(Verdict, cells.get("verdict", ""), "")
        if verdict == "correct" or not (verdict or reviewed):
            yield name
        else:
            who = "a reviewer did not call correct" if verdict else "nobody judged"
            problem = f"a name that {who}"
            refused.append(DataError(problem, path=path, line=number, value=name.name))
    if header is None:
        raise DataError("no header in this file", path=path)


def with_sentences(
    entries: Sequence[MinedSet], examples: Mapping[str, Sequence[Sentence]]
) -> list[MinedSet]:
    """The entries with sentences for mined names, given by normal form, where they are found."""

    def add_sentences(term: MinedTerm) -> MinedTerm:
        if not is_mined(term):
            return term
        return replace(term, sentences=tuple(examples.get(normal_form(term.text), ())))

    return [replace(entry, terms=tuple(map(add_sentences, entry.terms))) for entry in entries]


def _patch_rows(entries: Sequence[MinedSet], about: About) -> Iterator[list[str]]:
    for entry in entries:
        for term in sorted(new_names(entry), key=lambda term: -(confidence(term) or 0)):
            yield [escape_formula(cell) for cell in _patch_row(entry, term, about)]


def _patch_row(entry: MinedSet, term: MinedTerm, about: About) -> list[str]:
    sure, judged = confidence(term), term.judgement
    quote = next(iter(term.quotes(term.sentences)), _NO_SENTENCE)
    return [
        entry.entity or "",
        entry.name,
        clean_name(term.text),
        term.kind or "",
        term.relation or "",
        _one_line(term.nearest),
        term.scope,
        "" if sure is None else f"{sure:.6g}",
        str(term.count),
        "yes" if term.known else "no",
        term.verdict or "",
        "" if judged is None else clean_name(judged.reviewer),
        "" if judged is None else judged.when,
        quote.relation,
        about.source(quote.document) or _one_line(quote.document),
        _one_line(quote.text),
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _check_header(header: Sequence[str]) -> list[str]:
    columns = [column.strip().casefold() for column in header]
    if not set(columns) >= _NEEDED:
        problem = f"expected a header with the columns {' and '.join(sorted(_NEEDED))}; found"
        raise DataError(problem, value=", ".join(header))
    return columns


def _new_name(cells: Mapping[str, str]) -> NewName:
    entity, name = cells["entity"].strip(), cells.get("new_name", "")
    if not entity or not name.strip():
        raise DataError("a row needs an entity and a new name", value=f"{entity}\t{name}")
    orcid = orcid_of(cells.get("reviewer", ""))
    sources = (source_id(cells.get("document", "")), f"orcid:{orcid}" if orcid else "")
    return NewName(
        entity=entity,
        name=name,
        scope=_one_of(Scope, cells.get("scope", ""), "exact"),
        kind=_one_of(NameKind, cells.get("kind", ""), ""),
        sources=tuple(filter(None, sources)),
    )


def _one_of(allowed: object, cell: str, empty: str) -> str:
    """What a cell says, in small letters, if it is one of a few words."""
    word = cell.strip().casefold() or empty
    if word and word not in get_args(allowed):
        raise DataError(f"expected one of {', '.join(get_args(allowed))}", value=cell)
    return word


LABEL = "TERM"  # of all entities: the type of a set is unknown


def write_spacy(path: Path, entries: Sequence[MinedSet], _about: About) -> list[Path]:
    """One line a name and way to write it; its `id` is the id of the set.

    Patterns are phrases, which spaCy cuts into tokens as it does with texts, in any language, and
    finds fast however many there are. They match letter by letter, so a name is there in the
    cases that texts have it in; a short word in capitals (`WHO`) only in its own. Preferred or
    not makes no difference to a matcher.
    """
    lines = {
        json.dumps({"label": LABEL, "pattern": pattern, "id": entry.id}, ensure_ascii=False): None
        for entry in entries
        for term in names_of(entry)
        for pattern in spellings(term.text)
    }
    write_text(path, "".join(f"{line}\n" for line in lines))
    return [path]


def spellings(name: str) -> list[str]:
    """A name as texts may write it: as it is, small, as a sentence starts, as a title, in capitals.

    >>> spellings("heart attack")
    ['heart attack', 'Heart attack', 'Heart Attack', 'HEART ATTACK']
    """
    if keeps_case(normal_form(name)):
        return [name]
    small = name.lower()
    title = " ".join(map(_capital, small.split(" ")))
    every = (name, small, _capital(name), _capital(small), title, name.upper())
    return list(dict.fromkeys(every))


def text_problem(term: str) -> str:
    """Why a matcher should not look for a term; empty if it should."""
    return "" if normal_form(term) else "a term without a letter or digit"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


GILDA_COLUMNS = (
    *("norm_text", "text", "db", "id", "entry_name", "status", "source"),
    *("organism", "source_db", "source_id"),
)
_WHITESPACE = re.compile(r"[^\S\x1c-\x1f]+")
_DASHES = re.compile("[-\u2010-\u2015\u2212]")
_GREEK = re.compile("[Α-ΡΣ-Ωα-ρσ-ω]")  # Gilda has other ways with these, so they stay


def write_gilda(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """One row a name; the preferred one has the status `name`, the others `synonym`."""
    if compression_of(path) != "gzip":
        raise DataError("Gilda reads gzipped files only; end the name in .tsv.gz", value=str(path))
    write_text(path, rows_of((GILDA_COLUMNS, *_gilda_rows(entries, about)), "\t"))
    return [path]


def gilda_problem(term: str) -> str:
    """Why Gilda cannot hold a term; empty if it can."""
    if re.search(r"[\r\n]", term):
        return "a term with a line break"
    return "" if norm_text(term).strip() else "a term whose normal form in Gilda is empty"


def norm_text(text: str) -> str:
    """What Gilda looks a name up by: no dashes, single spaces, ASCII but for Greek, lower case."""
    plain = _DASHES.sub("", _WHITESPACE.sub(" ", text))
    if not plain.isascii():
        plain = "".join(char if _GREEK.match(char) else _ascii(char) for char in plain)
    return plain.lower()


def _gilda_rows(entries: Sequence[MinedSet], about: About) -> Iterator[list[str]]:
    for entry in entries:
        database, identifier = about.curie(entry.id, entry.entity)
        for term in names_of(entry):
            yield [
                norm_text(term.text),
                term.text,
                database,
                identifier,
                entry.terms[0].text,
                "name" if term is entry.terms[0] else "synonym",
                "synsetmine",
                *("", "", ""),
            ]


def _ascii(char: str) -> str:
    unidecode = import_extra("unidecode", "writing terms that are not ASCII", "gilda")
    ascii_text: str = unidecode.unidecode(char, errors="ignore")
    return ascii_text


SSSLM_COLUMNS = (
    *("text", "curie", "name", "predicate", "type", "provenance", "contributor", "date"),
    *("language", "comment", "source", "taxon"),
)
_LABEL = "rdfs:label"
_ABBREVIATION = "OMO:0003000"


def write_ssslm(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """One row a name; that of the preferred term has the predicate `rdfs:label`.

    The others are synonyms of their scope, those that a reviewer is unsure of related ones.
    """
    write_text(path, rows_of((SSSLM_COLUMNS, *_ssslm_rows(entries, about)), "\t"))
    return [path]


def _ssslm_rows(entries: Sequence[MinedSet], about: About) -> Iterator[list[str]]:
    language = about.language.partition("-")[0].lower()
    for entry in entries:
        curie = ":".join(about.curie(entry.id, entry.entity))
        for term in names_of(entry):
            judged, sure = judgement_on(term), confidence(term)
            remarks = ["" if sure is None else f"probability {sure:.6g}"]
            remarks.append(evidence_line(term, about))
            articles = [source for source in sources_of(term, about) if "://" not in source]
            row = dict.fromkeys(SSSLM_COLUMNS, "") | {
                "text": term.text,
                "curie": curie,
                "name": entry.terms[0].text,
                "predicate": _LABEL
                if term is entry.terms[0]
                else OBO_PROPERTIES[synonym_scope(term)],
                "type": _ABBREVIATION if term.kind == "abbreviation" else "",
                "provenance": ",".join(articles),
                "contributor": reviewer_curie(term),
                "date": "" if judged is None else judged.when[:10],
                "language": language if len(language) == 2 else "",  # it has no longer ones
                "comment": "; ".join(filter(None, remarks)),
                "source": "synsetmine",
            }
            yield list(row.values())
