"""Simple changes of an input: what libFuzzer lacks, and all there is where it is not installed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

# What readers of text, numbers and quotes stumble over.
NASTY = (
    *(b"\0", b"\r", b"\n", b"\t", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\\"),
    *(b"'", b'"', b"|", b"||", b",", b";", b"{", b"}", b"[", b"]", b"(", b")", b"<", b">", b"&"),
    *(b"-1", b"0", b"1e999", b"NaN", b"Infinity", b"9" * 20, b"9" * 5000, b"null", b"true"),
    *("é".encode(), "e\u0301".encode(), "\u2028".encode(), "\x85".encode(), "😀".encode()),
)
LONGEST = 100_000  # bytes: what takes more than linear time shows at such a length


def mutate(
    data: bytes, chance: random.Random, words: Sequence[bytes] = (), *, longest: int = LONGEST
) -> bytes:
    """An input with one to four changes."""
    for _ in range(chance.randint(1, 4)):
        change = chance.choice(_CHANGES)
        data = change(data, chance, (*NASTY, *words))
    return data[:longest]


def stretch(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    """A short piece, many times: nesting, long fields, and whatever makes a reader go back."""
    start, end = _span(data, chance, 12)
    piece = data[start:end] if chance.random() < 0.5 else chance.choice(words)
    return data[:start] + piece * chance.choice((10, 300, 3000, 30_000)) + data[end:]


def _byte(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]


def _cut(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance, 40)
    return data[:start] + data[end:]


def _again(data: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance, 200)
    place = chance.randrange(len(data) + 1)
    return data[:place] + data[start:end] + data[place:]


def _word(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance, 6)
    return data[:start] + chance.choice(words) + data[end:]


def _span(data: bytes, chance: random.Random, longest: int) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(start + chance.randint(0, longest), len(data))


_CHANGES: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...] = (
    *(_byte, _byte, _cut, _again, _word, _word, _word),
    stretch,
)
