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

    106 articles of Wikipedia: their links become training sets, a model is trained, new names of
    known entities are found, and everything is scored on entities held out and shown in a report.

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
        folder = run_project(read_project(project), watcher, engine=LocalEngine(workers))
    show_finds(at)
    show_scores(at.scores)
    for sentence in folder.summary:
        console.show(sentence)
    console.show(f"Sets: {at.mined}\nReport: {at.report}  (open it in a browser)")


def show_finds(at: Artefacts) -> None:
    """New names of known entities that a sentence of the articles states, the surest first.

    Variants in spelling, inflection and word order are left out: they convince nobody.
    """
    from synsetmine.export.labels import evidence_line
    from synsetmine.results import read_results
    from synsetmine.results.wording import probability

    names = [
        (mined, term)
        for mined in read_results(at.manifest.parent)
        if mined.is_known
        for term in mined.terms
        if term.action == "joined"
    ]
    stated = [
        (mined, term)
        for mined, term in names
        if term.kind in ("abbreviation", "other-words")
        and term.relation == "exact"
        and term.evidence
    ]
    stated.sort(key=lambda name: -(name[1].probability or 0))
    console.show(
        f"\nOf {console.counted(len(names), 'new name')} of known entities, {len(stated)} are more "
        "than variants in spelling and stated by a sentence of the articles, the surest first:"
    )
    for mined, term in stated[:SHOWN]:
        console.show(f"  {probability(term.probability)}  {term.text}  →  {mined.name}")
        console.show(f"        {evidence_line(term.evidence[0])}")


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
