"""Vectors by co-occurrence, against counting by hand and a full decomposition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError
from synsetmine.normalization import normal_form
from synsetmine.text.counters import count_together
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import Term
from synsetmine.views import TermVectors, cooccurrence
from synsetmine.views.cooccurrence import (
    Cooccurrence,
    NeighbourCounter,
    cooccurrence_vectors,
    train_cooccurrence,
)
from tests.support.corpusfiles import store_texts
from tests.support.textunits import read_units

Batches = list[list[str]]


def plain_matrix(
    batches: Batches,
    forms: Sequence[str],
    *,
    window: int,
    text_weight: float,
    min_count: int,
    contexts: int,
) -> dict[str, npt.NDArray[np.float64]]:
    """The rows of the matrix by form, counted pair by pair."""
    texts: list[list[str]] = []
    for text in (text for batch in batches for text in batch):
        units = read_units([text], forms)
        texts.append([units.forms[unit] for unit in units.unit])
    counts = Counter(unit for text in texts for unit in text)
    often = sorted((f for f in counts if counts[f] >= min_count), key=lambda f: (-counts[f], f))
    columns = often[:contexts]
    rows = [form for form in often if form in columns or form in forms]
    near: Counter[tuple[str, str]] = Counter()
    for place in texts:
        for i, one in enumerate(place):
            for j in range(max(0, i - window), min(len(place), i + window + 1)):
                if i != j:
                    near[one, place[j]] += window + 1 - abs(i - j)
    whole = sum(counts[c] for c in columns)
    unit_block = positive(
        np.array([[near[r, c] for c in columns] for r in rows], float),
        np.array([counts[c] / whole for c in columns]),
    )
    inside = np.array([[text.count(r) for text in texts] for r in rows], float)
    text_block = positive(inside, inside.sum(axis=0) / inside.sum())
    blocks = [block / np.linalg.norm(block) for block in (unit_block, text_block) if block.any()]
    if text_weight and len(blocks) == 2:
        blocks[1] *= text_weight
    matrix = np.hstack(blocks if text_weight else blocks[:1])
    return dict(zip(rows, matrix, strict=True))


def positive(counts: Any, shares: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(counts / (counts.sum(axis=1, keepdims=True) * shares))
    return np.where((counts > 0) & (value > 0), value, 0)


def decomposed(rows: dict[str, npt.NDArray[np.float64]], dimension: int) -> npt.NDArray[Any]:
    """The rows of U S^(1/2)."""
    left, values, _ = np.linalg.svd(np.array([*rows.values()]), full_matrices=False)
    return np.asarray((left * values**0.5)[:, :dimension])


def cosines(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


def corpus(seed: int, texts: int = 40) -> Batches:
    """Random words of Zipf's kind in sentences, in batches of different sizes."""
    random = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(25)])
    weights = 1 / np.arange(1, 26)
    drawn = [
        ". W1 ".join(" ".join(random.choice(words, size, p=weights / weights.sum())) for size in s)
        for s in random.integers(1, 8, (texts, 3))
    ]
    return [drawn[:3], [], drawn[3:20], drawn[20:]]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"text_weight": 0.0},
        {"text_weight": 2.5, "window": 1},
        {"contexts": 4},
        {"min_count": 6},
    ],
)
def test_vectors_have_the_angles_of_the_plain_matrix(settings: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "window": 3, "text_weight": 1.3, "min_count": 2, "contexts": 100, **settings
    }  # fmt: skip
    batches = corpus(1)
    terms = [Term("w3 w1"), Term("w2"), Term("W9"), Term("w1 w1"), Term("w24"), Term("w17")]
    rows = plain_matrix(batches, [normal_form(term.surface) for term in terms], **given)
    # As many dimensions as there are rows lose nothing.
    vectors = train_cooccurrence(store_texts(batches), terms, dimension=60, **given)
    seen = [term for term in terms if normal_form(term.surface) in rows]
    assert vectors.terms == tuple(seen)
    assert len(seen) >= 3
    row_of = dict(zip(rows, decomposed(rows, 60), strict=True))
    expected = np.array([row_of[normal_form(term.surface)] for term in seen])
    np.testing.assert_allclose(cosines(vectors.matrix), cosines(expected), atol=2e-5)


def test_few_dimensions_are_the_first_of_the_decomposition() -> None:
    batches = corpus(2, texts=200)
    terms = [Term(f"w{i}") for i in range(25)]
    given: dict[str, Any] = {
        "window": 4, "text_weight": 0.0, "min_count": 1, "contexts": 100
    }  # fmt: skip
    rows = plain_matrix(batches, [], **given)
    vectors = train_cooccurrence(store_texts(batches), terms, dimension=24, **given)
    expected = decomposed(rows, 24)
    order = vectors.rows([Term(form) for form in rows])
    np.testing.assert_allclose(cosines(vectors.matrix[order]), cosines(expected), atol=1e-4)


def test_vectors_do_not_depend_on_workers_nor_batches() -> None:
    batches = corpus(3, texts=120)
    terms = [Term("w2 w1"), *(Term(f"w{i}") for i in range(20))]
    one = train(batches, terms, engine=LocalEngine(1))
    two = train(batches, terms, engine=LocalEngine(2))
    joined = train([[text for batch in batches for text in batch]], terms)
    for other in (two, joined):
        assert other.terms == one.terms
        np.testing.assert_array_equal(other.matrix, one.matrix)


