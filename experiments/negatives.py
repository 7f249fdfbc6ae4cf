"""Figure 5a: how the negatives of training are drawn, and how many there are.

python -m experiments.negatives --data DIR
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any, get_args

from experiments.benchmarkdata import Benchmark, benchmarks
from experiments.line_chart import Series, line_chart
from experiments.options import Options, read_options
from experiments.pages import gap, mean_sd, protocol, remarks, table, write_page, write_plot
from experiments.trainings import (
    Outcome,
    Training,
    run_trainings,
    scores,
    seed_scores,
    variants_outcomes,
    variants_trainings,
)
from synsetmine.models.paper.settings import Strategy

NAME = "negatives"
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
COUNTS = (10, 20, 50)  # K, the negatives of each positive pair
VARIANTS: Mapping[tuple[Strategy, int], Mapping[str, Any]] = {
    (strategy, count): {"strategy": strategy, "negatives": count}
    for strategy in STRATEGIES
    for count in COUNTS
}
Outcomes = Mapping[tuple[Strategy, int], Sequence[Outcome]]  # one for each seed


def trainings(options: Options) -> list[Training]:
    return variants_trainings(VARIANTS, options)


def run(options: Options) -> str:
    done = run_trainings(trainings(options), options)
    parts = [
        "# Figure 5a: strategy and number of negatives",
        "For each positive pair (S, t) training draws K negatives: random terms "
        "(complete-random), terms that share a token with a term of S (share-token), or half of "
        "each (mixture). A share-token draw without any such term is drawn at random; the last "
        "column says how often. The paper tries this on Wiki and shows a picture without figures, "
        "so there is nothing to set beside ours but its two claims.",
        protocol(options),
    ]
    findings: list[str] = []
    figures: dict[str, Any] = {}
    for benchmark in benchmarks(options):
        outcomes = variants_outcomes(done, benchmark, VARIANTS, options)
        parts += [
            f"## {benchmark.title}",
            _table(outcomes),
            _plot(options, benchmark, outcomes),
        ]
        ari = {key: seed_scores(of_one, "ari") for key, of_one in outcomes.items()}
        findings.append(f"{benchmark.title}. {first_claim(ari)} {second_claim(ari)}")
        figures[f"{benchmark.name} {benchmark.vectors_name}"] = {
            f"{strategy} {count}": [outcome.record for outcome in of_one]
            for (strategy, count), of_one in outcomes.items()
        }
    parts.append(remarks(options, NAME, _claims(figures), findings))
    return write_page(options.out, NAME, parts, figures)


def first_claim(ari: Mapping[tuple[Strategy, int], Sequence[float]]) -> str:
    """Does complete-random beat share-token? ARI of each seed by (strategy, K)."""
    gaps = {k: (ari["complete-random", k], ari["share-token", k]) for k in COUNTS}
    won = [k for k, (ours, others) in gaps.items() if fmean(ours) > fmean(others)]
    said = ", ".join(f"K = {k}: {gap(*pair)}" for k, pair in gaps.items())
    return (
        f"Claim 1 {_holds(len(won), len(COUNTS))}: complete-random has the higher mean ARI at "
        f"{len(won)} of {len(COUNTS)} K ({said} points over the seeds)."
    )


def second_claim(ari: Mapping[tuple[Strategy, int], Sequence[float]]) -> str:
    """Is the mixture with the most negatives the best of all?"""
    best = max(ari, key=lambda key: fmean(ari[key]))
    most: tuple[Strategy, int] = ("mixture", COUNTS[-1])
    more = (ari[most], ari["mixture", COUNTS[0]])
    return (
        f"Claim 2 {'holds' if best == most else 'does not hold'}: the best is {best[0]} with "
        f"K = {best[1]} ({fmean(ari[best]):.2f}); mixture with K = {COUNTS[-1]} has "
        f"{fmean(ari[most]):.2f}, {gap(*more)} points against its K = {COUNTS[0]}."
    )


def _holds(won: int, tried: int) -> str:
    return "holds" if won == tried else "holds in part" if won else "does not hold"


def _claims(figures: Mapping[str, Any]) -> str:
    on_wiki = any(key.startswith("wiki") for key in figures)
    return (
        "The paper's claims: (1) complete-random beats share-token; (2) the mixture with more "
        f"negatives is best. {'' if on_wiki else 'The paper has them from Wiki, ours is not. '}"
        "A claim is judged by mean ARI alone; the differences say how far the seeds agree."
    )


def _table(outcomes: Outcomes) -> str:
    rows = []
    for strategy in STRATEGIES:
        cells = [mean_sd(scores(outcomes[strategy, count], "ari")) for count in COUNTS]
        rows.append([strategy, *cells, _without_partner(outcomes, strategy)])
    columns = [f"ARI, K = {count}" for count in COUNTS]
    return table(["strategy", *columns, "share-token draws without a partner"], rows)


def _without_partner(outcomes: Outcomes, strategy: Strategy) -> str:
    shares = [
        outcome.record["fallback_share"]
        for count in COUNTS
        for outcome in outcomes[strategy, count]
    ]
    return "" if None in shares else f"{100 * fmean(shares):.1f} %"


def _plot(options: Options, benchmark: Benchmark, outcomes: Outcomes) -> str:
    title = f"ARI by the number of negatives, {benchmark.title}"
    series = []
    for strategy in STRATEGIES:
        values = {count: scores(outcomes[strategy, count], "ari") for count in COUNTS}
        points = tuple((float(k), fmean(found), pstdev(found)) for k, found in values.items())
        series.append(Series(strategy, points))
    drawing = line_chart(
        title, series, x="negatives K of each positive", y="ARI, %", log_x=True, x_ticks=COUNTS
    )
    name = f"{NAME}-{benchmark.name}-{benchmark.vectors_name}"
    return write_plot(options.out, name, title, drawing)


if __name__ == "__main__":
    print(run(read_options(__doc__)))
