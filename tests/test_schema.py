"""Definitions of settings: conversion, ranges, messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.schema import (
    MAX_SEED,
    check_settings,
    from_record,
    from_values,
    result_field,
    seed_setting,
    setting,
    settings_in,
    to_record,
    with_changes,
)


@dataclass(frozen=True, kw_only=True)
class Example:
    path: tuple[str, ...] = setting(help="files")
    seed: int = seed_setting("of the sample")
    share: float = setting(0.5, gt=0, lt=1, help="a share")
    cut: float | None = setting(None, ge=0, le=1, help="a threshold")
    sizes: tuple[int, ...] = setting((50, 20), ge=1, help="sizes")
    method: Literal["svd", "skipgram"] = setting("svd", help="the method")
    known: bool = setting(True, help="whether sets are known")

    def __post_init__(self) -> None:
        check_settings(self)


def test_values_take_the_types_of_their_settings() -> None:
    values = {"path": "a.txt", "share": 0.25, "cut": 1, "sizes": [3], "method": "skipgram"}
    example = from_values(Example, values)
    assert example == Example(
        path=("a.txt",), share=0.25, cut=1.0, sizes=(3,), method="skipgram", known=True
    )
    assert type(example.cut) is float
    assert with_changes(example, {"seed": 7}).seed == 7


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "path is missing"),
        ({"path": []}, "path must be a string or a list of strings: []"),
        ({"path": "a", "seed": -1}, f"seed must be between 0 and {MAX_SEED}: -1"),
        ({"path": "a", "seed": True}, "seed must be a whole number: True"),
        ({"path": "a", "seed": 2**70}, f"seed is a number beyond 64 bits: {2**70}"),
        ({"path": "a", "share": 1}, "share must be in (0, 1): 1.0"),
        ({"path": "a", "cut": float("nan")}, "cut must be between 0 and 1: nan"),
        ({"path": "a", "sizes": 3}, "sizes must be a list of whole numbers: 3"),
        ({"path": "a", "sizes": [3, 0]}, "sizes must be at least 1: (3, 0)"),
        ({"path": "a", "method": "pca"}, "method must be one of svd, skipgram: 'pca'"),
        ({"path": "a", "known": 1}, "known must be true or false: 1"),
        (
            {"path": "a", "shares": 1},
            "no such setting: 'shares'; did you mean 'share'?",
        ),
    ],
)
def test_other_values_are_refused_with_name_range_and_value(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as error:
        from_values(Example, values)
    assert str(error.value).startswith(message)


@given(st.floats(-1, 2), st.booleans(), st.booleans())
def test_a_range_is_that_of_its_bounds(value: float, low_open: bool, high_open: bool) -> None:
    low = {"gt": 0} if low_open else {"ge": 0}
    high = {"lt": 1} if high_open else {"le": 1}

    @dataclass(frozen=True)
    class Bounded:
        share: float = setting(0.5, help="a share", **low, **high)

    is_allowed = (value > 0 if low_open else value >= 0) and (
        value < 1 if high_open else value <= 1
    )
    if is_allowed:
        check_settings(Bounded(value))
    else:
        with pytest.raises(DataError, match="share must be"):
            check_settings(Bounded(value))


def test_a_description_has_choices_and_help() -> None:
    assert settings_in(Example)["method"].description == "svd or skipgram; the method"
    assert settings_in(Example)["seed"].description == "of the sample"


@dataclass(frozen=True)
class Counts:
    sets: int = result_field("training sets")
    share: float | None = result_field("share", default=None)
    note: str = ""


def test_labels_are_the_names_in_a_record() -> None:
    assert to_record(Counts(3, note="few")) == {"training sets": 3}
    assert to_record(Counts(0, 0.0)) == {"training sets": 0, "share": 0.0}
    assert from_record(Counts, {"training sets": 3, "share": 0.5, "later": 1}) == Counts(3, 0.5)
    with pytest.raises(TypeError, match="sets"):
        from_record(Counts, {"share": 0.5})


def test_an_explanation_names_the_range_once() -> None:
    known = settings_in(Example)
    assert known["share"].explanation == "a share, in (0, 1)"
    assert known["sizes"].explanation == "sizes (at least 1)"
    assert known["method"].explanation == "svd or skipgram; the method"
    assert known["known"].explanation == "whether sets are known"
