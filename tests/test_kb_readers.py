"""Readers of knowledge bases, on files in their true forms."""

from __future__ import annotations

import bz2
import csv
import gzip
import importlib.util
import io
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import fastobo
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError, Skipped, SynsetmineError
from synsetmine.kb import Entity, Form, KnowledgeBase, Scope, read_kb
from synsetmine.kb.identifiers import long_id, short_id
from synsetmine.kb.languages import accepts
from synsetmine.kb.mediawiki import plain_title
from synsetmine.kb.statements import _Guarded
from synsetmine.text import normal_form

quick = settings(max_examples=40, deadline=None)
DATA = Path(__file__).parents[2] / "shared" / "data"
ALL: tuple[Scope, ...] = ("EXACT", "BROAD", "NARROW", "RELATED")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kb")


def stored(folder: Path, content: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def content_of(kb: KnowledgeBase) -> dict[str, tuple[str, ...]]:
    return {entity: kb.names(entity) for entity in kb}


def check_broken(
    path: Path,
    line: int,
    problem: str,
    rest: Mapping[str, tuple[str, ...]],
    form: Form | None = None,
) -> None:
    """A broken record is told with its place, and can be left out."""
    with pytest.raises(DataError) as caught:
        read_kb(path, form=form)
    assert str(caught.value).startswith(f"{path}:{line}: {problem}")
    assert "\n" not in str(caught.value)
    skipped = Skipped()
    assert content_of(read_kb(path, form=form, skipped=skipped)) == rest
    (examples,) = skipped.examples.values()
    assert [str(error) for error in examples] == [str(caught.value)]


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
listed = st.lists(
    st.builds(Entity, st.sampled_from("abcdefgh"), names, st.lists(names, max_size=3).map(tuple)),
    min_size=1,
    max_size=6,
    unique_by=lambda entity: entity.id,
)


# --- JSON lines -------------------------------------------------------------------------------


def test_json_lines_are_read(tmp_path: Path) -> None:
    lines = (
        '\ufeff{"id": "D1", "name": "Heart Failure", "synonyms": ["Cardiac Failure", "HF"]}\r\n'
        '\n{"name": "Caf\\u00e9", "id": 7, "names": ["x\\ty"], "aliases": null, "more": {}}\n'
        '{"id": "D2", "name": "+", "aliases": ["plus"], "synonyms": []}'
    )
    for name, content in (
        ("x.jsonl", lines.encode()),
        ("x.jsonl.gz", gzip.compress(lines.encode())),
        ("x.ndjson.bz2", bz2.compress(lines.encode())),
        ("mesh.json", lines.encode()),
    ):
        kb = read_kb(str(stored(tmp_path, content, name)))
        assert content_of(kb) == {
            "D1": ("Heart Failure", "Cardiac Failure", "HF"),
            "7": ("Café", "x y"),
            "D2": ("plus",),
        }


def test_fields_of_json_lines_can_be_named(tmp_path: Path) -> None:
    record = {"ui": "1", "label": "x", "name": "no", "also": ["y"], "synonyms": ["no"]}
    path = stored(tmp_path, json.dumps(record), "x.jsonl")
    kb = read_kb(path, id_field="ui", name_field="label", names_field="also")
    assert content_of(kb) == {"1": ("x", "y")}


@given(listed)
@quick
def test_json_lines_and_tables_give_what_was_written(folder: Path, entities: list[Entity]) -> None:
    expected = content_of(KnowledgeBase.of(entities))
    records = [{"id": e.id, "name": e.name, "synonyms": e.names} for e in entities]
    stored(folder, "".join(json.dumps(record) + "\n" for record in records), "x.jsonl")
    with (folder / "x.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["name", "more", "ID"])
        table.writerows([name, "?", e.id] for e in entities for name in (e.name, *e.names))
    for name in ("x.jsonl", "x.csv"):
        if expected:
            assert content_of(read_kb(folder / name)) == expected
        else:
            with pytest.raises(DataError, match=r"x\..*: no entities with a usable name"):
                read_kb(folder / name)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON: '{'"),
        ("[" * 100_000, "not JSON: '[[["),
        ("[]", "expected a JSON object: '[]'"),
        ('{"name": "x"}', "expected a string in the field 'id': "),
        ('{"id": true, "name": "x"}', "expected a string in the field 'id': "),
        ('{"id": "2", "names": ["x"]}', "expected a string in the field 'name': "),
        ('{"id": "2", "name": null}', "expected a string in the field 'name': "),
        ('{"id": "2", "name": "x", "synonyms": "y"}', "expected a list of strings in the field"),
        (
            '{"id": "2", "name": "x", "aliases": ["y", 1]}',
            "expected a list of strings in the field",
        ),
        ('{"id": " ", "name": "x"}', "an entity needs an id: ' '"),
        ('{"id": "2", "name": "x", "names": ["\\ud800"]}', "ids and names must be valid Unicode"),
    ],
    ids=lambda text: text[:40],
)
def test_broken_json_lines_are_told(tmp_path: Path, line: str, problem: str) -> None:
    text = f'{{"id": "1", "name": "a"}}\n{line}\n{{"id": "3", "name": "c"}}\n'
    path = stored(tmp_path, text, "x.jsonl")
    check_broken(path, 2, problem, {"1": ("a",), "3": ("c",)})


