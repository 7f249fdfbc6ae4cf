"""Linking by PubTator's id fields: what each means, and that none is lost silently."""

from __future__ import annotations

import gzip
import json
import pickle
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.corpus import read_corpus
from synsetmine.corpus.documents import write_documents
from synsetmine.errors import ErrorCounts
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.linking import PubtatorLinker
from synsetmine.linking.linkers import IdField, id_notes, read_id_field
from synsetmine.types import Document, Mention

DATA = Path(__file__).parents[3] / "shared" / "data"
NCBI, MESH = DATA / "ncbi-disease", DATA / "medline" / "mesh.jsonl.gz"

KB = KnowledgeBase.of(
    [
        Entity("D000001", "flu", ("influenza",)),
        Entity("MESH:D000002", "cold"),
        Entity("OMIM:100", "gout"),
        Entity("672", "BRCA1"),
        Entity("1,2-x", "a chemical"),
        Entity("c|SUB|A|1|T", "a variant of our own"),
    ],
    replacements={"D000009": "D000001", "D000008": "D000009"},
)


@pytest.mark.parametrize(
    ("field", "kind", "entity"),
    [
        ("D000001", "known", "D000001"),
        ("MESH:D000001", "known", "D000001"),
        (" mesh: D000001 ", "known", "D000001"),
        ("D000002", "known", "MESH:D000002"),
        ("MESH:D000002", "known", "MESH:D000002"),
        ("OMIM:100", "known", "OMIM:100"),
        ("672(Tax:9606)", "known", "672"),
        ("1,2-x", "known", "1,2-x"),
        ("c|SUB|A|1|T", "known", "c|SUB|A|1|T"),
        ("D000009", "replaced", "D000001"),
        ("MESH:D000008", "replaced", "D000001"),
        ("OMIM:672", "unknown", "OMIM:672"),  # not the gene 672
        ("MESH:C000657245", "unknown", "C000657245"),
        ("rs113488022", "unknown", "rs113488022"),
        ("D000001|D000001", "known", "D000001"),
        ("D000001;MESH:D000009", "known", "D000001"),
        ("D000001|", "known", "D000001"),
        ("-1;D000001", "known", "D000001"),
        ("D000001|OMIM:100", "several", None),
        ("D000001+D000002", "several", None),
        ("672;675", "several", None),
        ("D7,D8", "several", None),
        ("p|SUB|V|600|E", "variant", None),
        ("c|SUB|C|435|G", "variant", None),
        ("c|DEL|185_186|AG", "variant", None),
        ("tmVar:p|SUB|V|600|E;HGVS:p.V600E;VariantGroup:0;CorrespondingGene:673", "variant", None),
        ("HGVS:p.V600E", "variant", None),
        ("c.435C>G", "variant", None),
        ("c.elegans:7", "unknown", "c.elegans:7"),
        ("http://example.org/D1", "unknown", "http://example.org/D1"),
        ("", "none", None),
        ("-", "none", None),
        ("-1", "none", None),
        ("MESH:-1", "none", None),
        ("None", "none", None),
        ("CUI-less", "none", None),
        (";", "none", None),
    ],
)
def test_what_an_id_field_means(field: str, kind: str, entity: str | None) -> None:
    meaning = read_id_field(field, KB)
    assert (meaning.kind, meaning.entity) == (kind, entity)
    (mentions,) = PubtatorLinker(KB).link([Document("1", "word", (Mention(0, 4, field),))])
    assert mentions == (() if entity is None else (Mention(0, 4, entity),))


@given(st.text("D0123|+;, :-MESHcp.(Tax)", max_size=12))
def test_any_field_has_one_meaning(field: str) -> None:
    for kb in (None, KB):
        meaning = read_id_field(field, kb)
        assert (meaning.entity is None) == (meaning.kind in ("several", "variant", "none"))
        assert meaning.entity != ""
        if meaning.entity is not None and (kb is None or meaning.entity not in kb):
            assert meaning.kind == "unknown"
            assert meaning.entity not in ("-1", "-")
            assert read_id_field(meaning.entity, kb) == meaning
            assert not set(meaning.entity) & set("|+;,")


def test_mentions_come_in_the_order_of_the_text_and_travel() -> None:
    marked = Document("d", "flu, cold", (Mention(5, 9, "MESH:D000002"), Mention(0, 3, "D000009")))
    linker: PubtatorLinker = pickle.loads(pickle.dumps(PubtatorLinker(KB)))
    assert linker.link([marked, Document("e", "nothing")]) == [
        (Mention(0, 3, "D000001"), Mention(5, 9, "MESH:D000002")),
        (),
    ]


