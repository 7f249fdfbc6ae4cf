"""Glossaries whose entries are one entity."""

import random
from collections import Counter

from experiments.contexts.glossaries import Definition, Entry, definitions_of

WORDS = [
    Entry(("anaemia", "anemia"), "a lack of red blood cells"),
    Entry(("crane",), "a large wading bird"),
    Entry(("crane",), "a machine that lifts loads"),
    Entry(("colon",), "a punctuation mark"),
    Entry(("colon", "large bowel"), "a part of the large intestine"),
    Entry(("pebble",), "a small stone"),
]
TERMS = [
    Entry(("anemia", "decreased haemoglobin"), "A reduction of erythrocytes."),
    Entry(("colon",), "The last portion of the digestive system."),
    Entry(("large bowel",), "A subdivision of the digestive tract."),
    Entry(("ACC",), "A rare carcinoma."),
]
SHORT = [Entry(("ACC",), "A command of the air force.")]


def entities(definitions: list[Definition]) -> dict[str, str]:
    return {definition.text: definition.entity for definition in definitions}


def test_entries_are_one_entity_if_they_share_a_name_that_no_other_entry_has() -> None:
    entity = entities(definitions_of([WORDS, TERMS, SHORT], random.Random(0)))
    assert entity["a lack of red blood cells"] == entity["A reduction of erythrocytes."]
    large = "a part of the large intestine", "A subdivision of the digestive tract."
    assert entity[large[0]] == entity[large[1]]
    # Two entries of one glossary have the name "colon".
    assert entity["The last portion of the digestive system."] not in {
        entity["a punctuation mark"],
        entity[large[0]],
    }
    assert max(Counter(entity.values()).values()) == 2


def test_abbreviations_join_no_entries() -> None:
    entity = entities(definitions_of([TERMS, SHORT], random.Random(0)))
    assert entity["A rare carcinoma."] != entity["A command of the air force."]


def test_each_row_has_a_name_of_its_entry() -> None:
    names = {entry.definition: entry.names for own in (WORDS, TERMS) for entry in own}
    for seed in range(20):
        for definition in definitions_of([WORDS, TERMS], random.Random(seed)):
            assert definition.name in names[definition.text]
