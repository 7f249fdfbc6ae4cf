"""SKOS, read back by RDF libraries that had no part in writing it."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from rdflib import DCTERMS, RDF, SKOS, XSD, Graph, Literal, Namespace, URIRef

from synsetmine.errors import DataError
from synsetmine.export import About
from synsetmine.export.entries import names_of
from synsetmine.export.ontologies import write_skos
from synsetmine.kb import read_kb
from synsetmine.runs import MinedSet
from tests.support.curationentries import entries, explained_set, infarction, nasty

OIO = Namespace("http://www.geneontology.org/formats/oboInOwl#")
LABELS = (
    *(SKOS.prefLabel, SKOS.altLabel, SKOS.hiddenLabel),
    *(OIO.hasBroadSynonym, OIO.hasNarrowSynonym, OIO.hasRelatedSynonym),
)


def written(path: Path, sets: list[MinedSet], about: About | None = None) -> Graph:
    assert write_skos(path, sets, about or About()) == [path]
    graph = Graph()
    graph.parse(data=path.read_text("utf-8"), format="turtle")
    return graph


def labels(graph: Graph, concept: URIRef) -> dict[str, set[str]]:
    return {
        str(name).rpartition("#")[2]: found
        for name in LABELS
        if (found := {str(label) for label in graph.objects(concept, name)})
    }


def test_scopes_and_doubts_decide_what_a_label_is(tmp_path: Path) -> None:
    about = About(
        title='Sets "of" mine',
        base="https://example.org/sets/",
        entities="http://id.nlm.nih.gov/mesh/",
        language="en",
        created="2026-01-31",
        licence="https://creativecommons.org/publicdomain/zero/1.0/",
    )
    graph = written(tmp_path / "x.ttl", [infarction()], about)
    concept, scheme = URIRef("https://example.org/sets/D009203"), URIRef("https://example.org/sets")
    assert labels(graph, concept) == {
        "prefLabel": {"myocardial infarction"},
        "altLabel": {"heart attack", "MI"},
        "hiddenLabel": {"coronary"},
        "hasBroadSynonym": {"infarct"},
        "hasNarrowSynonym": {"STEMI"},
        "hasRelatedSynonym": {"angina"},
    }
    told = [label for name in LABELS for label in graph.objects(concept, name)]
    assert {label.language for label in told if isinstance(label, Literal)} == {"en"}
    (match,) = graph.objects(concept, SKOS.exactMatch)
    assert match == URIRef("http://id.nlm.nih.gov/mesh/D009203")
    assert (concept, RDF.type, SKOS.Concept) in graph
    assert (concept, SKOS.inScheme, scheme) in graph
    assert (concept, SKOS.notation, Literal("D009203")) in graph
    assert (scheme, RDF.type, SKOS.ConceptScheme) in graph
    assert (scheme, DCTERMS.title, Literal('Sets "of" mine')) in graph
    assert (scheme, DCTERMS.created, Literal("2026-01-31", datatype=XSD.date)) in graph
    assert (scheme, DCTERMS.license, URIRef(about.licence)) in graph


def test_the_best_evidence_of_a_name_is_a_note(tmp_path: Path) -> None:
    graph = written(tmp_path / "x.ttl", [explained_set()])
    (note,) = graph.objects(URIRef("urn:synsetmine:D009203"), SKOS.editorialNote)
    assert str(note) == (
        "MI: abbreviation in 399296: Acute myocardial infarction (AMI) is common; myocardial "
        "infarction (MI) too."
    )


def test_the_file_reads_well(tmp_path: Path) -> None:
    small = MinedSet("s 1", (infarction().terms[0], *infarction().terms[1:][:1]))
    write_skos(tmp_path / "x.ttl", [small], About(tool="synsetmine 9"))
    text = (tmp_path / "x.ttl").read_text("utf-8")
    assert text.partition("\n\n")[2] == (
        "<urn:synsetmine> a skos:ConceptScheme ;\n"
        '    dct:title "Synonym sets" ;\n'
        '    dct:creator "synsetmine 9" .\n\n'
        "<urn:synsetmine:s%201> a skos:Concept ;\n"
        "    skos:inScheme <urn:synsetmine> ;\n"
        '    skos:notation "s 1" ;\n'
        '    skos:prefLabel "myocardial infarction" ;\n'
        '    skos:altLabel "heart attack" .\n'
    )


@pytest.mark.parametrize(
    ("entity", "address"),
    [
        ("DOID:14330", "http://purl.obolibrary.org/obo/DOID_14330"),
        ("http://www.wikidata.org/entity/Q1", None),  # the concept has that address itself
        ("D1", None),
        ("Category:a b", None),
    ],
)
def test_an_entity_is_matched_unless_it_is_the_concept_itself(
    tmp_path: Path, entity: str, address: str | None
) -> None:
    graph = written(tmp_path / "x.ttl", [infarction(entity)])
    assert [str(found) for found in graph.objects(None, SKOS.exactMatch)] == [address] * bool(
        address
    )


def test_nasty_terms_come_back(tmp_path: Path) -> None:
    graph = written(tmp_path / "x.ttl", [nasty()])
    found = labels(graph, URIRef("urn:synsetmine:D1"))
    assert found["prefLabel"] == {nasty().terms[0].text}
    assert found["altLabel"] == {term.text for term in nasty().terms[1:]}


@settings(max_examples=60, deadline=None)
@given(sets=entries())
def test_two_libraries_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    path = tmp_path_factory.mktemp("skos") / "x.ttl"
    graph = written(path, sets, About(language="pt-BR"))
    store = ox.Store()
    store.load(path=str(path), format=ox.RdfFormat.TURTLE)
    assert len(store) == len(graph)
    for entry in sets:
        concept = About().iri(entry.id)
        read = {
            (quad.predicate.value, quad.object.value)
            for quad in store.quads_for_pattern(ox.NamedNode(concept), None, None)
            if isinstance(quad.object, ox.Literal) and quad.object.language
        }
        first, *others = names_of(entry)
        assert (str(SKOS.prefLabel), first.text) in read
        assert {text for _, text in read} == {term.text for term in (first, *others)}
        assert len(read) == 1 + len(others)
        exact = {text for name, text in read if name.endswith(("altLabel", "hiddenLabel"))}
        assert exact == {term.text for term in others if term.scope == "exact"}


def test_our_own_reader_takes_exact_names_by_default_and_others_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.ttl"
    write_skos(path, [infarction("DOID:5844")], About(base="http://purl.obolibrary.org/obo/"))
    (entity,) = read_kb(path)
    exact = {"myocardial infarction", "heart attack", "MI", "coronary"}
    assert set(read_kb(path).names(entity)) == exact
    broad = read_kb(path, scopes=("EXACT", "BROAD"))
    assert set(broad.names(entity)) == exact | {"infarct"}
    assert broad.name(entity) == "myocardial infarction"


def test_what_is_no_address_date_language_or_prefix_is_reported() -> None:
    for wrong, problem in (
        ({"base": "no address"}, "expected an address such as `https://…`: 'no address'"),
        ({"base": ""}, "expected an address such as `https://…`: ''"),
        ({"entities": "http://x/<y>"}, "expected an address such as `https://…`: 'http://x/<y>'"),
        ({"licence": "CC0"}, "expected an address such as `https://…`: 'CC0'"),
        ({"language": "en_GB"}, "expected a language tag such as `en` or `pt-BR`: 'en_GB'"),
        ({"created": "31.1.2026"}, "expected a date such as `2026-01-31`: '31.1.2026'"),
        ({"created": "20260131"}, "expected a date such as `2026-01-31`: '20260131'"),
        ({"prefix": "me sh"}, "expected a prefix such as `MESH`: 'me sh'"),
    ):
        with pytest.raises(DataError) as caught:
            About(**wrong)
        assert str(caught.value) == problem
