"""`synsetmine group` and `synsetmine apply-plan`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Device, Encoder, SkipBad, collect_skipped, load_sets
from synsetmine.cli.options import (
    SettingOptions,
    check_not_input,
    option_of,
    out_file,
    output_folder,
    place_of,
)
from synsetmine.cli.review import JudgeOptions, judge_of, report_judge
from synsetmine.devices import choose_device
from synsetmine.errors import SynsetmineError, one_line, quantity
from synsetmine.pipeline.settings import GraphColumns, GroupSettings, NameColumns
from synsetmine.schema import settings_in

if TYPE_CHECKING:
    from synsetmine.pipeline.graph_files import GraphTable
    from synsetmine.pipeline.merging import AppliedPlan
    from synsetmine.pipeline.name_sets import Grouping
    from synsetmine.pipeline.registry import Registry


DEFAULTS = GroupSettings()
MEASURED = Path(__file__).parents[1] / "pipeline" / "precision.json"
LOOPS = "self-relations"
AMBIGUOUS = "ambiguous-ends.csv"
OTHERS = 8  # names of a set on a terminal


def _precision_figures() -> str:
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
            help="File of names: plain text (one name per line), CSV, TSV, XLSX, JSONL or Parquet, "
            "by its extension; `-` reads standard input.",
            show_default=False,
        ),
    ],
    judge: JudgeOptions,
    out: Annotated[
        Path | None,
        out_file(
            "File for the sets: .jsonl, .csv, .parquet, or .txt for the synonyms.txt of Solr "
            "and Elasticsearch. Default: a table on stdout.",
            stdout=".jsonl",
        ),
    ] = None,
    *,
    columns: Annotated[NameColumns, SettingOptions()],
    plan: Annotated[
        Path | None,
        out_file(
            "JSONL file for the plan: each merge with its names, its rows and the reason. "
            "`apply-plan` applies it to tables.",
            "--plan",
        ),
    ] = None,
    precision: Annotated[
        str, option_of(settings_in(GroupSettings)["precision"], more=_precision_figures())
    ] = DEFAULTS.precision,
    known: Annotated[
        Path | None,
        typer.Option(
            help="Known synonym sets: .jsonl, .set, or the synonyms.txt of Solr and "
            "Elasticsearch; new names may join them."
        ),
    ] = None,
    registry: Annotated[
        Path | None,
        out_file(
            "JSONL file of entities with stable ids. They act as known sets; the command adds "
            "the new entities, and the pairs of --never. With --plan it adds the pairs alone: "
            "`apply-plan --registry` adds the entities, once the plan is reviewed.",
            "--registry",
        ),
    ] = None,
    never: Annotated[
        Path | None,
        typer.Option(
            help="Cannot-link pairs, names that must not share a set: two columns in .csv, .tsv or "
            ".txt (tabs), or lists in .jsonl."
        ),
    ] = None,
    always: Annotated[
        Path | None,
        typer.Option(help="Must-link pairs, names that must share a set: a file as for --never."),
    ] = None,
    unsure: Annotated[
        Path | None,
        out_file(
            f"CSV file for the {DEFAULTS.unsure} pairs nearest to the threshold; --never "
            "reads it too.",
            "--unsure",
        ),
    ] = None,
    alone: Annotated[
        bool, typer.Option("--all", help="Also show or write sets of one name.")
    ] = False,
    input_format: Annotated[
        Literal["text", "csv", "tsv", "xlsx", "jsonl", "parquet"] | None,
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

    Example: `synsetmine group products.csv --name-column title --precision bold -o synonyms.txt`

    Entities with descriptions and types:

    Example: `synsetmine group people.csv --context-column text --type-column type -o sets.jsonl`

    A plan of merges, with the reason for each:

    Example: `synsetmine group people.csv --context-column text --plan plan.jsonl`

    New names for known sets:

    Example: `synsetmine group new.txt --known sets.jsonl --never pairs.tsv -o sets-more.jsonl`

    Entities that keep their ids in later lists:

    Example: `synsetmine group today.csv --registry entities.jsonl -o sets.jsonl --all`

    A language model for the unsure pairs:

    Example: `synsetmine group names.txt --judge http://localhost:8080/v1 --judge-dry-run`
    """
    asked = judge_of(judge)
    source = None if names == "-" else Path(names)
    if columns.id_column is not None and plan is None:
        raise SynsetmineError("--id-column needs --plan")
    if known is not None and registry is not None:
        raise SynsetmineError("--known and --registry exclude each other")
    outputs = [path for path in (out, unsure, plan, registry) if path is not None]
    for place, written in enumerate(outputs):
        check_not_input(written, source, known, never, always, *outputs[place + 1 :])
    from synsetmine.corpus.name_lists import read_pairs, read_rows
    from synsetmine.errors import ErrorCounts
    from synsetmine.io.files import cache_root
    from synsetmine.pipeline.cost import Cost
    from synsetmine.pipeline.grouping import group as group_names
    from synsetmine.pipeline.grouping import threshold_of
    from synsetmine.pipeline.name_sets import check_ending, check_suffix, write_pairs
    from synsetmine.pipeline.registry import read_registry

    if out is not None:
        check_ending(out, alone=alone)
    for path, suffix, what in (
        (unsure, ".csv", "unsure pairs"),
        (plan, ".jsonl", "a plan"),
        (registry, ".jsonl", "a registry"),
    ):
        if path is not None:
            check_suffix(path, suffix, what)
    threshold = threshold_of(precision)
    with collect_skipped(skip_bad) as skipped:
        rows = read_rows(
            names,
            **vars(columns),
            format=input_format,
            skipped=skipped,
            on_column=_say_column,
        )
    known_sets = None if known is None else load_sets(known, skip_bad)
    entities = None if registry is None else read_registry(registry)
    with collect_skipped(skip_bad) as skipped:
        cannot_link, must_link = (
            [] if path is None else read_pairs(path, known=known_sets, together=t, skipped=skipped)
            for path, t in ((never, False), (always, True))
        )
    contexts = any(row.contexts for row in rows)
    cost = Cost.of_group(len({row.name for row in rows}), contexts=contexts)
    cost.check_memory("group parts of the list, such as one type at a time, or use more memory")
    if not cost.is_small:
        console.say(f"{quantity(len(rows), 'name')}: {cost}")
    with console.progress_bar("grouping") as bar:
        grouping = group_names(
            [row.name for row in rows],
            contexts=[row.contexts for row in rows],
            types=[row.type for row in rows],
            precision=threshold,
            known=known_sets if entities is None else entities,
            never=cannot_link,
            always=must_link,
            encoder=encoder,
            device="cpu" if encoder is None else choose_device(device),
            cache=None if encoder is None else cache_root() / "encoders",
            judge=asked,
            progress=bar.update,
        )
    left_out = ErrorCounts()
    if registry is not None and entities is not None:
        if plan is None:
            grown = entities.grown(grouping, never=cannot_link)
            _write_registry(registry, entities, grown)
        elif (decided := entities.with_never(cannot_link)) != entities:
            decided.write(registry)
    if plan is not None:
        with console.progress_bar("explaining") as bar:
            planned = grouping.plan(
                ids=None if columns.id_column is None else [row.id for row in rows],
                progress=bar.update,
            )
        planned.write(plan)
        console.say(f"{quantity(len(planned), 'merge')} planned; written to {plan}")
    if unsure is not None:
        write_pairs(unsure, grouping.unsure)
    if out is not None:
        grouping.write(out, alone=alone, skipped=left_out)
    elif plan is None:
        _show(grouping, alone=alone)
    console.report_left_out(left_out)
    if grouping.judged is not None:
        report_judge(grouping.judged)
    _report(grouping, out)


