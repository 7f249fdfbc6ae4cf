"""`synsetmine apply-plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.options import check_not_input, output_folder
from synsetmine.errors import SynsetmineError, counted

LOOPS = "self-relations"


def apply_plan(
    plan: Annotated[
        Path, typer.Argument(help="Plan of `group --plan`, as edited.", show_default=False)
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
        Path | None, typer.Option(help="Table of entities: .csv, .tsv, .jsonl or .parquet.")
    ] = None,
    relations: Annotated[Path | None, typer.Option(help="Table of relations, likewise.")] = None,
    name_column: Annotated[
        str | None,
        typer.Option(help="Column of the entities' names. Default: name, title, entity or label."),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Column of the entities' ids. Default: id, if there is one.")
    ] = None,
    type_column: Annotated[
        str | None,
        typer.Option(help="Column of the entities' types. Default: type, if there is one."),
    ] = None,
    source_column: Annotated[
        str | None, typer.Option(help="Column of the first entity of a relation. Default: source.")
    ] = None,
    target_column: Annotated[
        str | None, typer.Option(help="Column of its second entity. Default: target.")
    ] = None,
    refer_to: Annotated[
        Literal["name", "id"],
        typer.Option(help="What the columns of source and target contain: names or ids."),
    ] = "name",
    join: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of texts to join when rows are merged; repeat it for more. "
            "Default: description, if there is one. Lists are always joined."
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option("--sum", help="Column of numbers to add; repeat it for more."),
    ] = None,
    drop_self_relations: Annotated[
        bool,
        typer.Option(
            "--drop-self-relations",
            help=f"Write relations from an entity to itself to {LOOPS}.* instead.",
        ),
    ] = False,
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
    from synsetmine.io.files import plain_name
    from synsetmine.pipeline.graph_files import check_table_ending, read_table, write_tables
    from synsetmine.pipeline.merging import GraphColumns
    from synsetmine.pipeline.merging import apply_plan as merge
    from synsetmine.pipeline.plan import read_plan
    from synsetmine.pipeline.restoration import undo_plan

    tables = [path for path in (entities, relations) if path is not None]
    if not tables:
        raise SynsetmineError("no table to change; give --entities, --relations or both")
    if self_relations is not None and not undo:
        raise SynsetmineError("--self-relations is for --undo; see --drop-self-relations")
    targets = {path: out_dir / path.name for path in tables}
    if drop_self_relations and relations is not None:
        plain = Path(plain_name(relations))
        ending = relations.name.removeprefix(plain.stem)
        targets[Path(LOOPS)] = out_dir / f"{LOOPS}{ending}"
    if len(set(targets.values())) < len(targets):
        raise SynsetmineError("two tables have one file name; rename one of them")
    for target in targets.values():
        check_not_input(target, plan, *tables, self_relations)
    for path in (*tables, *([self_relations] if self_relations else [])):
        check_table_ending(path)
    merges = read_plan(plan)
    columns = GraphColumns(
        name=name_column,
        id=id_column,
        type=type_column,
        source=source_column,
        target=target_column,
        refer_to=refer_to,
        join=join,
        sum=add or (),
    )
    read = {path: read_table(path) for path in tables}
    entity_table = None if entities is None else read[entities]
    relation_table = None if relations is None else read[relations]
    if undo:
        loops = None if self_relations is None else read_table(self_relations)
        restored = undo_plan(merges, entity_table, relation_table, loops, columns=columns)
        results = {entities: restored.entities, relations: restored.relations}
        summary = restored.summary
    else:
        applied = merge(
            merges,
            entity_table,
            relation_table,
            columns=columns,
            drop_self_relations=drop_self_relations,
        )
        results = {entities: applied.entities, relations: applied.relations}
        results[Path(LOOPS)] = applied.self_relations
        counts, summary = applied.counts, applied.counts.summary
        for count, noun, problem in (
            (counts.ambiguous, "entity", "unchanged: several entities have this name"),
            (
                counts.ambiguous_ends,
                "end",
                "of relations unchanged: several entities have this name",
            ),
            (counts.unused, "merge", "of the plan changed nothing"),
        ):
            if count:
                console.warn(f"{counted(count, noun)} {problem}")
    written = {p: table for p, table in results.items() if p is not None and table is not None}
    write_tables({targets[path]: table for path, table in written.items()})
    console.say(f"{summary}; written to {out_dir}")
