"""Phrase mining, against counting by hand."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError
from synsetmine.normalization import fold, normal_form, token_spans
from synsetmine.text import phrases
from synsetmine.text.counters import count_together
from synsetmine.text.noun_phrases import CLASSES, context_class, name_probabilities
from synsetmine.text.phrases import (
    Phrase,
    RunCounter,
    RunTable,
    choose_phrases,
    count_phrases,
)
from synsetmine.text.tokens import FUNCTION_WORDS
from tests.support.corpusfiles import store_texts

MEDLINE = Path(__file__).parents[3] / "shared" / "data" / "medline"

WORDS = ["heart", "Heart", "failure", "of", "the", "cancer", "breast", "2", "3.5", "c++", "心"]
GLUE = [" ", "-", "  ", "\n", "'", "_", ", ", ". ", " - ", "\n\n", "- ", "--", "\1", "/"]
random_text = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GLUE)), max_size=25).map(
    lambda parts: "".join(word + glue for word, glue in parts)
)

Batches = list[list[str]]


def mine_phrases(
    documents: Path, *, threshold: float | None = None, most: int | None = None, **options: Any
) -> list[Phrase]:
    return choose_phrases(count_phrases(documents, **options), threshold=threshold, most=most)


# --- A plain reading of the rules -------------------------------------------------------------


def segments(text: str) -> Iterator[list[tuple[int, int]]]:
    """Stretches of tokens with nothing but blanks, one hyphen or one apostrophe between two."""
    decimals = {
        span for m in re.finditer(r"\d+(?:[.,]\d+)+", text) for span in range(m.start(), m.end())
    }
    stretch: list[tuple[int, int]] = []
    for start, end in token_spans(text):
        between = text[stretch[-1][1] : start] if stretch else ""
        joined = re.fullmatch(r"\s+|['-]|_", between) and not re.search(r"\n\s*\n", between)
        if stretch and (not joined or start in decimals):
            yield stretch
            stretch = []
        if start not in decimals:
            stretch.append((start, end))
    if stretch:
        yield stretch


def mine_plainly(
    texts: Iterable[str],
    *,
    max_tokens: int,
    min_count: int,
    cohesion: float,
    fragment: float,
) -> dict[str, tuple[int, set[str]]]:
    """The count and the spellings of each phrase."""
    counts: Counter[tuple[str, ...]] = Counter()
    spellings: dict[tuple[str, ...], set[str]] = {}
    total = 0
    for text in texts:
        for stretch in segments(text):
            words = [fold(text[start:end]) for start, end in stretch]
            total += len(words)
            for i in range(len(words)):
                for j in range(i + 1, min(i + max_tokens + 1, len(words)) + 1):
                    run = tuple(words[i:j])
                    if run[0] in FUNCTION_WORDS or run[-1] in FUNCTION_WORDS:
                        continue
                    if run[0].isnumeric() and len(run) > 1:
                        continue
                    if len(run) > 1 and (joined(text, stretch, i) or joined(text, stretch, j)):
                        continue
                    counts[run] += 1
                    surface = " ".join(text[stretch[i][0] : stretch[j - 1][1]].split())
                    spellings.setdefault(run, set()).add(surface)
    often = {run: count for run, count in counts.items() if count >= min_count}
    longest: Counter[tuple[str, ...]] = Counter()
    for run, count in often.items():
        for piece in (stripped(run[:-1]), stripped(run[1:])):
            if len(run) > 1:
                longest[piece] = max(longest[piece], count)
    chosen = {}
    for run, count in often.items():
        if not 2 <= len(run) <= max_tokens or longest[run] >= fragment * count:
            continue
        gains = [1.0]
        for cut in range(1, len(run)):
            left, right = often.get(stripped(run[:cut])), often.get(stripped(run[cut:]))
            if left and right:
                gains.append(log(count * total / (left * right)) / -log(count / total))
        if min(gains) >= cohesion:
            chosen[" ".join(run)] = count, spellings[run]
    return chosen


def joined(text: str, stretch: list[tuple[int, int]], number: int) -> bool:
    """Whether a hyphen or an apostrophe stands between this token and the one before it."""
    if not 0 < number < len(stretch):
        return False
    return text[stretch[number - 1][1] : stretch[number][0]] in ("-", "'")


def stripped(run: tuple[str, ...]) -> tuple[str, ...]:
    while run and run[0] in FUNCTION_WORDS:
        run = run[1:]
    while run and run[-1] in FUNCTION_WORDS:
        run = run[:-1]
    return run


@given(
    st.lists(st.lists(random_text, max_size=4), max_size=3),
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from([-1.0, 0.2]),
    st.sampled_from([0.5, 1.1]),
)
@settings(max_examples=200, deadline=None)
def test_phrases_are_those_of_a_plain_reading(
    batches: Batches, max_tokens: int, min_count: int, cohesion: float, fragment: float
) -> None:
    given: dict[str, Any] = {
        "max_tokens": max_tokens,
        "min_count": min_count,
        "cohesion": cohesion,
        "fragment": fragment,
    }
    expected = mine_plainly((text for batch in batches for text in batch), **given)
    mined = mine_phrases(store_texts(batches), threshold=0, **given)
    assert {phrase.form: phrase.count for phrase in mined} == {
        form: count for form, (count, _) in expected.items()
    }
    assert all(phrase.surface in expected[phrase.form][1] for phrase in mined)


# --- What a user sees -------------------------------------------------------------------------


def test_a_phrase_is_written_as_in_its_most_frequent_context() -> None:
    texts = ["Breast cancer."] * 20 + ["a breast cancer,", "a Breast-Cancer, of breast cancer"] * 20
    mined = mine_phrases(store_texts([texts]), threshold=0)
    assert mined == [Phrase("breast cancer", "breast cancer", 80)]


@pytest.mark.parametrize(
    "text", ["heart, failure", "heart. Failure", "heart (failure)", "heart\n\nfailure",
             "heart - failure", "heart/failure", "heart: failure", "pre-heart- failure",
             "heart 'failure'", "heart -- failure", "heart—failure"],
)  # fmt: skip
def test_no_phrase_goes_across_punctuation(text: str) -> None:
    texts = [[text] * 10, ["other words entirely"] * 3]
    found = mine_phrases(store_texts(texts), cohesion=-1, threshold=0)
    assert "heart failure" not in [phrase.form for phrase in found]


@pytest.mark.parametrize("glue", [" ", "  ", "\n", "-", "‐", "‑", "–", "'", "’", "_"])
def test_blanks_and_hyphens_do_not_divide(glue: str) -> None:
    texts = [[f"heart{glue}failure"] * 10, ["lung", "liver"] * 9]
    found = mine_phrases(store_texts(texts), threshold=0)
    shown = "heart failure" if glue.isspace() else f"heart{glue}failure"
    assert found == [Phrase("heart failure", shown, 10)]


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("IgG anti-CD3", "igg anti"),
        ("long-term potentiation", "term potentiation"),
        ("they don't know", "don t"),
        ("the d'Ivoire coast", "ivoire coast"),
    ],
)
def test_no_phrase_begins_or_ends_within_a_word(text: str, absent: str) -> None:
    counts = count_phrases(store_texts([[text] * 10]), cohesion=-1, fragment=2)
    assert absent not in counts.forms


def test_a_genitive_stands_within_a_phrase_or_after_it() -> None:
    texts = ["a Crohn's disease", "the Crohn Foundation\u2019s aims"] * 9
    forms = count_phrases(store_texts([texts]), cohesion=-1, fragment=2).forms
    assert {"crohn s disease", "crohn foundation"} <= {*forms}


PLAIN = st.lists(
    st.tuples(
        st.sampled_from(["heart", "Failure", "the", "of", "7", "is", "lung"]),
        st.sampled_from([" ", " ", ", ", ". ", " (", ") "]),
    ),
    max_size=30,
).map(lambda parts: "".join(word + glue for word, glue in parts))


@given(st.lists(PLAIN, max_size=4))
@settings(deadline=None)
def test_contexts_are_those_of_a_plain_reading(texts: list[str]) -> None:
    expected: Counter[tuple[str, int, int]] = Counter()
    together: dict[str, Counter[tuple[int, int]]] = {}  # the classes left and right of a run
    first: dict[tuple[str, int, int], str] = {}
    for text in texts:
        parts = [".", *re.findall(r"\w+|[^\w\s]", text), "."]
        for i in range(1, len(parts)):
            for j in range(i + 1, len(parts)):
                run = " ".join(map(fold, parts[i:j]))
                beside = context_class(parts[i - 1]), context_class(parts[j])
                together.setdefault(run, Counter())[beside] += 1
                first.setdefault((run, *beside), " ".join(parts[i:j]))
                for side, place in enumerate((i - 1, j)):
                    expected[run, side, context_class(parts[place])] += 1
    counts = count_phrases(store_texts([texts]), min_count=1, cohesion=-1, fragment=2)
    for number, form in enumerate(counts.forms):
        usual, _ = together[form].most_common(1)[0]  # of equals the one that was seen first
        assert counts.surfaces[number] == first[form, *usual]
        words = form.split(" ")
        for unit, run in enumerate([form, words[0], words[-1]]):
            for side in range(2):
                plain = [expected[run, side, kind] for kind in range(len(CLASSES))]
                assert counts.contexts[number, unit, side].tolist() == plain


def test_no_phrase_goes_on_in_the_next_text() -> None:
    assert mine_phrases(store_texts([["failure", "heart"] * 10]), threshold=0) == []


def test_neither_stop_words_nor_numbers_stand_at_the_border() -> None:
    texts = ["the quality of life in 20 patients with type 2 diabetes at 3.5 mg"] * 9
    found = mine_phrases(store_texts([texts]), cohesion=-1, fragment=2, max_tokens=9, threshold=0)
    assert found
    for phrase in found:
        first, *_, last = phrase.form.split()
        assert first not in FUNCTION_WORDS
        assert last not in FUNCTION_WORDS
        assert not first.isnumeric()
    forms = [phrase.form for phrase in found]
    assert "quality of life" in forms
    assert "type 2 diabetes" in forms
    assert not any("mg" in form for form in forms)


def test_fragments_and_loose_phrases_go() -> None:
    lupus = [f"x{i} systemic lupus erythematosus y{i}" for i in range(30)]
    treated = [f"treatment of z{i}, breast cancer u{i}" for i in range(40)]
    loose = ["treatment of breast cancer"] * 5
    texts = store_texts([lupus, treated, loose])
    forms = sorted(p.form for p in mine_phrases(texts, cohesion=0.3, threshold=0))
    assert forms == ["breast cancer", "systemic lupus erythematosus"]


def test_the_most_promising_come_first() -> None:
    texts = ["breast cancer"] * 20 + ["heart failure"] * 10 + ["lung"] * 70
    found = mine_phrases(store_texts([texts]), threshold=0)
    # The words of each stand only together: cohesion 1.
    promise = {phrase.form: phrase.probability * log(1 + phrase.count) for phrase in found}
    assert [*promise] == sorted(["breast cancer", "heart failure"], key=lambda f: -promise[f])
    assert mine_phrases(store_texts([texts]), threshold=0, most=1) == found[:1]
    often = mine_phrases(store_texts([texts]), threshold=0, min_count=11)
    assert [phrase.form for phrase in often] == ["breast cancer"]


def test_workers_and_batches_change_nothing() -> None:
    texts = [f"heart failure w{i % 7} breast cancer of w{i % 5}" for i in range(60)]
    one = count_phrases(store_texts([texts]), cohesion=-1)
    assert len(one)
    split = store_texts([texts[:7], [], *([text] for text in texts[7:])])
    for engine in (LocalEngine(1), LocalEngine(2)):
        counts = count_phrases(split, cohesion=-1, engine=engine)
        assert counts.surfaces == one.surfaces
        np.testing.assert_array_equal(counts.contexts, one.contexts)
        np.testing.assert_array_equal(name_probabilities(counts), name_probabilities(one))


def test_counts_wait_in_a_file(tmp_path: Path) -> None:
    texts = [f"heart failure w{i % 7} breast\n cancer of w{i % 5}" for i in range(60)]
    documents = store_texts([texts[:7], texts[7:]])
    table = RunTable()
    for counted in count_together(documents, {"runs": RunCounter()}):
        table.add(counted.tables["runs"], first=counted.first)
    table.drop_below(3)
    table.save(tmp_path / "runs.parquet")
    counts = RunTable.load(tmp_path / "runs.parquet").phrases(documents, cohesion=-1)
    chosen = choose_phrases(counts, threshold=0)
    assert chosen == mine_phrases(documents, cohesion=-1, threshold=0)
    assert Phrase("breast cancer", "breast cancer", 60) in chosen
    (tmp_path / "runs.parquet").write_bytes(b"other")
    with pytest.raises(DataError, match=r"runs\.parquet"):
        RunTable.load(tmp_path / "runs.parquet")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases, "MOST_COUNTED", 50)
    monkeypatch.setattr(phrases, "MERGED", 1)
    sizes: list[int] = []
    kept = RunTable.add

    def add(self: RunTable, counted: pa.RecordBatch, *, first: int) -> None:
        kept(self, counted, first=first)
        sizes.append(len(self.runs.keys))

    monkeypatch.setattr(RunTable, "add", add)
    batches = [[f"breast cancer a{i} b{i} c{i} d{i}, breast cancer e{i}."] * 2 for i in range(40)]
    found = mine_phrases(store_texts(batches), fragment=2, threshold=0)
    assert max(sizes) <= 50
    assert found[0] == Phrase("breast cancer", "breast cancer", 160)


def test_only_the_most_frequent_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases, "MOST_CANDIDATES", 3)
    texts = ["breast cancer"] * 9 + ["heart failure"] * 5 + ["lung"] * 20
    found = mine_phrases(store_texts([texts]), threshold=0)
    assert [phrase.form for phrase in found] == ["breast cancer"]


def test_progress_counts_texts_once() -> None:
    told: list[int] = []
    mine_phrases(store_texts([["a b"] * 4, ["c"] * 2]), progress=told.append)
    assert told == [4, 6]


@pytest.mark.parametrize("batches", [[], [[]], [["", "!"]], [["heart"]]])
def test_nothing_comes_of_nothing(batches: Batches) -> None:
    assert mine_phrases(store_texts(batches), min_count=1, threshold=0) == []


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(DataError, match="two tokens or more: 1"):
        mine_phrases(store_texts([]), max_tokens=1)
    with pytest.raises(DataError, match="at least 1: 0"):
        mine_phrases(store_texts([]), min_count=0)


@pytest.mark.slow
@pytest.mark.skipif(not MEDLINE.is_dir(), reason="needs the MEDLINE sample")
def test_known_names_are_among_the_first_in_real_texts() -> None:
    with gzip.open(MEDLINE / "corpus.jsonl.gz", "rt") as stream:
        texts = [json.loads(line)["text"] for line, _ in zip(stream, range(3000), strict=False)]
    with gzip.open(MEDLINE / "mesh.jsonl.gz", "rt") as stream:
        records = [json.loads(line) for line in stream]
    names = {normal_form(n) for record in records for n in [record["name"], *record["synonyms"]]}
    counts = count_phrases(store_texts([texts[:1500], texts[1500:]]))
    chosen = choose_phrases(counts, known=names)
    every = choose_phrases(counts, threshold=0)
    assert sum(phrase.form in names for phrase in chosen[:500]) >= 200
    # Half of the phrases that hold together are no names, and nearly all of the known names stay.
    assert len(chosen) < 0.7 * len(every)
    kept = {phrase.form for phrase in chosen} & names
    assert len(kept) >= 0.9 * len({phrase.form for phrase in every} & names)
    loose = {"results indicate", "relatively high", "present study", "statistically significant"}
    assert loose <= {phrase.form for phrase in every}
    assert loose.isdisjoint(phrase.form for phrase in chosen)
