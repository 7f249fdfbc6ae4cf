"""Tables of pandas and polars: their columns go in, and an answer for each row comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synsetmine.corpus.name_lists import rows_in
from synsetmine.errors import DataError
from synsetmine.pipeline.grouping import group

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

COLUMNS = {
    "name": ["Heart failure", "failure, heart", None, "Paris", "Paris"],
    "kind": ["disease", "disease", None, "city", "person"],
    "about": [["It pumps.", "It is weak."], None, None, ["On the Seine."], ["Prince of Troy."]],
}
EXPECTED = ("Heart failure", "Heart failure", None, "Paris", "Paris")
CONTEXTS = [("It pumps.", "It is weak."), (), (), ("On the Seine.",), ("Prince of Troy.",)]


@pytest.mark.parametrize("library", [pandas, polars])
def test_an_answer_for_each_row(library: Any) -> None:
    table = library.DataFrame(COLUMNS)
    result = group(table, column="name", types="kind", contexts="about")
    assert result.canonical == EXPECTED
    assert len({*result.ids}) == 4  # a disease, a city, a person, and none
    rows = rows_in(table, "name", types="kind", contexts="about")
    assert [row.contexts for row in rows] == CONTEXTS
    assert [row.type for row in rows] == ["disease", "disease", "", "city", "person"]


def test_a_frame_of_pandas_keeps_its_index() -> None:
    frame = pandas.DataFrame(COLUMNS, index=list("edcba"))
    frame["kind"] = frame["kind"].astype("category")
    result = group(frame["name"], types=frame["kind"], contexts=frame["about"])
    with_sets = frame.assign(canonical=result.canonical, entity=result.ids)
    assert list(with_sets.index) == list("edcba")
    assert with_sets.loc["d", "canonical"] == "Heart failure"
    assert with_sets["canonical"].isna().tolist() == [False, False, True, False, False]
    assert with_sets.loc["b", "entity"] != with_sets.loc["a", "entity"]


def test_a_frame_of_polars_gets_columns() -> None:
    frame = polars.DataFrame(COLUMNS).with_columns(polars.col("kind").cast(polars.Categorical))
    result = group(frame["name"], types=frame["kind"], contexts=frame["about"])
    with_sets = frame.with_columns(
        canonical=polars.Series(result.canonical), entity=polars.Series(result.ids)
    )
    assert with_sets["canonical"].to_list() == list(EXPECTED)
    assert with_sets["entity"].null_count() == 1


def test_columns_may_have_numbers_for_names() -> None:
    frame = pandas.DataFrame([["Paris", "city", "On the Seine."], ["Paris", "person", None]])
    rows = rows_in(frame, column=0, types=1, contexts=2)  # type: ignore[arg-type]
    assert [row.type for row in rows] == ["city", "person"]
    assert rows[0].contexts == ("On the Seine.",)


def test_missing_sentences_of_a_cell_are_left_out() -> None:
    names = polars.Series(["Paris", "Lyon", "Rome"])
    contexts = polars.Series(
        [["On the Seine.", None], [None], []], dtype=polars.List(polars.String)
    )
    assert [row.contexts for row in rows_in(names, contexts=contexts)] == [
        ("On the Seine.",),
        (),
        (),
    ]
    arrays = [np.array(["a", "b"]), float("nan"), None]
    assert rows_in(["x", "y", "z"], contexts=arrays)[0].contexts == ("a", "b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contexts": pandas.DataFrame(COLUMNS)}, "expected contexts as a column or a list"),
        ({"contexts": polars.DataFrame(COLUMNS).lazy()}, "expected contexts as a column or a list"),
        ({"types": 5.5}, "expected a list of types"),
        ({"types": 0}, "expected types as a list, since the names are not a table"),
        ({"types": pandas.Series(COLUMNS["kind"], index=[4, 3, 2, 1, 0])}, "index of the types"),
        ({"contexts": [1, 2, 3, 4, 5]}, r"expected a list of sentences \(item 0\): 1"),
    ],
)
def test_other_objects_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        group(pandas.Series(COLUMNS["name"]), **options)
