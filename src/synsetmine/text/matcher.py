"""Finds known names in texts: leftmost, longest, at the borders of tokens, in one pass.

Every word of some name has a code of two characters. A name becomes the codes of its
words, a text those of its own, and an Aho-Corasick automaton finds the ones in the other. So
matches begin and end only where tokens do, and the automaton has a few states for each name
instead of one for each letter.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from itertools import chain, pairwise, product, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from daachorse import MATCH_KIND_LEFTMOST_LONGEST
from daachorse import CharwiseDoubleArrayAhoCorasick as Automaton
from numpy.typing import NDArray

from synsetmine.errors import DataError
from synsetmine.io.files import atomic_stream, open_binary
from synsetmine.normalization import (
    INVISIBLE,
    LOW_MARKS,
    fold,
    keeps_case,
    normal_form,
    plain,
    tokens,
)
from synsetmine.text.tokens import BORDER, Tokens, tokens_of
from synsetmine.types import first_duplicate

IntArray = NDArray[np.int64]

MARK = b"synsetmine names 2\n"
HALF = 1 << 10  # so many characters can be second in the code of a word, and others first


@dataclass(frozen=True, eq=False)
class Matches:
    """Where names were found, text by text and from left to right: one entry for each match."""

    text: IntArray  # the number of the text
    start: IntArray
    end: IntArray
    form: IntArray  # the number of the form

    def __len__(self) -> int:
        return len(self.text)

    @property
    def columns(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The four arrays: text, start, end, form."""
        return self.text, self.start, self.end, self.form


