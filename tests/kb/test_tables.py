"""Knowledge bases in JSON lines and in tables, on files in their true forms."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb import Entity, KnowledgeBase, read_kb
from synsetmine.normalization import normal_form
from tests.support.kbfiles import check_broken, content_of, store

quick = settings(max_examples=40, deadline=None)
DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kb")


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
listed = st.lists(
    st.builds(Entity, st.sampled_from("abcdefgh"), names, st.lists(names, max_size=3).map(tuple)),
    min_size=1,
    max_size=6,
    unique_by=lambda entity: entity.id,
)


# --- JSON lines -------------------------------------------------------------------------------


def test_json_lines_are_read(tmp_path: Path) -> None:
    lines = (
        '\ufeff{"id": "D1", "name": "Heart Failure", "synonyms": ["Cardiac Failure", "HF"]}\r\n'
        '\n{"name": "Caf\\u00e9", "id": 7, "names": ["x\\ty"], "aliases": null, "more": {}}\n'
        '{"id": "D2", "name": "+", "aliases": ["plus"], "synonyms": []}'
    )
    for name, content in (
        ("x.jsonl", lines.encode()),
        ("x.jsonl.gz", gzip.compress(lines.encode())),
        ("x.ndjson.bz2", bz2.compress(lines.encode())),
        ("mesh.json", lines.encode()),
    ):
        kb = read_kb(str(store(tmp_path, content, name)))
        assert content_of(kb) == {
            "D1": ("Heart Failure", "Cardiac Failure", "HF"),
            "7": ("Café", "x y"),
            "D2": ("plus",),
        }


def test_fields_of_json_lines_can_be_named(tmp_path: Path) -> None:
    record = {"ui": "1", "label": "x", "name": "no", "also": ["y"], "synonyms": ["no"]}
    path = store(tmp_path, json.dumps(record), "x.jsonl")
    kb = read_kb(path, id_field="ui", name_field="label", names_field="also")
    assert content_of(kb) == {"1": ("x", "y")}


@given(listed)
@quick
def test_json_lines_and_tables_give_what_was_written(folder: Path, entities: list[Entity]) -> None:
    expected = content_of(KnowledgeBase.of(entities))
    records = [{"id": e.id, "name": e.name, "synonyms": e.names} for e in entities]
    store(folder, "".join(json.dumps(record) + "\n" for record in records), "x.jsonl")
    with (folder / "x.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["name", "more", "ID"])
        table.writerows([name, "?", e.id] for e in entities for name in (e.name, *e.names))
    for name in ("x.jsonl", "x.csv"):
        if expected:
            assert content_of(read_kb(folder / name)) == expected
        else:
            with pytest.raises(DataError, match=r"x\..*: no entities with a usable name"):
                read_kb(folder / name)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON: '{'"),
        ("[" * 100_000, "not JSON: '[[["),
        ("[]", "expected a JSON object: '[]'"),
        ('{"name": "x"}', "expected a string in the field 'id': "),
        ('{"id": true, "name": "x"}', "expected a string in the field 'id': "),
        ('{"id": "2", "names": ["x"]}', "expected a string in the field 'name': "),
        ('{"id": "2", "name": null}', "expected a string in the field 'name': "),
        ('{"id": "2", "name": "x", "synonyms": "y"}', "expected a list of strings in the field"),
        (
            '{"id": "2", "name": "x", "aliases": ["y", 1]}',
            "expected a list of strings in the field",
        ),
        ('{"id": " ", "name": "x"}', "an entity needs an id: ' '"),
        ('{"id": "2", "name": "x", "names": ["\\ud800"]}', "ids and names must be valid Unicode"),
    ],
    ids=lambda text: text[:40],
)
def test_broken_json_lines_are_reported(tmp_path: Path, line: str, problem: str) -> None:
    text = f'{{"id": "1", "name": "a"}}\n{line}\n{{"id": "3", "name": "c"}}\n'
    path = store(tmp_path, text, "x.jsonl")
    check_broken(path, 2, problem, {"1": ("a",), "3": ("c",)})


def test_mesh_is_read() -> None:
    path = DATA / "medline" / "mesh.jsonl.gz"
    if not path.is_file():
        pytest.skip("MeSH is not at hand")
    told: list[tuple[int, int]] = []
    kb = read_kb(path, progress=lambda done, total: told.append((done, total)))
    with gzip.open(path, "rt") as stream:
        records = [json.loads(line) for line in stream]
    assert len(kb) == len(records) == 30_764
    assert list(kb) == [record["id"] for record in records]
    forms = [{normal_form(n) for n in (r["name"], *r["synonyms"])} for r in records]
    assert kb.name_count == sum(map(len, forms))
    for record in records[::50]:
        assert kb.name(record["id"]) == record["name"]
        assert all(kb.knows(record["id"], name) for name in record["synonyms"])
    assert told[-1] == (path.stat().st_size, path.stat().st_size)
    assert told == sorted(told)


# --- Tables -----------------------------------------------------------------------------------


def test_a_table_with_a_row_for_each_name(tmp_path: Path) -> None:
    text = (
        "\ufeff\r\nID,Name,Preferred\r\n"
        'b,"Smith, John",no\r\na,x,1\r\nb,"He said ""hi""",\r\n\r\nb,"two\nlines",TRUE\r\n'
    )
    kb = read_kb(store(tmp_path, text, "x.csv"))
    assert content_of(kb) == {"b": ("two lines", "Smith, John", 'He said "hi"'), "a": ("x",)}


