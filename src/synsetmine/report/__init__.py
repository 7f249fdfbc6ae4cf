"""The report of a run: one HTML file that a person opens, without network or server."""

from synsetmine.report.findings import (
    Epochs,
    Findings,
    Penalties,
    RehearsalFindings,
    RehearsalLevel,
    Score,
    Stage,
)
from synsetmine.report.page import write_report
from synsetmine.report.termmap import term_map

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
