"""`synsetmine abbreviations`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.console import check_not_input, output_file
from synsetmine.cli.options import with_settings
from synsetmine.cli.stages import CorpusOptions
from synsetmine.errors import DataError, Skipped, counted

if TYPE_CHECKING:
    from synsetmine.text.evidence import Abbreviation


COLUMNS = ("short form", "long form", "count", "documents", "document", "sentence")
STDOUT = "-"


def _check_out(out: Path | None) -> Path | None:
    if out is None or str(out) == STDOUT:
        return out
    from synsetmine.io.files import plain_name

    if Path(plain_name(out)).suffix.lower() not in (".tsv", ".jsonl"):
        problem = "unknown file extension; expected .tsv or .jsonl, also with .gz, .bz2 or .zst"
        raise DataError(problem, value=str(out))
    return output_file(out)


@with_settings
def abbreviations(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            callback=_check_out,
            help="File to write: .tsv or .jsonl; `-` writes all as TSV to stdout. Default: a "
            "table on stdout.",
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Only definitions that occur at least this often.")
    ] = 1,
    *,
    settings: CorpusOptions,
) -> None:
    """List the abbreviations that a corpus defines, with counts and an example sentence.

    Finds "magnetic resonance imaging (MRI)" and "MRI (magnetic resonance imaging)" by the
    algorithm of Schwartz and Hearst. It needs no knowledge base.

    Example: `synsetmine abbreviations abstracts.jsonl.gz`

    Write the abbreviations with two or more definitions to a file:

    Example: `synsetmine abbreviations texts/ --min-count 2 --out abbreviations.tsv`
    """
    from synsetmine.corpus import corpus_files
    from synsetmine.pipeline.corpus_stages import open_corpus
    from synsetmine.text.evidence import find_abbreviations

    if out is not None:
        check_not_input(out, *corpus_files(settings.path, settings.format))
    skipped = Skipped()
    with console.progress_bar("reading", unit="bytes") as bar:
        defined = find_abbreviations(open_corpus(settings, skipped, bar.update))
    console.report_left_out(skipped)
    listed = [entry for entry in defined if entry.count >= min_count]
    rows = [[str(cell) for cell in _row(entry)] for entry in listed]
    where = ""
    if out is None:
        console.show_first_rows(COLUMNS, rows)
    elif str(out) == STDOUT:
        console.show_table(COLUMNS, rows)
    else:
        _write(out, listed)
        where = f"; written to {out}"
    console.say(f"{counted(len(listed), 'abbreviation')}{where}")


def _row(entry: Abbreviation) -> tuple[str, str, int, int, str, str]:
    example = entry.example
    counts = entry.count, entry.documents
    return entry.short, entry.long, *counts, example.document, example.text


def _write(out: Path, listed: Sequence[Abbreviation]) -> None:
    from synsetmine.io.files import plain_name, write_text
    from synsetmine.io.tables import escape_formula, rows_of

    if plain_name(out).lower().endswith(".jsonl"):
        keys = [column.replace(" ", "_") for column in COLUMNS]
        records = (dict(zip(keys, _row(entry), strict=True)) for entry in listed)
        text = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    else:
        rows = ([escape_formula(str(cell)) for cell in _row(entry)] for entry in listed)
        text = rows_of((COLUMNS, *rows), "\t")
    write_text(out, text)
