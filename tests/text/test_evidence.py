"""Evidence of pairs: counts and examples against a naive count, files, the command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.io.tables import write_table
from synsetmine.normalization import normal_form
from synsetmine.text.evidence import (
    EXAMPLES,
    Evidence,
    EvidenceTable,
    connections_in,
    definitions_in,
    find_abbreviations,
    read_evidence,
)
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.patterns import SUPPORTING
from synsetmine.types import Document
from tests.cli.test_cli import synsetmine
from tests.support.corpusfiles import store

FORMS = ["cancer", "heart attack", "MI", "stroke"]
SENTENCES = [
    "Heart attack (MI) is common.",
    "A heart attack, also known as MI, kills.",
    "MI/stroke and cancer.",
    "Stroke versus heart\n attack, stroke; cancer.",
    "Nothing here.",
]


def evidence(texts: list[str], *, batch: int, most: int = 1000) -> pa.Table:
    totals = EvidenceTable(most)
    matcher = NameMatcher.build(FORMS)
    for first in range(0, len(texts), batch):
        part = texts[first : first + batch]
        ids = [f"d{first + i}" for i in range(len(part))]
        totals.add(connections_in(ids, part, matcher.find(part), FORMS))
        totals.add(definitions_in(ids, part))
    return totals.table()


def test_counts_examples_and_pairs() -> None:
    known = Evidence(evidence(SENTENCES, batch=2))
    assert known.counts("heart attack", "MI") == {"parenthesis": 1, "alias": 1}
    assert known.counts("MI", "heart attack") == known.counts("heart attack", "MI")
    assert known.counts("heart attack", "stroke") == {"list": 1, "versus": 1}
    assert known.counts("cancer", "nothing") == {}
    assert [e.relation for e in known.examples("heart attack", "MI")] == ["alias", "parenthesis"]
    assert [[*known.partners(name)] for name in ("MI", "stroke", "cancer")] == [
        *(["heart attack", "stroke"], ["MI"], []),
    ]
    example = known.examples("MI", "heart attack")[1]
    assert (example.document, example.text) == ("d0", "Heart attack (MI) is common.")
    assert example.text[slice(*example.first)] == "MI"
    assert example.text[slice(*example.second)] == "Heart attack"
    assert known.examples("cancer", "stroke") == []  # a list keeps no sentence
    assert ("MI", "stroke", "slash", 1) in known.pairs()
    assert "4 pairs" in repr(known)


@given(st.lists(st.sampled_from(SENTENCES), max_size=12), st.integers(1, 12))
def test_batches_make_no_difference(texts: list[str], batch: int) -> None:
    whole, parts = evidence(texts, batch=99), evidence(texts, batch=batch)
    assert whole.equals(parts)
    singles = [Evidence(evidence([text], batch=1)) for text in texts]
    naive = Counter[tuple[str, str, str]]()
    documents = Counter[tuple[str, str, str]]()
    for single in singles:
        for first, second, relation, count in single.pairs():
            naive[first, second, relation] += count
            documents[first, second, relation] += 1
    rows = whole.to_pylist()
    keys = [(row["first"], row["second"], row["relation"]) for row in rows]
    assert {key: row["count"] for key, row in zip(keys, rows, strict=True)} == naive
    assert keys == sorted(keys)
    for key, row in zip(keys, rows, strict=True):
        assert row["documents"] == documents[key]
        shown = min(EXAMPLES, documents[key]) if key[2] in SUPPORTING else 0
        assert len({e["document"] for e in row["examples"]}) == len(row["examples"]) == shown


@given(
    st.lists(st.sampled_from(["x ", "heart attack (MI) ", "\n\t heart  attack, i.e. MI", ". Z "]))
)
def test_examples_show_both_names(parts: list[str]) -> None:
    known = Evidence(evidence(["".join(parts)], batch=1))
    for example in known.examples("heart attack", "MI"):
        assert normal_form(example.text[slice(*example.first)]) == "MI"
        assert normal_form(example.text[slice(*example.second)]) == "heart attack"


def test_rare_pairs_go_where_there_are_too_many() -> None:
    texts = ["heart attack and stroke."] * 9 + ["stroke and cancer", "MI and cancer."]
    assert evidence(texts, batch=4, most=1)["count"].to_pylist() == [9]


def test_files_come_back(tmp_path: Path) -> None:
    path = tmp_path / "evidence.parquet"
    table = evidence(SENTENCES, batch=1)
    write_table(path, table)
    assert [*read_evidence(path).pairs()] == [*Evidence(table).pairs()]
    write_table(path, EvidenceTable().table())
    assert [*read_evidence(path).pairs()] == []


def test_other_files_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"first": ["a"]}), other)
    with pytest.raises(DataError, match="not a table of evidence"):
        read_evidence(other)
    with pytest.raises(DataError, match=r"gone\.parquet"):
        read_evidence(tmp_path / "gone.parquet")
    store(tmp_path, "text", "text.parquet")
    with pytest.raises(DataError, match=r"text\.parquet"):
        read_evidence(tmp_path / "text.parquet")


def test_abbreviations_are_listed_as_they_are_written() -> None:
    texts = [
        "Magnetic resonance imaging (MRI) helps.",
        "We used magnetic resonance imaging (MRI). Magnetic resonance imaging (MRI) again.",
        "MRI (magnetic resonance imaging) and computed tomography (CT).",
    ]
    first, second = find_abbreviations(Document(f"d{i}", text) for i, text in enumerate(texts))
    assert (first.short, first.long) == ("MRI", "magnetic resonance imaging")
    assert (first.count, first.documents, first.example.document) == (4, 3, "d0")
    assert (second.short, second.long, second.count) == ("CT", "computed tomography", 1)


def test_the_command_lists_what_a_corpus_defines(
    tmp_path: Path,
) -> None:
    texts = ["Magnetic resonance imaging (MRI).", "A magnetic resonance imaging (MRI) scan.", "=1"]
    texts.append("The +x cardiac output (CO) is it.")
    lines = [json.dumps({"id": f"p{i}", "text": text}) for i, text in enumerate(texts)]
    corpus = str(store(tmp_path, "\n".join([*lines, "broken"]), "texts.jsonl"))
    synsetmine("abbreviations", corpus, "--out", str(tmp_path / "all.jsonl"))
    record = json.loads((tmp_path / "all.jsonl").read_text().splitlines()[0])
    assert record == {
        "short_form": "MRI",
        "long_form": "Magnetic resonance imaging",
        "count": 2,
        "documents": 2,
        "document": "p0",
        "sentence": texts[0],
    }
    synsetmine("abbreviations", corpus, "--min-count", "2", "-o", str(tmp_path / "often.tsv"))
    header, row = (tmp_path / "often.tsv").read_text().splitlines()
    assert header.split("\t")[:3] == ["short form", "long form", "count"]
    assert row.split("\t")[:5] == ["MRI", "Magnetic resonance imaging", "2", "2", "p0"]
    shown = synsetmine("abbreviations", corpus, "--out", "-")
    assert len(shown.stdout.splitlines()) == 3
    assert "2 abbreviations" in shown.stderr
    assert "broken" in shown.stderr


def test_the_command_refuses_what_it_cannot_write(tmp_path: Path) -> None:
    corpus = str(store(tmp_path, "id\ttext\n1\tCardiac output (CO).\n", "a.tsv"))
    other = synsetmine("abbreviations", corpus, "--out", str(tmp_path / "x.csv"), code=1)
    assert "expected .tsv or .jsonl" in other.stderr
    same = synsetmine("abbreviations", corpus, "--out", corpus, code=1)
    assert "already uses this file" in same.stderr
