"""The effects of reviews on training, mining and exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.sets import new_id
from synsetmine.review.decisions import Decision, read_decisions, standing_decisions
from synsetmine.review.state import ReviewState
from synsetmine.review.store import read_store
from synsetmine.runs import WRONG, MinedSet, MinedTerm
from synsetmine.runs.folder import Artefacts
from synsetmine.types import SynonymSets, Term

Pair = tuple[Term, Term]  # the first had to leave the second


@dataclass(frozen=True)
class Constraints:
    """What the decisions that stand require of training and mining."""

    must_link: SynonymSets  # terms that were called correct in one set, two or more of them
    exact: SynonymSets  # the same without those of another scope
    cannot_link: frozenset[Pair]
    alone: frozenset[Term]  # terms that had to leave, and are with no others now
    not_names: frozenset[Term] = frozenset()  # terms that name nothing

    @classmethod
    def from_decisions(cls, decisions: Iterable[Decision]) -> Constraints:
        made = standing_decisions(decisions)
        state = ReviewState(_seen_sets(made), made)
        sets = [reviewed.mined for reviewed in state.sets if reviewed.status != "rejected"]
        cannot_link = cannot_link_pairs(made)
        left = {gone for gone, _ in cannot_link}
        kept = (term for mined in sets for term in mined.terms if len(mined.terms) > 1)
        with_others = {term.term for term in kept if not term.is_wrong}
        return cls(
            must_link=_correct(sets, exact=False),
            exact=_correct(sets, exact=True),
            cannot_link=cannot_link,
            alone=frozenset(left - with_others),
            not_names=frozenset(
                term.term
                for reviewed in state.sets
                for term in reviewed.mined.terms
                if term.verdict == "not-a-name"
            ),
        )

    @cached_property
    def _partners(self) -> Mapping[Term, set[Term]]:
        partners: dict[Term, set[Term]] = {}
        for one, other in self.cannot_link:
            partners.setdefault(one, set()).add(other)
            partners.setdefault(other, set()).add(one)
        return partners

    def cannot_link_with(self, term: Term) -> Set[Term]:
        """The terms that must not be with this one."""
        return self._partners.get(term, frozenset())

    def compatible_terms(self, terms: Iterable[Term], members: Collection[Term]) -> list[Term]:
        """The terms without a cannot-link to any of these members."""
        return [term for term in terms if self.cannot_link_with(term).isdisjoint(members)]


def cannot_link_pairs(decisions: Iterable[Decision]) -> frozenset[Pair]:
    """The pairs of terms that are not synonyms: (one that left, one that stayed).

    A later decision overrides an earlier one: a pair whose terms were both called correct in one
    set afterwards, by one decision or by two, is no such pair, and neither is a merged one. Two
    terms that both turned out to be wrong in a set are no such pair either: the decisions say only
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

    for decision in standing_decisions(decisions):
        members, terms = decision.members, decision.terms
        match decision.kind:
            case "remove" | "split":
                leave(terms, [term for term in members if term not in terms])
            case "judge" if decision.verdict in WRONG:
                leave(terms, [term for term in members if term not in terms])
            case "accept":
                belong(terms, members)
            case "judge" if decision.verdict == "correct":
                belong(terms, members)
            case "merge":
                for ours, theirs in ((members, decision.others), (decision.others, members)):
                    for term in ours:
                        left.get(term, set()).difference_update(theirs)
            case "reject" if terms:
                leave(terms, [term for term in members if term not in terms])
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
    correct = {
        mined.id: [
            term.term
            for term in mined.terms
            if term.verdict == "correct" and (not exact or term.scope == "exact")
        ]
        for mined in sets
    }
    return _sets({set_id: terms for set_id, terms in correct.items() if len(terms) > 1})


@dataclass(frozen=True)
class SetsWithReviews:
    """Sets after reviews, with the number of terms or sets that they changed, by what changed."""

    sets: SynonymSets
    counts: Mapping[str, int] = field(default_factory=dict)


def find_decisions(path: Path) -> list[Decision]:
    """The decisions of a run folder, of its store, or of a TSV file."""
    store = Artefacts(path).reviews if path.is_dir() else path
    if path.is_dir() and not store.exists():
        raise SynsetmineError(f"{path} has no reviews yet")
    if store.suffix != ".sqlite":
        return read_decisions(store)
    if not store.exists():
        raise DataError("No such file or directory", path=store)
    named_link = store.is_symlink() and not path.is_dir()  # the user may name a link
    return read_store(store.resolve() if named_link else store)