def test_mesh_is_read() -> None:
    path = DATA / "medline" / "mesh.jsonl.gz"
    if not path.is_file():
        pytest.skip("MeSH is not at hand")
    told: list[tuple[int, int]] = []
    kb = read_kb(path, progress=lambda done, total: told.append((done, total)))
    with gzip.open(path, "rt") as stream:
        records = [json.loads(line) for line in stream]
    assert len(kb) == len(records) == 30_764
    assert list(kb) == [record["id"] for record in records]
    forms = [{normal_form(n) for n in (r["name"], *r["synonyms"])} for r in records]
    assert kb.name_count == sum(map(len, forms))
    for record in records[::50]:
        assert kb.name(record["id"]) == record["name"]
        assert all(kb.knows(record["id"], name) for name in record["synonyms"])
    assert told[-1] == (path.stat().st_size, path.stat().st_size)
    assert told == sorted(told)


# --- Tables -----------------------------------------------------------------------------------


def test_a_table_with_a_row_for_each_name(tmp_path: Path) -> None:
    text = (
        "\ufeff\r\nID,Name,Preferred\r\n"
        'b,"Smith, John",no\r\na,x,1\r\nb,"He said ""hi""",\r\n\r\nb,"two\nlines",TRUE\r\n'
    )
    kb = read_kb(stored(tmp_path, text, "x.csv"))
    assert content_of(kb) == {"b": ("two lines", "Smith, John", 'He said "hi"'), "a": ("x",)}


def test_a_table_with_a_row_for_each_entity(tmp_path: Path) -> None:
    text = 'name\tsynonyms\tid\n5" nail\ta|"b"| |c d\t1\n"quoted ""x"""\t\t2\n"\t\t3\nlast\t\t3\n'
    skipped = Skipped()
    kb = read_kb(stored(tmp_path, text, "x.tsv"), skipped=skipped)
    assert content_of(kb) == {
        "1": ('5" nail', "a", '"b"', "c d"),
        "2": ('quoted "x"',),
        "3": ("last",),
    }
    assert [str(e) for e in skipped.examples["a name without a letter or digit"]] == [
        f"{tmp_path / 'x.tsv'}:4: a name without a letter or digit: '\"'"
    ]


def test_semicolons_and_named_columns(tmp_path: Path) -> None:
    path = stored(tmp_path, "Code;Term;Also\n1;one, two;drei|vier\n", "x.csv")
    kb = read_kb(path, id_field="code", name_field="term", names_field="also")
    assert content_of(kb) == {"1": ("one, two", "drei", "vier")}


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_a_table_without_its_columns_is_told(tmp_path: Path, name: str) -> None:
    for header in ("D1,x", "id,label", "name"):
        text = header.replace(",", "\t") if name == "x.tsv" else header
        path = stored(tmp_path, f"\n{text}\n1{text[2]}y\n", name)
        for skipped in (None, Skipped()):
            with pytest.raises(DataError) as caught:
                read_kb(path, skipped=skipped)
            found = header.replace(",", ", ")
            assert str(caught.value) == (
                f"{path}:2: expected a header with the columns 'id' and 'name'; found: '{found}'"
            )


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("2,x", "a row with more or fewer fields than the header: '2, x'"),
        ("2,x,y,", "a row with more or fewer fields than the header: '2, x, y, '"),
        ("2,x,maybe", "expected yes or no in the column of preferred names: 'maybe'"),
        (" ,x,1", "an entity needs an id: ''"),
        ('2,"x"y,1', "not CSV: "),
        ('2,"' + "x" * 200_000 + '",1', "not CSV: 'field larger than field limit"),
    ],
    ids=lambda text: text[:30],
)
def test_broken_rows_are_told(tmp_path: Path, row: str, problem: str) -> None:
    text = f'id,name,preferred\n1,"a\nb",1\n{row}\n3,c,1\n'
    check_broken(stored(tmp_path, text, "x.csv"), 4, problem, {"1": ("a b",), "3": ("c",)})


def test_a_quote_that_is_never_closed_is_told_with_its_line(tmp_path: Path) -> None:
    path = stored(tmp_path, 'id,name\n1,a\n2,"b\n3,c\n', "x.csv")
    check_broken(path, 3, "not CSV: 'unexpected end of data'", {"1": ("a",)})


# --- OBO --------------------------------------------------------------------------------------

OBO = r"""format-version: 1.2
! a comment, which the format allows anywhere
ontology: doid
remark: strange { things

[Term]
id: DOID:14330
name: Parkinson's disease ! a trailing comment
alt_id: DOID:9999
alt_id: http://purl.obolibrary.org/obo/DOID_9998
def: "A \"synucleinopathy\"." [url:http\://x, "broken]
synonym: "paralysis agitans" EXACT [SNOMEDCT_US_2020_09_01:49049000, UMLS CUI with blanks]
synonym: "a \"quoted\" one" EXACT ABBREVIATION [] {comment="x, y", source="z"}
synonym: "PD" RELATED []
synonym: "shaky, broadly" BROAD []
exact_synonym: "old exact" [DOID:x]
synonym: "no scope" []
xref: not an xref at all "
is_a: DOID:3213 ! demyelinating disease

[Term]
id: DOID:1
name: obsolete shaking
is_obsolete: true
replaced_by: DOID:2
consider: DOID:3

[Term]
id: DOID:2
name: obsolete shaking palsy
is_obsolete: true
replaced_by: DOID:14330

[Typedef]
id: part_of
name: part of

[Term]
id: http://purl.obolibrary.org/obo/FOO_BAR_1 ! so
name: braces \{in\} a name {qualifier="x"}
is_obsolete: false

[Instance]
id: X:1
name: an instance
"""


