"""`synsetmine compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Device, SkipBad, choose_device, load_sets, load_vectors
from synsetmine.cli.train import Preset
from synsetmine.errors import DataError, SynsetmineError

if TYPE_CHECKING:
    from synsetmine.baselines import TermViews
    from synsetmine.baselines.registry import Entry
    from synsetmine.types import SynonymSets


def compare(
    sets: Annotated[
        Path | None,
        typer.Argument(help="Training sets, .set or .jsonl.", show_default=False),
    ] = None,
    vectors: Annotated[
        list[Path] | None,
        typer.Option(
            "--vectors",
            "-v",
            help="Term vectors; give it again for more tables. Methods that take one table take "
            "the first, pair classifiers take all.",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Sets to find. Default: a share of the training sets, held out."),
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="The share of the sets to hold out without --test.")
    ] = 0.2,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            "-m",
            help="Names with commas between them, or the groups ours, paper, today, all; "
            "--list shows them. Default: all that the data allows.",
        ),
    ] = "all",
    encoder: Annotated[
        str | None,
        typer.Option(help="A sentence encoder for the strings: a folder or a hub name."),
    ] = None,
    preset: Annotated[Preset, typer.Option(help="Settings of our own model.")] = "paper",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 5,
    orders: Annotated[
        int, typer.Option(min=1, help="Random vocabulary orders for each seed.")
    ] = 20,
    samples: Annotated[
        int, typer.Option(min=1, help="Subsamples of the training sets to tune on.")
    ] = 5,
    expect_size: Annotated[
        int,
        typer.Option(
            min=1,
            help="Tune on sets of at least this many terms as far as there are any. Give 3 or "
            "more if the sets you look for are larger than most training sets.",
        ),
    ] = 2,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for comparison.md, .json and .svg. A broken comparison goes on from it.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", "-w", min=1, help="Methods side by side; times are true only with 1."
        ),
    ] = 1,
    show: Annotated[bool, typer.Option("--list", help="List the methods and leave.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Run methods side by side on the same sets and vectors, and see which to trust.

    Each method learns from the training sets and groups the terms of the test sets. Its
    hyper-parameters are tuned on training sets alone.

    Example: `synsetmine compare train.set --test test.set -v vectors.txt -m ours,today -o compared`
    """
    from synsetmine.baselines.registry import methods as all_methods
    from synsetmine.baselines.registry import select
    from synsetmine.comparison import Plan, summarise, write_comparison
    from synsetmine.comparison import compare as run
    from synsetmine.comparison.page import COLUMNS, cells, notes

    known = all_methods(preset=preset)
    wanted = [name.strip() for name in methods.split(",")]
    chosen = select(wanted, known)
    if show:
        console.show_table(*_listing(chosen))
        return
    if sets is None:
        raise typer.BadParameter("give a file of training sets", param_hint="SETS")
    training, gold = _split(sets, test, held_out, skip_bad)
    views = _views(vectors or [], encoder, training, gold, skip_bad, device)
    plan = Plan(
        training=training,
        test=gold,
        views=views,
        preset=preset,
        seeds=seeds,
        orders=orders,
        samples=samples,
        expect_size=expect_size,
        device=choose_device(device),
    )
    entries = _possible(chosen, views, named=wanted)
    with console.progress_bar("comparing") as bar:
        results = run(plan, entries, out=out, workers=workers, progress=bar.update)
    rows = summarise(entries, results)
    if out is not None:
        write_comparison(out, plan, rows)
    if as_json:
        console.show_json([asdict(row) for row in rows])
    else:
        console.show_table(COLUMNS, [cells(row) for row in rows])
        for note in notes(rows):
            console.say(note)
    if out is not None:
        console.say(f"the comparison is in {out / 'comparison.md'}")
    failed = [row.title for row in rows if row.failures]
    if failed:
        raise SynsetmineError(f"failed with some or all seeds: {', '.join(failed)}")


def _listing(entries: Sequence[Entry]) -> tuple[list[str], list[list[str]]]:
    rows = [[e.name, e.title, e.origin, " ".join(sorted(e.needs))] for e in entries]
    return ["name", "method", "group", "needs"], rows


def _split(
    sets: Path, test: Path | None, held_out: float, skip_bad: bool
) -> tuple[SynonymSets, SynonymSets]:
    training = load_sets(sets, skip_bad)
    return (
        training.split(held_out, seed=0) if test is None else (training, load_sets(test, skip_bad))
    )


def _views(
    paths: Sequence[Path],
    encoder: str | None,
    training: SynonymSets,
    gold: SynonymSets,
    skip_bad: bool,
    device: str,
) -> TermViews:
    from synsetmine.baselines import TermViews

    terms = (*training.terms, *gold.terms)
    tables = tuple(load_vectors(path, skip_bad) for path in paths)
    for path, table in zip(paths, tables, strict=True):
        missing = table.missing(terms)
        if len(missing) == len(terms):
            raise DataError("no term of the sets has a vector", path=path, value=str(terms[0]))
        console.report_missing(missing, len(terms), f"in {path} take no part in what needs it")
    if encoder is None:
        return TermViews(tables)
    from synsetmine.files import cache_root
    from synsetmine.views.encoder import encode_terms

    cache = cache_root() / "encoders"
    with console.progress_bar("encoding") as bar:
        encoded = encode_terms(
            terms, encoder, cache=cache, device=choose_device(device), progress=bar.update
        )
    return TermViews(tables, encoded)


def _possible(entries: Sequence[Entry], views: TermViews, named: Sequence[str]) -> list[Entry]:
    """The methods that the data allows; one asked for by name that it does not is an error."""
    possible = [entry for entry in entries if not entry.lacks(views)]
    left = [entry for entry in entries if entry.lacks(views)]
    options = {"vectors": "--vectors", "encoder": "--encoder"}
    for entry in left:
        if entry.name in named or not possible:
            lacking = " and ".join(options[view] for view in entry.lacks(views))
            raise DataError(f"this method needs {lacking}", value=entry.name)
    for view, option in options.items():
        names = [entry.name for entry in left if view in entry.lacks(views)]
        if names:
            console.say(f"left out for want of {option}: {', '.join(names)}")
    return possible
