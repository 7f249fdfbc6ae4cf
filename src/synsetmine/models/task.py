"""Set generation as models see it: terms are positions, and the outcome becomes a result again."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError, quantity, require
from synsetmine.io.sets import Action, Decision
from synsetmine.models.known import Candidate, KnownSets
from synsetmine.notebook import Library, frame_of
from synsetmine.types import SetsLike, SynonymSets, Term, TermLike, pairs_of, terms_of

GIANT = 50  # terms


@dataclass(frozen=True, repr=False)
class MiningResult:
    """The result of set generation: the sets, one decision for each new term, unknown terms."""

    sets: SynonymSets
    trace: tuple[Decision, ...]
    without_vector: tuple[Term, ...]  # terms that the model cannot judge; each stands alone
    known: KnownSets | None = None  # the known sets that terms may join, where learned

    def __repr__(self) -> str:
        several = sum(size > 1 for size in self.sets.sizes)
        sizes = [
            f"{quantity(len(self.sets.terms), 'term')}: {quantity(several, 'set')} of several",
            f"{len(self.sets) - several:,} alone",
        ]
        if self.without_vector:
            sizes.append(f"{quantity(len(self.without_vector), 'term')} not judged")
        return f"MiningResult({'; '.join(sizes)})"

    @property
    def synonym_sets(self) -> SynonymSets:
        return self.sets

    def to_frame(self, library: Library = "pandas") -> Any:
        """A DataFrame of pandas or polars, a row a term.

        set_id, term, sense, and of new terms the probability and the action; none of seeds.
        """
        decisions = {decision.term: decision for decision in self.trace}
        labels = zip(self.sets.ids, self.sets, strict=True)
        rows = [(set_id, t, decisions.get(t)) for set_id, terms in labels for t in terms]
        columns = {
            "set_id": [set_id for set_id, _, _ in rows],
            "term": [term.surface for _, term, _ in rows],
            "sense": [term.sense for _, term, _ in rows],
            "probability": [d and d.probability for _, _, d in rows],
            "action": [d and d.action for _, _, d in rows],
        }
        return frame_of(columns, library)

    def _repr_html_(self) -> str:
        return self.sets._repr_html_()

    @property
    def giant(self) -> int:
        """The size of a set so large that the model cannot distinguish terms; 0 without one."""
        largest = max(self.sets.sizes, default=0)
        return largest if largest >= max(GIANT, len(self.sets.terms) / 10) else 0

    def with_ids(self, names: Mapping[str, str]) -> MiningResult:
        """The same result with other set ids."""
        sets = SynonymSets(self.sets.sets, tuple(names[set_id] for set_id in self.sets.ids))
        trace = tuple(
            replace(d, best_set=None if d.best_set is None else names[d.best_set])
            for d in self.trace
        )
        return replace(self, sets=sets, trace=trace)


@dataclass(frozen=True)
class Outcome:
    """What a model returns: sets of positions, seed sets first, and one decision for each term."""

    members: Sequence[Sequence[int]]
    decisions: Sequence[tuple[int, float, Action]]  # best set or -1, its logit, action


@dataclass(frozen=True)
class Task:
    """New terms, seed sets and constraints, with positions in place of terms.

    Positions count `terms`: the `count` new terms that the model can judge, in their order, then
    the terms of seed sets that it can judge.
    """

    vocabulary: tuple[Term, ...]  # all new terms
    terms: tuple[Term, ...]
    count: int
    seed_sets: SynonymSets
    seed_members: tuple[tuple[int, ...], ...]  # of each seed set, those that the model can judge
    cannot_link: tuple[tuple[int, int], ...]
    threshold: float
    max_sets: float  # inf: no limit
    must_link: tuple[tuple[int, int], ...] = ()
    types: tuple[int, ...] = ()  # of each term; -1 is unknown

    @classmethod
    def of(
        cls,
        vocabulary: Iterable[TermLike],
        known: Container[Term],
        *,
        sort: bool = False,
        threshold: float = 0.5,
        seeds: SetsLike | None = None,
        cannot_link: Iterable[tuple[TermLike, TermLike]] = (),
        max_sets: int | None = None,
        must_link: Iterable[tuple[TermLike, TermLike]] = (),
        types: Mapping[Term, str] | None = None,
    ) -> Task:
        """Check the arguments of `PreparedModel.generate`; `known` are terms it can judge.

        With `sort` the positions of new terms do not depend on the order of the vocabulary.
        """
        require(0 <= threshold <= 1, "the threshold must be between 0 and 1", threshold)
        if max_sets is not None:
            require(max_sets >= 1, "the largest number of sets must be at least 1", max_sets)
        seeds = SynonymSets.of(() if seeds is None else seeds)
        if max_sets is not None:
            problem = f"the {len(seeds)} seed sets alone are more than"
            require(max_sets >= len(seeds), problem, max_sets)
        new = tuple(term for term in dict.fromkeys(terms_of(vocabulary)) if term not in seeds)
        judged = [term for term in (sorted(new) if sort else new) if term in known]
        terms = (*judged, *(term for term in seeds.terms if term in known))
        position_of = {term: position for position, term in enumerate(terms)}
        members = tuple(
            tuple(position_of[term] for term in members if term in position_of) for members in seeds
        )
        # Seeds without a term that the model can judge are sets too, though nothing joins them.
        limit = math.inf if max_sets is None else max_sets - sum(not m for m in members)
        apart, together = (
            _positions_of_pairs(pairs_of(pairs), position_of, seeds, members)
            for pairs in (cannot_link, must_link)
        )
        numbers = {name: number for number, name in enumerate(sorted({*(types or {}).values()}))}
        type_of = tuple(numbers[types[t]] if t in types else -1 for t in terms) if types else ()
        return cls(
            new, terms, len(judged), seeds, members, apart, threshold, limit, together, type_of
        )

    @property
    def seeds(self) -> list[list[int]]:
        """The positions of each seed set's members, without seeds that have none."""
        return [list(members) for members in self.seed_members if members]

    def collect(self, outcome: Outcome) -> MiningResult:
        """Turn positions back into terms, and give ids; terms not judged stand alone."""
        seeds = self.seed_sets
        ids = [i for i, members in zip(seeds.ids, self.seed_members, strict=True) if members]
        ids += _fresh_ids(len(outcome.members) - len(ids), seeds.ids)
        joined: dict[str, list[Term]] = {i: list(m) for i, m in zip(seeds.ids, seeds, strict=True)}
        for set_id, members in zip(ids, outcome.members, strict=True):
            new = [self.terms[position] for position in members if position < self.count]
            joined.setdefault(set_id, []).extend(new)
        decided = {
            term: Decision(term, ids[best] if best >= 0 else None, sigmoid(logit), action)
            for term, (best, logit, action) in zip(
                self.terms[: self.count], outcome.decisions, strict=True
            )
        }
        alone = [term for term in self.vocabulary if term not in decided]
        for term, set_id in zip(alone, _fresh_ids(len(alone), joined), strict=True):
            joined[set_id] = [term]
            decided[term] = Decision(term, None, 0.0, "no vector")
        sets = SynonymSets.of(joined.values(), joined.keys())
        return MiningResult(sets, tuple(decided[term] for term in self.vocabulary), tuple(alone))


