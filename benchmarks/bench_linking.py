"""Names found in texts, against another matcher library and a plain search in the same run.

    python -m benchmarks.bench_linking                      # a million made-up names, 50 MB of text
    python -m benchmarks.bench_linking --quick
    python -m benchmarks.bench_linking --kb FILE --corpus FILE      # any form that synsetmine reads

Seconds are those of the processor, on one core, so that other work on the machine counts less;
ratios depend on it least. `find` and `link` begin with the texts as they are, while the other
library is given names and texts ready made: split into tokens, without case, blanks around each.
The ratio is how many times as fast `find` is.
"""

from __future__ import annotations

import argparse
import math
import re
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from ahocorasick_rs import MATCHKIND_LEFTMOST_LONGEST, AhoCorasick

from synsetmine.corpus import read_corpus
from synsetmine.errors import in_one_line
from synsetmine.kb import Entity, KnowledgeBase, read_kb
from synsetmine.linking.linkers import DictionaryLinker
from synsetmine.normalization import fold, keeps_case, token_spans
from synsetmine.text.matcher import Matches, NameMatcher
from synsetmine.types import Document

T = TypeVar("T")
Found = list[tuple[int, int, int, str]]  # text, start, end, form

WORDS, COMMON = 300_000, 2_000
TOKENS = [0.15, 0.41, 0.31, 0.09, 0.04]  # how many names have 1, 2, … tokens, as in MeSH
SYLLABLES = [c + v + e for c in "bcdfghklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s")]