def test_long_batches_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = corpus(4)
    terms = [Term(f"w{i}") for i in range(20)]
    whole = train(batches, terms)
    monkeypatch.setattr(cooccurrence, "PIECE", 7)
    np.testing.assert_array_equal(train(batches, terms).matrix, whole.matrix)


def train(batches: Batches, terms: Sequence[Term], **given: Any) -> TermVectors:
    defaults: dict[str, Any] = {"dimension": 8, "min_count": 1, "window": 3}
    return train_cooccurrence(store_texts(batches), terms, **{**defaults, **given})


def test_the_seed_gives_the_vectors() -> None:
    batches, terms = corpus(5, texts=200), [Term(f"w{i}") for i in range(25)]
    one, same = train(batches, terms, dimension=3), train(batches, terms, dimension=3)
    other = train(batches, terms, dimension=3, seed=1)
    np.testing.assert_array_equal(one.matrix, same.matrix)
    assert not np.array_equal(one.matrix, other.matrix)


def test_terms_that_are_seen_too_seldom_have_no_vector() -> None:
    batches = [["heart failure and a heart", "a heart failure", "lung and a heart"]]
    terms = [Term("heart failure"), Term("lung"), Term("failure"), Term("liver"), Term("!")]
    found = train(batches, terms, min_count=2)
    assert found.terms == (Term("heart failure"),)


def test_senses_and_spellings_share_a_vector() -> None:
    terms = [Term("w1!", "m.1"), Term("w2"), Term("w1", "m.2")]
    found = train(corpus(6), terms)
    assert found.terms == tuple(terms)
    np.testing.assert_array_equal(found.select([terms[0]]), found.select([terms[2]]))


def test_rows_have_one_length() -> None:
    found = train(corpus(7), [Term(f"w{i}") for i in range(20)])
    lengths = np.linalg.norm(found.matrix, axis=1)
    np.testing.assert_allclose(lengths, cooccurrence.LENGTH, rtol=1e-5)


@pytest.mark.parametrize("batches", [[], [[]], [[""], ["!"]], [["w1"]]])
def test_where_nothing_is_known_there_is_no_vector(batches: Batches) -> None:
    found = train(batches, [Term("w1")])
    assert len(found) == 0
    assert train(batches, []).terms == ()


def test_many_texts_share_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "TEXT_COLUMNS", 2)
    batches = corpus(8)
    terms = [Term(f"w{i}") for i in range(10)]
    found = train(batches, terms)
    joined = [[text for batch in batches for text in batch]]
    np.testing.assert_array_equal(found.matrix, train(joined, terms).matrix)


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_vectors_are_finite(seed: int) -> None:
    found = train(corpus(seed, texts=21), [Term(f"w{i}") for i in range(25)], dimension=30)
    assert np.isfinite(found.matrix).all()


def test_progress_ends_where_the_whole_is_done() -> None:
    told: list[tuple[int, int]] = []
    train(corpus(9), [Term("w1")], progress=lambda done, whole: told.append((done, whole)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert all(done <= whole for done, whole in told)
    assert told[-1] == (120, 120)  # texts, and as much again twice


@pytest.mark.parametrize(
    "wrong", [{"dimension": 0}, {"window": 0}, {"min_count": 0}, {"contexts": 0}, {"window": 256}]
)
def test_settings_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(DataError, match=str(max(wrong.values()))):
        train([["a b"]], [Term("a")], **wrong)


def test_names_that_take_turns_end_up_close() -> None:
    """Forty things with two names each, and five words that go with each thing."""
    random = np.random.default_rng(0)
    names = [f"thing{i} {side}" for i in range(40) for side in ("big one", "small")]
    texts = []
    for i in random.permutation(np.repeat(np.arange(80), 12)):
        words = [f"about{i // 2}x{j}" for j in random.integers(0, 5, 4)]
        words += [f"common{j}" for j in random.integers(0, 30, 4)]
        random.shuffle(words)
        texts.append(" ".join([*words[:4], names[i], *words[4:]]))
    terms = [Term(name) for name in names]
    vectors = train_cooccurrence(store_texts([texts[:500], texts[500:]]), terms, dimension=40)
    near = cosines(vectors.select(terms)) - 2 * np.eye(80)
    assert (near.argmax(axis=1) // 2 == np.arange(80) // 2).mean() == 1


def test_counts_wait_in_a_file(tmp_path: Path) -> None:
    documents = store_texts(corpus(5))
    forms = ["w2 w1", "w3", "w4"]
    counter = NeighbourCounter.of(forms, {"w1": 9, "w5": 9, "w3": 1}, min_count=2)
    assert counter.units == [*forms, "w1", "w5"]
    counts = Cooccurrence(counter.units)
    matcher = NameMatcher.build(forms)
    for counted in count_together(documents, {"near": counter}, matcher=matcher):
        counts.add(counted.tables["near"], first=counted.first, size=counted.size)
    path = tmp_path / "counts.safetensors"
    counts.save(path)
    again = Cooccurrence.load(path)
    terms = [Term("w3"), Term("w2 w1")]
    one, two = (cooccurrence_vectors(c, terms, dimension=4) for c in (counts, again))
    assert one.terms == two.terms == (Term("w3"), Term("w2 w1"))
    np.testing.assert_array_equal(one.matrix, two.matrix)
    np.testing.assert_array_equal(counts.counts, again.counts)
    Cooccurrence([]).save(path)
    assert Cooccurrence.load(path).units == []
    path.write_bytes(b"other")
    with pytest.raises(DataError, match=r"counts\.safetensors"):
        Cooccurrence.load(path)
