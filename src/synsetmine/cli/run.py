"""`synsetmine init`, `run` and `demo`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Device
from synsetmine.cli.options import SettingOptions, out_file, with_settings
from synsetmine.devices import choose_device
from synsetmine.errors import counted
from synsetmine.pipeline.settings import EngineSettings, ReportSettings
from synsetmine.schema import from_record, settings_in

if TYPE_CHECKING:
    from synsetmine.pipeline.stage_results import HeldOutScores
    from synsetmine.runs.folder import Artefacts, StageRecord, StageResult


BYTES = ("read", "knowledge")  # the stages that count bytes

ProjectFile = Annotated[
    Path, typer.Argument(help="The project file that `synsetmine init` writes, or its folder.")
]
EngineOptions = Annotated[EngineSettings, SettingOptions()]


def init(
    corpus: Annotated[str, typer.Option(help="Text: a file, a folder or a pattern.")] = "corpus",
    kb: Annotated[str, typer.Option(help="File with entities and their names.")] = "kb.jsonl",
    run: Annotated[str, typer.Option(help="Folder for all results.")] = "run",
    out: Annotated[Path, out_file("The file to write.")] = Path("synsetmine.toml"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Write a commented project file.

    Example: `synsetmine init --corpus abstracts.jsonl.gz --kb mesh.jsonl.gz`
    """
    from synsetmine.pipeline.project import write_project

    write_project(out, corpus=corpus, kb=kb, run=run, overwrite=overwrite)
    for named in (corpus, kb):
        if not (out.parent / named).exists() and not set(named) & set("*?["):
            console.warn(f"{named} is missing; `synsetmine run` needs it")
    console.say(f"{out} written; check it, then: synsetmine run {out}")


@with_settings
def run(
    project: ProjectFile = Path("synsetmine.toml"),
    until: Annotated[
        str | None,
        typer.Option(
            help="Stop after this stage: read, knowledge, link, supervise, vocabulary, vectors, "
            "encode, train, mine, evaluate or report."
        ),
    ] = None,
    *,
    work: EngineOptions,
    device: Device = "auto",
) -> None:
    """Mine synonym sets from a corpus and a knowledge base, with a report.

    The default model compares the terms' vectors and strings, and their embeddings if the project
    names an encoder; `[train] preset` in the project file selects the paper's model instead.

    Each stage writes its files to the run folder. When run again, the command skips stages that are
    done and unchanged, and resumes an interrupted one.

    Example: `synsetmine run synsetmine.toml --until supervise`
    """
    from synsetmine.pipeline.project import PROJECT_FILE, read_project
    from synsetmine.runs.folder import Artefacts

    if project.is_dir():
        project /= PROJECT_FILE
    chosen = read_project(project)  # a broken file is reported before the models are loaded
    from synsetmine.pipeline.run import run_project

    uses_torch = chosen.train.uses_torch or bool(chosen.encoder.model)

    target = choose_device(device, uses_torch=uses_torch)
    with work.open() as engine, ShownStages() as watcher:
        folder = run_project(chosen, watcher, engine=engine, device=target, until=until)
    if until in (None, "mine", "evaluate", "report"):
        for sentence in folder.summary:
            console.say(sentence)
    if until in (None, "report"):
        at = Artefacts(folder.path)
        console.say(f"sets: {at.mined}\nreport: {at.report}")


@with_settings
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    out: Annotated[
        Path | None, out_file("HTML file. Default: report.html in the run folder.")
    ] = None,
    *,
    changes: Annotated[dict[str, Any], SettingOptions(changes=ReportSettings)],
) -> None:
    """Write the report of a finished run again: one self-contained HTML file.

    Options default to the values of the run.

    Example: `synsetmine report run --title "Names of diseases" --out diseases.html`
    """
    from synsetmine.pipeline.report.page import write_run_report
    from synsetmine.runs.folder import Artefacts, RunFolder

    target = out or Artefacts(folder).report
    run = RunFolder(folder)
    made = run.stages["report"].settings if "report" in run.stages else {}
    earlier = {name: made[name] for name in settings_in(ReportSettings) if name in made}
    settings = ReportSettings(**{**earlier, **changes})
    with console.progress_bar("sentences") as bar:
        result = write_run_report(settings, run, target, bar.update)
    report_result(result, f"written to {target}")


