"""From a corpus and a knowledge base to synonym sets with a report.

`run_project` is in `pipeline.run`, which loads torch; the stages before the model need none.
"""

from synsetmine.pipeline.settings import PROJECT_FILE, Project, read_project

__all__ = ["PROJECT_FILE", "Project", "read_project"]
