"""The page: scores of each source, the differences that have a goal, and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from experiments.line_chart import Series, line_chart
from experiments.pages import mean_sd, table, write_page, write_plot
from experiments.sources.measurement import (
    ADAPTED,
    CSLS,
    CSLS_DISTANCES,
    GENERAL,
    LINKAGES,
    PAIR_CLASSIFIER,
    PAIRS_ONLY,
    ROWS,
    SourceScores,
)
from synsetmine.views import View

NAME = "sources"
SEEDS = 5  # of a full run
LARGEST_ERROR = 0.05  # of calibration


@dataclass(frozen=True)
class Difference:
    """A difference of two rows, with the lowest values that are good enough."""

    title: str
    lowest: float | None = None  # on every source
    lowest_mean: float | None = None

    def verdict(self, values: Sequence[float]) -> str:
        """Which goals are met; all values are means over seeds."""
        said = []
        if self.lowest is not None:
            count = sum(value >= self.lowest for value in values)
            said.append(f"{self.lowest:+g} or more on {count} of {len(values)} sources")
        if self.lowest_mean is not None:
            is_met = fmean(values) >= self.lowest_mean
            said.append(f"mean of {self.lowest_mean:+g} {'met' if is_met else 'missed'}")
        return "; ".join(said)


DIFFERENCES = (
    Difference("adapted - general", lowest=-0.5),
    Difference("pairs only - general", lowest=-1),
    Difference("general - average link, CSLS of other sources", lowest=0, lowest_mean=3),
    Difference("adapted - best linkage", lowest_mean=2),
    Difference("adapted - pair classifier"),
)


def write(
    out: Path, measured: Sequence[SourceScores], *, command: str, encoder: str | None, names: int
) -> str:
    """Write sources.md, its figures as JSON and a plot of each source; returns the page."""
    titles: dict[View, str] = {"strings": "strings"}
    if encoder is not None:
        titles["encoder"] = f"with {encoder}"
    seeds = len(measured[0].scores["strings"])
    parts = [
        "# The general model on each source",
        f"```sh\n{command}\n```",
        _protocol(seeds, names, encoder),
        "## ARI",
        _weights_remark(measured),
        *(_scores(one, titles) for one in measured),
        "## Differences",
        _differences_remark(measured, encoder),
        *(
            f"{title.capitalize()}:\n\n{_differences(measured, view)}"
            for view, title in titles.items()
        ),
        "## Calibration",
        _calibration(measured, titles, seeds, names),
        *(_plot(out, one, titles) for one in measured),
    ]
    return write_page(out, NAME, parts, {one.source.name: _figures(one) for one in measured})


def _protocol(seeds: int, names: int, encoder: str | None) -> str:
    many = "1 seed" if seeds == 1 else f"{seeds} seeds"
    fewer = f" This run has fewer than the usual {SEEDS} seeds." if seeds < SEEDS else ""
    rows = [
        "- *general*: the general model as it is, without training sets of the source.",
        "- *adapted*: trained on the training half. *Pairs only*: each training set is cut to two "
        "random terms; the test half has whole sets.",
        "- *average* and *complete link*, *HDBSCAN*: of the static vectors of the general model"
        + (f", in the other column of {encoder}'s vectors" if encoder else "")
        + ". CSLS subtracts the mean similarity of either name with its 10 nearest names.",
        "- *pair classifier*: logistic regression on similarities of the same vectors and of "
        "strings, then average link.",
    ]
    return (
        f"ARI in percent, mean ± standard deviation over {many}. Each seed draws sets of two or "
        f"more names (12 at most) and halves them: one half for training, one for test, with at "
        f"most about {names:,} names each. A name occurs once. The general and the adapted model "
        "use their default threshold; rivals take the threshold, or other setting, with the best "
        f"ARI on the training half.{fewer}\n\n" + "\n".join(rows)
    )


def _weights_remark(measured: Sequence[SourceScores]) -> str:
    seen = [one.source.name for one in measured if one.source.seen]
    without = [one.source.name for one in measured if one.source.weights is not None]
    others = [s.name for s in (m.source for m in measured) if not s.seen and s.weights is None]
    remarks = []
    if seen:
        remarks.append(
            f"**The packaged weights were learned from a part of {_join(seen)}.** There the row "
            "*general*, and all rows that build on its weights, are not figures of an unseen "
            "source."
        )
    if without:
        remarks.append(f"The weights for {_join(without)} were learned without that list.")
    if others:
        remarks.append(
            f"{_join(others)}: no source of the packaged weights, though some of the names may "
            "be in a list that is one."
        )
    return " ".join(remarks)


def _scores(one: SourceScores, titles: Mapping[View, str]) -> str:
    source = one.source
    state = ""
    if source.is_list:
        state = "; the weights have seen a part of it" if source.seen else "; left out"
    names = fmean(scores.names for scores in one.scores["strings"])
    rows = [
        [row, *(mean_sd([100 * s.ari[row] for s in one.scores[view]]) for view in titles)]
        for row in ROWS
    ]
    heading = f"### {source.name}\n\n{names:,.0f} names in a test half{state}.\n\n"
    return heading + table(["", *titles.values()], rows)


def _differences_remark(measured: Sequence[SourceScores], encoder: str | None) -> str:
    tables = f" of the static vectors and of {encoder}" if encoder else ""
    other = "with the best mean ARI on the training halves of all other sources"
    text = (
        "Points of ARI, means over seeds. The average link of the third column has the threshold "
        f"{other}. The best linkage is the one of the four{tables} with the highest mean on this "
        "source's test halves."
    )
    if len(measured) == 1:
        text += " There is no other source, so that column is empty."
    return text


def differences(measured: Sequence[SourceScores], view: View) -> list[list[float | None]]:
    """A row for each source, a column for each of `DIFFERENCES`; None where there is no value."""
    rows: list[list[float | None]] = []
    for one in measured:
        mean = {row: fmean(s.ari[row] for s in one.scores[view]) for row in ROWS}
        best = max(
            fmean(s.ari[row] for s in one.scores[table_view])
            for row in LINKAGES
            for table_view in ({"strings", view} & set(one.scores))
        )
        csls = transfer(measured, one, view)
        rows.append(
            [
                100 * (mean[ADAPTED] - mean[GENERAL]),
                100 * (mean[PAIRS_ONLY] - mean[GENERAL]),
                None if csls is None else 100 * (mean[GENERAL] - fmean(csls)),
                100 * (mean[ADAPTED] - best),
                100 * (mean[ADAPTED] - mean[PAIR_CLASSIFIER]),
            ]
        )
    return rows


def transfer(measured: Sequence[SourceScores], one: SourceScores, view: View) -> list[float] | None:
    """ARI of average link by CSLS for each seed, its threshold from the other sources."""
    others = [other for other in measured if other is not one]
    if not others:
        return None
    aris = []
    for seed, scores in enumerate(one.scores[view]):
        curves = [other.scores[view][seed].csls.training for other in others]
        aris.append(scores.csls.test[int(np.mean(curves, axis=0).argmax())])
    return aris


def _differences(measured: Sequence[SourceScores], view: View) -> str:
    rows = differences(measured, view)
    columns = [
        [value for value in column if value is not None] for column in zip(*rows, strict=True)
    ]
    shown = [
        [one.source.name, *("" if value is None else f"{value:+.1f}" for value in row)]
        for one, row in zip(measured, rows, strict=True)
    ]
    shown.append(["**mean**", *(f"{fmean(values):+.1f}" if values else "" for values in columns)])
    verdicts = [
        difference.verdict(values) if values else ""
        for difference, values in zip(DIFFERENCES, columns, strict=True)
    ]
    shown.append(["goal", *verdicts])
    return table(["source", *(difference.title for difference in DIFFERENCES)], shown)


def _calibration(
    measured: Sequence[SourceScores], titles: Mapping[View, str], seeds: int, names: int
) -> str:
    text = (
        f"Vocabularies of {names:,} names, half of which stand alone, {seeds} of each source. The "
        "expected calibration error of f(S, t) over all decisions of mining with the general "
        "model, in 10 bins of probability. A decision is right if most members of the set are "
        f"synonyms of the term. The goal is {LARGEST_ERROR} or less."
    )
    rows = [
        [one.source.name, *(f"{one.decisions[view].error():.3f}" for view in titles)]
        for one in measured
    ]
    good = [
        sum(one.decisions[view].error() <= LARGEST_ERROR for one in measured) for view in titles
    ]
    rows.append(["goal", *(f"met on {count} of {len(measured)} sources" for count in good)])
    return f"{text}\n\n{table(['source', *titles.values()], rows)}"


def _plot(out: Path, one: SourceScores, titles: Mapping[View, str]) -> str:
    name = one.source.name
    series = [
        Series(title, tuple((p, right, 0.0) for p, right, _ in one.decisions[view].reliability()))
        for view, title in titles.items()
    ]
    series.append(Series("perfect", ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0))))
    title = f"Reliability on {name}"
    drawing = line_chart(
        title,
        series,
        x="mean probability",
        y="share of right decisions",
        x_ticks=[0, 0.2, 0.4, 0.6, 0.8, 1],
    )
    return write_plot(out, f"{NAME}-{name}", title, drawing)


def _figures(one: SourceScores) -> dict[str, Any]:
    return {
        "weights have seen it": one.source.seen,
        "ari": {view: [dict(s.ari) for s in scores] for view, scores in one.scores.items()},
        CSLS: {
            view: [
                {
                    "distances": CSLS_DISTANCES,
                    "training": [round(value, 4) for value in s.csls.training],
                    "test": [round(value, 4) for value in s.csls.test],
                }
                for s in scores
            ]
            for view, scores in one.scores.items()
        },
        "reliability": {view: one.decisions[view].reliability() for view in one.decisions},
        "calibration error": {view: one.decisions[view].error() for view in one.decisions},
    }


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
