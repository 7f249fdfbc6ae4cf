"""Writes docs/reference/cli.md from the commands themselves.

python docs/reference/generate_cli.py
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import typer.main
from typer.core import TyperGroup, TyperOption

from synsetmine.cli.app import app, command_of

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
Exit codes: 0 success, 1 an error with a message (or a reader that closed the pipe, such as `head`),
2 wrong usage, 130 interrupted. Results go to stdout, messages and progress to stderr; a terminal
shows tables and bars, a pipe gets plain lines.
"""


def reference() -> str:
    """The page: every command with its arguments and options."""
    group = typer.main.get_command(app)
    if not isinstance(group, TyperGroup):
        raise TypeError(type(group))
    parts = ["# Command line", "", inspect.cleandoc(group.help or ""), "", INTRODUCTION]
    parts += _table(group.params)
    for name in group.commands:
        command = command_of(name)
        arguments = [p.name for p in command.params if not isinstance(p, TyperOption)]
        usage = " ".join(["synsetmine", name, *map(str.upper, filter(None, arguments))])
        parts += ["", f"## {name}", "", f"`{usage} [OPTIONS]`", ""]
        parts += [inspect.cleandoc(command.help or ""), "", *_table(command.params)]
    return "\n".join(parts).rstrip() + "\n"


def _table(parameters: list[Any]) -> list[str]:
    return ["| | |", "| --- | --- |", *(f"| {_names(p)} | {_meaning(p)} |" for p in parameters)]


def _names(parameter: Any) -> str:
    if not isinstance(parameter, TyperOption):
        return f"`{str(parameter.name).upper()}`"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    return f"{names} (required)" if parameter.required else names


def _meaning(parameter: Any) -> str:
    text = parameter.help or ""
    if isinstance(parameter.default, str | int | float) and parameter.default is not False:
        text = f"{text} Default: `{parameter.default}`."
    text = " ".join(text.split()).replace("`|`", "<code>&#124;</code>")
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
