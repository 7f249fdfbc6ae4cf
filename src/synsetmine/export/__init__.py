"""Mined sets in the forms that other tools read."""

from synsetmine.export.about import About
from synsetmine.export.entries import Entry, Preferred, choose_entries
from synsetmine.export.formats import FORMATS, Format
from synsetmine.export.lint import Finding, Lint, lint_file
from synsetmine.export.solrfile import Rule, read_rules

__all__ = [
    "FORMATS",
    "About",
    "Entry",
    "Finding",
    "Format",
    "Lint",
    "Preferred",
    "Rule",
    "choose_entries",
    "lint_file",
    "read_rules",
]
