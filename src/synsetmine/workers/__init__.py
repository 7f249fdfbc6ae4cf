"""Several cores for one task: processes and threads, whose results come in order."""

from synsetmine.workers.crew import Crew, WorkerDiedError
from synsetmine.workers.pool import WorkerPool
from synsetmine.workers.processes import cores, end_with_parent, fork_serving, spawning
from synsetmine.workers.threads import in_threads

__all__ = [
    "Crew",
    "WorkerDiedError",
    "WorkerPool",
    "cores",
    "end_with_parent",
    "fork_serving",
    "in_threads",
    "spawning",
]
