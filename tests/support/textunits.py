"""Texts as units, as counters see them."""

from __future__ import annotations

from collections.abc import Sequence

from synsetmine.text.matcher import NameMatcher
from synsetmine.text.vocabulary import Units, units_of


def read_units(texts: Sequence[str], forms: Sequence[str] = ()) -> Units:
    return units_of(texts, NameMatcher.build(forms).find(texts), forms)
