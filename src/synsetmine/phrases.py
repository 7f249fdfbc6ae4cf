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
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from synsetmine.corpus.store import batch_sizes, texts_of
from synsetmine.engines import Engine, LocalEngine
from synsetmine.errors import DataError
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
    """A frequent phrase: its normal form, how it is written most often, and how often it stands."""

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

    `documents` is a stored corpus; it is read twice.
    Phrases neither start nor end with a stop word, nor start with a number. The cohesion of a
    phrase is the normalised PMI of its two parts, at the weakest place to cut it; stop words at
    the cut belong to neither part. One of less than `cohesion` goes, and one that stands in at
    least a share `fragment` of its places within the same phrase of one token more. Phrases are
    sorted by cohesion x log(count outside of that longer phrase). The memory is bounded: where
    a corpus has more than `MOST_COUNTED` different runs of words, those seen but once or twice
    are forgotten now and then, so that rare phrases may be missed or counted too low.

    `progress` is told the number of texts done, where each reading counts a half.
    """
    if max_tokens < 2:
        raise DataError("a phrase has two tokens or more", value=max_tokens)
    if min_count < 1:
        raise DataError("the smallest count is at least 1", value=min_count)
    engine = engine or LocalEngine(1)
    tell = progress or (lambda _texts: None)
    # One token more than asked for: that tells which of the longest are fragments.
    runs = _RunReader(max_tokens + 1, frozenset(stop_words))
    table = _RunTable()
    sizes = batch_sizes(documents)
    read = total = 0
    counted = engine.map_batches(_RunCounter(runs), documents, ["text"])
    for size, found in zip(sizes, counted, strict=True):
        table.add(*(found.column(name).values.to_numpy() for name in ("hashes", "counts")))
        total += found.column("tokens")[0].as_py()
        read += size
        tell(read // 2)
    table.drop_below(min_count)
    surfaces: Counter[str] = Counter()
    counter = _SurfaceCounter(runs, table.most_frequent())
    spelled = engine.map_batches(counter, documents, ["text"])
    for size, found in zip(sizes, spelled, strict=True):
        surfaces.update(dict(zip(*(column.to_pylist() for column in found.columns), strict=True)))
        read += size
        tell(read // 2)
    phrases = {phrase.form: phrase for phrase in _phrases(surfaces)}
    scores = _scores(phrases, table, total, runs.stop_words)
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
    max_tokens: int
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
class _RunCounter:
    """Counts all runs of a batch, by their hashes, and its words: one row of lists."""

    runs: _RunReader

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        words = self.runs(_PARTS.findall(_joined(texts_of(batch))))
        found = [hashes for _, _, hashes in words.runs(self.runs.max_tokens)]
        every = np.concatenate([np.empty(0, np.uint64), *found])
        hashes, counts = np.unique(every, return_counts=True)
        lists = [
            pa.LargeListArray.from_arrays([0, len(hashes)], pa.array(values))
            for values in (hashes, counts)
        ]
        return pa.record_batch([*lists, [len(words.hashes)]], ["hashes", "counts", "tokens"])


@dataclass(frozen=True)
class _SurfaceCounter:
    """Counts how the runs with these hashes are written in a batch."""

    runs: _RunReader
    wanted: NDArray[np.uint64]  # sorted

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        joined = _joined(texts_of(batch))
        spans = [match.span() for match in _PARTS.finditer(joined)]
        words = self.runs([joined[start:end] for start, end in spans])
        surfaces: Counter[str] = Counter()
        for size, first, hashes in words.runs(self.runs.max_tokens):
            if size == 1:
                continue
            first = first[_among(hashes, self.wanted)]
            last = words.part[first + size - 1].tolist()
            surfaces.update(
                joined[spans[start][0] : spans[end][1]]
                for start, end in zip(words.part[first].tolist(), last, strict=True)
            )
        columns = [pa.array(surfaces.keys(), pa.string()), pa.array(surfaces.values(), pa.int64())]
        return pa.record_batch(columns, ["surface", "count"])


class _RunTable:
    """How often each run was seen, by its hash, in bounded memory."""

    def __init__(self) -> None:
        self.hashes = np.empty(0, np.uint64)
        self.counts = np.empty(0, np.int64)
        self._waiting: list[tuple[NDArray[np.uint64], NDArray[np.int64]]] = []

    def add(self, hashes: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        self._waiting.append((hashes, counts))
        if sum(len(waiting) for waiting, _ in self._waiting) > max(len(self.hashes), MERGED):
            self._merge()
        floor = 2
        while len(self.hashes) > MOST_COUNTED:
            self._drop_below(floor)
            floor += 1

    def drop_below(self, floor: int) -> None:
        self._merge()
        self._drop_below(floor)

    def most_frequent(self) -> NDArray[np.uint64]:
        """The hashes of the most frequent runs, sorted."""
        order = np.lexsort((self.hashes, -self.counts))[:MOST_CANDIDATES]
        return np.sort(self.hashes[order])

    def count(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        there = _among(hashes, self.hashes)
        counts = np.zeros(len(hashes), np.int64)
        counts[there] = self.counts[np.searchsorted(self.hashes, hashes[there])]
        return counts

    def _merge(self) -> None:
        hashes = np.concatenate([self.hashes, *(hashes for hashes, _ in self._waiting)])
        counts = np.concatenate([self.counts, *(counts for _, counts in self._waiting)])
        self._waiting = []
        order = np.argsort(hashes, kind="stable")  # fast, since there are sorted stretches
        hashes, counts = hashes[order], counts[order]
        begins = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
        self.hashes = hashes[begins]
        self.counts = np.add.reduceat(counts, begins) if len(begins) else counts

    def _drop_below(self, floor: int) -> None:
        stays = self.counts >= floor
        self.hashes, self.counts = self.hashes[stays], self.counts[stays]


def _phrases(surfaces: Mapping[str, int]) -> Iterator[Phrase]:
    """The spellings of one normal form together, under the most frequent one."""
    spellings: dict[str, Counter[str]] = {}
    for surface, count in surfaces.items():
        spellings.setdefault(normal_form(surface), Counter())[" ".join(surface.split())] += count
    for form, counts in spellings.items():
        surface = min(counts, key=lambda spelling: (-counts[spelling], spelling))
        yield Phrase(form, surface, counts.total())


class _Score(NamedTuple):
    cohesion: float  # at the weakest cut
    longest: int  # count of the most frequent phrase with one more token that holds it


def _scores(
    phrases: Mapping[str, Phrase], table: _RunTable, total: int, stop_words: Collection[str]
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


def _joined(texts: Sequence[str]) -> str:
    return TEXT_END.join(texts)


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which values are among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.equal(known[place], values)