def test_obo_is_read(tmp_path: Path) -> None:
    for name in ("x.obo", "strange.txt"):
        kb = read_kb(stored(tmp_path, OBO.replace("\n", "\r\n"), name))
        assert content_of(kb) == {
            "DOID:14330": (
                "Parkinson's disease",
                "paralysis agitans",
                'a "quoted" one',
                "old exact",
            ),
            "FOO_BAR:1": ("braces {in} a name",),
        }
        old = ("DOID:9999", "DOID:9998", "DOID:1", "DOID:2")
        assert {kb.current(i) for i in old} == {"DOID:14330"}
        assert kb.current("DOID:3") is None


def test_scopes_of_obo_synonyms(tmp_path: Path) -> None:
    path = stored(tmp_path, OBO, "x.obo")
    everything = read_kb(path, scopes=ALL).names("DOID:14330")
    assert everything[-4:] == ("PD", "shaky, broadly", "old exact", "no scope")
    assert "PD" in read_kb(path, scopes=("RELATED",)).names("DOID:14330")
    assert "paralysis agitans" not in read_kb(path, scopes=("RELATED",)).names("DOID:14330")
    kb = read_kb(path, short_ids=False)
    assert list(kb) == ["DOID:14330", "http://purl.obolibrary.org/obo/FOO_BAR_1"]
    for wrong in ("EXACT", ("exact",)):
        with pytest.raises(DataError, match="scopes must be among EXACT, BROAD, NARROW, RELATED"):
            read_kb(path, scopes=wrong)  # type: ignore[arg-type]


def test_what_fastobo_writes_is_read(tmp_path: Path) -> None:
    nasty = ['a "b" \\ c', "x {y} [z]", "!bang", "tab\there", "naïve, 漢字", "a: b"]
    frames = []
    for number, name in enumerate(nasty):
        ident = fastobo.id.PrefixedIdent("X", f"{number:07}")
        synonym = fastobo.syn.Synonym(f"syn {name}", "EXACT")
        clauses = [fastobo.term.NameClause(name), fastobo.term.SynonymClause(synonym)]
        frames.append(fastobo.term.TermFrame(ident, clauses))
    text = str(fastobo.doc.OboDoc(entities=frames))
    kb = read_kb(stored(tmp_path, text, "x.obo"))
    written = [
        (term[0].name, term[1].synonym.desc) for term in fastobo.loads(text)
    ]  # its own reading, which has its own mind about blanks
    assert [kb.names(entity) for entity in kb] == [
        tuple(" ".join(name.split()) for name in pair) for pair in written
    ]
    assert len(kb) == len(nasty)


@pytest.mark.parametrize(
    ("clause", "line"),
    [("name", None), ("synonym: never quoted", 7), ('synonym: "open', 7), ("name: x {y", 7)],
)
def test_broken_obo_terms_are_told(tmp_path: Path, clause: str, line: int | None) -> None:
    text = f"[Term]\nid: X:1\nname: a\n\n[Term]\nid: X:2\n{clause}\n\n[Term]\nid: X:3\nname: c\n"
    path = stored(tmp_path, text, "x.obo")
    rest = {"X:1": ("a",), "X:3": ("c",)}
    if line is not None:
        check_broken(path, line, f"not OBO: {clause!r}", rest)
    skipped = Skipped()
    assert content_of(read_kb(path, skipped=skipped)) == rest
    assert len(skipped) == 1


def test_a_term_without_an_id_is_told(tmp_path: Path) -> None:
    path = stored(tmp_path, "[Term]\nname: a\n\n[Term]\nid: X:3\nname: c\n", "x.obo")
    check_broken(path, 2, "not OBO: 'name: a'", {"X:3": ("c",)})


def test_many_obo_terms_with_a_broken_one_among_them(tmp_path: Path) -> None:
    terms = [f'[Term]\nid: X:{i}\nname: n {i}\nsynonym: "s {i}" EXACT []\n\n' for i in range(2500)]
    terms[1700] = "[Term]\nid: X:1700\nsynonym: oops\n\n\n"
    path = stored(tmp_path, "".join(terms), "x.obo")
    with pytest.raises(DataError, match=f"x.obo:{1700 * 5 + 3}: not OBO: 'synonym: oops'"):
        read_kb(path)
    assert len(read_kb(path, skipped=Skipped())) == 2499


# --- RDF --------------------------------------------------------------------------------------

SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://example.org/> .

:scheme a skos:ConceptScheme ; rdfs:label "The scheme"@en .
:some a skos:Collection ; skos:prefLabel "Some concepts"@en .
:1 skos:altLabel "Lorry"@en-GB , "HGV" , "Lastwagen"@de , "truck \\"big\\"\\n\\u00e9"@EN-us ;
   a skos:Concept ;
   skos:hiddenLabel "trukc"@en ;
   skos:prefLabel "lorries (GB)"@en-GB , "Truck"@en , "LKW"@de ;
   skos:definition "not a name"@en .
