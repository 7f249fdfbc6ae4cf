"""Figure 5b: how much the probability threshold θ of set generation matters.

python -m experiments.threshold --data DIR
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any

from experiments.benchmarkdata import Benchmark, benchmarks
from experiments.line_chart import Series, line_chart
from experiments.options import Options, read_options
from experiments.pages import mean_sd, protocol, remarks, table, write_page, write_plot
from experiments.trainings import (
    Outcome,
    Training,
    honest_trainings,
    honest_trainings_of,
    random_orders,
    run_trainings,
)
from synsetmine.metrics import evaluate
from synsetmine.models import generate_sets

NAME = "threshold"
THRESHOLDS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 10))
GOOD = (0.4, 0.5, 0.6)  # the paper's advice
ORDERS = 5
SHOWN = {"ari": "ARI", "fmi": "FMI", "nmi": "NMI"}
Values = Mapping[float, Mapping[str, Sequence[float]]]  # θ, measure: all seeds × orders


def trainings(options: Options) -> list[Training]:
    return honest_trainings_of(benchmarks(options), options)


def run(options: Options) -> str:
    done = run_trainings(trainings(options), options)
    orders = min(ORDERS, options.orders)
    parts = [
        "# Figure 5b: the threshold θ",
        "A term joins its best set only where the probability is above θ. The paper walks the "
        "vocabulary with a fixed classifier and several θ, and shows a picture without figures. "
        "We take the scorers of the main runs, whose epoch was chosen at θ = 0.5, and count the "
        "sets too.",
        protocol(options, f"{options.seeds} seeds × {orders} random vocabulary orders"),
    ]
    findings: list[str] = []
    figures: dict[str, Any] = {}
    for benchmark in benchmarks(options):
        outcomes = [done[training] for training in honest_trainings(benchmark, options)]
        found = [_try_thresholds(benchmark, outcome, orders) for outcome in outcomes]
        values = _together(found)
        parts += [
            f"## {benchmark.title}",
            _table(values),
            _plot(options, benchmark, values),
            _sets_plot(options, benchmark, values),
        ]
        findings.append(f"{benchmark.title}: {finding(values)}")
        figures[f"{benchmark.name} {benchmark.vectors_name}"] = found
    claims = (
        "The paper says that the result hardly depends on θ, that 0.4 to 0.6 is generally good, "
        "and that 0.5 works well on all its data. Good means here: mean ARI at most one "
        "standard deviation (of the best θ, over seeds and orders) below the best."
    )
    parts.append(remarks(options, NAME, claims, findings))
    return write_page(options.out, NAME, parts, figures)


def finding(values: Values) -> str:
    """The best θ, and what is lost elsewhere."""
    means = {theta: fmean(found["ari"]) for theta, found in values.items()}
    best = max(means, key=means.__getitem__)
    deviation = pstdev(values[best]["ari"])
    good = [theta for theta, mean in means.items() if means[best] - mean <= deviation]
    behind = f"; θ = 0.5 is {means[best] - means[0.5]:.2f} points below" if best != 0.5 else ""
    advised = [theta for theta in GOOD if theta in good]
    return (
        f"the best ARI is {means[best]:.2f} ± {deviation:.2f} at θ = {best}{behind}. Mean "
        f"ARI moves by {_width(means.values()):.2f} points over all θ and by "
        f"{_width([means[theta] for theta in GOOD]):.2f} from 0.4 to 0.6. Good are "
        f"{', '.join(map(str, good))}, so the advice "
        f"{'holds' if len(advised) == len(GOOD) else 'holds in part' if advised else 'fails'}."
    )


def _width(values: Any) -> float:
    found = list(values)
    return float(max(found) - min(found))


def _try_thresholds(benchmark: Benchmark, outcome: Outcome, orders: int) -> dict[str, Any]:
    """For each θ the scores of each order with one scorer, in percent, and the number of sets."""

    def mine() -> dict[str, Any]:
        scorer, walks = outcome.scorer(), random_orders(benchmark.walk, orders)
        found: dict[str, list[dict[str, float]]] = {}
        for theta in THRESHOLDS:
            found[str(theta)] = []
            for walk in walks:
                mined = generate_sets(scorer, benchmark.vectors, walk, threshold=theta).sets
                report = evaluate(mined, benchmark.test)
                percent = {m: 100 * float(getattr(report, m)) for m in SHOWN}
                found[str(theta)].append(percent | {"sets": len(mined)})
        return found

    asked = {"thresholds": list(THRESHOLDS), "orders": orders}
    found: dict[str, Any] = outcome.compute_once(NAME, asked, mine)
    return found


def _together(found: Sequence[Mapping[str, Any]]) -> Values:
    return {
        theta: {
            measure: [report[measure] for of_seed in found for report in of_seed[str(theta)]]
            for measure in (*SHOWN, "sets")
        }
        for theta in THRESHOLDS
    }


def _table(values: Values) -> str:
    rows = [
        [str(theta), *(mean_sd(found[measure]) for measure in (*SHOWN, "sets"))]
        for theta, found in values.items()
    ]
    return table(["θ", *SHOWN.values(), "sets found"], rows)


def _plot(options: Options, benchmark: Benchmark, values: Values) -> str:
    title = f"Scores by θ, {benchmark.title}"
    series = [_series(name, values, measure) for measure, name in SHOWN.items()]
    drawing = line_chart(title, series, x="θ", y="percent", x_ticks=THRESHOLDS)
    name = f"{NAME}-{benchmark.name}-{benchmark.vectors_name}"
    return write_plot(options.out, name, title, drawing)


def _sets_plot(options: Options, benchmark: Benchmark, values: Values) -> str:
    title = f"Number of sets by θ, {benchmark.title}"
    true = len(benchmark.test.restrict(benchmark.walk))
    series = [
        _series("found", values, "sets"),
        Series("true", tuple((theta, float(true), 0.0) for theta in THRESHOLDS)),
    ]
    drawing = line_chart(title, series, x="θ", y="sets", x_ticks=THRESHOLDS)
    name = f"{NAME}-sets-{benchmark.name}-{benchmark.vectors_name}"
    return write_plot(options.out, name, title, drawing)


def _series(name: str, values: Values, measure: str) -> Series:
    points = [(theta, found[measure]) for theta, found in values.items()]
    return Series(name, tuple((theta, fmean(of), pstdev(of)) for theta, of in points))


if __name__ == "__main__":
    print(run(read_options(__doc__)))
