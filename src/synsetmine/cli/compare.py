"""`synsetmine compare` and `synsetmine datasets`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    AsJson,
    Device,
    Encoder,
    SkipBad,
    load_sets,
    load_vectors,
    load_views,
)
from synsetmine.cli.options import (
    SettingOptions,
    option_of,
    out_folder,
    output_folder,
)
from synsetmine.devices import choose_device
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.pipeline.settings import ComparisonSettings, SuperviseSettings
from synsetmine.schema import settings_in

if TYPE_CHECKING:
    from synsetmine.rivals.registry import MethodEntry
    from synsetmine.types import SynonymSets
    from synsetmine.views import TermViews

_HELD_OUT = settings_in(SuperviseSettings)["held_out"]


def datasets(
    name: Annotated[Literal["nyt", "wiki", "pubmed"], typer.Argument(help="nyt, wiki or pubmed.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Take a local copy instead of downloading.")
    ] = None,
    copy_to: Annotated[
        Path | None,
        typer.Option(
            "--copy-to", callback=output_folder, help="Also copy the files into this folder."
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Cache folder. Default: $SYNSETMINE_CACHE, $XDG_CACHE_HOME/synsetmine or "
            "~/.cache/synsetmine."
        ),
    ] = None,
    home: Annotated[
        str | None, typer.Option(help="Address of another server with the GitHub contents API.")
    ] = None,
) -> None:
    """Download, check and cache the paper's benchmark data.

    Run the command again to resume an interrupted download. A cached data set is not downloaded
    again; delete its folder to do so.

    Example: `synsetmine datasets nyt --copy-to data`
    """
    from synsetmine.io.downloads import DEFAULT_HOME, fetch_dataset
    from synsetmine.io.files import atomic_write

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
            hint = "without a network, use --from FOLDER for a local copy"
            raise SynsetmineError(f"{error}; {hint}") from error
    files = [dataset.training_sets, dataset.test_sets, *dataset.vectors.values()]
    if copy_to is not None:
        for file in files:
            with atomic_write(copy_to / file.name) as temporary:
                shutil.copyfile(file, temporary)
        files = [copy_to / file.name for file in files]
    if not dataset.vectors:
        console.warn(f"{name} has no vector files")
    console.show_table(("file", "bytes"), [(str(f), str(f.stat().st_size)) for f in files])


def compare(
    sets: Annotated[
        Path | None, typer.Argument(help="Training sets: .set, .jsonl, or Solr's synonyms.txt.")
    ] = None,
    vectors: Annotated[
        list[Path] | None,
        typer.Option(
            "--vectors",
            "-v",
            help="Term vectors; repeat it for more tables. Methods of one table use the first, "
            "pair classifiers use all.",
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Test sets. Default: a held-out share of the training sets.")
    ] = None,
    held_out: Annotated[
        float, option_of(_HELD_OUT, more=" Only without --test.")
    ] = _HELD_OUT.default,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            "-m",
            help="Comma-separated names, or the groups ours, paper, today, all; "
            "--list shows them. A group skips methods whose input is missing.",
        ),
    ] = "all",
    encoder: Encoder = None,
    *,
    settings: Annotated[ComparisonSettings, SettingOptions()],
    out: Annotated[
        Path | None,
        out_folder("Folder for comparison.md, .json and .svg; a comparison resumes from it."),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the methods and exit.")] = False,
    as_json: AsJson = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Compare methods on the same sets and vectors.

    Each method learns from the training sets and groups the terms of the test sets. Its
    hyper-parameters are tuned on training sets alone.

    Example: `synsetmine compare train.set --test test.set -v vectors.txt -m ours,today -o compared`
    """
    from synsetmine.rivals.comparison import ComparisonPlan
    from synsetmine.rivals.comparison import compare as run
    from synsetmine.rivals.page import COLUMNS, cells, notes, summarise, write_comparison
    from synsetmine.rivals.registry import methods as all_methods
    from synsetmine.rivals.registry import select

    known = all_methods(preset=settings.preset)
    named = [name.strip() for name in methods.split(",")]
    chosen = select(named, known)
    if show:
        console.show_table(*_listing(chosen))
        return
    if sets is None:
        raise typer.BadParameter("give a file of training sets", param_hint="SETS")
    training, gold = _split(sets, test, held_out, skip_bad)
    views = _views(vectors or [], encoder, training, gold, skip_bad, device)
    plan = ComparisonPlan(
        training=training,
        test=gold,
        views=views,
        seeds=settings.seeds,
        orders=settings.orders,
        samples=settings.samples,
        expect_size=settings.expect_size,
        device=choose_device(device),
    )
    entries = _possible(chosen, views, named=named)
    workers = settings.workers
    if workers > 1:
        console.say(f"{workers} methods run in parallel, so the measured times will be too long")
    with console.progress_bar("comparing") as bar:
        results = run(plan, entries, out=out, workers=workers, progress=bar.update)
    rows = summarise(entries, results)
    if out is not None:
        write_comparison(out, plan, rows, workers=workers)
    if as_json:
        console.show_json([row.record() for row in rows])
    else:
        console.show_table(COLUMNS, [cells(row) for row in rows])
        for note in notes(rows):
            console.say(note)
    if out is not None:
        console.say(f"the comparison is in {out / 'comparison.md'}")
    failed = [row.title for row in rows if row.failures]
    if failed:
        raise SynsetmineError(f"these methods failed with some or all seeds: {', '.join(failed)}")


