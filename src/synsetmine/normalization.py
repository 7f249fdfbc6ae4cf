"""Normalisation and tokens: pure functions on strings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

# Chinese and Japanese have no spaces between words: each of their characters is a token of its own.
CJK = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
# Thai, Lao, Burmese, Khmer and related scripts have none either (Unicode's line break class SA).
# Each consonant with its vowels and marks is a token: those before it in writing, those behind it,
# consonants below it, and a Burmese one that closes the syllable.
COMPLEX = (
    "\u0e01-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1780-\u17d7"
    "\u17dc\u17dd\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7f\u1aa0-\u1aad\ua9e0-\ua9ef\ua9fa-\ua9fe"
    "\uaa60-\uaadf"
)
_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4\u19b5-\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc"
_BEHIND = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"
_ABOVE = "\u1039\u17d2\u1a60"  # the next consonant goes below
_CLOSES = "[\u1000-\u1021]\u1037?\u103a"


def _marks(first: int, last: int) -> str:
    """The marks in a range of characters, for a set in a pattern; neighbours become a range."""
    marks = [at for at in range(first, last + 1) if unicodedata.category(chr(at))[0] == "M"]
    runs = [[*run] for _, run in groupby(enumerate(marks), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)


# Accents, vowel signs and their like, which stand behind the letter that they belong to, also those
# of half width. Beyond these characters there are none but marks that choose a variant of a sign.
# From U+10000 on `re` compares with one after the other, so only characters from there are.
_HALF_MARKS = "\uff9e\uff9f"
LOW_MARKS, FROM_10000 = _marks(0x300, 0xFFFF) + _HALF_MARKS, "\U00010000-\U0001efff"
MARK = rf"(?:[{LOW_MARKS}]|[{FROM_10000}](?<=[{_marks(0x10000, 0x1EFFF)}]))"
# Within a word these count for nothing: soft hyphens, characters without width, and the stroke that
# makes an Arabic word longer.
INVISIBLE = "\u00ad\u0640\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
# Letters to Unicode, to us apostrophes, which separate words as `'` does.
LETTER_APOSTROPHES = "\u02b9-\u02bf"
# Behind a look-ahead, since there are marks among these characters.
SIGN = (
    rf"(?:[{CJK}]{MARK}*|[{_BEFORE}]*[{COMPLEX}]"
    rf"(?:{MARK}|[{_BEHIND}]|(?<=[{_ABOVE}])[{COMPLEX}]|{_CLOSES})*)"
)
_LETTER = rf"[^\W_{CJK}{COMPLEX}{LETTER_APOSTROPHES}{_HALF_MARKS}\u0640]"
WORD = rf"{_LETTER}++(?:[{INVISIBLE}]*+(?:{MARK}++{_LETTER}*+|{_LETTER}++))*+"
_TOKEN = re.compile(rf"(?=[^\W_])(?:{SIGN}|{WORD}(?:[+#]+(?![^\W_]))?)")

# Accents and their like, and all else that is neither a word, whitespace nor ASCII.
_MARKS = re.compile(r"[^\w\s!-~]{64,}")
_FEW = 2000  # characters, of which it does not matter in which order their marks stand

# Hyphens, up to the en dash, and apostrophes: they join the parts of a word.
HYPHENS, APOSTROPHES = "\u2010\u2011\u2012\u2013-", f"'\u2019{LETTER_APOSTROPHES}"
_BEFORE_WORD = re.compile(rf"(?:[{HYPHENS}]|[{APOSTROPHES}](?!s\b))[^\W_]")
_AFTER_WORD = re.compile(rf"[^\W_][{APOSTROPHES}{HYPHENS}]")
_BRACKETS = {")": "(", "]": "["}

SHORT = 5  # an all-capital name of at most so many characters is found only in its own case


def nfc(text: str) -> str:
    """Unicode's form NFC: one way of writing for each character, `é` and never `e` and an accent.

    Python takes time that is quadratic in the marks on one letter, unless they are in order.
    """
    if len(text) > _FEW and not text.isascii() and _MARKS.search(text):
        text = _MARKS.sub(_order_marks, text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def _order_marks(marks: re.Match[str]) -> str:
    """The same marks, taken apart and in the order that NFC has them in."""
    ordered: list[str] = []
    waiting: list[str] = []
    for char in (part for mark in marks[0] for part in unicodedata.normalize("NFD", mark)):
        if unicodedata.combining(char):
            waiting.append(char)
        else:
            ordered += [*sorted(waiting, key=unicodedata.combining), char]
            waiting = []
    return "".join([*ordered, *sorted(waiting, key=unicodedata.combining)])


def tokens(surface: str) -> tuple[str, ...]:
    """The words of a surface, case-folded; `_`, whitespace and punctuation separate them.

    A `+` or `#` at the end of a word belongs to it, as do accents wherever they stand in it.

    >>> tokens("U.S._Steel"), tokens("C++")
    (('u', 's', 'steel'), ('c++',))
    """
    return tuple(fold(word) for word in _TOKEN.findall(surface))


def is_unicode(text: str) -> bool:
    """Whether a file can hold it: JSON can write halves of characters (`\\ud800`), no file can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def token_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the tokens of a text stand: (start, end) of each."""
    return (match.span() for match in _TOKEN.finditer(text))


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a span of several words has sound borders.

    It neither begins nor ends within a hyphenated word, and each bracket in it has its partner.
    A genitive may follow.

    >>> is_whole("IgG anti-CD3", 0, 8), is_whole("sequencing (ChIP)", 0, 16)
    (False, False)
    >>> is_whole("heart failure's", 0, 13), is_whole("breast (lobular) cancer", 0, 23)
    (True, True)
    """
    if _BEFORE_WORD.match(text, end) or _AFTER_WORD.match(text, max(start - 2, 0), start):
        return False
    opened: list[str] = []
    for char in text[start:end]:
        if char in "([":
            opened.append(char)
        elif char in ")]" and (not opened or opened.pop() != _BRACKETS[char]):
            return False
    return not opened


