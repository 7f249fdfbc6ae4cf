"""Words of texts, as numbers and as strings."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synsetmine.normalization import CJK, FROM_10000, LOW_MARKS, MARK, fold, token_spans

IntArray = NDArray[np.int64]
Keys = tuple[NDArray[np.uint64], NDArray[np.uint64]]

_SHORT = 16  # bytes; such words are compared as two numbers of 8 bytes each
_MASKS = np.array([256**size - 1 for size in range(9)], np.uint64)
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)  # odd, well-mixed bits


class WordTable:
    """Distinct words; the number of a word is its position.

    A hash table in numpy arrays, in which all words of a text are looked up at once. That takes a
    quarter of the time of a dictionary: no string is made for a word of the text, and the
    processor need not wait for one word to be read from memory before it asks for the next.
    The rare words of more than 16 bytes are in a dictionary all the same.
    """

    def __init__(self, words: Sequence[str]) -> None:
        encoded = [word.encode() for word in words]
        size = np.fromiter(map(len, encoded), np.int64, len(words))
        ends = np.cumsum(size)
        keys = _keys(np.frombuffer(b"".join(encoded), np.uint8), ends - size, ends)
        is_long = size > _SHORT
        self._long = {encoded[number]: number for number in np.flatnonzero(is_long).tolist()}
        self._bits = len(words).bit_length() + 1  # at least every other slot stays free
        self._first, self._second = np.zeros((2, 1 << self._bits), np.uint64)
        self._number = np.full(1 << self._bits, -1, np.int32)
        self._fill(keys, np.flatnonzero(~is_long))

    def find(self, letters: NDArray[np.uint8], starts: IntArray, ends: IntArray) -> IntArray:
        """The numbers of the words at these places of a UTF-8 text; -1 for an unknown word."""
        first, second = keys = _keys(letters, starts, ends)
        numbers = np.full(len(starts), -1, np.int64)
        left, slot = np.arange(len(starts)), self._slots(keys)
        while len(left):  # up to a free slot
            number = self._number[slot]
            same = (self._first[slot] == first[left]) & (self._second[slot] == second[left])
            numbers[left[same]] = number[same]
            on = ~same & (number >= 0)
            left, slot = left[on], self._next(slot[on])
        for word in np.flatnonzero(ends - starts > _SHORT).tolist():
            numbers[word] = self._long.get(letters[starts[word] : ends[word]].tobytes(), -1)
        return numbers

    def _fill(self, keys: Keys, numbers: IntArray) -> None:
        first, second = keys[0][numbers], keys[1][numbers]
        left, slot = np.arange(len(numbers)), self._slots((first, second))
        while len(left):  # of those that want one slot the first gets it, if it is free
            distinct, winner = np.unique(slot, return_index=True)
            winner = winner[self._number[distinct] < 0]
            self._first[slot[winner]] = first[left[winner]]
            self._second[slot[winner]] = second[left[winner]]
            self._number[slot[winner]] = numbers[left[winner]]
            left, slot = np.delete(left, winner), self._next(np.delete(slot, winner))

    def _slots(self, keys: Keys) -> IntArray:
        mixed = keys[0] * _FACTORS[0] + keys[1] * _FACTORS[1]
        mixed = (mixed ^ (mixed >> np.uint64(32))) * _FACTORS[0]
        slots: IntArray = (mixed >> np.uint64(64 - self._bits)).astype(np.int64)
        return slots

    def _next(self, slot: IntArray) -> IntArray:
        return (slot + 1) & ((1 << self._bits) - 1)


def _keys(letters: NDArray[np.uint8], starts: IntArray, ends: IntArray) -> Keys:
    """The first 8 bytes of each word as one number, and the 8 after these."""
    padded = np.append(letters, np.zeros(_SHORT, np.uint8))
    eights: NDArray[np.uint64] = np.ndarray(len(padded) - 7, "<u8", padded, strides=(1,))
    size = ends - starts
    first = eights[starts] & _MASKS[np.minimum(size, 8)]
    return first, eights[starts + 8] & _MASKS[np.clip(size - 8, 0, 8)]


# From `starts` to `word_ends` of `Tokens`.
TokenArrays = tuple[IntArray, IntArray, NDArray[np.uint8], IntArray, IntArray]
Tokenizer = Callable[[str, IntArray], TokenArrays]

BORDER = "\x01"  # separates the words of two texts, and is no word of any text

# What Unicode's form NFC puts together: marks, and the letters of Korean syllables. Few texts have
# any of the characters that may be one, so these are looked for first.
_LOW = rf"{LOW_MARKS}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff"
_MAY_BE_MARK = re.compile(f"[{_LOW}{FROM_10000}]")
_MARK = re.compile(rf"[{_LOW}]|{MARK}")
_PIECE = 1 << 19  # characters that are worked on at once
_SPACE, _BORDER, _PLUS, _HASH = b" \x01+#"
_ALONE, _SEVERAL = 1, 2  # characters that are a token each, and those that fold to several


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of some texts, text by text and from left to right, a border between two."""

    joined: str  # the texts
    numbers: IntArray  # (texts,): which texts these are
    offsets: IntArray  # (texts,): where each begins in `joined`
    starts: IntArray  # (tokens,): where each token starts in `joined`
    ends: IntArray  # (tokens,)
    letters: NDArray[np.uint8]  # the words between spaces, folded as in `text.tokens`, in UTF-8
    word_starts: IntArray  # (tokens,): where each word starts in `letters`
    word_ends: IntArray  # (tokens,)

    @property
    def words(self) -> list[str]:
        return self.letters.tobytes().decode().split()


