"""From a corpus and a knowledge base to synonym sets with a report."""

from synsetmine.pipeline.run import run_project
from synsetmine.pipeline.settings import PROJECT_FILE, Project, read_project

__all__ = [
    "PROJECT_FILE",
    "Project",
    "read_project",
    "run_project",
]
