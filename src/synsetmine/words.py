"""The numbers of words, looked up many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Keys = tuple[NDArray[np.uint64], NDArray[np.uint64]]

_SHORT = 16  # bytes; such words are told apart by two numbers of 8 bytes each
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
        """The numbers of the words that stand there in UTF-8; -1 for one that is not here."""
        first, second = keys = _keys(letters, starts, ends)
        found = np.full(len(starts), -1, np.int64)
        left, slot = np.arange(len(starts)), self._slots(keys)
        while len(left):  # up to a free slot
            number = self._number[slot]
            same = (self._first[slot] == first[left]) & (self._second[slot] == second[left])
            found[left[same]] = number[same]
            on = ~same & (number >= 0)
            left, slot = left[on], self._next(slot[on])
        for word in np.flatnonzero(ends - starts > _SHORT).tolist():
            found[word] = self._long.get(letters[starts[word] : ends[word]].tobytes(), -1)
        return found

    def _fill(self, keys: Keys, numbers: IntArray) -> None:
        first, second = keys[0][numbers], keys[1][numbers]
        left, slot = np.arange(len(numbers)), self._slots((first, second))
        while len(left):  # of those that want one slot the first gets it, if it is free
            wanted, place = np.unique(slot, return_index=True)
            place = place[self._number[wanted] < 0]
            self._first[slot[place]] = first[left[place]]
            self._second[slot[place]] = second[left[place]]
            self._number[slot[place]] = numbers[left[place]]
            left, slot = np.delete(left, place), self._next(np.delete(slot, place))

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
