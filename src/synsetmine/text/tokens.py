"""The words and sentences of texts, the words of names, and words of little meaning."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synsetmine.normalization import (
    CJK,
    COMPLEX,
    FROM_10000,
    INVISIBLE,
    LETTER_APOSTROPHES,
    LOW_MARKS,
    MARK,
    fold,
    token_spans,
    without_invisible,
)

IntArray = NDArray[np.int64]
# `starts`, `ends` and `words` of `Tokens`.
TokenLists = tuple[IntArray, IntArray, list[str]]
Tokenizer = Callable[[str, IntArray], TokenLists]

BORDER = "\x01"  # separates the words of two texts, and is no word of any text

# Characters that change with their neighbours: marks and the letters of Korean syllables, which
# Unicode's form NFC puts together, invisible ones, and scripts whose tokens are several. Few texts
# have any of the characters that may be one, so these are looked for first.
_LOW = (
    rf"{LOW_MARKS}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff{INVISIBLE}{LETTER_APOSTROPHES}{COMPLEX}"
)
_MAY_BE_MARK = re.compile(f"[{_LOW}{FROM_10000}]")
_MARK = re.compile(rf"[{_LOW}]|{MARK}")
_PIECE = 1 << 19  # characters that are worked on at once
_SPACE, _BORDER, _PLUS, _HASH = b" \x01+#"
_ALONE, _SEVERAL = 1, 2  # characters that are a token each, and those that fold to several


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of some texts, text by text and from left to right, a border between two."""

    joined: str  # the texts
    numbers: IntArray  # (texts,): which texts these are
    offsets: IntArray  # (texts,): where each begins in `joined`
    starts: IntArray  # (tokens,): where each token starts in `joined`
    ends: IntArray  # (tokens,)
    words: list[str]  # of each token, folded as in `normalization.tokens`

    def cut(self, parts: Mapping[int, tuple[int, int]]) -> Tokens:
        """Only a part of some tokens, and an empty token in place of what was before or behind."""
        starts, ends, words = self.starts.copy(), self.ends.copy(), self.words.copy()
        rests: list[int] = []
        for token, (first, end) in parts.items():
            start, size = int(starts[token]), int(ends[token] - starts[token])
            starts[token], ends[token] = start + first, start + end
            words[token] = fold(self.joined[start + first : start + end])
            rests += [token] * (first > 0) + [token + 1] * (end < size)
        pieces = (words[a:b] for a, b in pairwise([0, *rests, len(words)]))
        words = [word for piece in pieces for word in ("", *piece)][1:]
        return replace(
            self, starts=np.insert(starts, rests, 0), ends=np.insert(ends, rests, 0), words=words
        )


def tokens_of(texts: Sequence[str]) -> Iterator[Tokens]:
    """The tokens of all texts, a piece at a time.

    Texts in ASCII take less work than others, and those with accents behind their letters more, so
    the three kinds come one after the other.
    """
    tokenizers = [*map(_tokenizer_of, texts)]
    for tokenizer in (_ascii, _any, _tokens_with_marks):
        numbers: list[int] = []
        size = 0
        for number, (text, own) in enumerate(zip(texts, tokenizers, strict=True)):
            if own is tokenizer:
                numbers.append(number)
                size += len(text)
                if size >= _PIECE:
                    yield _tokens(texts, numbers, tokenizer)
                    numbers, size = [], 0
        if numbers:
            yield _tokens(texts, numbers, tokenizer)


def _tokenizer_of(text: str) -> Tokenizer:
    if text.isascii():
        return _ascii
    return _tokens_with_marks if _MAY_BE_MARK.search(text) and _MARK.search(text) else _any


def _tokens(texts: Sequence[str], numbers: list[int], tokenizer: Tokenizer) -> Tokens:
    chosen = [texts[number] for number in numbers]
    # Spaces at both ends and around each border: every token has one on either side.
    joined = f" {'   '.join(chosen)} "
    offsets = np.cumsum([1, *(len(text) + 3 for text in chosen[:-1])])
    return Tokens(joined, np.array(numbers), offsets, *tokenizer(joined, offsets[1:] - 2))


def _ascii(joined: str, borders: IntArray) -> TokenLists:
    letters = np.frombuffer(bytearray(joined.encode().translate(_ASCII)), np.uint8)
    letters[borders] = _BORDER
    _remove_loose_signs(letters, letters != _SPACE)
    return *_runs(letters), letters.tobytes().decode().split()


