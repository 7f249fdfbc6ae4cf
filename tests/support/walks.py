"""Pages are walked: their commands run, and what a page shows must be what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FENCE = r"^```(console|python|text)\n(.*?)^```"
MARK = "-- next command --"
# In a pipe a progress bar becomes lines such as `read 0.1/0.2 MB`; a terminal has none of them.
BAR = re.compile(r"^[\w ]+ [\d.]+/[\d.]+( MB)?.*\n", re.M)


@dataclass
class Step:
    """A command of a page and the lines that are shown below it."""

    command: str
    shown: list[str] = field(default_factory=list)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


def steps(page: Path) -> list[Step]:
    """What is run on a page: commands of console blocks, and Python blocks.

    A command begins with `$ ` and goes on after a backslash; what it prints stands below it. What
    a Python block prints stands in a block of text behind it.
    """
    found: list[Step] = []
    for language, block in re.findall(FENCE, page.read_text("utf-8"), re.M | re.S):
        if language == "python":
            found.append(Step(f"python - <<'END'\n{block}END"))
        elif language == "text":
            found[-1].shown += block.splitlines()
        else:
            _add_commands(found, block)
    return found


def _add_commands(found: list[Step], block: str) -> None:
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:]))
        elif found[-1].command.endswith("\\") and not found[-1].shown:
            found[-1].command += f"\n{line}"
        else:
            found[-1].shown.append(line)


def walk(page: Path, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run the commands of a page one after the other; gives all that they print."""
    taken = steps(page)
    script = "".join(f"{step.command}\necho '{MARK}'\n" for step in taken)
    done = run(["bash", "-euo", "pipefail", "-c", script], folder, environment, stderr_too=True)
    wrong = [
        f"`{step.command}` is shown with\n\n{shown}\n\nbut prints\n\n{said}"
        for step, printed in zip(taken, done.split(f"{MARK}\n"), strict=False)
        if (shown := "\n".join(step.shown))
        and not re.fullmatch(pattern(step.shown), said := BAR.sub("", printed))
    ]
    assert not wrong, f"{page.name}: " + "\n\n".join(wrong)
    return done


def pattern(shown: list[str]) -> str:
    """What may be printed where a page shows these lines.

    `…` alone on a line stands for any lines, within a line for anything. Numbers with a point may
    be others, as they change from machine to machine; columns may be apart by blanks or a tab.
    """
    return "".join(r"(?:.*\n)*?" if line == "…" else f"{_line(line)}\n" for line in shown)


def _line(line: str) -> str:
    parts = re.split(r"(…|\d+\.\d+(?:e-\d+)?|\s+)", line)
    return "".join(_part(part) for part in parts)


def _part(part: str) -> str:
    if part == "…":
        return ".*"
    if part.isspace():
        return r"[ \t]+"
    return r"\d+(?:\.\d+)?(?:e-\d+)?" if re.match(r"\d+\.\d", part) else re.escape(part)


def run(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    stderr_too: bool = False,
) -> str:
    """What a command prints, with our own program first in the path."""
    own = str(Path(sys.executable).parent)
    done = subprocess.run(
        command,
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
            **(environment or {}),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if stderr_too else subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout if stderr_too else done.stderr
    return done.stdout