class ShownStages:
    """Shows on the terminal how a run goes on."""

    def __init__(self) -> None:
        self._bars = ExitStack()  # with the bar of the stage at work
        self._bar: console.ProgressBar | None = None

    def __enter__(self) -> ShownStages:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bars.close()
        self._bar = None
        if kind is KeyboardInterrupt:
            console.say("finished stages are kept; run the same command again to continue")

    def started(self, stage: str) -> None:
        unit = "bytes" if stage in BYTES else ""
        self._bar = self._bars.enter_context(console.progress_bar(stage, unit=unit))

    def progress(self, done: int, total: int, note: str = "") -> None:
        if self._bar is not None:
            self._bar.update(done, total, note)

    def finished(self, stage: str, record: StageRecord, *, skipped: bool) -> None:
        self._bars.close()
        self._bar = None
        how = "unchanged" if skipped else f"{record.seconds:.1f} s"
        console.say(f"{stage} ({how}):")
        report_result(record.result)


def report_result(result: StageResult, where: str = "") -> None:
    """Print what a stage counted, what it left out, its warnings, and its table."""
    for records in result.skipped:
        console.warn(f"{records.count} left out: {records.examples[0]}")
    for note in result.notes:
        console.warn(note)
    counts = str(result) or "nothing to do"
    console.say(f"{counts}; {where}" if where else counts)
    if result.table:
        console.show_table(*result.table)


SHOWN = 15


@with_settings
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the demo.")] = Path("demo"),
    *,
    work: Annotated[EngineSettings, SettingOptions(only=("workers"))],
) -> None:
    """Run all stages on real data from packages (extra `demo`).

    The links of 106 articles of Wikipedia become training sets. The run trains a model, finds new
    names of known entities, and reports them with scores on held-out entities.

    Example: `synsetmine demo --out demo`
    """
    from synsetmine.io.files import read_json
    from synsetmine.pipeline.project import read_project, write_demo
    from synsetmine.pipeline.run import run_project
    from synsetmine.pipeline.stage_results import HeldOutScores
    from synsetmine.runs.folder import Artefacts

    project = write_demo(out)
    at = Artefacts(out / "run")
    with work.open() as engine, ShownStages() as watcher:
        folder = run_project(read_project(project), watcher, engine=engine)
    show_finds(at)
    show_scores(from_record(HeldOutScores, read_json(at.scores)))
    for sentence in folder.summary:
        console.show(sentence)
    console.show(f"Sets: {at.mined}\nReport: {at.report}  (open it in a browser)")


def show_finds(at: Artefacts) -> None:
    """New names of known entities that a sentence of the articles states, the most probable first.

    Variants in spelling, inflection and word order are left out: they convince no reader.
    """
    from synsetmine.export.entries import evidence_line
    from synsetmine.runs import read_results
    from synsetmine.runs.results import probability

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
        f"\n{len(stated)} of {counted(len(names), 'new name')} of known entities are not just "
        "spelling variants, and a sentence of the articles states them; the most probable first:"
    )
    for mined, term in stated[:SHOWN]:
        console.show(f"  {probability(term.probability)}  {term.text}  →  {mined.name}")
        console.show(f"        {evidence_line(term.evidence)}")


def show_scores(scores: HeldOutScores) -> None:
    """The sets that were found exactly, and the scores, on entities kept out of training."""
    exact = sorted(scores.exact or (), key=lambda terms: (-len(terms), terms))
    console.show(
        f"\nOf {scores.test_sets} held-out entities, the names of "
        f"{len(exact)} form exactly one set among all terms:"
    )
    for terms in exact[:SHOWN]:
        console.show(f"  {', '.join(terms)}")
    if len(exact) > SHOWN:
        console.show(f"  … and {len(exact) - SHOWN} more")
    if scores.among and scores.alone:
        mean, spread = scores.alone["ari"]
        ari = f"{100 * mean:.1f}" + (f" ± {100 * spread:.1f}" if spread else "")
        ari_among, precision, recall = (
            f"{100 * scores.among[name]:.1f}" for name in ("ari", "pair_precision", "pair_recall")
        )
        console.show(
            f"Scores on these entities: ARI {ari} on their own, {ari_among} among all terms "
            f"(pair precision {precision}, recall {recall})."
        )
    console.show(
        "The general model was trained on links of these articles; expect lower scores "
        "on other data."
    )