:2 skos:prefLabel "Nur deutsch"@de .
:3 skos:prefLabel "old car"@en ; owl:deprecated true ; dct:isReplacedBy :4 .
:4 rdfs:label "a car"@en ; skos:prefLabel "car" ; skos:altLabel "English"@enm , 7 , :1 .
[] skos:prefLabel "nameless"@en .
"""


def test_skos_is_read_in_every_syntax(tmp_path: Path) -> None:
    quads = list(ox.parse(SKOS, format=ox.RdfFormat.TURTLE))
    expected = {
        "http://example.org/1": (
            "Truck", "lorries (GB)", "HGV", "Lorry", 'truck "big" é', "trukc",
        ),
        "http://example.org/4": ("car", "a car", "7"),
    }  # fmt: skip
    endings = {
        "ttl": ox.RdfFormat.TURTLE,
        "nt": ox.RdfFormat.N_TRIPLES,
        "nq": ox.RdfFormat.N_QUADS,
        "trig": ox.RdfFormat.TRIG,
        "n3": ox.RdfFormat.N3,
        "rdf": ox.RdfFormat.RDF_XML,
        "owl": ox.RdfFormat.RDF_XML,
        "xml": ox.RdfFormat.RDF_XML,
        "jsonld": ox.RdfFormat.JSON_LD,
        "json": ox.RdfFormat.JSON_LD,
        "txt": ox.RdfFormat.TURTLE,
    }
    for ending, syntax in endings.items():
        data = ox.serialize(quads, format=syntax, prefixes={"ex": "http://example.org/"})
        assert data is not None
        for name, content in ((f"x.{ending}", data), (f"x.{ending}.gz", gzip.compress(data))):
            kb = read_kb(stored(tmp_path, content, name))
            assert content_of(kb) == expected, name
            assert kb.current("http://example.org/3") == "http://example.org/4"


def test_languages_of_labels(tmp_path: Path) -> None:
    path = stored(tmp_path, SKOS, "x.ttl")
    german = read_kb(path, language="de")
    assert content_of(german) == {
        "http://example.org/1": ("LKW", "Lastwagen", "HGV"),
        "http://example.org/2": ("Nur deutsch",),
        "http://example.org/4": ("car", "7"),
    }
    assert read_kb(path, language="en-gb").names("http://example.org/1") == (
        "lorries (GB)", "Lorry", "HGV",
    )  # fmt: skip
    assert "English" in read_kb(path, language="*").names("http://example.org/4")
    assert accepts("EN", "en")
    assert not accepts("e", "en")


OWL = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
    <!ENTITY owl "http://www.w3.org/2002/07/owl#" >
    <!ENTITY obo "http://purl.obolibrary.org/obo/" >
    <!ENTITY xsd "http://www.w3.org/2001/XMLSchema#" >
]>
<rdf:RDF xmlns="http://purl.obolibrary.org/obo/doid.owl#"
     xml:base="http://purl.obolibrary.org/obo/doid.owl"
     xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
     xmlns:owl="http://www.w3.org/2002/07/owl#"
     xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
     xmlns:obo="http://purl.obolibrary.org/obo/"
     xmlns:oboInOwl="http://www.geneontology.org/formats/oboInOwl#">
    <owl:Ontology rdf:about="http://purl.obolibrary.org/obo/doid.owl">
        <rdfs:label>Disease Ontology</rdfs:label>
    </owl:Ontology>
    <owl:AnnotationProperty rdf:about="&obo;IAO_0000115"><rdfs:label>definition</rdfs:label>
    </owl:AnnotationProperty>
    <owl:ObjectProperty rdf:about="&obo;RO_0000052"><rdfs:label xml:lang="en">in</rdfs:label>
    </owl:ObjectProperty>
    <owl:Class rdf:about="&obo;DOID_14330">
        <oboInOwl:hasExactSynonym>paralysis agitans</oboInOwl:hasExactSynonym>
        <oboInOwl:hasRelatedSynonym>PD &amp; others</oboInOwl:hasRelatedSynonym>
        <obo:IAO_0000118 xml:lang="en">Parkinson&#39;s</obo:IAO_0000118>
        <rdfs:label rdf:datatype="&xsd;string">Parkinson&apos;s disease</rdfs:label>
        <oboInOwl:hasAlternativeId>DOID:9999</oboInOwl:hasAlternativeId>
        <rdfs:subClassOf rdf:resource="&obo;DOID_4"/>
    </owl:Class>
    <owl:Axiom>
        <owl:annotatedSource rdf:resource="&obo;DOID_14330"/>
        <owl:annotatedTarget>paralysis agitans</owl:annotatedTarget>
        <rdfs:label>an axiom</rdfs:label>
    </owl:Axiom>
    <owl:Class rdf:about="&obo;DOID_1">
        <rdfs:label>obsolete shaking</rdfs:label>
        <owl:deprecated rdf:datatype="&xsd;boolean">true</owl:deprecated>
        <obo:IAO_0100001 rdf:resource="&obo;DOID_14330"/>
    </owl:Class>
    <owl:Class rdf:about="&obo;DOID_2">
        <owl:deprecated rdf:datatype="&xsd;boolean">true</owl:deprecated>
        <obo:IAO_0100001 rdf:datatype="&xsd;string">DOID:1</obo:IAO_0100001>
    </owl:Class>
    <owl:NamedIndividual rdf:about="#Local">
        <rdfs:label>local one</rdfs:label>
        <owl:deprecated rdf:datatype="&xsd;boolean">false</owl:deprecated>
    </owl:NamedIndividual>
</rdf:RDF>
"""


def test_owl_is_read(tmp_path: Path) -> None:
    path = stored(tmp_path, OWL, "doid.owl")
    kb = read_kb(path)
    assert content_of(kb) == {
        "DOID:14330": ("Parkinson's disease", "Parkinson's", "paralysis agitans"),
        "http://purl.obolibrary.org/obo/doid.owl#Local": ("local one",),
    }
    assert {kb.current(f"DOID:{i}") for i in (9999, 1, 2)} == {"DOID:14330"}
    assert "PD & others" in read_kb(path, scopes=ALL).names("DOID:14330")
    long = read_kb(path, short_ids=False)
    obo = "http://purl.obolibrary.org/obo/DOID_"
    assert f"{obo}14330" in long
    assert {long.current(f"{obo}{i}") for i in (9999, 1, 2)} == {f"{obo}14330"}


