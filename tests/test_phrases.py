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

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine import phrases
from synsetmine.counters import count_together
from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError
from synsetmine.phrases import (
    STOP_WORDS,
    Phrase,
    RunCounter,
    RunTable,
    choose_phrases,
    mine_phrases,
)
from synsetmine.text import fold, normal_form, token_spans
from tests.corpusfiles import stored_texts

MEDLINE = Path(__file__).parents[2] / "shared" / "data" / "medline"

WORDS = ["heart", "Heart", "failure", "of", "the", "cancer", "breast", "2", "3.5", "c++", "心"]
GLUE = [" ", "-", "  ", "\n", "'", "_", ", ", ". ", " - ", "\n\n", "- ", "--", "\1", "/"]
random_text = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GLUE)), max_size=25).map(
    lambda parts: "".join(word + glue for word, glue in parts)
)

Batches = list[list[str]]


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
) -> list[Phrase]:
    counts: Counter[tuple[str, ...]] = Counter()
    spellings: dict[tuple[str, ...], str] = {}
    total = 0
    for text in texts:
        for stretch in segments(text):
            words = [fold(text[start:end]) for start, end in stretch]
            total += len(words)
            for i in range(len(words)):
                for j in range(i + 1, min(i + max_tokens + 1, len(words)) + 1):
                    run = tuple(words[i:j])
                    if run[0] in STOP_WORDS or run[-1] in STOP_WORDS:
                        continue
                    if run[0].isnumeric() and len(run) > 1:
                        continue
                    counts[run] += 1
                    surface = " ".join(text[stretch[i][0] : stretch[j - 1][1]].split())
                    spellings.setdefault(run, surface)
    often = {run: count for run, count in counts.items() if count >= min_count}
    longest: Counter[tuple[str, ...]] = Counter()
    for run, count in often.items():
        for piece in (stripped(run[:-1]), stripped(run[1:])):
            if len(run) > 1:
                longest[piece] = max(longest[piece], count)
    found = []
    for run, count in often.items():
        if not 2 <= len(run) <= max_tokens or longest[run] >= fragment * count:
            continue
        gains = [1.0]
        for cut in range(1, len(run)):
            left, right = often.get(stripped(run[:cut])), often.get(stripped(run[cut:]))
            if left and right:
                gains.append(log(count * total / (left * right)) / -log(count / total))
        if min(gains) < cohesion:
            continue
        promise = min(gains) * log(1 + count - longest[run])
        found.append((-promise, Phrase(" ".join(run), spellings[run], count)))
    return [p for _, p in sorted(found, key=lambda pair: (round(pair[0], 9), pair[1].form))]


def stripped(run: tuple[str, ...]) -> tuple[str, ...]:
    while run and run[0] in STOP_WORDS:
        run = run[1:]
    while run and run[-1] in STOP_WORDS:
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
    found = mine_phrases(stored_texts(batches), **given)
    assert sorted(found, key=lambda p: p.form) == sorted(expected, key=lambda p: p.form)


# --- What a user sees -------------------------------------------------------------------------


def test_a_phrase_is_found_with_its_first_spelling() -> None:
    texts = [f"word{i} Breast Cancer word{i + 50}, breast-cancer." for i in range(20)]
    texts += ["Breast cancer"] * 30
    assert mine_phrases(stored_texts([texts])) == [Phrase("breast cancer", "Breast Cancer", 70)]


@pytest.mark.parametrize(
    "text", ["heart, failure", "heart. Failure", "heart (failure)", "heart\n\nfailure",
             "heart - failure", "heart/failure", "heart: failure", "pre-heart- failure",
             "heart 'failure'", "heart -- failure", "heart—failure"],
)  # fmt: skip
def test_no_phrase_goes_across_punctuation(text: str) -> None:
    found = mine_phrases(stored_texts([[text] * 10, ["other words entirely"] * 3]), cohesion=-1)
    assert "heart failure" not in [phrase.form for phrase in found]


@pytest.mark.parametrize("glue", [" ", "  ", "\n", "-", "‐", "‑", "–", "'", "’", "_"])
def test_blanks_and_hyphens_do_not_divide(glue: str) -> None:
    found = mine_phrases(stored_texts([[f"heart{glue}failure"] * 10, ["lung", "liver"] * 9]))
    shown = "heart failure" if glue.isspace() else f"heart{glue}failure"
    assert found == [Phrase("heart failure", shown, 10)]


def test_no_phrase_goes_on_in_the_next_text() -> None:
    assert mine_phrases(stored_texts([["failure", "heart"] * 10])) == []


