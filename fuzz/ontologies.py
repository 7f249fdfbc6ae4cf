"""Targets: knowledge bases as ontologies, and as dumps of large sites."""

from __future__ import annotations

from pathlib import Path

from fuzz.tables import check_new_names, kb_check
from fuzz.target import Form, Target

_OBO = rb"""format-version: 1.2

[Term]
id: DOID:14330
name: Parkinson's disease ! a remark
alt_id: http://purl.obolibrary.org/obo/DOID_9998
synonym: "paralysis \"agitans\"" EXACT [X:1] {source="z"}
exact_synonym: "old" []

[Term]
id: DOID:1
name: shaking
is_obsolete: true
replaced_by: DOID:14330
"""
_PREFIXES = b"""@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix : <http://example.org/> .
"""
_TURTLE = (
    _PREFIXES
    + rb""":1 skos:prefLabel "Truck"@en ; skos:altLabel "Lorry"@en-GB , "HGV\n" , 7 , :2 .
:3 skos:prefLabel "old"@en ; owl:deprecated true ; dct:isReplacedBy :1 .
:4 xl:prefLabel [ xl:literalForm "made"@en ] . << :1 skos:altLabel "x" >> dct:source ( 1 [] ) .
"""
)
_NTRIPLES = (
    b'<http://e.org/1> <http://www.w3.org/2004/02/skos/core#prefLabel> "a"@en .\n'
    b'<http://e.org/1> <http://www.w3.org/2004/02/skos/core#altLabel> "\\u00e9" .\n'
)
_XML = b"""<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY o "http://e.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<rdf:Description rdf:about="&o;1"><rdfs:label xml:lang="en">Truck</rdfs:label></rdf:Description>
</rdf:RDF>
"""
_JSONLD = (
    b'{"@context": {"s": "http://www.w3.org/2004/02/skos/core#"}, "@graph": '
    b'[{"@id": "http://e.org/1", "s:prefLabel": {"@value": "Truck", "@language": "en"}}]}'
)

ONTOLOGIES = Target(
    "kb-ontologies",
    (
        Form("a.obo", lambda p: check_new_names(p, "obo"), lambda: [_OBO]),
        Form("a.ttl", lambda p: _rdf(p), lambda: [_TURTLE]),
        Form("a.nt", lambda p: _rdf(p), lambda: [_NTRIPLES]),
        Form("a.rdf", lambda p: _rdf(p), lambda: [_XML]),
        Form("a.jsonld", lambda p: _rdf(p), lambda: [_JSONLD]),
        Form("a.trig", lambda p: _rdf(p), lambda: [_TURTLE + b":g { :1 skos:altLabel 'x' }"]),
        Form("a.owl", lambda p: _guess(p), lambda: [_XML, _TURTLE, _JSONLD]),
    ),
    words=(
        *("[Term]\n", "id: ", "name: ", "synonym: ", "EXACT", "is_obsolete: true", "<!ENTITY"),
        *("skos:prefLabel", "@en", "@prefix", "<<(", ")>>", '"""', "rdf:RDF", "rdf:parseType"),
        *('"@context"', '"@id"', '"@value"', '"@list"', '"@graph"', "xml:lang", "_:b", "^^"),
    ),
)


def _rdf(path: Path) -> None:
    kb_check(path, "rdf")


def _guess(path: Path) -> None:
    kb_check(path)


# --- Dumps ---


def _atom(cui: str, name: str, status: str = "P") -> bytes:
    fields = [cui, "ENG", status, "L1", "PF", "S1", "Y", "A1", "", "", "", "MSH", "PT", "D1", name]
    return ("|".join([*fields, "0", "N", "", ""]) + "\n").encode()


_UMLS = _atom("C0000001", "heart attack") + _atom("C0000001", "MI", "S")
_MERGED = b"C0000002|2001AA|SY|||C0000001|Y|\n"
_WIKIDATA = (
    b'[\n{"type":"item","id":"Q1","labels":{"en":{"language":"en","value":"universe"}},'
    b'"aliases":{"en":[{"language":"en","value":"cosmos"}],"mul":[]},"claims":{"P31":[]}},\n'
    b'{"entity":"Q3","redirect":"Q1"}\n]\n'
)
WIKI = """<mediawiki><siteinfo><case>first-letter</case><namespaces>
<namespace key="14" case="x">Kategorie</namespace><namespace key="0" /></namespaces></siteinfo>
<page><title>Cat (animal)</title><ns>0</ns><id>1</id><revision><text>A '''cat''' is an
[[animal|living]]s thing&lt;ref&gt;x&lt;/ref&gt; {{note|a}} [[File:x.png|a [[dog]]]].
{| class=x
| cell
|}
== Head ==
* é [[cafe\u0301]] [http://x y] &amp;amp; __NOTOC__ [[Boston, MA|]]</text></revision></page>
<page><title>Kitty</title><ns>0</ns><id>2</id><redirect title="Cat (animal)" /><revision>
<text>#REDIRECT [[Cat (animal)#Young]]</text></revision></page>
<page><title>Pet</title><id>3</id><revision><text>#redirect : [[Cat]]</text></revision></page>
<page><title>M</title><id>4</id><revision><text>{{disambig}}</text></revision></page></mediawiki>
""".encode()
XML_WORDS = (
    *("<mediawiki>", "<page>", "</page>", "<title>", "</title>", "<id>1</id>", "<redirect title="),
    *("<revision><text>", "</text></revision>", "<![CDATA[", "<!DOCTYPE", "encoding='", "&#133;"),
)


def _check_umls(path: Path) -> None:
    """The input is both files, with a line of dashes between them."""
    concepts, _, merged = path.read_bytes().partition(b"----\n")
    path.write_bytes(concepts)
    path.with_name("MRCUI.RRF").write_bytes(merged)
    kb_check(path, "umls")


DUMPS = Target(
    "kb-dumps",
    (
        Form("MRCONSO.RRF", _check_umls, lambda: [_UMLS + b"----\n" + _MERGED]),
        Form("wikidata.json", lambda p: _wikidata(p), lambda: [_WIKIDATA]),
        Form("wiki.xml", lambda p: _mediawiki(p), lambda: [WIKI]),
    ),
    words=(
        *XML_WORDS,
        *("{{disambig}}", "{{ x disambiguation}}", "#redirect : [[", "|ENG|P|", "|SY|", "----\n"),
        *('"labels"', '"aliases"', '"type":"item"', '"redirect"', '"entity"', '"value"', '"mul"'),
    ),
)


def _wikidata(path: Path) -> None:
    kb_check(path, "wikidata")


def _mediawiki(path: Path) -> None:
    kb_check(path, "mediawiki", anchors=1)