def test_properties_can_be_named(tmp_path: Path) -> None:
    text = """@prefix : <http://x/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    :1 skos:prefLabel "b" ; :better "a" ; :code "c" ."""
    path = stored(tmp_path, text, "x.ttl")
    kb = read_kb(path, name_field="http://x/better", names_field="http://x/code")
    assert kb.names("http://x/1") == ("a", "b", "c")


def test_skos_xl_labels_are_read(tmp_path: Path) -> None:
    text = """@prefix xl: <http://www.w3.org/2008/05/skos-xl#> . @prefix : <http://x/> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :1 xl:altLabel :l2 , :missing ; xl:prefLabel _:l1 , :l3 .
    :l2 a xl:Label ; xl:literalForm "other"@en ; rdfs:label "the label" .
    _:l1 xl:literalForm "best"@en . :l3 xl:literalForm "deutsch"@de ."""
    assert content_of(read_kb(stored(tmp_path, text, "x.ttl"))) == {"http://x/1": ("best", "other")}


def test_relative_iris_do_not_tell_the_folder(tmp_path: Path) -> None:
    text = '@prefix : <#> . :a <http://www.w3.org/2004/02/skos/core#prefLabel> "x" .'
    assert list(read_kb(stored(tmp_path, text, "my file.ttl"))) == ["file:///my%20file.ttl#a"]


def test_broken_lines_of_n_triples_can_be_left_out(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
    good = [f'<http://x/{i}> {label} "n {i}"@en .' for i in range(3)]
    rest = {f"http://x/{i}": (f"n {i}",) for i in range(3)}
    deep = "<<( <http://a> <http://b> " * 5000 + '"x"' + " )>>" * 5000
    for bad, problem in (
        (f"<http://x/9> {label} broken .", "not RDF: '<http://x/9>"),
        (f'<http://x/9> {label} "open', "not RDF: '<http://x/9>"),
        (f"<http://x/9> {label} {deep} .", "statements within statements within statements"),
    ):
        path = stored(tmp_path, "\n".join([good[0], bad, "# comment", *good[1:]]), "x.nt")
        check_broken(path, 2, problem, rest)
    path = stored(tmp_path, good[0].encode() + b"\n\xff\n" + "\n".join(good).encode(), "x.nq")
    check_broken(path, 2, "not UTF-8", rest)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.ttl", '<http://x/1> <http://p> "a" .\n<http://x/2> <http://p> broken .\n', 2),
        ("x.ttl", "<http://a> <http://b> " + "<<( <http://a> <http://b> " * 500, None),
        ("x.jsonld", '{"@id": "http://x/1", \n"http://p": [', 2),
        ("x.jsonld", '{"@context": "https://example.org/remote", "@id": "http://x/1"}', None),
        ("x.rdf", OWL.replace("</owl:Axiom>", "</owl:Oops>"), None),
        ("x.rdf", OWL[:-60], None),
    ],
)
def test_other_broken_rdf_is_an_error_even_if_broken_records_are_skipped(
    tmp_path: Path, name: str, text: str, line: int | None
) -> None:
    path = stored(tmp_path, text, name)
    place = f"{path}:" if line is None else f"{path}:{line}:"
    for skipped in (None, Skipped()):
        with pytest.raises(DataError) as caught:
            read_kb(path, skipped=skipped)
        assert str(caught.value).startswith(f"{place} ")


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a0 "ha"> ' + "".join(
            f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 13)
        ),
        '<!ENTITY a12 "' + "x" * 100_000 + '">',
        '<!ENTITY\ta0\n"ha"  ><!ENTITY % a12 "&a0;" >',
    ],
    ids=["of others", "long", "two"],
)  # fmt: skip
def test_xml_entities_do_not_blow_up(tmp_path: Path, entities: str) -> None:
    text = OWL.replace("<!ENTITY xsd", f"{entities}<!ENTITY xsd").replace(
        "paralysis agitans", "&a12;"
    )
    moved = OWL.replace("<owl:Axiom>", f"<!DOCTYPE x [{entities}]>\n<owl:Axiom>&a12;")
    for content in (text, moved):
        path = stored(tmp_path, content, "x.owl")
        with pytest.raises(DataError, match="an XML entity that is long or made of other entities"):
            read_kb(path)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_the_guard_sees_entities_across_reads(size: int) -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "ha"> <!ENTITY b "&amp;&#38;"> <!ENTITY c "&a;&a;"> ]><x/>'

    def drain(data: bytes) -> bytes:
        guarded = _Guarded(io.BytesIO(data), xml=True)
        return b"".join(iter(lambda: guarded.read(size), b""))

    with pytest.raises(DataError, match="an XML entity"):
        drain(bomb)
    harmless = bomb.replace(b"&a;&a;", b"nothing")
    assert drain(harmless) == harmless


def test_other_syntaxes_of_owl_are_told(tmp_path: Path) -> None:
    for text in (
        "Prefix(:=<http://x/>)\nOntology(<http://x/>\n)",
        "Prefix: : <http://x/>\nOntology: <http://x/>",
        '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"></Ontology>',
    ):
        path = stored(tmp_path, text, "x.owl")
        with pytest.raises(DataError, match=r"x\.owl: OWL in functional, Manchester or OWL/XML"):
            read_kb(path)


@pytest.mark.parametrize(
    ("package", "name", "text", "form"),
    [("fastobo", "x.obo", OBO, "OBO"), ("pyoxigraph", "x.ttl", SKOS, "RDF")],
)
def test_a_missing_package_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    name: str,
    text: str,
    form: str,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SynsetmineError) as caught:
        read_kb(stored(tmp_path, text, name))
    assert str(caught.value) == (
        f"reading {form} needs the extra: pip install 'synsetmine[ontology]'"
    )