def test_notes_count_each_kind_with_examples(tmp_path: Path) -> None:
    fields = [
        *["D000001"] * 9,
        *["D000009"] * 2,
        *["OMIM:5"] * 3,
        *["EFO:1", "EFO:2"],
        "C000000",
        "D7",
        *["D1|D2"] * 4,
        "p|SUB|V|600|E",
        *["-1"] * 5,
        "",
    ]
    words = [f"word{number}" for number in range(len(fields))]
    text = " ".join(words)
    mentions = [
        Mention(text.index(word), text.index(word) + len(word), field)
        for word, field in zip(words, fields, strict=True)
    ]
    path = tmp_path / "documents.parquet"
    write_documents(path, [Document("1", text, tuple(mentions)), Document("2", "x")])
    candidates = "their surfaces are candidates"
    assert id_notes(path, KB) == [
        f"3 mentions carry ids that the knowledge base lacks; {candidates}: OMIM:5 (word11)",
        f"2 mentions carry ids of another vocabulary, EFO; {candidates}: "
        "EFO:1 (word14), EFO:2 (word15)",
        "1 mention carries ids of another format than the knowledge base's; "
        f"{candidates}: C000000 (word16)",
        f"1 mention carries ids that the knowledge base lacks; {candidates}: D7 (word17)",
        "2 mentions carry ids that were replaced; they are linked to the present ones: "
        "D000009 (word10)",
        "4 mentions carry several ids; such composite mentions are not linked: D1|D2 (word18)",
        "1 mention carries a sequence variant instead of an id; they are not linked: "
        "p|SUB|V|600|E (word22)",
        "6 mentions carry no id; they are not linked: -1 (word23), nothing (word28)",
    ]


def test_surfaces_of_examples_are_cut_by_characters(tmp_path: Path) -> None:
    text = "𝔘é e\u0301 flu"
    path = tmp_path / "documents.parquet"
    write_documents(path, [Document("1", text, (Mention(6, 9, "X1"),))])
    (note,) = id_notes(path, KB)
    assert text[6:9] == "flu"
    assert note.endswith("X1 (flu)")


# --- Real data --------------------------------------------------------------------------------


def fields_of(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Surface and id field of every annotation, by article."""
    articles: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text("utf-8").splitlines():
        if "|t|" in line[:20]:
            articles[line.split("|")[0]] = []
        columns = line.split("\t")
        if len(columns) == 6:
            articles[columns[0]].append((columns[3], columns[5].strip()))
    return articles


@pytest.mark.skipif(not NCBI.is_dir(), reason="the NCBI disease corpus is not at hand")
@pytest.mark.parametrize("name", ["NCBIdisease_Test.PubTator", "NCBIdisease_TrainDev.PubTator"])
def test_the_annotations_of_a_real_pubtator_file(name: str) -> None:
    documents = list(read_corpus(NCBI / name, skipped=ErrorCounts()))
    linked = PubtatorLinker().link(documents)
    result = {
        d.id: Counter((d.text[m.start : m.end], m.entity) for m in mentions)
        for d, mentions in zip(documents, linked, strict=True)
    }
    assert result == {
        article: Counter(
            (surface, field.removeprefix("MESH:"))
            for surface, field in fields
            if len(set(re.split(r"[|+]", field))) == 1
        )
        for article, fields in fields_of(NCBI / name).items()
    }
    assert sum(counts.total() for counts in result.values()) > 900


@pytest.mark.skipif(not (NCBI.is_dir() and MESH.exists()), reason="data not at hand")
def test_the_notes_on_a_real_corpus_add_up(tmp_path: Path) -> None:
    with gzip.open(MESH, "rt", encoding="utf-8") as lines:
        kb = KnowledgeBase.of(Entity(r["id"], r["name"]) for r in map(json.loads, lines))
    path = tmp_path / "documents.parquet"
    write_documents(path, read_corpus(NCBI, skipped=ErrorCounts()))
    counts: Counter[str] = Counter()
    for file in NCBI.iterdir():
        for _, field in (pair for pairs in fields_of(file).values() for pair in pairs):
            ids = set(re.split(r"[|+]", field.removeprefix("MESH:")))
            one = min(ids)
            kind = "several" if len(ids) > 1 else "known" if one in kb else re.sub(r"\d+", "", one)
            counts[kind] += 1
    counts["several"] -= 1  # the offsets of one do not lead to its surface
    assert set(counts) == {"known", "several", "OMIM:", "C"}
    numbers = [int(note.split()[0].replace(",", "")) for note in id_notes(path, kb)]
    assert numbers == [*sorted((counts["OMIM:"], counts["C"]), reverse=True), counts["several"]]


def test_a_field_is_a_plain_value() -> None:
    assert read_id_field("D1") == IdField("unknown", "D1")
