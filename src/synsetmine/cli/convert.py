"""`synsetmine convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import SkipBad, load_sets, load_vectors
from synsetmine.cli.places import a_file


def convert(
    source: Annotated[Path, typer.Argument(help="Sets or vectors.", show_default=False)],
    target: Annotated[
        Path,
        typer.Argument(callback=a_file, help="The file to write.", show_default=False),
    ],
    skip_bad: SkipBad = False,
) -> None:
    """Convert sets (.set, .jsonl) or vectors (text, .bin, .safetensors) between their forms.

    Example: `synsetmine convert vectors.txt vectors.safetensors`
    """
    from synsetmine.errors import DataError
    from synsetmine.setfiles import is_set_file, write_sets
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
