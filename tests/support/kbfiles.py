"""Small knowledge bases in the forms of their files, and checks of what is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb import KbFormat, KnowledgeBase, Scope, read_kb

ALL: tuple[Scope, ...] = ("EXACT", "BROAD", "NARROW", "RELATED")


def store(folder: Path, content: str | bytes, name: str) -> Path:
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
    form: KbFormat | None = None,
) -> None:
    """A broken record is told with its place, and can be left out."""
    with pytest.raises(DataError) as caught:
        read_kb(path, format=form)
    assert str(caught.value).startswith(f"{path}:{line}: {problem}")
    assert "\n" not in str(caught.value)
    skipped = ErrorCounts()
    assert content_of(read_kb(path, format=form, skipped=skipped)) == rest
    (examples,) = skipped.examples.values()
    assert [str(error) for error in examples] == [str(caught.value)]


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