def _write_registry(path: Path, before: Registry, after: Registry) -> None:
    if after != before or not path.exists():
        after.write(path)
    new = len(after) - len(before)
    console.say(f"{path}: {quantity(len(after), 'entity')}, {new:,} of them new")


def _say_column(column: str) -> None:
    console.say(f"names from the column {one_line(column)!r}")


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
            console.warn(f"{quantity(count, 'name')} {problem}")
    unused = "--never or --always left out: a name is neither in the list nor in a known set"
    unkept = "--always left out: --never, types or known sets forbid it"
    for count, problem in ((counts.unused_pairs, unused), (counts.unkept_pairs, unkept)):
        if count:
            console.warn(f"{quantity(count, 'pair')} of {problem}")
    if not counts.names:
        console.warn("the input has no names; write one name on each line")
    console.say(grouping.summary + ("" if out is None else f"; written to {place_of(out)}"))


def apply_plan(
    plan: Annotated[
        Path,
        typer.Argument(
            help="Plan that `group --plan` wrote, perhaps edited since.", show_default=False
        ),
    ],
    out_dir: Annotated[
        Path,
        typer.Option(
            callback=output_folder,
            help="Folder for the new tables, which keep their file names.",
            show_default=False,
        ),
    ],
    entities: Annotated[
        list[Path] | None,
        typer.Option(
            help="Table of entities: .csv, .tsv, .jsonl or .parquet. Repeat it for tables with "
            "further rows, which become one table.",
            show_default=False,
        ),
    ] = None,
    relations: Annotated[
        list[Path] | None,
        typer.Option(
            help="Table of relations, in the same formats; repeat it as --entities.",
            show_default=False,
        ),
    ] = None,
    *,
    columns: Annotated[GraphColumns, SettingOptions()],
    drop_self_relations: Annotated[
        bool,
        typer.Option(
            "--drop-self-relations",
            help=f"Write relations from an entity to itself to {LOOPS}.* instead.",
        ),
    ] = False,
    keep_merges: Annotated[
        bool,
        typer.Option(
            "--keep-merges",
            help="For tables that an earlier plan was applied to: remove the columns that say what "
            "it merged. The earlier plan can then no longer be undone.",
        ),
    ] = False,
    registry: Annotated[
        Path | None,
        out_file(
            "JSONL file of entities with stable ids, to which the merged entities are added.",
            "--registry",
        ),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Undo the plan in tables that it was applied to.")
    ] = False,
    self_relations: Annotated[
        Path | None,
        typer.Option(help="With --undo: the file of dropped relations, to restore them."),
    ] = None,
) -> None:
    """Merge the entities and relations of a knowledge graph by a plan, or undo that.

    Rows of one merge become one row with the canonical name. Other columns keep their first value
    that is not missing. The columns set_id and merged_from record the merges, source_original and
    target_original the former ends of relations.

    Example: `synsetmine apply-plan plan.jsonl --entities e.csv --relations r.csv --out-dir merged`

    With a sum of numbers, and without relations from an entity to itself:

    Example: `synsetmine apply-plan plan.jsonl --entities e.parquet --sum degree --out-dir merged`

    Back to the tables as they were:

    Example: `synsetmine apply-plan plan.jsonl --undo --entities merged/e.csv --out-dir restored`
    """
    from synsetmine.pipeline.graph_files import (
        check_table_ending,
        read_table,
        read_tables,
        write_tables,
    )
    from synsetmine.pipeline.merging import apply_plan as merge
    from synsetmine.pipeline.name_sets import check_suffix
    from synsetmine.pipeline.plan import read_plan
    from synsetmine.pipeline.registry import read_registry
    from synsetmine.pipeline.restoration import undo_plan

    entities, relations = entities or [], relations or []
    tables = [*entities, *relations]
    if not tables:
        raise SynsetmineError("no table to change; give --entities, --relations or both")
    if self_relations is not None and not undo:
        raise SynsetmineError(
            "--self-relations needs --undo; to drop them while merging, give --drop-self-relations"
        )
    if undo and (registry is not None or keep_merges):
        raise SynsetmineError("--undo excludes --registry and --keep-merges")
    if registry is not None:
        check_suffix(registry, ".jsonl", "a registry")
    targets = _graph_targets(out_dir, entities, relations)
    for target in filter(None, (*targets, registry)):
        check_not_input(target, plan, *tables, self_relations)
    for path in (*tables, *([self_relations] if self_relations else [])):
        check_table_ending(path)
    merges = read_plan(plan)
    nodes, edges = (read_tables(paths) if paths else None for paths in (entities, relations))
    if undo:
        loops = None if self_relations is None else read_table(self_relations)
        restored = undo_plan(merges, nodes, edges, loops, columns=columns)
        results = [restored.entities, restored.relations, None, None]
        summary = restored.summary
    else:
        known = None if registry is None else read_registry(registry)
        applied = merge(
            merges,
            nodes,
            edges,
            columns=columns,
            drop_self_relations=drop_self_relations,
            keep_merges=keep_merges,
            registry=known,
        )
        ambiguous = _ambiguous_ends(applied, edges)
        results = [applied.entities, applied.relations, applied.self_relations, ambiguous]
        summary = applied.counts.summary
        _report_applied(applied, out_dir)
    written = zip(targets, results, strict=True)
    write_tables({p: table for p, table in written if p is not None and table is not None})
    if not undo and registry is not None and known is not None and applied.registry is not None:
        _write_registry(registry, known, applied.registry)
    console.say(f"{summary}; written to {out_dir}")


