"""Markdown pages of results, with their figures as JSON beside them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.options import Options
from synsetmine.io.files import write_text

HERE = Path(__file__).parent
REMARKS = HERE / "remarks"  # NAME.md: what a person adds to a page after the real runs


def paper_values() -> dict[str, Any]:
    """What the paper states, from the one file that holds it."""
    values: dict[str, Any] = json.loads((HERE / "paper.json").read_text(encoding="utf-8"))
    return values


def mean_sd(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.2f} ± {statistics.pstdev(values):.2f}"


def gap(ours: Sequence[float], others: Sequence[float]) -> str:
    """How much higher ours is, with its sign; both have one value for each seed."""
    points = [a - b for a, b in zip(ours, others, strict=True)]
    return f"{statistics.fmean(points):+.2f} ± {statistics.pstdev(points):.2f}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar inside a cell is escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines
    )


def protocol(options: Options, tried: str | None = None, *, unit: str = "percent") -> str:
    """How ours and the paper's figures come about; every page says it."""
    smoke = "**A smoke run on few sets: its figures mean nothing.** " if options.quick else ""
    over = tried or f"{options.seeds} seeds × {options.orders} random vocabulary orders, θ = 0.5"
    return (
        f"{smoke}*Protocol.* Ours is honest: the epoch is chosen on held-out training sets, and "
        f"figures are mean ± standard deviation over {over}, in {unit}. The paper's: one "
        "vocabulary order, and the epoch chosen by the score on the *test* sets, as found in the "
        "authors' released program."
    )


def remarks(options: Options, name: str, said: str = "", findings: Sequence[str] = ()) -> str:
    """The last section of a page: what follows from the figures, and what a person wrote."""
    path = REMARKS / f"{name}.md"
    shown = path.exists() and not options.quick  # a person wrote of the figures of a full run
    written = path.read_text(encoding="utf-8").strip() if shown else ""
    found = "\n".join(f"- {finding}" for finding in findings if finding)
    texts = [text for text in (said, found, written) if text]
    return "\n\n".join(["## Where ours and the paper differ", *texts]) if texts else ""


def write_plot(out: Path, name: str, title: str, drawing: str) -> str:
    """Write NAME.svg; returns the Markdown that shows it."""
    write_text(out / f"{name}.svg", drawing)
    return f"![{title}]({name}.svg)"


def write_page(out: Path, name: str, parts: Sequence[str], figures: Mapping[str, Any]) -> str:
    """Write NAME.md and NAME.json; returns the page."""
    page = "\n\n".join(part for part in parts if part) + "\n"
    write_text(out / f"{name}.json", json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    write_text(out / f"{name}.md", page)
    return page
