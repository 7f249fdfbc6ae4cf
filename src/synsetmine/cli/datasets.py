"""`synsetmine datasets`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.places import a_folder
from synsetmine.errors import DataError, SynsetmineError


def datasets(
    name: Annotated[
        Literal["nyt", "wiki", "pubmed"],
        typer.Argument(help="nyt, wiki or pubmed.", show_default=False),
    ],
    source: Annotated[
        Path | None, typer.Option("--from", help="Take a local copy instead of downloading.")
    ] = None,
    copy_to: Annotated[
        Path | None,
        typer.Option("--copy-to", callback=a_folder, help="Also copy the files into this folder."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Cache folder. Default: $SYNSETMINE_CACHE, $XDG_CACHE_HOME/synsetmine or "
            "~/.cache/synsetmine."
        ),
    ] = None,
    home: Annotated[
        str | None, typer.Option(help="Another place that answers as the GitHub contents API does.")
    ] = None,
) -> None:
    """Get the paper's benchmark data: downloaded once, checked, kept in a cache.

    A broken download goes on where it stopped when the command is given again. A cached data set
    is not asked for again; delete its folder to fetch it anew.

    Example: `synsetmine datasets nyt --copy-to data`
    """
    from synsetmine.datasets import DEFAULT_HOME, fetch_dataset
    from synsetmine.files import atomic_write

    with console.progress_bar(name, unit="bytes") as bar:

        def progress(file: str, done: int, total: int) -> None:
            bar.update(done, total, file, line=done == total)

        try:
            dataset = fetch_dataset(
                name, home=home or DEFAULT_HOME, cache=cache, source=source, progress=progress
            )
        except DataError as error:
            if source is not None:
                raise
            hint = "without a network, --from FOLDER takes a local copy"
            raise SynsetmineError(f"{error}; {hint}") from error
    files = [dataset.training_sets, dataset.test_sets, *dataset.vectors.values()]
    if copy_to is not None:
        for file in files:
            with atomic_write(copy_to / file.name) as temporary:
                shutil.copyfile(file, temporary)
        files = [copy_to / file.name for file in files]
    if not dataset.vectors:
        console.warn(f"{name} came without vectors")
    console.show_table(("file", "bytes"), [(str(f), str(f.stat().st_size)) for f in files])