def main() -> None:
    options = _options()
    if options.quick:
        options.names, options.megabytes, options.plain = 100_000, 5, 1
    kb = read_kb(options.kb) if options.kb else _made_up_names(options.names, options.seed)
    texts = list(_cut(_texts(options, kb), options.megabytes * 1e6))
    print(f"{len(kb.forms):,} names of {len(kb):,} entities; {len(texts):,} texts, ", end="")
    print(f"{_megabytes(texts):.1f} MB; the best of {options.times} runs", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        knowledge, names = Path(folder) / "kb.arrow", Path(folder) / "kb.names"
        kb.save(knowledge)
        _in_fresh_process(_build, knowledge, names)
        _in_fresh_process(_load, names)
        _in_fresh_process(_open, knowledge, names)
        _in_fresh_process(_build_other, knowledge)
        matcher = NameMatcher.load(names)
    forms = kb.forms.to_pylist()
    _speed(kb, matcher, forms, texts, options)


def _speed(
    kb: KnowledgeBase,
    matcher: NameMatcher,
    forms: Sequence[str],
    texts: Sequence[str],
    options: argparse.Namespace,
) -> None:
    print(f"\n{'':34} {'MB':>6} {'seconds':>8} {'MB/s':>6} {'matches':>10} {'ratio':>6}")
    found, ours = _time("find", matcher.find, texts, len, options.times)
    linker = DictionaryLinker(kb, ambiguous="senses", matcher=matcher)
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    in_batches = partial(_link_in_batches, linker, documents)
    _time("link, ambiguous names to all", lambda _: in_batches(), texts, int, options.times, ours)
    other = _Other(forms)
    ready = list(map(_ready, texts))
    raw, _ = _time("ahocorasick_rs, made ready", other.find, texts, _total, 1, ours, ready)
    part = list(_cut(iter(texts), options.plain * 1e6))
    plain, _ = _time("plain search", partial(_plain_search, forms), part, len, 1, ours)
    if plain != _rows(matcher.find(part), forms) or plain != other.names_in(raw, part):
        raise SystemExit("the matches differ")
    print(f"all three find the same names in the first {_megabytes(part):.1f} MB")
    print(f"{1e3 * len(found) / sum(map(len, texts)):.1f} matches in 1000 characters")


def _time(
    what: str,
    work: Callable[[Any], T],
    texts: Sequence[str],
    size: Callable[[T], int],
    times: int,
    ours: float | None = None,
    given: Sequence[str] | None = None,
) -> tuple[T, float]:
    best = math.inf
    for _ in range(times):
        started = time.process_time()
        result = work(texts if given is None else given)
        best = min(best, time.process_time() - started)
    speed = _megabytes(texts) / best
    ratio = "" if ours is None else f"{ours / speed:5.1f}×"
    numbers = f"{_megabytes(texts):6.1f} {best:8.2f} {speed:6.1f} {size(result):10,}"
    print(f"{what:34} {numbers} {ratio:>6}", flush=True)
    return result, speed


def _link_in_batches(linker: DictionaryLinker, documents: Sequence[Document]) -> int:
    """The number of mentions; they are not kept, just as when they are written to a file."""
    batches = (documents[start : start + 1000] for start in range(0, len(documents), 1000))
    return sum(len(mentions) for batch in batches for mentions in linker.link(batch))


# --- The other two ---


class _Other:
    """The same names as patterns of another library: folded, blanks around every token."""

    def __init__(self, forms: Sequence[str]) -> None:
        self.forms = set(forms)
        self.patterns = sorted({" ".join(map(fold, form.split())) for form in forms})
        ready = [f" {pattern.replace(' ', '  ')} " for pattern in self.patterns]
        self.automaton = AhoCorasick(ready, matchkind=MATCHKIND_LEFTMOST_LONGEST)

    def find(self, texts: Sequence[str]) -> list[list[tuple[int, int, int]]]:
        return list(map(self.automaton.find_matches_as_indexes, texts))

    def names_in(self, raw: list[list[tuple[int, int, int]]], texts: Sequence[str]) -> Found:
        """Its matches, placed in the texts, by the rules for short words in capitals."""
        found = []
        for number, text in enumerate(texts):
            spans = list(token_spans(text))
            ready = _ready(text)
            begins = {place: i for i, place in enumerate(_places(ready))}
            for pattern, start, _ in raw[number]:
                first = begins[start + 1]
                last = first + self.patterns[pattern].count(" ")
                place = (spans[first][0], spans[last][1])
                surface, form = text[slice(*place)], self.patterns[pattern]
                if first == last and keeps_case(surface) and surface in self.forms:
                    form = surface
                if form in self.forms:
                    found.append((number, *place, form))
        return found


def _ready(text: str) -> str:
    words = (fold(text[start:end]) for start, end in token_spans(text))
    return "".join(f" {word} " for word in words)


def _places(ready: str) -> Iterator[int]:
    place = 1
    for word in ready[1:-1].split("  "):
        yield place
        place += len(word) + 2


def _plain_search(forms: Sequence[str], texts: Sequence[str]) -> Found:
    """Token by token, the longest window first, each looked up in a set."""
    names = set(forms)
    longest = max(form.count(" ") + 1 for form in forms)
    found = []
    for number, text in enumerate(texts):
        spans = list(token_spans(text))
        words = [text[start:end] for start, end in spans]
        folded = list(map(fold, words))
        place = 0
        while place < len(words):
            for size in range(min(longest, len(words) - place), 0, -1):
                form = " ".join(folded[place : place + size])
                if size == 1 and keeps_case(words[place]) and words[place] in names:
                    form = words[place]
                if form in names:
                    found.append((number, spans[place][0], spans[place + size - 1][1], form))
                    break
            place += size if form in names else 1
    return found


def _rows(matches: Matches, forms: Sequence[str]) -> Found:
    columns = (matches.text, matches.start, matches.end, matches.form)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(text, start, end, forms[form]) for text, start, end, form in rows]


def _total(found: Sequence[Sequence[object]]) -> int:
    return sum(map(len, found))


# --- Time and memory, each in a process of its own ---


def _in_fresh_process(work: Callable[..., str], *files: Path) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        print(pool.submit(work, *files).result(), flush=True)


def _build(knowledge: Path, names: Path) -> str:
    forms = KnowledgeBase.load(knowledge).forms
    started = time.process_time()
    matcher = NameMatcher.build(forms)
    built = time.process_time()
    matcher.save(names)
    saved = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    size = names.stat().st_size / 1e6
    return (
        f"build: {built - started:.2f} s, at most {peak:,.0f} MB in memory; "
        f"save: {saved - built:.2f} s, {size:.1f} MB"
    )


def _load(names: Path) -> str:
    before, started = _resident(), time.perf_counter()
    matcher = NameMatcher.load(names)
    seconds = time.perf_counter() - started
    matcher.find(["naïve", "text"])
    return f"load: {seconds:.2f} s, {_resident():,.0f} MB in memory ({before:,.0f} before)"


