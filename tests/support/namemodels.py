"""A small model of names for tests: the same words in any order are one thing, more or less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from synsetmine.io.sets import Action
from synsetmine.models import MiningResult
from synsetmine.models.task import Outcome, Task, log_odds
from synsetmine.normalization import tokens
from synsetmine.types import Progress, SynonymSets, Term
from synsetmine.views import TermVectors, TermViews


class WordModel:
    """f(S, t) is the mean share of words that t has in common with the members of S."""

    def __init__(self) -> None:
        self.vocabularies: list[tuple[Term, ...]] = []  # that it was prepared over
        self.views: list[TermViews] = []

    def senses(
        self,
        names: Sequence[str],
        contexts: Sequence[Sequence[str]],
        vectors: TermVectors | None = None,
        *,
        threshold: float = 0.5,
    ) -> list[int]:
        """A sense for each word that a context begins with."""
        first = [text[0].split()[0] for text in contexts]
        return [sorted(set(first)).index(word) for word in first]

    def prepare(
        self,
        vocabulary: Sequence[Term],
        views: TermViews,
        *,
        device: str | None = None,
        workers: int = 1,
        exact: int | None = None,
        progress: Progress | None = None,
    ) -> PreparedWords:
        self.vocabularies.append(tuple(vocabulary))
        self.views.append(views)
        return PreparedWords(tuple(vocabulary))


class PreparedWords:
    """The model over a vocabulary; each term joins the first set that it fits."""

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms

    def probabilities(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]:
        return [sum(_share(m, t) for m in members) / len(members) for t in terms]

    def generate(
        self,
        *,
        threshold: float = 0.5,
        seeds: SynonymSets | None = None,
        cannot_link: Iterable[tuple[Term, Term]] = (),
        must_link: Iterable[tuple[Term, Term]] = (),
        types: Mapping[Term, str] | None = None,
        progress: Progress | None = None,
    ) -> MiningResult:
        task = Task.of(
            self.terms, set(self.terms), threshold=threshold, seeds=seeds, cannot_link=cannot_link
        )
        sets = [list(members) for members in task.seeds]
        apart = {pair for a, b in task.cannot_link for pair in ((a, b), (b, a))}
        decisions: list[tuple[int, float, Action]] = []
        for new in range(task.count):
            fits = [
                (
                    self.probabilities([task.terms[m] for m in members], [task.terms[new]])[0],
                    -number,
                )
                for number, members in enumerate(sets)
                if not any((new, member) in apart for member in members)
            ]
            best, number = max(fits, default=(0.0, 0))
            if best > threshold:
                sets[-number].append(new)
                decisions.append((-number, log_odds(best), "joined"))
            else:
                sets.append([new])
                decisions.append((-number if fits else -1, log_odds(best), "opened"))
        return task.collect(Outcome(sets, decisions))

    def near_pairs(self, threshold: float, *, top: int = 100) -> list[tuple[Term, Term, float]]:
        pairs = [(a, b, _share(a, b)) for a, b in combinations(self.terms, 2)]
        return sorted(pairs, key=lambda pair: (abs(pair[2] - threshold), pair[:2]))[:top]


def _share(one: Term, other: Term) -> float:
    a, b = set(tokens(one.surface)), set(tokens(other.surface))
    return len(a & b) / len(a | b) if a | b else 0.0
