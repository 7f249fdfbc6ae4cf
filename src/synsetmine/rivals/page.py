"""The table of a comparison, as rows, Markdown, JSON and a plot."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synsetmine.io.files import write_text
from synsetmine.rivals.comparison import MEASURES, Plan, SeedResult
from synsetmine.rivals.figures import Bar, bar_chart
from synsetmine.rivals.registry import MethodEntry, Origin

COLUMNS = (
    "method",
    "ARI",
    "FMI",
    "NMI",
    "pair F1",
    "tuning, s",
    "training, s",
    "prediction, s",
    "memory, MB",
)
GROUPS: Mapping[Origin, str] = {
    "ours": "our model",
    "paper": "compared in the paper",
    "today": "used today",
}
NEEDS_K = "*"  # marks methods that get the true number of sets


@dataclass(frozen=True)
class Row:
    """A method over all seeds and orders: (mean, standard deviation) of each score, in percent."""

    name: str
    title: str
    origin: Origin
    needs_k: bool
    scores: Mapping[str, tuple[float, float]]  # empty where every seed failed
    choices: Mapping[str, int]  # what tuning chose, and with how many seeds
    tuning_seconds: float
    training_seconds: float
    prediction_seconds: float
    memory_mb: float | None  # the largest of all seeds; None where it is not known
    without_view: int
    device: str
    seeds: int
    failures: Mapping[str, int]  # what went wrong, and with how many seeds

    @property
    def ari(self) -> float:
        return self.scores["ari"][0] if self.scores else float("-inf")

    def record(self) -> dict[str, Any]:
        """The row as comparison.json has it; there `needs_k` is called `told`."""
        return {
            "told" if name == "needs_k" else name: value for name, value in asdict(self).items()
        }


def summarise(
    entries: Sequence[MethodEntry], results: Mapping[str, Sequence[SeedResult]]
) -> list[Row]:
    """One row a method, best ARI first."""
    rows = [_row(entry, results[entry.name]) for entry in entries]
    return sorted(rows, key=lambda row: -row.ari)


def cells(row: Row) -> list[str]:
    """The cells of the table's columns."""
    title = f"{row.title}{NEEDS_K if row.needs_k else ''}"
    if not row.scores:
        return [title, "failed", *[""] * (len(COLUMNS) - 2)]
    scores = [f"{row.scores[m][0]:.2f} ± {row.scores[m][1]:.2f}" for m in ("ari", "fmi", "nmi")]
    seconds = (row.tuning_seconds, row.training_seconds, row.prediction_seconds)
    return [
        title,
        *scores,
        "{:.2f} ± {:.2f}".format(*row.scores["pair_f1"]),
        *map(format_seconds, seconds),
        "" if row.memory_mb is None else f"{row.memory_mb:.0f}",
    ]


def format_seconds(value: float) -> str:
    """A time as tables have it; less than a millisecond is nothing."""
    return f"{value:.3g}" if value >= 1e-3 else "0"


def notes(rows: Sequence[Row]) -> list[str]:
    """What a reader of the table must know of single rows."""
    lines: list[str] = []
    if any(row.needs_k for row in rows):
        lines.append(f"{NEEDS_K} is given the true number of sets.")
    for row in rows:
        if row.without_view:
            lines.append(f"{row.title}: {row.without_view} terms have no vector and stand alone.")
        lines += [
            f"{row.title} failed with {count} of {row.seeds} seeds: {failure}."
            for failure, count in row.failures.items()
        ]
    return lines


def choices(rows: Sequence[Row]) -> list[str]:
    """What tuning chose, and with how many seeds, as lines of a list."""
    return [
        f"- {row.title}: {', '.join(f'{c} ({n})' for c, n in row.choices.items())}"
        for row in rows
        if row.choices
    ]


def write_comparison(out: Path, plan: Plan, rows: Sequence[Row], *, workers: int = 1) -> None:
    """Write comparison.json, comparison.md and comparison.svg into a folder."""
    about = {
        "training_sets": len(plan.training),
        "training_terms": len(plan.training.terms),
        "test_sets": len(plan.test),
        "test_terms": len(plan.test.terms),
        "seeds": plan.seeds,
        "orders": plan.orders,
        "samples": plan.samples,
        "expect_size": plan.expect_size,
        "tables": len(plan.views.vectors),
        "encoder": plan.views.encoder is not None,
        "device": plan.device,
        "workers": workers,
    }
    record = {"plan": about, "methods": [row.record() for row in rows]}
    write_text(out / "comparison.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    write_text(out / "comparison.svg", plot("ARI of each method", rows))
    write_text(out / "comparison.md", _page(about, rows))


def plot(title: str, rows: Sequence[Row], stated: Mapping[str, float] | None = None) -> str:
    """ARI as bars; `stated` are values from elsewhere, by title, marked next to them."""
    known = stated or {}
    bars = [
        Bar(row.title, *row.scores["ari"], GROUPS[row.origin], known.get(row.title))
        for row in rows
        if row.scores
    ]
    return bar_chart(title, bars, axis="ARI, %")


def markdown_table(rows: Sequence[Row]) -> str:
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _page(about: Mapping[str, Any], rows: Sequence[Row]) -> str:
    protocol = (
        f"{about['test_sets']} sets of {about['test_terms']} terms to find, "
        f"{about['training_sets']} training sets; mean ± standard deviation over "
        f"{about['seeds']} seeds and up to {about['orders']} vocabulary orders each, in percent. "
        f"Hyper-parameters were tuned on {about['samples']} subsamples of the training sets, sets "
        f"of {about['expect_size']} or more terms first."
    )
    if about["workers"] > 1:
        protocol += f" {about['workers']} methods ran in parallel, so times are too long."
    chosen = choices(rows)
    parts = [
        "# Comparison",
        protocol,
        markdown_table(rows),
        "\n".join(f"- {note}" for note in notes(rows)),
        "![ARI of each method](comparison.svg)",
        "## What tuning chose\n\n(with how many seeds)\n\n" + "\n".join(chosen) if chosen else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(entry: MethodEntry, results: Sequence[SeedResult]) -> Row:
    good = [result for result in results if result.failure is None]
    scores = {
        measure: _mean_sd([100 * r[measure] for result in good for r in result.reports])
        for measure in (MEASURES if good else ())
    }
    taken = [r.memory for r in good if r.memory is not None]
    return Row(
        name=entry.name,
        title=entry.title,
        origin=entry.origin,
        needs_k=entry.needs_k,
        scores=scores,
        choices=dict(Counter(_choice(entry, r) for r in good if r.tuned_score is not None)),
        tuning_seconds=_mean([r.tuning_seconds for r in good]),
        training_seconds=_mean([r.training_seconds for r in good]),
        prediction_seconds=_mean([r.prediction_seconds for r in good]),
        memory_mb=max(taken) / 1e6 if taken else None,
        without_view=max((r.without_view for r in good), default=0),
        device=", ".join(sorted({r.device for r in good})),
        seeds=len(results),
        failures=dict(Counter(r.failure for r in results if r.failure is not None)),
    )


def _choice(entry: MethodEntry, result: SeedResult) -> str:
    chosen = ", ".join(f"{name} {value}" for name, value in (result.choice or {}).items())
    return f"{result.variant}: {chosen}" if len(entry.variants) > 1 else chosen


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def _mean_sd(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.pstdev(values)
