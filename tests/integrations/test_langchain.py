"""Graph documents of LangChain: an entity with several names becomes one node."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_neo4j.graphs.graph_document import GraphDocument, Node, Relationship

from synsetmine.errors import DataError
from synsetmine.integrations.langchain import merge_graph_documents
from synsetmine.integrations.mentions import distinct_names, sentences_with
from synsetmine.pipeline.name_sets import Grouping, Member
from tests.support.namemodels import WordModel

CURIE = Node(id="Marie Curie", type="Person", properties={"born": 1867})
REVERSED = Node(id="Curie, Marie", type="Person", properties={"description": "a physicist"})
PARIS = Node(id="Paris", type="City")
TEXT = "Marie Curie lived in Paris. Curie, Marie worked at the Sorbonne."


def document(
    nodes: list[Node], relationships: list[Relationship], text: str = TEXT
) -> GraphDocument:
    source = Document(page_content=text)
    return GraphDocument(nodes=nodes, relationships=relationships, source=source)


def lives(person: Node, city: Node, **properties: object) -> Relationship:
    return Relationship(source=person, target=city, type="LIVED_IN", properties=properties)


def triples(merged: GraphDocument) -> list[tuple[object, str, object]]:
    return [(one.source.id, one.type, one.target.id) for one in merged.relationships]


def test_an_entity_is_one_node_in_all_documents() -> None:
    documents = [
        document([CURIE, PARIS], [lives(CURIE, PARIS)]),
        document([REVERSED, CURIE, PARIS], [lives(REVERSED, PARIS)]),
    ]
    merged = merge_graph_documents(documents)
    for one in merged.documents:
        assert [node.id for node in one.nodes] == ["Marie Curie", "Paris"]
        assert one.nodes[0].properties == {"born": 1867, "description": "a physicist"}
        assert triples(one) == [("Marie Curie", "LIVED_IN", "Paris")]
        assert one.source == documents[0].source
    assert repr(merged).startswith("MergedDocuments(2 documents, 5 names: 1 set with 2 names")
    assert documents[1].nodes[0].id == "Curie, Marie"  # the documents stay as they are


def test_equal_relationships_are_one_and_those_inside_an_entity_are_left_out() -> None:
    loop = Relationship(source=PARIS, target=PARIS, type="NEAR")
    same = Relationship(source=CURIE, target=REVERSED, type="KNOWS")
    relationships = [
        lives(CURIE, PARIS, since=1891),
        lives(REVERSED, PARIS, until=1934),
        same,
        loop,
    ]
    (merged,) = merge_graph_documents([document([CURIE, REVERSED, PARIS], relationships)]).documents
    assert triples(merged) == [("Marie Curie", "LIVED_IN", "Paris"), ("Paris", "NEAR", "Paris")]
    assert merged.relationships[0].properties == {"since": 1891, "until": 1934}


def test_a_node_that_only_a_relationship_has_is_merged() -> None:
    (merged,) = merge_graph_documents([document([CURIE], [lives(REVERSED, PARIS)])]).documents
    assert [node.id for node in merged.nodes] == ["Marie Curie"]
    assert triples(merged) == [("Marie Curie", "LIVED_IN", "Paris")]


def test_types_keep_entities_apart_and_untyped_nodes_join() -> None:
    nodes = [CURIE, Node(id="Curie, Marie"), Node(id="Curie, Marie", type="Ship")]
    (merged,) = merge_graph_documents([document(nodes, [])]).documents
    assert [(node.id, node.type) for node in merged.nodes] == [
        ("Marie Curie", "Person"),
        ("Curie, Marie", "Ship"),
    ]


def test_descriptions_and_sentences_are_the_contexts() -> None:
    merge_graph_documents([document([CURIE, REVERSED, PARIS], [])], model=(model := WordModel()))
    views = model.views[0]
    assert {term.surface: texts for term, texts in (views.contexts or {}).items()} == {
        "Marie Curie": ("Marie Curie lived in Paris.",),
        "Curie, Marie": ("Curie, Marie worked at the Sorbonne.", "a physicist"),
        "Paris": ("Marie Curie lived in Paris.",),
    }


def test_entities_of_one_name_and_type_have_distinct_names() -> None:
    alone = [("Jordan", "Thing"), ("Jordan", "thing"), ("jordan", "Thing"), ("Jordan", "Person")]
    grouping = Grouping(
        sets=(),
        alone=tuple(Member(name, 1, None, False, type_) for name, type_ in alone),
        mapping={},
        unsure=(),
        threshold=0.5,
        rows=(0, 1, 1, 2, 3, None),
    )
    assert distinct_names(grouping) == ["Jordan (2)", "Jordan", "jordan (3)", "Jordan"]


def test_numbers_and_empty_names_stay() -> None:
    nodes = [Node(id=7, type="Number"), Node(id=" ", type="Person")]
    (merged,) = merge_graph_documents([document(nodes, [])]).documents
    assert [node.id for node in merged.nodes] == ["7", " "]


@pytest.mark.parametrize("wrong", [document([CURIE], []), [Document(page_content=TEXT)], "a"])
def test_other_objects_are_refused(wrong: Any) -> None:
    with pytest.raises(DataError, match="expected a list of GraphDocument: "):
        merge_graph_documents(wrong)


def test_no_documents() -> None:
    assert merge_graph_documents([]).documents == []


def test_sentences_have_the_whole_name_in_any_case() -> None:
    text = "An arm hurts. ARM makes chips, says Dr. Arm. No alarm here."
    assert sentences_with("Arm", text) == ("An arm hurts.", "ARM makes chips, says Dr. Arm.")
    assert sentences_with("(x", "f(x) is f (x and so on") == ("f(x) is f (x and so on",)
    assert len(sentences_with("a", " ".join(f"A is {i}." for i in range(100)))) == 8
