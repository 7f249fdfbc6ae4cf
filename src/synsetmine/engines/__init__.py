"""Where the corpus work runs: the cores of this machine, or Spark."""

from synsetmine.engines.base import BatchFunction, Engine, EngineName, LocalEngine, open_engine

__all__ = ["BatchFunction", "Engine", "EngineName", "LocalEngine", "open_engine"]