def test_short_ids_of_obo() -> None:
    obo = "http://purl.obolibrary.org/obo/"
    assert short_id(f"{obo}DOID_14330") == "DOID:14330"
    assert short_id(f"{obo}NCBITaxon_Union_0000023") == "NCBITaxon_Union:0000023"
    for other in (f"{obo}go#part_of", f"{obo}doid.owl", "http://x/DOID_1", f"{obo}DOID_1/x", "a:b"):
        assert short_id(other) == other
    assert long_id("DOID:14330") == f"{obo}DOID_14330"
    assert long_id("http://x/y") == "http://x/y"


# --- UMLS -------------------------------------------------------------------------------------


def atom(
    cui: str,
    name: str,
    *,
    status: str = "S",
    form: str = "VO",
    preferred: str = "N",
    language: str = "ENG",
    source: str = "MSH",
    suppress: str = "N",
) -> str:
    fields = [
        cui, language, status, "L0030567", form, "S0070492", preferred, "A0097938", "", "M0016018",
        "D010300", source, "MH", "D010300", name, "0", suppress, "1792",
    ]  # fmt: skip
    return "".join(f"{value}|" for value in fields) + "\n"


ATOMS = (
    atom("C0030567", "Paralysis Agitans")
    + atom("C0030567", "Parkinson's disease", status="P", source="SNOMEDCT_US")
    + atom("C0004134", 'Ataxia, "NOS"', suppress="O")
    + atom("C0030567", "Parkinson Disease", status="P", form="PF", preferred="Y")
    + atom("C0004134", "Ataxia", status="S", form="PF", preferred="Y")
    + atom("C0004134", "Ataxie", language="FRE", status="P", form="PF", preferred="Y")
    + atom("C0030567", "Parkinson disease", status="P", form="PF")
    + atom("C0009999", "+", status="P")
)


def test_umls_is_read(tmp_path: Path) -> None:
    expected = {
        "C0030567": ("Parkinson Disease", "Parkinson's disease", "Paralysis Agitans"),
        "C0004134": ("Ataxia",),
    }
    retired = (
        "C0000002|2000AC|SY|||C0030567|Y|\nC0000003|2000AC|RO|||C0030567|Y|\n"
        "C0000004|2000AC|DEL||||Y|\nC0000005|1993AA|SY|||C0000002|Y|\n"
    )
    skipped = Skipped()
    assert content_of(read_kb(stored(tmp_path, ATOMS, "x.RRF"), skipped=skipped)) == expected
    assert skipped.counts == {
        "a name without a letter or digit": 1,
        "an entity without a usable name": 1,
    }
    stored(tmp_path, gzip.compress(retired.encode()), "MRCUI.RRF.gz")
    kb = read_kb(stored(tmp_path, gzip.compress(ATOMS.encode()), "MRCONSO.RRF.gz"))
    assert content_of(kb) == expected
    assert dict(kb.replaced()) == {"C0000002": "C0030567", "C0000005": "C0030567"}
    stored(tmp_path, gzip.compress(b"C0000002|2000AC|SY|\n"), "MRCUI.RRF.gz")
    with pytest.raises(DataError, match=r"MRCUI.RRF.gz:1: expected the 7 columns of MRCUI.RRF"):
        read_kb(tmp_path / "MRCONSO.RRF.gz")


def test_names_of_the_umls_can_be_chosen(tmp_path: Path) -> None:
    path = stored(tmp_path, ATOMS, "conso.txt")
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
def test_broken_lines_of_the_umls_are_told(tmp_path: Path, line: str) -> None:
    text = atom("C0000001", "a") + line.rstrip("\n") + "\n" + atom("C0000003", "c")
    problem = "expected the 18 columns of MRCONSO.RRF, each followed by '|'"
    rest = {"C0000001": ("a",), "C0000003": ("c",)}
    check_broken(stored(tmp_path, text, "MRCONSO.RRF"), 2, problem, rest)


# --- Wikidata ---------------------------------------------------------------------------------


def item(
    entity: str,
    labels: dict[str, str],
    aliases: dict[str, list[str]] | list[object],
    kind: str = "item",
) -> str:
    record: dict[str, object] = {
        "type": kind,
        "id": entity,
        "labels": {tag: {"language": tag, "value": name} for tag, name in labels.items()},
        "descriptions": {"en": {"language": "en", "value": 'a "}" in a text'}},
        "aliases": aliases
        if isinstance(aliases, list)
        else {
            tag: [{"language": tag, "value": name} for name in names]
            for tag, names in aliases.items()
        },
        "claims": {"P31": [{"mainsnak": {"snaktype": "value", "property": "P31"}}]},
        "sitelinks": {"enwiki": {"site": "enwiki", "title": "Belgium", "badges": []}},
        "lastrevid": 1,
    }
    return json.dumps(record)


ITEMS = [
    item(
        "Q31",
        {"de": "Belgien", "en-gb": "Belgium (GB)", "en": "Belgium", "mul": "Belgio"},
        {"fr": ["Royaume"], "en": ["Kingdom of Belgium", "BEL 🇧🇪"], "en-ca": ["be"]},
    ),
    item("P31", {"en": "instance of"}, {"en": ["is a"]}, kind="property"),
    item("Q8", {"mul": "happiness", "enm": "blisse"}, []),
    item("Q9", {"fr": "rien"}, {}),
    json.dumps({"claims": {}, "aliases": {}, "labels": {"en": {"value": "late"}}, "id": "Q10"})[:-1]
    + ', "type": "item"}',
    '{"id": "Q12", "redirects": {"from": "Q12", "to": "Q31"}}',
    '{"entity": "Q13", "redirect": "Q12"}',
]
DUMP = "[\n" + ",\n".join(ITEMS) + "\n]\n"


