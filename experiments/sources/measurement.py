"""ARI of the general model, of its adaptations and of rivals on the halves of a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.calibration import Decisions, half_alone, mining_decisions
from experiments.sources.source import Source, halves, pairs_only
from synsetmine.errors import DataError
from synsetmine.metrics import compare_labels, evaluate
from synsetmine.models.general import PRECISION, GeneralModel, load_general
from synsetmine.models.general.settings import AdaptationSettings
from synsetmine.models.general.training import adapt
from synsetmine.rivals.base import Choice, ClusteringTask, Labels, Method, TrainingData, grid
from synsetmine.rivals.linkage import Agglomerative, Hdbscan, Link, cut, in_given_order
from synsetmine.rivals.pairs import PairLinkage
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, View, encode_terms, find_encoder, unit_rows

GENERAL, ADAPTED, PAIRS_ONLY = "general", "adapted", "adapted, pairs only"
CSLS = "average link, CSLS"
LINKAGES = ("average link, cosine", CSLS, "complete link, cosine", "complete link, CSLS")
PAIR_CLASSIFIER = "pair classifier"
RIVALS = (*LINKAGES, "HDBSCAN", PAIR_CLASSIFIER)
ROWS = (GENERAL, ADAPTED, PAIRS_ONLY, *RIVALS)
NEIGHBOURS = 10  # whose mean cosine tells how dense the neighbourhood of a name is
CSLS_DISTANCES = tuple(round(0.4 + 0.0125 * step, 4) for step in range(65))  # 0.4 to 1.2


@dataclass(frozen=True)
class Curve:
    """ARI by the choices of a method, on the training half and on the test half."""

    training: tuple[float, ...]
    test: tuple[float, ...]

    @property
    def ari(self) -> float:
        """On the test half, with the choice that is best on the training half."""
        return self.test[int(np.argmax(self.training))]


@dataclass(frozen=True)
class Scores:
    """One source, one seed, with or without a sentence encoder."""

    ari: Mapping[str, float]  # of each row
    csls: Curve  # of average link, for thresholds from other sources
    names: int  # of the test half


@dataclass(frozen=True, eq=False)
class SourceScores:
    """All scores of one source. The columns are `strings` and, with an encoder, `encoder`."""

    source: Source
    scores: Mapping[View, tuple[Scores, ...]]  # by column, one for each seed
    decisions: Mapping[View, Decisions]  # by column


@dataclass(frozen=True, kw_only=True)
class CslsLinkage:
    """Agglomerative clustering by CSLS (Conneau et al. 2018).

    The distance is 1 - (cos(a, b) - (r(a) + r(b)) / 2), where r is the mean cosine of a name with
    its 10 nearest neighbours.
    """

    view: View
    link: Link = "average"
    needs_k: bool = False
    depends_on_order: bool = False

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    @property
    def choices(self) -> Sequence[Choice]:
        return grid("distance", CSLS_DISTANCES)

    def fit(self, data: TrainingData) -> CslsLinkage:  # noqa: ARG002
        return self

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        order = np.array(sorted(range(len(task.terms)), key=task.terms.__getitem__))
        terms = [task.terms[row] for row in order]
        rows = unit_rows(task.views.table(self.view).select(terms))  # (terms, dimension)
        cosines = rows @ rows.T
        others = np.where(np.eye(len(rows), dtype=bool), -1, cosines)
        nearest = np.sort(others, axis=1)[:, -min(NEIGHBOURS, len(rows) - 1) :]
        density = nearest.mean(axis=1) / 2  # (terms,)
        distances = 1 - cosines + density[:, None] + density
        condensed = np.maximum(distances[np.triu_indices(len(rows), 1)], 0)
        thresholds = [choice["distance"] for choice in choices]
        for labels in cut(condensed, self.link, thresholds, count=len(rows)):
            yield in_given_order(labels, order)


def rivals(view: View) -> dict[str, Method]:
    """Rivals that see one table of vectors; the pair classifier sees strings too."""
    views: tuple[View, ...] = ("vectors", "strings")
    if view == "encoder":
        views = (*views, "encoder")
    methods: tuple[Method, ...] = (
        Agglomerative(view=view, link="average"),
        CslsLinkage(view=view, link="average"),
        Agglomerative(view=view, link="complete"),
        CslsLinkage(view=view, link="complete"),
        Hdbscan(view=view),
        PairLinkage(views=views),
    )
    return dict(zip(RIVALS, methods, strict=True))


def measure(
    source: Source,
    *,
    encoder: str | None,
    names: int,
    seeds: int,
    first_seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> SourceScores:
    """ARI of all rows and the decisions of mining; `encoder` as in `--encoder`."""
    drawn_seeds = range(first_seed, first_seed + seeds)
    parts = [halves(source.sets, names=names, seed=seed) for seed in drawn_seeds]
    if not all(training.sets and test.sets for training, test in parts):
        raise DataError("a source needs two or more sets of two names", value=source.name)
    vocabularies = list(half_alone(source.sets, names=names, seeds=seeds))
    drawn = [*(part for pair in parts for part in pair), *vocabularies]
    views = _views(source, [term for sets in drawn for term in sets.terms], encoder, report)
    columns: dict[View, tuple[Scores, ...]] = {}
    decisions: dict[View, Decisions] = {}
    for view in views:
        model = load_general(encoder=view == "encoder", folder=source.weights)
        scores = []
        for seed, (training, test) in zip(drawn_seeds, parts, strict=True):
            scores.append(_scores(model, training, test, views[view], view, seed))
            aris = ", ".join(f"{row} {100 * ari:.1f}" for row, ari in scores[-1].ari.items())
            report(f"{source.name}, {view}, seed {seed}: {aris}")
        columns[view] = tuple(scores)
        decisions[view] = Decisions.together(
            [_decisions(model, gold, views[view]) for gold in vocabularies]
        )
        report(f"{source.name}, {view}: calibration error {decisions[view].error():.3f}")
    return SourceScores(source, columns, decisions)


def _views(
    source: Source, terms: Sequence[Term], encoder: str | None, report: Callable[[str], None]
) -> dict[View, TermViews]:
    """Static vectors for the column of strings; a sentence encoder's too for the other column."""
    distinct = tuple(sorted(set(terms)))
    static = load_general(folder=source.weights).encoder
    table = TermVectors(distinct, static.encode([term.surface for term in distinct]))
    views: dict[View, TermViews] = {"strings": TermViews((table,))}
    if encoder is not None:
        report(f"{source.name}: {encoder} encodes {len(distinct):,} names")
        vectors = encode_terms(distinct, find_encoder(encoder))
        views["encoder"] = TermViews((table,), vectors)
    return views


