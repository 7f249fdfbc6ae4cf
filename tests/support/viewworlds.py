"""Made-up worlds where each view tells a part of the truth."""

from __future__ import annotations

import random

import numpy as np

from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews

SYLLABLES = ("ba", "co", "di", "fu", "ga", "ho", "ki", "lu", "me", "no", "pra", "sti", "tor", "vel")


def name_world(
    sets: int, *, seed: int = 0, sizes: tuple[int, ...] = (2, 2, 2, 3), noise: float = 0.25
) -> tuple[SynonymSets, TermViews]:
    """Sets whose terms share a stem, and have vectors near that of their entity."""
    chance, draw = np.random.default_rng(seed), random.Random(seed)
    stems = [
        "".join(draw.choices(SYLLABLES, k=3)) + str(number) * (number % 3 == 0)
        for number in range(sets)
    ]
    members = [
        [Term(_variant(stem, i), f"e{number}") for i in range(draw.choice(sizes))]
        for number, stem in enumerate(stems)
    ]
    found = SynonymSets.of(members)
    centres = chance.normal(size=(sets, 12))
    rows = centres[found.labels(found.terms)] + noise * chance.normal(size=(len(found.terms), 12))
    return found, TermViews((TermVectors(found.terms, rows.astype(np.float32)),))


def _variant(stem: str, number: int) -> str:
    return (stem, f"the {stem}", f"{stem}s", f"{stem} inc", f"old {stem}")[number % 5]
