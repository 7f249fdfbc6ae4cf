"""What people said of terms, whatever was mined: which belong together, and which do not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from synsetmine.results import MinedSet, MinedTerm, Verdict
from synsetmine.review.decisions import Decision, standing
from synsetmine.review.state import ReviewState
from synsetmine.types import SynonymSets, Term

Pair = tuple[Term, Term]  # the first had to leave the second


@dataclass(frozen=True)
class Said:
    """The sum of all decisions that stand."""

    together: SynonymSets  # terms that were called correct in one set, two or more of them
    exact: SynonymSets  # the same without those of another scope
    apart: frozenset[Pair]
    alone: frozenset[Term]  # terms that had to leave, and are with no others now

    @classmethod
    def by(cls, decisions: Iterable[Decision]) -> Said:
        made = standing(decisions)
        state = ReviewState(_seen_sets(made), made)
        sets = [found.mined for found in state.sets if found.status != "rejected"]
        apart = pairs_apart(made)
        left = {gone for gone, _ in apart}
        kept = (term for mined in sets for term in mined.terms if len(mined.terms) > 1)
        with_others = {term.term for term in kept if not _is(term, "incorrect")}
        return cls(
            together=_correct(sets, exact=False),
            exact=_correct(sets, exact=True),
            apart=apart,
            alone=frozenset(left - with_others),
        )

    @cached_property
    def told_apart(self) -> dict[Term, frozenset[Term]]:
        """The terms that each one must not be with."""
        found: dict[Term, set[Term]] = {}
        for one, other in self.apart:
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
        return {term: frozenset(others) for term, others in found.items()}

    def told_apart_from(self, term: Term) -> frozenset[Term]:
        return self.told_apart.get(term, frozenset())

    def fitting(self, terms: Iterable[Term], members: Collection[Term]) -> list[Term]:
        """The terms that were told apart from none of these members."""
        return [term for term in terms if self.told_apart_from(term).isdisjoint(members)]


def pairs_apart(decisions: Iterable[Decision]) -> frozenset[Pair]:
    """The pairs of terms that are not synonyms: (one that left, one that stayed).

    A later decision overrides an earlier one: a pair whose terms were both called correct in one
    set afterwards, by one decision or by two, is not apart, and neither is a merged pair. Two
    terms that both turned out to be wrong in a set are not apart either: the decisions say only
    that neither belongs there.
    """
    left: dict[str, set[str]] = {}  # by the term that stayed

    def leave(going: Sequence[str], staying: Sequence[str]) -> None:
        wrong = set().union(*(left.get(term, ()) for term in staying))  # those found wrong before
        for term in going:
            left.get(term, set()).difference_update(wrong)
        for term in staying:
            if term not in wrong:  # judged so, but still in the set
                left.setdefault(term, set()).update(going)

    def belong(terms: Sequence[str], members: Sequence[str]) -> None:
        for term in members:
            left.get(term, set()).difference_update(terms)

    for decision in standing(decisions):
        members, terms = decision.members, decision.terms
        match decision.kind:
            case "remove" | "split":
                leave(terms, [term for term in members if term not in terms])
            case "judge" if decision.verdict == "incorrect":
                leave(terms, [term for term in members if term not in terms])
            case "accept":
                belong(terms, members)
            case "judge" if decision.verdict == "correct":
                belong(terms, members)
            case "merge":
                for ours, theirs in ((members, decision.others), (decision.others, members)):
                    for term in ours:
                        left.get(term, set()).difference_update(theirs)
            case "reject":
                for term in members:
                    left.setdefault(term, set()).update(set(members) - {term})
    return frozenset(
        (Term.parse(gone), Term.parse(stayed)) for stayed, some in left.items() for gone in some
    )


def _seen_sets(decisions: Iterable[Decision]) -> list[MinedSet]:
    """The sets as people first saw them."""
    seen: dict[str, dict[str, None]] = {}
    placed: set[str] = set()
    for decision in decisions:
        for set_id, members in (
            (decision.set_id, decision.members),
            (decision.other, decision.others),
        ):
            new = [text for text in members if text not in placed]
            placed.update(new)
            seen.setdefault(set_id, {}).update(dict.fromkeys(new))
    return [
        MinedSet(set_id, tuple(_plain(text) for text in texts))
        for set_id, texts in seen.items()
        if texts
    ]


def _plain(text: str) -> MinedTerm:
    term = Term.parse(text)
    return MinedTerm(term.surface, 0, "", known=False, sense=term.sense)


def _correct(sets: Iterable[MinedSet], *, exact: bool) -> SynonymSets:
    found: dict[str, list[Term]] = {}
    for mined in sets:
        right = [term for term in mined.terms if _is(term, "correct")]
        terms = [
            t.term for t in right if not exact or (t.judgement and t.judgement.scope == "exact")
        ]
        if len(terms) > 1:
            found[mined.id] = terms
    return SynonymSets.of(found.values(), found.keys())


def _is(term: MinedTerm, verdict: Verdict) -> bool:
    return term.judgement is not None and term.judgement.verdict == verdict
