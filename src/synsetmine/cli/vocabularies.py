"""Commands on files of names and vectors: abbreviations, apply-names, convert, lint, push."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import AsJson, SkipBad, load_sets, load_vectors
from synsetmine.cli.options import (
    SettingOptions,
    check_not_input,
    out_file,
    output_file,
)
from synsetmine.cli.stages import CorpusOptions
from synsetmine.errors import DataError, ErrorCounts, SynsetmineError, one_line, quantity
from synsetmine.pipeline.settings import AbbreviationSettings, KbSettings, LintSettings

if TYPE_CHECKING:
    from synsetmine.export.push import Difference, Rules, SynonymsApi
    from synsetmine.export.solr import Lint, Severity
    from synsetmine.text.evidence import Abbreviation


COLUMNS = ("short form", "long form", "count", "documents", "document", "sentence")
STDOUT = "-"
COLUMN_SETTINGS = ("id_field", "name_field", "names_field", "separator")


def _check_out(out: Path | None) -> Path | None:
    if out is None or str(out) == STDOUT:
        return out
    from synsetmine.io.files import plain_name

    if Path(plain_name(out)).suffix.lower() not in (".tsv", ".jsonl"):
        problem = "unknown file extension; expected .tsv or .jsonl, also with .gz, .bz2 or .zst"
        raise DataError(problem, value=str(out))
    return output_file(out)


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
    *,
    chosen: Annotated[AbbreviationSettings, SettingOptions()],
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
    skipped = ErrorCounts()
    with console.progress_bar("reading", unit="bytes") as bar:
        defined = find_abbreviations(open_corpus(settings, skipped, bar.update))
    console.report_left_out(skipped)
    listed = [entry for entry in defined if entry.count >= chosen.min_count]
    rows = [[str(cell) for cell in _row(entry)] for entry in listed]
    where = ""
    if out is None:
        console.show_first_rows(COLUMNS, rows)
    elif str(out) == STDOUT:
        console.show_table(COLUMNS, rows)
    else:
        _write_abbreviations(out, listed)
        where = f"; written to {out}"
    console.say(f"{quantity(len(listed), 'abbreviation')}{where}")


def _row(entry: Abbreviation) -> tuple[str, str, int, int, str, str]:
    example = entry.example
    counts = entry.count, entry.documents
    return entry.short, entry.long, *counts, example.document, example.text


def _write_abbreviations(out: Path, listed: Sequence[Abbreviation]) -> None:
    from synsetmine.io.files import plain_name, write_json_lines, write_text
    from synsetmine.io.tables import escape_formula, rows_of

    if plain_name(out).lower().endswith(".jsonl"):
        keys = [column.replace(" ", "_") for column in COLUMNS]
        write_json_lines(out, (dict(zip(keys, _row(entry), strict=True)) for entry in listed))
    else:
        rows = ([escape_formula(str(cell)) for cell in _row(entry)] for entry in listed)
        write_text(out, rows_of((COLUMNS, *rows), "\t"))


def apply_names(
    patch: Annotated[
        Path, typer.Argument(help="New names, as `export --format patch` writes them.")
    ],
    kb: Annotated[Path, typer.Argument(help="The knowledge base's file: JSONL, CSV, TSV, OBO.")],
    out: Annotated[Path, out_file("File for the new knowledge base.")],
    format: Annotated[
        Literal["jsonl", "csv", "tsv", "obo"] | None,
        typer.Option(help="jsonl, csv, tsv or obo. Default: from the file name."),
    ] = None,
    reviewed: Annotated[
        bool, typer.Option("--reviewed", help="Add only names that a reviewer called correct.")
    ] = False,
    *,
    columns: Annotated[dict[str, Any], SettingOptions(changes=KbSettings, only=COLUMN_SETTINGS)],
) -> None:
    """Add new names to a knowledge base, and leave the rest of its file unchanged.

    Names with the verdict incorrect or unsure are left out, and so are names that the entity
    already has and names of entities that the knowledge base lacks.

    Example: `synsetmine apply-names new-names.tsv mesh.jsonl.gz --out mesh-more.jsonl.gz`
    """
    check_not_input(out, patch)
    from synsetmine.export.tables import read_patch
    from synsetmine.kb import apply_names as apply
    from synsetmine.kb.readers import KbFields

    refused = ErrorCounts()
    names = read_patch(patch, refused=refused, reviewed=reviewed)
    applied = apply(kb, out, names, refused=refused, format=format, fields=KbFields.of(**columns))
    console.report_left_out(refused)
    added = f"{quantity(applied.names, 'name')} added to {quantity(applied.entities, 'entity')}"
    console.say(f"{added}, written to {out}")


def convert(
    source: Annotated[Path, typer.Argument(help="Sets or vectors.")],
    target: Annotated[Path, typer.Argument(callback=output_file, help="The file to write.")],
    skip_bad: SkipBad = False,
) -> None:
    """Convert sets (.set, .jsonl) or vectors (text, .bin, .safetensors) between their formats.

    Example: `synsetmine convert vectors.txt vectors.safetensors`

    Sets from the rules of a search engine:

    Example: `synsetmine convert synonyms.txt sets.jsonl`
    """
    from synsetmine.io.sets import is_rule_file, is_set_file, write_sets
    from synsetmine.views import write_vectors

    of_rules = is_rule_file(source) and is_set_file(target)  # else vectors may be in .txt
    of_sets = is_set_file(source) or of_rules
    if of_sets != is_set_file(target):
        kind = "sets (.set or .jsonl)" if of_sets else "vectors (text, .bin or .safetensors)"
        raise DataError(f"the target must be a file of {kind} too", value=str(target))
    if of_sets:
        sets = load_sets(source, skip_bad)
        if of_rules and max(map(len, sets)) < 2:
            raise DataError("no rule of two terms in this file", path=source)
        write_sets(target, sets)
        console.say(f"{len(sets)} sets of {len(sets.terms)} terms written to {target}")
    else:
        vectors = load_vectors(source, skip_bad)
        write_vectors(target, vectors)
        console.say(f"{len(vectors)} vectors of {vectors.dimension} dimensions written to {target}")


def lint(
    files: Annotated[list[Path], typer.Argument(help="Files such as synonyms.txt.")],
    *,
    settings: Annotated[LintSettings, SettingOptions()],
    as_json: AsJson = False,
) -> None:
    """Check synonyms.txt files before Solr or Elasticsearch reads them.

    An error is a rule that an engine rejects or misreads, a warning a probable mistake, a note
    information. With an error the exit code is 1.

    Example: `synsetmine lint synonyms.txt`
    """
    from synsetmine.export import lint_file

    results = {path: lint_file(path, limit=settings.limit) for path in files}
    if as_json:
        console.show_json(
            [{"file": str(path), **asdict(result)} for path, result in results.items()]
        )
    for path, result in results.items():
        if not as_json:
            for finding in result.findings:
                message = one_line(finding.message)
                console.show(f"{path}:{finding.line}: {finding.severity}: {message}")
        console.say(_summary(path, result))
    if any(result.count("error") for result in results.values()):
        raise typer.Exit(1)


def _summary(path: Path, result: Lint) -> str:
    rules, terms = quantity(result.rules, "rule"), quantity(result.terms, "term")
    kinds: tuple[Severity, ...] = ("error", "warning", "note")
    findings = ", ".join(quantity(result.count(kind), kind) for kind in kinds)
    return f"{path}: {rules} of {terms}; {findings}"


SHOWN = 40  # lines of a difference


def push(
    rules: Annotated[
        Path,
        typer.Argument(
            help="Rules, as `export --format elasticsearch` writes them, or synonyms.txt; further "
            "parts of an export go into further sets."
        ),
    ],
    url: Annotated[str, typer.Option(help="Elasticsearch's address.")],
    name: Annotated[
        str, typer.Option("--set", help="The synonyms set; further parts go to NAME-2, …")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the change.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help=f"Show all changes, not only {SHOWN} lines per set.")
    ] = False,
) -> None:
    """Replace a synonyms set of Elasticsearch, after a look at what changes.

    The environment has the credentials: SYNSETMINE_SEARCH_API_KEY, or SYNSETMINE_SEARCH_USER and
    SYNSETMINE_SEARCH_PASSWORD. The command shows the rules that the server would gain, lose or
    change, and asks.

    Example: `synsetmine push synonyms.json --url https://localhost:9200 --set mined --dry-run`
    """
    from synsetmine.export.push import SynonymsApi, compare_rules, read_parts

    sets = read_parts(rules, name)
    with SynonymsApi(url) as api:
        changes: dict[str, Difference] = {}
        for set_name, new in sets.items():
            old = api.rules(set_name)
            difference = compare_rules(old or {}, new)
            _show(set_name, difference, is_new=old is None, full=full)
            if difference:
                changes[set_name] = difference
        _warn_of_more(api, f"{name}-{len(sets) + 1}")
        if not changes:
            console.say("nothing to change")
        elif dry_run:
            console.say("nothing sent: this is a dry run")
        else:
            _confirm(changes, yes=yes)
            _send(api, {set_name: sets[set_name] for set_name in changes})


def _show(name: str, difference: Difference, *, is_new: bool, full: bool) -> None:
    lines = list(difference.lines())
    for line in lines if full else islice(lines, SHOWN):
        console.show(one_line(line))
    if len(lines) > SHOWN and not full:
        console.say(f"… and {quantity(len(lines) - SHOWN, 'further line')}; --full shows all")
    console.say(f"{name}{' (a new set)' * is_new}: {difference}")


def _warn_of_more(api: SynonymsApi, name: str) -> None:
    """A set that an earlier, longer push left is still in use."""
    if old := api.rules(name):
        console.warn(f"{name} with {quantity(len(old), 'rule')} is no part of this push; it stays")


def _confirm(changes: dict[str, Difference], *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise SynsetmineError("nothing sent: there is no terminal to ask on; give --yes")
    names = ", ".join(changes)
    if not typer.confirm(one_line(f"replace {names}?"), default=False, err=True):
        raise SynsetmineError("nothing sent")


def _send(api: SynonymsApi, sets: dict[str, Rules]) -> None:
    """Replace the sets, one after the other; an error says which are replaced already."""
    done: list[str] = []
    problems: list[str] = []
    for name, rules in sets.items():
        try:
            problem = api.put(name, rules)
        except SynsetmineError as error:
            message = f"; replaced before that: {', '.join(done)}" if done else ""
            raise SynsetmineError(f"{error}{message}") from error
        done.append(name)
        console.say(f"{name}: {quantity(len(rules), 'rule')} sent")
        if problem:
            problems.append(f"{name}: {problem}")
    if problems:
        raise SynsetmineError("; ".join(problems))
