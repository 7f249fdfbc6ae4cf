"""Training of the view scorer.

The maps learn from training sets; the comparer must see them at work on sets that they have not
learned from, as in mining. So the sets are split into rounds: in each, maps learn from the others
and the round's own sets become vocabularies, as large as the one to be mined, whose pairs teach
the comparer. Each vocabulary is mined with a comparer that has not seen it, which tells where the
bar has to be. The maps that are kept learn from all sets.

A term of a large vocabulary has more neighbours that are no synonyms. So for one of more than
`scene.EXACT` terms, the comparer that is kept sees the terms of a round in a crowd: among those of
the other training sets, as many as are to be mined, and in the pairs that would be compared there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, get_args

import numpy as np
import torch

from synsetmine.errors import DataError
from synsetmine.generation.parts import mine_graph
from synsetmine.model.scene import EXACT, Scene
from synsetmine.model.termmaps import LinearMap, NgramMap
from synsetmine.model.threads import one_thread
from synsetmine.model.viewscorer import (
    ViewScorer,
    chosen_tables,
    make_scene,
    odds_graph,
    rows_of,
    seen_terms,
)
from synsetmine.training.calibration import BARS, Calibration, enough_larger
from synsetmine.training.comparing import Pairs, draw_pairs, fit_comparer, near_pairs
from synsetmine.training.contrastive import Numbers, learn_linear_map, learn_ngram_map
from synsetmine.types import Progress, SynonymSets, Term, order_terms
from synsetmine.views import TermViews, View

ROUNDS = 5
MANY = 5000  # sets, of which one round is enough
SMALLEST, LARGEST = 100, 1500  # terms of a vocabulary of a round
VOCABULARIES = 5  # at least
FEWEST = 10  # sets of two or more terms

CROWD = 20_000  # terms, at most, among which a round's terms are compared

Maps: TypeAlias = tuple[tuple[LinearMap, ...], NgramMap | None]


@dataclass(frozen=True, kw_only=True)
class ViewSettings:
    """What training of the view scorer needs to know."""

    views: tuple[View, ...] = ("vectors", "strings", "encoder")
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.views or not set(self.views) <= set(get_args(View)):
            raise DataError(f"views are some of {', '.join(get_args(View))}", value=self.views)
        if not 0 <= self.seed < 2**32:
            raise DataError("seed must be in [0, 2**32)", value=self.seed)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "views": list(self.views)}


@dataclass(frozen=True)
class TrainedViews:
    """A trained view scorer, and how well it mined the training sets it had not seen."""

    scorer: ViewScorer
    settings: ViewSettings
    score: float  # F1 of pairs in the vocabularies of the rounds, at the bar
    scores: Mapping[float, float]  # at each bar
    vocabularies: int

    def record(self) -> dict[str, Any]:
        """What a stored model says of its training."""
        return {
            "settings": self.settings.to_dict(),
            "validation_f1": self.score,
            "bars": [[bar, score] for bar, score in self.scores.items()],
            "vocabularies": self.vocabularies,
        }


@dataclass(frozen=True, eq=False)
class _Vocabulary:
    """Held-out sets with the scene that maps of other sets make of them."""

    terms: Sequence[Term]
    labels: Numbers
    scene: Scene
    pairs: Pairs


@one_thread()
def train_views(
    sets: SynonymSets,
    views: TermViews,
    settings: ViewSettings,
    *,
    size: int | None = None,
    hold_out: bool = True,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> TrainedViews:
    """Train on the sets, of whose terms each is known to some view.

    `size` is about how many terms will be mined at a time. Without `hold_out` everything is learned
    from all sets, which is a makeshift for very few.

    On a CPU the result does not depend on the number of threads that torch may use.
    """
    several = sum(count > 1 for count in sets.sizes)
    if hold_out and several < FEWEST:
        few = f"training needs {FEWEST} or more sets of two or more terms, here are"
        raise DataError(few, value=several)
    run = _Run(views, settings, torch.device(device))
    size = max(size or LARGEST, SMALLEST)
    rounds = [(sets, [_fewer(sets)])]
    if hold_out:
        rounds = list(_rounds(sets, min(size, LARGEST), settings.seed, views.learned))
    steps = len(rounds) + 2
    vocabularies: list[_Vocabulary] = []
    crowds: list[Pairs] = []
    for done, (learning, held_out) in enumerate(rounds, start=1):
        maps = run.maps(learning)
        vocabularies += run.round(maps, held_out)
        if size > EXACT and hold_out:
            crowds.append(run.crowd(maps, sets, held_out, size))
        if progress:
            progress(done, steps)
    calibration = run.calibrate(vocabularies, larger=enough_larger(sets.sizes))
    if progress:
        progress(len(rounds) + 1, steps)
    linear, ngrams = run.maps(sets)
    comparer = fit_comparer(crowds or [v.pairs for v in vocabularies], seed=settings.seed)
    if progress:
        progress(steps, steps)
    bar, scores = calibration.bar(), calibration.means()
    scorer = ViewScorer(settings.views, linear, ngrams, comparer, bar)
    return TrainedViews(scorer, settings, scores[bar.at], scores, len(vocabularies))


def known_sets(sets: SynonymSets, views: TermViews, settings: ViewSettings) -> SynonymSets:
    """The sets less the terms that no view knows."""
    return sets.restrict(seen_terms(sets.terms, settings.views, views))


def _rounds(
    sets: SynonymSets, size: int, seed: int, learned: Set[str]
) -> Iterator[tuple[SynonymSets, list[SynonymSets]]]:
    """(sets to learn maps from, vocabularies of the others); all rounds, or one if sets abound."""
    order = np.random.default_rng(seed).permutation(len(sets)).tolist()
    new = [n for n in order if learned.isdisjoint(term.surface for term in sets.sets[n])]
    several = sum(sets.sizes[n] > 1 for n in new)
    if several < FEWEST:
        problem = f"the encoder was tuned on all but so few of the sets, {FEWEST} are needed"
        raise DataError(problem, value=several)
    if learned:  # lone terms, which no encoder learns, do not crowd out the few others
        new.sort(key=lambda n: sets.sizes[n] == 1)
    parts = [new[i::ROUNDS] for i in range(ROUNDS)]
    if len(sets) > MANY:
        most = VOCABULARIES * size * len(sets) // len(sets.terms)  # sets that are needed
        parts = [new[: min(most, len(sets) // ROUNDS)]]
    for part in parts:
        held = set(part)
        learning = sets.pick(n for n in range(len(sets)) if n not in held)
        terms = sum(sets.sizes[n] for n in part)
        pieces = min(max(round(terms / size), 2 if len(parts) == 1 else 1), len(part))
        yield learning, [sets.pick(sorted(part[i::pieces])) for i in range(pieces)]


def _fewer(sets: SynonymSets) -> SynonymSets:
    """Some terms of each set, no more than a vocabulary has."""
    most = max(2, LARGEST // len(sets))
    return SynonymSets.of([members[:most] for members in sets])


class _Run:
    """One training: what its steps share."""

    def __init__(self, views: TermViews, settings: ViewSettings, device: torch.device) -> None:
        self.views = views
        self.settings = settings
        self.device = device
        self.tables = chosen_tables(settings.views, views)

    def maps(self, sets: SynonymSets) -> Maps:
        terms = sets.terms
        labels = np.array(sets.labels(terms), np.int64)
        seed, device = self.settings.seed, self.device
        linear = tuple(
            learn_linear_map(rows_of(table, terms), labels, seed=seed, device=device)
            for table in self.tables
        )
        if "strings" not in self.settings.views:
            return linear, None
        surfaces = [term.surface for term in terms]
        return linear, learn_ngram_map(surfaces, labels, seed=seed, device=device)

    def round(self, maps: Maps, held_out: Sequence[SynonymSets]) -> list[_Vocabulary]:
        found: list[_Vocabulary] = []
        for sets in held_out:
            terms = order_terms(sets.terms, "random", seed=self.settings.seed)
            labels = np.array(sets.labels(terms), np.int64)
            scene = make_scene(
                *(terms, self.views, self.settings.views, *maps),
                exact=len(terms),
                device=self.device,
            )
            pairs = draw_pairs(scene, labels, seed=self.settings.seed)
            found.append(_Vocabulary(terms, labels, scene, pairs))
        return found

    def crowd(
        self, maps: Maps, sets: SynonymSets, held_out: Sequence[SynonymSets], size: int
    ) -> Pairs:
        """The pairs of held-out terms with each other and with those around them."""
        held = dict.fromkeys(term for part in held_out for term in part.terms)
        others = [term for term in sets.terms if term not in held]
        drawn = order_terms(others, "random", seed=self.settings.seed)
        terms = [*held, *drawn[: max(min(size, CROWD) - len(held), 0)]]
        scene = make_scene(terms, self.views, self.settings.views, *maps, device=self.device)
        labels = np.array(sets.labels(terms), np.int64)
        return near_pairs(scene, labels, len(held), seed=self.settings.seed)

    def calibrate(self, vocabularies: Sequence[_Vocabulary], *, larger: bool) -> Calibration:
        """Mine each vocabulary with a comparer of the others."""
        calibration = Calibration(larger)
        parts = min(VOCABULARIES, len(vocabularies))
        for part in range(parts):
            others = [v.pairs for i, v in enumerate(vocabularies) if i % parts != part]
            every = [v.pairs for v in vocabularies]  # of one vocabulary there are no others
            comparer = fit_comparer(others or every, seed=self.settings.seed)
            for vocabulary in vocabularies[part::parts]:
                graph = odds_graph(comparer, vocabulary.scene)
                for bar in BARS:
                    found = mine_graph(graph, len(vocabulary.terms), bar)
                    calibration.add(bar, found, vocabulary.labels)
        return calibration
