"""The sentences of a report: where they end, and how they are found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.normalization import normal_form
from synsetmine.runs import Sentence, find_sentences
from synsetmine.runs.folder import Artefacts
from synsetmine.runs.results import PLACES, example_sentences
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.tokens import sentence_around
from tests.support.corpusfiles import store_places, store_texts

quick = settings(max_examples=40, deadline=None)


def stored_places(batches: Sequence[Sequence[str]], forms: Sequence[str]) -> tuple[Path, Path]:
    """A stored corpus, and the first places of these forms in it."""
    documents = store_texts(batches)
    places = documents.with_suffix(".places")
    store_places(documents, places, forms)
    return documents, places


def test_a_surface_without_a_letter_has_no_sentences(tmp_path: Path) -> None:
    documents, places = stored_places([["The aspirin helps."]], ["aspirin"])
    at = Artefacts(tmp_path)
    documents.rename(at.documents)
    places.rename(at.places)
    assert list(example_sentences(at, ["?!", "Aspirin"], 1)) == ["aspirin"]
    assert example_sentences(at, ["?!"], 1) == {}
    assert example_sentences(at, ["aspirin"], 0) == {}


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


def search(
    batches: Sequence[Sequence[str]], names: Sequence[str], per_term: int = 3
) -> dict[str, list[Sentence]]:
    forms = [normal_form(name) for name in names]
    documents, places = stored_places(batches, [*forms, "other"])
    return find_sentences(documents, places, forms, per_term=per_term)


def test_sentences_are_found_for_every_term() -> None:
    batches = [
        ["Aspirin helps. Heart-attack patients rest.", "Other, then a 😀 heart attack came."],
        ["No HEART ATTACK here."],
    ]
    assert search(batches, ["heart attack", "aspirin", "unseen"]) == {
        "heart attack": [
            Sentence("d0", "Heart-attack patients rest.", 0, 12),
            Sentence("d1", "Other, then a 😀 heart attack came.", 16, 28),
            Sentence("d2", "No HEART ATTACK here.", 3, 15),
        ],
        "aspirin": [Sentence("d0", "Aspirin helps.", 0, 7)],
    }


def test_each_sentence_is_of_another_document_and_differs() -> None:
    batches = [
        ["A flu one. A flu two. A flu three."],
        ["A flu one. A flu five."],
        ["A flu six."],
        ["No.", "A flu seven."],
    ]
    assert [s.document for s in search(batches, ["flu"])["flu"]] == ["d0", "d2", "d4"]
    assert [s.text for s in search(batches, ["flu"], per_term=1)["flu"]] == ["A flu one."]
    assert search(batches, []) == {}


@given(st.lists(st.lists(st.sampled_from(["a b", "b", "a", "b b a"]), max_size=9), max_size=4))
@quick
def test_places_are_the_first_whatever_the_batches(batches: list[list[str]]) -> None:
    texts = [text for batch in batches for text in batch]
    forms = ["b", "a b", "c"]
    _, parts = stored_places(batches, forms)
    naive = []
    for number, form in enumerate(forms):
        matches = NameMatcher.build(forms).find(texts)
        first: dict[int, tuple[int, int]] = {}
        for text, start, end, found in zip(*matches.columns, strict=True):
            if found == number:
                first.setdefault(int(text), (int(start), int(end)))
        naive += [(form, text, *first[text]) for text in sorted(first)[:PLACES]]
    assert [tuple(row.values()) for row in pq.read_table(parts).to_pylist()] == naive


def test_only_the_documents_that_are_needed_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    documents, places = stored_places([["x"], ["flu"], ["x"], ["flu b"]], ["flu"])
    read: list[int] = []
    whole = pq.ParquetFile.read_row_group

    def counted(self: pq.ParquetFile, group: int, **given: Any) -> Any:
        if "text" in given.get("columns", ()):
            read.append(group)
        return whole(self, group, **given)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    assert len(find_sentences(documents, places, ["flu"])["flu"]) == 2
    assert read == [1, 3]


def test_other_files_are_no_places(tmp_path: Path) -> None:
    documents = store_texts([["flu"]])
    with pytest.raises(DataError, match="not a table of places"):
        find_sentences(documents, documents, ["flu"])
    with pytest.raises(DataError, match=r"gone\.parquet"):
        find_sentences(documents, tmp_path / "gone.parquet", ["flu"])
