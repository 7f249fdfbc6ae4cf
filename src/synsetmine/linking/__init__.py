"""Linkers: which entities a text names, and where."""

from typing import Literal

from synsetmine.linking.base import Linker
from synsetmine.linking.dictionary import DictionaryLinker
from synsetmine.linking.idfields import PubtatorLinker
from synsetmine.linking.marked import MarkedLinker
from synsetmine.linking.spotlight import SpotlightLinker

# `pubtator` and `wikilinks` take the mentions that the corpus files mark themselves.
LinkerName = Literal["dictionary", "spotlight", "pubtator", "wikilinks"]

__all__ = [
    "DictionaryLinker",
    "Linker",
    "LinkerName",
    "MarkedLinker",
    "PubtatorLinker",
    "SpotlightLinker",
]
