"""Commands on files of names and vectors: apply-names, convert, lint."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.console import check_not_input, output_file
from synsetmine.cli.inputs import SkipBad, load_sets, load_vectors
from synsetmine.errors import counted

if TYPE_CHECKING:
    from synsetmine.export.lint import Lint, Severity


def apply_names(
    patch: Annotated[
        Path,
        typer.Argument(
            help="New names, as `export --format patch` writes them.", show_default=False
        ),
    ],
    kb: Annotated[
        Path,
        typer.Argument(help="The knowledge base's file: JSONL, CSV, TSV, OBO.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            callback=output_file,
            help="File for the new knowledge base.",
            show_default=False,
        ),
    ],
    format: Annotated[
        Literal["jsonl", "csv", "tsv", "obo"] | None,
        typer.Option(help="jsonl, csv, tsv or obo. Default: from the file name."),
    ] = None,
    reviewed: Annotated[
        bool, typer.Option("--reviewed", help="Add only names that a reviewer called correct.")
    ] = False,
) -> None:
    """Add new names to a knowledge base, and leave the rest of its file unchanged.

    Names with the verdict incorrect or unsure are left out, and so are names that the entity
    already has and names of entities that the knowledge base lacks.

    Example: `synsetmine apply-names new-names.tsv mesh.jsonl.gz --out mesh-more.jsonl.gz`
    """
    check_not_input(out, patch)
    from synsetmine.errors import Skipped
    from synsetmine.export.tables import read_patch
    from synsetmine.kb import apply_names as apply

    refused = Skipped()
    names = read_patch(patch, refused=refused, reviewed=reviewed)
    applied = apply(kb, out, names, refused=refused, format=format)
    console.report_left_out(refused)
    added = f"{counted(applied.names, 'name')} added to {counted(applied.entities, 'entity')}"
    console.say(f"{added}, written to {out}")


def convert(
    source: Annotated[Path, typer.Argument(help="Sets or vectors.", show_default=False)],
    target: Annotated[
        Path,
        typer.Argument(callback=output_file, help="The file to write.", show_default=False),
    ],
    skip_bad: SkipBad = False,
) -> None:
    """Convert sets (.set, .jsonl) or vectors (text, .bin, .safetensors) between their formats.

    Example: `synsetmine convert vectors.txt vectors.safetensors`
    """
    from synsetmine.errors import DataError
    from synsetmine.io.sets import is_set_file, write_sets
    from synsetmine.views import write_vectors

    of_sets = is_set_file(source)
    if of_sets != is_set_file(target):
        kind = "sets (.set or .jsonl)" if of_sets else "vectors (text, .bin or .safetensors)"
        raise DataError(f"the target must be a file of {kind} too", value=str(target))
    if of_sets:
        sets = load_sets(source, skip_bad)
        write_sets(target, sets)
        console.say(f"{len(sets)} sets of {len(sets.terms)} terms written to {target}")
    else:
        vectors = load_vectors(source, skip_bad)
        write_vectors(target, vectors)
        console.say(f"{len(vectors)} vectors of {vectors.dimension} dimensions written to {target}")


def lint(
    files: Annotated[
        list[Path], typer.Argument(help="Files such as synonyms.txt.", show_default=False)
    ],
    limit: Annotated[
        int,
        typer.Option(
            min=0, help="Maximum number of rules per file that your engine accepts; 0: no limit."
        ),
    ] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check synonyms.txt files before Solr or Elasticsearch reads them.

    An error is a rule that an engine rejects or misreads, a warning a probable mistake, a note
    information. With an error the exit code is 1.

    Example: `synsetmine lint synonyms.txt`
    """
    from synsetmine.export import lint_file

    results = {path: lint_file(path, limit=limit) for path in files}
    if as_json:
        console.show_json(
            [{"file": str(path), **asdict(result)} for path, result in results.items()]
        )
    for path, result in results.items():
        if not as_json:
            for finding in result.findings:
                message = console.one_line(finding.message)
                console.show(f"{path}:{finding.line}: {finding.severity}: {message}")
        console.say(_summary(path, result))
    if any(result.count("error") for result in results.values()):
        raise typer.Exit(1)


def _summary(path: Path, result: Lint) -> str:
    rules, terms = counted(result.rules, "rule"), counted(result.terms, "term")
    kinds: tuple[Severity, ...] = ("error", "warning", "note")
    findings = ", ".join(counted(result.count(kind), kind) for kind in kinds)
    return f"{path}: {rules} of {terms}; {findings}"
