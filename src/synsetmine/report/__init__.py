"""The report of a run: one HTML file that a person opens, without network or server."""

from synsetmine.report.findings import (
    Bars,
    Epochs,
    Findings,
    MinedSet,
    MinedTerm,
    Score,
    Sentence,
    Stage,
)
from synsetmine.report.page import write_report
from synsetmine.report.sentences import find_sentences
from synsetmine.report.termmap import term_map

__all__ = [
    "Bars",
    "Epochs",
    "Findings",
    "MinedSet",
    "MinedTerm",
    "Score",
    "Sentence",
    "Stage",
    "find_sentences",
    "term_map",
    "write_report",
]