def joins(
    known: KnownSets,
    terms: Iterable[Term],
    cannot_link: Container[frozenset[Term]],
    threshold: float,
) -> dict[Term, Candidate]:
    """The known set that each term joins: the most likely, from `threshold` on.

    A term joins no set that holds a term which it cannot be linked with, known or joined before.
    """
    require(0 <= threshold <= 1, "the threshold must be between 0 and 1", threshold)
    members = {i: list(names) for i, names in zip(known.sets.ids, known.sets, strict=True)}
    joined: dict[Term, Candidate] = {}
    first = sorted(
        (term for term in dict.fromkeys(terms) if known.candidates.get(term)),
        key=lambda term: (-known.candidates[term][0].probability, term),
    )
    for term in first:
        for candidate in known.candidates[term]:
            others = members[candidate.set_id]
            if candidate.probability >= threshold and not any(
                frozenset((term, other)) in cannot_link for other in others
            ):
                joined[term] = candidate
                others.append(term)
                break
    return joined


def with_known(
    groups: MiningResult, known: KnownSets, joined: Mapping[Term, Candidate], order: Sequence[Term]
) -> MiningResult:
    """Known sets with the terms that joined them, then the groups of the other terms.

    The decision of a term that stands alone names the known set that it came nearest to, if that
    is nearer than the other terms.
    """
    members = {i: list(names) for i, names in zip(known.sets.ids, known.sets, strict=True)}
    fresh = _fresh_ids(len(groups.sets), members)
    groups = groups.with_ids(dict(zip(groups.sets.ids, fresh, strict=True)))
    decisions = {decision.term: decision for decision in groups.trace}
    for term in dict.fromkeys(order):
        if term in joined:
            set_id, probability, nearest = joined[term]
            members[set_id].append(term)
            decisions[term] = Decision(term, set_id, probability, "joined", nearest=nearest)
        elif term in decisions:
            decisions[term] = _nearer(decisions[term], known.candidates.get(term, ()))
    members |= {i: list(terms) for i, terms in zip(groups.sets.ids, groups.sets, strict=True)}
    trace = tuple(decisions[term] for term in dict.fromkeys(order) if term in decisions)
    sets = SynonymSets.of(members.values(), members.keys())
    return MiningResult(sets, trace, groups.without_vector, known)


