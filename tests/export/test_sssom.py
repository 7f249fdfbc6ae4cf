"""SSSOM, read back by its own tools."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import sssom_pydantic
import yaml
from hypothesis import given, settings

from synsetmine.errors import DataError
from synsetmine.export import About
from synsetmine.export.entries import new_names
from synsetmine.export.ontologies import write_sssom
from synsetmine.normalization import normal_form
from synsetmine.runs import MinedSet
from tests.support.curationentries import ORCID, entries, explained_set, infarction, nasty, term

MESH = About(entities="http://id.nlm.nih.gov/mesh/", prefix="MESH", tool="synsetmine 9")


def table(path: Path) -> tuple[Mapping[str, Any], list[dict[str, str]]]:
    """The two parts of a file as the standard tells to read them."""
    text = path.read_bytes().decode()
    lines = text.splitlines(keepends=True)
    head = list(takewhile(lambda line: line.startswith("#"), lines))
    with path.open(encoding="utf-8", newline="") as stream:
        for _ in head:
            stream.readline()
        rows = list(csv.DictReader(stream, delimiter="\t", strict=True))
    return yaml.safe_load("".join(line[1:] for line in head)), rows


def test_new_names_are_mapped_to_their_entity(tmp_path: Path) -> None:
    path = tmp_path / "x.sssom.tsv"
    assert write_sssom(path, [infarction(), infarction(None)], MESH) == [path]
    head, rows = table(path)
    assert head == {
        "curie_map": {
            "MESH": "http://id.nlm.nih.gov/mesh/",
            "orcid": "https://orcid.org/",
            "synsetmine": "urn:synsetmine:name/",
        },
        "sssom_version": "1.1",
        "mapping_set_id": "urn:synsetmine",
        "mapping_set_title": "Synonym sets",
        "license": "https://w3id.org/sssom/license/unspecified",
        "subject_type": "rdfs literal",
        "mapping_tool": "synsetmine",
        "mapping_tool_version": "9",
    }
    told = [
        [row["subject_label"], row["predicate_id"], row["confidence"], row["reviewer_agreement"]]
        for row in rows
    ]
    # A name that is broader than the entity has the entity as its narrower match.
    assert told == [
        ["heart attack", "skos:exactMatch", "0.97", ""],
        ["MI", "skos:exactMatch", "0.8", "1.0"],
        ["infarct", "skos:narrowMatch", "0.6", "1.0"],
        ["STEMI", "skos:broadMatch", "0.9", "1.0"],
        ["angina", "skos:relatedMatch", "0.55", "1.0"],
        ["coronary", "skos:exactMatch", "0.512346", "0.0"],
    ]
    assert {row["object_id"] for row in rows} == {"MESH:D009203"}
    assert {row["object_label"] for row in rows} == {"Myocardial Infarction"}
    assert rows[0]["subject_id"] == "synsetmine:D009203/heart%20attack"
    assert rows[1]["reviewer_id"] == rows[2]["reviewer_id"] == f"orcid:{ORCID}"
    assert rows[3]["reviewer_label"] == "Bo \\| Co"
    assert rows[1]["review_date"] == "2026-01-31"
    assert rows[0]["review_date"] == rows[0]["reviewer_id"] == rows[0]["reviewer_label"] == ""


def test_relations_kinds_and_evidence(tmp_path: Path) -> None:
    path = tmp_path / "x.sssom.tsv"
    write_sssom(path, [explained_set()], MESH)
    mappings, _, _ = sssom_pydantic.read(path)
    semantic, lexical = "SemanticSimilarityThresholdMatching", "LexicalMatching"
    assert [
        (m.subject.name, m.predicate.identifier, m.justification.identifier) for m in mappings
    ] == [
        ("MI", "exactMatch", semantic),
        ("Myocardial Infarctions", "exactMatch", lexical),
        ("heart attack", "exactMatch", semantic),
        ("acute myocardial infarction", "broadMatch", semantic),
        ("infarction", "narrowMatch", semantic),
        ("cerebral infarction", "relatedMatch", semantic),  # a person's word counts
    ]
    _, rows = table(path)
    assert rows[0]["comment"] == (
        "abbreviation in 399296: Acute myocardial infarction (AMI) is common; myocardial "
        "infarction (MI) too."
    )
    assert [row["comment"] for row in rows[1:]] == [""] * 5


def test_columns_with_nothing_in_them_are_left_out(tmp_path: Path) -> None:
    plain = MinedSet("D1", (term("a"), term("b", 0.5)), "D1", "a")
    write_sssom(tmp_path / "x.tsv", [plain], MESH)
    assert (tmp_path / "x.tsv").read_text("utf-8").splitlines()[-2:] == [
        "subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\tmapping_justification"
        "\tconfidence",
        "synsetmine:D1/b\tb\tskos:exactMatch\tMESH:D1\ta"
        "\tsemapv:SemanticSimilarityThresholdMatching\t0.5",
    ]
    write_sssom(tmp_path / "x.tsv", [MinedSet("D1", (term("a"),), "D1", "a")], MESH)
    assert table(tmp_path / "x.tsv")[1] == []


def test_sets_that_grew_from_nothing_known_have_nothing_to_map_to(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none of these sets has an entity of a knowledge base"):
        write_sssom(tmp_path / "x.tsv", [infarction(None)], About())
    assert not (tmp_path / "x.tsv").exists()


@pytest.mark.parametrize(
    ("entity", "curie", "space"),
    [
        ("D1", "kb:D1", "urn:synsetmine:"),
        ("a b/c", "kb:a%20b%2Fc", "urn:synsetmine:"),
        ("DOID:14330", "DOID:14330", "http://purl.obolibrary.org/obo/DOID_"),
        ("no:1", "no:1", "http://purl.obolibrary.org/obo/no_"),
        ("Category:a b", "Category:a%20b", "urn:synsetmine:Category:"),
        ("skos:x", "ns1:x", "http://purl.obolibrary.org/obo/skos_"),  # the prefix means SKOS here
        ("http://www.wikidata.org/entity/Q1", "ns1:Q1", "http://www.wikidata.org/entity/"),
        ("https://x.org/a#b c", "ns1:b%20c", "https://x.org/a#"),
        ("https://x.org/a/", "ns1:a/", "https://x.org/"),
    ],
)
def test_entities_have_short_ids_that_lead_to_their_addresses(
    tmp_path: Path, entity: str, curie: str, space: str
) -> None:
    write_sssom(tmp_path / "x.tsv", [infarction(entity)], About())
    head, rows = table(tmp_path / "x.tsv")
    prefix, _, local = curie.partition(":")
    assert {row["object_id"] for row in rows} == {curie}
    assert head["curie_map"][prefix] == space
    assert space + local == About().entity_iri(entity)
    assert len(set(head["curie_map"].values())) == len(head["curie_map"])


def test_ids_with_one_prefix_and_two_addresses_are_kept_apart(tmp_path: Path) -> None:
    found = [infarction(entity) for entity in ("DOID:1", "DOID:a b", "DOID:c d", "DOID:2")]
    write_sssom(tmp_path / "x.tsv", found, About())
    head, rows = table(tmp_path / "x.tsv")
    assert set(head["curie_map"]) == {"DOID", "ns1", "orcid", "synsetmine"}
    ids = list(dict.fromkeys(row["object_id"] for row in rows))
    assert ids == ["DOID:1", "ns1:a%20b", "ns1:c%20d", "DOID:2"]
    assert head["curie_map"]["ns1"] == "urn:synsetmine:DOID:"


def test_sssom_pydantic_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "x.sssom.tsv"
    about = About(
        title='A title: with "signs" # and\nlines 😀',
        created="2026-01-31",
        licence="https://creativecommons.org/publicdomain/zero/1.0/",
    )
    write_sssom(path, [infarction("DOID:5844"), nasty()], about)
    mappings, converter, told, errors = sssom_pydantic.read(path, return_errors=True)
    assert errors == []
    assert told.title == 'A title: with "signs" # and lines 😀'
    assert str(told.license) == about.licence
    labels = [mapping.subject.name for mapping in mappings]
    assert labels[:3] == ["heart attack", "MI", "infarct"]
    names = [found.text for found in nasty().terms[1:] if normal_form(found.text)]
    assert labels[6:] == [name.strip() for name in names]  # it cuts off blanks; the file has them
    assert [row["subject_label"] for row in table(path)[1]][6:] == names
    first = mappings[1]
    assert converter.expand(first.object.curie) == "http://purl.obolibrary.org/obo/DOID_5844"
    assert first.confidence == 0.8
    assert first.mapping_tool is not None
    assert first.mapping_tool.name == "synsetmine"
    assert str(first.mapping_date) == str(first.review_date) == "2026-01-31"
    assert [reviewer.curie for reviewer in first.reviewers or ()] == [f"orcid:{ORCID}"]


@settings(max_examples=60, deadline=None)
@given(sets=entries())
def test_every_new_name_of_an_entity_has_its_row(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    path = tmp_path_factory.mktemp("sssom") / "x.tsv"
    known = [entry for entry in sets if entry.entity is not None]
    if not known:
        return
    write_sssom(path, sets, About())
    head, rows = table(path)
    wanted = [
        (About().entity_iri(entry.entity or ""), found.text)
        for entry in known
        for found in new_names(entry)
    ]
    spaces = head["curie_map"]

    def expanded(curie: str) -> str:
        prefix, _, local = curie.partition(":")
        return str(spaces[prefix] + local)

    assert [(expanded(row["object_id"]), row["subject_label"]) for row in rows] == wanted
    assert len({row["subject_id"] for row in rows}) == len(rows)


def test_the_reference_implementation_finds_nothing_wrong(tmp_path: Path) -> None:
    """Only where `sssom` is installed: it brings some eighty packages along."""
    pytest.importorskip("sssom")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sssom.parsers import parse_sssom_table
        from sssom.validators import validate

        path = tmp_path / "x.sssom.tsv"
        write_sssom(path, [infarction("DOID:5844"), nasty()], About(created="2026-01-31"))
        read = parse_sssom_table(path)
        reports = validate(read, fail_on_error=True)
    assert [result for report in reports.values() for result in report.results] == []
    names = {found.text for entry in (infarction(), nasty()) for found in new_names(entry)}
    # What it reads with takes two of them for missing values, and one line end for another.
    read_names = {name.replace("\r", "\n") for name in names} - {"null", "NaN"}
    assert set(read.df["subject_label"].dropna()) == read_names
    assert len(read.df) == len(read_names)
