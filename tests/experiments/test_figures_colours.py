"""The colours of figures: told apart by all eyes, and clear on the card."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from experiments.figures import DARK, LIGHT

# How dichromats see linear RGB (Machado, Oliveira and Fernandes 2009, full strength).
SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(colour: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """CIE L*a*b* for D65."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    share = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_all_pairs_of_colours_can_be_kept_apart(palette: Sequence[str], sight: str) -> None:
    seen = [lab(SIGHT[sight] @ linear(colour)) for colour in palette[4:]]
    assert len(seen) == 8
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 10


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_colours_and_words_stand_out_from_the_card(palette: Sequence[str]) -> None:
    card, ink, quiet, _, *colours = (
        float(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour)) for colour in palette
    )

    def contrast(light: float) -> float:
        return (max(light, card) + 0.05) / (min(light, card) + 0.05)

    assert min(map(contrast, colours)) >= 3
    assert min(contrast(ink), contrast(quiet)) >= 4.5
