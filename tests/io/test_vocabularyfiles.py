"""Vocabulary files: terms, with or without counts."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from synsetmine.errors import DataError
from synsetmine.io.sets import read_vocabulary
from synsetmine.types import Term
from tests.io.test_setfiles import stored


def test_a_vocabulary_keeps_its_order(tmp_path: Path) -> None:
    path = stored(tmp_path, "\ufeffb||m.01\r\n\nnew york\na's \n b")
    vocabulary = read_vocabulary(path)
    assert [str(term) for term in vocabulary.terms] == ["b||m.01", "new york", "a's ", " b"]
    assert vocabulary.counts == {}


def test_counts_follow_a_tab_where_there_are_any(tmp_path: Path) -> None:
    path = stored(tmp_path, "b||m.01\t3\nnew york\t 12 \nplain\nwith\ttab\t0\n")
    vocabulary = read_vocabulary(path)
    expected = (Term("b", "m.01"), Term("new york"), Term("plain"), Term("with\ttab"))
    assert vocabulary.terms == expected
    assert vocabulary.counts == {expected[0]: 3, expected[1]: 12, expected[3]: 0}


def test_a_packed_vocabulary_is_read(tmp_path: Path) -> None:
    path = stored(tmp_path, gzip.compress(b"a\t1\nb\t2\n"), "terms.txt.gz")
    assert read_vocabulary(path).counts == {Term("a"): 1, Term("b"): 2}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a", "this term is in the vocabulary twice: 'a'"),
        ("a\t7", "this term is in the vocabulary twice: 'a'"),
        ("x\t-1", "expected a count after the tab: '-1'"),
        ("x\t+1", "expected a count after the tab: '+1'"),
        ("x\t1.5", "expected a count after the tab: '1.5'"),
        ("x\tmany", "expected a count after the tab: 'many'"),
        ("x\t", "expected a count after the tab: ''"),
        ("x\t1_000", "expected a count after the tab: '1_000'"),
        ("x\t٣", "expected a count after the tab: '٣'"),
        ("x\t²", "expected a count after the tab: '²'"),
        ("x\t" + "9" * 5000, "expected a count after the tab: '999"),
        ("\t5", "a term needs a surface: '||'"),
        ("||m.01", "a term needs a surface: '||m.01'"),
    ],
)
def test_a_broken_line_of_a_vocabulary_is_reported_and_can_be_skipped(
    tmp_path: Path, line: str, problem: str
) -> None:
    path = stored(tmp_path, f"a\t5\n{line}\nx\t8\n")
    with pytest.raises(DataError) as caught:
        read_vocabulary(path)
    assert str(caught.value).startswith(f"{path}:2: {problem}")
    skipped: list[DataError] = []
    vocabulary = read_vocabulary(path, skipped=skipped)
    assert vocabulary.counts == {Term("a"): 5, Term("x"): 8}
    assert vocabulary.terms == (Term("a"), Term("x"))
    assert [str(error) for error in skipped] == [str(caught.value)]
