"""Names with contexts, grouped by the general model of the package."""

from __future__ import annotations

import random
from typing import Any

import pytest

from synsetmine import Grouping, group

ROWS = (
    ("Jordan", "Jordan borders Israel and Saudi Arabia in the Middle East."),
    ("Jordan", "The king of Jordan met leaders of the Middle East in the capital Amman."),
    ("Jordan", "Israel and Jordan share a border and the water of the river."),
    ("Jordan", "Jordan scored 45 points for the Chicago Bulls in the NBA finals."),
    ("Jordan", "As a basketball player for the Bulls, Jordan won six NBA championships."),
    ("Michael Jordan", "Michael Jordan, the Chicago Bulls guard, is a great basketball player."),
    ("Amman", "Amman is a city in the Middle East, the capital of the kingdom."),
    ("Chicago", "Chicago is a city on a lake with tall buildings and a river."),
    ("MI", "Patients with myocardial infarction (MI) were treated with aspirin."),
    ("myocardial infarction", "Myocardial infarction is caused by a blocked artery of the heart."),
    ("Michigan", "Michigan is a state between the Great Lakes."),
    ("aspirin", "Aspirin thins the blood and is given after a heart attack."),
)


def grouped(rows: tuple[tuple[str, str], ...] = ROWS, **options: Any) -> Grouping:
    return group([name for name, _ in rows], contexts=[text for _, text in rows], **options)


def test_a_name_is_split_where_its_contexts_differ() -> None:
    ids = grouped().ids
    assert len(set(ids[:3])) == 1
    assert len(set(ids[3:5])) == 1
    assert ids[0] != ids[3]


def test_an_abbreviation_joins_what_its_context_defines() -> None:
    result = grouped()
    assert result.ids[8] == result.ids[9] != result.ids[10]


def test_the_order_of_the_rows_makes_no_difference() -> None:
    expected = dict(zip(ROWS, grouped().ids, strict=True))
    for seed in range(3):
        rows = tuple(random.Random(seed).sample(ROWS, len(ROWS)))
        assert dict(zip(rows, grouped(rows).ids, strict=True)) == expected


@pytest.mark.parametrize("empty", [None, "", [], [" "]])
def test_rows_without_a_context_have_the_most_frequent_sense(empty: object) -> None:
    names = [name for name, _ in ROWS] + ["Jordan"]
    ids = group(names, contexts=[*(text for _, text in ROWS), empty]).ids
    assert ids[-1] == ids[0]


def test_no_name_is_split_further_at_a_higher_threshold() -> None:
    ids = grouped(precision=0.95).ids
    assert len(set(ids[:3])) == 1
    assert len(set(ids[:5])) == len(set(grouped().ids[:5]))


def test_contexts_without_words_change_nothing() -> None:
    names = ["heart attack", "heart attacks", "Jordan", "Jordan"]
    plain, empty = group(names), group(names, contexts=["the", "of", "...", "?"])
    assert [a == b for a in plain.ids for b in plain.ids] == [
        a == b for a in empty.ids for b in empty.ids
    ]
