"""Mined sets in the forms that other tools read."""

from synsetmine.export.entries import Entry, Preferred, choose_entries

__all__ = ["Entry", "Preferred", "choose_entries"]
