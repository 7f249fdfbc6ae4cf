"""Normalisation and tokens: pure functions on strings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

# Scripts without spaces between words: each of their characters is a token of its own.
CJK = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


def _marks(first: int, last: int) -> str:
    """The marks in a range of characters, for a set in a pattern; neighbours become a range."""
    marks = [at for at in range(first, last + 1) if unicodedata.category(chr(at))[0] == "M"]
    runs = [[*run] for _, run in groupby(enumerate(marks), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)


# Accents, vowel signs and their like, which stand behind the letter that they belong to. Beyond
# these characters there are none but marks that choose a variant of a sign. From U+10000 on `re`
# compares with one after the other, so only characters from there are.
LOW_MARKS, FROM_10000 = _marks(0x300, 0xFFFF), "\U00010000-\U0001efff"
MARK = rf"(?:[{LOW_MARKS}]|[{FROM_10000}](?<=[{_marks(0x10000, 0x1EFFF)}]))"
SIGN = rf"[{CJK}]{MARK}*"  # behind a look-ahead, since there are marks among these characters
WORD = rf"[^\W_{CJK}]+(?:{MARK}+[^\W_{CJK}]*)*"
_TOKEN = re.compile(rf"(?=[^\W_])(?:{SIGN}|{WORD}(?:[+#]+(?![^\W_]))?)")

# Accents and their like, and all else that is neither a word, whitespace nor ASCII.
_MARKS = re.compile(r"[^\w\s!-~]{64,}")
_FEW = 2000  # characters, of which it does not matter in which order their marks stand

# Hyphens, up to the en dash, and apostrophes: they join the parts of a word.
HYPHENS, APOSTROPHES = "\u2010\u2011\u2012\u2013-", "'\u2019"
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


def fold(token: str) -> str:
    """A token without its case, in Unicode's form NFC; the dot that `İ` leaves on an i goes."""
    folded = token.casefold()
    if folded.isascii():
        return folded
    return nfc(nfc(token).casefold().replace("i\u0307", "i"))


def normal_form(surface: str) -> str:
    """What makes two surfaces one term: their tokens, joined by spaces.

    A single short word in capitals (`WHO`, `US`, `AIDS`) keeps its case, since in another case
    it is another word. A surface without any letter or digit has the normal form "".

    >>> normal_form("Heart-Failure"), normal_form("WHO"), normal_form("who")
    ('heart failure', 'WHO', 'who')
    """
    words = _TOKEN.findall(surface)
    if len(words) == 1 and keeps_case(word := nfc(words[0])):
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
