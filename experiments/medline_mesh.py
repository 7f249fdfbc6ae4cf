"""From MEDLINE abstracts and MeSH to synonym sets: the whole line, measured.

33,277 abstracts and 168,173 names go in. The scores are on entities that neither training nor
the choice of the vectors' settings (experiments/medline_vectors.py) has looked at. Training is
repeated with several seeds; what comes before it is the same for all and done once.

    python experiments/medline_mesh.py --data DIR          # corpus.jsonl.gz and mesh.jsonl.gz
    python experiments/medline_mesh.py --data DIR --quick  # three epochs, one seed

A seed that is done is not done again: its figures lie beside the page, in `medline-mesh/`. There
too are 30 sets of the first seed, drawn at random from those that hold a name which MeSH lacks.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from experiments.medline_vectors import is_kept_aside
from synsetmine.files import write_text
from synsetmine.kb import KnowledgeBase
from synsetmine.pipeline import STAGES, Artefacts, RunFolder, read_project
from synsetmine.pipeline.model_stages import score_held_out
from synsetmine.setfiles import read_sets, write_sets
from synsetmine.types import SynonymSets

HERE = Path(__file__).parent
MEASURES = {"ari": "ARI", "fmi": "FMI", "pair_f1": "pair F1", "nmi": "NMI"}
DRAWN = 30


def main() -> None:
    options = _options()
    name = f"medline-mesh{'-quick' if options.quick else ''}"
    results: Path = options.out / name
    for seed in range(1 if options.quick else options.seeds):
        if not (results / f"seed-{seed}.json").exists():
            _carry_out(seed, options, results)
    records = [json.loads(path.read_text("utf-8")) for path in sorted(results.glob("seed-*.json"))]
    page = _page(records)
    write_text(options.out / f"{name}.md", page)
    print(page)


def _carry_out(seed: int, options: argparse.Namespace, results: Path) -> None:
    folder: Path = options.work / f"seed-{seed}"
    if not folder.exists() and seed and (options.work / "seed-0").exists():
        shutil.copytree(options.work / "seed-0", folder)  # what comes before training is the same
    project = folder / "synsetmine.toml"
    quick = "epochs = 3\nvalidate_every = 3\n" if options.quick else ""
    write_text(
        project,
        f"corpus.path = {json.dumps(str((options.data / 'corpus.jsonl.gz').resolve()))}\n"
        f"kb.path = {json.dumps(str((options.data / 'mesh.jsonl.gz').resolve()))}\n"
        f'[report]\ntitle = "MEDLINE and MeSH"\n[train]\nseed = {seed}\n{quick}',
    )
    subprocess.run([sys.executable, "-m", "synsetmine", "run", str(project)], check=True)  # noqa: S603
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    run = RunFolder(folder / "run")
    at = Artefacts(run.path)
    record = {
        "seed": seed,
        "stages": {s: [run.stages[s]["seconds"], run.stages[s]["counts"]] for s in STAGES},
        "peak memory of a process, GiB": round(peak, 2),
        "scores": _clean_scores(read_project(project), at, folder),
    }
    write_text(results / f"seed-{seed}.json", json.dumps(record, indent=1) + "\n")
    if seed == 0:
        drawn = _sets_with_new_names(at)
        write_text(results / "drawn.json", json.dumps(drawn, indent=1, ensure_ascii=False) + "\n")


def _clean_scores(project: Any, at: Artefacts, folder: Path) -> dict[str, Any]:
    """The scores on those test entities that were kept aside when vectors were chosen."""
    test = read_sets(at.test)
    kept = [i for i, entity in enumerate(test.ids) if is_kept_aside(entity)]
    clean = folder / "clean-test.jsonl"
    write_sets(clean, SynonymSets.of([test.sets[i] for i in kept], [test.ids[i] for i in kept]))
    scores = folder / "clean-scores.json"
    score_held_out(
        project.evaluate,
        project.mine,
        at.model,
        at.vectors,
        at.vocabulary,
        training=at.training,
        test=clean,
        out=scores,
        device="cpu",
        progress=lambda _done, _total: None,
    )
    found: dict[str, Any] = json.loads(scores.read_text("utf-8"))
    return found


def _sets_with_new_names(at: Artefacts) -> list[dict[str, Any]]:
    """A random draw, for a person to judge."""
    kb, mined = KnowledgeBase.load(at.knowledge), read_sets(at.mined)
    found = []
    for set_id, members in zip(mined.ids, mined, strict=True):
        new = [str(term) for term in members if not kb.entities_named(term.surface)]
        if new and len(members) > len(new):
            known = [str(term) for term in members if str(term) not in new]
            entity = kb.name(set_id) if set_id in kb else None
            found.append({"entity": entity, "known": known, "new": new})
    return random.Random(0).sample(found, min(DRAWN, len(found)))  # noqa: S311


def _page(records: list[dict[str, Any]]) -> str:
    first = records[0]
    scores = [record["scores"] for record in records]
    lines = [
        "# MEDLINE and MeSH",
        "",
        "`python experiments/medline_mesh.py`: 33,277 abstracts and the names of MeSH to mined "
        f"sets, all settings at their defaults, {len(records)} "
        f"training seed{'s' if len(records) > 1 else ''}, on two cores.",
        "",
        "| stage | seconds | what came out |",
        "| --- | --- | --- |",
        *(
            f"| {s} | {seconds} | {_told(counts)} |"
            for s, (seconds, counts) in first["stages"].items()
        ),
        "",
        f"In all {sum(seconds for seconds, _ in first['stages'].values()):.0f} s; the largest "
        f"process took {first['peak memory of a process, GiB']} GiB. These are the figures of the "
        "first seed.",
        "",
        f"Scores on {scores[0]['test sets']} entities with {scores[0]['test terms']} names that "
        "neither training nor the choice of settings has looked at, in percent, mean ± standard "
        "deviation over the seeds:",
        "",
        "| | " + " | ".join(MEASURES.values()) + " |",
        "| --- |" + " --- |" * len(MEASURES),
        "| among all terms | "
        + " | ".join(_spread([s["among all terms"][m] for s in scores]) for m in MEASURES)
        + " |",
        "| on their own, mean of 10 random orders | "
        + " | ".join(_spread([s["on their own"][m][0] for s in scores]) for m in MEASURES)
        + " |",
        "",
        "*Among all terms* is the task of a real run: the names of these entities stand among the "
        "whole vocabulary, and the training sets are there for them to join; "
        f"{_spread([s['among all terms']['strayed'] for s in scores], 1)} of them did so, wrongly. "
        "*On their own* is the paper's task.",
        "",
    ]
    return "\n".join(lines)


def _told(counts: dict[str, Any]) -> str:
    return ", ".join(
        f"{n:,} {what}" if isinstance(n, int) else f"{n} {what}"
        for what, n in counts.items()
        if what != "skipped"
    )


def _spread(values: list[float], factor: float = 100) -> str:
    mean = factor * statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {factor * statistics.stdev(values):.2f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=HERE.parents[1] / "shared" / "data" / "medline"
    )
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results")
    parser.add_argument("--work", type=Path, default=HERE.parent / "medline-runs")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
