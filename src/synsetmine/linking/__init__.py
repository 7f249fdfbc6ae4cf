"""Linkers: which entities a text names, and where."""

from synsetmine.linking.linkers import DictionaryLinker, Linker, MarkedLinker, PubtatorLinker
from synsetmine.linking.spotlight import SpotlightLinker

__all__ = [
    "DictionaryLinker",
    "Linker",
    "MarkedLinker",
    "PubtatorLinker",
    "SpotlightLinker",
]
