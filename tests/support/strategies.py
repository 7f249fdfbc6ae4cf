"""Shared hypothesis strategies: terms as nasty as real data, partitions, tables, known sets."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from synsetmine.models.known import Candidate, KnownSets, Rehearsal
from synsetmine.types import SENSE_MARK, SynonymSets, Term
from synsetmine.views import TermVectors

# fmt: off
PIECES = (
    "'", '"', "'''", ",", ", ", "{", "}", "{}", "[", "]", "(", ")", "\\", "\\n", "\\'", "|", "||",
    "#", ":", ";", "_", "-", "=", "%s", " ", "  ", "\t", "\n", "\r", "\r\n", "\0", "\x1b", "\x1c",
    "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "a", "B", "naïve", "Straße", "İ", "e\u0301",
    "漢字", "हिन्दी", "שלום", "مرحبا", "\u202e", "\u200f", "😀", "👩\u200d👧", "🏳️\u200d🌈", "𝕏",
    "0", "1.5", "nan", "m.01", "__import__('os')",
)
# fmt: on


def terms(*, blanks: bool = True) -> st.SearchStrategy[Term]:
    """Any term; without `blanks` such as a word2vec file can hold."""
    surfaces = _texts(min_size=1).map(lambda text: text if blanks else _solid(text) or "x")
    senses = st.just("") | _texts().map(lambda text: text if blanks else _solid(text))
    return st.builds(Term, surfaces, senses.filter(_is_sense))


def term_lists(max_size: int, *, blanks: bool = True) -> st.SearchStrategy[list[Term]]:
    """At least one term, none of them twice."""
    return st.lists(terms(blanks=blanks), min_size=1, max_size=max_size, unique=True)


def set_ids() -> st.SearchStrategy[str]:
    """Ids without blanks; a reader takes a byte order mark at the start of a file for one."""
    return _texts(min_size=1).map(lambda text: _solid(text).lstrip("\ufeff") or "c0")


@st.composite
def synonym_sets(draw: st.DrawFn, *, max_terms: int = 10) -> SynonymSets:
    """Valid partitions with any ids that a `.set` file can hold."""
    members = draw(term_lists(max_terms))
    size = len(members)
    labels = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    sets = SynonymSets.from_labels(members, labels).sets
    ids = draw(st.lists(set_ids(), min_size=len(sets), max_size=len(sets), unique=True))
    return SynonymSets(sets, tuple(ids))


@st.composite
def term_vectors(draw: st.DrawFn, *, blanks: bool = True, max_terms: int = 5) -> TermVectors:
    """Small tables of finite vectors, with zeros of both signs and subnormal numbers."""
    rows = draw(term_lists(max_terms, blanks=blanks))
    dimension = draw(st.integers(1, 4))
    size = len(rows) * dimension
    number = st.floats(width=32, allow_nan=False, allow_infinity=False)
    numbers = draw(st.lists(number, min_size=size, max_size=size))
    return TermVectors(tuple(rows), np.array(numbers, np.float32).reshape(-1, dimension))


def _texts(min_size: int = 0) -> st.SearchStrategy[str]:
    piece = st.sampled_from(PIECES) | st.text(min_size=1, max_size=3)
    return st.lists(piece, min_size=min_size, max_size=5).map("".join)


def _solid(text: str) -> str:
    return "".join(c for c in text if not c.isspace())


def _is_sense(text: str) -> bool:
    # `a` + `||` + `|x` would read as the surface `a|` with the sense `x`.
    return SENSE_MARK not in f"|{text}"


@st.composite
def rehearsals(draw: st.DrawFn) -> Rehearsal:
    """Outcomes of up to 150 names, on both sides of the number that the corpus must have."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, 30) | st.integers(120, 150))
    hidden = rng.random(size) < draw(st.sampled_from([0, 0.5, 0.9, 1]))
    probabilities = rng.choice([0, 0.05, 0.31, 0.5, 0.75, 0.9, 1], size)
    probabilities += rng.uniform(-0.04, 0.04, size) * (probabilities % 0.5 > 0)
    return Rehearsal(
        probabilities,
        hidden & (rng.random(size) < 0.6),
        hidden,
        rng.random(size) < draw(st.sampled_from([0, 0.6, 1])),
        rng.uniform(0.5, 3, size),
    )


@st.composite
def known_sets(draw: st.DrawFn) -> KnownSets:
    """Known sets, and candidates among them for terms that they lack, the most likely first."""
    sets = draw(synonym_sets(max_terms=8))
    new = [term for term in draw(term_lists(6)) if term not in sets]
    candidates = {}
    for term in new:
        ids = draw(st.lists(st.sampled_from(sets.ids), unique=True, max_size=3))
        chances = draw(st.lists(st.floats(0, 1), min_size=len(ids), max_size=len(ids)))
        candidates[term] = [
            Candidate(
                set_id, chance, draw(st.sampled_from(sets.sets[sets.ids.index(set_id)])).surface
            )
            for set_id, chance in zip(ids, sorted(chances, reverse=True), strict=True)
        ]
    return KnownSets(sets, candidates)
