"""Grouping names with types and must-link pairs."""

from __future__ import annotations

from typing import Any

import pytest

from synsetmine.errors import DataError
from synsetmine.pipeline.grouping import group


def test_names_of_different_types_never_share_a_set() -> None:
    listed = ["Washington", "washington", "George Washington", "IBM", "I.B.M."]
    kinds = ["city", "person", "person", "company", None]
    result = group(listed, types=kinds, precision="bold")
    for name_set in result.sets:
        assert len({member.type for member in name_set.entries} - {""}) < 2
    ids = result.ids
    assert ids[0] != ids[1]
    assert ids[3] == ids[4]
    assert {s.type for s in result.sets if "IBM" in s.members} == {"company"}


def test_a_pair_of_two_types_is_not_unsure() -> None:
    listed, kinds = ["Apple", "apple", "Orange"], ["company", "fruit", "company"]
    pairs = {frozenset((one, other)) for one, other, _ in group(listed, types=kinds).unsure}
    assert pairs == {frozenset(("Apple", "Orange"))}


def test_types_are_compared_without_case() -> None:
    result = group(["IBM", "I.B.M."], types=["Company", " company "])
    assert result.ids[0] == result.ids[1]


def test_a_name_without_a_type_does_not_join_two_types() -> None:
    listed = ["heart failure", "failure, heart", "Heart failures"]
    result = group(listed, types=["disease", None, "film"], precision="bold")
    assert result.ids[0] != result.ids[2]


def test_each_row_has_its_set() -> None:
    listed = ["IBM", None, "Lyon", "I.B.M.", "IBM"]
    result = group(listed)
    assert result.canonical == ("IBM", None, "Lyon", "IBM", "IBM")
    assert result.ids[0] == result.ids[3] == result.ids[4] == result.sets[0].id
    assert result.ids[1] is None
    assert result.ids[2] not in (None, result.ids[0])


def test_must_link_pairs_share_a_set() -> None:
    listed = ["Constantinople", "Istanbul", "istanbul city", "Lyon"]
    result = group(listed, always=[("Constantinople", "ISTANBUL")], precision="cautious")
    assert result.ids[0] == result.ids[1] != result.ids[3]
    pair = [("Lyon", "Istanbul")]
    assert not group(["Lyon", "Istanbul"], always=pair, never=pair).sets  # never outweighs always


def test_must_link_pairs_join_a_known_set() -> None:
    result = group(
        ["Byzantium", "Lyon"],
        known=[["Istanbul", "Constantinople"]],
        always=[("Byzantium", "Istanbul")],
    )
    assert "Byzantium" in result.sets[0].members
    with pytest.raises(DataError, match="in two known sets"):
        group(["a"], known=[["b"], ["c"]], always=[("b", "c")])


@pytest.mark.parametrize("columns", [{"types": ["city"]}, {"contexts": ["a", "b", "c"]}])
def test_columns_are_as_long_as_the_names(columns: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="for 2 names"):
        group(["Lyon", "Paris"], **columns)


def test_contexts_and_types_may_be_columns() -> None:
    frame = pytest.importorskip("pandas").DataFrame(
        {"name": ["Paris", "Paris"], "kind": ["city", "person"], "text": ["on the Seine", None]}
    )
    result = group(frame, types="kind", contexts="text")
    assert result.ids[0] != result.ids[1]
    with pytest.raises(DataError, match="no column has this name"):
        group(frame, types="sort")
    with pytest.raises(DataError, match="not a table"):
        group(["Paris"], types="kind")
