"""What holds for readers of knowledge bases in all forms."""

from __future__ import annotations

import gzip
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.kb import Entity, KbFormat, KnowledgeBase, read_kb
from tests.support.kbfiles import ATOMS, DUMP, OBO, SKOS, content_of, store

quick = settings(max_examples=40, deadline=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kb")


def test_labels_alone_do_not_make_a_dump_of_wikidata(tmp_path: Path) -> None:
    path = store(tmp_path, '{"id": "1", "name": "x", "labels": ["y"]}', "x.jsonl")
    assert content_of(read_kb(path, names_field="labels")) == {"1": ("x", "y")}


def test_a_saved_knowledge_base_is_read(tmp_path: Path) -> None:
    kb = KnowledgeBase.of([Entity("a", "x", ("y",))])
    kb.save(tmp_path / "x.kb")
    assert content_of(read_kb(tmp_path / "x.kb")) == {"a": ("x", "y")}


@pytest.mark.parametrize(
    ("name", "text"), [("x.bin", "something else"), ("x", ""), ("x.html", "<html></html>")]
)
def test_a_file_of_no_known_form_is_reported(tmp_path: Path, name: str, text: str) -> None:
    path = store(tmp_path, text, name)
    unknown = f"{path}: cannot tell the format of this file; name one of"
    with pytest.raises(DataError, match=unknown):
        read_kb(path)
    with pytest.raises(DataError, match=r"the format must be one of saved, jsonl, .*: 'ods'"):
        read_kb(path, format="ods")  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "obo", "rdf", "umls", "wikidata"])
def test_empty_and_missing_files_are_reported(tmp_path: Path, form: KbFormat) -> None:
    with pytest.raises(DataError, match="x: no entities with a usable name in this file"):
        read_kb(store(tmp_path, "", "x"), format=form)
    with pytest.raises(DataError, match="gone: No such file or directory"):
        read_kb(tmp_path / "gone", format=form)
    with pytest.raises(DataError, match=f"{tmp_path}: Is a directory"):
        read_kb(tmp_path)


@pytest.mark.parametrize(
    ("package", "name", "text", "form"),
    [("fastobo", "x.obo", OBO, "OBO"), ("pyoxigraph", "x.ttl", SKOS, "RDF")],
)
def test_a_missing_package_is_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    name: str,
    text: str,
    form: str,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SynsetmineError) as caught:
        read_kb(store(tmp_path, text, name))
    assert str(caught.value) == (
        f"reading {form} needs the extra: pip install 'synsetmine[ontology]'"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.jsonl", '{"id": "1", "name": "x"}\n' * 5000),
        ("x.csv", "id,name\n" + "1,x\n" * 5000),
        ("x.obo", OBO * 50),
        ("x.ttl", SKOS * 50),
        ("x.nt", '<http://x> <http://www.w3.org/2004/02/skos/core#prefLabel> "x" .\n' * 5000),
        ("MRCONSO.RRF", ATOMS * 50),
        ("x.json", DUMP * 50),
    ],
    ids=lambda text: text[:10],
)
def test_progress_and_damaged_files(tmp_path: Path, name: str, text: str) -> None:
    data = gzip.compress(text.encode())
    told: list[tuple[int, int]] = []
    path = store(tmp_path, data, f"{name}.gz")
    assert len(read_kb(path, progress=lambda done, total: told.append((done, total))))
    assert told == sorted(told)
    assert told[-1] == (len(data), len(data))
    store(tmp_path, data[: len(data) // 2], f"{name}.gz")
    with pytest.raises(DataError, match=f"{path}: damaged gzip file"):
        read_kb(path)


@given(st.binary(max_size=60), st.sampled_from([b"", b"[Term]\nid: X:1\n", b"@prefix", b"{", b"["]))
@quick
def test_any_file_is_a_knowledge_base_or_a_data_error(
    folder: Path, data: bytes, start: bytes
) -> None:
    forms: tuple[KbFormat, ...] = (
        "saved", "jsonl", "csv", "tsv", "obo", "rdf", "umls", "wikidata", "mediawiki",
    )  # fmt: skip
    path = store(folder, start + data, "any.txt")
    for form in forms:
        with suppress(DataError):  # any other error fails
            assert len(read_kb(path, format=form))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.jsonl", '{"id": "Q1", "name": "flu", "definition": "A disease."}\n'),
        ("x.csv", "id,name,definition\nQ1,flu,A disease.\nQ1,influenza,\n"),
        ("x.tsv", "id\tname\tDefinition\nQ1\tflu\tA disease.\n"),
        ("x.obo", '[Term]\nid: x:1\nname: flu\ndef: "A disease." [url:http\\://x, "broken]\n'),
        ("broken.obo", "[Term]\nid: x:1\nname: flu\ndef: without quotes\n"),
        (
            "x.ttl",
            "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
            '<http://x/1> skos:definition "Krankheit."@de, "A disease."@en ; '
            'skos:prefLabel "flu" .',
        ),
        (
            "x.nt",
            '<http://x/1> <http://purl.obolibrary.org/obo/IAO_0000115> "A disease." .\n'
            '<http://x/1> <http://www.w3.org/2000/01/rdf-schema#label> "flu" .\n',
        ),
        (
            "wikidata.json",
            '{"type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "flu"}}, '
            '"descriptions": {"de": {"value": "Krankheit."}, "mul": {"value": "x"}, '
            '"en": {"value": "A disease."}}, "aliases": []}\n',
        ),
    ],
)
def test_definitions_of_all_formats(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    kb = read_kb(tmp_path / name)
    (entity,) = kb
    assert kb.definition(entity) == ("" if name == "broken.obo" else "A disease.")
    assert "flu" in kb.names(entity)


def test_definitions_of_the_metathesaurus(tmp_path: Path) -> None:
    row = "C0000001|ENG|P|L1|PF|S1|Y|A1||M1|D1|MSH|MH|D1|Flu|0|N|256|\n"
    (tmp_path / "MRCONSO.RRF").write_text(row)
    (tmp_path / "MRDEF.RRF").write_text(
        "C0000001|A1|AT1||MSHSPA|Una enfermedad.|N||\n"
        "C0000001|A1|AT2||MSH|Old.|O||\n"
        "C0000001|A1|AT3||MSH|A disease.|N||\n"
    )
    assert read_kb(tmp_path / "MRCONSO.RRF").definition("C0000001") == "A disease."
    (tmp_path / "MRDEF.RRF").write_text("C0000001|A disease.\n")
    with pytest.raises(DataError, match=r"expected the 8 columns of MRDEF\.RRF"):
        read_kb(tmp_path / "MRCONSO.RRF")


def test_another_spreadsheet_is_to_be_saved_as_xlsx(tmp_path: Path) -> None:
    (tmp_path / "kb.xls").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match=r"kb\.xls: .* knowledge bases; save the sheet as \.xlsx"):
        read_kb(tmp_path / "kb.xls")


def test_rules_of_a_synonyms_file_may_share_a_name(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    path.write_text("AMI, infarction\ninfarction, heart attack, MI\n")
    kb = read_kb(path)
    assert [sorted(kb.names(entity)) for entity in kb] == [
        ["AMI", "infarction"],
        ["MI", "heart attack", "infarction"],
    ]
    assert [kb.name(entity) for entity in kb] == ["AMI", "heart attack"]
