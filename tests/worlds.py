"""Small made-up worlds: entities are points, their names lie around them."""

from __future__ import annotations

import numpy as np

from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors


def make_world(
    *, entities: int = 40, largest: int = 4, dimension: int = 8, noise: float = 0.2, seed: int = 0
) -> tuple[SynonymSets, TermVectors]:
    """Synonym sets of two to `largest` names each, with vectors that give them away."""
    random = np.random.default_rng(seed)
    sets: list[list[Term]] = []
    rows: list[np.ndarray] = []
    for entity in range(entities):
        centre = random.normal(size=dimension)
        size = int(random.integers(2, largest + 1))
        sets.append([Term(f"name{i}_of_{entity}", f"e{entity}") for i in range(size)])
        rows += [centre + noise * random.normal(size=dimension) for _ in range(size)]
    terms = [term for members in sets for term in members]
    shuffled = random.permutation(len(terms))
    vectors = TermVectors(
        tuple(terms[i] for i in shuffled),
        np.array(rows, dtype=np.float32)[shuffled],
    )
    return SynonymSets.of(sets), vectors
