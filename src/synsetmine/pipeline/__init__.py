"""From a corpus and a knowledge base to synonym sets with a report.

`run_project` is in `pipeline.run`, which loads the models.
"""

from synsetmine.pipeline.settings import PROJECT_FILE, Project, read_project

__all__ = ["PROJECT_FILE", "Project", "read_project"]
