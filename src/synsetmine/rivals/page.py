"""The table of a comparison, as rows, Markdown, JSON and a plot."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from synsetmine.io.files import write_text
from synsetmine.io.svg import PlotFrame, Scale, tag, ticks
from synsetmine.rivals.comparison import MEASURES, ComparisonPlan, SeedResult
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
class MethodRow:
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
        return {"told" if k == "needs_k" else k: value for k, value in asdict(self).items()}


def summarise(
    entries: Sequence[MethodEntry], results: Mapping[str, Sequence[SeedResult]]
) -> list[MethodRow]:
    """One row a method, best ARI first."""
    rows = [_row(entry, results[entry.name]) for entry in entries]
    return sorted(rows, key=lambda row: -row.ari)


def cells(row: MethodRow) -> list[str]:
    """The cells of the table's columns."""
    title = f"{row.title}{NEEDS_K if row.needs_k else ''}"
    if not row.scores:
        return [title, "failed", *[""] * (len(COLUMNS) - 2)]
    seconds = (row.tuning_seconds, row.training_seconds, row.prediction_seconds)
    return [
        title,
        *("{:.2f} ± {:.2f}".format(*row.scores[m]) for m in ("ari", "fmi", "nmi", "pair_f1")),
        *map(format_seconds, seconds),
        "" if row.memory_mb is None else f"{row.memory_mb:.0f}",
    ]


def format_seconds(value: float) -> str:
    """A time as tables have it; less than a millisecond is nothing."""
    return f"{value:.3g}" if value >= 1e-3 else "0"


def notes(rows: Sequence[MethodRow]) -> list[str]:
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


def choices(rows: Sequence[MethodRow]) -> list[str]:
    """What tuning chose, and with how many seeds, as lines of a list."""
    return [
        f"- {row.title}: {', '.join(f'{c} ({n})' for c, n in row.choices.items())}"
        for row in rows
        if row.choices
    ]


def write_comparison(
    out: Path, plan: ComparisonPlan, rows: Sequence[MethodRow], *, workers: int = 1
) -> None:
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


WIDTH, ROW, PAD, LABELS, VALUES = 800, 26, 16, 330, 110  # of the chart
STYLE = """
text{font:13px sans-serif;fill:#333}.end{text-anchor:end}.middle{text-anchor:middle}
.bar{fill:#8a949e}.ours{fill:#0a7d76}.paper{fill:#c4552d}.grid{stroke:#ddd}.whisker{stroke:#333}
.card{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#e7e9ea}.grid{stroke:#444}.whisker{stroke:#e7e9ea}
.card{fill:#1a1e21}}
"""


def plot(title: str, rows: Sequence[MethodRow]) -> str:
    """ARI of each method as bars with whiskers of one standard deviation, as SVG."""
    shown = [row for row in rows if row.scores]
    ends = [0.0, *(row.ari + side * row.scores["ari"][1] for row in shown for side in (-1, 1))]
    marks = ticks(min(ends), max(ends) if any(ends) else 100.0)
    bottom = 2.5 * ROW + ROW * len(shown)
    frame = PlotFrame(
        Scale(marks[0], marks[-1], LABELS, WIDTH - VALUES), Scale(0, 1, bottom, 2 * ROW)
    )
    drawn = tag("rect", width=WIDTH, height=bottom + ROW, class_="card")
    drawn += tag("text", title, x=PAD, y=ROW)
    for mark in marks:
        x = frame.x(mark)
        drawn += tag("line", x1=x, x2=x, y1=1.5 * ROW, y2=bottom, class_="grid")
    for number, row in enumerate(shown):
        mean, deviation = row.scores["ari"]
        y = (number + 2) * ROW
        left, right = sorted((frame.x(0), frame.x(mean)))
        low, high = frame.x(mean - deviation), frame.x(mean + deviation)
        drawn += tag("text", row.title, x=LABELS - 8, y=y + 5, class_="end")
        drawn += tag(
            "rect",
            tag("title", GROUPS[row.origin]),
            x=left,
            y=y - 8,
            width=right - left,
            height=16,
            class_=f"bar {row.origin}",
        )
        drawn += tag("line", x1=low, x2=high, y1=y, y2=y, class_="whisker")
        drawn += tag("text", f"{mean:.1f} ± {deviation:.1f}", x=max(high, right) + 6, y=y + 5)
    drawn += frame.columns(marks) + tag("style", Markup(STYLE))  # noqa: S704
    return str(
        tag(
            "svg",
            drawn,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {bottom + ROW:.0f}",
            role="img",
            aria_label=title,
        )
    )


def _page(about: Mapping[str, Any], rows: Sequence[MethodRow]) -> str:
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
    table = [COLUMNS, ["---"] * len(COLUMNS), *map(cells, rows)]
    parts = [
        "# Comparison",
        protocol,
        "\n".join(f"| {' | '.join(line)} |" for line in table),
        "\n".join(f"- {note}" for note in notes(rows)),
        "![ARI of each method](comparison.svg)",
        "## What tuning chose\n\n(with how many seeds)\n\n" + "\n".join(chosen) if chosen else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(entry: MethodEntry, results: Sequence[SeedResult]) -> MethodRow:
    good = [result for result in results if result.failure is None]
    scores = {
        measure: (statistics.fmean(values), statistics.pstdev(values))
        for measure in (MEASURES if good else ())
        for values in [[100 * r[measure] for result in good for r in result.reports]]
    }
    taken = [r.memory for r in good if r.memory is not None]
    return MethodRow(
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
