"""Knowledge bases from the files of the UMLS."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb import read_kb
from tests.support.kbfiles import ATOMS, atom, check_broken, content_of, store


def test_umls_is_read(tmp_path: Path) -> None:
    expected = {
        "C0030567": ("Parkinson Disease", "Parkinson's disease", "Paralysis Agitans"),
        "C0004134": ("Ataxia",),
    }
    retired = (
        "C0000002|2000AC|SY|||C0030567|Y|\nC0000003|2000AC|RO|||C0030567|Y|\n"
        "C0000004|2000AC|DEL||||Y|\nC0000005|1993AA|SY|||C0000002|Y|\n"
    )
    skipped = ErrorCounts()
    assert content_of(read_kb(store(tmp_path, ATOMS, "x.RRF"), skipped=skipped)) == expected
    assert skipped.counts == {
        "a name without a letter or digit": 1,
        "an entity without a usable name": 1,
    }
    store(tmp_path, gzip.compress(retired.encode()), "MRCUI.RRF.gz")
    kb = read_kb(store(tmp_path, gzip.compress(ATOMS.encode()), "MRCONSO.RRF.gz"))
    assert content_of(kb) == expected
    assert dict(kb.retired_ids()) == {"C0000002": "C0030567", "C0000005": "C0030567"}
    store(tmp_path, gzip.compress(b"C0000002|2000AC|SY|\n"), "MRCUI.RRF.gz")
    with pytest.raises(DataError, match=r"MRCUI.RRF.gz:1: expected the 7 columns of MRCUI.RRF"):
        read_kb(tmp_path / "MRCONSO.RRF.gz")


def test_names_of_the_umls_can_be_chosen(tmp_path: Path) -> None:
    path = store(tmp_path, ATOMS, "conso.txt")
    assert content_of(read_kb(path, language="fr")) == {"C0004134": ("Ataxie",)}
    assert content_of(read_kb(path, language="FRE")) == {"C0004134": ("Ataxie",)}
    assert content_of(read_kb(path, sources=["SNOMEDCT_US"])) == {
        "C0030567": ("Parkinson's disease",)
    }
    everything = read_kb(path, keep_suppressed=True, language="*")
    assert everything.names("C0004134") == ("Ataxie", "Ataxia", 'Ataxia, "NOS"')
    with pytest.raises(DataError, match=r"the language must be .*: 'tlh'"):
        read_kb(path, language="tlh")
    with pytest.raises(DataError, match=r"conso\.txt: no entities with a usable name"):
        read_kb(path, language="ja")


@pytest.mark.parametrize("line", ["C0000001|ENG|P|", atom("C1", "x|y"), atom("", "x"), "x"])
def test_broken_lines_of_the_umls_are_reported(tmp_path: Path, line: str) -> None:
    text = atom("C0000001", "a") + line.rstrip("\n") + "\n" + atom("C0000003", "c")
    problem = "expected the 18 columns of MRCONSO.RRF, each followed by '|'"
    rest = {"C0000001": ("a",), "C0000003": ("c",)}
    check_broken(store(tmp_path, text, "MRCONSO.RRF"), 2, problem, rest)
