"""The report of a run: one HTML file that a person opens, without network or server."""

from synsetmine.pipeline.report.findings import (
    Epochs,
    Findings,
    Penalties,
    RehearsalFindings,
    RehearsalLevel,
    Score,
    Stage,
)
from synsetmine.pipeline.report.page import write_report
from synsetmine.pipeline.report.term_map import term_map

__all__ = [
    "Epochs",
    "Findings",
    "Penalties",
    "RehearsalFindings",
    "RehearsalLevel",
    "Score",
    "Stage",
    "term_map",
    "write_report",
]
