"""What a language model is asked: the unsure names of a list, and the unsure sets of a run.

Of a list, only pairs whose probability is near the threshold are decided; their whole sets stand in
the question. Of a run, the answers become decisions of a reviewer, under the model's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Protocol

from synsetmine.normalization import normal_form
from synsetmine.pipeline.judge import Judge, JudgedPair, JudgeReport
from synsetmine.pipeline.name_questions import CONTEXTS, NameInContext, Partition
from synsetmine.review import Decision, QueueFilter, ReviewState, ReviewStore
from synsetmine.review.changes import ReviewedSet, key_of
from synsetmine.review.store import Conflict
from synsetmine.runs import MinedTerm, example_sentences, read_results
from synsetmine.runs.folder import Artefacts
from synsetmine.types import Progress, SynonymSets, Term

Pair = tuple[Term, Term]

NOTE = "judged by a language model"


class PreparedSets(Protocol):
    """What of a prepared model is needed here."""

    def probabilities(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]: ...


@dataclass
class _Block:
    """Names of one question: whole sets, or the two names of a pair of large sets."""

    terms: list[Term]
    pairs: list[Pair] = field(default_factory=list)


@dataclass(frozen=True)
class JudgedPairs:
    """The pairs of names that a judge decided."""

    together: tuple[Pair, ...]
    apart: tuple[Pair, ...]
    report: JudgeReport


def judge_pairs(
    judge: Judge,
    near: Sequence[tuple[Term, Term, float]],
    sets: SynonymSets,
    prepared: PreparedSets,
    *,
    threshold: float,
    describe: Callable[[Sequence[Term]], list[NameInContext]],
    cannot_link: Sequence[Pair] = (),
    must_link: Sequence[Pair] = (),
    progress: Progress | None = None,
) -> JudgedPairs:
    """Ask about the pairs near the threshold whose sets nearly merged, or nearly fell apart.

    `near` has the pairs, nearest first. What contradicts `cannot_link` and `must_link` is left out.
    """
    band = judge.settings.band
    low, high = max(threshold - band, 0.0), min(threshold + band, 1.0)
    unsure = [
        (one, other)
        for one, other, probability in near
        if low <= probability <= high and _are_unsure(one, other, sets, prepared, low, high)
    ]
    blocks = _blocks(unsure, sets, judge.settings.names_per_question)
    questions = [describe(block.terms) for block in blocks]
    answers, report = judge.ask(questions, low=low, high=high, progress=progress)
    links = _Links(cannot_link, must_link)
    probability_of = {frozenset((one, other)): value for one, other, value in near}
    decided: list[JudgedPair] = []
    for block, answer in zip(blocks, answers, strict=True):
        if answer is None:
            continue
        part_of = {block.terms[place]: n for n, part in enumerate(answer) for place in part}
        for one, other in block.pairs:
            is_one = part_of[one] == part_of[other]
            if links.add(_consequences(one, other, sets, part_of), together=is_one):
                probability = probability_of[frozenset((one, other))]
                decided.append(JudgedPair(one.surface, other.surface, probability, is_one))
    return JudgedPairs(
        tuple(links.together),
        tuple(links.apart),
        replace(
            report,
            together=sum(pair.together for pair in decided),
            apart=sum(not pair.together for pair in decided),
            pairs=tuple(decided),
        ),
    )


def _are_unsure(
    one: Term, other: Term, sets: SynonymSets, prepared: PreparedSets, low: float, high: float
) -> bool:
    """Whether the model is unsure of a name in the set of the other one, not only of the pair."""
    for name, partner in ((one, other), (other, one)):
        members = [term for term in sets.set_of(partner) if term != name]
        (probability,) = prepared.probabilities(members, [name])
        if low <= probability <= high:
            return True
    return False


def _blocks(pairs: Sequence[Pair], sets: SynonymSets, most: int) -> list[_Block]:
    """The sets of unsure pairs, those of one pair in one block unless they are too large."""
    block_of: dict[int, _Block] = {}  # by the label of a set
    blocks: list[_Block] = []
    for one, other in pairs:
        members = {sets.label_of(term): sets.set_of(term) for term in (one, other)}
        own = {id(block_of[label]): block_of[label] for label in members if label in block_of}
        terms = [term for block in own.values() for term in block.terms]
        terms += [term for label in members if label not in block_of for term in members[label]]
        if len(terms) > most:
            blocks.append(_Block([one, other], [(one, other)]))
            continue
        earlier = [pair for block in own.values() for pair in block.pairs]
        merged = _Block(terms, [*earlier, (one, other)])
        place = min((blocks.index(block) for block in own.values()), default=len(blocks))
        blocks[place : place + 1] = [merged]
        blocks = [block for block in blocks if id(block) not in own]
        block_of |= {sets.label_of(term): merged for term in terms}
    for block in blocks:
        block.terms.sort()
    return blocks


def _consequences(
    one: Term, other: Term, sets: SynonymSets, part_of: Mapping[Term, int]
) -> list[Pair]:
    """The pairs that must hold with a decision on two names, which may be in one set or in two.

    Together, the members of their sets that are in the same part of the answer stay with them.
    Apart, those of one set go with either of the two; two sets need no more than the pair itself.
    """
    own, partners = sets.set_of(one), sets.set_of(other)
    members = [term for term in dict.fromkeys((*own, *partners)) if term in part_of]
    if part_of[one] == part_of[other]:
        same = sorted(term for term in members if part_of[term] == part_of[one])
        return [(same[0], term) for term in same[1:]]
    if own != partners:
        return [(one, other)]
    with_one, with_other = (
        [term for term in members if part_of[term] == part_of[end]] for end in (one, other)
    )
    return list(product(with_one, with_other))


class _Links:
    """Must-link and cannot-link pairs that hold together with those of the user."""

    def __init__(self, cannot_link: Iterable[Pair], must_link: Iterable[Pair]) -> None:
        self.together: list[Pair] = []
        self.apart: list[Pair] = []
        self._parent: dict[Term, Term] = {}
        self._barred = list(cannot_link)
        for one, other in must_link:
            self._parent[self._root(one)] = self._root(other)

    def add(self, pairs: Sequence[Pair], *, together: bool) -> bool:
        """Add all of these pairs, or none if one of them contradicts what is there."""
        if together:
            before = dict(self._parent)
            for one, other in pairs:
                self._parent[self._root(one)] = self._root(other)
            if any(self._root(one) == self._root(other) for one, other in self._barred):
                self._parent = before
                return False
            self.together += pairs
            return True
        if any(self._root(one) == self._root(other) for one, other in pairs):
            return False
        self._barred += pairs
        self.apart += pairs
        return True

    def _root(self, term: Term) -> Term:
        while (parent := self._parent.get(term, term)) != term:
            term = parent
        return term


# --- The sets of a run ---


@dataclass(frozen=True)
class JudgedRun:
    """What became of the unsure sets of a run."""

    decisions: tuple[Decision, ...]
    conflicts: int  # sets that somebody else decided on in the meantime
    report: JudgeReport


def judge_run(
    folder: Path, judge: Judge, *, below: float = 0.9, progress: Progress | None = None
) -> JudgedRun:
    """Ask about the open sets of a run with a term whose probability is below a value.

    The answers are stored as decisions of a reviewer with the name of the model.
    """
    at = Artefacts(folder)
    mined = read_results(folder)
    with ReviewStore(at.reviews) as store:
        state = ReviewState(mined, store.decisions())
        queue = state.queue(QueueFilter(status=frozenset({"open"})), count=len(state))
        unsure = [one for one in queue.sets if (one.mined.least or 1.0) < below]
        terms_of_sets = [_asked_terms(one, judge.settings.names_per_question) for one in unsure]
        questions = _describe_terms(at, terms_of_sets)
        answers, report = judge.ask(questions, low=0.0, high=below, progress=progress)
        decisions: list[Decision] = []
        conflicts = 0
        for reviewed, terms, answer in zip(unsure, terms_of_sets, answers, strict=True):
            if answer is None:
                continue
            state.apply(*store.decisions(state.number))
            try:
                if state.get(reviewed.id) == reviewed:
                    decisions += _decide(store, state, reviewed, terms, answer, judge.name)
                    continue
            except Conflict:
                pass
            conflicts += 1
    kinds = [decision.kind in ("accept", "judge") for decision in decisions]
    report = replace(report, together=sum(kinds), apart=len(kinds) - sum(kinds))
    return JudgedRun(tuple(decisions), conflicts, report)


def _asked_terms(reviewed: ReviewedSet, most: int) -> list[MinedTerm]:
    """The terms of a set; of a large one the least certain and the most frequent known ones."""
    terms = reviewed.mined.terms
    if len(terms) <= most:
        return list(terms)
    unsure = sorted((t for t in terms if t.probability is not None), key=lambda t: t.certainty)
    sure = sorted((t for t in terms if t.probability is None), key=lambda t: -t.count)
    known = sure[: max(most - len(unsure), most // 2)]
    chosen = {key_of(term) for term in (*known, *unsure[: most - len(known)])}
    return [term for term in terms if key_of(term) in chosen]


def _describe_terms(
    at: Artefacts, terms_of_sets: Sequence[Sequence[MinedTerm]]
) -> list[list[NameInContext]]:
    surfaces = [term.text for terms in terms_of_sets for term in terms]
    examples = example_sentences(at, surfaces, CONTEXTS)

    def contexts(term: MinedTerm) -> tuple[str, ...]:
        quotes = term.quotes(examples.get(normal_form(term.text), ()))
        return tuple(quote.text for quote in quotes[:CONTEXTS])

    return [[NameInContext(t.text, contexts=contexts(t)) for t in terms] for terms in terms_of_sets]


def _decide(
    store: ReviewStore,
    state: ReviewState,
    reviewed: ReviewedSet,
    terms: Sequence[MinedTerm],
    answer: Partition,
    reviewer: str,
) -> list[Decision]:
    """Store what an answer says of a set: which terms leave it, and which are right.

    The names that stay are those in parts with known names, which are one thing whatever the
    answer says; without known names the largest part stays, the first of equal ones.
    """
    made: list[Decision] = []
    keys = [key_of(term) for term in terms]
    known = {key for key, term in zip(keys, terms, strict=True) if term.is_seed}
    parts = [[keys[place] for place in part] for part in answer]
    staying = [part for part in parts if not known.isdisjoint(part)] or [max(parts, key=len)]
    right = [key for part in staying for key in part]

    def decide(kind: str, set_id: str, chosen: Sequence[str]) -> None:
        decision = state.decide(
            kind,  # type: ignore[arg-type]
            set_id,
            reviewer=reviewer,
            terms=chosen,
            verdict="correct" if kind == "judge" else None,
            note=NOTE,
        )
        made.append(store.add(decision, seen=state.number))
        state.apply(made[-1])

    for gone in parts:
        if gone not in staying:
            decide("remove" if len(gone) == 1 else "split", reviewed.id, gone)
            if len(gone) > 1:
                decide("accept", made[-1].other, gone)
    if len(right) > 1:
        is_whole = {*state[reviewed.id].keys} <= {*right}
        decide("accept" if is_whole else "judge", reviewed.id, right)
    return made
