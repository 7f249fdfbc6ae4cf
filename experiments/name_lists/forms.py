"""Whether one name is a spelling, plural or abbreviation of another."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
SMALL_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "by",
        "de",
        "del",
        "der",
        "des",
        "di",
        "du",
        "et",
        "for",
        "fur",
        "in",
        "la",
        "of",
        "on",
        "the",
        "to",
        "und",
        "y",
    ]
)


def words_of(text: str) -> list[str]:
    """The words, casefolded, without diacritics and possessive endings.

    >>> words_of("Domino's Pizza, Besançon")
    ['domino', 'pizza', 'besancon']
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return [word.removesuffix("'s") for word in _WORD.findall(plain)]


def singular(word: str) -> str:
    """The word without a plural ending."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "oes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def same_words(name: str, other: str) -> bool:
    """Whether two names differ in order, spaces or plural endings only.

    >>> same_words("Freedman, David", "David Freedman"), same_words("data base", "Databases")
    (True, False)
    """
    words, others = words_of(name), words_of(other)
    if "".join(words) == "".join(others):
        return True
    return sorted(map(singular, words)) == sorted(map(singular, others))


def is_acronym(short: str, long: str) -> bool:
    """Whether a short form has the initials of the words, with or without small words.

    >>> is_acronym("ADSL", "Asymmetric Digital Subscriber Line"), is_acronym("DoD", "Department")
    (True, False)
    """
    letters = "".join(words_of(short))
    words = words_of(long)
    content = [word for word in words if word not in SMALL_WORDS]
    return len(letters) > 1 and letters in (_initials(words), _initials(content))


def _initials(words: list[str]) -> str:
    return "".join(word[0] for word in words)
