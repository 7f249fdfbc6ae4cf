"""Frequent phrases of a corpus that could be terms.

Runs of words that no punctuation interrupts are counted, up to a few words long. A phrase counts
as one where its words occur together much more often than by chance, wherever it is cut in two:
"breast cancer" is one, "treatment of breast cancer" is not, since all that holds it together is
a part of it. One that is mostly a part of the same longer one ("systemic lupus" within
"systemic lupus erythematosus") is a fragment and goes. That needs counts and a list of stop
words. `noun_phrases` selects those that could be names, by the words next to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, dropwhile, pairwise
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from synsetmine.corpus.documents import documents_at
from synsetmine.engines import Engine
from synsetmine.errors import require
from synsetmine.io.tables import read_table, write_table
from synsetmine.normalization import APOSTROPHES, HYPHENS, SIGN, WORD, fold, normal_form
from synsetmine.text.counters import TextBatch, count_together, one_row
from synsetmine.text.noun_phrases import (
    CLASSES,
    END,
    PhraseCounts,
    context_class,
    name_probabilities,
    threshold_for,
)
from synsetmine.text.tokens import FUNCTION_WORDS

MOST_COUNTED = 1 << 24  # runs of words in their contexts that are counted; then rare runs go
MOST_CANDIDATES = 1 << 20  # the most frequent ones that are looked at more closely
LONGEST_RUN = (1 << 16) - 1  # characters; a longer run is no phrase
MERGED = 1 << 20  # so many wait before they are added to the others
TEXT_END = "\1"
JOINERS = APOSTROPHES + HYPHENS
JOINING = frozenset(JOINERS)
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no word is lost from a hash

# The key of a run in a context: the upper bits of its hash, and the classes left and right of it.
SIDE_BITS = (len(CLASSES) - 1).bit_length()
SIDE = np.uint64((1 << SIDE_BITS) - 1)
CONTEXT = np.uint64((1 << 2 * SIDE_BITS) - 1)

# Words as in `text.tokens` ("'s" is one), hyphens and apostrophes, and all that may not be
# within a phrase: other punctuation, "n't" and its like, a number with a point or comma, and an
# empty line.
_PARTS = re.compile(
    rf"\d+(?:[.,]\d+)+(?![^\W_])|(?=[^\W_])(?:{SIGN}|{WORD}(?:[+#]+(?![^\W_]))?)"
    rf"|[^\w\s{JOINERS}]|\s[{JOINERS}]|[{JOINERS}]\s|[{JOINERS}]{{2}}|\n\s*\n"
    rf"|['\u2019](?:s|t|d|m|re|ve|ll)(?![^\W_])|[{JOINERS}]"
)
_GENITIVES = ("'s", "\u2019s")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A frequent phrase: its normal form, how it is written, and how often it occurs."""

    form: str
    surface: str  # its first occurrence in its most frequent context
    count: int
    probability: float = field(default=1.0, compare=False)  # that it could be a name


