"""Normalisation and tokens: pure functions on strings."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Scripts that write no blanks between words: each of their characters is a token of its own.
CJK = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"(?=[^\W_])(?:[{CJK}]|[^\W_{CJK}]+(?:[+#]+(?![^\W_]))?)")

SHORT = 5  # an all-capital name of at most so many characters is found only in its own case


def tokens(surface: str) -> tuple[str, ...]:
    """The words of a surface, case-folded; `_`, blanks and punctuation separate them.

    A `+` or `#` at the end of a word belongs to it.

    >>> tokens("U.S._Steel"), tokens("C++")
    (('u', 's', 'steel'), ('c++',))
    """
    return tuple(fold(word) for word in _TOKEN.findall(surface))


def token_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the tokens of a text stand: (start, end) of each."""
    return (match.span() for match in _TOKEN.finditer(text))


def fold(token: str) -> str:
    """A token without its case; marks that folding splits off (as from `İ`) go."""
    folded = token.casefold()
    if folded.isalnum():
        return folded
    return "".join(char for char in folded if char.isalnum() or char in "+#")


def normal_form(surface: str) -> str:
    """What makes two surfaces one term: their tokens, joined by blanks.

    A single short word in capitals (`WHO`, `US`, `AIDS`) keeps its case, since in another case
    it is another word. A surface without any letter or digit has the normal form "".

    >>> normal_form("Heart-Failure"), normal_form("WHO"), normal_form("who")
    ('heart failure', 'WHO', 'who')
    """
    words = _TOKEN.findall(surface)
    if len(words) == 1 and keeps_case(words[0]):
        return str(words[0])
    return " ".join(map(fold, words))


def keeps_case(token: str) -> bool:
    """Whether a word on its own is a short one in capitals, such as an acronym."""
    return len(token) <= SHORT and token.isupper()