def _any(joined: str, borders: IntArray) -> TokenLists:
    folds, kinds = _tables()
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    wide, kind = folds[points], kinds[points]
    wide[borders] = _BORDER
    _remove_loose_signs(wide, (wide != _SPACE) & (kind != _ALONE))
    if kind.any():
        wide, origins = _spread(wide, kind)
        first, last = _runs(wide)
        starts, ends = origins[first], origins[last - 1] + 1
    else:
        starts, ends = _runs(wide)
    return starts, ends, wide.tobytes().decode("utf-32-le").split()


def _tokens_with_marks(joined: str, borders: IntArray) -> TokenLists:
    """One by one: what a letter is folded to depends on the marks behind it."""
    spans = sorted([*token_spans(joined), *((border, border + 1) for border in borders.tolist())])
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    words = [joined[start:end] for start, end in spans]
    folded = {word: fold(word).replace(" ", BORDER) for word in {*words}}
    return starts, ends, [*map(folded.__getitem__, words)]


def _remove_loose_signs(letters: NDArray[Any], in_word: NDArray[np.bool_]) -> None:
    """Put spaces for those `+` and `#` that do not belong to the word before them.

    A run of them does if a word is right before it, but not its last if a token is right after.
    """
    signs = np.flatnonzero((letters == _PLUS) | (letters == _HASH))
    opens = np.diff(signs, prepend=-1) > 1
    firsts, lasts = signs[opens], signs[np.roll(opens, -1)]
    belongs = in_word[firsts - 1][np.cumsum(opens) - 1]
    before_token = lasts[letters[lasts + 1] != _SPACE]
    letters[signs[~belongs]] = _SPACE
    letters[before_token] = _SPACE


def _spread(
    letters: NDArray[np.uint32], kind: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], IntArray]:
    """Put spaces around letters that are alone, fold others to several; also their places."""
    alone, several = np.flatnonzero(kind == _ALONE), np.flatnonzero(kind == _SEVERAL)
    folded = [[*map(ord, fold(chr(point)))] for point in letters[several].tolist()]
    size = np.ones(len(letters), np.int64)
    size[alone] = 3
    size[several] = [*map(len, folded)]
    origins = np.repeat(np.arange(len(letters)), size)
    positions = np.cumsum(size) - size
    spread = letters[origins]
    spread[positions[alone]] = spread[positions[alone] + 2] = _SPACE
    for position, points in zip(positions[several].tolist(), folded, strict=True):
        spread[position : position + len(points)] = points
    return spread, origins


def _runs(letters: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Where the runs of letters between spaces start and end."""
    inside = letters != _SPACE
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    return edges[::2], edges[1::2]


_ASCII = bytes(
    ord(fold(chr(code))) if chr(code).isalnum() or chr(code) in "+#" else _SPACE
    for code in range(128)
).ljust(256)


@cache
def _tables() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """For every character: what it is folded to, a space if it is in no token, and its kind.

    One that folds to several stays as it is.
    """
    every = np.arange(sys.maxunicode + 1, dtype=np.uint32)
    text = every.tobytes().decode("utf-32-le", "surrogatepass")
    folds = np.full(len(every), _SPACE, np.uint32)
    kinds = np.zeros(len(every), np.uint8)
    for char in re.findall(r"[^\W_]|[+#]", text):
        folded = fold(char)
        folds[ord(char)] = ord(folded) if len(folded) == 1 else ord(char)
        if len(folded) > 1:
            kinds[ord(char)] = _SEVERAL
    for char in re.findall(rf"(?=[^\W_])[{CJK}]", text):
        kinds[ord(char)] = _ALONE
    return folds, kinds


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
        text = unicodedata.normalize("NFKD", without_invisible(text).replace("™", " ")).casefold()
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
        pattern = _WORD
    if "." in text:
        text = _DOTTED.sub(lambda letters: letters.group().replace(".", "") + " ", text)
    return [word[:LETTERS] for word in pattern.findall(text)[:WORDS]]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A place where a term occurs: `text[start:end]`.

    Evidence also has the relation of the term to a name of its set that the text states.
    """

    document: str
    text: str
    start: int
    end: int
    relation: str = ""  # abbreviation, alias, …; empty for an example


def sentence_around(document: str, text: str, start: int, end: int, longest: int) -> Sentence:
    """The sentence that contains `text[start:end]`, with runs of whitespace as one space."""
    # Farther away than this everything would be cut off anyway.
    first, last = max(start - 2 * longest, 0), min(end + 2 * longest, len(text))
    begin, stop = None, None
    for place in sentence_ends(text, first, last):
        if place <= start:
            begin = place
        elif place >= end:
            stop = place
            break
    before = one_space(text[first if begin is None else begin : start]).lstrip()
    term = one_space(text[start:end])
    after = one_space(text[end : last if stop is None else stop]).rstrip()
    before, after = _fit(
        before,
        after,
        room=longest - len(term),
        cut_before=begin is None and first > 0,
        cut_after=stop is None and last < len(text),
    )
    return Sentence(document, f"{before}{term}{after}", len(before), len(before) + len(term))


# A mark that ends sentences, quotes and brackets that close after it, then whitespace. Chinese and
# Japanese marks need none; an empty line always ends a sentence.
_END = re.compile(
    r"(?P<mark>[.!?…]++)[\"'”’»)\]]*+\s++(?=[\"'“‘«(\[]*(?P<next>[^\s\"'“‘«(\[]+))"
    r"|[。！？]+[」』”’）]*"
    r"|[^\S\n]*+\n[^\S\n]*+\n\s*+"
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]*\Z")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]|Ph\.D")  # J, U.S, a.m: without the last dot

