"""Figure 4: does it help to look at a set as a whole, rather than at its pairs of terms?

python -m experiments.set_or_pairs --data DIR
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.metrics import accuracy_score, precision_recall_fscore_support, roc_auc_score

from experiments.benchmarkdata import MADE, Benchmark, benchmarks
from experiments.figures import Bar, bar_chart
from experiments.options import Options, read_options
from experiments.pages import (
    gap,
    mean_sd,
    paper_values,
    protocol,
    remarks,
    table,
    write_page,
    write_plot,
)
from experiments.trainings import (
    Outcome,
    Training,
    honest_trainings,
    honest_trainings_of,
    run_trainings,
)
from synsetmine.models import probabilities
from synsetmine.models.paper.network import SetScorer
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors

Floats: TypeAlias = npt.NDArray[np.float64]

NAME = "set-or-pairs"
DRAWS = 5  # of the negatives
ROWS_AT_ONCE = 16_384
WAYS = {"set": "set-instance classifier", "pairs": "averaged pairs"}
SHOWN = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "auc": "ROC AUC",
}
PICTURE = dict.fromkeys(["accuracy", "f1"], "a picture")  # without figures


@dataclass(frozen=True)
class Question:
    """Which term completes the rest of a test set: its own, or a stranger?"""

    rest: tuple[Term, ...]
    own: Term
    strangers: tuple[Term, ...]  # terms of other sets, one for each draw


def trainings(options: Options) -> list[Training]:
    return honest_trainings_of(benchmarks(options, made=MADE), options)


def run(options: Options) -> str:
    done = run_trainings(trainings(options), options)
    parts = [
        "# Figure 4: set-instance classifier or averaged pairs",
        "From a trained classifier f(S, t) the paper makes one of pairs: g(a, b) is the mean of "
        "f({a}, b) and f({b}, a), and the prediction for (S, t) is the mean of g(t', t) over all "
        "t' in S. It compares both on as many positive as negative set-instance pairs of the test "
        "sets. We do the same: each test term is once held out as the positive of the rest of its "
        "set, and once a random term of another set takes its place. The scorers are those of the "
        "main runs. A pair counts as predicted where its probability is above 0.5; the area under "
        "the ROC curve (AUC) depends on no such threshold. The paper shows its result as bars "
        "without figures, on PubMed, whose vectors are not at hand; ours there are others.",
        protocol(options, f"{options.seeds} seeds × {DRAWS} draws of the negatives"),
    ]
    findings: list[str] = []
    figures: dict[str, Any] = {}
    for benchmark in benchmarks(options, made=MADE):
        outcomes = [done[training] for training in honest_trainings(benchmark, options)]
        found = [_judge(benchmark, outcome) for outcome in outcomes]
        parts += [
            f"## {benchmark.title}",
            _size(benchmark, found[0]["questions"]),
            _table(found),
            _plot(options, benchmark, found),
        ]
        findings.append(_finding(benchmark, found))
        figures[f"{benchmark.name} {benchmark.vectors_name}"] = found
    claim = "The paper says that the set-instance classifier is much better in accuracy and F1."
    parts.append(remarks(options, NAME, claim, findings))
    return write_page(options.out, NAME, parts, figures)


def questions(test: SynonymSets, vectors: TermVectors, *, draws: int) -> list[Question]:
    """One for each test term with a vector whose set has another such term."""
    usable = test.restrict(term for term in test.terms if term in vectors)
    chances = [random.Random(draw) for draw in range(draws)]  # noqa: S311
    found = []
    for members in usable:
        others = [term for term in usable.terms if term not in members]
        for own in members if len(members) > 1 else ():
            rest = tuple(term for term in members if term != own)
            found.append(Question(rest, own, tuple(chance.choice(others) for chance in chances)))
    return found


def by_set(scorer: SetScorer, vectors: TermVectors, asked: Sequence[Question]) -> Floats:
    """f(S, t) for a question's own term and each stranger: (questions, 1 + draws)."""
    return np.array([probabilities(scorer, vectors, q.rest, [q.own, *q.strangers]) for q in asked])


def by_pairs(scorer: SetScorer, vectors: TermVectors, asked: Sequence[Question]) -> Floats:
    """The mean of g(t', t) over t' in S, of the same shape."""
    pairs = [(q.rest, term) for q in asked for term in (q.own, *q.strangers)]
    return average_pairs(scorer, vectors, pairs).reshape(len(asked), -1)


def average_pairs(
    scorer: SetScorer, vectors: TermVectors, asked: Sequence[tuple[Sequence[Term], Term]]
) -> Floats:
    """For each (S, t) the mean of g(t', t) over t' in S: (asked,)."""
    pairs = [(member, term) for members, term in asked for member in members]
    of_pairs = pair_probabilities(scorer, vectors, pairs)
    sizes = np.array([len(members) for members, _ in asked])
    sums = np.add.reduceat(of_pairs, np.cumsum(sizes) - sizes)
    averaged: Floats = sums / sizes
    return averaged


