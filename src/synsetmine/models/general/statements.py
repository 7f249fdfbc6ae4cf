"""What a text states of pairs of unknown terms, and what their words rule out.

A pair that the text opposes ("A and B", "A versus B") and never equates is two things, and so are
two abbreviations with different long forms, and siblings such as type 1 and type 2. A pair that
the text defines, a short form and its long form, is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from synsetmine.differing import DifferingWords
from synsetmine.evidence import Evidence
from synsetmine.kinds import conflicting
from synsetmine.models.general.features import Positions
from synsetmine.models.general.name_table import stem_key
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pair_evidence import definitions, short_key
from synsetmine.patterns import OPPOSING
from synsetmine.text import normal_form

RULED_OUT = -20.0  # log-odds of a pair that is two things
DEFINED = 3.0  # log-odds of a defined pair: 95 in 100 definitions that were read are right
EQUATED = 1000  # one "A (B)" outweighs any number of "A and B"
DOUBTFUL = -3.0  # log-odds below which a pair needs no look at its words


class Statements:
    """The definitions and oppositions of a corpus, for the names of a vocabulary."""

    def __init__(self, names: Sequence[str], evidence: Evidence, words: DifferingWords) -> None:
        self._names = names
        self._forms = [normal_form(name) for name in names]
        self._short_keys = [short_key(name) for name in names]
        self._stem_keys: dict[int, str] = {}
        self._words = words
        self._long = definitions(evidence)
        self._balance: dict[tuple[str, str], int] = {}  # how often equated less how often opposed
        for first, second, relation, count in evidence.pairs():
            signed = -count if relation in OPPOSING else count * EQUATED
            self._balance[first, second] = self._balance.get((first, second), 0) + signed

    def judge(self, left: Positions, right: Positions, log_odds: Floats) -> Floats:
        """The log-odds of pairs as the text and the words change them."""
        judged = log_odds.copy()
        for pair, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            if self._is_defined(one, other) or self._is_defined(other, one):
                judged[pair] = max(judged[pair], DEFINED)
            elif log_odds[pair] >= DOUBTFUL and self._is_ruled_out(one, other):
                judged[pair] = RULED_OUT
        return judged

    def _is_defined(self, short: int, long: int) -> bool:
        forms = self._long.get(self._short_keys[short])
        return forms is not None and self._stem_key(long) in forms

    def _is_ruled_out(self, one: int, other: int) -> bool:
        forms = self._long.get(self._short_keys[one])
        others = self._long.get(self._short_keys[other])
        if forms and others and forms.keys().isdisjoint(others):
            return True
        pair = sorted((self._forms[one], self._forms[other]))
        if self._balance.get((pair[0], pair[1]), 0) < 0:
            return True
        return conflicting(self._names[one], self._names[other], self._words)

    def _stem_key(self, position: int) -> str:
        key = self._stem_keys.get(position)
        if key is None:
            key = self._stem_keys[position] = stem_key(self._names[position])
        return key