def count_phrases(
    documents: Path,
    *,
    max_tokens: int = 5,
    min_count: int = 5,
    cohesion: float = 0.2,
    fragment: float = 0.5,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> PhraseCounts:
    """The phrases of a stored corpus, and the words next to them; see `RunTable.phrases`.

    The corpus is read once, and then only where a phrase occurs. `progress` gets the number of
    texts done.
    """
    table = RunTable()
    counters = {"runs": RunCounter(max_tokens)}
    for batch in count_together(documents, counters, engine=engine, progress=progress):
        table.add(batch.tables["runs"], first=batch.first)
    return table.phrases(
        documents,
        max_tokens=max_tokens,
        min_count=min_count,
        cohesion=cohesion,
        fragment=fragment,
    )


def choose_phrases(
    counts: PhraseCounts,
    *,
    known: Collection[str] = (),
    most: int | None = None,
    threshold: float | None = None,
) -> list[Phrase]:
    """The phrases that could be names, the most promising first.

    One whose probability to be a name is below `threshold` goes. If that is None, it is
    `noun_phrases.THRESHOLD`, or less if that would lose too many of the `known` names, which are
    normal forms. Phrases are sorted by probability x cohesion x log(count outside of the most
    frequent longer phrase).
    """
    probability = name_probabilities(counts)
    if threshold is None:
        names = frozenset(known)
        is_known = np.array([form in names for form in counts.forms], np.bool_)
        threshold = threshold_for(probability, is_known)
    outside = np.maximum(counts.counts - counts.longer, 0)
    promise = probability * counts.cohesion * np.log(1 + outside)
    order = [i for i in np.argsort(-promise, kind="stable") if probability[i] >= threshold]
    return [
        Phrase(counts.forms[i], counts.surfaces[i], int(counts.counts[i]), float(probability[i]))
        for i in order[:most]
    ]


@dataclass(frozen=True, eq=False)
class _Words:
    """The words of some texts: one entry of the arrays for each."""

    hashes: NDArray[np.uint64]
    segment: NDArray[np.int32]  # no phrase goes from one to the next
    is_stop: NDArray[np.bool_]
    may_start: NDArray[np.bool_]
    may_end: NDArray[np.bool_]
    part: NDArray[np.int64]  # its number among the parts of the string
    kind: NDArray[np.int64]  # of each part of the string: its number among the distinct ones
    distinct: Sequence[str]

    def contexts(self) -> NDArray[np.int64]:
        """The context class of each part, with an end before the first and after the last."""
        classes = np.array([context_class(part) for part in self.distinct], np.int64)
        return np.concatenate([[END], classes[self.kind], [END]])

    def runs(self, longest: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.uint64]]]:
        """Size, first words and hashes of the runs of each size that could be phrases."""
        hashes = self.hashes
        # A number or a part of a hyphenated word alone is no phrase, but a part of some.
        fits = ~self.is_stop
        for size in range(1, min(longest, len(self.hashes)) + 1):
            last = slice(size - 1, None)
            if size > 1:
                hashes = hashes[:-1] * FACTOR + self.hashes[last]
                fits = self.may_end[last] & self.may_start[: len(hashes)]
                fits &= self.segment[: len(hashes)] == self.segment[last]
            first = np.flatnonzero(fits)
            yield size, first, hashes[first]


@dataclass(frozen=True)
class RunCounter:
    """Counts all runs of a batch in their contexts, and its words: one row of lists.

    A place is the number of a document and where a run begins in it, in 32 bits each. Runs have
    one token more than phrases: they show which of the longest phrases are fragments.
    """

    max_tokens: int = 5

    def __post_init__(self) -> None:
        require(self.max_tokens >= 2, "a phrase has two tokens or more", self.max_tokens)

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        joined = TEXT_END.join(batch.texts)
        parts = [*_PARTS.finditer(joined)]
        words = _read_words([part.group() for part in parts])
        flat = chain.from_iterable(map(re.Match.span, parts))
        spans = np.fromiter(flat, np.int64, 2 * len(parts)).reshape(-1, 2)
        starts, ends = spans[words.part].T
        begins = np.cumsum([0, *(len(text) + 1 for text in batch.texts)])  # of the texts
        document = np.searchsorted(begins, starts, side="right") - 1
        position = (document << 32) + starts - begins[document]
        beside = words.contexts().astype(np.uint64)
        keys = [np.empty(0, np.uint64)]
        positions, lengths = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for size, first, of_size in words.runs(self.max_tokens + 1):
            last = first + size - 1
            left, right = beside[words.part[first]], beside[words.part[last] + 2]
            keys.append(of_size & ~CONTEXT | left << np.uint64(SIDE_BITS) | right)
            positions.append(position[first])
            lengths.append(ends[last] - starts[first])
        distinct, seen, counts = np.unique(
            np.concatenate(keys), return_index=True, return_counts=True
        )
        # There may be much whitespace between stop words; such a place is useless.
        length = np.minimum(np.concatenate(lengths)[seen], LONGEST_RUN)
        first_places = np.concatenate(positions)[seen].astype(np.uint64)
        runs = Runs(distinct, counts, first_places, length.astype(np.uint16))
        return one_row(runs._asdict()).append_column("tokens", pa.array([len(words.hashes)]))


