"""Patterns for spaCy, loaded and matched by a real pipeline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import spacy
from hypothesis import given, settings
from spacy.language import Language
from spacy.pipeline import EntityRuler

from synsetmine.errors import ErrorCounts
from synsetmine.export import FORMATS, About
from synsetmine.export.entries import names_of
from synsetmine.export.tables import spellings, text_problem, write_spacy
from synsetmine.runs import MinedSet
from tests.support.curationentries import entries, infarction, nasty, term


@pytest.fixture(scope="module")
def tokenizer() -> Language:
    return spacy.blank("en")


def ruler(path: Path) -> Language:
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("entity_ruler")
    assert isinstance(pipe, EntityRuler)
    pipe.from_disk(path)
    return nlp


def found(nlp: Language, text: str) -> list[tuple[str, str, str]]:
    return [(entity.text, entity.label_, entity.ent_id_) for entity in nlp(text).ents]


SETS = [
    infarction(),
    MinedSet("who", (term("WHO"), term("World Health Organization", 0.9), term("O.M.S.", 0.8))),
    MinedSet("t2d", (term("type-2 diabetes"), term("Crohn's disease", 0.5), term("C++", 0.5))),
]


def test_names_are_found_in_texts(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    exact = FORMATS["spacy"].writable(SETS, ErrorCounts())
    assert write_spacy(path, exact, About()) == [path]
    nlp = ruler(path)
    text = "Heart attack? No, a HEART ATTACK (the Heart Attack); who said MI, not mi, to the WHO."
    assert found(nlp, text) == [
        ("Heart attack", "TERM", "D009203"),
        ("HEART ATTACK", "TERM", "D009203"),
        ("Heart Attack", "TERM", "D009203"),
        ("MI", "TERM", "D009203"),
        ("WHO", "TERM", "who"),
    ]
    text = "Type-2 diabetes, crohn's disease/CROHN'S DISEASE, C++ at the O.M.S., 'type-2 diabetes'."
    assert [(name, key) for name, _, key in found(nlp, text)] == [
        ("Type-2 diabetes", "t2d"),
        ("crohn's disease", "t2d"),
        ("CROHN'S DISEASE", "t2d"),
        ("C++", "t2d"),
        ("O.M.S.", "who"),
        ("type-2 diabetes", "t2d"),
    ]
    assert found(nlp, "An infarct, STEMI or angina is another thing.") == []


def test_a_line_is_what_spacy_documents(tmp_path: Path) -> None:
    write_spacy(tmp_path / "x.jsonl", [MinedSet("s1", (term("MI"), term("x-ray", 0.5)))], About())
    lines = (tmp_path / "x.jsonl").read_text("utf-8").splitlines()
    assert lines[0] == '{"label": "TERM", "pattern": "MI", "id": "s1"}'
    assert [json.loads(line)["pattern"] for line in lines] == ["MI", "x-ray", "X-ray", "X-RAY"]


def test_spellings() -> None:
    assert spellings("diabetes Type II") == [
        "diabetes Type II",
        "diabetes type ii",
        "Diabetes Type II",
        "Diabetes type ii",
        "Diabetes Type Ii",
        "DIABETES TYPE II",
    ]
    assert spellings("mRNA") == ["mRNA", "mrna", "MRNA", "Mrna"]
    assert spellings("WHO") == ["WHO"]
    assert spellings("") == [""]


def test_terms_that_would_be_found_everywhere_are_refused() -> None:
    skipped = ErrorCounts()
    (left,) = FORMATS["spacy"].writable([nasty()], skipped)
    assert skipped.counts == {"a term without a letter or digit": 4}
    assert {error.value for error in skipped.examples["a term without a letter or digit"]} <= {
        *("\\", "''", '"', "\x1f"),
    }
    assert len(left.terms[1:]) == len(nasty().terms[1:]) - 4
    assert text_problem("x") == ""


@settings(max_examples=10, deadline=None)
@given(sets=entries())
def test_each_name_is_found_where_a_text_is_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, tokenizer: Language, sets: list[MinedSet]
) -> None:
    path = tmp_path_factory.mktemp("spacy") / "x.jsonl"
    sets = FORMATS["spacy"].writable([nasty(), *sets], ErrorCounts())
    write_spacy(path, sets, About())
    nlp = ruler(path)
    ids = {
        spelling: entry.id
        for entry in sets
        for name in names_of(entry)
        for spelling in spellings(name.text)
    }
    for spelling in ids:
        document = nlp(spelling)
        # A name with blanks at an end is found, though spaCy may leave them out of its entities.
        assert document.ents, spelling
        assert [token.text for token in document] == [
            token.text for token in tokenizer.make_doc(spelling)
        ]
