"""`synsetmine demo`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.run import ShownStages, Workers

if TYPE_CHECKING:
    from synsetmine.runfolder import Artefacts

SHOWN = 15


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the demo.")] = Path("demo"),
    workers: Workers = None,
) -> None:
    """Run everything on real data that comes with packages (extra `demo`).

    106 articles of Wikipedia: their links become training sets, a model is trained, synonym sets
    are mined, scored on entities held out, and shown in a report.

    Example: `synsetmine demo --out demo`
    """
    from synsetmine.engines import LocalEngine
    from synsetmine.pipeline import read_project
    from synsetmine.pipeline.demo import write_demo
    from synsetmine.pipeline.run import run_project
    from synsetmine.runfolder import Artefacts

    project = write_demo(out)
    at = Artefacts(out / "run")
    with ShownStages(out / "run") as watcher:
        run_project(read_project(project), watcher, engine=LocalEngine(workers))
    show_finds(at)
    show_scores(at.scores)
    console.show(f"Sets: {at.mined}\nReport: {at.report}  (open it in a browser)")


def show_finds(at: Artefacts) -> None:
    """The new terms that joined a set with the highest probability, the most frequent first."""
    from synsetmine.setfiles import read_sets, read_vocabulary
    from synsetmine.trace import read_trace

    sets, counts = read_sets(at.mined), read_vocabulary(at.vocabulary).counts
    joined = [decision for decision in read_trace(at.trace) if decision.action == "joined"]
    joined.sort(key=lambda d: (-round(d.probability, 2), -counts.get(d.term, 0)))
    console.show("\nNew terms that joined a set, surest first (by no means all are right):")
    for decision in joined[:SHOWN]:
        others = [str(term) for term in sets.set_of(decision.term) if term != decision.term]
        console.show(f"  {decision.probability:.2f}  {decision.term}  →  {', '.join(others)}")


def show_scores(path: Path) -> None:
    """The sets that were found exactly, and the scores, on entities kept out of training."""
    scores = json.loads(path.read_text(encoding="utf-8"))
    exact = sorted(scores["found exactly"], key=lambda terms: (-len(terms), terms))
    console.show(
        f"\nOf {scores['test sets']} entities kept out of training, the names of "
        f"{len(exact)} were put together exactly, among all terms:"
    )
    for terms in exact[:SHOWN]:
        console.show(f"  {', '.join(terms)}")
    if len(exact) > SHOWN:
        console.show(f"  … and {len(exact) - SHOWN} more")
    among, (mean, spread) = scores["among all terms"], scores["on their own"]["ari"]
    told = f"{100 * mean:.1f}" + (f" ± {100 * spread:.1f}" if spread else "")
    console.show(
        f"Scores on these entities: ARI {told} on their own, "
        f"{100 * among['ari']:.1f} among all terms (pair precision "
        f"{100 * among['pair_precision']:.1f}, recall {100 * among['pair_recall']:.1f})."
    )
    console.show(
        "The general model has learned from links of these articles; elsewhere expect less."
    )
