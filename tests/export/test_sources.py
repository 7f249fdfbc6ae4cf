"""Documents as the sources of names: which ids can be cited, and where each format cites them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastobo
import pytest
import ssslm
import sssom_pydantic
from hypothesis import example, given
from hypothesis import strategies as st

from synsetmine.corpus.citations import source_id
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.export import FORMATS, About
from synsetmine.export.entries import evidence_line, sources_of
from synsetmine.export.tables import read_patch, with_sentences
from synsetmine.kb import apply_names
from synsetmine.kb.obo import synonym_clause
from synsetmine.runs import MinedSet, MinedTerm, Sentence
from tests.support.curationentries import ORCID, explained_set, judgement, surfaces, term

PUBMED = About(prefix="MESH", document_prefix="PMID")
USED = Sentence("d 7", "A heart attack was seen.", 2, 14)
CITED = Sentence("31415926", "We saw a heart attack.", 9, 21)


@pytest.mark.parametrize(
    ("document", "prefix", "source"),
    [
        ("399296", "", ""),
        ("399296", "PMID", "PMID:399296"),
        ("399296", "pubmed", "pubmed:399296"),
        ("abc", "PMID", ""),  # no number, so no PMID
        ("abc", "GEO", "GEO:abc"),
        ("d 1", "GEO", ""),
        ("PMID:1", "GEO", "PMID:1"),
        ("10.1000/xyz(1)", "PMID", "DOI:10.1000/xyz(1)"),
        ("doi:10.1000/1", "", "doi:10.1000/1"),
        ("https://example.org/a b", "", ""),
        ("https://example.org/a,b]?q=é#c", "", "https://example.org/a%2Cb%5D?q=%C3%A9#c"),
        ("http://", "", ""),
        ("news.txt:12", "PMID", ""),  # a line of a text file
        ("folder/news.txt#3", "GEO", ""),
        ("", "PMID", ""),
        ('x:"]', "", ""),
    ],
)
def test_ids_to_cite(document: str, prefix: str, source: str) -> None:
    assert source_id(document, prefix) == source


@given(document=surfaces() | st.from_regex(r"https?://[a-z]+[^\s]*", fullmatch=True))
@example("https://a.b/,]\"'\\{}!c")
def test_every_source_is_an_xref_of_obo(document: str) -> None:
    source = source_id(document, "GEO")
    if source:
        clause = synonym_clause("x", "exact", (source, "orcid:1"))
        (frame,) = fastobo.loads(f"[Term]\nid: X:1\n{clause}\n")
        first, second = (str(xref.id) for xref in frame[0].synonym.xrefs)
        assert (first, second) == (source, "orcid:1")


def test_the_prefix_of_documents_is_checked() -> None:
    with pytest.raises(DataError, match="expected a prefix such as `MESH`: 'P MID'"):
        About(document_prefix="P MID")


def attack(
    *, evidence: tuple[Sentence, ...] = (), sentences: tuple[Sentence, ...] = ()
) -> MinedTerm:
    made = term("heart attack", 0.9, judgement("correct", reviewer=ORCID), sentences=sentences)
    return replace(made, evidence=evidence)


def sets(*terms: MinedTerm) -> list[MinedSet]:
    return [MinedSet("D1", (term("infarction"), *terms), "D1", "Infarction")]


def test_evidence_is_cited_first_and_an_example_without_it() -> None:
    _, short, *_ = explained_set().terms
    assert sources_of(short, PUBMED) == ["PMID:399296"]
    assert sources_of(short, About(document_prefix="X")) == ["X:399296", "X:d2"]
    assert sources_of(attack(sentences=(CITED,)), PUBMED) == ["PMID:31415926"]
    line = evidence_line(attack(sentences=(CITED,)), PUBMED)
    assert line == "used in PMID:31415926: We saw a heart attack."
    assert evidence_line(attack(sentences=(USED,)), PUBMED) == (
        "used in d 7: A heart attack was seen."
    )
    assert sources_of(attack(sentences=(USED,)), PUBMED) == []


def test_only_names_that_the_miner_added_get_sentences() -> None:
    (entry,) = with_sentences(
        sets(attack()), {"heart attack": [CITED], "infarction": [CITED], "x": []}
    )
    assert [one.sentences for one in entry.terms] == [(), (CITED,)]


def test_obo_and_skos(tmp_path: Path) -> None:
    entries = sets(attack(sentences=(CITED,)))
    FORMATS["obo"].write(tmp_path / "x.obo", entries, PUBMED)
    assert (
        (tmp_path / "x.obo")
        .read_text("utf-8")
        .endswith(
            f'synonym: "heart attack" EXACT [PMID:31415926, orcid:{ORCID}] '
            '{comment="used in PMID:31415926: We saw a heart attack."}\n'
        )
    )
    FORMATS["skos"].write(tmp_path / "x.ttl", entries, PUBMED)
    note = 'skos:editorialNote "heart attack: used in PMID:31415926: We saw a heart attack."'
    assert note in (tmp_path / "x.ttl").read_text("utf-8")


def test_sssom_has_the_source_and_the_pages(tmp_path: Path) -> None:
    page = Sentence("https://example.org/a|b", "t", 0, 0, "alias")
    entries = sets(attack(evidence=(CITED, page)), replace(term("x", 0.5), evidence=(page,)))
    FORMATS["sssom"].write(tmp_path / "x.sssom.tsv", entries, PUBMED)
    (first, second), converter, _, errors = sssom_pydantic.read(
        tmp_path / "x.sssom.tsv", return_errors=True
    )
    assert errors == []
    assert first.see_also == [
        "https://pubmed.ncbi.nlm.nih.gov/31415926",
        "https://example.org/a%7Cb",
    ]
    assert first.subject_source is not None
    assert first.subject_source.curie == "PMID:31415926"
    assert converter.expand(first.subject_source.curie) == first.see_also[0]
    assert second.see_also == ["https://example.org/a%7Cb"]
    assert second.subject_source is not None
    assert converter.expand(second.subject_source.curie) == "https://example.org/a%7Cb"


def test_ssslm_has_articles_in_its_provenance(tmp_path: Path) -> None:
    page = Sentence("https://example.org/a", "t", 0, 0, "alias")
    FORMATS["ssslm"].write(tmp_path / "x.tsv", sets(attack(evidence=(page, CITED))), PUBMED)
    literal = ssslm.read_literal_mappings(tmp_path / "x.tsv")[1]
    assert [reference.curie for reference in literal.provenance] == ["PMID:31415926"]


def test_tables_have_an_example_where_there_is_no_evidence(tmp_path: Path) -> None:
    entries = sets(attack(sentences=(CITED,)))
    FORMATS["csv"].write(tmp_path / "x.csv", entries, About())
    with (tmp_path / "x.csv").open(newline="") as stream:
        row = list(csv.DictReader(stream))[1]
    shown = {name: row[name] for name in ("evidence", "document", "sentence")}
    assert shown == {"evidence": "", "document": "31415926", "sentence": "We saw a heart attack."}
    FORMATS["jsonl"].write(tmp_path / "x.jsonl", entries, About())
    details: list[Any] = json.loads((tmp_path / "x.jsonl").read_text("utf-8"))["details"]
    assert details[0]["evidence"] == []
    assert details[1]["evidence"] == [
        {"relation": "", "document": "31415926", "text": "We saw a heart attack."}
    ]


def test_a_patch_takes_its_sources_into_the_ontology(tmp_path: Path) -> None:
    patch, kb, out = tmp_path / "x.tsv", tmp_path / "kb.obo", tmp_path / "new.obo"
    kb.write_text("format-version: 1.4\n\n[Term]\nid: D:1\nname: infarction\n")
    entries = [replace(sets(attack(sentences=(CITED,)))[0], entity="D:1")]
    for about, sources in ((PUBMED, "PMID:31415926, "), (About(), "")):
        FORMATS["patch"].write(patch, entries, about)
        apply_names(kb, out, read_patch(patch, refused=ErrorCounts()), refused=ErrorCounts())
        added = f'synonym: "heart attack" EXACT [{sources}orcid:{ORCID}]\n'
        assert out.read_text("utf-8") == kb.read_text("utf-8") + added
