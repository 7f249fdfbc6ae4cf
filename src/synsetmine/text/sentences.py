"""Sentences: where they end in a text, and the one around a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from synsetmine.text.words import word_set


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
    for border in sentence_ends(text, first, last):
        if border <= start:
            begin = border
        elif border >= end:
            stop = border
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
