"""Skip-gram vectors; gensim itself is the reference."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from synsetmine.corpus import batch_of
from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.text.counters import TextBatch
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import Document, Term
from synsetmine.views import TermVectors, skipgram
from synsetmine.views.skipgram import train_skipgram
from tests.support.corpusfiles import store_texts

pytest.importorskip("gensim")

Batches = list[list[str]]


def animals(texts: int = 400) -> Batches:
    """Cats and dogs have words of their own; each has two names."""
    random = np.random.default_rng(0)
    words = {"cat": ["purr", "meow", "milk", "claw"], "dog": ["bark", "bone", "leash", "woof"]}
    names = {"cat": ["house cat", "tabby"], "dog": ["hound", "sheep dog"]}
    drawn = []
    for i in range(texts):
        kind = "cat" if i % 2 else "dog"
        near = [*random.choice(words[kind], 4), *random.choice(["the", "a", "and"], 3)]
        near.insert(int(random.integers(0, 7)), str(random.choice(names[kind])))
        drawn.append(" ".join(near))
    return [drawn[:150], drawn[150:151], drawn[151:]]


ROOT = Path(__file__).parents[2]
NAMES = [Term("House-cat"), Term("tabby"), Term("hound"), Term("sheep dog")]


def train(batches: Batches, terms: Sequence[Term] = NAMES, **given: Any) -> TermVectors:
    defaults: dict[str, Any] = {"dimension": 12, "epochs": 8, "sample": 0.0}
    return train_skipgram(store_texts(batches), terms, **{**defaults, **given})


def cosines(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


def test_names_of_one_thing_are_close() -> None:
    vectors = train(animals())
    assert vectors.terms == tuple(NAMES)
    assert vectors.dimension == 12
    near = cosines(vectors.matrix) - 2 * np.eye(4)
    assert near.argmax(axis=1).tolist() == [1, 0, 3, 2]


def test_vectors_are_those_of_gensim_on_the_same_lines() -> None:
    from gensim.models import Word2Vec

    batches = animals()
    merged = [
        text.replace("house cat", "house_cat").replace("sheep dog", "sheep_dog").split()
        for batch in batches
        for text in batch
    ]
    given: dict[str, Any] = {"negative": 3, "window": 4, "epochs": 5, "seed": 7}
    ours = train(batches, **given, smoothing=0.5)
    # The same words by number, so that gensim sees the same order of equal counts.
    model = Word2Vec(merged, sg=1, vector_size=12, sample=0, min_count=5, workers=1,
                     ns_exponent=0.5, **given)  # fmt: skip
    theirs = np.array([model.wv[w] for w in ("house_cat", "tabby", "hound", "sheep_dog")])
    # Another reader and other random numbers, so that only the geometry can be compared.
    np.testing.assert_allclose(cosines(ours.matrix), cosines(theirs), atol=0.15)


def test_one_thread_gives_the_same_vectors_for_a_seed() -> None:
    batches = animals()
    one, same = train(batches), train(batches, engine=LocalEngine(2))
    np.testing.assert_array_equal(one.matrix, same.matrix)
    assert not np.array_equal(one.matrix, train(batches, seed=1).matrix)


@pytest.mark.slow
def test_the_hash_seed_of_python_counts_for_nothing() -> None:
    program = (
        "from tests.views.test_skipgram import animals, train\n"
        "print(train(animals(60)).matrix.tobytes().hex())"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(shown) == 1


def test_several_threads_work_too() -> None:
    assert train(animals(), threads=2).terms == tuple(NAMES)


def test_terms_that_are_seen_too_seldom_have_no_vector() -> None:
    terms = [*NAMES, Term("unicorn"), Term("!"), Term("tabby", "m.1")]
    vectors = train(animals(), terms)
    assert vectors.terms == (*NAMES, Term("tabby", "m.1"))
    np.testing.assert_array_equal(
        vectors.select([Term("tabby")]), vectors.select([Term("tabby", "m.1")])
    )
    assert len(train(animals(), terms, min_count=1000)) == 0
    assert len(train([], terms)) == 0


def test_no_unit_of_a_long_text_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skipgram, "LONGEST_LINE", 4)
    number_of = {"a b": 0, "c": 1, "d": 2}

    def lines(*texts: str) -> list[str]:
        writer = skipgram._LineWriter(["a b"], number_of)
        documents = batch_of([Document("", text) for text in texts])
        batch = TextBatch(documents, NameMatcher.build(["a b"]))
        found: list[str] = writer(batch).column("line").to_pylist()
        return found

    assert lines("A b c. D rare c d c", "", "d", "rare") == ["0 1 2 1", "2 1", "2"]
    assert lines() == []


def test_progress_ends_where_the_whole_is_done() -> None:
    told: list[tuple[int, int]] = []
    train(animals(), epochs=3, progress=lambda done, whole: told.append((done, whole)))
    done = [150, 151, 400, 550, 551, 800, 1200, 1600, 2000]  # of 400 documents and three epochs
    assert told == [(texts, 2000) for texts in done]


@pytest.mark.parametrize("name", ["dimension", "window", "epochs", "min_count", "threads"])
def test_settings_out_of_range_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="of 1 or more: 0"):
        train(animals(), NAMES, **{name: 0})


def test_a_missing_extra_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(SynsetmineError, match=r"pip install 'synsetmine\[skipgram\]'"):
        train(animals())
