"""The sentences of a report: where they end, and how they are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.corpus.store import write_documents
from synsetmine.dictionary import NameMatcher
from synsetmine.results import Sentence, find_sentences
from synsetmine.results.reading import example_sentences
from synsetmine.sentences import sentence_around
from synsetmine.text import normal_form
from synsetmine.types import Document

quick = settings(max_examples=40, deadline=None)


def test_a_surface_without_a_letter_has_no_sentences(tmp_path: Path) -> None:
    documents = tmp_path / "documents.parquet"
    write_documents(documents, [Document("d", "The aspirin helps.")])
    found = example_sentences(documents, ["?!", "Aspirin"], 1)
    assert list(found) == ["aspirin"]
    assert example_sentences(documents, ["?!"], 1) == {}


def found_in(text: str, term: str, longest: int = 300) -> str:
    start = text.index(term)
    sentence = sentence_around("d", text, start, start + len(term), longest)
    assert sentence.text[sentence.start : sentence.end] == term
    return sentence.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One is here. The TERM is there. Another one.", "The TERM is there."),
        ("TERM", "TERM"),
        ("See e.g. TERM. Next one.", "See e.g. TERM."),
        ("Bad.  Diets (e.g. Atkins, i.e. TERM) work. Ok.", "Diets (e.g. Atkins, i.e. TERM) work."),
        ("The U.S. Army used TERM in 1990. Later.", "The U.S. Army used TERM in 1990."),
        ("It began in the U.S. The TERM came later.", "The TERM came later."),
        ("We saw Dr. A. B. Smith, Ph.D. and TERM. End.", "We saw Dr. A. B. Smith, Ph.D. and TERM."),
        ("As Jones et al. Showed. TERM (Fig. 3) rose. So.", "TERM (Fig. 3) rose."),
        ("By Smith et al. The TERM rose.", "The TERM rose."),
        ("It weighed 3.5 kg vs. TERM at 2.1 kg. Then.", "It weighed 3.5 kg vs. TERM at 2.1 kg."),
        ("Is TERM safe? Yes! We think so.", "Is TERM safe?"),
        ("Stop! TERM is bad.", "TERM is bad."),
        ("He said “Use TERM.” Then he left.", "He said “Use TERM.”"),
        ("(It was so.) TERM rose… Then it fell.", "TERM rose…"),
        ("It fell by half. 25 patients had TERM. Ok.", "25 patients had TERM."),
        ("Case No. 5 had TERM on Jan. 3 at 5 p.m. and left.", None),
        ("They said no. TERM won.", "TERM won."),
        ("A title\n\nThe body with TERM goes\non here. End.", "The body with TERM goes on here."),
        ("St. TERM lies at Mt. Fuji. So.", "St. TERM lies at Mt. Fuji."),
        ("它来了。TERM很好。再见。", "TERM很好。"),
        ("pH was 7. low TERM rose.", None),
        ("Version 2.0 of TERM.", None),
    ],
)
def test_sentences_end_where_people_end_them(text: str, sentence: str | None) -> None:
    assert found_in(text, "TERM") == (text if sentence is None else sentence)


def test_a_mark_inside_the_term_ends_nothing() -> None:
    text = "We left. He lives in St. Louis. The river is wide."
    assert found_in(text, "St. Louis") == "He lives in St. Louis."
    text = "He moved to the U.S. The rest stayed."
    assert found_in(text, "U.S") == "He moved to the U.S."


def test_long_sentences_are_cut_around_the_term_at_words() -> None:
    text = "alpha " * 100 + "TERM" + " omega" * 100 + "."
    cut = found_in(text, "TERM", longest=60)
    assert cut.startswith("…alpha alpha")
    assert cut.endswith("omega omega…")
    assert 45 <= len(cut) <= 60
    first = found_in("TERM" + " omega" * 100, "TERM", longest=60)
    assert first.startswith("TERM omega")
    assert 50 <= len(first) <= 60
    last = found_in("alpha " * 100 + "TERM.", "TERM", longest=60)
    assert last.endswith("alpha TERM.")
    assert 50 <= len(last) <= 60
    # A sentence that begins beyond the reach of a look is cut too, never taken for whole.
    assert found_in("x" * 500 + " TERM", "TERM", longest=100).startswith("…")


@given(
    st.lists(
        st.sampled_from(["a", "Bc", "e.g.", "end.", "U.S.", "\n\n", "  ", "é?", "。"]), max_size=60
    ),
    st.lists(
        st.sampled_from(["a", "Bc", "The", "end.", "No.", "5", "\n\n", "\t", "x!"]), max_size=60
    ),
    st.sampled_from(["t", "St. Louis", "x" * 90, "two\nlines"]),
    st.integers(20, 120),
)
@quick
def test_a_sentence_is_a_piece_of_its_text(
    before: list[str], after: list[str], term: str, longest: int
) -> None:
    left, right = " ".join([*before, ""]), " ".join(["", *after])
    found = sentence_around("d", left + term + right, len(left), len(left) + len(term), longest)
    inside = found.text[found.start : found.end]
    assert inside == " ".join(term.split())
    assert len(found.text) <= max(longest, len(inside) + 2)
    whole = " ".join((left + "«" + term + "»" + right).split())
    marked = f"{found.text[: found.start]}«{inside}»{found.text[found.end :]}"
    assert marked.strip("…").strip() in whole


class Texts:
    """A corpus that remembers how far it was read."""

    def __init__(self, batches: Sequence[Sequence[tuple[str, str]]]) -> None:
        self.batches = batches
        self.read = 0

    def __iter__(self) -> Iterator[Sequence[tuple[str, str]]]:
        for batch in self.batches:
            self.read += 1
            yield batch


def search(
    batches: Sequence[Sequence[tuple[str, str]]], names: Sequence[str], per_term: int = 3
) -> tuple[dict[str, list[Sentence]], int]:
    forms = [normal_form(name) for name in names]
    texts = Texts(batches)
    found = find_sentences(texts, forms, NameMatcher.build(forms), per_term=per_term)
    return found, texts.read


def test_sentences_are_found_for_every_term() -> None:
    batches = [
        [("d1", "Aspirin helps. Heart-attack patients rest."), ("d2", "A 😀 heart attack came.")],
        [("d3", "No HEART ATTACK here.")],
    ]
    found, _ = search(batches, ["heart attack", "aspirin", "unseen"])
    assert found == {
        "heart attack": [
            Sentence("d1", "Heart-attack patients rest.", 0, 12),
            Sentence("d2", "A 😀 heart attack came.", 4, 16),
            Sentence("d3", "No HEART ATTACK here.", 3, 15),
        ],
        "aspirin": [Sentence("d1", "Aspirin helps.", 0, 7)],
    }


def test_different_documents_are_preferred_and_repetitions_left_out() -> None:
    batches = [
        [("d1", "A flu one. A flu two. A flu three. A flu four.")],
        [("d2", "A flu one. A flu five.")],
        [("d3", "A flu six.")],
        [("d4", "A flu seven.")],
    ]
    found, read = search(batches, ["flu"])
    assert [s.document for s in found["flu"]] == ["d1", "d2", "d3"]
    assert len({s.text for s in found["flu"]}) == 3
    assert read == 3
    few, _ = search(batches[:1], ["flu"])
    assert [s.text for s in few["flu"]] == ["A flu one.", "A flu two.", "A flu three."]


def test_reading_stops_when_every_term_has_enough() -> None:
    batches = [[(f"d{i}", f"Text {i} has flu.")] for i in range(50)]
    found, read = search(batches, ["flu"], per_term=2)
    assert (len(found["flu"]), read) == (2, 2)
    found, read = search(batches, ["flu", "never"], per_term=2)
    assert (len(found["flu"]), read) == (2, 50)
    assert search(batches, ["flu"], per_term=0) == ({}, 0)
    assert search(batches, []) == ({}, 0)