def test_a_table_with_a_row_for_each_entity(tmp_path: Path) -> None:
    text = 'name\tsynonyms\tid\n5" nail\ta|"b"| |c d\t1\n"quoted ""x"""\t\t2\n"\t\t3\nlast\t\t3\n'
    skipped = ErrorCounts()
    kb = read_kb(store(tmp_path, text, "x.tsv"), skipped=skipped)
    assert content_of(kb) == {
        "1": ('5" nail', "a", '"b"', "c d"),
        "2": ('quoted "x"',),
        "3": ("last",),
    }
    assert [str(e) for e in skipped.examples["a name without a letter or digit"]] == [
        f"{tmp_path / 'x.tsv'}:4: a name without a letter or digit: '\"'"
    ]


def test_semicolons_and_named_columns(tmp_path: Path) -> None:
    path = store(tmp_path, "Code;Term;Also\n1;one, two;drei|vier\n", "x.csv")
    kb = read_kb(path, id_field="code", name_field="term", names_field="also")
    assert content_of(kb) == {"1": ("one, two", "drei", "vier")}


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_a_table_without_its_columns_is_reported(tmp_path: Path, name: str) -> None:
    for header in ("D1,x", "id,label", "name"):
        text = header.replace(",", "\t") if name == "x.tsv" else header
        path = store(tmp_path, f"\n{text}\n1{text[2]}y\n", name)
        for skipped in (None, ErrorCounts()):
            with pytest.raises(DataError) as caught:
                read_kb(path, skipped=skipped)
            found = header.replace(",", ", ")
            assert str(caught.value) == (
                f"{path}:2: expected a header with the columns 'id' and 'name'; found: '{found}'; "
                "choose columns with --id-field and --name-field, in a project as id_field and "
                "name_field of [kb]; `synsetmine init` proposes them"
            )


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("2,x", "a row with more or fewer fields than the header: '2, x'"),
        ("2,x,y,", "a row with more or fewer fields than the header: '2, x, y, '"),
        ("2,x,maybe", "expected yes or no in the column of preferred names: 'maybe'"),
        (" ,x,1", "an entity needs an id: ''"),
        ('2,"x"y,1', "malformed row: "),
        ('2,"' + "x" * 200_000 + '",1', "malformed row: 'field larger than field limit"),
    ],
    ids=lambda text: text[:30],
)
def test_broken_rows_are_reported(tmp_path: Path, row: str, problem: str) -> None:
    text = f'id,name,preferred\n1,"a\nb",1\n{row}\n3,c,1\n'
    check_broken(store(tmp_path, text, "x.csv"), 4, problem, {"1": ("a b",), "3": ("c",)})


def test_a_byte_that_is_not_utf8_is_quoted(tmp_path: Path) -> None:
    path = store(tmp_path, b"id,name\n1,M\xfcnchen\n2,b\n", "x.csv")
    check_broken(path, 2, r"not UTF-8: b'M\xfcnchen'", {"2": ("b",)})


def test_a_quote_that_is_never_closed_is_reported_with_its_line(tmp_path: Path) -> None:
    path = store(tmp_path, 'id,name\n1,a\n2,"b\n3,c\n', "x.csv")
    check_broken(path, 3, "malformed row: 'unexpected end of data'", {"1": ("a",)})


def test_blank_lines_before_a_header_with_semicolons(tmp_path: Path) -> None:
    kb = read_kb(store(tmp_path, b"\n \nid;name\n1;a\n", "x.csv"))
    assert content_of(kb) == {"1": ("a",)}
