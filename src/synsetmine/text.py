"""Normalisation and tokens: pure functions on strings."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"[^\W_]+")


def tokens(surface: str) -> tuple[str, ...]:
    """The words of a surface, case-folded; `_`, blanks and punctuation separate them.

    >>> tokens("U.S._Steel")
    ('u', 's', 'steel')
    """
    return tuple(_TOKEN.findall(surface.casefold()))
