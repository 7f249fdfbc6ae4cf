"""The similarities of strings on a GPU: those of `StringView`, for millions of pairs at a time.

A string is a row of letters and, for each letter, a word of 64 bits that tells where it stands.
With these, how far two strings agree is found with a few operations on whole words for each
letter of one of them: the longest common subsequence (Hyyrö 2004), and the letters that Jaro's
measure takes for the same. A string that is too long for a word is left to `StringView`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from synsetmine.views.strings import FEATURES, SLOW, StringView

LONGEST = 63  # letters
LETTERS = 255  # different ones, the most frequent
CHUNK = 1 << 23  # pairs that are compared at a time
VALUES = 1 << 27  # of rows that are multiplied at a time
PLACES = 24  # binary ones of a value

_SLOW_PLACES = [FEATURES.index(name) for name in SLOW]


class StringTable:
    """The strings of a vocabulary on a device."""

    def __init__(self, view: StringView, device: torch.device) -> None:
        self.view = view
        self.device = device
        self.texts = _Letters.of(view.texts, device)
        self.sorted = _Letters.of(view.sorted_texts, device)
        self.fits = self.texts.fits & self.sorted.fits
        self.ngrams = _Rows.of(view.ngrams, device)
        self.words = _Rows.of(view.words, device)
        self.word_counts = torch.from_numpy(view.word_counts).to(device)
        joined, initials = view.acronyms
        self.joined = torch.from_numpy(joined).to(device)
        self.initials = [torch.from_numpy(letters).to(device) for letters in initials]
        self.digits = torch.from_numpy(view.digits).to(device)

    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """The similarities of left[i] and right[i]: (pairs, features)."""
        result = self._zeros(left.shape)
        self._fill(result, left, right, self.ngrams.dots(left, right), self.words.dots(left, right))
        result[:, _SLOW_PLACES] = self.slow_pairs(left, right)
        return result

    def block(self, rows: Tensor, columns: Tensor, *, slow: bool = True) -> Tensor:
        """The similarities of each row with each column: (rows, columns, features).

        Those that are slow can be left out, and are zero then.
        """
        result = self._zeros((len(rows), len(columns)))
        ends = rows[:, None], columns[None]
        self._fill(
            *(result, *ends),
            self.ngrams.products(rows)[:, columns],
            self.words.products(rows)[:, columns],
        )
        if slow:
            pairs = torch.broadcast_to(ends[0], result.shape[:-1]).flatten()
            others = torch.broadcast_to(ends[1], result.shape[:-1]).flatten()
            found = self.slow_pairs(pairs, others)
            result[..., _SLOW_PLACES] = found.view(*result.shape[:-1], len(SLOW))
        return result

    def slow_pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """The similarities that are slow, of left[i] and right[i]: (pairs, slow)."""
        result = torch.empty(len(left), len(SLOW), device=self.device)
        # Strings of about the same length, so that not all need as many steps as the longest.
        for part in torch.split(self.texts.lengths[right].argsort(stable=True), CHUNK):
            a, b = left[part], right[part]
            result[part, 0] = self.texts.indel(a, b)
            result[part, 1] = self.sorted.indel(a, b)
            result[part, 2] = self.texts.jaro_winkler(a, b)
        odd = (~(self.fits[left] & self.fits[right])).nonzero()[:, 0]
        if len(odd):
            found = self.view.slow_pairs(left[odd].cpu().numpy(), right[odd].cpu().numpy())
            result[odd] = torch.from_numpy(found).to(self.device)
        return result

    def _zeros(self, shape: Sequence[int]) -> Tensor:
        """(…, features), of which the values of one feature lie together: so they are written."""
        return torch.zeros(len(FEATURES), *shape, device=self.device).movedim(0, -1)

    def _fill(
        self, result: Tensor, left: Tensor, right: Tensor, ngrams: Tensor, shared: Tensor
    ) -> None:
        """All that are not slow; left and right are broadcast."""
        ours, theirs = self.word_counts[left], self.word_counts[right]
        match = torch.zeros(result.shape[:-1], dtype=torch.bool, device=self.device)
        for letters in self.initials:
            match |= self.joined[left] == letters[right]
            match |= letters[left] == self.joined[right]
        found = {
            "ngrams": ngrams,
            "jaccard": shared / (ours + theirs - shared),
            "containment": shared / torch.minimum(ours, theirs),
            "acronym": match,
            "digits": self.digits[left] == self.digits[right],
        }
        for name, values in found.items():
            result[..., FEATURES.index(name)] = values
        result.clamp_(0, 1)


class _Letters:
    """Texts as letters; 0 stands for none."""

    def __init__(self, letters: Tensor, lengths: Tensor, fits: Tensor) -> None:
        self.letters = letters  # (LONGEST, texts), so that a step reads what lies together
        self.lengths = lengths  # (texts,)
        self.fits = fits  # (texts,)
        count = int(letters.max()) + 1 if letters.numel() else 1
        self.kinds = count
        places = torch.zeros(letters.shape[1] * count, dtype=torch.int64, device=letters.device)
        own = torch.arange(letters.shape[1], device=letters.device) * count
        for place, row in enumerate(letters):
            # A place has one letter, so adding its bit is setting it; that of no letter goes.
            places.index_add_(0, own + row.long(), torch.where(row > 0, 1 << place, 0))
        self.places = places  # (texts * kinds,): the bits where a letter stands

    @classmethod
    def of(cls, texts: Sequence[str], device: torch.device) -> _Letters:
        lengths = np.array([len(text) for text in texts], np.int64)
        codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
        kinds, counts = np.unique(codes, return_counts=True)
        chosen = np.sort(kinds[np.argsort(-counts, kind="stable")[:LETTERS]])
        at = np.searchsorted(chosen, codes).clip(max=max(len(chosen) - 1, 0))
        known = chosen[at] == codes if len(chosen) else np.zeros(0, np.bool_)
        owner = np.repeat(np.arange(len(texts)), lengths)
        strange = np.bincount(owner[~known], minlength=len(texts))
        fits = (lengths <= LONGEST) & (strange == 0)
        place = np.arange(len(codes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        letters = np.zeros((LONGEST, len(texts)), np.uint8)
        used = fits[owner]
        letters[place[used], owner[used]] = at[used] + 1
        tensors = (torch.from_numpy(a).to(device) for a in (letters, lengths, fits))
        return cls(*tensors)

    def indel(self, left: Tensor, right: Tensor) -> Tensor:
        """2 x longest common subsequence / both lengths; left and right are broadcast."""
        ours, theirs = self.lengths[left], self.lengths[right]
        rest = torch.full(_shape(left, right), -1, device=left.device)
        base = left * self.kinds
        for row in self.letters[: self._longest(right)]:
            both = rest & self.places[base + row[right].long()]
            rest = (rest + both) | (rest - both)
        common = _ones(~rest)
        total = ours + theirs
        return torch.where(total > 0, 2 * common / total.clamp(min=1), 1.0)

    def jaro_winkler(self, left: Tensor, right: Tensor) -> Tensor:
        """Jaro's similarity, more for up to four equal letters at the beginning."""
        shape = _shape(left, right)
        ours, theirs = self.lengths[left].expand(shape), self.lengths[right].expand(shape)
        bound = (torch.maximum(ours, theirs) // 2 - 1).clamp(min=0)
        window = (1 << (bound + 1)) - 1  # the places of left that one of right may be matched with
        base, longest = left * self.kinds, self._longest(right)
        taken = torch.zeros(shape, dtype=torch.int64, device=left.device)  # of left
        matched = torch.zeros_like(taken)  # of right
        for place, row in enumerate(self.letters[:longest]):
            free = self.places[base + row[right].long()] & window & ~taken
            taken |= free & -free  # the first of them
            matched |= (free != 0).long() << place
            window = (window << 1) | (bound > place)
        same = _ones(taken)
        swapped = torch.zeros_like(taken)
        for place, row in enumerate(self.letters[:longest]):
            first = taken & -taken & -((matched >> place) & 1)
            swapped += (first != 0) & ((self.places[base + row[right].long()] & first) == 0)
            taken ^= first
        # In double precision, as rapidfuzz does it: at 0.7 there is a jump.
        equal = same.double()
        jaro = equal / ours.clamp(min=1) + equal / theirs.clamp(min=1)
        jaro += (same - swapped // 2) / equal.clamp(min=1)
        jaro = torch.where(same > 0, jaro / 3, 0.0)
        jaro = torch.where((ours == 0) & (theirs == 0), 1.0, jaro)
        prefix = torch.ones(shape, dtype=torch.int64, device=left.device)
        total = torch.zeros_like(prefix)
        for row in self.letters[:4]:
            prefix &= (row[left] == row[right]) & (row[left] > 0)
            total += prefix
        return torch.where(jaro > 0.7, jaro + 0.1 * total * (1 - jaro), jaro).float()

    def _longest(self, texts: Tensor) -> int:
        """Of those that fit, how many letters there are to look at."""
        fitting = self.lengths[texts].clamp(max=LONGEST)
        return int(fitting.max()) if fitting.numel() else 0


class _Rows:
    """The rows of a sparse matrix, all of the same width: columns, -1 where there is none."""

    def __init__(self, columns: Tensor, values: Tensor, matrix: Tensor) -> None:
        self.columns, self.values = columns, values  # (rows, widest)
        self.matrix = matrix  # (rows, all columns), sparse, float64

    @classmethod
    def of(cls, matrix: Any, device: torch.device) -> _Rows:
        matrix = matrix.sorted_indices()
        sizes = np.diff(matrix.indptr)
        place = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], sizes)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        shape = (len(sizes), int(sizes.max(initial=1)))
        columns, values = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
        columns[owner, place], values[owner, place] = matrix.indices, _rounded(matrix.data)
        with warnings.catch_warnings():  # what torch says of its own: a beta, checks that are on
            warnings.filterwarnings("ignore", "Sparse", UserWarning)
            whole = torch.sparse_csr_tensor(
                torch.from_numpy(matrix.indptr),
                torch.from_numpy(matrix.indices),
                torch.from_numpy(_rounded(matrix.data)),
                size=matrix.shape,
                device=device,
                check_invariants=True,
            )
        return cls(torch.from_numpy(columns).to(device), torch.from_numpy(values).to(device), whole)

    def dots(self, left: Tensor, right: Tensor) -> Tensor:
        """The products of rows left[i] and right[i]: (pairs,)."""
        found = torch.zeros(len(left), device=left.device)
        step = max(1, VALUES // self.columns.shape[1])
        for start in range(0, len(left), step):
            a, b = left[start : start + step], right[start : start + step]
            columns = torch.cat([self.columns[a], self.columns[b]], dim=1)
            values = torch.cat([self.values[a], self.values[b]], dim=1)
            columns, order = columns.sort(dim=1)
            values = values.gather(1, order)
            same = (columns[:, 1:] == columns[:, :-1]) & (columns[:, 1:] >= 0)
            found[start : start + step] = (values[:, 1:] * values[:, :-1] * same).sum(dim=1)
        return found

    def products(self, rows: Tensor) -> Tensor:
        """The products of some rows with all: (rows, all).

        A GPU adds in another order each time, so the sums must be exact.
        """
        width = self.matrix.shape[1]
        dense = torch.zeros(len(rows), width + 1, dtype=torch.float64, device=rows.device)
        dense.scatter_(1, self.columns[rows].long() % (width + 1), self.values[rows].double())
        found = (self.matrix @ dense[:, :width].T.contiguous()).T
        return found.float()


def _rounded(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """To so few binary places that float64 holds products of unit rows and their sums exactly."""
    return np.ldexp(np.rint(np.ldexp(values.astype(np.float64), PLACES)), -PLACES)


def _shape(left: Tensor, right: Tensor) -> torch.Size:
    return torch.Size(np.broadcast_shapes(left.shape, right.shape))


def _ones(words: Tensor) -> Tensor:
    """How many bits are set in each word of 64."""
    words = words - ((words >> 1) & 0x5555555555555555)
    words = (words & 0x3333333333333333) + ((words >> 2) & 0x3333333333333333)
    words = (words + (words >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (words * 0x0101010101010101 >> 56) & 0xFF