def _listing(entries: Sequence[MethodEntry]) -> tuple[list[str], list[list[str]]]:
    rows = [[e.name, e.title, e.origin, " ".join(sorted(e.needs))] for e in entries]
    return ["name", "method", "group", "needs"], rows


def _split(
    sets: Path, test: Path | None, held_out: float, skip_bad: bool
) -> tuple[SynonymSets, SynonymSets]:
    training = load_sets(sets, skip_bad)
    if test is None:
        return training.split(held_out, seed=0)
    gold = load_sets(test, skip_bad)
    for term in gold.terms:
        if term in training:
            raise DataError(f"this term is also in {sets}", path=test, value=str(term))
    return training, gold


def _views(
    paths: Sequence[Path],
    encoder: str | None,
    training: SynonymSets,
    gold: SynonymSets,
    skip_bad: bool,
    device: str,
) -> TermViews:
    terms = (*training.terms, *gold.terms)
    # Only what the sets name: the tables travel to every process.
    tables = tuple(load_vectors(path, skip_bad).only(terms) for path in paths)
    for path, table in zip(paths, tables, strict=True):
        for kind, sets in (("training", training), ("test", gold)):
            if len(table.missing(sets.terms)) == len(sets.terms):
                problem = f"no term of the {kind} sets has a vector"
                raise DataError(problem, path=path, value=str(sets.terms[0]))
        missing = table.missing(terms)
        console.report_missing(missing, len(terms), f"are left out by methods that use {path}")
    return load_views(tables, encoder, terms, device=device)


def _possible(
    entries: Sequence[MethodEntry], views: TermViews, named: Sequence[str]
) -> list[MethodEntry]:
    """The methods that can run; one asked for by name that cannot is an error."""
    left_out: dict[str, list[str]] = {}
    possible: list[MethodEntry] = []
    options = {"vectors": "--vectors", "encoder": "--encoder"}
    for entry in entries:
        lacking = [options[view] for view in entry.lacks(views)]
        if not entry.is_installed:
            lacking.append(f"{entry.package} (pip install 'synsetmine[compare]')")
        if lacking and entry.name in named:
            raise DataError(f"this method needs {' and '.join(lacking)}", value=entry.name)
        if not lacking:
            possible.append(entry)
        for what in lacking:
            left_out.setdefault(what, []).append(entry.name)
    for what, names in left_out.items():
        console.say(f"methods left out, since they need {what}: {', '.join(names)}")
    if not possible:
        raise SynsetmineError("none of these methods can run on these inputs")
    return possible