class NameMatcher:
    """Finds names that are given by their normal forms; the number of a form is its position.

    Case counts for nothing, but for forms that keep theirs: `WHO` is found only where the text
    writes just that. Where the text writes `WHO` and that is no name, it can still be `who`.
    """

    def __init__(
        self,
        *,
        words: Sequence[str],
        automaton: Automaton,
        folded: NDArray[np.int32],
        capitals: dict[str, int],
        fingerprint: str,
    ) -> None:
        self._words = words
        self._automaton = automaton
        self._folded = folded  # (patterns,): the form that may be written in any case, or -1
        self._capitals = capitals  # the numbers of the forms that keep their case
        self._fingerprint = fingerprint
        self._number_of = {word: number for number, word in enumerate(words)}
        self._is_cased = np.zeros(len(folded), np.bool_)  # (patterns,): of forms in capitals
        for piece in tokens_of([*capitals]):
            self._is_cased[self._matches(piece)[2]] = True

    @classmethod
    def build(cls, forms: Sequence[str] | pa.Array) -> NameMatcher:
        """Build from distinct normal forms."""
        names: Sequence[str] = forms.to_pylist() if isinstance(forms, pa.Array) else forms
        if len(set(names)) < len(names):
            raise DataError("this name occurs twice", value=first_duplicate(names))
        capitals = {name: number for number, name in enumerate(names) if _is_cased(name)}
        in_any_case = [fold(name) if name in capitals else name for name in names]
        _require_normal(in_any_case)
        counts = Counter(chain.from_iterable(map(str.split, in_any_case)))
        words = [word for word, _ in counts.most_common()]
        codes = _encode(np.arange(len(words)))
        code_of = {word: codes[2 * i : 2 * i + 2] for i, word in enumerate(words)}
        number_of: dict[str, int] = {}  # by pattern
        for number, form in enumerate(in_any_case):
            pattern = "".join(map(code_of.__getitem__, form.split()))
            if names[number] in capitals:
                number_of.setdefault(pattern, -1)
            else:
                number_of[pattern] = number
        patterns = sorted(number_of)  # which the automaton takes in less time
        return cls(
            words=words,
            automaton=Automaton(patterns, MATCH_KIND_LEFTMOST_LONGEST, use_prefilter=False),
            folded=np.array([number_of[pattern] for pattern in patterns], np.int32),
            capitals=capitals,
            fingerprint=_fingerprint(forms),
        )

    def is_built_from(self, forms: Sequence[str] | pa.Array) -> bool:
        """Whether the numbers of matches are positions among these forms."""
        return self._fingerprint == _fingerprint(forms)

    def find(self, texts: Sequence[str], *, compounds: bool = False) -> Matches:
        """All names in the texts; where some overlap, the leftmost and of those the longest.

        A word that is in no name may contain one, between affixes of its language
        (`affixes.known_part`) or, with `compounds`, as its first or last part.
        """
        pieces = (self._find(piece, compounds) for piece in tokens_of(texts))
        matches = np.concatenate([np.empty((4, 0), np.int64), *pieces], axis=1)
        return Matches(*matches[:, np.argsort(matches[0], kind="stable")])

    def _find(self, piece: Tokens, compounds: bool) -> IntArray:
        first, last, pattern = self._matches(piece)
        if compounds or (not piece.joined.isascii() and HAVE_AFFIXES.search(piece.joined)):
            # A word of some name may still be cut, but not before names around it were found.
            for known in (False, True):
                outside = _outside(first, last, len(piece.words))
                tokens = [i for i in outside if (piece.words[i] in self._number_of) is known]
                if parts := self._known_parts(piece, tokens, compounds):
                    piece = piece.cut(parts)
                    first, last, pattern = self._matches(piece)
        start, end = piece.starts[first], piece.ends[last]
        form = self._folded[pattern].astype(np.int64)
        # Only single tokens keep their case. So a match may be turned down after the search:
        # nothing shorter begins at its token, and the search went on at the next one.
        cased = np.flatnonzero(self._is_cased[pattern])
        cased = cased[~_in_small_letters(piece.joined, start[cased])]
        spans = zip(cased.tolist(), start[cased].tolist(), end[cased].tolist(), strict=True)
        for match, begin, stop in spans:
            written = plain(piece.joined[begin:stop])
            form[match] = self._capitals.get(written, form[match])
        text = np.searchsorted(piece.offsets, start, side="right") - 1
        offset = piece.offsets[text]
        matches = np.stack([piece.numbers[text], start - offset, end - offset, form])
        return matches[:, form >= 0]

    def _known_parts(
        self, piece: Tokens, tokens: Sequence[int], compounds: bool
    ) -> dict[int, tuple[int, int]]:
        """Of those tokens that contain a word of some name: where it stands in the token."""
        part_of = cache(partial(known_part, is_known=self._knows, compounds=compounds))
        parts = {}
        for token in tokens:
            if compounds or HAVE_AFFIXES.search(piece.words[token]):
                part = part_of(piece.joined[piece.starts[token] : piece.ends[token]])
                if part is not None:
                    parts[token] = part
        return parts

    def _knows(self, word: str) -> bool:
        return fold(word) in self._number_of

    def _matches(self, piece: Tokens) -> tuple[IntArray, IntArray, IntArray]:
        """The first and the last token and the pattern of each match."""
        numbers = map(self._number_of.get, piece.words, repeat(-1))
        words = np.fromiter(numbers, np.int64, len(piece.words))
        matches = self._automaton.find(_encode(words))
        flat = np.fromiter(chain.from_iterable(matches), np.int64, 3 * len(matches))
        start, end, pattern = flat.reshape(-1, 3).T  # two characters a token
        return start // 2, end // 2 - 1, pattern

    def save(self, path: Path) -> None:
        """Write one file, whole or not at all."""
        parts = [
            "\n".join(self._words).encode(),
            "\n".join(self._capitals).encode(),
            np.array([*self._capitals.values()], "<i4").tobytes(),
            self._folded.astype("<i4").tobytes(),
            self._automaton.serialize(),
        ]
        header = {"engine": _engine(), "of": self._fingerprint, "sizes": [*map(len, parts)]}
        body = [json.dumps(header).encode(), b"\n", *parts]
        with atomic_stream(path) as stream:
            stream.writelines([MARK, _checksum(body), *body])

    @classmethod
    def load(cls, path: Path) -> NameMatcher:
        """Read what `save` wrote; a damaged file is an error before anything is used."""
        with open_binary(path) as stream:
            if stream.read(len(MARK)) != MARK:
                raise DataError("not a name matcher saved by this version of synsetmine", path=path)
            checksum, body = stream.read(32), stream.read()
        if _checksum([body]) != checksum:
            raise DataError("a damaged name matcher: its checksum differs", path=path)
        try:
            return cls._of(body)
        except DataError as error:
            raise error.at(path) from None
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise DataError("an inconsistent name matcher; delete it", path=path) from error

    @classmethod
    def _of(cls, body: bytes) -> NameMatcher:
        end = body.index(b"\n")
        header = json.loads(body[:end])
        if header["engine"] != _engine():  # which may take the automaton for another
            problem = f"a name matcher saved by {header['engine']}, but this is {_engine()}"
            raise DataError(f"{problem}: build it again")
        borders = np.cumsum([end + 1, *header["sizes"]]).tolist()
        words, capitals, numbers, folded, automaton = (body[a:b] for a, b in pairwise(borders))
        forms = np.frombuffer(numbers, "<i4").tolist()
        return cls(
            words=words.decode().split(),
            automaton=Automaton.deserialize(automaton),
            folded=np.frombuffer(folded, "<i4"),
            capitals=dict(zip(capitals.decode().split(), forms, strict=True)),
            fingerprint=header["of"],
        )


