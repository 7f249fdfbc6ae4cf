"""Knowledge bases in SKOS, OWL and other RDF, in every syntax."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyoxigraph as ox
import pytest

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb import read_kb
from synsetmine.kb.base import accepts
from synsetmine.kb.rdf import _LimitedStream
from tests.support.kbfiles import ALL, SKOS, check_broken, content_of, store


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
            kb = read_kb(store(tmp_path, content, name))
            assert content_of(kb) == expected, name
            assert kb.current("http://example.org/3") == "http://example.org/4"


def test_languages_of_labels(tmp_path: Path) -> None:
    path = store(tmp_path, SKOS, "x.ttl")
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
    path = store(tmp_path, OWL, "doid.owl")
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
    path = store(tmp_path, text, "x.ttl")
    kb = read_kb(path, name_field="http://x/better", names_field="http://x/code")
    assert kb.names("http://x/1") == ("a", "b", "c")


def test_skos_xl_labels_are_read(tmp_path: Path) -> None:
    text = """@prefix xl: <http://www.w3.org/2008/05/skos-xl#> . @prefix : <http://x/> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :1 xl:altLabel :l2 , :missing ; xl:prefLabel _:l1 , :l3 .
    :l2 a xl:Label ; xl:literalForm "other"@en ; rdfs:label "the label" .
    _:l1 xl:literalForm "best"@en . :l3 xl:literalForm "deutsch"@de ."""
    assert content_of(read_kb(store(tmp_path, text, "x.ttl"))) == {"http://x/1": ("best", "other")}


def test_relative_iris_do_not_tell_the_folder(tmp_path: Path) -> None:
    text = '@prefix : <#> . :a <http://www.w3.org/2004/02/skos/core#prefLabel> "x" .'
    assert list(read_kb(store(tmp_path, text, "my file.ttl"))) == ["file:///my%20file.ttl#a"]


def test_broken_lines_of_n_triples_can_be_left_out(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
    good = [f'<http://x/{i}> {label} "n {i}"@en .' for i in range(3)]
    rest = {f"http://x/{i}": (f"n {i}",) for i in range(3)}
    deep = "<<( <http://a> <http://b> " * 5000 + '"x"' + " )>>" * 5000
    for bad, problem in (
        (f"<http://x/9> {label} broken .", "not RDF: '<http://x/9>"),
        (f'<http://x/9> {label} "open', "not RDF: '<http://x/9>"),
        (f"<http://x/9> {label} {deep} .", "statements nested too deeply"),
    ):
        path = store(tmp_path, "\n".join([good[0], bad, "# comment", *good[1:]]), "x.nt")
        check_broken(path, 2, problem, rest)
    path = store(tmp_path, good[0].encode() + b"\n\xff\n" + "\n".join(good).encode(), "x.nq")
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
    path = store(tmp_path, text, name)
    place = f"{path}:" if line is None else f"{path}:{line}:"
    for skipped in (None, ErrorCounts()):
        with pytest.raises(DataError) as caught:
            read_kb(path, skipped=skipped)
        assert str(caught.value).startswith(f"{place} ")


def test_other_syntaxes_of_owl_are_reported(tmp_path: Path) -> None:
    for text in (
        "Prefix(:=<http://x/>)\nOntology(<http://x/>\n)",
        "Prefix: : <http://x/>\nOntology: <http://x/>",
        '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"></Ontology>',
    ):
        path = store(tmp_path, text, "x.owl")
        with pytest.raises(DataError, match=r"x\.owl: OWL in functional, Manchester or OWL/XML"):
            read_kb(path)


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
        path = store(tmp_path, content, "x.owl")
        with pytest.raises(DataError, match="an XML entity that is too long"):
            read_kb(path)


def test_short_entities_may_be_named_often(tmp_path: Path) -> None:
    comment = f"<rdfs:comment>{'&owl;' * 100_000}</rdfs:comment>"  # as files of OWL name them
    common = OWL.replace("</owl:Class>", f"{comment}</owl:Class>")
    assert len(read_kb(store(tmp_path, common, "y.owl"))) == len(
        read_kb(store(tmp_path, OWL, "z.owl"))
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_the_guard_sees_entities_across_reads(size: int) -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "ha"> <!ENTITY b "&amp;&#38;"> <!ENTITY c "&a;&a;"> ]><x/>'

    def drain(data: bytes) -> bytes:
        limited = _LimitedStream(io.BytesIO(data), xml=True)
        return b"".join(iter(lambda: limited.read(size), b""))

    with pytest.raises(DataError, match="an XML entity"):
        drain(bomb)
    printable = bomb.replace(b"&a;&a;", b"nothing")
    assert drain(printable) == printable
