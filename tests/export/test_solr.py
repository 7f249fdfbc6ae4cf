"""Synonyms of Solr, Elasticsearch and OpenSearch: exact text, and what was written is read back."""

from __future__ import annotations

import json
import tempfile
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given

from synsetmine.errors import DataError, ErrorCounts, SynsetmineError
from synsetmine.export import About
from synsetmine.export.formats import FORMATS
from synsetmine.export.solr import (
    lint_file,
    part_of,
    write_elasticsearch,
    write_managed,
    write_solr,
)
from synsetmine.io.rules import Rule, parse_rule, read_rules
from synsetmine.runs import MinedSet
from tests.support.searchentries import entry, nasty_entries, surfaces, writable

ABOUT = About(title="Hearts", tool="a test")
HEARTS = [
    entry("D009203", "heart attack", "myocardial infarction", "MI"),
    entry("s1", "hot dog", "frankfurter"),
]


def test_equivalent_rules_have_the_preferred_term_first(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    assert write_solr(path, HEARTS, ABOUT) == [path]
    assert path.read_text("utf-8") == (
        "# Hearts, by a test; the first term of a rule is the preferred term.\n"
        "heart attack, myocardial infarction, MI\n"
        "hot dog, frankfurter\n"
    )


def test_explicit_rules_lead_to_the_preferred_term(tmp_path: Path) -> None:
    (path,) = write_solr(tmp_path / "synonyms.txt", HEARTS, ABOUT, explicit=True)
    assert path.read_text("utf-8") == (
        "# Hearts, by a test; the right side of a rule is the preferred term.\n"
        "myocardial infarction, MI => heart attack\n"
        "frankfurter => hot dog\n"
    )


@pytest.mark.parametrize(
    ("term", "written"),
    [
        ("MI, acute", r"MI\, acute"),
        ("a => b", r"a \=> b"),
        ("a = b > c", "a = b > c"),
        ("AC\\DC", r"AC\\DC"),
        ("#1 hit", r"\#1 hit"),
        ("the #1 hit", r"the \#1 hit"),
        ("C#", "C#"),
        ("a\tb", "a\tb"),
        ('5" disk', '5" disk'),
        ("👩‍👧 שלום", "👩‍👧 שלום"),
    ],
)
def test_terms_are_escaped_where_they_must_be(term: str, written: str, tmp_path: Path) -> None:
    (path,) = write_solr(tmp_path / "s.txt", [entry("c", term, "x1")], ABOUT)
    assert path.read_text("utf-8").splitlines()[1] == f"{written}, x1"
    assert parse_rule(f"{written}, x1") == Rule(0, (term, "x1"))


def test_a_title_of_two_lines_stays_a_comment(tmp_path: Path) -> None:
    (path,) = write_solr(tmp_path / "s.txt", HEARTS, About(title="a\nb, c\u2028d", tool="t"))
    assert path.read_text("utf-8").startswith("# a b, c d, by t; ")
    assert len(read_rules(path)) == len(HEARTS)


def test_what_no_rule_can_hold_is_left_out_and_counted() -> None:
    skipped = ErrorCounts()
    sets = [
        entry("c1", "two\nlines", "b1", "a\rb", "c1"),
        entry("c2", " blank", "end\t", "d1", "e1"),
        entry("c3", "nul\0", "alone"),
    ]
    kept = FORMATS["solr"].writable(sets, skipped)
    assert [surfaces(one) for one in kept] == [("b1", "c1"), ("d1", "e1")]
    assert kept[0].terms[0].text == "b1"  # the best of those that are left
    assert skipped.counts == {
        "a term with a line break": 2,
        "a term with whitespace at its start or end": 2,
        "a term with a NUL, which Lucene uses between words": 1,
        "a set of which fewer than 2 terms can be written": 1,
    }


def test_two_senses_of_a_surface_are_one_term(tmp_path: Path) -> None:
    (path,) = write_solr(tmp_path / "s.txt", [entry("c", "a1", "b1", "a1")], ABOUT)
    assert read_rules(path) == [Rule(2, ("a1", "b1"))]
    assert writable("solr", [entry("c", "a1", "a1")]) == []


@given(sets=nasty_entries())
def test_what_is_written_is_read_back(sets: list[MinedSet]) -> None:
    kept = writable("solr", sets)
    with tempfile.TemporaryDirectory() as folder:
        (path,) = write_solr(Path(folder, "s.txt"), kept, ABOUT)
        assert [rule.inputs for rule in read_rules(path)] == [surfaces(one) for one in kept]
        assert lint_file(path).count("error") == 0
        (path,) = write_solr(Path(folder, "e.txt"), kept, ABOUT, explicit=True)
        explicit = [(rule.outputs, rule.inputs) for rule in read_rules(path)]
        assert explicit == [(surfaces(one)[:1], surfaces(one)[1:]) for one in kept]
        assert lint_file(path).count("error") == 0
        (path,) = write_elasticsearch(Path(folder, "e.json"), kept, ABOUT)
        body = json.loads(path.read_text("utf-8"))["synonyms_set"]
        rules = [parse_rule(rule["synonyms"]) for rule in body]
        assert [rule and rule.inputs for rule in rules] == [surfaces(one) for one in kept]


def test_the_body_for_elasticsearch(tmp_path: Path) -> None:
    (path,) = write_elasticsearch(tmp_path / "s.json", HEARTS, ABOUT)
    assert json.loads(path.read_text("utf-8")) == {
        "synonyms_set": [
            {"id": "D009203", "synonyms": "heart attack, myocardial infarction, MI"},
            {"id": "s1", "synonyms": "hot dog, frankfurter"},
        ]
    }
    (path,) = write_elasticsearch(tmp_path / "s.json", HEARTS[1:], ABOUT, explicit=True)
    (rule,) = json.loads(path.read_text("utf-8"))["synonyms_set"]
    assert rule == {"id": "s1", "synonyms": "frankfurter => hot dog"}


def test_solrs_map_has_each_term_and_what_takes_its_place(tmp_path: Path) -> None:
    sets = [entry("c1", "a, 1", "b1"), entry("c2", "c1", "b1")]
    (path,) = write_managed(tmp_path / "m.json", sets, ABOUT)
    assert json.loads(path.read_text("utf-8")) == {
        "a, 1": ["a, 1", "b1"],
        "b1": ["a, 1", "b1", "c1"],  # of both sets
        "c1": ["c1", "b1"],
    }
    (path,) = write_managed(tmp_path / "m.json", sets, ABOUT, explicit=True)
    assert json.loads(path.read_text("utf-8")) == {"b1": ["a, 1", "c1"]}


def test_words_of_solrs_own_are_no_terms_of_its_map() -> None:
    (kept,) = writable("solr-managed", [entry("c", "initArgs", "managedMap", "a1", "b1")])
    assert surfaces(kept) == ("a1", "b1")


# --- Parts ---


def test_rules_beyond_the_limit_go_into_further_files(tmp_path: Path) -> None:
    sets = [entry(f"c{i}", f"a{i}", f"b{i}") for i in range(5)]
    files = write_solr(tmp_path / "s.txt", sets, ABOUT, limit=2)
    assert [path.name for path in files] == ["s.txt", "s-2.txt", "s-3.txt"]
    rules = [[rule.inputs for rule in read_rules(path)] for path in files]
    assert [len(part) for part in rules] == [2, 2, 1]
    assert list(chain(*rules)) == [surfaces(one) for one in sets]
    (whole,) = write_solr(tmp_path / "whole.txt", sets, ABOUT, limit=0)
    assert len(read_rules(whole)) == 5
    (exact,) = write_elasticsearch(tmp_path / "exact.json", sets, ABOUT, limit=5)
    first, second = write_elasticsearch(tmp_path / "e.json", sets, ABOUT, limit=4)
    bodies = [json.loads(path.read_text())["synonyms_set"] for path in (exact, first, second)]
    assert [len(body) for body in bodies] == [5, 4, 1]
    with pytest.raises(DataError, match="0 or more"):
        write_solr(tmp_path / "s.txt", sets, ABOUT, limit=-1)


def test_parts_keep_the_endings() -> None:
    assert part_of(Path("x/s.txt.gz"), 2) == Path("x/s-2.txt.gz")
    assert part_of(Path("synonyms"), 3) == Path("synonyms-3")


def test_parts_are_written_all_or_none(tmp_path: Path, small_disk: Path) -> None:
    (small_disk / "s.txt").write_text("as before")
    sets = [entry(f"c{i}", "a" * 60_000, "b1") for i in range(4)]  # two of them fit
    with pytest.raises(SynsetmineError, match="the disk is full"):
        write_solr(small_disk / "s.txt", sets, ABOUT, limit=1)
    assert [path.name for path in small_disk.iterdir()] == ["s.txt"]
    assert (small_disk / "s.txt").read_text() == "as before"


def test_a_part_of_an_earlier_export_is_an_error(tmp_path: Path) -> None:
    write_solr(tmp_path / "s.txt", HEARTS, ABOUT, limit=1)
    with pytest.raises(DataError, match=r"s-2\.txt: a part of an earlier, longer export"):
        write_solr(tmp_path / "s.txt", HEARTS, ABOUT)
    assert len(read_rules(tmp_path / "s.txt")) == 1  # nothing was written


def test_a_folder_in_the_place_of_a_part_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s-2.txt").mkdir()
    with pytest.raises(DataError, match=r"s-2\.txt: a folder is in the way"):
        write_solr(tmp_path / "s.txt", HEARTS, ABOUT, limit=1)
    assert [path.name for path in tmp_path.iterdir()] == ["s-2.txt"]