class RunTable:
    """How often each run was seen in each context, and where first, in bounded memory.

    Where a corpus has more than `MOST_COUNTED` of them, runs seen but once or twice are dropped
    at intervals, so that rare phrases may be missed or counted too low.
    """

    def __init__(self, runs: Runs | None = None, tokens: int = 0) -> None:
        self.runs = runs or Runs(*(np.empty(0, kind) for kind in _KINDS.values()))
        self.tokens = tokens  # of the corpus
        self._waiting: list[Runs] = []

    def add(self, batch: pa.RecordBatch, *, first: int) -> None:
        """Add what `RunCounter` made of a batch; `first` is the number of its first document."""
        runs = Runs(*(batch.column(name).values.to_numpy() for name in _KINDS))
        self._waiting.append(runs._replace(places=runs.places + np.uint64(first << 32)))
        self.tokens += batch.column("tokens")[0].as_py()
        if sum(len(runs.keys) for runs in self._waiting) > max(len(self.runs.keys), MERGED):
            self._merge()
        floor = 2
        while len(self.runs.keys) > MOST_COUNTED:
            self.drop_below(floor)
            floor += 1

    def phrases(
        self,
        documents: Path,
        *,
        max_tokens: int = 5,
        min_count: int = 5,
        cohesion: float = 0.2,
        fragment: float = 0.5,
    ) -> PhraseCounts:
        """The phrases among the runs of words of this stored corpus, sorted by their forms.

        Phrases neither start nor end with a stop word or within a hyphenated word, nor start
        with a number. The cohesion of a phrase is the normalised PMI of its two parts, at the
        weakest place to cut it; stop words at the cut belong to neither part. One of less than
        `cohesion` goes, and one that has at least a share `fragment` of its places within
        the same phrase of one token more.
        """
        require(min_count >= 1, "the smallest count is at least 1", min_count)
        self.drop_below(min_count)
        runs = self.in_all_contexts()
        phrases = {phrase.form: phrase for phrase in _phrases(runs.most_frequent(), documents)}
        scores = _scores(phrases, runs, self.tokens)
        chosen = sorted(
            form
            for form, score in scores.items()
            if score.cohesion >= cohesion
            and score.longest < fragment * phrases[form].count
            and form.count(" ") < max_tokens
        )
        words = [form.split(" ") for form in chosen]
        units = [
            run for parts in words for run in (_run_hash(parts), _hash(parts[0]), _hash(parts[-1]))
        ]
        contexts = self.contexts(np.array(units, np.uint64))
        return PhraseCounts(
            surfaces=[phrases[form].surface for form in chosen],
            forms=chosen,
            counts=np.array([phrases[form].count for form in chosen], np.int64),
            cohesion=np.array([scores[form].cohesion for form in chosen], np.float64),
            longer=np.array([scores[form].longest for form in chosen], np.int64),
            contexts=contexts.reshape(len(chosen), 3, 2, len(CLASSES)),
        )

    def contexts(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:  # (runs, 2, classes)
        """How often a word or sign of each class occurs left and right of these runs."""
        distinct, number = np.unique(hashes & ~CONTEXT, return_inverse=True)
        run = _places(self.runs.keys & ~CONTEXT, distinct)
        rows = np.flatnonzero(run >= 0)
        keys, run = self.runs.keys[rows], run[rows]
        sides = (keys >> np.uint64(SIDE_BITS) & SIDE, keys & SIDE)
        totals = [
            np.bincount(
                run * len(CLASSES) + side.astype(np.int64),
                weights=self.runs.counts[rows],
                minlength=len(distinct) * len(CLASSES),
            ).reshape(len(distinct), len(CLASSES))
            for side in sides
        ]
        return np.stack(totals, axis=1).astype(np.int64)[number]

    def in_all_contexts(self) -> Runs:
        """One row for each run, with its place in the context where it is seen most often."""
        runs = self.runs
        begins = _begins(runs.keys & ~CONTEXT)
        if not len(begins):
            return runs
        number = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(runs.keys)))
        usual = np.lexsort((runs.places, -runs.counts, number))[begins]
        counts = np.add.reduceat(runs.counts, begins)
        return runs.take(usual)._replace(keys=runs.keys[begins] & ~CONTEXT, counts=counts)

    def save(self, path: Path) -> None:
        """Write a Parquet file, whole or not at all."""
        write_table(path, pa.table(self.runs._asdict(), metadata={"tokens": str(self.tokens)}))

    @classmethod
    def load(cls, path: Path) -> RunTable:
        """Read what `save` wrote."""
        schema = pa.schema([(name, pa.from_numpy_dtype(kind)) for name, kind in _KINDS.items()])
        table = read_table(path, schema, "runs of words")
        tokens = (table.schema.metadata or {}).get(b"tokens", b"0")
        return cls(Runs(*(column.to_numpy() for column in table.columns)), int(tokens))

    def _merge(self) -> None:
        every = Runs(*map(np.concatenate, zip(self.runs, *self._waiting, strict=True)))
        self._waiting = []
        every = every.take(np.argsort(every.keys, kind="stable"))  # fast: sorted stretches
        begins = _begins(every.keys)
        counts = np.add.reduceat(every.counts, begins) if len(begins) else every.counts
        self.runs = every.take(begins)._replace(counts=counts)

    def drop_below(self, floor: int) -> None:
        """Drop the runs that occur less than `floor` times in all contexts together."""
        if self._waiting:
            self._merge()
        begins = _begins(self.runs.keys & ~CONTEXT)
        if len(begins):
            often = np.add.reduceat(self.runs.counts, begins) >= floor
            sizes = np.diff(begins, append=len(self.runs.keys))
            self.runs = self.runs.take(np.flatnonzero(np.repeat(often, sizes)))


