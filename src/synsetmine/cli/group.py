"""`synsetmine group`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.console import check_not_input, output_file
from synsetmine.cli.inputs import Device, Encoder, SkipBad, load_sets, skipping
from synsetmine.cli.options import option_of
from synsetmine.devices import choose_device
from synsetmine.errors import counted
from synsetmine.pipeline.settings import GroupSettings
from synsetmine.schema import settings_in

if TYPE_CHECKING:
    from synsetmine.pipeline.grouping import Grouping


DEFAULTS = GroupSettings()
MEASURED = Path(__file__).parents[1] / "pipeline" / "precision.json"
OTHERS = 8  # names of a set on a terminal


def _measured() -> str:
    """The precision and recall of each level, for the help text."""
    measured = json.loads(MEASURED.read_text("utf-8"))
    benchmarks, short_lists = (
        ", ".join(
            f"{name} {level['precision']:.0%} and {level['recall']:.0%}"
            for name, level in measured[source].items()
        )
        for source in ("benchmarks", "short lists")
    )
    return (
        f" Precision and recall of pairs on two benchmarks: {benchmarks}; on short lists full of "
        f"near misses: {short_lists}."
    )


def group(
    names: Annotated[
        str,
        typer.Argument(
            help="File of names: plain text (one name per line), CSV, TSV, JSONL or Parquet, by "
            "its extension; `-` reads standard input.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            callback=output_file,
            help="File for the sets: .jsonl, .csv, .parquet, or .txt for the synonyms.txt of Solr "
            "and Elasticsearch. Default: a table on stdout.",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            help="The column with the names. Default: the only one, or one called name, term, "
            "label, surface or title."
        ),
    ] = None,
    precision: Annotated[
        str, option_of(settings_in(GroupSettings)["precision"], more=_measured())
    ] = DEFAULTS.precision,
    known: Annotated[
        Path | None,
        typer.Option(help="Known synonym sets, .jsonl or .set; new names may join them."),
    ] = None,
    never: Annotated[
        Path | None,
        typer.Option(
            help="Cannot-link pairs, names that must not share a set: two columns in .csv, .tsv or "
            ".txt (tabs), or lists in .jsonl."
        ),
    ] = None,
    unsure: Annotated[
        Path | None,
        typer.Option(
            callback=output_file,
            help=f"CSV file for the {DEFAULTS.unsure} pairs nearest to the threshold; --never "
            "reads it too.",
        ),
    ] = None,
    alone: Annotated[
        bool, typer.Option("--all", help="Also show or write sets of one name.")
    ] = False,
    input_format: Annotated[
        Literal["text", "csv", "tsv", "jsonl", "parquet"] | None,
        typer.Option(help="Format of the names. Default: from the file extension; text for `-`."),
    ] = None,
    encoder: Encoder = None,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Group a list of names: which of them mean the same thing?

    It needs no known sets, no corpus and no training; a general model compares the names.

    Example: `synsetmine group names.txt`

    A column of a table, as a synonyms file for a search engine:

    Example: `synsetmine group products.csv --column title --precision cautious -o synonyms.txt`

    New names for known sets:

    Example: `synsetmine group new.txt --known sets.jsonl --never pairs.tsv -o sets-more.jsonl`
    """
    source = None if names == "-" else Path(names)
    for written in (out, unsure):
        if written is not None:
            check_not_input(written, source, known, never)
    if out is not None and unsure is not None:
        check_not_input(out, unsure)
    from synsetmine.corpus.name_lists import read_names, read_pairs
    from synsetmine.errors import Skipped
    from synsetmine.io.files import cache_root
    from synsetmine.pipeline.group_files import check_ending, check_pairs_ending, write_pairs
    from synsetmine.pipeline.grouping import group as group_names
    from synsetmine.pipeline.grouping import threshold_of

    if out is not None:
        check_ending(out, alone=alone)
    if unsure is not None:
        check_pairs_ending(unsure)
    threshold = threshold_of(precision)
    with skipping(skip_bad) as skipped:
        listed = read_names(
            names, column=column, format=input_format, skipped=skipped, on_column=_say_column
        )
    known_sets = None if known is None else load_sets(known, skip_bad)
    with skipping(skip_bad) as skipped:
        pairs = [] if never is None else read_pairs(never, known=known_sets, skipped=skipped)
    with console.progress_bar("grouping") as bar:
        grouping = group_names(
            listed,
            precision=threshold,
            known=known_sets,
            never=pairs,
            encoder=encoder,
            device="cpu" if encoder is None else choose_device(device),
            cache=None if encoder is None else cache_root() / "encoders",
            progress=bar.update,
        )
    left_out = Skipped()
    if unsure is not None:
        write_pairs(unsure, grouping.unsure)
    if out is not None:
        grouping.write(out, alone=alone, skipped=left_out)
    else:
        _show(grouping, alone=alone)
    console.report_left_out(left_out)
    _report(grouping, out)


def _say_column(column: str) -> None:
    console.say(f"names from the column {console.one_line(column)!r}")


def _show(grouping: Grouping, *, alone: bool) -> None:
    """A table on a terminal, the first sets of many; all of them in a pipe."""
    from synsetmine.errors import shorten
    from synsetmine.runs.results import probability

    terminal = sys.stdout.isatty()
    rows = []
    for name_set in grouping.sets:
        members = name_set.members
        if terminal:
            more = len(members) - OTHERS - 1
            members = tuple(shorten(name, 60) for name in members[: OTHERS + 1])
            members += (f"… and {more} more",) if more > 0 else ()
        rows.append((members[0], " | ".join(members[1:]), probability(name_set.probability)))
    if alone:
        rows += [(member.name, "", "") for member in grouping.alone]
    console.show_first_rows(("name", "other names", "probability"), rows)


def _report(grouping: Grouping, out: Path | None) -> None:
    counts = grouping.counts
    for count, problem in (
        (counts.too_long, "not compared: longer than 10,000 characters"),
        (counts.ambiguous, "not compared: in several known sets"),
    ):
        if count:
            console.warn(f"{counted(count, 'name')} {problem}")
    if counts.unused_pairs:
        pairs = counted(counts.unused_pairs, "pair")
        console.warn(f"{pairs} of --never left out: a name is neither listed nor in a known set")
    if not counts.names:
        console.warn("the input has no names")
    console.say(grouping.summary + ("" if out is None else f"; written to {out}"))