# After these the sentence goes on, whatever follows.
_NEVER_LAST = word_set(
    "e.g i.e cf c.f viz vs approx dr mr mrs ms prof rev hon gen col sgt lt capt gov sen rep st ste "
    "mt ft messrs mme mlle resp incl excl"
)
# After these it goes on with a number.
_BEFORE_NUMBERS = word_set(
    "no nos nr fig figs eq eqs ref refs vol vols p pp sec ch chap tab art ca c v ver "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# After these, and after initials, a sentence ends only where a usual first word follows.
_SELDOM_LAST = word_set("al etc inc ltd co corp bros jr sr dept univ suppl spp sp var")
_FIRST_WORDS = word_set(
    "A After All Although An And As At Because Both But By During Each For From Further "
    "Furthermore He Here His However I If In It Its Many More Most No Of On One Other Our Results "
    "She Since Some Such That The Their Then There These They This Those Thus To Two Under Until "
    "We What When Where Whether While With You"
)


def sentence_ends(text: str, first: int, last: int) -> Iterator[int]:
    """The places between `first` and `last` where a sentence is over and the next one begins."""
    for match in _END.finditer(text, first, last):
        if match["mark"] is None or _is_end(text, match):
            yield match.end()


def _is_end(text: str, match: re.Match[str]) -> bool:
    """Whether a mark before whitespace ends a sentence, rather than a short form."""
    following = match["next"]
    if following[0].islower():
        return False
    if match["mark"] != ".":
        return True
    last = _LAST_WORD.search(text, max(match.start() - 40, 0), match.start())
    word = last.group() if last else ""
    if word.lower() in _NEVER_LAST:
        return False
    if word.lower() in _BEFORE_NUMBERS and following[0].isdigit():
        return False
    if word.lower() in _SELDOM_LAST or _INITIALS.fullmatch(word):
        return following.rstrip(",") in _FIRST_WORDS
    return True


def one_space(text: str) -> str:
    """A text with each run of whitespace as one space."""
    return re.sub(r"\s+", " ", text)


def _fit(
    before: str, after: str, *, room: int, cut_before: bool, cut_after: bool
) -> tuple[str, str]:
    """Shorten both sides to `room` characters in all, with … where something is missing."""
    room = max(room, 2)  # a very long term leaves no more than two dots
    left, right = len(before) + cut_before, len(after) + cut_after
    if left + right > room:  # what the shorter side leaves over goes to the longer one
        half = room // 2
        left, right = max(half, room - right), max(room - half, room - left)
    return _keep_end(before, left, cut_before), _keep_end(after[::-1], right, cut_after)[::-1]


def _keep_end(text: str, width: int, cut: bool) -> str:
    """The end of a text that is at most `width` long, at a word, with … in front if cut."""
    if len(text) + cut <= width:
        return f"…{text}" if cut else text
    kept = text[len(text) - (width - 1) :]
    if not text[-width].isspace():  # in the middle of a word
        kept = kept.partition(" ")[2] or kept
    return f"…{kept.lstrip()}"