def test_neither_stop_words_nor_numbers_stand_at_the_border() -> None:
    texts = ["the quality of life in 20 patients with type 2 diabetes at 3.5 mg"] * 9
    found = mine_phrases(stored_texts([texts]), cohesion=-1, fragment=2, max_tokens=9)
    assert found
    for phrase in found:
        first, *_, last = phrase.form.split()
        assert first not in STOP_WORDS
        assert last not in STOP_WORDS
        assert not first.isnumeric()
    forms = [phrase.form for phrase in found]
    assert "quality of life" in forms
    assert "type 2 diabetes" in forms
    assert not any("mg" in form for form in forms)


def test_fragments_and_loose_phrases_go() -> None:
    lupus = [f"x{i} systemic lupus erythematosus y{i}" for i in range(30)]
    treated = [f"treatment of z{i}, breast cancer u{i}" for i in range(40)]
    loose = ["treatment of breast cancer"] * 5
    forms = [p.form for p in mine_phrases(stored_texts([lupus, treated, loose]), cohesion=0.3)]
    assert forms == ["breast cancer", "systemic lupus erythematosus"]


def test_own_stop_words() -> None:
    texts = ["Herz und Niere und"] * 9 + [f"wort{i}" for i in range(200)]
    found = mine_phrases(stored_texts([texts]), stop_words=["und"])
    assert [phrase.form for phrase in found] == ["herz und niere"]


def test_the_most_promising_come_first() -> None:
    texts = ["breast cancer"] * 20 + ["heart failure"] * 10 + ["lung"] * 70
    found = mine_phrases(stored_texts([texts]))
    assert [phrase.form for phrase in found] == ["breast cancer", "heart failure"]
    assert mine_phrases(stored_texts([texts]), most=1) == found[:1]
    assert mine_phrases(stored_texts([texts]), min_count=11) == found[:1]


def test_workers_and_batches_change_nothing() -> None:
    texts = [f"heart failure w{i % 7} breast cancer of w{i % 5}" for i in range(60)]
    one = mine_phrases(stored_texts([texts]), cohesion=-1)
    assert one
    split = [texts[:7], [], texts[7:]]
    assert mine_phrases(stored_texts(split), cohesion=-1) == one
    assert mine_phrases(stored_texts(split), cohesion=-1, engine=LocalEngine(2)) == one


def test_counts_wait_in_a_file(tmp_path: Path) -> None:
    texts = [f"heart failure w{i % 7} breast\n cancer of w{i % 5}" for i in range(60)]
    documents = stored_texts([texts[:7], texts[7:]])
    table = RunTable()
    for counted in count_together(documents, {"runs": RunCounter()}):
        table.add(counted.tables["runs"], first=counted.first)
    table.drop_below(3)
    table.save(tmp_path / "runs.parquet")
    chosen = choose_phrases(RunTable.load(tmp_path / "runs.parquet"), documents, cohesion=-1)
    assert chosen == mine_phrases(documents, cohesion=-1)
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
        sizes.append(len(self.runs.hashes))

    monkeypatch.setattr(RunTable, "add", add)
    batches = [[f"breast cancer a{i} b{i} c{i} d{i}, breast cancer e{i}."] * 2 for i in range(40)]
    found = mine_phrases(stored_texts(batches), fragment=2)
    assert max(sizes) <= 50
    assert found[0] == Phrase("breast cancer", "breast cancer", 160)


def test_only_the_most_frequent_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases, "MOST_CANDIDATES", 3)
    texts = ["breast cancer"] * 9 + ["heart failure"] * 5 + ["lung"] * 20
    assert [p.form for p in mine_phrases(stored_texts([texts]))] == ["breast cancer"]


def test_progress_counts_texts_once() -> None:
    told: list[int] = []
    mine_phrases(stored_texts([["a b"] * 4, ["c"] * 2]), progress=told.append)
    assert told == [4, 6]


@pytest.mark.parametrize("batches", [[], [[]], [["", "!"]], [["heart"]]])
def test_nothing_comes_of_nothing(batches: Batches) -> None:
    assert mine_phrases(stored_texts(batches), min_count=1) == []


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(DataError, match="two tokens or more: 1"):
        mine_phrases(stored_texts([]), max_tokens=1)
    with pytest.raises(DataError, match="at least 1: 0"):
        mine_phrases(stored_texts([]), min_count=0)


@pytest.mark.skipif(not MEDLINE.is_dir(), reason="needs the MEDLINE sample")
def test_known_names_are_among_the_first_in_real_texts() -> None:
    with gzip.open(MEDLINE / "corpus.jsonl.gz", "rt") as stream:
        texts = [json.loads(line)["text"] for line, _ in zip(stream, range(3000), strict=False)]
    with gzip.open(MEDLINE / "mesh.jsonl.gz", "rt") as stream:
        records = [json.loads(line) for line in stream]
    names = {normal_form(n) for record in records for n in [record["name"], *record["synonyms"]]}
    found = mine_phrases(stored_texts([texts[:1500], texts[1500:]]), most=500)
    assert sum(phrase.form in names for phrase in found) >= 200
