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
| 0 | Success. A warning counts skipped input. |
| 1 | An error, described by the last line on stderr; or a reader such as `head` closed the pipe. |
| 2 | Wrong usage: an unknown option or command, a value that an option does not take. |
| 130 | Interrupted with Ctrl-C. |

An error is one line, `synsetmine: error: file:line: problem: 'value'; next step`, without parts
that do not apply; long values are shortened. A warning is `synsetmine: warning: …`. Commands leave
no partial files: a file gets its name only when it is complete. `synsetmine --debug COMMAND …`
shows the traceback of an error.

Files are read as UTF-8; a byte order mark and CRLF are accepted. Names that only look alike, such
as those with a Latin and a Cyrillic `a`, are different names. Limits bound the memory, also for
compressed files: 64 MiB for a line, a wiki page, a record of a table, a PubTator article, and a
file that is read as a whole (settings, descriptions of models and runs, synonyms.txt); 10,000
characters for a name in a knowledge base.

The tables list the bad input of the tests, with its message. `…` stands for shortened text, or text
that depends on the machine. Input without a message is valid.
"""


def reference() -> str:
    """The page: exit codes, then the table part by part."""
    parts = [INTRODUCTION]
    for part in dict.fromkeys(case.part for case in CASES):
        parts += [f"## {part[0].upper()}{part[1:]}", "", "| input | exit code | message |"]
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