class Runs(NamedTuple):
    """Runs of words, sorted by their keys: one entry of the arrays for each."""

    keys: NDArray[np.uint64]
    counts: NDArray[np.int64]
    places: NDArray[np.uint64]  # of the first occurrence: document << 32 | start
    lengths: NDArray[np.uint16]  # of the first occurrence, in characters

    def take(self, rows: NDArray[np.int64]) -> Runs:
        return Runs(self.keys[rows], self.counts[rows], self.places[rows], self.lengths[rows])

    def most_frequent(self) -> Runs:
        """The most frequent ones."""
        order = np.lexsort((self.keys, -self.counts))[:MOST_CANDIDATES]
        return self.take(np.sort(order))

    def counts_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """How often the runs with these hashes occur in the corpus."""
        row = _places(hashes & ~CONTEXT, self.keys)
        counts = np.zeros(len(hashes), np.int64)
        counts[row >= 0] = self.counts[row[row >= 0]]
        return counts


_KINDS = {"keys": np.uint64, "counts": np.int64, "places": np.uint64, "lengths": np.uint16}


def _read_words(parts: Sequence[str]) -> _Words:
    distinct = {part: number for number, part in enumerate(dict.fromkeys(parts))}
    words = [_word(part) for part in distinct]
    is_word = np.array([word != "" for word in words], np.bool_)
    joins = np.array([part in JOINING for part in distinct], np.bool_)
    stop = np.array([word in FUNCTION_WORDS for word in words], np.bool_)
    number = np.array([word.isnumeric() for word in words], np.bool_)
    hashes = np.array([_hash(word) for word in words], np.uint64)
    kind = np.fromiter(map(distinct.__getitem__, parts), np.int64, len(parts))
    word = is_word[kind]
    part = np.flatnonzero(word)
    # Position i + 1 of these is about part i.
    joint = np.zeros(len(kind) + 2, np.bool_)  # a hyphen between two words
    joint[2:-2] = joins[kind[1:-1]] & word[:-2] & word[2:]
    kept = kind[part]
    return _Words(
        hashes=hashes[kept],
        segment=np.cumsum(~(word | joint[1:-1]), dtype=np.int32)[part],
        is_stop=stop[kept],
        may_start=~((stop | number)[kept] | joint[part]),
        may_end=~(stop[kept] | joint[part + 2]),
        part=part,
        kind=kind,
        distinct=[*distinct],
    )


