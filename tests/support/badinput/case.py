"""One row of the table of bad input, and how it is tried."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.support.warmprocess import run_warm

MEMORY = 2**30  # bytes that a command may take: less than what a gzip bomb holds


@dataclass(frozen=True)
class Case:
    """A bad input, the command that meets it in a folder of its own, and what it answers.

    `says` is the error, word for word, with `…` for what differs between machines; for a case
    that is survived (code 0) it is the warning that counts what was left out, or "" where the
    input is simply read. `leaves` names the files that may be new or changed afterwards.
    """

    part: str  # the reader or place: "corpus", "knowledge base", "sets", "vectors", …
    input: str  # what is wrong with it, as errors.md lists it: "a line that is not JSON"
    make: Callable[[Path], None]  # writes the input into an empty folder
    command: tuple[str, ...]  # arguments of synsetmine, with that folder as the current one
    code: int
    says: str
    leaves: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    during: Callable[[Path], AbstractContextManager[object]] = nullcontext  # holds meanwhile
    largest: int | None = None  # bytes that a file may have, as `ulimit -f` says
    unread: bool = False  # nobody reads what the command prints, as after `| head -1`

    @property
    def name(self) -> str:
        return f"{self.part}: {self.input}"


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    code: int
    errors: tuple[str, ...]  # lines of stderr
    new_files: frozenset[str]  # also those that are changed or gone


def answer(case: Case, folder: Path) -> Answer:
    """Run a case as a user would: a real process in a folder of its own."""
    case.make(folder)
    with case.during(folder):
        before = _files(folder)
        code, errors = _run(case, folder)
        changed = before.items() ^ _files(folder).items()
    lines = tuple(line for line in errors.splitlines() if line.strip())
    return Answer(code, lines, frozenset(path for path, _ in changed))


def _run(case: Case, folder: Path) -> tuple[int, str]:
    """The command's exit code and what it says to stderr.

    Most commands run in a copy of a process that has loaded torch already. Those that depend on
    how a process begins or ends, or where its output goes, get a new one.
    """
    anew = case.environment or case.unread or case.largest is not None
    done = _run_anew(case, folder) if anew else run_warm(case.command, folder, _limit)
    return done.returncode, done.stderr


def _run_anew(case: Case, folder: Path) -> subprocess.CompletedProcess[str]:
    if case.unread:
        end, output = os.pipe()
        os.close(end)
    else:
        output = os.open(os.devnull, os.O_WRONLY)
    try:
        return subprocess.run(
            [sys.executable, "-m", "synsetmine", *case.command],
            cwd=folder,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "OMP_NUM_THREADS": "1", **case.environment},
            stdin=subprocess.DEVNULL,
            preexec_fn=partial(_limit, case.largest),
            check=False,
        )
    finally:
        os.close(output)


def _limit(largest: int | None = None) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))


def _files(folder: Path) -> dict[str, str]:
    """What lies in the folder, each with its kind and content."""
    return {str(path.relative_to(folder)): _content(path) for path in folder.rglob("*")}


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return "folder" if path.is_dir() else "device or pipe"