def _graph_targets(
    out_dir: Path, entities: Sequence[Path], relations: Sequence[Path]
) -> list[Path | None]:
    """The files of entities, relations, self-relations and ambiguous ends."""
    from synsetmine.io.files import plain_name

    targets = [out_dir / paths[0].name if paths else None for paths in (entities, relations)]
    if relations:
        plain = Path(plain_name(relations[0]))
        ending = relations[0].name.removeprefix(plain.stem)
        targets += [out_dir / f"{LOOPS}{ending}", out_dir / AMBIGUOUS]
    else:
        targets += [None, None]
    files = [path for path in targets if path is not None]
    if len({*files}) < len(files):
        raise SynsetmineError("two tables have the same file name; rename one of them")
    return targets


def _ambiguous_ends(applied: AppliedPlan, relations: GraphTable | None) -> GraphTable | None:
    """The ends of relations that stand for several entities, with their files and lines."""
    import pyarrow as pa

    from synsetmine.io.tables import escape_formula
    from synsetmine.pipeline.graph_files import GraphTable

    if relations is None or not applied.ambiguous_ends:
        return None
    rows = [
        (*map(str, relations.lines[end.row]), escape_formula(end.column), escape_formula(end.name))
        for end in applied.ambiguous_ends
    ]
    columns = zip(*rows, strict=True)
    header = ("file", "line", "column", "name")
    table = pa.table({name: list(own) for name, own in zip(header, columns, strict=True)})
    return GraphTable(table, "text")


def _report_applied(applied: AppliedPlan, out_dir: Path) -> None:
    counts = applied.counts
    same = "unchanged: several entities have this name"
    listed = f"of relations {same}; listed in {out_dir / AMBIGUOUS}; --refer-to id avoids this"
    for count, noun, problem in (
        (counts.ambiguous, "entity", same),
        (counts.ambiguous_ends, "end", listed),
        (counts.unused, "merge", "of the plan changed nothing"),
    ):
        if count:
            console.warn(f"{quantity(count, noun)} {problem}")