@torch.inference_mode()
def pair_probabilities(
    scorer: SetScorer, vectors: TermVectors, pairs: Sequence[tuple[Term, Term]]
) -> Floats:
    """g(a, b), the mean of f({a}, b) and f({b}, a), for each pair: (pairs,).

    Both have q({a, b}) in common: f({a}, b) = sigmoid(q({a, b}) - q({a})).
    """
    scorer.eval()
    terms = list(dict.fromkeys(term for pair in pairs for term in pair))
    number = {term: i for i, term in enumerate(terms)}
    embedded = scorer.embed(torch.from_numpy(vectors.select(terms)))  # (terms, hidden)
    alone = scorer.score(embedded)  # (terms,)
    found = []
    numbers = torch.tensor([[number[a], number[b]] for a, b in pairs])  # (pairs, 2)
    for start in range(0, len(numbers), ROWS_AT_ONCE):
        left, right = numbers[start : start + ROWS_AT_ONCE].T
        together = scorer.score(embedded[left] + embedded[right])  # (chunk,)
        both = torch.sigmoid(together - alone[left]) + torch.sigmoid(together - alone[right])
        found.append((both / 2).double().numpy())
    return np.concatenate(found)


def _judge(benchmark: Benchmark, outcome: Outcome) -> dict[str, Any]:
    """Reports of both ways with one scorer, one for each draw of negatives; fractions."""

    def judge() -> dict[str, Any]:
        scorer = outcome.scorer()
        asked = questions(benchmark.test, benchmark.vectors, draws=DRAWS)
        return {
            "questions": len(asked),
            "set": reports_of(by_set(scorer, benchmark.vectors, asked)),
            "pairs": reports_of(by_pairs(scorer, benchmark.vectors, asked)),
        }

    found: dict[str, Any] = outcome.compute_once(NAME, {"draws": DRAWS}, judge)
    return found


def reports_of(scored: Floats) -> list[dict[str, float]]:
    """One for each draw: own terms are positive, as many strangers negative."""
    labels = [1] * len(scored) + [0] * len(scored)
    reports = []
    for draw in range(1, scored.shape[1]):
        both = np.concatenate([scored[:, 0], scored[:, draw]])
        accepted = both > 0.5
        precision, recall, f1, _ = precision_recall_fscore_support(
            labels, accepted, average="binary", zero_division=0
        )
        reports.append(
            {
                "accuracy": float(accuracy_score(labels, accepted)),
                "precision": float(precision),
                "recall": float(recall),
                "f1": float(f1),
                "auc": float(roc_auc_score(labels, both)),
            }
        )
    return reports


def _size(benchmark: Benchmark, asked: int) -> str:
    stated = paper_values()["set_or_pairs"]
    paper = (
        f" (paper: {stated['pairs']:,}, {stated['positive']:,} positive)"
        if stated["benchmark"] == benchmark.name
        else ""
    )
    return f"{2 * asked:,} set-instance pairs, {asked:,} of them positive{paper}."


def _table(found: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        ["paper", *(PICTURE.get(measure, "") for measure in SHOWN)],
        *(
            [title, *(mean_sd(_percent(found, way, measure)) for measure in SHOWN)]
            for way, title in WAYS.items()
        ),
    ]
    return table(["", *SHOWN.values()], rows)


def _plot(options: Options, benchmark: Benchmark, found: Sequence[Mapping[str, Any]]) -> str:
    title = f"Set-instance classifier and averaged pairs, {benchmark.title}"
    bars = []
    for measure, measure_title in SHOWN.items():
        for way, way_title in WAYS.items():
            values = _percent(found, way, measure)
            bars.append(Bar(measure_title, fmean(values), pstdev(values), group=way_title))
    name = f"{NAME}-{benchmark.name}-{benchmark.vectors_name}"
    return write_plot(options.out, name, title, bar_chart(title, bars, axis="percent"))


def _finding(benchmark: Benchmark, found: Sequence[Mapping[str, Any]]) -> str:
    said = []
    for measure in ("accuracy", "f1", "auc"):
        by_seed = {
            way: [100 * fmean(report[measure] for report in of_seed[way]) for of_seed in found]
            for way in WAYS
        }
        higher = sum(a > b for a, b in zip(by_seed["set"], by_seed["pairs"], strict=True))
        said.append(
            f"{SHOWN[measure]} {gap(by_seed['set'], by_seed['pairs'])} points "
            f"(higher with {higher} of {len(found)} seeds)"
        )
    return f"{benchmark.title}, set-instance classifier against pairs: {'; '.join(said)}."


def _percent(found: Sequence[Mapping[str, Any]], way: str, measure: str) -> list[float]:
    return [100 * report[measure] for of_seed in found for report in of_seed[way]]


if __name__ == "__main__":
    print(run(read_options(__doc__)))
