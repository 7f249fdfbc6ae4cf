"""Bad ontologies, and dumps of the UMLS, Wikidata and wikis."""

from __future__ import annotations

from tests.support.badinput.inputs import DEEP, bomb, files, gzip_text
from tests.support.badinput.kbcases import read

OBO = "format-version: 1.2\n\n[Term]\nid: D:1\nname: good\n\n"
TURTLE = "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n<http://x/1> s:prefLabel 'good' .\n"
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:s="http://www.w3.org/2004/02/skos/core#"><rdf:Description rdf:about="http://x/1">'
    "<s:prefLabel>good</s:prefLabel></rdf:Description></rdf:RDF>"
)
UMLS = "C0000001|ENG|P|L1|PF|S1|Y|A1||||MSH|PT|D1|good|0|N||\n"
ITEM = (
    '{"type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "good"}}, '
    '"aliases": {}}'
)
DUMP = (
    "<mediawiki><siteinfo></siteinfo><page><title>Good</title><ns>0</ns><id>1</id>"
    "<revision><id>2</id><text>A text.</text></revision></page></mediawiki>"
)

_GRAPHS = (
    read("k.obo", "", "an empty OBO file", 1, "k.obo: no entities with a usable name in this file"),
    read(
        "k.obo",
        OBO + "[Term]\nname: without id\n",
        "OBO: a term without an id",
        0,
        "1 left out: k.obo:8: not OBO: 'name: without id'",
    ),
    read(
        "k.obo",
        OBO + '[Term]\nid: D:2\nsynonym: "cut\n',
        "OBO: a quote that is never closed",
        0,
        "1 left out: k.obo:9: not OBO: 'synonym: \"cut'",
    ),
    read(
        "k.obo",
        OBO + "[Term]\nid: D:2\n",
        "OBO: a term without a name",
        0,
        "1 left out: k.obo: an entity without a usable name: 'D:2'",
    ),
    read(
        "k.ttl", "", "an empty Turtle file", 1, "k.ttl: no entities with a usable name in this file"
    ),
    read(
        "k.ttl",
        TURTLE + "<http://x/2> s:prefLabel 'cut",
        "Turtle that is cut",
        1,
        "k.ttl:3: not RDF: 'Parser error at line 3 between columns 26 and 30: Unexpected…",
    ),
    read(
        "k.ttl",
        TURTLE + "<http://x/2> s:prefLabel " + "(" * DEEP,
        "Turtle nested 100,000 deep",
        1,
        "k.ttl:3: not RDF: 'Parser error at line 3 column 100026: Unexpected end'",
    ),
    read(
        "k.ttl.gz",
        files({"k.ttl.gz": lambda: gzip_text(TURTLE + "<http://x/2> s:prefLabel '") + bomb()}),
        "a gzip bomb in a Turtle literal",
        1,
        "k.ttl.gz: not RDF: 'Reached the buffer maximal size of 16777216'",
    ),
    read(
        "k.rdf",
        RDF[:-20],
        "RDF/XML that is cut",
        1,
        'k.rdf: the file is truncated: b\'f:about="http://x/1"><s:prefLabel>good</s:prefLabe…',
    ),
    read(
        "k.rdf",
        '<!DOCTYPE r [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>' + RDF,
        "RDF/XML: entities made of entities",
        1,
        "k.rdf: an XML entity that is too long or refers to other entities: b'<!ENTITY c \"&a;&a…",
    ),
    read(
        "k.rdf",
        RDF[:-10] + "<s:a><s:b>" * DEEP,
        "RDF/XML nested 100,000 deep",
        1,
        "k.rdf: the file is truncated: "
        "b'<s:a><s:b><s:a><s:b><s:a><s:b><s:a><s:b><s:a><s:b><s:a><s:b>'",
    ),
    read(
        "k.jsonld",
        "[" * DEEP,
        "JSON-LD nested 100,000 deep",
        1,
        "k.jsonld:1: not RDF: 'Parser error at line 1 column 65538: Max stack size of 655…",
    ),
    read(
        "k.nt",
        "<http://x/1> <http://x/p> 'a' .\n",
        "RDF without names",
        1,
        "k.nt: no entities with a usable name in this file; 1 left out, such as k.nt:1: n…",
    ),
)
_DUMPS = (
    read(
        "MRCONSO.RRF",
        "",
        "an empty MRCONSO.RRF",
        1,
        "MRCONSO.RRF: no entities with a usable name in this file",
    ),
    read(
        "MRCONSO.RRF",
        UMLS + "C0000002|ENG\n",
        "UMLS: a line that is cut",
        0,
        "1 left out: MRCONSO.RRF:2: expected the 18 columns of MRCONSO.RRF, each followed…",
    ),
    read(
        "MRCONSO.RRF",
        files({"MRCONSO.RRF": UMLS, "MRCUI.RRF": "C1|\n"}),
        "UMLS: a broken MRCUI.RRF beside it",
        0,
        "1 left out: MRCUI.RRF:1: expected the 7 columns of MRCUI.RRF, each followed by '…",
    ),
    read(
        "k.json",
        f"[\n{ITEM},\n{ITEM[:60]}\n]\n",
        "Wikidata: an item that is cut",
        0,
        '1 left out: k.json:3: expected one JSON object per line: \'{"type": "item", "id": "…',
    ),
    read(
        "k.json",
        f"[\n{ITEM},\n{ITEM.replace('Q1', 'Q2').replace('{}', '7')}\n]\n",
        "Wikidata: a number for aliases",
        0,
        "1 left out: k.json:3: expected an object with languages as keys: 7",
    ),
    read(
        "k.json",
        f"[\n{ITEM},\n" + '{"type": "item", "id": "Q2", "labels": ' + '{"a":' * DEEP + "}\n]\n",
        "Wikidata: JSON nested 100,000 deep",
        0,
        '1 left out: k.json:3: not JSON: \'{"type": "item", "id": "Q2", "labels": {"a":{"a…',
    ),
    read(
        "k.xml",
        DUMP[:-12],
        "a MediaWiki dump that is cut",
        0,
        "1 left out: k.xml:1: not well-formed XML: 'no element found'",
    ),
    read(
        "k.xml",
        "<mediawiki>" + "<a>" * DEEP,
        "a MediaWiki dump nested 100,000 deep",
        1,
        "k.xml: no entities with a usable name in this file; 1 left out, such as k.xml:1:…",
    ),
)
ONTOLOGY_CASES = (*_GRAPHS, *_DUMPS)
