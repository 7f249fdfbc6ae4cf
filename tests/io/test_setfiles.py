"""Synonym sets and vocabularies on disk."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.io.files import open_binary
from synsetmine.io.sets import is_set_file, read_sets, read_vocabulary, write_sets
from synsetmine.types import SynonymSets, Term
from tests.support.strategies import synonym_sets

quick = settings(max_examples=60, deadline=None)

GOOD_SET = b"c0 {'a', 'b'}\n"
GOOD_JSONL = b'{"id": "c0", "terms": ["a", "b"]}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sets")


def stored(folder: Path, content: str | bytes, name: str = "x.set") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def surfaces(sets: SynonymSets) -> list[list[str]]:
    return [[str(term) for term in members] for members in sets]


# --- Round trips ------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".zst"])
def test_the_form_shows_under_any_packing(folder: Path, packed: str) -> None:
    sets = SynonymSets.of([[Term("a"), Term("b")]])
    for name, begin in (("x.jsonl", b'{"id"'), ("x.set", b"c0 {")):
        path = folder / (name + packed)
        write_sets(path, sets)
        assert is_set_file(path)
        assert read_sets(path) == sets
        with open_binary(path) as stream:
            assert stream.read(len(begin)) == begin


@pytest.mark.parametrize("name", ["x.set", "x.jsonl", "x.set.gz", "x.jsonl.gz", "x.jsonl.set"])
@given(synonym_sets())
@quick
def test_what_is_written_is_read_back(folder: Path, name: str, sets: SynonymSets) -> None:
    path = folder / name
    write_sets(path, sets)
    assert read_sets(path) == sets


@given(synonym_sets())
@quick
def test_a_set_takes_one_line(folder: Path, sets: SynonymSets) -> None:
    for name in ("lines.set", "lines.jsonl"):
        write_sets(folder / name, sets)
        assert (folder / name).read_bytes().count(b"\n") == len(sets)


@given(synonym_sets())
@quick
def test_the_written_lines_are_plain_python_and_json(folder: Path, sets: SynonymSets) -> None:
    expected = [(i, [str(t) for t in s]) for i, s in zip(sets.ids, sets.sets, strict=True)]
    write_sets(folder / "plain.jsonl", sets)
    lines = (folder / "plain.jsonl").read_bytes().splitlines(keepends=False)
    records = [json.loads(line) for line in lines]
    assert [(record["id"], record["terms"]) for record in records] == expected
    write_sets(folder / "plain.set", sets)
    text = (folder / "plain.set").read_bytes().decode()
    pairs = [line.split(" ", 1) for line in text.split("\n")[:-1]]
    assert [(i, eval(display)) for i, display in pairs] == [(i, set(s)) for i, s in expected]


def test_a_newline_in_a_term_is_escaped(tmp_path: Path) -> None:
    sets = SynonymSets.of([[Term("a\nb\r\u2028c", "m\n1"), Term("d")]])
    write_sets(tmp_path / "x.set", sets)
    assert (tmp_path / "x.set").read_bytes() == rb"c0 {'a\nb\r\u2028c||m\n1', 'd'}" + b"\n"
    assert read_sets(tmp_path / "x.set") == sets


def test_the_ending_tells_the_form(tmp_path: Path) -> None:
    sets = SynonymSets.of([[Term("a"), Term("ü")]])
    for name in ("x.set", "x", "x.jsonl.set", "x.txt"):
        write_sets(tmp_path / name, sets)
        assert (tmp_path / name).read_text() == "c0 {'a', 'ü'}\n"
    write_sets(tmp_path / "x.jsonl", sets)
    assert (tmp_path / "x.jsonl").read_text() == '{"id": "c0", "terms": ["a", "ü"]}\n'
    for name, start in (("x.set.gz", b"c0 "), ("x.jsonl.gz", b'{"id')):
        write_sets(tmp_path / name, sets)
        assert gzip.decompress((tmp_path / name).read_bytes()).startswith(start)


@pytest.mark.parametrize("set_id", ["", "a b", "a\n", "\ta", "a\u3000b"])
def test_an_id_that_would_not_read_back_is_refused(tmp_path: Path, set_id: str) -> None:
    path = stored(tmp_path, "old")
    with pytest.raises(DataError, match="whitespace") as caught:
        write_sets(path, SynonymSets.of([[Term("a")], [Term("b")]], ids=["c0", set_id]))
    assert repr(set_id) in str(caught.value)
    assert path.read_text() == "old"
    write_sets(tmp_path / "x.jsonl", SynonymSets.of([[Term("a")]], ids=[set_id]))
    assert read_sets(tmp_path / "x.jsonl").ids == (set_id,)


# --- Reading ----------------------------------------------------------------------------------


def test_the_lines_of_the_paper_are_read_in_written_order(tmp_path: Path) -> None:
    path = stored(tmp_path, "c0 {'z||m.01', \"o'b||m.01\", 'a||m.01'}\nc1 {'z||m.02'}\n")
    sets = read_sets(path)
    assert sets.ids == ("c0", "c1")
    assert sets.sets == (
        (Term("z", "m.01"), Term("o'b", "m.01"), Term("a", "m.01")),
        (Term("z", "m.02"),),
    )


@pytest.mark.parametrize("name", ["x.set.gz", "x.jsonl.gz"])
def test_gzip_is_read(tmp_path: Path, name: str) -> None:
    content = GOOD_JSONL if "jsonl" in name else GOOD_SET
    sets = read_sets(stored(tmp_path, gzip.compress(content), name))
    assert surfaces(sets) == [["a", "b"]]


@pytest.mark.parametrize("name", ["x.set", "x.jsonl"])
def test_byte_order_mark_and_foreign_line_ends_are_read(tmp_path: Path, name: str) -> None:
    first = GOOD_JSONL if name == "x.jsonl" else GOOD_SET
    second = first.replace(b"c0", b"c1").replace(b"a", b"z").replace(b"b", b"y")
    second = second.replace(b"terzs", b"terms").strip()
    content = b"\xef\xbb\xbf" + first.replace(b"\n", b"\r\n") + b"\r\n  \n" + second
    sets = read_sets(stored(tmp_path, content, name))
    assert sets.ids == ("c0", "c1")
    assert surfaces(sets) == [["a", "b"], ["z", "y"]]


NOT_SETS = [
    "{__import__('os').system('touch x')}",
    "{'a', __import__('os').system('touch x')}",
    "{'a' + 'b'}",
    "{f'a'}",
    '{f\'{open("x", "w")}\'}',
    "{b'a'}",
    "{1}",
    "{None}",
    "{a}",
    "{('a')[0]}",
    "{('a', 'b')}",
    "{'a', *{'b'}}",
    "{**{}}",
    "{'a': 1}",
    "{}",
    "{'a'} | {'b'}",
    "{'a'}.union(open('x', 'w'))",
    "{x for x in 'ab'}",
    "{(x := 'a')}",
    "{lambda: 'a'}",
    "{'a'} {'b'}",
    "{'a'}; import os",
    "{'a'",
    "{'a}",
    "{'a\0b'}",
    "{'a\rb'}",
    r"{'\d'}",
    r"{'\x1'}",
    r"{'\N{no such name}'}",
    r"{'\ud800'}",
    "set()",
    "{'a'}{",
    "['a']",
    "'a'",
    "",
    "{''}",
    "{'||m.01'}",
    "{" + "(" * 100_000 + "'a'" + ")" * 100_000 + "}",
    "{" + "(" * 100_000,
    "{" * 100_000,
    "{" + "-" * 100_000 + "1}",
    "{'a'" + " + 'a'" * 100_000 + "}",
    "{'a'" + ".x" * 100_000 + "}",
    "{" + "9" * 10_000 + "}",
]


@pytest.mark.parametrize("display", NOT_SETS, ids=lambda text: repr(text[:30]))
def test_anything_but_a_set_of_quoted_terms_is_refused_unevaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, display: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = stored(tmp_path, f"{GOOD_SET.decode()}c1 {display}\n", "bad.set")
    with pytest.raises(DataError) as caught:
        read_sets(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert len(str(caught.value).removeprefix(str(path))) < 250
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [path]
    skipped: list[DataError] = []
    assert surfaces(read_sets(path, skipped=skipped)) == [["a", "b"]]
    assert [str(error) for error in skipped] == [str(caught.value)]


def test_a_broken_escape_is_refused_however_warnings_are_shown(tmp_path: Path) -> None:
    path = stored(tmp_path, r"c0 {'\d'}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError, match="expected a set of quoted terms"):
            read_sets(path)


@pytest.mark.parametrize(
    "line", ["c0", "c0{'a'}", "c0\t{'a'}", "{'a'}", "c0 'a'", "c0 x{'a'}", "c0 {'a'} {"]
)
def test_a_line_of_another_form_is_quoted(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"x\.set:1: expected ") as caught:
        read_sets(stored(tmp_path, line))
    assert line[-4:] in str(caught.value)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n")), st.booleans())
@example("{'a', 'b'}", True)
@example('{"id": "c1", "terms": ["x"]}', False)
@quick
def test_any_line_is_a_set_or_a_data_error(folder: Path, text: str, with_id: bool) -> None:
    for name in ("any.set", "any.jsonl"):
        path = stored(folder, f"c1 {text}" if with_id else text, name)
        with suppress(DataError):  # any other error fails
            assert len(read_sets(path)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "null",
        "7",
        "[]",
        '"c1"',
        '{"id": "c1"}',
        '{"terms": ["x"]}',
        '{"id": "c1", "terms": []}',
        '{"id": "c1", "terms": "x"}',
        '{"id": "c1", "terms": {"x": 1}}',
        '{"id": "c1", "terms": ["x", 1]}',
        '{"id": "c1", "terms": ["x", null]}',
        '{"id": "c1", "terms": [["x"]]}',
        '{"id": 1, "terms": ["x"]}',
        '{"id": null, "terms": ["x"]}',
        '{"id": "c1", "terms": ["x"]} extra',
        '{"id": "c1", "terms": [""]}',
        '{"id": "c1", "terms": ["\\ud800"]}',
        '{"id": "c1", "terms": ["x\ty"]}',
        "[" * 100_000,
        '{"id":' * 100_000,
    ],
    ids=lambda text: text[:35],
)
def test_json_of_another_form_is_refused(tmp_path: Path, line: str) -> None:
    path = stored(tmp_path, GOOD_JSONL.decode() + line, "x.jsonl")
    with pytest.raises(DataError) as caught:
        read_sets(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    skipped: list[DataError] = []
    assert read_sets(path, skipped=skipped).ids == ("c0",)
    assert [str(error) for error in skipped] == [str(caught.value)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("c0 {'x'}", "line 1 already has this id: 'c0'"),
        ("c2 {'x', 'b'}", "the set on line 1 already has this term: 'b'"),
        ("c2 {'d||m.01'}", r"the set on line 3 already has this term: 'd||m.01'"),
        ("c2 {'x', 'y', 'x'}", "this term is in the set twice: 'x'"),
    ],
)
def test_what_stands_twice_is_reported_with_its_first_line(
    tmp_path: Path, line: str, problem: str
) -> None:
    text = f"c0 {{'a', 'b'}}\n\nc1 {{'d||m.01'}}\n{line}\nc4 {{'x', 'y'}}\n"
    path = stored(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_sets(path)
    assert str(caught.value) == f"{path}:4: {problem}"
    skipped: list[DataError] = []
    sets = read_sets(path, skipped=skipped)
    # Nothing of the broken line stays behind: `x` and `c2` are free again.
    assert surfaces(sets) == [["a", "b"], ["d||m.01"], ["x", "y"]]
    assert [str(error) for error in skipped] == [str(caught.value)]


def test_skipped_lines_are_collected_in_their_order(tmp_path: Path) -> None:
    content = b"bad\n" + GOOD_SET + b"c1 {'\xff'}\nc0 {'z'}\nc2 {'c'}\n"
    skipped: list[DataError] = []
    sets = read_sets(stored(tmp_path, content), skipped=skipped)
    assert sets.ids == ("c0", "c2")
    assert [error.line for error in skipped] == [1, 3, 4]


@pytest.mark.parametrize("content", ["", "\n\n", "  \r\n", "\ufeff"])
@pytest.mark.parametrize("name", ["x.set", "x.jsonl"])
def test_an_empty_file_is_an_error(tmp_path: Path, content: str, name: str) -> None:
    path = stored(tmp_path, content, name)
    for read, what in ((read_sets, "synonym sets"), (read_vocabulary, "terms")):
        with pytest.raises(DataError, match=f"{path}: no {what} in this file"):
            read(path)


def test_a_file_of_broken_lines_only_is_an_error_even_if_they_are_skipped(tmp_path: Path) -> None:
    skipped: list[DataError] = []
    with pytest.raises(DataError, match="no synonym sets"):
        read_sets(stored(tmp_path, "bad\nworse\n"), skipped=skipped)
    assert len(skipped) == 2


@pytest.mark.parametrize("read", [read_sets, read_vocabulary])
def test_files_that_cannot_be_read_are_named(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    with pytest.raises(DataError, match=f"{tmp_path / 'gone.set'}: No such file"):
        read(tmp_path / "gone.set")
    with pytest.raises(DataError, match=f"{tmp_path}: Is a directory"):
        read(tmp_path)
    path = stored(tmp_path, b"c0 {'a'}\nc1 {'M\xfcnchen'}\n")
    with pytest.raises(DataError, match=rf"{path}:2: not UTF-8: .*M\\xfcnchen"):
        read(path)


@pytest.mark.parametrize("name", ["x.set", "x.jsonl", "x.set.gz"])
def test_an_interrupted_write_leaves_the_old_sets(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = SynonymSets.of([[Term("a"), Term("b")]])
    write_sets(tmp_path / name, sets)

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)  # everything is written by then, nothing renamed
    with pytest.raises(KeyboardInterrupt):
        write_sets(tmp_path / name, SynonymSets.of([[Term("c")]]))
    assert read_sets(tmp_path / name) == sets
    assert [path.name for path in tmp_path.iterdir()] == [name]
