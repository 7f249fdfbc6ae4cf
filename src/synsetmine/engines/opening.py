"""An engine by its name, as the command line and a run ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from synsetmine.engines.base import Engine
from synsetmine.engines.local import LocalEngine
from synsetmine.errors import SynsetmineError

EngineName = Literal["local", "spark"]


@contextmanager
def open_engine(
    name: EngineName = "local", *, workers: int | None = None, master: str | None = None
) -> Iterator[Engine]:
    """The engine for a while; what it started ends with it.

    `workers` are the processes of the local engine, `master` is where Spark runs (`local[*]`).
    """
    if name == "local":
        if master is not None:
            raise SynsetmineError("a master is for the engine spark: --engine spark --master URL")
        yield LocalEngine(workers)
        return
    if workers is not None:
        raise SynsetmineError(
            "workers are for the engine local; with spark the master says how many, as in local[4]"
        )
    from synsetmine.engines.spark import SparkEngine

    with SparkEngine(master or "local[*]") as engine:
        yield engine
