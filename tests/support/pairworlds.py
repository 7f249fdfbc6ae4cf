"""What tests of methods that learn from pairs share: rows at random, worlds that are easy."""

from __future__ import annotations

import numpy as np

from synsetmine.rivals.base import Floats
from synsetmine.types import SynonymSets
from synsetmine.views import TermVectors, TermViews, unit_rows
from tests.support.worlds import make_world


def some_rows(count: int, dimension: int = 5, seed: int = 0) -> Floats:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32))


def world_views(vectors: TermVectors) -> TermViews:
    return TermViews(vectors=(vectors,), encoder=vectors)


def easy_world(seed: int) -> tuple[SynonymSets, SynonymSets, TermViews]:
    sets, vectors = make_world(entities=120, dimension=12, noise=0.1, seed=seed)
    training, held = sets.split(0.3, seed=seed)
    return training, held, world_views(vectors)
