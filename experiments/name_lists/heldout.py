"""Names of the final tests: an entity that has one of them is left out of every list."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from experiments.name_lists.base import Names

_HASH = re.compile(r"[0-9a-f]{16}")


def read_heldout(path: Path) -> frozenset[str]:
    """The hashes in a file, one per line."""
    hashes = path.read_text(encoding="ascii").split()
    for number, line in enumerate(hashes, start=1):
        if not _HASH.fullmatch(line):
            raise ValueError(f"{path}, entry {number}: expected 16 hex digits; got {line!r}")
    return frozenset(hashes)


def without_heldout(entities: Iterable[Names], hashes: frozenset[str]) -> list[Names]:
    """The entities that have no held-out name."""
    return [names for names in entities if not held_out(names, hashes)]


def held_out(names: Iterable[str], hashes: frozenset[str]) -> bool:
    """Whether any of the names is held out."""
    return any(name_hash(name) in hashes for name in names)


def name_hash(name: str) -> str:
    """First 16 hex digits of SHA-256 of the name's letters and digits, NFKC and casefolded.

    >>> name_hash("U.S.A.") == name_hash("usa")
    True
    """
    return hashlib.sha256(letters(name).encode()).hexdigest()[:16]


def letters(name: str) -> str:
    """The letters and digits of a name, NFKC and casefolded.

    >>> letters("U.S.A.")
    'usa'
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(filter(str.isalnum, folded))