# What may be there or not: the above, marks that choose a variant, points for vowels in Hebrew and
# Arabic.
_INVISIBLE = re.compile(rf"[{INVISIBLE}\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f]+")
_POINTS = re.compile("[\u0591-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed]+")
# Letters of full and half width, and those that say how they join: what Unicode's NFKC makes of
# them, unless it is no letter.
_WIDE = re.compile("[\ufb1d-\ufdff\ufe70-\ufefc\uff10-\uff9f]")


def without_invisible(text: str) -> str:
    """A text without soft hyphens, characters without width and their like."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def plain(token: str) -> str:
    """A token in its own case, in the one way of writing that all its spellings share.

    In Unicode's form NFC, of usual width, without invisible characters and points for vowels.

    >>> plain("ＷＨＯ"), plain("Herz\u00adinfarkt"), plain("שָׁלוֹם")
    ('WHO', 'Herzinfarkt', 'שלום')
    """
    if token.isascii():
        return token
    composed = nfc(_WIDE.sub(_usual, _INVISIBLE.sub("", token)))
    return nfc(_POINTS.sub("", composed))


def _usual(letter: re.Match[str]) -> str:
    usual = unicodedata.normalize("NFKC", letter[0])
    return usual if usual.isalnum() or letter[0] in _HALF_MARKS else letter[0]


def fold(token: str) -> str:
    """A token as `plain` has it, without its case; the dot that `İ` leaves on an i goes."""
    folded = token.casefold()
    if folded.isascii():
        return folded
    return nfc(plain(token).casefold().replace("i\u0307", "i"))


def normal_form(surface: str) -> str:
    """What makes two surfaces one term: their tokens, joined by spaces.

    A single short word in capitals (`WHO`, `US`, `AIDS`) keeps its case, since in another case
    it is another word. A surface without any letter or digit has the normal form "".

    >>> normal_form("Heart-Failure"), normal_form("WHO"), normal_form("who")
    ('heart failure', 'WHO', 'who')
    """
    words = _TOKEN.findall(surface)
    if len(words) == 1 and keeps_case(word := plain(words[0])):
        return word
    return " ".join(map(fold, words))


def name_key(name: str) -> str:
    """What makes two spellings one name: Unicode's form NFKC without case and extra whitespace.

    >>> name_key(" Heart  Failure"), name_key("ＣＯ₂")
    ('heart failure', 'co2')
    """
    if name.isascii():
        return " ".join(name.casefold().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", nfc(name)).casefold())
    return " ".join(folded.split())


def keeps_case(token: str) -> bool:
    """Whether a word on its own is a short one in capitals, such as an acronym."""
    return len(token) <= SHORT and token.isupper()