def _nearer(decision: Decision, candidates: Sequence[Candidate]) -> Decision:
    """The decision on a term that stands alone, with the nearest known set if that is nearer."""
    is_alone = decision.action in ("opened", "no vector")
    if not candidates or not is_alone or candidates[0].probability <= decision.probability:
        return decision
    set_id, probability, nearest = candidates[0]
    return replace(decision, best_set=set_id, probability=probability, nearest=nearest)


def _positions_of_pairs(
    pairs: Iterable[tuple[Term, Term]],
    position_of: Mapping[Term, int],
    seeds: SynonymSets,
    members_of: Sequence[Sequence[int]],
) -> tuple[tuple[int, int], ...]:
    """Pairs of positions, each once; another member stands for a seed term not judged."""

    def find(term: Term) -> int | None:
        if term in position_of or term not in seeds:
            return position_of.get(term)
        return next(iter(members_of[seeds.label_of(term)]), None)

    positions: set[tuple[int, int]] = set()
    for one, other in pairs:
        a, b = find(one), find(other)
        if a is not None and b is not None and a != b:
            positions.add((min(a, b), max(a, b)))
    return tuple(sorted(positions))


def _fresh_ids(count: int, taken: Iterable[str]) -> list[str]:
    used = frozenset(taken)
    ids: list[str] = []
    number = 0
    while len(ids) < count:
        if (name := f"s{number}") not in used:
            ids.append(name)
        number += 1
    return ids


class TermIndex:
    """The positions of terms in a vocabulary."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(terms)
        self._position_of = {term: position for position, term in enumerate(self.terms)}

    def __contains__(self, term: object) -> bool:
        return term in self._position_of

    def positions(self, terms: Iterable[TermLike]) -> npt.NDArray[np.int64]:
        """The position of each term; an unknown term is an error."""
        listed = terms_of(terms)
        try:
            return np.fromiter((self._position_of[term] for term in listed), dtype=np.int64)
        except KeyError as error:
            raise DataError("the model does not know this term", value=str(error.args[0])) from None

    def members(self, terms: Iterable[TermLike]) -> npt.NDArray[np.int64]:
        """The positions of a set's members, each once."""
        positions = self.positions(dict.fromkeys(terms_of(terms)))
        if not len(positions):
            raise DataError("a set needs at least one term")
        return positions

    def best(
        self,
        probabilities: npt.NDArray[Any],
        members: Iterable[TermLike],
        top: int,
        positions: npt.NDArray[np.int64] | None = None,
    ) -> list[tuple[Term, float]]:
        """The terms of the highest probabilities, best first, without the set's own members.

        The probabilities are those of the terms at these ascending positions, or of all.
        """
        if positions is None:
            positions = np.arange(len(self.terms))
        others = np.ones(len(self.terms), np.bool_)
        others[self.members(members)] = False
        order = np.argsort(-probabilities, kind="stable")
        chosen = order[others[positions[order]]][: max(top, 0)]
        best = zip(positions[chosen].tolist(), probabilities[chosen].tolist(), strict=True)
        return [(self.terms[position], probability) for position, probability in best]


def log_odds(probability: float) -> float:
    if probability in (0.0, 1.0):
        return math.copysign(math.inf, probability - 0.5)
    return math.log(probability) - math.log1p(-probability)


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0
