"""The application with its commands, and the one place where errors become exit codes."""

from __future__ import annotations

import inspect
import io
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from synsetmine import __version__
from synsetmine.cli import console
from synsetmine.cli.compare import compare, datasets
from synsetmine.cli.export import export
from synsetmine.cli.group import apply_plan, group
from synsetmine.cli.mine import evaluate, mine, rank, score
from synsetmine.cli.options import with_settings
from synsetmine.cli.review import export_reviews, import_reviews, judge, review
from synsetmine.cli.run import demo, init, report, run
from synsetmine.cli.server import mcp, serve
from synsetmine.cli.stages import knowledge, link, read, supervise, vectors, vocabulary
from synsetmine.cli.train import finetune, train, tune
from synsetmine.cli.vocabularies import abbreviations, apply_names, convert, lint, push
from synsetmine.errors import SynsetmineError, choose_among

# Bad data, a bad model, an unwritable place. typer has 2 for wrong usage, and the last one.
FAILED, INTERRUPTED = 1, 130
UsageError: Any = typer.BadParameter.__mro__[1]  # typer exports its subclass only

NAMES = (group, apply_plan)
PROJECT = (init, run, report, demo)
STAGES = (read, knowledge, link, supervise, vocabulary, vectors, train, mine, evaluate)
REVIEW = (review, judge, export_reviews, import_reviews)
TOOLS = (export, lint, push, apply_names, serve, mcp)
OTHERS = (abbreviations, score, rank, finetune, tune, compare, convert, datasets)
PANELS = {
    "A list of names": NAMES,
    "A whole project": PROJECT,
    "Stages of a project": STAGES,
    "Review": REVIEW,
    "Other tools": TOOLS,
    "More": OTHERS,
}
COMMANDS = {
    typer.main.get_command_name(function.__name__): (function, panel)
    for panel, functions in PANELS.items()
    for function in functions
}
_MARKUP: Final = "markdown"


def command_of(name: str) -> TyperCommand:
    """The command of this name, with its arguments and options."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=_MARKUP)
    alone.command(name)(with_settings(COMMANDS[name][0]))
    command = typer.main.get_command(alone)
    if not isinstance(command, TyperCommand):
        raise TypeError(type(command))
    return command


class Commands(TyperGroup):
    """All commands, of which only the one that runs gets its options.

    To make the options of all takes longer than to show the help.
    """

    def __init__(self, **options: Any) -> None:
        outlines = {
            name: TyperCommand(
                name,
                help=inspect.getdoc(function),
                rich_markup_mode=_MARKUP,
                rich_help_panel=panel,
            )
            for name, (function, panel) in COMMANDS.items()
        }
        super().__init__(**{**options, "commands": outlines})

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, outline, rest = super().resolve_command(ctx, args)
        return name, outline if name is None else command_of(name), rest


app = typer.Typer(
    name="synsetmine",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=_MARKUP,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"synsetmine {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Mine entity synonym sets: groups of terms that name the same thing.

    From a plain list of names:

        synsetmine group names.txt

    From a corpus and a knowledge base to synonym sets with a report:

        synsetmine init --corpus abstracts.jsonl.gz --kb mesh.jsonl.gz

        synsetmine run

    With sets and vectors that you have, such as the paper's NYT data:

        synsetmine datasets nyt --copy-to data

        synsetmine train data/train-cold.set -v data/combined.embed -o model

        synsetmine mine model -v data/combined.embed --vocabulary data/test.set -o mined.jsonl

        synsetmine evaluate mined.jsonl data/test.set
    """
    del version
    if debug:
        os.environ["SYNSETMINE_DEBUG"] = "1"


def main() -> None:
    """Run a command; an error that a user can fix is one line on stderr and exit code 1 or 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console may not have all characters of names
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(prog_name="synsetmine", standalone_mode=False)
    except UsageError as error:
        if error.format_message():  # empty where the help was shown instead
            console.error(_wrong_usage(error))
        sys.exit(error.exit_code)
    except (SynsetmineError, OSError, MemoryError) as error:
        if os.environ.get("SYNSETMINE_DEBUG"):
            raise
        console.error(_in_words(error))
        sys.exit(FAILED)
    if code == INTERRUPTED:
        console.say("synsetmine: interrupted")
    sys.exit(code)


def _wrong_usage(error: Any) -> str:
    """The problem with the next step, without the box that typer draws around it."""
    message: str = error.format_message().removesuffix(".").replace("Value error, ", "")
    unknown = re.search(r"'([^']*)' is not one of ('.*')$", message)
    if unknown is not None:
        choices = re.findall(r"'([^']*)'", unknown[2])
        message = f"{message[: unknown.start()]}no such value: {unknown[1]!r}; "
        message += choose_among(unknown[1], choices)
    if message.endswith("?") or error.ctx is None:
        return message
    return f"{message}; see `{error.ctx.command_path} --help`"


def _in_words(error: BaseException) -> str:
    """The file first, as in our own errors, and no numbers of the system's."""
    if isinstance(error, OSError) and isinstance(error.filename, str) and error.strerror:
        from synsetmine.io.files import cannot_open

        return str(cannot_open(Path(error.filename), error))
    return str(error) or type(error).__name__
