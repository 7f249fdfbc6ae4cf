"""Names within words: behind an article, before a particle, and as a part of a compound.

Korean writes particles behind a name, Arabic and Hebrew write articles, conjunctions and some
prepositions before it, all without a space. What may stand there is a small closed class in each
language. A compound (`Herzinfarktrisiko`) may have any other word before or behind the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

from synsetmine.normalization import INVISIBLE, LOW_MARKS

_POINTS = "[\u0591-\u05c7\u064b-\u0652]*"
_ARABIC = "".join(f"(?:[{of}]{_POINTS})?" for of in ("وف", "بكل")) + f"(?:ا{_POINTS}ل{_POINTS})?"
_HEBREW = "".join(f"(?:{of}{_POINTS})?" for of in ("ו", "[כמל]?ש", "[בכלמ]", "ה"))
_KOREAN = (
    "(?:들)?"
    "(?:에게서|한테서|에게|한테|에서|으로서|으로써|로서|로써|으로|로|에|께서|께|처럼|보다|만큼|대로|같이"
    "|하고|이랑|랑|와|과)?"
    "(?:까지|부터|마저|조차|마다|밖에|뿐|만)?"
    "(?:이라고|라고|이라는|라는|이라도|라도|이라|라|이란|란|이나|나|이든|든|이며|며|이고|고|이다|다|입니다"
    "|이었다|였다|인|은|는|이|가|을|를|의|도|야)?"
)
# Of a script: its letters, what may stand before a name and behind it, and how many characters the
# name has at least.
_AFFIXES = [
    (re.compile(f"[{letters}]"), re.compile(before), re.compile(behind), least)
    for letters, before, behind, least in (
        ("\u0621-\u064a\u066e-\u06d3", _ARABIC, "", 3),
        ("\u05d0-\u05ea", _HEBREW, "", 3),
        ("\uac00-\ud7a3", "", _KOREAN, 2),
    )
]
HAVE_AFFIXES = re.compile("|".join(letters.pattern for letters, *_ in _AFFIXES))
_BEHIND = re.compile(rf"[{INVISIBLE}{LOW_MARKS}]")  # belong to the letter before them
_LONGEST_AFFIX = 12  # characters
_PART, _REST = 4, 3  # characters that a part of a compound has at least, and the rest of the word
_LONGEST_WORD = 80  # what is longer is no word


def known_part(
    word: str, is_known: Callable[[str], bool], *, compounds: bool = False
) -> tuple[int, int] | None:
    """Where the longest part of a word that is known stands in it, if affixes are all the rest.

    With `compounds` the rest may be anything, before the part or behind it.

    >>> known_part("서울에서는", {"서울"}.__contains__)
    (0, 2)
    """
    if len(word) > _LONGEST_WORD:
        return None
    whole_letters = (
        part for part in _parts(word, compounds) if not any(_BEHIND.match(word, at) for at in part)
    )
    longest_first = sorted(whole_letters, key=lambda part: (part[0] - part[1], part[0]))
    return next((part for part in longest_first if is_known(word[slice(*part)])), None)


def _parts(word: str, compounds: bool) -> Iterator[tuple[int, int]]:
    size = len(word)
    for letters, before, behind, least in _AFFIXES:
        if letters.search(word):
            width = min(size - least, _LONGEST_AFFIX)
            starts = [at for at in range(width + 1) if before.fullmatch(word, 0, at)]
            ends = [at for at in range(size - width, size + 1) if behind.fullmatch(word, at)]
            for start, end in product(starts, ends):
                if least <= end - start < size:
                    yield start, end
    if compounds:
        for part in range(_PART, size - _REST + 1):
            yield 0, part
            yield size - part, size