def _open(knowledge: Path, names: Path) -> str:
    started = time.perf_counter()
    linker = DictionaryLinker.open(knowledge, names)
    seconds = time.perf_counter() - started
    linker.link([Document("a", "naïve text")])
    return f"linker with knowledge base: {seconds:.2f} s, {_resident():,.0f} MB in memory"


def _build_other(knowledge: Path) -> str:
    forms = KnowledgeBase.load(knowledge).forms.to_pylist()
    started = time.process_time()
    _Other(forms)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return f"ahocorasick_rs, which cannot be saved: build {seconds:.2f} s, at most {peak:,.0f} MB"


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


# --- Names and texts ---


def _texts(options: argparse.Namespace, kb: KnowledgeBase) -> Iterator[str]:
    if options.corpus:
        return (document.text for document in read_corpus(options.corpus))
    return _made_up_texts(kb, options.seed)


def _made_up_names(count: int, seed: int) -> KnowledgeBase:
    """Names of 1 to 5 words; a few words are in very many names, as in real knowledge bases."""
    rng = np.random.default_rng(seed)
    words = _words(rng)
    names: dict[str, None] = {}
    while len(names) < count:
        sizes = rng.choice(np.arange(1, 6), size=count, p=TOKENS)
        drawn = np.array(_frequent(rng, sizes.sum(), 0.8))
        ends = np.cumsum(sizes)
        # The most frequent words of the language are no names on their own.
        single = sizes == 1
        drawn[ends[single] - 1] = rng.integers(COMMON, WORDS, size=single.sum())
        for i, (end, size) in enumerate(zip(ends.tolist(), sizes.tolist(), strict=True)):
            name = " ".join(words[number] for number in drawn[end - size : end].tolist())
            names[_acronym(name) if i % 100 == 0 else name.title()] = None
    kept = list(islice(names, count))
    return KnowledgeBase.of(
        Entity(f"e{start}", kept[start], tuple(kept[start + 1 : start + 4]))
        for start in range(0, count, 4)
    )


def _acronym(name: str) -> str:
    return re.sub("[aeiou ]", "", name)[:5].upper()


def _made_up_texts(kb: KnowledgeBase, seed: int) -> Iterator[str]:
    """Texts of some 200 words, a name after every twelve; every fourth has letters beyond ASCII."""
    rng = np.random.default_rng(seed)
    words = _words(rng)
    names = [name for entity in islice(kb, 100_000) for name in kb.names(entity)]
    for number in range(10**9):
        drawn = [words[i] for i in _frequent(rng, 192, 1.05)]
        parts = [" ".join(drawn[start : start + 12]) for start in range(0, 192, 12)]
        chosen = [names[i] for i in rng.integers(len(names), size=len(parts))]
        sentences = (
            f"{part.capitalize()} {name}{'.' if i % 2 else ', (the)'}"
            for i, (part, name) in enumerate(zip(parts, chosen, strict=True))
        )
        yield " ".join(sentences) + (" 5 µg naïve façade" if number % 4 == 0 else " 1984 C++")


def _words(rng: np.random.Generator) -> list[str]:
    """Different words, short ones first."""
    words: dict[str, None] = {}
    for syllables in (1, 2, 2, 3, 3, 4, 4, 4):
        for row in rng.integers(len(SYLLABLES), size=(WORDS // 6, syllables)).tolist():
            words["".join(SYLLABLES[i] for i in row)] = None
    return list(islice(words, WORDS))


def _frequent(rng: np.random.Generator, count: int, power: float) -> list[int]:
    """Numbers of words, the n-th about as often as 1 / n^power (Zipf's law)."""
    ranks = (1 + rng.random(count) * (WORDS ** (1 - power) - 1)) ** (1 / (1 - power))
    numbers: list[int] = np.minimum(ranks.astype(np.int64) - 1, WORDS - 1).tolist()
    return numbers


def _cut(texts: Iterator[str], size: float) -> Iterator[str]:
    for text in texts:
        if size <= 0:
            return
        yield text
        size -= len(text)


def _megabytes(texts: Sequence[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--names", type=int, default=1_000_000, help="made-up names")
    parser.add_argument("--megabytes", type=float, default=50, help="of text, at most")
    parser.add_argument("--kb", type=Path, help="a knowledge base instead of made-up names")
    parser.add_argument("--corpus", type=Path, help="a corpus instead of made-up texts")
    parser.add_argument("--plain", type=float, default=5, help="megabytes for the plain search")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="100,000 names, 5 MB")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
