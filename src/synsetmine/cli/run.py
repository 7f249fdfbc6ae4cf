"""`synsetmine init`, `run` and `demo`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Device
from synsetmine.cli.options import SettingOptions, out_file
from synsetmine.devices import choose_device
from synsetmine.pipeline.settings import EngineSettings, ReportSettings
from synsetmine.schema import from_record, settings_in

if TYPE_CHECKING:
    from synsetmine.pipeline.project import Project
    from synsetmine.pipeline.stage_results import HeldOutScores
    from synsetmine.runs import Sentence
    from synsetmine.runs.folder import Artefacts, StageRecord, StageResult


BYTES = ("read", "knowledge")  # the stages that count bytes

ProjectFile = Annotated[
    Path, typer.Argument(help="The project file that `synsetmine init` writes, or its folder.")
]
EngineOptions = Annotated[EngineSettings, SettingOptions()]


def init(
    corpus: Annotated[str, typer.Option(help="Text: a file, a folder or a pattern.")] = "corpus",
    kb: Annotated[str, typer.Option(help="File with entities and their names.")] = "kb.jsonl",
    terms: Annotated[
        str | None, typer.Option("--list", help="Your own terms to mine: a text or a table.")
    ] = None,
    run: Annotated[str, typer.Option(help="Folder for all results.")] = "run",
    out: Annotated[Path, out_file("The file to write.")] = Path("synsetmine.toml"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Write a commented project file.

    In tables (.csv, .tsv, .xlsx), the command looks for the columns with ids, names, other names,
    definitions and texts, reports what it takes, and writes that to the file.

    Example: `synsetmine init --corpus abstracts.jsonl.gz --kb mesh.jsonl.gz`

    A folder of documents and a spreadsheet:

    Example: `synsetmine init --corpus documents/ --kb products.xlsx`
    """
    from synsetmine.pipeline.project import check_new, write_project
    from synsetmine.pipeline.proposal import propose_corpus, propose_kb, propose_list

    check_new(out, overwrite=overwrite)
    chosen: dict[str, dict[str, Any]] = {"vocabulary": {"list": terms} if terms else {}}
    for section, named, propose in (
        ("corpus", corpus, propose_corpus),
        ("kb", kb, propose_kb),
        ("vocabulary", terms, propose_list),
    ):
        if named is None or set(named) & set("*?["):
            continue
        if not (out.parent / named).exists():
            console.warn(f"{named}: no such file; name the file with --corpus or --kb")
        elif proposal := propose(out.parent / named):
            chosen.setdefault(section, {}).update(proposal.settings)
            console.say(proposal.sentence)
    write_project(out, corpus=corpus, kb=kb, run=run, chosen=chosen, overwrite=overwrite)
    console.say(f"{out} written; check it, then: synsetmine run {out}")


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
    _say_cost(chosen)
    with work.open() as engine, ShownStages() as watcher:
        folder = run_project(
            chosen, watcher, engine=engine, device=target, until=until, ask=watcher.ask
        )
    if until in (None, "mine", "evaluate", "report"):
        for sentence in folder.summary:
            console.say(sentence)
    if until in (None, "report"):
        at = Artefacts(folder.path)
        console.say(f"sets: {at.mined}\nreport: {at.report}")


def _say_cost(project: Project) -> None:
    """Say what a large run will take, before it begins; stages that are done already take less."""
    from synsetmine.corpus import corpus_files
    from synsetmine.pipeline.cost import Cost

    files = corpus_files(project.corpus.path, project.corpus.format)
    cost = Cost.of_run(files, Path(project.kb.path))
    # Formats with more bytes a name have a third of the names, or less. The text does not count: no
    # run with more than 50 MB has been measured.
    names = Cost.of_run([], Path(project.kb.path))
    Cost(cost.seconds, names.memory / 3).check_memory("use a part of the knowledge base")
    if not cost.is_small:
        console.say(f"a run from the start, by the sizes of the files: {cost}")


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
    """Shows on the terminal how a run goes on; nothing but progress where it is `brief`."""

    def __init__(self, *, brief: bool = False) -> None:
        self._brief = brief
        self._bars = ExitStack()  # with the bar of the stage at work
        self._bar: console.ProgressBar | None = None

    def __enter__(self) -> ShownStages:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bars.close()
        self._bar = None
        if kind is KeyboardInterrupt:
            console.say("finished stages are kept; run the same command again to continue")

    def on_start(self, stage: str) -> None:
        unit = "bytes" if stage in BYTES else ""
        self._bar = self._bars.enter_context(console.progress_bar(stage, unit=unit))

    def progress(self, done: int, total: int, note: str = "") -> None:
        if self._bar is not None:
            self._bar.update(done, total, note)

    def ask(self, question: str) -> bool:
        """Ask a person at a terminal; elsewhere yes: the stage reports it as a warning."""
        if not sys.stdin.isatty():
            return True
        self._bars.close()
        self._bar = None
        return console.ask(question)

    def on_finish(self, stage: str, record: StageRecord, *, skipped: bool) -> None:
        self._bars.close()
        self._bar = None
        if self._brief:
            return
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


SHOWN = 10  # finds of the demo
WIDTH = 100  # of its lines


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the demo.")] = Path("demo"),
    *,
    work: Annotated[EngineSettings, SettingOptions(only=("workers",))],
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
    with work.open() as engine, ShownStages(brief=True) as watcher:
        folder = run_project(read_project(project), watcher, engine=engine)
    results = folder.results
    console.show(f"{results['read']}; known are {results['knowledge']}. Found:")
    for sentence in folder.summary:
        console.show(sentence)
    show_finds(at)
    show_scores(from_record(HeldOutScores, read_json(at.scores)))
    console.show(
        f"\nLook at them:  {at.report} in a browser, or `synsetmine review {at.manifest.parent}`\n"
        f"Use them:      synsetmine export {at.manifest.parent} --format solr -o synonyms.txt\n"
        "Find yours:    synsetmine init --corpus FILE --kb FILE"
    )


def show_finds(at: Artefacts) -> None:
    """New names of known entities, each with a sentence that has both, the most probable first.

    Variants in spelling, inflection and word order are left out: they convince no reader.
    """
    from synsetmine.runs import read_results
    from synsetmine.runs.results import probability
    from synsetmine.text.tokens import sentence_around

    stated = [
        (term.probability or 0, term, mined.name, best)
        for mined in read_results(at.manifest.parent)
        if mined.is_known
        for term in mined.terms
        if term.kind in ("abbreviation", "other-words") and term.relation == "exact"
        for best in [one for one in term.evidence if _convinces(one, mined.name)][:1]
    ]
    stated.sort(key=lambda find: -find[0])
    console.show(f"{len(stated)} of the new names stand next to their entity in a sentence:")
    for value, term, name, best in stated[:SHOWN]:
        room = WIDTH - len(f"        {best.document}: ")
        around = sentence_around(best.document, best.text, best.start, best.end, room)
        console.show(f"  {probability(value)}  {term.text}  →  {name}")
        console.show(f"        {best.document}: {around.text}")


def _convinces(sentence: Sentence, name: str) -> bool:
    """Whether it is a whole sentence, not a list, and has this name."""
    return sentence.text.endswith((".", "!", "?")) and name.casefold() in sentence.text.casefold()


def show_scores(scores: HeldOutScores) -> None:
    """How well entities kept out of training were found."""
    if scores.among and scores.alone:
        console.show(
            f"Of {scores.test_sets} entities kept out of training, {len(scores.exact or ())} were "
            f"found exactly (ARI {100 * scores.among['ari']:.1f}); expect less on other data."
        )
