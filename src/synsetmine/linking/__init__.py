"""Linkers: which entities a text names, and where."""

from synsetmine.linking.dictionary import DictionaryLinker
from synsetmine.linking.identifiers import PubtatorLinker
from synsetmine.linking.mentions import Linker, MarkedLinker
from synsetmine.linking.spotlight import SpotlightLinker

__all__ = [
    "DictionaryLinker",
    "Linker",
    "MarkedLinker",
    "PubtatorLinker",
    "SpotlightLinker",
]
