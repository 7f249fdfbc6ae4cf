"""Many strings in one Arrow array, with look-ups that make no Python object of the others."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Strings:
    """Distinct strings, each with its number, and the numbers in the order of their checksums.

    The checksums and their order take 8 bytes a string, and no Python object.
    """

    array: Any  # a pyarrow large_string array without nulls
    hashes: NDArray[np.uint32]  # the CRC-32 of every string, sorted
    order: NDArray[np.int32]  # the number of the string with that checksum

    @classmethod
    def of(cls, array: Any) -> Strings:
        texts = Texts(array)
        crc = np.fromiter((zlib.crc32(raw) for raw in texts.raw()), np.uint32, len(array))
        order = np.argsort(crc, kind="stable").astype(np.int32)
        return cls(array, crc[order], order)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, number: int) -> str:
        return self.texts[number]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def find(self, text: str) -> int | None:
        """The number of a string, or None if it is not here."""
        try:
            raw = text.encode()
        except UnicodeEncodeError:  # half a character, which no stored string holds
            return None
        checksum = zlib.crc32(raw)
        hashes, order = self._views
        place = bisect_left(hashes, checksum)
        while place < len(hashes) and hashes[place] == checksum:
            if self.texts.bytes_at(order[place]) == raw:
                return int(order[place])
            place += 1
        return None

    @cached_property
    def texts(self) -> Texts:
        return Texts(self.array)

    @cached_property
    def _views(self) -> tuple[memoryview[int], memoryview[int]]:
        # A memoryview gives Python's own numbers; a numpy array would wrap each of them.
        return self.hashes.data, self.order.data

    def __getstate__(self) -> dict[str, object]:
        return {"array": self.array, "hashes": self.hashes, "order": self.order}


class Texts:
    """The strings of an Arrow array, read one by one from its buffers."""

    def __init__(self, array: Any) -> None:
        self._size = len(array)
        _, starts, letters = array.buffers()
        # An empty Arrow array may come without buffers.
        numbers = memoryview(starts if self._size else bytes(8)).cast("B").cast("q")
        self._starts = numbers[array.offset :]
        self._letters = memoryview(letters if letters is not None else b"")

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> str:
        return str(self.bytes_at(number), "utf-8")

    def __iter__(self) -> Iterator[str]:
        return (str(raw, "utf-8") for raw in self.raw())

    def bytes_at(self, number: int) -> bytes:
        if not 0 <= number < self._size:
            raise IndexError(number)
        return bytes(self._letters[self._starts[number] : self._starts[number + 1]])

    def buffers(self) -> tuple[memoryview[int], memoryview[int]]:
        """Where each string starts (and the last one ends), and the bytes of all."""
        starts = self._starts[: self._size + 1]
        return starts, self._letters[starts[0] : starts[-1]]

    def raw(self) -> Iterator[bytes]:
        return (self.bytes_at(number) for number in range(self._size))


class Column:
    """Strings on their way into an Arrow array: a block of Python strings at a time."""

    BLOCK = 1 << 16

    def __init__(self) -> None:
        self._chunks: list[Any] = []
        self._open: list[str] = []
        self._size = 0

    def append(self, text: str) -> None:
        self._open.append(text)
        if len(self._open) >= self.BLOCK:
            self._close()

    def __len__(self) -> int:
        return self._size + len(self._open)

    def take_all(self) -> Any:
        """All strings so far as one large_string array; the column is empty afterwards."""
        self._close()
        chunks, self._chunks, self._size = self._chunks, [], 0
        return join(chunks)

    def _close(self) -> None:
        self._chunks.append(pa.array(self._open, pa.large_string()))
        self._size += len(self._open)
        self._open = []


def join(arrays: Iterable[Any]) -> Any:
    return pa.concat_arrays([pa.array([], pa.large_string()), *arrays])