def _phrases(runs: Runs, documents: Path) -> Iterator[Phrase]:
    """The runs of two words or more, as they are written at their places."""
    runs = runs.take(np.argsort(runs.places, kind="stable"))
    numbers = runs.places >> np.uint64(32)
    borders = np.append(np.flatnonzero(np.diff(numbers, prepend=np.uint64(1 << 32))), len(numbers))
    starts = (runs.places & np.uint64(0xFFFFFFFF)).tolist()
    lengths, counts = runs.lengths.tolist(), runs.counts.tolist()
    texts = documents_at(documents, numbers[borders[:-1]].tolist())
    for (_, _, text), (first, last) in zip(texts, pairwise(borders.tolist()), strict=True):
        for row in range(first, last):
            surface = text[starts[row] : starts[row] + lengths[row]]
            form = normal_form(surface)
            if " " in form and lengths[row] < LONGEST_RUN:
                yield Phrase(form, " ".join(surface.split()), counts[row])


class _Score(NamedTuple):
    cohesion: float  # at the weakest cut
    longest: int  # count of the most frequent phrase with one more token that holds it


def _scores(phrases: Mapping[str, Phrase], runs: Runs, total: int) -> dict[str, _Score]:
    words = {form: form.split(" ") for form in phrases}
    singles = list({word for parts in words.values() for word in parts})
    counts = runs.counts_of(np.array([_hash(word) for word in singles], np.uint64)).tolist()
    count_of = dict(zip(singles, counts, strict=True))
    count_of.update((form, phrase.count) for form, phrase in phrases.items())
    longest: dict[str, int] = {}
    for form, parts in words.items():
        for piece in (_trim_end(parts[:-1]), _trim_start(parts[1:])):
            longest[piece] = max(longest.get(piece, 0), phrases[form].count)
    scores = {}
    for form, parts in words.items():
        together = phrases[form].count
        weakest = 1.0
        for cut in range(1, len(parts)):
            left = count_of.get(_trim_end(parts[:cut]), 0)
            right = count_of.get(_trim_start(parts[cut:]), 0)
            if left and right and together < total:
                gain = log(together * total / (left * right)) / -log(together / total)
                weakest = min(weakest, gain)
        scores[form] = _Score(weakest, longest.get(form, 0))
    return scores


def _trim_end(parts: Sequence[str]) -> str:
    """These words without the function words at their end."""
    return " ".join([*dropwhile(FUNCTION_WORDS.__contains__, reversed(parts))][::-1])


def _trim_start(parts: Sequence[str]) -> str:
    """These words without the function words at their start."""
    return " ".join(dropwhile(FUNCTION_WORDS.__contains__, parts))


@lru_cache(maxsize=1 << 17)
def _word(part: str) -> str:
    """The word that a part is, without its case, or "" for a decimal number or a sign."""
    if part in _GENITIVES:
        return "s"
    is_decimal = part[0].isdecimal() and ("." in part or "," in part)
    return fold(part) if part[0].isalnum() and not is_decimal else ""


@lru_cache(maxsize=1 << 17)
def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _run_hash(words: Sequence[str]) -> int:
    """The hash of a run, as `_Words.runs` has it."""
    value = 0
    for word in words:
        value = (value * int(FACTOR) + _hash(word)) % (1 << 64)
    return value


def _places(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The positions of values among the known ones, which are sorted; -1 for others."""
    if not len(known):
        return np.full(len(values), -1)
    row = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[row] == values, row, -1)


def _begins(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The first position of each value among these, which are sorted."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
