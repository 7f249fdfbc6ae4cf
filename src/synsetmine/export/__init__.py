"""Mined sets in the forms that other tools read."""

from synsetmine.export.about import About
from synsetmine.export.entries import Entry, Preferred, choose_entries

__all__ = ["About", "Entry", "Preferred", "choose_entries"]
