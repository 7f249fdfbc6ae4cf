"""`synsetmine apply-names`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.places import a_file, check_apart


def apply_names(
    patch: Annotated[
        Path,
        typer.Argument(help="New names, as `export --format patch` has them.", show_default=False),
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
            callback=a_file,
            help="File for the new knowledge base.",
            show_default=False,
        ),
    ],
    form: Annotated[
        Literal["jsonl", "csv", "tsv", "obo"] | None,
        typer.Option(help="jsonl, csv, tsv or obo; else guessed."),
    ] = None,
    reviewed: Annotated[
        bool, typer.Option("--reviewed", help="Only names that a reviewer called correct.")
    ] = False,
) -> None:
    """Add new names to a knowledge base; everything else in its file stays as it is.

    Names that a reviewer called incorrect or was unsure of are left out, as are names that are
    there already and names of entities that the knowledge base lacks.

    Example: `synsetmine apply-names new-names.tsv mesh.jsonl.gz --out mesh-more.jsonl.gz`
    """
    check_apart(out, patch)
    from synsetmine.errors import Skipped
    from synsetmine.export.patch import read_patch
    from synsetmine.kb import apply_names as apply

    refused = Skipped()
    names = read_patch(patch, refused=refused, reviewed=reviewed)
    applied = apply(kb, out, names, refused=refused, form=form)
    console.report_left_out(refused)
    entities = "1 entity" if applied.entities == 1 else f"{applied.entities:,} entities"
    console.say(f"{console.counted(applied.names, 'name')} added to {entities}, written to {out}")
