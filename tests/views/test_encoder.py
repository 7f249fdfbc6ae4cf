"""Vectors of a sentence encoder; sentence-transformers itself is the reference."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.types import Term
from synsetmine.views import TermVectors, encoder, read_vectors, write_vectors
from synsetmine.views.encoder import encode_terms, find_encoder, packaged_encoder
from tests.support.strategies import term_lists

SURFACES = [
    "heart attack",
    "Heart Attack",
    "myocardial infarction",
    "WHO",
    "Straße",
    "漢字",
    "a" * 900,
]
TERMS = [Term(surface) for surface in SURFACES]


@dataclass
class LetterCounter:
    """An encoder of few words: the length of a text, and how often it holds some letters."""

    letters: str = "ae"
    asked: list[list[str]] = field(default_factory=list)

    def encode(self, texts: list[str], **_options: Any) -> npt.NDArray[np.float32]:
        self.asked.append(texts)
        return np.array([[len(text), *map(text.count, self.letters)] for text in texts], np.float32)

    def row(self, text: str) -> list[float]:
        return [len(text), *map(text.count, self.letters)]


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> LetterCounter:
    """An encoder for all names, without the packages of the real ones."""
    fake = LetterCounter()
    monkeypatch.setattr(encoder, "load_encoder", lambda _model, _device: fake)
    monkeypatch.setattr(encoder, "quiet", nullcontext)
    return fake


def rows(vectors: TermVectors, *surfaces: str) -> list[list[float]]:
    return [row.tolist() for row in vectors.select([Term(surface) for surface in surfaces])]


def stored_file(cache: Path) -> Path:
    (path,) = cache.iterdir()  # nothing else, such as a half-written file
    return path


# --- Terms and surfaces -----------------------------------------------------------------------


def test_each_term_gets_the_vector_of_its_surface(counter: LetterCounter) -> None:
    terms = [Term("banana"), Term("pea", "m.1"), Term("pea", "m.2"), Term("banana"), Term("a||b")]
    vectors = encode_terms(terms, "any")
    assert vectors.terms == (terms[0], terms[1], terms[2], terms[4])
    assert vectors.matrix.tolist() == [counter.row(s) for s in ("banana", "pea", "pea", "a||b")]
    assert sorted(text for texts in counter.asked for text in texts) == ["a||b", "banana", "pea"]


def test_batches_are_of_one_length_and_reported(counter: LetterCounter) -> None:
    told: list[tuple[int, int]] = []
    terms = [Term(text) for text in ("aa", "e", "aaaa", "eee", "aaaaa")]
    vectors = encode_terms(
        terms, "any", batch=2, progress=lambda done, whole: told.append((done, whole))
    )
    assert counter.asked == [["aaaaa", "aaaa"], ["eee", "aa"], ["e"]]
    assert told == [(2, 5), (4, 5), (5, 5)]
    assert vectors.matrix.tolist() == [counter.row(term.surface) for term in terms]


def test_no_terms_have_no_vectors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(encoder, "load_encoder", None)  # calling it would raise
    assert len(encode_terms([], "any")) == 0
    assert len(encode_terms([], "any", cache=tmp_path)) == 0


def test_a_batch_holds_something(counter: LetterCounter) -> None:
    with pytest.raises(DataError, match="expected a number of 1 or more: 0"):
        encode_terms(TERMS, "any", batch=0)


def test_a_vector_that_is_not_finite_is_refused_and_not_kept(
    counter: LetterCounter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = np.array([[np.nan], [1]], np.float32)
    monkeypatch.setattr(counter, "encode", lambda _texts, **_options: broken)
    with pytest.raises(DataError, match="this term's vector is not finite: 'bb'"):
        encode_terms([Term("a"), Term("bb")], "any", cache=tmp_path)
    assert not list(tmp_path.iterdir())


# --- The cache --------------------------------------------------------------------------------


def test_what_is_known_needs_no_model(
    counter: LetterCounter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = encode_terms(TERMS, "any", cache=tmp_path / "new")
    monkeypatch.setattr(encoder, "load_encoder", None)  # calling it would raise
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    again = encode_terms([Term(t.surface, "m.7") for t in TERMS], "any", cache=tmp_path / "new")
    assert again.matrix.tolist() == first.matrix.tolist()
    assert again.terms[0] == Term("heart attack", "m.7")
    fewer = encode_terms(TERMS[2:4], "any", cache=tmp_path / "new")
    assert fewer.matrix.tolist() == first.matrix[2:4].tolist()


@given(terms=term_lists(6))
@settings(max_examples=40, deadline=None)
def test_any_surfaces_come_back_from_the_cache(
    tmp_path_factory: pytest.TempPathFactory, terms: list[Term]
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    fake = LetterCounter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "load_encoder", lambda _model, _device: fake)
        patch.setattr(encoder, "quiet", nullcontext)
        plain = encode_terms(terms, "any")
        kept = encode_terms(terms, "any", cache=cache)
        patch.setattr(encoder, "load_encoder", None)
        again = encode_terms(terms, "any", cache=cache)
    assert plain.terms == kept.terms == again.terms == tuple(terms)
    assert plain.matrix.tolist() == kept.matrix.tolist() == again.matrix.tolist()


def test_only_new_surfaces_are_encoded(counter: LetterCounter, tmp_path: Path) -> None:
    encode_terms([Term("pea"), Term("bean")], "any", cache=tmp_path)
    counter.asked.clear()
    vectors = encode_terms([Term("rice"), Term("bean"), Term("oat", "x")], "any", cache=tmp_path)
    assert counter.asked == [["rice", "oat"]]
    assert [term.surface for term in vectors.terms] == ["rice", "bean", "oat"]
    assert vectors.matrix.tolist() == [counter.row(s) for s in ("rice", "bean", "oat")]
    kept = read_vectors(stored_file(tmp_path))
    assert kept.terms == tuple(map(Term, ("pea", "bean", "rice", "oat")))
    assert rows(kept, "pea", "oat") == [counter.row("pea"), counter.row("oat")]


def test_each_model_has_its_own_file(counter: LetterCounter, tmp_path: Path) -> None:
    encode_terms([Term("pea")], "one", cache=tmp_path)
    counter.letters = "p"
    vectors = encode_terms([Term("pea")], "two", cache=tmp_path)
    assert vectors.matrix.tolist() == [[3, 1]]
    assert len(list(tmp_path.iterdir())) == 2


BROKEN: dict[str, Any] = {
    "empty": lambda content: b"",
    "torn": lambda content: content[: len(content) // 2],
    "torn at the end": lambda content: content[:-3],
    "other": lambda content: b"something else",
    "not finite": lambda content: content.replace(
        np.float32(3).tobytes(), np.float32(np.nan).tobytes()
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_file_is_made_anew(counter: LetterCounter, tmp_path: Path, how: str) -> None:
    encode_terms([Term("pea"), Term("bean")], "any", cache=tmp_path)
    path = stored_file(tmp_path)
    good = path.read_bytes()
    assert BROKEN[how](good) != good
    path.write_bytes(BROKEN[how](good))
    vectors = encode_terms([Term("pea"), Term("bean")], "any", cache=tmp_path)
    assert vectors.matrix.tolist() == [counter.row("pea"), counter.row("bean")]
    assert stored_file(tmp_path).read_bytes() == good


def test_a_name_that_now_means_a_model_of_another_size_starts_anew(
    counter: LetterCounter, tmp_path: Path
) -> None:
    encode_terms([Term("pea"), Term("bean")], "any", cache=tmp_path)
    counter.letters = "aeb"
    vectors = encode_terms([Term("bean"), Term("rice")], "any", cache=tmp_path)
    assert vectors.matrix.tolist() == [counter.row("bean"), counter.row("rice")]
    assert read_vectors(stored_file(tmp_path)).terms == (Term("bean"), Term("rice"))


def test_an_encoder_that_fails_leaves_the_file_as_it_was(
    counter: LetterCounter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    encode_terms([Term("pea")], "any", cache=tmp_path)
    before = stored_file(tmp_path).read_bytes()

    def fail(_texts: Sequence[str], **_options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(counter, "encode", fail)
    with pytest.raises(MemoryError):
        encode_terms(TERMS, "any", cache=tmp_path)
    assert stored_file(tmp_path).read_bytes() == before


def model_folder(folder: Path, weights: bytes = b"w") -> str:
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text("[]")
    (folder / "1_Pooling" / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return str(folder)


def test_a_folder_is_known_by_its_content(counter: LetterCounter, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for name in ("one", "copy"):
        encode_terms([Term("pea")], model_folder(tmp_path / name), cache=cache)
    assert len(counter.asked) == 1
    (tmp_path / "copy" / ".git").mkdir()
    (tmp_path / "copy" / ".git" / "config").write_text("hidden")
    encode_terms([Term("pea")], str(tmp_path / "copy"), cache=cache)
    assert len(counter.asked) == 1
    encode_terms([Term("pea")], model_folder(tmp_path / "other", b"v"), cache=cache)
    assert len(counter.asked) == 2
    (tmp_path / "one" / "1_Pooling" / "config.json").write_text('{"mode": "max"}')
    encode_terms([Term("pea")], str(tmp_path / "one"), cache=cache)
    assert len(counter.asked) == 3
    assert len(list(cache.iterdir())) == 3


# --- What is missing --------------------------------------------------------------------------


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(SynsetmineError, match=r"pip install 'synsetmine\[encoder\]'"):
        encode_terms(TERMS, "any")


def test_a_folder_without_a_model_is_not_read(counter: LetterCounter, tmp_path: Path) -> None:
    (tmp_path / "huge.bin").write_bytes(b"0")
    with pytest.raises(DataError, match=f"{tmp_path}: no encoder in this folder"):
        encode_terms(TERMS, str(tmp_path), cache=tmp_path / "cache")


def test_the_packaged_encoder_is_found_only_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "PACKAGE", "no_such_package_here")
    assert packaged_encoder() is None
    monkeypatch.setattr(encoder, "PACKAGE", "json")  # a package without a model
    assert packaged_encoder() is None
    monkeypatch.setattr(encoder, "PACKAGE", "this")  # no package at all
    assert packaged_encoder() is None


def test_only_the_packaged_encoder_has_a_name_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(encoder, "packaged_encoder", lambda: tmp_path)
    assert find_encoder("minilm") == str(tmp_path)
    assert find_encoder("some/name") == "some/name"
    monkeypatch.setattr(encoder, "packaged_encoder", lambda: None)
    with pytest.raises(SynsetmineError, match="`minilm` needs its package: pip install gt-all-"):
        find_encoder("minilm")


def test_a_written_table_is_a_cache_like_any_vector_file(
    counter: LetterCounter, tmp_path: Path
) -> None:
    encode_terms([Term("pea")], "any", cache=tmp_path)
    path = stored_file(tmp_path)
    write_vectors(path, TermVectors((Term("pea"),), np.array([[7, 7, 7]], np.float32)))
    assert encode_terms([Term("pea")], "any", cache=tmp_path).matrix.tolist() == [[7, 7, 7]]
