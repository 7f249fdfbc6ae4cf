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
from dataclasses import dataclass, field
from functools import lru_cache
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
from synsetmine.phrase_names import (
    CLASSES,
    END,
    PhraseCounts,
    context_class,
    name_probabilities,
    threshold_for,
)
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
JOINING = frozenset("'\u2019\u2010\u2011\u2012\u2013-")
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no word is lost from a hash

# Words as in `text.tokens` ("'s" is one), hyphens and apostrophes, and all that may not stand
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
    """A frequent phrase: its normal form, how it is written most often, how often it stands."""

    form: str
    surface: str
    count: int
    probability: float = field(default=1.0, compare=False)  # that it could be a name


def mine_phrases(
    documents: Path,
    *,
    max_tokens: int = 5,
    min_count: int = 5,
    most: int | None = None,
    known: Collection[str] = (),
    cohesion: float = 0.2,
    fragment: float = 0.5,
    threshold: float | None = None,
    stop_words: Collection[str] = STOP_WORDS,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Phrase]:
    """Phrases of two tokens or more that could be names, the most promising first; at most `most`.

    `documents` is a stored corpus; it is read twice.
    Phrases neither start nor end with a stop word or within a hyphenated word, nor start with a
    number. The cohesion of a phrase is the normalised PMI of its two parts, at the weakest place
    to cut it; stop words at the cut belong to neither part. One of less than `cohesion` goes, one
    that stands in at least a share `fragment` of its places within the same phrase of one token
    more, and one whose probability to be a name is below `threshold`. If that is None, it is
    `phrase_names.THRESHOLD`, or less if that would lose too many of the `known` names, which are
    normal forms. Phrases are sorted by probability x cohesion x log(count outside of that longer
    phrase).

    `progress` is told the number of texts done, where each reading counts a half.
    """
    counts = count_phrases(
        documents,
        max_tokens=max_tokens,
        min_count=min_count,
        stop_words=stop_words,
        engine=engine,
        progress=progress,
    )
    return choose_phrases(
        counts, known=known, most=most, cohesion=cohesion, fragment=fragment, threshold=threshold
    )