def _is_cased(form: str) -> bool:
    """Whether a form is one of those that keep their case."""
    # Some scripts fold to capitals. A form that is its own fold is found in any case.
    single = keeps_case(form) and " " not in form
    return single and normal_form(form) == form and fold(form) != form


def _require_normal(forms: Sequence[str]) -> None:
    """Refuse forms that no text has; those of a piece are compared with its tokens at once."""
    for piece in tokens_of(forms):
        listed = [forms[number] for number in piece.numbers.tolist()]
        if "" in listed or f" {BORDER} ".join(listed) != " ".join(piece.words):
            wrong = next(form for form in listed if not form or " ".join(tokens(form)) != form)
            raise DataError("not the normal form of a name", value=wrong)


def _outside(first: IntArray, last: IntArray, size: int) -> list[int]:
    """The tokens that are in no match."""
    change = np.zeros(size + 1, np.int64)
    change[first] += 1
    change[last + 1] -= 1
    outside: list[int] = np.flatnonzero(change.cumsum()[:-1] == 0).tolist()
    return outside


def _in_small_letters(text: str, positions: IntArray) -> NDArray[np.bool_]:
    """Where a to z occur. It spares most look-ups: `as` and `it` are seldom As and IT."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)[positions]
    return (points >= ord("a")) & (points <= ord("z"))


def _encode(words: IntArray) -> str:
    """Two characters for the number of each word, and two zeros for -1.

    What can be first is never second, so that no match begins in the middle of a word.
    """
    codes = np.zeros((len(words), 2), "<u4")
    known = words >= 0
    codes[known, 0] = 1 + HALF + words[known] // HALF
    codes[known, 1] = 1 + words[known] % HALF
    return codes.tobytes().decode("utf-32-le")


def _fingerprint(forms: Sequence[str] | pa.Array) -> str:
    array = forms if isinstance(forms, pa.Array) else pa.array(forms, pa.large_string())
    array = array.cast(pa.large_string())
    if not len(array):  # such an array may come without buffers
        return _checksum([]).hex()
    _, starts, letters = array.buffers()
    borders = np.frombuffer(starts, np.int64)[array.offset :][: len(array) + 1]
    sizes = np.diff(borders).astype("<i8")
    return _checksum([sizes, memoryview(letters)[borders[0] : borders[-1]]]).hex()


def _checksum(parts: Iterable[Any]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def _engine() -> str:
    return f"daachorse {version('daachorse')}"


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
