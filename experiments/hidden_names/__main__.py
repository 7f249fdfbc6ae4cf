"""Names of a knowledge base are hidden, and the pipeline has to find their entities.

    python -m experiments.hidden_names --corpus corpus.jsonl.gz --kb mesh.jsonl.gz \\
        --weights WEIGHTS --half report --encoder minilm

`--weights` is a folder of weights of the general model that were learned without the knowledge
base and lists that share its entities (`python -m experiments.general_model --without mesh mondo
uberon …`; new names are assigned by the static encoder alone). The shipped weights are measured
beside them. Several knowledge bases may be given; `hidden_names.ontologies` writes some. Half of
the entities (`develop`) are for choices, the other half (`report`) for the page. Delete the
`--work` folder after a change of the program.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from experiments.hidden_names.hiding import HALVES, Half, half_of
from experiments.hidden_names.measurement import MethodAnswers
from experiments.hidden_names.mining import Report, Task, best_candidates
from experiments.hidden_names.page import NAME, write
from experiments.hidden_names.ranking import Answers
from experiments.hidden_names.rivals import fuzzy_stems, nearest_vectors, same_stems
from synsetmine.errors import SynsetmineError
from synsetmine.io.files import read_json

ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs" / "results"
WORK = ROOT / ".hidden-names"
UNSEEN = "model that has not seen the names"
MODELS = {UNSEEN: "unseen", "shipped model": "shipped"}  # with the names of their run folders


def measure(
    task: Task,
    halves: Sequence[Half],
    *,
    weights: Path | None,
    encoder: str | None,
    seeds: bool,
    report: Report,
) -> dict[Half, list[MethodAnswers]]:
    """All methods on the halves of a knowledge base."""
    names, unknown = task.names, task.unknown_terms
    report(f"{len(names):,} hidden names, {len(unknown):,} terms of no entity")
    phrases = [surface for form, surface in unknown.items() if form not in task.defined]
    surfaces = [*(name.name for name in names), *unknown.values(), *task.variants]
    measured: dict[Half, list[MethodAnswers]] = {half: [] for half in halves}

    def add(method: str, answers: Answers, seeded: Answers | None = None) -> None:
        for half in halves:
            one = MethodAnswers(
                method,
                answers,
                [name for name in names if half_of(name.entity) == half and not name.other_meaning],
                {source: _of_half(forms, half) for source, forms in task.unknown_forms.items()},
                variants={f: ids for f, ids in task.variants.items() if half_of(f) == half},
                is_probability=method in MODELS,
                other_meaning=[
                    name for name in names if half_of(name.entity) == half and name.other_meaning
                ],
                seeded=seeded,
            )
            report(f"{half}, {method}: {one.ranking.with_precision(0.9)}")
            measured[half].append(one)

    for method, label in MODELS.items():
        if method is UNSEEN and weights is None:
            continue
        run = task.mine(label, weights if method is UNSEEN else None)
        add(method, best_candidates(run), task.mine_with_seeds(run, phrases) if seeds else None)
    add("equal bags of stems", same_stems(surfaces, task.known))
    add("nearest bag of stems", fuzzy_stems(surfaces, task.known))
    if encoder is not None:
        cache = task.work.parent / "encoders"
        answers = nearest_vectors(surfaces, task.known, encoder, cache=cache)
        add(f"nearest name by {encoder}", answers)
    return measured


def _of_half(texts: Iterable[str], half: Half) -> list[str]:
    return [text for text in texts if half_of(text) == half]


def write_answers(path: Path, task: Task, measured: Sequence[MethodAnswers]) -> None:
    """Write a table of all hidden names with the answers of the methods, to be read."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        methods = [[one.method, "score", "nearest name"] for one in measured]
        table.writerow(["kind", "home", "proposed", "name", "entity", *chain(*methods)])
        for name in measured[0].names:
            row = [name.kind, name.home, name.proposed, name.name, task.kb.name(name.entity)]
            for one in measured:
                answer = one.answers.get(name.form)
                entity = task.kb.name(answer.entity) if answer else ""
                row += [entity, f"{answer.score:.3f}", answer.nearest] if answer else [""] * 3
            table.writerow(row)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    start = time.perf_counter()

    def report(line: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {line}", file=sys.stderr, flush=True)

    try:
        results = {}
        for kb in options.kb:
            name = kb.name.partition(".")[0]
            work = options.work / name
            task = Task(options.corpus, kb, work, report)
            results[name] = measure(
                task,
                options.half,
                weights=options.weights,
                encoder=options.encoder,
                seeds=options.seeds,
                report=report,
            )
            for half, measured in results[name].items():
                write_answers(work / f"{half}.tsv", task, measured)
        linked = read_json(options.linked) if options.linked else None
        write(options.out, results, command=_command(options), linked=linked)
    except SynsetmineError as error:
        sys.exit(f"error: {error}")
    report(f"wrote {options.out / NAME}.md")


def _command(options: argparse.Namespace) -> str:
    """The command as it goes on the page, without the folders of one machine."""
    parts = ["python -m experiments.hidden_names", f"--corpus {options.corpus.name}"]
    parts += [f"--kb {' '.join(kb.name for kb in options.kb)}"]
    if options.weights:
        parts.append("--weights WEIGHTS")
    parts.append(f"--half {' '.join(options.half)}")
    if options.encoder:
        parts.append(f"--encoder {options.encoder}")
    if not options.seeds:
        parts.append("--no-seeds")
    if options.linked:
        parts.append(f"--linked {options.linked.name}")
    return " ".join(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--kb", type=Path, nargs="+", required=True, help="knowledge bases")
    parser.add_argument("--weights", type=Path, help="weights learned without the knowledge bases")
    parser.add_argument("--half", nargs="+", choices=HALVES, default=["develop"])
    parser.add_argument("--encoder", help="sentence encoder of a further look-up: minilm")
    parser.add_argument("--no-seeds", dest="seeds", action="store_false", help="no `mine --seeds`")
    parser.add_argument("--linked", type=Path, help="figures of `ncbi_disease`, for the page")
    parser.add_argument("--work", type=Path, default=WORK, help="folder for the runs")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the page")
    return parser


if __name__ == "__main__":
    main()
