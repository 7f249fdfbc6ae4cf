"""The strings of a large vocabulary in files that several processes share.

What a `StringView` knows takes a gigabyte for a million terms, too much to be sent to each worker.
So its arrays are written once and mapped into memory by all, and only pairs travel.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from synsetmine.temporary import temporary_folder
from synsetmine.views.strings import Floats, Numbers, StringView, row_dots

MATRICES = ("ngrams", "words")
ARRAYS = ("word_counts", "digits")
TEXTS = ("texts", "sorted_texts")  # neither of which has a line break


@contextmanager
def stored_strings(view: StringView) -> Iterator[Path]:
    """A folder with the view, for `compare_stored`; it goes when it is no longer needed."""
    with temporary_folder() as folder:
        for matrix in MATRICES:
            for part in ("data", "indices", "indptr"):
                np.save(folder / f"{matrix}.{part}.npy", getattr(getattr(view, matrix), part))
        for array in ARRAYS:
            np.save(folder / f"{array}.npy", getattr(view, array))
        joined, initials = view.acronyms
        np.save(folder / "acronyms.npy", np.stack([joined, *initials]))
        for texts in TEXTS:
            (folder / texts).write_text("\n".join(getattr(view, texts)), encoding="utf-8")
        yield folder


def compare_stored(folder: Path, left: Numbers, right: Numbers) -> Floats:
    """What `StringView.pairs` gives, in any process."""
    return _load(folder).pairs(left, right)


def ngram_dots(folder: Path, left: Numbers, right: Numbers) -> Any:
    """The cosines of the n-grams of left[i] and right[i]."""
    return row_dots(_load(folder).ngrams, left, right)


@lru_cache(maxsize=1)
def _load(folder: Path) -> StringView:
    from scipy import sparse

    texts = {name: (folder / name).read_text(encoding="utf-8").split("\n") for name in TEXTS}
    view = StringView(texts["texts"])
    known = view.__dict__  # where cached properties are kept
    known |= texts
    for name in MATRICES:
        data, indices, indptr = (
            np.load(folder / f"{name}.{part}.npy", mmap_mode="r")
            for part in ("data", "indices", "indptr")
        )
        width = int(indices.max(initial=0)) + 1
        known[name] = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
    for name in ARRAYS:
        known[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    joined, *initials = np.load(folder / "acronyms.npy", mmap_mode="r")
    known["acronyms"] = joined, tuple(initials)
    return view