def test_a_dump_of_wikidata_is_read(tmp_path: Path) -> None:
    line_end = ",\n"
    for name, content in (
        ("dump.json", DUMP.encode()),
        ("dump.json.gz", gzip.compress(DUMP.encode())),
        ("dump.json.bz2", bz2.compress(DUMP.encode())),
        ("lines.jsonl", "\n".join(ITEMS).encode()),
        ("tight.json", f"[{line_end.join(ITEMS)}]".encode()),
    ):
        kb = read_kb(stored(tmp_path, content, name))
        assert content_of(kb) == {
            "Q31": (
                "Belgium", "Belgio", "Belgium (GB)", "Kingdom of Belgium", "BEL 🇧🇪", "be",
            ),
            "Q8": ("happiness",),
            "Q10": ("late",),
        }  # fmt: skip
        assert dict(kb.replaced()) == {"Q12": "Q31", "Q13": "Q31"}
    assert read_kb(tmp_path / "dump.json", language="fr").names("Q31") == ("Belgio", "Royaume")
    assert read_kb(tmp_path / "dump.json", language="*").name("Q9") == "rien"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense,", "expected one JSON object a line: 'nonsense'"),
        (ITEMS[0][:300], "expected one JSON object a line: "),
        (ITEMS[0][:300] + "}", "not JSON: "),
        ('{"type": "item" "id": "Q2"}', "not JSON: "),
        ('{"type": "item", 7: "Q2"}', "not JSON: "),
        ('{"type": "item",}', "not JSON: "),
        ('{"a":' * 100_000 + "}", "not JSON: "),
        ('{"type": "item", "labels": {}}', "expected an item with its id: "),
        ('{"id": "Q2"}', "expected an item with its id: "),
        ('{"type": "item", "id": "Q2", "labels": ["x"]}', "expected an object of languages: "),
        ('{"type": "item", "id": "Q2", "labels": {"en": "x"}}', "expected a value in a language: "),
        ('{"type": "item", "id": "Q2", "aliases": {"en": [7]}}', "expected a value in a language"),
    ],
    ids=lambda text: text[:30],
)
def test_broken_lines_of_a_dump_are_told(tmp_path: Path, line: str, problem: str) -> None:
    good = item("Q1", {"en": "universe"}, {})
    path = stored(tmp_path, f"[\n{good},\n{line}\n{good.replace('Q1', 'Q3')}\n]", "x.json")
    check_broken(path, 3, problem, {"Q1": ("universe",), "Q3": ("universe",)}, "wikidata")


# --- Wikis ------------------------------------------------------------------------------------


def page(title: str, text: str = "", *, redirect: str | None = None, ns: int = 0) -> str:
    mark = "" if redirect is None else f'<redirect title="{redirect}" />'
    if redirect is not None and not text:
        text = f"#REDIRECT [[{redirect}]]"
    return (
        f"  <page>\n    <title>{title}</title>\n    <ns>{ns}</ns>\n    <id>7</id>\n    {mark}\n"
        f"    <revision>\n      <id>8</id>\n      <text xml:space='preserve'>{text}</text>\n"
        "    </revision>\n  </page>\n"
    )


def dump(*pages: str) -> str:
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">\n'
        "  <siteinfo><sitename>Wiki</sitename><case>first-letter</case><namespaces>\n"
        '    <namespace key="0" case="first-letter" />\n'
        '    <namespace key="10" case="first-letter">Template</namespace>\n'
        '    <namespace key="14" case="first-letter">Category</namespace>\n'
        "  </namespaces></siteinfo>\n" + "".join(pages) + "</mediawiki>\n"
    )


WIKI = dump(
    page("UK", redirect="United Kingdom"),
    page("Great Britain (state)", redirect="UK"),
    page("United Kingdom", "The '''United Kingdom''' (see [[mercury (planet)|Mercury]])."),
    page("Mercury (planet)", "A planet, not [[Mercury (element)|the metal]]."),
    page("Mercury (disambiguation)", "* [[Mercury (planet)]]"),
    page("Merkur", "May mean:\n* [[Mercury (planet)]]\n{{Disambig}}"),
    page("Hydrargyrum", redirect="Mercury (element)"),
    page("Queen of the UK", "#REDIRECT [[United Kingdom#Queen]]", redirect="United Kingdom"),
    page("A loop", redirect="B loop"),
    page("B loop", redirect="A loop"),
    page("Help me", redirect="Category:Help"),
    page("Template:UK", "{{x}}", ns=10),
    page("AT&amp;T", "A company"),
)


def test_titles_and_redirects_of_a_wiki_are_read(tmp_path: Path) -> None:
    for name, content in (
        ("x.xml", WIKI.encode()),
        ("pages.xml.bz2", bz2.compress(WIKI.encode())),
        ("x.xml-p1p7.gz", gzip.compress(WIKI.encode())),
    ):
        skipped = Skipped()
        told: list[tuple[int, int]] = []
        kb = read_kb(
            stored(tmp_path, content, name),
            skipped=skipped,
            progress=lambda done, total, told=told: told.append((done, total)),  # type: ignore[misc]
        )
        assert content_of(kb) == {
            "United Kingdom": ("United Kingdom", "UK", "Great Britain"),
            "Mercury (planet)": ("Mercury",),
            "Mercury (element)": ("Mercury", "Hydrargyrum"),
            "AT&T": ("AT&T",),
        }
        assert dict(kb.replaced()) == {
            "UK": "United Kingdom",
            "Great Britain (state)": "United Kingdom",
            "Hydrargyrum": "Mercury (element)",
            "Queen of the UK": "United Kingdom",
        }
        assert skipped.counts == {"a replaced id that leads back to itself": 2}
        assert told[-1] == (len(content), len(content))


