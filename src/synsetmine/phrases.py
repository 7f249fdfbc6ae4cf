"""Frequent phrases of a corpus that could be terms.

Runs of words that no punctuation interrupts are counted, up to a few words long. A phrase counts
as one where its words stand together much more often than by chance, wherever it is cut in two:
"breast cancer" is one, "treatment of breast cancer" is not, since all that holds it together is
a part of it. One that is mostly a part of the same longer one ("systemic lupus" within
"systemic lupus erythematosus") is a fragment and goes. That needs counts and a list of stop
words, but no grammar and no training.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, pairwise
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synsetmine.corpus.store import documents_at
from synsetmine.counters import TextBatch, count_together
from synsetmine.engines import Engine
from synsetmine.errors import DataError
from synsetmine.files import atomic_write, parquet_error
from synsetmine.text import SIGN, WORD, fold, normal_form

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    a about above across after again against ago all almost along already also although always
    am among amongst an and another any anyone anything are around as at away back be became
    because become becomes been before behind being below beneath beside besides between beyond
    both but by can cannot could despite did do does doing done down due during each either else
    especially etc even ever every everyone everything except few fewer following for from
    further furthermore given had has have having he hence her here hers herself him himself his
    how however i if in indeed inside instead into is it its itself just least less many may me
    might mine more moreover most much must my myself near nearly neither never nevertheless no
    nobody none nor not nothing now of off often on once one only onto or other others otherwise
    our ours ourselves out over own per perhaps quite rather s same several shall she should
    since so some someone something soon still such than that the their theirs them themselves
    then there thereafter thereby therefore these they thing things this those though through
    throughout thus to together too toward towards two under unless unlike until up upon us used
    using usually various versus very via vs was we well were what whatever when where whereas
    whether which while who whom whose why will with within without would yet you your yours
    yourself
""",
    )
)

MOST_COUNTED = 1 << 24  # distinct runs of words counted at a time; then the rare ones go
MOST_CANDIDATES = 1 << 20  # the most frequent ones that are looked at more closely
LONGEST_RUN = (1 << 16) - 1  # characters; a longer run is no phrase
MERGED = 1 << 20  # so many wait before they are added to the others
TEXT_END = "\1"
JOINERS = "'\u2019\u2010-\u2013-"  # apostrophes and hyphens, up to the en dash
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no word is lost from a hash

