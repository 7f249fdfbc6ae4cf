"""The words of names, and two lists of words that carry little meaning."""

from __future__ import annotations

import re
import unicodedata

from synsetmine.normalization import MARK


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of names in several languages that an acronym or a comparison of names may leave out.
STOP_WORDS = word_set(
    "a an and at by de del der des di du et for from in la le les of on or the to und van von with"
)
# English words that a phrase of a text neither begins nor ends with.
FUNCTION_WORDS = word_set(
    """
    a about above across after again against ago all almost along already also although always
    am among amongst an and another any anyone anything are around as at away back be became
    because become becomes been before behind being below beneath beside besides between beyond
    both but by can cannot could despite did do does doing done down due during each either else
    especially etc even ever every everyone everything except few fewer following for from
    further furthermore given had has have having he hence her here hers herself him himself his
    how however i if in indeed inside instead into is it its itself just least less many may me
    might mine more moreover most much must my myself near nearly neither never nevertheless no
    nobody none nor not nothing now of off often on once one only onto or other others otherwise
    our ours ourselves out over own per perhaps quite rather s same several shall she should
    since so some someone something soon still such than that the their theirs them themselves
    then there thereafter thereby therefore these they thing things this those though through
    throughout thus to together too toward towards two under unless unlike until up upon us used
    using usually various versus very via vs was we well were what whatever when where whereas
    whether which while who whom whose why will with within without would yet you your yours
    yourself
    """
)
WORDS = 48  # of a name that count; the rest of a longer one is ignored
LETTERS = 48  # of a word that count
_SIGNS = "[+#&%$@*]"
_ASCII_WORD = re.compile(rf"[^\W_]+|{_SIGNS}")
_WORD = re.compile(rf"[^\W_]+(?:{MARK}+[^\W_]*)*|{_SIGNS}")
# Accents of Latin and Greek letters, vowel points of Hebrew and Arabic: names go with and without.
_ACCENTS = re.compile(
    "(?<=[a-z\u00df-\u024f\u0370-\u03ff])[\u0300-\u036f]+|[\u0591-\u05c7\u064b-\u065f\u0670]"
)
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}")  # "u.s." is the word "us"


def name_words(name: str) -> list[str]:
    """The words of a name: case folded, without accents; of a very long name the first ones.

    >>> name_words("Besançon, U.S.™"), name_words("दिन")
    (['besancon', 'us'], ['दिन'])
    """
    text, pattern = name[: WORDS * LETTERS].casefold(), _ASCII_WORD
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.replace("™", " ")).casefold()
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
        pattern = _WORD
    if "." in text:
        text = _DOTTED.sub(lambda letters: letters.group().replace(".", "") + " ", text)
    return [word[:LETTERS] for word in pattern.findall(text)[:WORDS]]