def test_words_of_links_become_names(tmp_path: Path) -> None:
    text = dump(
        page(
            "Home", "[[Heart attack|MI]], [[myocardial infarction|heart-attack]] [[Heart attack]]"
        ),
        page("Heart attack", redirect="Myocardial infarction"),
        page(
            "More", "[[Michigan|MI]] [[Michigan|MI]] [[Michigan|MI]] [[Heart attack|MI]] [[Home|…]]"
        ),
        page(
            "Last", "[[Myocardial_infarction|infarct]] [[Heart attack|Heart Attack]] [[Home|Hut]]"
        ),
    )
    path = stored(tmp_path, text, "x.xml")
    assert set(read_kb(path)) == {"Home", "Myocardial infarction", "More", "Last"}
    kb = read_kb(path, anchors=2)
    assert content_of(kb) == {
        "Home": ("Home",),
        "Myocardial infarction": ("Myocardial infarction", "Heart attack"),
        "More": ("More",),
        "Last": ("Last",),
        "Michigan": ("Michigan", "MI"),
    }
    once = read_kb(path, anchors=1)
    assert once.names("Home") == ("Home", "Hut")
    assert once.names("Myocardial infarction")[2:] == ("infarct",)
    with pytest.raises(DataError, match="anchors must be 0 or more: -1"):
        read_kb(path, anchors=-1)


def test_brackets_are_taken_off_titles() -> None:
    for title, name in (
        ("Mercury (planet)", "Mercury"),
        ("(500) Days of Summer", "(500) Days of Summer"),
        ("Foo (a) (b)", "Foo (a)"),
        ("(x)", "(x)"),
        ("f(x)", "f(x)"),
        ("A ()", "A ()"),
    ):
        assert plain_title(title) == name


def test_a_real_dump_is_read() -> None:
    spec = importlib.util.find_spec("gensim")
    if spec is None or spec.origin is None:
        pytest.skip("gensim, which brings a sample of Wikipedia, is not installed")
    data = Path(spec.origin).parent / "test" / "test_data"
    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    kb = read_kb(data / name)
    assert len(kb) > 100
    assert kb.name("Anarchism") == "Anarchism"
    assert kb.current("AccessibleComputing") == "Computer accessibility"
    assert kb.knows("Computer accessibility", "AccessibleComputing")


# --- All forms --------------------------------------------------------------------------------


def test_labels_alone_do_not_make_a_dump_of_wikidata(tmp_path: Path) -> None:
    path = stored(tmp_path, '{"id": "1", "name": "x", "labels": ["y"]}', "x.jsonl")
    assert content_of(read_kb(path, names_field="labels")) == {"1": ("x", "y")}


def test_a_saved_knowledge_base_is_read(tmp_path: Path) -> None:
    kb = KnowledgeBase.of([Entity("a", "x", ("y",))])
    kb.save(tmp_path / "x.kb")
    assert content_of(read_kb(tmp_path / "x.kb")) == {"a": ("x", "y")}


@pytest.mark.parametrize(
    ("name", "text"), [("x.bin", "something else"), ("x", ""), ("x.html", "<html></html>")]
)
def test_a_file_of_no_known_form_is_told(tmp_path: Path, name: str, text: str) -> None:
    path = stored(tmp_path, text, name)
    with pytest.raises(DataError, match=f"{path}: cannot tell the form of this file; name one of"):
        read_kb(path)
    with pytest.raises(DataError, match=r"the form must be one of saved, jsonl, .*: 'xlsx'"):
        read_kb(path, form="xlsx")  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "obo", "rdf", "umls", "wikidata"])
def test_empty_and_missing_files_are_told(tmp_path: Path, form: Form) -> None:
    with pytest.raises(DataError, match="x: no entities with a usable name in this file"):
        read_kb(stored(tmp_path, "", "x"), form=form)
    with pytest.raises(DataError, match="gone: No such file or directory"):
        read_kb(tmp_path / "gone", form=form)
    with pytest.raises(DataError, match=f"{tmp_path}: Is a directory"):
        read_kb(tmp_path)


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
    path = stored(tmp_path, data, f"{name}.gz")
    assert len(read_kb(path, progress=lambda done, total: told.append((done, total))))
    assert told == sorted(told)
    assert told[-1] == (len(data), len(data))
    stored(tmp_path, data[: len(data) // 2], f"{name}.gz")
    with pytest.raises(DataError, match=f"{path}: damaged gzip file"):
        read_kb(path)


@given(st.binary(max_size=60), st.sampled_from([b"", b"[Term]\nid: X:1\n", b"@prefix", b"{", b"["]))
@quick
def test_any_file_is_a_knowledge_base_or_a_data_error(
    folder: Path, data: bytes, start: bytes
) -> None:
    forms: tuple[Form, ...] = (
        "saved", "jsonl", "csv", "tsv", "obo", "rdf", "umls", "wikidata", "mediawiki",
    )  # fmt: skip
    path = stored(folder, start + data, "any.txt")
    for form in forms:
        with suppress(DataError):  # any other error fails
            assert len(read_kb(path, form=form))