# Words as in `text.tokens`, and what may not stand within a phrase: any punctuation but a hyphen
# or an apostrophe between two words, a number with a point or comma, and an empty line.
_PARTS = re.compile(
    rf"\d+(?:[.,]\d+)+(?![^\W_])|(?=[^\W_])(?:{SIGN}|{WORD}(?:[+#]+(?![^\W_]))?)"
    rf"|[^\w\s{JOINERS}]|\s[{JOINERS}]|[{JOINERS}](?=\s)|[{JOINERS}]{{2}}|\n\s*\n"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A frequent phrase: its normal form, how it is first written, and how often it stands."""

    form: str
    surface: str
    count: int


def mine_phrases(
    documents: Path,
    *,
    max_tokens: int = 5,
    min_count: int = 5,
    most: int | None = None,
    cohesion: float = 0.2,
    fragment: float = 0.5,
    stop_words: Collection[str] = STOP_WORDS,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Phrase]:
    """Phrases of two tokens or more, the most promising first; at most `most` of them.

    `documents` is a stored corpus; it is read once, and then only where a phrase stands first.
    `progress` is told the number of texts done. `choose_phrases` says what a phrase is.
    """
    counter = RunCounter(max_tokens, frozenset(stop_words))
    table = RunTable()
    for counted in count_together(documents, {"runs": counter}, engine=engine, progress=progress):
        table.add(counted.tables["runs"], first=counted.first)
    return choose_phrases(
        table,
        documents,
        max_tokens=max_tokens,
        min_count=min_count,
        most=most,
        cohesion=cohesion,
        fragment=fragment,
        stop_words=stop_words,
    )


def choose_phrases(
    table: RunTable,
    documents: Path,
    *,
    max_tokens: int = 5,
    min_count: int = 5,
    most: int | None = None,
    cohesion: float = 0.2,
    fragment: float = 0.5,
    stop_words: Collection[str] = STOP_WORDS,
) -> list[Phrase]:
    """The phrases among the runs of words of a stored corpus, the most promising first.

    Phrases neither start nor end with a stop word, nor start with a number. The cohesion of a
    phrase is the normalised PMI of its two parts, at the weakest place to cut it; stop words at
    the cut belong to neither part. One of less than `cohesion` goes, and one that stands in at
    least a share `fragment` of its places within the same phrase of one token more. Phrases are
    sorted by cohesion x log(count outside of that longer phrase).
    """
    if min_count < 1:
        raise DataError("the smallest count is at least 1", value=min_count)
    table.drop_below(min_count)
    phrases = {phrase.form: phrase for phrase in _phrases(table, documents)}
    scores = _scores(phrases, table, table.tokens, stop_words)
    good = [
        phrases[form]
        for form, score in scores.items()
        if score.cohesion >= cohesion
        and score.longest < fragment * phrases[form].count
        and form.count(" ") < max_tokens
    ]
    good.sort(key=lambda phrase: (-_promise(phrase, scores[phrase.form]), phrase.form))
    return good[:most]


@dataclass(frozen=True, eq=False)
class _Words:
    """The words of some texts: one entry of the arrays for each."""

    hashes: NDArray[np.uint64]
    segment: NDArray[np.int32]  # no phrase goes from one to the next
    may_start: NDArray[np.bool_]
    may_end: NDArray[np.bool_]
    part: NDArray[np.int64]  # its number among the parts of the string

    def runs(self, longest: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.uint64]]]:
        """Size, first words and hashes of the runs of each size that could be phrases."""
        hashes = self.hashes
        for size in range(1, min(longest, len(self.hashes)) + 1):
            last = slice(size - 1, None)
            if size > 1:
                hashes = hashes[:-1] * FACTOR + self.hashes[last]
            # A number alone is no phrase, but a part of some.
            fits = self.may_end[last] & (size == 1 or self.may_start[: len(hashes)])
            fits &= self.segment[: len(hashes)] == self.segment[last]
            first = np.flatnonzero(fits)
            yield size, first, hashes[first]


@dataclass(frozen=True)
class _RunReader:
    stop_words: frozenset[str]

    def __call__(self, parts: Sequence[str]) -> _Words:
        distinct = {part: number for number, part in enumerate(dict.fromkeys(parts))}
        folded = [fold(part) for part in distinct]
        is_word = np.array([_is_word(part) for part in distinct], np.bool_)
        stop = np.array([word in self.stop_words for word in folded], np.bool_)
        number = np.array([word.isnumeric() for word in folded], np.bool_)
        hashes = np.array([_hash(word) for word in folded], np.uint64)
        kind = np.fromiter(map(distinct.__getitem__, parts), np.int64, len(parts))
        word = is_word[kind]
        kept = kind[word]
        return _Words(
            hashes=hashes[kept],
            segment=np.cumsum(~word, dtype=np.int32)[word],
            may_start=~(stop | number)[kept],
            may_end=~stop[kept],
            part=np.flatnonzero(word),
        )


@dataclass(frozen=True)
class RunCounter:
    """Counts all runs of a batch, by their hashes, and its words: one row of lists.

    A place is the number of a document and where a run begins in it, in 32 bits each. Runs have
    one token more than phrases: that tells which of the longest phrases are fragments.
    """

    max_tokens: int = 5
    stop_words: frozenset[str] = STOP_WORDS

    def __post_init__(self) -> None:
        if self.max_tokens < 2:
            raise DataError("a phrase has two tokens or more", value=self.max_tokens)

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        joined = TEXT_END.join(batch.texts)
        parts = [*_PARTS.finditer(joined)]
        words = _RunReader(self.stop_words)([part.group() for part in parts])
        flat = chain.from_iterable(map(re.Match.span, parts))
        spans = np.fromiter(flat, np.int64, 2 * len(parts)).reshape(-1, 2)
        starts, ends = spans[words.part].T
        begins = np.cumsum([0, *(len(text) + 1 for text in batch.texts)])  # of the texts
        document = np.searchsorted(begins, starts, side="right") - 1
        place = (document << 32) + starts - begins[document]
        hashes = [np.empty(0, np.uint64)]
        places, lengths = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for size, first, of_size in words.runs(self.max_tokens + 1):
            hashes.append(of_size)
            places.append(place[first])
            lengths.append(ends[first + size - 1] - starts[first])
        distinct, seen, counts = np.unique(
            np.concatenate(hashes), return_index=True, return_counts=True
        )
        # Stop words between others may be far apart in blanks; such a place is no use.
        length = np.minimum(np.concatenate(lengths)[seen], LONGEST_RUN)
        first_places = np.concatenate(places)[seen].astype(np.uint64)
        runs = Runs(distinct, counts, first_places, length.astype(np.uint16))
        lists = {
            name: pa.LargeListArray.from_arrays([0, len(distinct)], pa.array(values))
            for name, values in runs._asdict().items()
        }
        return pa.record_batch(lists | {"tokens": pa.array([len(words.hashes)])})


class RunTable:
    """How often each run was seen, by its hash, and where first, in bounded memory.

    Where a corpus has more than `MOST_COUNTED` different runs of words, those seen but once or
    twice are dropped now and then, so that rare phrases may be missed or counted too low.
    """

    def __init__(self, runs: Runs | None = None, tokens: int = 0) -> None:
        self.runs = runs or Runs(*(np.empty(0, kind) for kind in _KINDS.values()))
        self.tokens = tokens  # of the corpus
        self._waiting: list[Runs] = []

    def add(self, counted: pa.RecordBatch, *, first: int) -> None:
        """Add what `RunCounter` made of a batch; `first` is the number of its first document."""
        runs = Runs(*(counted.column(name).values.to_numpy() for name in _KINDS))
        self._waiting.append(runs._replace(places=runs.places + np.uint64(first << 32)))
        self.tokens += counted.column("tokens")[0].as_py()
        if sum(len(runs.hashes) for runs in self._waiting) > max(len(self.runs.hashes), MERGED):
            self._merge()
        floor = 2
        while len(self.runs.hashes) > MOST_COUNTED:
            self._drop_below(floor)
            floor += 1

    def drop_below(self, floor: int) -> None:
        self._merge()
        self._drop_below(floor)

    def most_frequent(self) -> Runs:
        """The most frequent runs, sorted by their hashes."""
        order = np.lexsort((self.runs.hashes, -self.runs.counts))[:MOST_CANDIDATES]
        return self.runs.take(np.sort(order))

    def count(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        there = _among(hashes, self.runs.hashes)
        counts = np.zeros(len(hashes), np.int64)
        counts[there] = self.runs.counts[np.searchsorted(self.runs.hashes, hashes[there])]
        return counts

    def save(self, path: Path) -> None:
        """Write a Parquet file, whole or not at all."""
        table = pa.table(self.runs._asdict(), metadata={"tokens": str(self.tokens)})
        with atomic_write(path) as temporary:
            pq.write_table(table, temporary, compression="zstd")

    @classmethod
    def load(cls, path: Path) -> RunTable:
        """Read what `save` wrote."""
        try:
            table = pq.read_table(path)
            runs = Runs(*(table[n].to_numpy().astype(kind) for n, kind in _KINDS.items()))
            return cls(runs, int(table.schema.metadata[b"tokens"]))
        except (pa.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
            raise parquet_error(error, path) from error

    def _merge(self) -> None:
        every = Runs(*map(np.concatenate, zip(self.runs, *self._waiting, strict=True)))
        self._waiting = []
        every = every.take(np.argsort(every.hashes, kind="stable"))  # fast: sorted stretches
        begins = np.append(True, every.hashes[1:] != every.hashes[:-1])[: len(every.hashes)]
        begins = np.flatnonzero(begins)
        counts = np.add.reduceat(every.counts, begins) if len(begins) else every.counts
        self.runs = every.take(begins)._replace(counts=counts)

    def _drop_below(self, floor: int) -> None:
        self.runs = self.runs.take(np.flatnonzero(self.runs.counts >= floor))


class Runs(NamedTuple):
    """Runs of words: one entry of the arrays for each."""

    hashes: NDArray[np.uint64]
    counts: NDArray[np.int64]
    places: NDArray[np.uint64]  # of the first occurrence: document << 32 | start
    lengths: NDArray[np.uint16]  # of the first occurrence, in characters

    def take(self, rows: NDArray[np.int64]) -> Runs:
        return Runs(self.hashes[rows], self.counts[rows], self.places[rows], self.lengths[rows])


_KINDS = {"hashes": np.uint64, "counts": np.int64, "places": np.uint64, "lengths": np.uint16}


def _phrases(table: RunTable, documents: Path) -> Iterator[Phrase]:
    """The runs of two words or more, as they are written where they stand first."""
    runs = table.most_frequent()
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


def _scores(
    phrases: Mapping[str, Phrase], table: RunTable, total: int, stop_words: Collection[str]
) -> dict[str, _Score]:
    words = {form: form.split(" ") for form in phrases}
    singles = list({word for parts in words.values() for word in parts})
    counts = table.count(np.array([_hash(word) for word in singles], np.uint64)).tolist()
    count_of = dict(zip(singles, counts, strict=True))
    count_of.update((form, phrase.count) for form, phrase in phrases.items())
    longest: dict[str, int] = {}
    for form, parts in words.items():
        for piece in (_left(parts[:-1], stop_words), _right(parts[1:], stop_words)):
            longest[piece] = max(longest.get(piece, 0), phrases[form].count)
    scores = {}
    for form, parts in words.items():
        together = phrases[form].count
        weakest = 1.0
        for cut in range(1, len(parts)):
            left = count_of.get(_left(parts[:cut], stop_words), 0)
            right = count_of.get(_right(parts[cut:], stop_words), 0)
            if left and right and together < total:
                gain = log(together * total / (left * right)) / -log(together / total)
                weakest = min(weakest, gain)
        scores[form] = _Score(weakest, longest.get(form, 0))
    return scores


def _left(parts: Sequence[str], stop_words: Collection[str]) -> str:
    """These words without the stop words at their end."""
    end = len(parts)
    while end and parts[end - 1] in stop_words:
        end -= 1
    return " ".join(parts[:end])


def _right(parts: Sequence[str], stop_words: Collection[str]) -> str:
    """These words without the stop words at their start."""
    start = 0
    while start < len(parts) and parts[start] in stop_words:
        start += 1
    return " ".join(parts[start:])


def _promise(phrase: Phrase, score: _Score) -> float:
    return score.cohesion * log(1 + phrase.count - score.longest)


def _is_word(part: str) -> bool:
    return part[0].isalnum() and not (part[0].isdecimal() and ("." in part or "," in part))


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which values are among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.equal(known[place], values)
