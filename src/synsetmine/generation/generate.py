"""From a vocabulary to synonym sets, with either scorer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from synsetmine.errors import DataError
from synsetmine.generation.bysize import mine_by_size
from synsetmine.generation.mined import Mined, Outcome, sigmoid
from synsetmine.generation.onepass import walk_pool
from synsetmine.model.scene import EXACT
from synsetmine.model.scorer import SetScorer
from synsetmine.model.viewscorer import ViewScorer
from synsetmine.trace import Decision
from synsetmine.types import Progress, SynonymSets, Term
from synsetmine.views import TermVectors, TermViews
from synsetmine.workers import WorkerPool


def generate_sets(
    scorer: SetScorer | ViewScorer,
    views: TermVectors | TermViews,
    vocabulary: Sequence[Term],
    *,
    threshold: float = 0.5,
    max_sets: int | None = None,
    seeds: SynonymSets | None = None,
    apart: Iterable[tuple[Term, Term]] = (),
    block_size: int = 32,
    exact: int = EXACT,
    workers: int = 1,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Mined:
    """Group the terms of a vocabulary: each joins its best set, or opens one.

    A term joins the set of the highest probability if that is above `threshold`; among equals
    the set opened first wins. With `seeds` the pool starts with known sets, which keep their ids;
    seed terms that are in the vocabulary stay where they are. `max_sets` counts seeds too. A term
    that no view knows cannot be judged: it stands alone, beyond any cap, and is listed. Two terms
    that are `apart` are never put into one set, beyond any cap neither; a seed may have both.

    The paper's scorer walks the vocabulary once, in its order, in blocks of `block_size`, on its
    own device. The view scorer takes the most certain first, whatever the order, then moves terms
    until nothing changes; it works on `device`. It compares all pairs of up to `exact` terms, of
    more only those that are near in some view, and groups them in so many `workers`, processes
    that change nothing in the result; a script that asks for several needs the usual guard
    `if __name__ == "__main__":`.
    """
    seeds = seeds if seeds is not None else SynonymSets((), ())
    views = TermViews((views,)) if isinstance(views, TermVectors) else views
    _check(threshold, max_sets, block_size, workers)
    if max_sets is not None and max_sets < len(seeds):
        raise DataError(f"there are {len(seeds)} seed sets already, more than", value=max_sets)
    new = [term for term in dict.fromkeys(vocabulary) if term not in seeds]
    walked = known_terms(scorer, views, new)
    seeded = known_terms(scorer, views, seeds.terms)
    terms = [*walked, *seeded]
    number_of = {term: i for i, term in enumerate(terms)}
    known = [[number_of[t] for t in members if t in number_of] for members in seeds]
    # Seeds that no view knows are sets too, though nothing can join them.
    room = math.inf if max_sets is None else max_sets - sum(not members for members in known)
    start = [members for members in known if members]
    kept_apart = _numbered_pairs(apart, number_of, seeds, known)
    if isinstance(scorer, SetScorer):
        table = views.table("vectors")
        if table.dimension != scorer.dimension:
            problem = f"the scorer takes vectors of {scorer.dimension} dimensions"
            raise DataError(problem, value=table.dimension)
        outcome = walk_pool(
            scorer,
            table.select(terms),
            len(walked),
            start,
            apart=kept_apart,
            threshold=threshold,
            max_sets=room,
            block_size=block_size,
            progress=progress,
        )
    else:
        with WorkerPool(workers) as pool:
            graph = scorer.graph(
                terms, views, exact=exact, device=device, pool=pool, progress=progress
            )
            outcome = mine_by_size(
                graph,
                len(walked),
                scorer.bar,
                threshold=threshold,
                seeds=start,
                apart=kept_apart,
                max_sets=room,
                pool=pool,
            )
    return _collect(outcome, walked, new, seeds, known)


def known_terms(
    scorer: SetScorer | ViewScorer, views: TermViews, terms: Sequence[Term]
) -> list[Term]:
    """The terms that the scorer can judge."""
    if isinstance(scorer, ViewScorer):
        return scorer.known(terms, views)
    table = views.table("vectors")
    return [term for term in terms if term in table]


def _numbered_pairs(
    apart: Iterable[tuple[Term, Term]],
    number_of: Mapping[Term, int],
    seeds: SynonymSets,
    known: Sequence[Sequence[int]],
) -> list[tuple[int, int]]:
    """The pairs as numbers; any other member stands for a seed term that no view knows."""

    def find(term: Term) -> int | None:
        if term in number_of or term not in seeds:
            return number_of.get(term)
        return next(iter(known[seeds.label_of(term)]), None)

    found: set[tuple[int, int]] = set()
    for one, other in apart:
        a, b = find(one), find(other)
        if a is not None and b is not None and a != b:
            found.add((min(a, b), max(a, b)))
    return sorted(found)


def _collect(
    outcome: Outcome,
    walked: Sequence[Term],
    new: Sequence[Term],
    seeds: SynonymSets,
    known: Sequence[Sequence[int]],
) -> Mined:
    """Turn numbers back into terms, and give ids."""
    seeded = [i for i, members in enumerate(known) if members]
    ids = [seeds.ids[i] for i in seeded] + _fresh_ids(len(outcome.members) - len(seeded), seeds.ids)
    joined: dict[str, list[Term]] = {i: list(m) for i, m in zip(seeds.ids, seeds, strict=True)}
    for number, members in enumerate(outcome.members):
        fresh = [walked[m] for m in members if m < len(walked)]
        joined.setdefault(ids[number], []).extend(fresh)
    decided = {
        term: Decision(term, ids[best] if best >= 0 else None, sigmoid(logit), action)
        for term, (best, logit, action) in zip(walked, outcome.decisions, strict=True)
    }
    alone = [term for term in new if term not in decided]
    for term, set_id in zip(alone, _fresh_ids(len(alone), joined), strict=True):
        joined[set_id] = [term]
        decided[term] = Decision(term, None, 0.0, "no vector")
    sets = SynonymSets.of(joined.values(), joined.keys())
    return Mined(sets, tuple(decided[term] for term in new), tuple(alone))


def _fresh_ids(count: int, taken: Sequence[str] | dict[str, list[Term]]) -> list[str]:
    used = frozenset(taken)
    found: list[str] = []
    number = 0
    while len(found) < count:
        if (name := f"s{number}") not in used:
            found.append(name)
        number += 1
    return found


def _check(threshold: float, max_sets: int | None, block_size: int, workers: int) -> None:
    if not 0 <= threshold <= 1:
        raise DataError("the threshold must lie between 0 and 1", value=threshold)
    if workers < 1:
        raise DataError("the number of workers must be at least 1", value=workers)
    if max_sets is not None and max_sets < 1:
        raise DataError("the largest number of sets must be at least 1", value=max_sets)
    if block_size < 1:
        raise DataError("the block size must be at least 1", value=block_size)