def count_phrases(
    documents: Path,
    *,
    max_tokens: int = 5,
    min_count: int = 5,
    stop_words: Collection[str] = STOP_WORDS,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> PhraseCounts:
    """The frequent runs of words of a stored corpus, and what stands beside them.

    The memory is bounded: where a corpus has more than `MOST_COUNTED` different runs of words,
    those seen but once or twice are forgotten now and then, so that rare phrases may be missed
    or counted too low.
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
    for size, row in zip(sizes, counted, strict=True):
        table.add(*(row.column(name).values.to_numpy() for name in ("hashes", "counts")))
        total += row.column("tokens")[0].as_py()
        read += size
        tell(read // 2)
    table.drop_below(min_count)
    surfaces: Counter[str] = Counter()
    contexts = _ContextTable(table.most_frequent())
    spelled = engine.map_batches(_SurfaceCounter(runs, contexts.hashes), documents, ["text"])
    for size, row in zip(sizes, spelled, strict=True):
        lists = [column.values for column in row.columns]
        surfaces.update(dict(zip(lists[0].to_pylist(), lists[1].to_pylist(), strict=True)))
        contexts.add(lists[2].to_numpy(), lists[3].to_numpy())
        read += size
        tell(read // 2)
    phrases = {phrase.form: phrase for phrase in _phrases(surfaces)}
    scores = _scores(phrases, table, total, runs.stop_words)
    chosen = sorted(form for form in phrases if form.count(" ") < max_tokens)
    return PhraseCounts(
        surfaces=[phrases[form].surface for form in chosen],
        forms=chosen,
        counts=np.array([phrases[form].count for form in chosen], np.int64),
        cohesion=np.array([scores[form].cohesion for form in chosen], np.float64),
        longer=np.array([scores[form].longest for form in chosen], np.int64),
        contexts=contexts.of([form.split(" ") for form in chosen]),
    )


def choose_phrases(
    counts: PhraseCounts,
    *,
    known: Collection[str] = (),
    most: int | None = None,
    cohesion: float = 0.2,
    fragment: float = 0.5,
    threshold: float | None = None,
) -> list[Phrase]:
    """The phrases that could be names, the most promising first; see `mine_phrases`."""
    fits = np.flatnonzero(
        (counts.cohesion >= cohesion) & (counts.longer < fragment * counts.counts)
    )
    counts = counts.take(fits)
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
class _RunReader:
    max_tokens: int
    stop_words: frozenset[str]

    def __call__(self, parts: Sequence[str]) -> _Words:
        distinct = {part: number for number, part in enumerate(dict.fromkeys(parts))}
        words = [_word(part) for part in distinct]
        is_word = np.array([word != "" for word in words], np.bool_)
        joins = np.array([part in JOINING for part in distinct], np.bool_)
        stop = np.array([word in self.stop_words for word in words], np.bool_)
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


@dataclass(frozen=True)
class _RunCounter:
    """Counts all runs of a batch, by their hashes, and its words: one row of lists."""

    runs: _RunReader

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        words = self.runs(_PARTS.findall(_joined(texts_of(batch))))
        found = [hashes for _, _, hashes in words.runs(self.runs.max_tokens)]
        every = np.concatenate([np.empty(0, np.uint64), *found])
        hashes, counts = np.unique(every, return_counts=True)
        lists = _row(hashes=pa.array(hashes), counts=pa.array(counts))
        return lists.append_column("tokens", pa.array([len(words.hashes)]))


@dataclass(frozen=True)
class _SurfaceCounter:
    """Counts how the runs with these hashes are written in a batch, and what stands beside them.

    One row of lists: the surfaces of the runs of two words or more with their counts, and the
    contexts of all runs with theirs, as `_ContextTable` takes them.
    """

    runs: _RunReader
    hashes: NDArray[np.uint64]  # sorted

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        joined = _joined(texts_of(batch))
        spans = [match.span() for match in _PARTS.finditer(joined)]
        words = self.runs([joined[start:end] for start, end in spans])
        surfaces: Counter[str] = Counter()
        beside = words.contexts()
        contexts = [np.empty(0, np.int64)]
        for size, first, hashes in words.runs(self.runs.max_tokens):
            run = _places(hashes, self.hashes)
            first, run = first[run >= 0], run[run >= 0]
            last = first + size - 1
            contexts.append(2 * run * len(CLASSES) + beside[words.part[first]])
            contexts.append((2 * run + 1) * len(CLASSES) + beside[words.part[last] + 2])
            if size > 1:
                places = words.part[first].tolist(), words.part[last].tolist()
                surfaces.update(
                    joined[spans[start][0] : spans[end][1]]
                    for start, end in zip(*places, strict=True)
                )
        numbers, counts = np.unique(np.concatenate(contexts), return_counts=True)
        return _row(
            surfaces=pa.array(surfaces.keys(), pa.string()),
            surface_counts=pa.array(surfaces.values(), pa.int64()),
            contexts=pa.array(numbers),
            context_counts=pa.array(counts),
        )


class _ContextTable:
    """How often a word or sign of each class stands left and right of each run.

    The number of a context is (2 x the number of the run + 1 if it stands to the right) x the
    number of classes + the class.
    """

    def __init__(self, hashes: NDArray[np.uint64]) -> None:
        self.hashes = hashes  # sorted
        self._counts = np.zeros((len(hashes), 2, len(CLASSES)), np.int32)

    def add(self, contexts: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self._counts.reshape(-1)[contexts] += counts.astype(np.int32)

    def of(self, phrases: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """(phrases, 3, 2, classes): of each phrase, of its first and of its last word."""
        runs = [
            run
            for words in phrases
            for run in (_run_hash(words), _hash(words[0]), _hash(words[-1]))
        ]
        wanted = np.array(runs, np.uint64)
        place = _places(wanted, self.hashes)
        counts = np.zeros((len(runs), 2, len(CLASSES)), np.int64)
        counts[place >= 0] = self._counts[place[place >= 0]]
        return counts.reshape(len(phrases), 3, 2, len(CLASSES))


def _row(**lists: pa.Array) -> pa.RecordBatch:
    """One row with a list in each column."""
    columns = [pa.LargeListArray.from_arrays([0, len(each)], each) for each in lists.values()]
    return pa.record_batch(columns, [*lists])


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
        place = _places(hashes, self.hashes)
        counts = np.zeros(len(hashes), np.int64)
        counts[place >= 0] = self.counts[place[place >= 0]]
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


@lru_cache(maxsize=1 << 17)
def _word(part: str) -> str:
    """The word that a part is, without its case, or "" for a decimal number or a sign."""
    if part in _GENITIVES:
        return "s"
    is_decimal = part[0].isdecimal() and ("." in part or "," in part)
    return fold(part) if part[0].isalnum() and not is_decimal else ""


def _joined(texts: Sequence[str]) -> str:
    return TEXT_END.join(texts)


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
    """Where values stand among the known ones, which are sorted; -1 for others."""
    if not len(known):
        return np.full(len(values), -1)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[place] == values, place, -1)
