"""SSSLM, read back by its own package, and Gilda's terms."""

from __future__ import annotations

import csv
import gzip
import sys
import warnings
from pathlib import Path

import pytest
import ssslm
from hypothesis import given, settings
from ssslm.model import HEADER

from synsetmine.errors import DataError, ErrorCounts, SynsetmineError
from synsetmine.export import FORMATS, About
from synsetmine.export.entries import names_of
from synsetmine.export.tables import (
    SSSLM_COLUMNS,
    gilda_problem,
    norm_text,
    write_gilda,
    write_ssslm,
)
from synsetmine.runs import MinedSet
from synsetmine.runs.results import orcid_of
from tests.support.curationentries import ORCID, entries, explained_set, infarction, nasty, term

# --- SSSLM ------------------------------------------------------------------------------------


def test_the_columns_are_those_of_the_package() -> None:
    assert list(SSSLM_COLUMNS) == HEADER


def test_scopes_are_predicates_and_the_preferred_name_is_the_label(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    assert write_ssslm(path, [infarction()], About(language="en-GB", prefix="MESH")) == [path]
    found = ssslm.read_literal_mappings(path)
    assert {(mapping.reference.curie, mapping.name) for mapping in found} == {
        ("MESH:D009203", "myocardial infarction")
    }
    assert [(mapping.text, mapping.predicate.curie) for mapping in found] == [
        ("myocardial infarction", "rdfs:label"),
        ("heart attack", "oboInOwl:hasExactSynonym"),
        ("MI", "oboInOwl:hasExactSynonym"),
        ("infarct", "oboInOwl:hasBroadSynonym"),
        ("STEMI", "oboInOwl:hasNarrowSynonym"),
        ("angina", "oboInOwl:hasRelatedSynonym"),
        ("coronary", "oboInOwl:hasRelatedSynonym"),  # in doubt
    ]
    assert {str(mapping.language) for mapping in found} == {"en"}
    assert found[2].contributor is not None
    assert found[2].contributor.curie == f"orcid:{ORCID}"
    assert found[2].date_str == "2026-01-31"
    assert found[4].contributor is None
    assert found[1].comment == "probability 0.97"
    assert {mapping.source for mapping in found} == {"synsetmine"}


def test_abbreviations_have_their_type_and_evidence(tmp_path: Path) -> None:
    write_ssslm(tmp_path / "x.tsv", [explained_set()], About())
    found = ssslm.read_literal_mappings(tmp_path / "x.tsv")
    typed = [(one.text, one.type.curie) for one in found if one.type is not None]
    assert typed == [("MI", "OMO:0003000")]
    assert [one.comment for one in found[1:3]] == [
        "probability 0.9; abbreviation in 399296: Acute myocardial infarction (AMI) is common; "
        "myocardial infarction (MI) too.",
        "probability 0.99",
    ]


def test_a_long_language_is_left_out(tmp_path: Path) -> None:
    write_ssslm(tmp_path / "x.tsv", [infarction()], About(language="grc"))
    assert ssslm.read_literal_mappings(tmp_path / "x.tsv")[0].language is None


@settings(max_examples=40, deadline=None)
@given(sets=entries())
def test_every_name_comes_back(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    path = tmp_path_factory.mktemp("ssslm") / "x.tsv"
    sets = [nasty(), *sets]
    write_ssslm(path, sets, About())
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", strict=True))
    wanted = [(entry, name.text) for entry in sets for name in names_of(entry)]
    assert [row["text"] for row in rows] == [text for _, text in wanted]
    assert [row["name"] for row in rows] == [entry.terms[0].text for entry, _ in wanted]
    assert [row["curie"] for row in rows] == [
        ":".join(About().curie(entry.id, entry.entity)) for entry, _ in wanted
    ]


# --- Gilda ------------------------------------------------------------------------------------


def rows_of(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", strict=True))


def test_only_exact_names_can_be_grounded(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv.gz"
    skipped = ErrorCounts()
    sets = FORMATS["gilda"].writable([infarction("DOID:5844"), infarction(None)], skipped)
    assert set(skipped.counts) == {"a name that is broad, narrow or related"}
    assert write_gilda(path, sets, About()) == [path]
    rows = rows_of(path)
    assert list(rows[0]) == [
        *("norm_text", "text", "db", "id", "entry_name", "status", "source"),
        *("organism", "source_db", "source_id"),
    ]
    assert [list(row.values())[:7] for row in rows[:4]] == [
        [text.lower(), text, "DOID", "5844", "myocardial infarction", status, "synsetmine"]
        for text, status in (
            ("myocardial infarction", "name"),
            ("heart attack", "synonym"),
            ("MI", "synonym"),
            ("coronary", "synonym"),
        )
    ]
    assert {(row["db"], row["id"]) for row in rows[4:]} == {("synsetmine", "s1")}


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Beta-Blocker", "betablocker"),
        ("two  \t words", "two words"),
        ("en–dash—em−minus", "endashemminus"),
        ("naïve Straße", "naive strasse"),
        ("α-Helix", "αhelix"),
        ("ΩMEGA", "ωmega"),
        ("ς", "s"),  # the one Greek letter that Gilda does not know
        ("漢字", "han zi "),
        ("C++", "c++"),
    ],
)
def test_normal_forms_are_gildas(text: str, normal: str) -> None:
    assert norm_text(text) == normal


def test_what_gilda_cannot_hold_is_reported(tmp_path: Path) -> None:
    assert gilda_problem("two\nlines") == "a term with a line break"
    assert gilda_problem("--") == "a term whose normal form in Gilda is empty"
    assert gilda_problem("x") == ""
    with pytest.raises(DataError, match=r"reads gzipped files only; end the name in \.tsv\.gz"):
        write_gilda(tmp_path / "x.tsv", [infarction()], About())


def test_names_in_ascii_need_no_further_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "unidecode", None)
    assert norm_text("Heart-Attack") == "heartattack"
    with pytest.raises(SynsetmineError, match=r"pip install 'synsetmine\[gilda\]'"):
        norm_text("naïve")


@settings(max_examples=40, deadline=None)
@given(sets=entries())
def test_exact_names_come_back(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    path = tmp_path_factory.mktemp("gilda") / "x.tsv.gz"
    sets = FORMATS["gilda"].writable([nasty(), *sets], ErrorCounts())
    write_gilda(path, sets, About())
    wanted = [name.text for entry in sets for name in names_of(entry) if name.scope == "exact"]
    rows = rows_of(path)
    assert [row["text"] for row in rows] == wanted
    assert all(row["norm_text"].strip() for row in rows)


def test_gilda_grounds_the_names(tmp_path: Path) -> None:
    """Only where `gilda` is installed: it brings a web server and a cloud's client along."""
    pytest.importorskip("gilda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from gilda.grounder import Grounder, load_entries_from_terms_file
        from gilda.process import normalize

        greek = MinedSet("s2", (term("α-helix"), term("naïve–thing", 0.5)))
        sets = FORMATS["gilda"].writable([infarction("DOID:5844"), greek, nasty()], ErrorCounts())
        write_gilda(tmp_path / "x.tsv.gz", sets, About())
        for found in load_entries_from_terms_file(tmp_path / "x.tsv.gz"):
            assert found.norm_text == normalize(found.text)
        grounder = Grounder(tmp_path / "x.tsv.gz")
        best = grounder.ground_best("Heart-Attack")
        assert (best.term.db, best.term.id) == ("DOID", "5844")
        assert grounder.ground_best("naive-thing").term.id == "s2"
        assert grounder.ground_best("infarct") is None


@pytest.mark.parametrize(
    ("reviewer", "found"),
    [
        (ORCID, ORCID),
        (f"https://orcid.org/{ORCID}", ORCID),
        (f"Ada Lovelace (orcid:{ORCID})", ORCID),
        ("Ada Lovelace", None),
        (f"1{ORCID}", None),
    ],
)
def test_an_orcid_is_found_beside_a_name(reviewer: str, found: str | None) -> None:
    assert orcid_of(reviewer) == found
