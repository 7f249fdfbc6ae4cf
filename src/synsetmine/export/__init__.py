"""Mined sets in the formats of other tools."""

from synsetmine.export.entries import About, Preferred, choose_entries
from synsetmine.export.formats import FORMATS, Format
from synsetmine.export.solr import Finding, Lint, lint_file
from synsetmine.io.rules import Rule, read_rules

__all__ = [
    "FORMATS",
    "About",
    "Finding",
    "Format",
    "Lint",
    "Preferred",
    "Rule",
    "choose_entries",
    "lint_file",
    "read_rules",
]
