"""From MEDLINE abstracts and MeSH to synonym sets: the whole line, with time and memory.

33,277 abstracts and 168,173 names go in; the paper's model with preset `project`, all other
settings at their defaults. 30 of the sets that hold a name which MeSH lacks are drawn at random,
for a person to judge. The scores of several training seeds come from experiments/medline_seeds.py,
on entities that neither training nor the choice of the vectors' settings has looked at.

    python experiments/medline_mesh.py --data DIR          # corpus.jsonl.gz and mesh.jsonl.gz
    python -m experiments.medline_seeds --run medline-runs/run
    python experiments/medline_mesh.py --data DIR          # again: only the page is written
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from synsetmine.errors import in_one_line
from synsetmine.io.files import write_text
from synsetmine.io.sets import read_sets
from synsetmine.kb import KnowledgeBase
from synsetmine.runs.folder import STAGES, Artefacts, RunFolder, StageResult

ROOT = Path(__file__).parents[1]
MEASURES = {"ari": "ARI", "fmi": "FMI", "pair_f1": "pair F1", "nmi": "NMI"}
DRAWN = 30


def main() -> None:
    options = _options()
    results: Path = options.out / "medline-mesh"
    if not (results / "run.json").exists():
        _carry_out(options, results)
    page = _page(results)
    write_text(options.out / "medline-mesh.md", page)
    print(page)


def _carry_out(options: argparse.Namespace, results: Path) -> None:
    corpus, kb = options.data / "corpus.jsonl.gz", options.data / "mesh.jsonl.gz"
    project = options.work / "synsetmine.toml"
    few = f"train.epochs = {options.epochs}\n" if options.epochs else ""
    write_text(
        project,
        f"corpus.path = {json.dumps(str(corpus.resolve()))}\n"
        f'kb.path = {json.dumps(str(kb.resolve()))}\nreport.title = "MEDLINE and MeSH"\n'
        f'train.preset = "project"\n{few}',
    )
    subprocess.run([sys.executable, "-m", "synsetmine", "run", str(project)], check=True)  # noqa: S603
    run = RunFolder(options.work / "run")
    record = {
        "stages": {s: [run.stages[s].seconds, run.results[s].to_dict()] for s in STAGES},
        "peak GiB": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20, 2),
    }
    drawn = _sets_with_new_names(Artefacts(run.path))
    write_text(results / "drawn.json", json.dumps(drawn, indent=1, ensure_ascii=False) + "\n")
    write_text(results / "run.json", json.dumps(record, indent=1) + "\n")


def _sets_with_new_names(at: Artefacts) -> list[dict[str, Any]]:
    """A random draw from the sets that hold a name which MeSH has, and one which it lacks."""
    kb, mined = KnowledgeBase.load(at.knowledge), read_sets(at.mined)
    found = []
    for set_id, members in zip(mined.ids, mined, strict=True):
        new = [str(term) for term in members if not kb.entities_named(term.surface)]
        known = [str(term) for term in members if str(term) not in new]
        if new and known:
            entity = kb.name(set_id) if set_id in kb else None
            found.append({"id": set_id, "entity": entity, "known": known, "new": new})
    return random.Random(0).sample(found, min(DRAWN, len(found)))  # noqa: S311


def _page(results: Path) -> str:
    record = json.loads((results / "run.json").read_text("utf-8"))
    stages = record["stages"]
    lines = [
        "# MEDLINE and MeSH",
        "",
        "33,277 abstracts and the names of MeSH to mined sets, the paper's model with preset "
        "`project`, all other settings at their defaults, on two CPU cores "
        "(`python experiments/medline_mesh.py`):",
        "",
        "| stage | seconds | what came out |",
        "| --- | --- | --- |",
        *(
            f"| {s} | {seconds} | {StageResult.from_dict(counts)} |"
            for s, (seconds, counts) in stages.items()
        ),
        "",
        f"In all {sum(seconds for seconds, _ in stages.values()):.0f} s; the largest process took "
        f"{record['peak GiB']} GiB.",
        "",
    ]
    seeds = [json.loads(path.read_text("utf-8")) for path in sorted(results.glob("seed-*.json"))]
    notes = results / "notes.md"
    return "\n".join(
        [
            *lines,
            *(_scores(seeds) if seeds else []),
            notes.read_text("utf-8") if notes.exists() else "",
        ]
    )


def _scores(seeds: list[dict[str, Any]]) -> list[str]:
    first = seeds[0]
    return [
        "## Scores",
        "",
        f"On {first['test sets']} entities with {first['test terms']} names that training has "
        "not seen and the choice of the vectors' settings has not looked at (the choice of K and "
        "the dimension, below, was made on another split, so it has looked at most of them); "
        f"{len(seeds)} training seeds, mean ± "
        "standard deviation, in percent (`python -m experiments.medline_seeds --run "
        f"medline-runs/run --device {first['device']}`):",
        "",
        "| | " + " | ".join(MEASURES.values()) + " |",
        "| --- |" + " --- |" * len(MEASURES),
        *(
            f"| {task}{how} | "
            + " | ".join(_spread([seed[task][m] for seed in seeds]) for m in MEASURES)
            + " |"
            for task, how in {"among all terms": "", "on their own": ", 20 random orders"}.items()
        ),
        "",
        "*Among all terms* is the task of a real run: the names of these entities stand among the "
        "whole vocabulary, most frequent first, and the training sets are there for them to join, "
        "wrongly. *On their own* is the paper's task.",
        "",
    ]


def _spread(values: list[float]) -> str:
    mean = 100 * statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {100 * statistics.stdev(values):.2f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "medline")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--work", type=Path, default=ROOT / "medline-runs")
    parser.add_argument("--epochs", type=int, help="fewer, to try it out")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