def _scores(
    model: GeneralModel,
    training: SynonymSets,
    test: SynonymSets,
    views: TermViews,
    column: View,
    seed: int,
) -> Scores:
    known = replace(views, vectors=())  # the general model has static vectors of its own
    settings = AdaptationSettings(seed=seed)
    adapted = adapt(training, known, settings, base=model).model
    from_pairs = adapt(pairs_only(training, seed=seed), known, settings, base=model).model
    ari = {
        row: evaluate(
            one.prepare(test.terms, known).generate(threshold=settings.threshold).sets, test
        ).ari
        for row, one in ((GENERAL, model), (ADAPTED, adapted), (PAIRS_ONLY, from_pairs))
    }
    curves = {
        row: curve(method, training, test, views, seed)
        for row, method in rivals("encoder" if column == "encoder" else "vectors").items()
    }
    ari |= {row: curve.ari for row, curve in curves.items()}
    return Scores(ari, curves[CSLS], len(test.terms))


def curve(
    method: Method, training: SynonymSets, test: SynonymSets, views: TermViews, seed: int
) -> Curve:
    data = TrainingData(training=training, views=views, size=len(test.terms), seed=seed)
    clusterer = method.fit(data)
    aris = []
    for sets in (training, test):
        task = ClusteringTask(terms=sets.terms, views=views, seed=seed)
        gold = sets.labels(sets.terms)
        grouped = clusterer.cluster(task, method.choices)
        aris.append(tuple(compare_labels(labels, gold).ari for labels in grouped))
    return Curve(*aris)


def _decisions(model: GeneralModel, gold: SynonymSets, views: TermViews) -> Decisions:
    prepared = model.prepare(gold.terms, replace(views, vectors=()))
    return mining_decisions(prepared, gold, threshold=PRECISION["balanced"])
