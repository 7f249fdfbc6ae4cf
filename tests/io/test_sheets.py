"""Rows of .xlsx files, sound, broken and hostile ones."""

from __future__ import annotations

import datetime
import sys
import zipfile
from pathlib import Path

import pytest
from openpyxl.reader.excel import ExcelReader

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io import tables
from synsetmine.io.files import Source
from synsetmine.io.tables import sheet_rows
from tests.support.officefiles import MAIN, write_shared, write_sheet


def rows(path: Path) -> list[tuple[int, list[str]]]:
    return list(sheet_rows(Source(path)))


def test_cells_are_text_as_people_see_them(tmp_path: Path) -> None:
    day = datetime.datetime(2024, 5, 1)
    table: list[list[object]] = [
        ["name", "id", None, "x"],
        ["a", 12.0, None, None],
        [],
        [None, " "],
        ["b\nc", 1.5, True, day],
        ["#N/A", datetime.datetime(2024, 5, 1, 10, 30)],
        ["d", "e", "f", "g", "h"],
    ]
    assert rows(write_sheet(tmp_path / "x.xlsx", table)) == [
        (1, ["name", "id", "", "x"]),
        (2, ["a", "12", "", ""]),
        (5, ["b\nc", "1.5", "True", "2024-05-01"]),
        (6, ["", "2024-05-01 10:30:00", "", ""]),
        (7, ["d", "e", "f", "g", "h"]),
    ]


def test_a_formula_has_its_last_value(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "x.xlsx", [["name"], ["=1+1"], ["heart"]])
    assert rows(path) == [(1, ["name"]), (3, ["heart"])]  # nothing has computed it


def test_broken_files_are_reported(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "x.xlsx", [["name"], ["heart"]])
    content = path.read_bytes()
    for broken in (b"", b"PK\x03\x04", content[: len(content) // 2]):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"x\.xlsx: damaged \.xlsx file: .*; open it and save"):
            rows(path)
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600)
    with pytest.raises(DataError, match=r"an old \.xls file, or one with a password; save it as"):
        rows(path)
    with pytest.raises(DataError, match="No such file or directory"):
        rows(tmp_path / "gone.xlsx")


def test_a_missing_package_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_sheet(tmp_path / "x.xlsx", [["name"]])
    monkeypatch.setitem(sys.modules, "openpyxl.reader.excel", None)
    with pytest.raises(
        SynsetmineError, match=r"\.xlsx files needs the extra: .*'synsetmine\[xlsx\]'"
    ):
        rows(path)


def changed(path: Path, part: str, content: str) -> Path:
    """The file with another content of one part."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, old in parts.items():
            archive.writestr(name, content if name == part else old)
    return path


SHEET = "xl/worksheets/sheet1.xml"
CELLS = '<row r="1"><c t="s"><v>0</v></c></row><row r="2"><c t="s"><v>1</v></c></row>'


def test_a_file_as_excel_writes_it(tmp_path: Path) -> None:
    rich = "<si><r><t>rich </t></r><r><t>text</t></r></si>"
    strings = f'<sst xmlns="{MAIN}"><si><t>name</t></si>{rich}</sst>'
    path = write_shared(tmp_path / "x.xlsx", strings, CELLS)
    assert rows(path) == [(1, ["name"]), (2, ["rich text"])]


@pytest.mark.parametrize("entity", ['"&a;&a;"', 'SYSTEM "{secret}"'])
def test_entities_of_xml_are_neither_fetched_nor_multiplied(tmp_path: Path, entity: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    many = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 9))
    declared = f'<!ENTITY e0 "lol">{many}<!ENTITY a "&e8;">'
    declared += f"<!ENTITY b {entity.replace('{secret}', secret.as_uri())}>"
    text = f'<!DOCTYPE sst [{declared}]><sst xmlns="{MAIN}"><si><t>&b;</t></si></sst>'
    with pytest.raises(DataError, match=r"x\.xlsx: damaged \.xlsx file"):
        rows(write_shared(tmp_path / "x.xlsx", text, CELLS))


@pytest.mark.parametrize(
    "cells",
    [
        '<row r="99999999999"><c r="A99999999999" t="inlineStr"><is><t>x</t></is></c></row>',
        "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 1200)),
    ],
)
def test_a_sheet_that_claims_too_many_cells_is_an_error(tmp_path: Path, cells: str) -> None:
    path = write_sheet(tmp_path / "x.xlsx", [["name"]])
    data = f'<dimension ref="A1"/><sheetData>{cells}</sheetData>'
    sheet = f'<worksheet xmlns="{MAIN}">{data}</worksheet>'
    with pytest.raises(
        DataError, match=r"the sheet has more than 16,777,216 cells; save the sheet"
    ):
        rows(changed(path, SHEET, sheet))


def test_a_wrong_size_in_the_file_loses_no_row(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "x.xlsx", [["a", "b"], ["c", "d"]])
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read(SHEET).decode()
    assert 'ref="A1:B2"' in sheet
    assert len(rows(changed(path, SHEET, sheet.replace('ref="A1:B2"', 'ref="A1:A1"')))) == 2


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_sheet(tmp_path / "x.xlsx", [["name"]])
    changed(path, "xl/styles.xml", " " * (9 * 2**20))
    assert path.stat().st_size < 100_000
    monkeypatch.delattr(ExcelReader, "read")
    with pytest.raises(DataError, match=r"longer than 8 MiB: 'xl/styles\.xml'; save the sheet"):
        rows(path)


def test_the_limit_of_cells_admits_what_is_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_sheet(tmp_path / "x.xlsx", [["a"], ["b"], ["c"]])
    monkeypatch.setattr(tables, "MOST_CELLS", 6)
    assert len(rows(path)) == 3
    monkeypatch.setattr(tables, "MOST_CELLS", 5)
    with pytest.raises(DataError, match=r"x\.xlsx:3: the sheet has more than 5 cells"):
        rows(path)