def reviewed_sets(
    mined: Sequence[MinedSet], decisions: Iterable[Decision], *, accepted_only: bool = False
) -> list[MinedSet]:
    """The sets to export, in their order, each term with its judgement.

    Those that were rejected are left out, or with `accepted_only` all that were not accepted. A
    known entity of which only the new names were rejected keeps the others.
    """
    state = ReviewState(mined, decisions)
    position = {one.id: number for number, one in enumerate(mined)}
    kept = [
        reviewed.mined
        for reviewed in state.sets
        if reviewed.status == "accepted" or (not accepted_only and not reviewed.is_void)
    ]
    # New sets, those of split and removed terms, come last.
    return sorted(kept, key=lambda one: (position.get(one.id, len(position)), one.id))


def training_sets(
    sets: SynonymSets, constraints: Constraints, *, held_out: SynonymSets | None = None
) -> SetsWithReviews:
    """Training sets with what people said: terms called correct and exact come in.

    A term that has a set already stays there, unless it had to leave one of its terms. Terms that
    had to leave and are with no others come in as sets of one, which are negatives. What has to
    do with entities held out for scores is left out, or the scores would be too good.
    """
    counts: Counter[str] = Counter()
    by_id = {
        i: _remaining_terms(members, constraints) for i, members in zip(sets.ids, sets, strict=True)
    }
    home = {term: set_id for set_id, members in by_id.items() for term in members}
    hidden = frozenset(held_out.terms if held_out else ())
    for set_id, members in zip(constraints.exact.ids, constraints.exact, strict=True):
        if held_out is not None and (set_id in held_out.ids or not hidden.isdisjoint(members)):
            counts["sets of entities held out"] += 1
            continue
        shared = Counter(home[term] for term in members if term in home)
        target = _target(set_id, shared)
        new = constraints.compatible_terms(
            (t for t in members if t not in home), by_id.get(target, ())
        )
        counts["sets"] += target not in by_id
        counts["terms"] += len(new)
        counts["terms that have another set"] += sum(n for i, n in shared.items() if i != target)
        by_id.setdefault(target, []).extend(new)
        home.update(dict.fromkeys(new, target))
    for term in sorted(constraints.alone - home.keys() - hidden):
        counts["terms separated"] += 1
        by_id[new_id([term], by_id)] = [term]
    return SetsWithReviews(_sets(by_id), +counts)


def seed_sets(known: SynonymSets, constraints: Constraints) -> SetsWithReviews:
    """Known sets as people have corrected them: the seeds of mining.

    Terms that were called correct in one set stay together, with the id of that set, or of the
    known one that they are in. The other known terms of that set join them, except those that
    cannot-link to a member; these are no seeds any more.
    """
    groups = {
        i: list(members)
        for i, members in zip(constraints.must_link.ids, constraints.must_link, strict=True)
    }
    home = {term: set_id for set_id, members in groups.items() for term in members}
    names: dict[str, str] = {}  # of groups: the known ids that they get
    by_id: dict[str, list[Term]] = {}
    for set_id, members in zip(known.ids, known, strict=True):
        rest = _remaining_terms([term for term in members if term not in home], constraints)
        shared = Counter(home[term] for term in members if term in home)
        target = set_id if set_id in groups else _target(set_id, shared)
        fitting = constraints.compatible_terms(rest, groups.get(target, ()))
        if target not in groups or (rest and not fitting and target != set_id):
            by_id[set_id] = rest
            continue
        groups[target] += fitting
        if target == set_id or target not in names:
            names[target] = set_id
    by_id |= {names.get(set_id, set_id): members for set_id, members in groups.items()}
    seeds = _sets(by_id)
    lost = sum(term not in seeds for term in known.terms)
    pairs = len({frozenset(pair) for pair in constraints.cannot_link})
    counts = {"sets": len(groups), "terms separated": lost, "cannot-link pairs": pairs}
    return SetsWithReviews(seeds, +Counter(counts))


def _remaining_terms(members: Sequence[Term], constraints: Constraints) -> list[Term]:
    """The terms of a known set, less those that had to leave another one of it."""
    known = frozenset(members)
    return [
        term
        for term in members
        if not any(
            (term, other) in constraints.cannot_link
            for other in constraints.cannot_link_with(term) & known
        )
    ]


def _target(set_id: str, shared: Counter[str]) -> str:
    """The set that terms join: the one with their id, or the one that has most of them."""
    if not shared or set_id in shared:
        return set_id
    return max(shared, key=lambda name: (shared[name], name))


def _sets(by_id: Mapping[str, Sequence[Term]]) -> SynonymSets:
    left = {set_id: members for set_id, members in by_id.items() if members}
    return SynonymSets.of(left.values(), left.keys())
