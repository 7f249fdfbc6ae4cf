"""Writes docs/reference/errors.md from the table of bad input that the tests try.

python -m docs.reference.generate_errors
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from tests.support.badinput.case import Case
from tests.support.badinput.table import CASES

PAGE = Path(__file__).with_name("errors.md")
INTRODUCTION = """\
# Errors

| exit code | |
| --- | --- |
| 0 | Done. What was left out is counted in a warning. |
| 1 | Something that the last line on stderr names; or the reader of a pipe, such as `head`, left. |
| 2 | Wrong usage: an unknown option or command, a value that an option does not take. |
| 130 | Interrupted with Ctrl-C. |

An error is one line, `synsetmine: error: file:line: problem: 'value'`, with as much of it as there
is to tell; long values are cut. A warning is `synsetmine: warning: …`. Nothing half-written is left
behind: a file has its name only once it is whole. `synsetmine --debug COMMAND …` shows where in the
program an error came from.

Files are read as UTF-8; a byte order mark and CRLF do no harm. Names that only look alike, such as
those with a Latin and a Cyrillic `a`, are different names. So that no file fills the memory,
however well it is compressed, a line may have 64 MiB, as may a page of a wiki, a record of a table,
an article of PubTator and a file that is held whole (settings, descriptions of models and runs,
synonyms.txt). A name in a knowledge base may have 10,000 characters.

Below is all bad input that the tests try, with what is said: `…` stands for what depends on the
machine or was cut. Where nothing is said, the input is read as it is.
"""


def reference() -> str:
    """The page: exit codes, then the table part by part."""
    parts = [INTRODUCTION]
    for part in dict.fromkeys(case.part for case in CASES):
        parts += [f"## {part[0].upper()}{part[1:]}", "", "| input | exit code | what it says |"]
        parts += ["| --- | --- | --- |", *(_row(case) for case in CASES if case.part == part), ""]
    return "\n".join(parts).rstrip() + "\n"


def _row(case: Case) -> str:
    said = f" {_code(case.says)}" if case.says else ""
    return f"| {case.input} | {case.code} |{said} |"


def _code(text: str) -> str:
    """Text as code in a cell, which a bar would end."""
    if not {"|", "`"} & set(text):
        return f"`{text}`"
    return f"<code>{escape(text, quote=False).replace('|', '&#124;').replace('`', '&#96;')}</code>"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
