"""The positions of terms on a map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synsetmine.types import Term
from synsetmine.views import TermVectors

FEW = 30  # below this many terms t-SNE has no neighbourhoods to keep
PERPLEXITY = 30.0
STEPS = 500  # after these the neighbourhoods stand; more only widens the gaps


def term_map(
    vectors: TermVectors, terms: Sequence[Term], *, seed: int, most: int = 1500
) -> list[tuple[Term, float, float]]:
    """Place the first `most` of the terms that have a vector; the rest is left out.

    The same seed gives the same map on any number of cores. Angles count, lengths do not.
    """
    chosen = [term for term in dict.fromkeys(terms) if term in vectors][:most]
    if not chosen:
        return []
    directions = _unit(vectors.select(chosen))  # (terms, dimension)
    if len(chosen) < FEW or vectors.dimension < 2 or _all_equal(directions):
        positions = _principal_axes(directions)
    else:
        positions = _neighbourhoods(directions, seed)
    return [
        (term, float(x), float(y)) for term, (x, y) in zip(chosen, positions.tolist(), strict=True)
    ]


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Vectors of length one; a zero vector stays as it is."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    directions: npt.NDArray[np.float64] = rows / np.where(lengths > 0, lengths, 1)
    return directions


def _all_equal(rows: npt.NDArray[np.float64]) -> bool:
    return bool(np.allclose(rows, rows[0]))


def _principal_axes(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The two directions in which the rows differ most: (terms, 2)."""
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    # The sign of an axis is arbitrary: its largest entry shall be positive.
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])])
    positions = np.zeros((len(rows), 2))
    positions[:, : min(2, len(sizes))] = (left * sizes * signs)[:, :2]
    return positions


def _neighbourhoods(rows: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """t-SNE on cosine distances: (terms, 2)."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    tsne = TSNE(
        metric="cosine",
        init="pca",
        perplexity=perplexity,
        max_iter=STEPS,
        random_state=seed,
        n_jobs=1,
    )
    with threadpool_limits(limits=1):  # sums in another order would give another map
        return np.asarray(tsne.fit_transform(rows), dtype=np.float64)