def tokens_of(texts: Sequence[str]) -> Iterator[Tokens]:
    """The tokens of all texts, a piece at a time.

    Texts in ASCII take less work than others, and those with accents behind their letters more, so
    the three kinds come one after the other.
    """
    tokenizers = [*map(_tokenizer_of, texts)]
    for tokenizer in (_ascii, _any, _tokens_with_marks):
        numbers: list[int] = []
        size = 0
        for number, (text, own) in enumerate(zip(texts, tokenizers, strict=True)):
            if own is tokenizer:
                numbers.append(number)
                size += len(text)
                if size >= _PIECE:
                    yield _tokens(texts, numbers, tokenizer)
                    numbers, size = [], 0
        if numbers:
            yield _tokens(texts, numbers, tokenizer)


def _tokenizer_of(text: str) -> Tokenizer:
    if text.isascii():
        return _ascii
    return _tokens_with_marks if _MAY_BE_MARK.search(text) and _MARK.search(text) else _any


def _tokens(texts: Sequence[str], numbers: list[int], tokenizer: Tokenizer) -> Tokens:
    chosen = [texts[number] for number in numbers]
    # Spaces at both ends and around each border: every token has one on either side.
    joined = f" {'   '.join(chosen)} "
    offsets = np.cumsum([1, *(len(text) + 3 for text in chosen[:-1])])
    return Tokens(joined, np.array(numbers), offsets, *tokenizer(joined, offsets[1:] - 2))


def _ascii(joined: str, borders: IntArray) -> TokenArrays:
    letters = np.frombuffer(bytearray(joined.encode().translate(_ASCII)), np.uint8)
    letters[borders] = _BORDER
    _remove_loose_signs(letters, letters != _SPACE)
    starts, ends = _runs(letters)
    return starts, ends, letters, starts, ends


def _any(joined: str, borders: IntArray) -> TokenArrays:
    folds, kinds = _tables()
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    wide, kind = folds[points], kinds[points]
    wide[borders] = _BORDER
    _remove_loose_signs(wide, (wide != _SPACE) & (kind != _ALONE))
    if kind.any():
        wide, origins = _spread(wide, kind)
        first, last = _runs(wide)
        starts, ends = origins[first], origins[last - 1] + 1
    else:
        first, last = starts, ends = _runs(wide)
    letters = np.frombuffer(wide.tobytes().decode("utf-32-le").encode(), np.uint8)
    size = 1 + (wide >= 1 << 7) + (wide >= 1 << 11) + (wide >= 1 << 16)  # in UTF-8
    stops = np.cumsum(size)
    return starts, ends, letters, stops[first - 1], stops[last - 1]


def _tokens_with_marks(joined: str, borders: IntArray) -> TokenArrays:
    """One by one: what a letter is folded to depends on the marks behind it."""
    spans = sorted([*token_spans(joined), *((border, border + 1) for border in borders.tolist())])
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    words = [fold(joined[start:end]).replace(" ", BORDER).encode() for start, end in spans]
    letters = np.frombuffer(b" " + b" ".join(words) + b" ", np.uint8)
    stops = np.cumsum([1 + len(word) for word in words], dtype=np.int64)  # of the spaces behind
    sizes = np.fromiter(map(len, words), np.int64, len(words))
    return starts, ends, letters, stops - sizes, stops


def _remove_loose_signs(letters: NDArray[Any], in_word: NDArray[np.bool_]) -> None:
    """Put spaces for those `+` and `#` that do not belong to the word before them.

    A run of them does if a word is right before it, but not its last if a token is right after.
    """
    signs = np.flatnonzero((letters == _PLUS) | (letters == _HASH))
    opens = np.diff(signs, prepend=-1) > 1
    firsts, lasts = signs[opens], signs[np.roll(opens, -1)]
    belongs = in_word[firsts - 1][np.cumsum(opens) - 1]
    before_token = lasts[letters[lasts + 1] != _SPACE]
    letters[signs[~belongs]] = _SPACE
    letters[before_token] = _SPACE


def _spread(
    letters: NDArray[np.uint32], kind: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], IntArray]:
    """Put spaces around letters that are alone, fold others to several; also their places."""
    alone, several = np.flatnonzero(kind == _ALONE), np.flatnonzero(kind == _SEVERAL)
    folded = [[*map(ord, fold(chr(point)))] for point in letters[several].tolist()]
    size = np.ones(len(letters), np.int64)
    size[alone] = 3
    size[several] = [*map(len, folded)]
    origins = np.repeat(np.arange(len(letters)), size)
    positions = np.cumsum(size) - size
    spread = letters[origins]
    spread[positions[alone]] = spread[positions[alone] + 2] = _SPACE
    for position, points in zip(positions[several].tolist(), folded, strict=True):
        spread[position : position + len(points)] = points
    return spread, origins


def _runs(letters: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Where the runs of letters between spaces start and end."""
    inside = letters != _SPACE
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    return edges[::2], edges[1::2]


_ASCII = bytes(
    ord(fold(chr(code))) if chr(code).isalnum() or chr(code) in "+#" else _SPACE
    for code in range(128)
).ljust(256)


@cache
def _tables() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """For every character: what it is folded to, a space if it is in no token, and its kind.

    One that folds to several stays as it is.
    """
    every = np.arange(sys.maxunicode + 1, dtype=np.uint32)
    text = every.tobytes().decode("utf-32-le", "surrogatepass")
    folds = np.full(len(every), _SPACE, np.uint32)
    kinds = np.zeros(len(every), np.uint8)
    for char in re.findall(r"[^\W_]|[+#]", text):
        folded = fold(char)
        folds[ord(char)] = ord(folded) if len(folded) == 1 else ord(char)
        if len(folded) > 1:
            kinds[ord(char)] = _SEVERAL
    for char in re.findall(rf"(?=[^\W_])[{CJK}]", text):
        kinds[ord(char)] = _ALONE
    return folds, kinds
