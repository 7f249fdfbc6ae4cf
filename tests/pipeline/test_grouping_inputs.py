"""What `group` takes for a list of names, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import synsetmine
from synsetmine.errors import DataError
from synsetmine.pipeline.grouping import group
from tests.pipeline.test_grouping import grouped


@pytest.mark.parametrize(
    ("listed", "options", "message"),
    [
        ({"a": "heart"}, {}, "not a mapping"),
        (["a"], {"known": {1: ["a"]}}, "must be a string"),
        (["a"], {"never": [(1, 2)]}, "must be a string"),
        (["a"], {"never": ["ab"]}, "expected pairs of names"),
    ],
)
def test_other_objects_than_names_are_refused(
    listed: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        grouped(listed, **options)


def test_columns_may_have_numbers_for_names() -> None:
    frame = pytest.importorskip("pandas").DataFrame([["a", "heart"], ["b", "lung"]])
    assert set(grouped(frame, column=1).mapping) == {"heart", "lung"}
    lazy = pytest.importorskip("polars").LazyFrame({"name": ["heart"]})
    with pytest.raises(DataError, match="collect"):
        grouped(lazy)


def test_names_of_signs_alone_share_nothing_with_other_names() -> None:
    result = group(["aardvark", "🙂", "🙃", "zebra"], precision="cautious")
    assert not result.sets


def test_our_own_csv_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    result = grouped(["@handle", "=1+1", "'quoted", "heart"])
    result.write(tmp_path / "names.csv", alone=True)
    assert sorted(synsetmine.read_names(tmp_path / "names.csv")) == sorted(result.mapping)


@pytest.mark.parametrize("name", ["names.json", "names.ods", "names.set.gz"])
def test_files_of_other_formats_are_no_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[]")
    with pytest.raises(DataError, match="is not a format of name lists"):
        synsetmine.read_names(tmp_path / name)


def test_another_spreadsheet_is_to_be_saved_as_xlsx(tmp_path: Path) -> None:
    (tmp_path / "names.xls").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match=r"\.xls is not a format of name lists; save the sheet as"):
        synsetmine.read_names(tmp_path / "names.xls")
