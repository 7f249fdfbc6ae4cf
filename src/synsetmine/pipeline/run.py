"""All stages of a run, from a corpus and a knowledge base to synonym sets and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from synsetmine.corpus import corpus_files
from synsetmine.devices import require_torch
from synsetmine.engines import Engine, LocalEngine
from synsetmine.errors import DataError, choose_among
from synsetmine.io.downloads import redact
from synsetmine.io.files import cannot_open, check_folder
from synsetmine.kb import kb_files
from synsetmine.models.storage import CONFIG, model_files
from synsetmine.notebook import ShowProgress, open_progress
from synsetmine.pipeline.corpus_stages import (
    choose_vocabulary,
    link_documents,
    make_vectors,
    read_documents,
    read_knowledge,
    supervise_links,
)
from synsetmine.pipeline.model_stages import (
    encode_known,
    mine_sets,
    score_held_out,
    train_model,
    write_reviews,
)
from synsetmine.pipeline.project import Project, read_project
from synsetmine.pipeline.report.page import write_run_report
from synsetmine.pipeline.stage_results import StageContext
from synsetmine.runs.folder import STAGES, Artefacts, RunFolder, Stage, StageRecord, Watcher
from synsetmine.types import Progress
from synsetmine.views import find_encoder
from synsetmine.views.encoder import LEARNED, encoder_files


def run_project(
    project: Project | str | Path,
    watcher: Watcher | None = None,
    *,
    engine: Engine | None = None,
    device: str = "cpu",
    until: str | None = None,
    progress: ShowProgress = None,
    ask: Callable[[str], bool] = lambda _: True,
) -> RunFolder:
    """Run all stages, or those up to `until`; finished and unchanged stages are skipped.

    The engine is where the work on the corpus runs: by default all cores of this machine. The
    files are the same on every engine, so that a run may go on with another one. The project may
    be the path of its file. `progress` is True for a progress bar of each stage, or a function that
    is called with what is done, of how much; a `watcher` receives more. `ask` gets the question
    whether to keep reviews that lower the scores on held-out sets.

    All cores need other processes, so a script calls this under `if __name__ == "__main__":`.
    """
    if not isinstance(project, Project):
        project = read_project(project)
    if until is not None and until not in STAGES:
        raise DataError("no such stage", value=until, hint=choose_among(until, STAGES))
    folder = RunFolder(Path(project.run))
    _check_inputs(project, folder.path)
    with folder.lock(), ExitStack() as bars:
        watcher = watcher or _StageBars(bars, progress)
        context = StageContext(
            at=Artefacts(folder.path),
            engine=engine or LocalEngine(),
            device=device,
            progress=watcher.progress,
            ask=ask,
        )
        for stage in _stages(project, folder, context):
            folder.carry_out(stage, watcher)
            if stage.name == until:
                break
    return folder


class _StageBars:
    """A watcher that shows a progress bar for each stage, if one is asked for."""

    def __init__(self, bars: ExitStack, progress: ShowProgress) -> None:
        self._bars = bars  # with that of the present stage
        self._progress = progress
        self._report: Progress | None = None

    def on_start(self, stage: str) -> None:
        self._report = self._bars.enter_context(open_progress(self._progress, stage))

    def progress(self, done: int, total: int, note: str = "") -> None:
        del note
        if self._report is not None:
            self._report(done, total)

    def on_finish(self, stage: str, record: StageRecord, *, skipped: bool) -> None:
        del stage, record, skipped
        self._bars.close()


def _stages(project: Project, folder: RunFolder, context: StageContext) -> Iterator[Stage]:
    """Each stage when its turn comes, so that its inputs are there."""
    at = context.at
    yield from _corpus_stages(project, context)
    yield from _model_stages(project, context)
    yield Stage(
        name="report",
        settings=asdict(project.report) | {"counts": _results(folder)},
        inputs=[
            *(at.mined, at.trace, at.rehearsal, at.scores, at.supervision, at.documents, at.places),
            *(at.knowledge, at.model / CONFIG, at.names, at.vocabulary, at.vectors),
        ],
        outputs=[at.report],
        work=lambda: write_run_report(project.report, folder, at.report, context.progress),
    )


def _corpus_stages(project: Project, context: StageContext) -> Iterator[Stage]:
    """From a corpus and a knowledge base to training sets, a vocabulary and vectors.

    The documents are read twice: by `link` and by `vocabulary`.
    """
    at, terms, vectors = context.at, project.vocabulary, project.vectors
    counts = [at.words, at.abbreviations, *([at.runs] if terms.mines_phrases else [])]
    neighbours = [at.cooccurrence] if vectors.method == "cooccurrence" else []
    named = [at.vocabulary, at.training, at.test]
    yield Stage(
        name="read",
        settings=_without(project.corpus, "path"),
        inputs=[*corpus_files(project.corpus.path, project.corpus.format)],
        outputs=[at.documents],
        work=lambda: read_documents(project.corpus, context),
    )
    yield Stage(
        name="knowledge",
        settings=_without(project.kb, "path"),
        inputs=kb_files(Path(project.kb.path)),
        outputs=[at.knowledge],
        work=lambda: read_knowledge(project.kb, context),
    )
    yield Stage(
        name="link",
        # A password is of no consequence to the links, and the manifest is for others to read.
        settings=asdict(project.link)
        | {"url": redact(project.link.url)}
        | ({"min_count": terms.min_count} if terms.mines_phrases else {}),
        inputs=[at.documents, at.knowledge],
        outputs=[at.mentions, at.links, *counts],
        work=lambda: link_documents(project.link, context, terms=terms),
    )
    yield Stage(
        name="supervise",
        settings=asdict(project.supervise) | {"ambiguous": project.link.ambiguous},
        inputs=[at.links, at.knowledge],
        outputs=[at.training, at.test, at.alone, at.names, at.rejected, at.supervision],
        work=lambda: supervise_links(project.supervise, project.link.ambiguous, at),
    )
    yield Stage(
        name="vocabulary",
        settings=_without(terms, "list")
        | ({"vectors": [vectors.window, vectors.min_count]} if neighbours else {}),
        inputs=[
            *(at.documents, at.knowledge, *counts, at.names, at.rejected, at.links),
            *_optional_path(terms.list),
        ],
        outputs=[at.vocabulary, at.evidence, at.places, *neighbours],
        work=lambda: choose_vocabulary(terms, context, vectors=vectors),
    )
    yield Stage(
        name="vectors",
        settings=_without(vectors, "path"),
        inputs=[
            *(neighbours or ([at.documents] if vectors.method == "skipgram" else [])),
            *(*named, *_optional_path(vectors.path)),
        ],
        outputs=[at.vectors],
        work=lambda: make_vectors(vectors, context, named, has_counts=bool(neighbours)),
    )


def _model_stages(project: Project, context: StageContext) -> Iterator[Stage]:
    """From training sets to a model, mined sets, and scores on the entities held out."""
    at, encoder, device = context.at, project.encoder.model, context.device
    terms = [at.vocabulary, *at.known, at.test]
    encoded = [at.encoded] if encoder else []
    yield Stage(
        name="encode",
        settings=asdict(project.encoder),
        inputs=[*terms, *_encoder_files(project)] if encoder else [],
        outputs=encoded,
        work=lambda: encode_known(project.encoder, context),
    )
    views = [at.vectors, *encoded]
    reviews = write_reviews(at) if project.mine.reviews else None
    reviewed = [reviews] if reviews else []
    yield Stage(
        name="train",
        settings=project.train.to_dict() | {"encoder": encoder, "device": device},
        inputs=[
            *(at.training, *views, at.vocabulary),
            *([*reviewed, at.test] if reviewed else []),
            *(f for f in _encoder_files(project) if f.name == LEARNED),
        ],
        outputs=model_files(at.model, tuned=project.train.tunes_vectors),
        work=lambda: train_model(project.train, project.encoder, context, reviews=reviews),
    )
    mining = _without(project.mine, "reviews")
    known = [at.model / CONFIG, *views, *terms, at.knowledge]
    yield Stage(
        name="mine",
        settings=mining,
        inputs=[*known, at.evidence, *reviewed],
        outputs=[at.mined, at.mined_without_test, at.trace, at.candidates, at.rehearsal],
        work=lambda: mine_sets(project.mine, context, reviews=reviews),
    )
    yield Stage(
        name="evaluate",
        settings=asdict(project.evaluate) | {"mine": mining},
        inputs=[*known, at.mined_without_test],
        outputs=[at.scores],
        work=lambda: score_held_out(project.evaluate, project.mine, context),
    )


def _results(folder: RunFolder) -> dict[str, Any]:
    """What the stages before the report have reported."""
    return {name: r.to_dict() for name, r in folder.results.items() if name != "report"}


def _check_inputs(project: Project, folder: Path) -> None:
    """All files that the run needs, checked before hours of work; none may be in its folder."""
    check_folder(folder)
    if project.train.uses_torch:
        require_torch("the paper's model")
    sources = [*corpus_files(project.corpus.path, project.corpus.format)]
    others = [project.kb.path, project.vocabulary.list, project.vectors.path]
    named = [Path(other) for other in others if other]
    for path in [*sources, *named, *_encoder_files(project)]:
        if not path.is_file():
            raise cannot_open(path)
        if path.resolve().is_relative_to(folder.resolve()):
            raise DataError("this input is in the run folder; choose another run folder", path=path)


def _encoder_files(project: Project) -> list[Path]:
    """The files of an encoder in a folder."""
    model = project.encoder.model
    return encoder_files(find_encoder(model)) if model else []


def _without(settings: Any, *names: str) -> dict[str, Any]:
    """The settings less those that only say which file is read; its content counts instead."""
    return {name: value for name, value in asdict(settings).items() if name not in names}


def _optional_path(path: str) -> list[Path]:
    return [Path(path)] if path else []
