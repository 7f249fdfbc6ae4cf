"""Commands in copies of a process that has loaded everything: seconds less for each."""

from __future__ import annotations

import atexit
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from pkgutil import iter_modules
from typing import IO

import synsetmine.cli

ROOMS = [
    f"synsetmine.{package}{module.name}"
    for package, path in (("", synsetmine.__path__), ("cli.", synsetmine.cli.__path__))
    for module in iter_modules(path)
    if module.name != "__main__"
]
# What training loads when it begins; torch's optimizers load torch._dynamo at their first step.
TRAINING = [
    "synsetmine.models.paper.train",
    "synsetmine.models.general.training",
    "torch._dynamo",
]


def run_warm(
    arguments: Sequence[str], folder: Path, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """`python -m synsetmine` with a folder as the current one.

    Nothing is read from stdin. `before` is called in the new process first; it must be a function
    that can be pickled.
    """
    with _file() as output, _file() as errors:
        names = (output.name, errors.name)
        process = _warm().Process(
            target=_command, args=(arguments, folder, names, dict(os.environ), before)
        )
        process.start()
        process.join()
        code = process.exitcode
        assert code is not None
        told, wrong = (file.read().decode(errors="replace") for file in (output, errors))
    return subprocess.CompletedProcess(arguments, code, told, wrong)


def _file() -> IO[bytes]:
    return tempfile.NamedTemporaryFile(prefix="synsetmine-test-")


@cache
def _warm() -> ForkServerContext:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads do not survive a fork
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.support.warmprocess", *ROOMS, *TRAINING])
    return context


def _command(
    arguments: Sequence[str],
    folder: Path,
    names: tuple[str, str],
    environment: Mapping[str, str],
    before: Callable[[], None] | None,
) -> None:
    for stream, name in zip((sys.stdout, sys.stderr), names, strict=True):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), stream.fileno())
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if before is not None:
        before()
    sys.argv = ["synsetmine", *arguments]
    code: object = 1
    try:
        runpy.run_module("synsetmine", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # as at the end of any program
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code if isinstance(code, int) else 1)
