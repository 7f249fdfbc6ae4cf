"""`synsetmine lint`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console

if TYPE_CHECKING:
    from synsetmine.export.lint import Lint, Severity


def lint(
    files: Annotated[
        list[Path], typer.Argument(help="Files such as synonyms.txt.", show_default=False)
    ],
    limit: Annotated[
        int, typer.Option(min=0, help="Most rules that your engine takes in a file; 0: any number.")
    ] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check synonyms.txt files, of whatever origin, before Solr or Elasticsearch reads them.

    Errors are what an engine refuses or misreads, warnings what hardly is meant, notes what is
    good to know. With an error the exit code is 1.

    Example: `synsetmine lint synonyms.txt`
    """
    from synsetmine.export import lint_file

    found = {path: lint_file(path, limit=limit) for path in files}
    if as_json:
        console.show_json([{"file": str(path), **asdict(result)} for path, result in found.items()])
    for path, result in found.items():
        if not as_json:
            for finding in result.findings:
                message = console.one_line(finding.message)
                console.show(f"{path}:{finding.line}: {finding.severity}: {message}")
        console.say(_summary(path, result))
    if any(result.count("error") for result in found.values()):
        raise typer.Exit(1)


def _summary(path: Path, result: Lint) -> str:
    rules, terms = console.counted(result.rules, "rule"), console.counted(result.terms, "term")
    kinds: tuple[Severity, ...] = ("error", "warning", "note")
    found = ", ".join(console.counted(result.count(kind), kind) for kind in kinds)
    return f"{path}: {rules} of {terms}; {found}"
