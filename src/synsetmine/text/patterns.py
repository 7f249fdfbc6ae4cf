"""Patterns of a text that say whether two names mean the same thing.

Abbreviation definitions are found by the algorithm of Schwartz and Hearst (PSB 2003): a short
form stands in brackets after its long form, or the other way round, and its letters are looked
for in the long form from right to left. Connectors are the few words between two names that stand
beside each other: "A (B)" and "A, also known as B" speak for one meaning, "A and B" and "A versus
B" against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from synsetmine.text.tokens import FUNCTION_WORDS, sentence_ends, word_set

Relation = Literal[
    "abbreviation", "alias", "parenthesis", "slash", "conjunction", "list", "such as", "versus"
]
SUPPORTING: tuple[Relation, ...] = ("abbreviation", "alias", "parenthesis", "slash")
OPPOSING: tuple[Relation, ...] = ("conjunction", "list", "such as", "versus")

SHORTEST, LONGEST = 2, 10  # characters of a short form
_SMALL = 5  # one in small letters for a single word, such as "pts.", is not longer
REACH = 300  # characters before brackets in which a long form begins
WIDEST = 60  # characters between two names that a connector may have

Span = tuple[int, int]


class Definition(NamedTuple):
    """Where a text defines an abbreviation: `text[slice(*short)]` is short for the other."""

    short: Span
    long: Span


def find_definitions(text: str) -> Iterator[Definition]:
    """The abbreviations that a text defines, from left to right.

    A short form has 2 to 10 characters in at most two words and a letter among them. It stands
    for a long form of at most min(n + 5, 2 n) words, where n is the number of its letters and
    digits. These stand in the long form in the same order, and the first one begins its first
    word. Of the long forms that fit, the shortest is taken, but one whose words each give their
    first letter before any other.
    """
    for bracket in _BRACKETS.finditer(text):
        opening = bracket.start()
        if not opening or not text[opening - 1].isspace():  # f(x), poly(A)
            continue
        inner = _strip(text, *bracket.span(1))
        before = _strip(text, max(opening - REACH, 0), opening)
        short, is_inside = inner, _is_short_form(text[slice(*inner)])
        if not is_inside:
            short = _last_word(text, before)
            if not _is_acronym(text[slice(*short)]):
                continue
        window = _last_sentence(text, before, bracket) if is_inside else inner
        long = _long_form(text, short, window)
        if long is not None and (is_inside or long[0] == _first_name(text, inner)):
            yield Definition(short, long)


def relation_between(text: str, first: Span, second: Span) -> Relation | None:
    """What the text between two names says of them, if it says anything.

    `first` ends before `second` begins, and no other name stands between them.
    """
    if not 0 < second[0] - first[1] <= WIDEST:
        return None
    connector = _connector(text[first[1] : second[0]])
    following = text[second[1] : second[1] + 1]
    if connector == "parenthesis":
        return "parenthesis" if following in _CLOSING else None
    if connector == "or in brackets":
        return "alias" if following in _CLOSING else "conjunction"
    if connector == "or after a comma":  # "A, or B," but not within "X, A, or B,"
        before = text[max(first[0] - WIDEST, 0) : first[0]]
        is_apposition = following == "," and not _IN_LIST.search(before)
        return "alias" if is_apposition else "conjunction"
    return connector


Connector = Relation | Literal["or in brackets", "or after a comma"]

_CLOSING = (")", "]")
_IN_LIST = re.compile(r"[,;][^.:()]*\Z")
_CONNECTORS: dict[Connector, str] = {
    "parenthesis": r"\s*[(\[]",
    "or in brackets": r"\s*[(\[]or\s",
    "or after a comma": r",\sor\s",
    "alias": r"""
        [\s,(\[]*(?:(?:is|are|was|were|which\sis|which\sare)\s)?
        (?:
            (?:also|formerly|previously|commonly|often|sometimes|otherwise|better|once|hereafter)\s
            (?:known|called|named|termed|referred\sto|designated|abbreviated)(?:\sas)?
            | known\sas | formerly | a\.?k\.?a\.? | i\.?e\.?,?
        )\s
    """,
    "slash": r"\s?/\s?",
    "conjunction": r",?\s(?:and|or|nor|and/or|&|as\swell\sas|but\snot)\s",
    "list": r"\s?[,;]\s",
    "such as": r"""
        [\s,(\[]+
        (?:such\sas|including|includes?|like|especially|particularly|for\sexample,?|e\.?g\.?,?)\s
    """,
    "versus": r"""
        [\s,(\[]+
        (?:versus|vs\.?|compared\s(?:with|to)|rather\sthan|(?:more|less|better|worse)\sthan|than)\s
    """,
}
_PATTERNS = {
    name: re.compile(rf"(?:{pattern})(?:(?:the|an?)\s)?[\"'“‘]?", re.VERBOSE | re.IGNORECASE)
    for name, pattern in _CONNECTORS.items()
}


@lru_cache(maxsize=1 << 16)  # most of them are a comma or "and"
def _connector(between: str) -> Connector | None:
    spaced = re.sub(r"\s+", " ", between)
    for name, pattern in _PATTERNS.items():
        if pattern.fullmatch(spaced):
            return name
    return None


# What stands in brackets, up to a comma or semicolon, without a further pair of brackets in it.
_BRACKETS = re.compile(r"[(\[]([^()\[\],;]{2,200})(?:[,;][^()\[\]]*)?[)\]]")
_AROUND = ' \t\r\n\u00a0\u2009\u200a\u202f"“”‘«»'
_WORD = re.compile(r"\S+")
_SPACE = re.compile(r"\s")
_PART = re.compile(r"[^\W_]+")
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)
# A comparison, a share, an amount such as "5 mg", the number of an item, or "i.e.".
_NO_SHORT_FORM = re.compile(
    r"[=<>≤≥±%$~:]|\A[\d.]+\s|(?i:\A(?!iv\Z)[ivx]+\Z)|\A(?:i\.?e|e\.?g|viz|cf|see|ref)\b"
)
# Of "Con A", "AT III" and "C. parvum" the second word is the last one of the long form too.
_SECOND_WORD = re.compile(r"\S+\s(?P<word>[IVX]+|[A-Z]|\d+|[a-z]{4,})")
# A long form may begin with other stop words: "in situ hybridization", "no evidence of disease".
_NEVER_FIRST = word_set(
    "and or of to for with by from at on as but than that is are was were be into its their"
)
# Words that a long form may have between others that give a letter.
_LINKING = word_set("a an and at by for from in of on or over the to with")
# What may stand before a chemical within a token: 1,3- or di-n- or delta(9)-.
_LOCANT = re.compile(
    r"(?:(?:[^\W_]{1,2}|\d+[^\W\d_]?|alpha|beta|gamma|delta|tert|cis|trans)[\W_]+)+"
)


def _strip(text: str, start: int, end: int) -> Span:
    """A span without the whitespace and quotation marks around it."""
    content = text[start:end]
    start += len(content) - len(content.lstrip(_AROUND))
    return start, max(start, start + len(text[start:end].rstrip(_AROUND)))


def _last_sentence(text: str, span: Span, bracket: re.Match[str]) -> Span:
    """The part of a span before brackets that belongs to their sentence, in whole words."""
    start, end = span
    if start and text[start - 1].isalnum():
        start = next((space.end() for space in _SPACE.finditer(text, start, end)), end)
    for border in sentence_ends(text, start, bracket.end()):
        start = border if border <= bracket.start() else start
    return min(start, end), end


def _is_short_form(content: str) -> bool:
    return (
        SHORTEST <= len(content) <= LONGEST
        and content[0].isalnum()
        and any(map(str.isalpha, content))
        and sum(map(str.isalnum, content)) >= SHORTEST
        and len(content.split()) <= 2
        and not _NO_SHORT_FORM.search(content)
        and (content.isupper() or content.lower() not in FUNCTION_WORDS)  # WHO
    )


def _is_acronym(content: str) -> bool:
    """Whether a word before brackets is worth a look at what they hold: two capitals or more."""
    return sum(map(str.isupper, content)) >= 2 and _is_short_form(content)


def _last_word(text: str, span: Span) -> Span:
    words = _WORD.findall(text, *span)
    return span[1] - len(words[-1]) if words else span[1], span[1]


def _first_name(text: str, span: Span) -> int:
    """Where a name begins that may have an article in front."""
    article = _ARTICLE.match(text, *span)
    return article.end() if article else span[0]


def _long_form(text: str, short: Span, window: Span) -> Span | None:
    """The long form at the end of a window, if there is one."""
    content = text[slice(*short)]
    letters = [char.lower() for char in content if char.isalnum()]
    words = [match.start() for match in _WORD.finditer(text, *window)]
    if not words:
        return None
    low = words[-min(len(words), len(letters) + 5, 2 * len(letters))]
    parts = [match.span() for match in _PART.finditer(text, low, window[1])]
    start = _initials_start(letters, text, parts)
    is_exact = start is not None
    if start is None:
        start = _letters_start(letters, text, low, window[1])
    if start is None:
        return None
    start = _token_start(text, start, low)
    if start is None or not _is_long_form(text[start : window[1]], content, is_exact=is_exact):
        return None
    return start, window[1]


def _initials_start(letters: Sequence[str], text: str, parts: Sequence[Span]) -> int | None:
    """Where the shortest run of words begins of which each gives its first letter.

    Stop words may give none, but for the last one.
    """
    waiting = {len(letters)}  # how many letters are left of what was matched, in all ways
    for start, end in reversed(parts):
        word = text[start:end].lower()
        gives = {count - 1 for count in waiting if letters[count - 1] == word[0]}
        if 0 in gives and word not in _NEVER_FIRST:
            return start
        skips = waiting - {len(letters)} if word in FUNCTION_WORDS else set()
        waiting = (gives | skips) - {0}
        if not waiting:
            break
    return None


def _letters_start(letters: Sequence[str], text: str, low: int, high: int) -> int | None:
    """Schwartz and Hearst's search from right to left; the first letter begins a word."""
    position = high
    for number in reversed(range(len(letters))):
        position -= 1
        while position >= low and not (
            text[position].lower() == letters[number]
            and (number or position == 0 or not text[position - 1].isalnum())
        ):
            position -= 1
        if position < low:
            return None
    return position


def _token_start(text: str, start: int, low: int) -> int | None:
    """Where a long form begins that was matched from within a token; None where it is a part.

    The numbers before a chemical belong to it ("3-methylcholanthrene"), brackets do not.
    """
    begin = start
    while begin > low and not text[begin - 1].isspace():
        begin -= 1
    prefix = text[begin:start]
    if not prefix or prefix[-1] in "([{\"'“‘]" or prefix.lower() == "anti-":
        return start
    return begin if _LOCANT.fullmatch(prefix) else None


def _is_long_form(long: str, short: str, *, is_exact: bool) -> bool:
    """Whether words with the right letters are sound; `is_exact` if each gives its first letter."""
    words, key = long.lower().split(), short.lower()
    second = _SECOND_WORD.fullmatch(short)
    return (
        len(long) > len(short)
        and key not in (word.strip(".,") for word in words)
        and not re.match(rf"{re.escape(key)}\b", long, re.IGNORECASE)
        and (second is None or second["word"].lower() == words[-1])
        and not re.search(r"[;:]\s|\s[(\[]", long)
        and _is_balanced(long)
        and any(len(part) > 2 for part in _PART.findall(long))
        and not (len(words[0]) == 1 and long[0].islower())  # "7 d of life"
        and (is_exact or _has_sound_words(words, key, is_small=short.islower()))
    )


def _has_sound_words(words: Sequence[str], short: str, *, is_small: bool) -> bool:
    """Whether words of which not each gives its first letter look like one name."""
    ending = next(char for char in reversed(short) if char.isalnum())
    return (
        words[0] not in FUNCTION_WORDS
        and not any(word.endswith(",") for word in words)
        and not any(word in FUNCTION_WORDS and word not in _LINKING for word in words)
        and (ending in words[-1] or ending.isdigit())
        and not (is_small and (len(words) > 1 or len(short) > _SMALL))
    )


def _is_balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if depth < 0:
            return False
    return depth == 0
