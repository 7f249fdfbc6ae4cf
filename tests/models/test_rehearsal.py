"""Precision, recall and calibration of a rehearsal against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.models.known import BINS, FEWEST, Rehearsal
from tests.support.strategies import rehearsals


def rows_of(rehearsal: Rehearsal) -> list[tuple[float, bool, bool, float]]:
    """(probability, right, hidden, weight) of the names that are reported on."""
    columns = ("probabilities", "right", "hidden", "weights", "seen")
    rows = list(zip(*(getattr(rehearsal, name).tolist() for name in columns), strict=True))
    seen = [row[:-1] for row in rows if row[-1]]
    enough = sum(hidden for _, _, hidden, _ in seen) >= FEWEST
    return seen if enough else [row[:-1] for row in rows]


@given(rehearsals(), st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]))
def test_levels_are_those_of_a_plain_count(rehearsal: Rehearsal, probability: float) -> None:
    rows = rows_of(rehearsal)
    hidden = [row for row in rows if row[2]]
    assigned = [row for row in hidden if row[0] >= probability]
    right = sum(row[1] for row in assigned)
    level = rehearsal.level(probability)
    assert (level.assigned, level.right, level.hidden) == (len(assigned), right, len(hidden))
    assert level.precision == (right / len(assigned) if assigned else 1)
    assert level.recall == (right / len(hidden) if hidden else 0)
    removed = [row for row in rows if not row[2]]
    joined = sum(row[0] >= probability for row in removed)
    share = joined / len(removed) if removed else 0
    assert rehearsal.joined_without_set(probability) == pytest.approx(share)


@given(rehearsals())
def test_calibration_is_that_of_a_plain_sum(rehearsal: Rehearsal) -> None:
    rows = rows_of(rehearsal)
    total = sum(weight for *_, weight in rows)
    error, reliability = 0.0, []
    for number in range(BINS):
        low, high = number / BINS, (number + 1) / BINS
        here = [r for r in rows if low <= r[0] < high or (number == BINS - 1 and r[0] == 1)]
        if here:
            weight = sum(w for *_, w in here)
            mean = sum(w * p for p, _, _, w in here) / weight
            right = sum(w * r for _, r, _, w in here) / weight
            error += weight / total * abs(mean - right)
            reliability.append((mean, right, len(here)))
    assert rehearsal.calibration_error() == pytest.approx(error)
    for row, expected in zip(rehearsal.reliability(), reliability, strict=True):
        assert row == pytest.approx(expected)


def test_names_of_the_corpus_count_where_there_are_enough() -> None:
    def rehearsal(seen: int) -> Rehearsal:
        flags = np.arange(FEWEST + 50) < seen
        right = ~flags  # all names that the corpus has are wrong
        return Rehearsal(
            np.ones(len(flags)), right, np.ones(len(flags), np.bool_), flags, np.ones(len(flags))
        )

    assert rehearsal(FEWEST).level(0.5).precision == 0
    assert rehearsal(FEWEST - 1).level(0.5).precision == pytest.approx(51 / 150)


def test_an_empty_rehearsal_has_no_error() -> None:
    flags = np.empty(0, np.bool_)
    rehearsal = Rehearsal(np.empty(0), flags, flags, flags, np.empty(0))
    assert (rehearsal.calibration_error(), rehearsal.joined_without_set(0.5)) == (0, 0)
    assert rehearsal.reliability() == []
    assert rehearsal.level(0.5).recall == 0
