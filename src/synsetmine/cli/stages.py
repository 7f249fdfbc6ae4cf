"""The stages of a run before its model, as commands: from `read` to `vectors`.

Each takes and leaves plain files. `synsetmine run` does all of them in one folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.options import (
    SettingOptions,
    check_not_input,
    out_file,
    out_folder,
    place_of,
)
from synsetmine.cli.run import EngineOptions, report_result
from synsetmine.errors import SynsetmineError
from synsetmine.pipeline.settings import (
    CorpusSettings,
    EngineSettings,
    KbSettings,
    LinkSettings,
    SuperviseSettings,
    VectorSettings,
    VocabularySettings,
)

if TYPE_CHECKING:
    from synsetmine.pipeline.stage_results import StageContext

Out = Annotated[Path, out_file("The file to write.")]
Documents = Annotated[Path, typer.Argument(help="Documents as `synsetmine read` writes them.")]
Knowledge = Annotated[
    Path, typer.Argument(help="Knowledge base as `synsetmine knowledge` writes it.")
]
CorpusOptions = Annotated[CorpusSettings, SettingOptions(arguments={"path": "corpus"})]


def _temporary_folder() -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix="synsetmine-")
    except FileNotFoundError as error:  # tempfile has tried to write a file in each folder
        problem = "no folder for temporary files is writable"
        advice = "set TMPDIR, or raise the limit of file sizes (ulimit -f)"
        raise SynsetmineError(f"{problem}; {advice}") from error


@contextmanager
def stage_context(
    label: str, *, unit: str = "", work: EngineSettings | None = None, **named: Path | None
) -> Iterator[StageContext]:
    """The context of a stage, with a progress bar; files that are not named are temporary."""
    from synsetmine.pipeline.stage_results import StageContext
    from synsetmine.runs.folder import Artefacts

    with (
        _temporary_folder() as folder,
        (work or EngineSettings()).open() as engine,
        console.progress_bar(label, unit=unit) as bar,
    ):
        at = Artefacts(Path(folder))
        for name, path in named.items():
            if path is not None:
                setattr(at, name, path)
        yield StageContext(at=at, engine=engine, progress=bar.update)


def read(out: Out, settings: CorpusOptions) -> None:
    """Read a corpus of any format into one file of documents.

    Files may be compressed (.gz, .bz2, .zst). Broken or empty documents are skipped and counted.

    Example: `synsetmine read abstracts.jsonl.gz --out documents.parquet`
    """
    from synsetmine.pipeline.corpus_stages import read_documents

    with stage_context("reading", unit="bytes", documents=out) as context:
        result = read_documents(settings, context)
    report_result(result, f"written to {out}")


def knowledge(
    out: Out, settings: Annotated[KbSettings, SettingOptions(arguments={"path": "kb"})]
) -> None:
    """Read a knowledge base of any format into one compact file.

    Example: `synsetmine knowledge doid.obo --out knowledge.arrow`
    """
    check_not_input(out, Path(settings.path))
    from synsetmine.pipeline.corpus_stages import read_knowledge

    with stage_context("reading", unit="bytes", knowledge=out) as context:
        result = read_knowledge(settings, context)
    report_result(result, f"written to {out}")


def link(
    documents: Documents,
    knowledge: Knowledge,
    out: Annotated[Path, out_file("TSV file for the links.", stdout=".tsv")],
    mentions: Annotated[Path, out_file("Parquet file for every mention.", "--mentions")] = Path(
        "mentions.parquet"
    ),
    *,
    settings: Annotated[LinkSettings, SettingOptions()],
    cache: Annotated[
        Path,
        typer.Option(help="File that caches Spotlight's answers.", rich_help_panel="Spotlight"),
    ] = Path("spotlight.sqlite"),
    work: EngineOptions,
) -> None:
    """Link names in the documents to entities.

    Example: `synsetmine link documents.parquet knowledge.arrow --out links.tsv`
    """
    check_not_input(out, mentions, documents, knowledge)
    check_not_input(mentions, documents, knowledge)
    from synsetmine.pipeline.corpus_stages import link_documents

    with stage_context(
        "linking",
        work=work,
        documents=documents,
        knowledge=knowledge,
        mentions=mentions,
        links=out,
        matcher=_matcher_of(knowledge, out),
        spotlight_cache=cache,
    ) as context:
        result = link_documents(settings, context)
    report_result(result, f"written to {place_of(out)} and {mentions}")


def _matcher_of(knowledge: Path, out: Path) -> Path:
    """The file of the name matcher: next to the knowledge base, unless that folder is read-only."""
    beside = knowledge.with_suffix(".matcher")
    if beside.exists() or os.access(beside.parent, os.W_OK):
        return beside
    return out.with_suffix(".matcher")


def supervise(
    links: Annotated[Path, typer.Argument(help="Links as `synsetmine link` writes them.")],
    knowledge: Knowledge,
    out: Annotated[
        Path,
        out_folder(
            "Folder for training.jsonl, test.jsonl, alone.jsonl, names.tsv, rejected.tsv "
            "and supervision.json."
        ),
    ],
    settings: Annotated[SuperviseSettings, SettingOptions()],
    linking: Annotated[LinkSettings, SettingOptions(only=("ambiguous",))],
) -> None:
    """Make training sets from links, and report which links were dropped and why.

    A link counts only if its surface is among the known names of its entity.

    Example: `synsetmine supervise links.tsv knowledge.arrow --out sets`
    """
    from synsetmine.pipeline.corpus_stages import supervise_links

    with stage_context(
        "",
        links=links,
        knowledge=knowledge,
        training=out / "training.jsonl",
        test=out / "test.jsonl",
        alone=out / "alone.jsonl",
        names=out / "names.tsv",
        rejected=out / "rejected.tsv",
        supervision=out / "supervision.json",
    ) as context:
        result = supervise_links(settings, linking.ambiguous, context.at)
    report_result(result, f"written to {out}")


def vocabulary(
    documents: Documents,
    out: Out,
    sets: Annotated[
        Path | None, typer.Option(help="Folder that `synsetmine supervise` wrote.")
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(
            help="Links as `synsetmine link` writes them; their surfaces are known names too."
        ),
    ] = None,
    details: Annotated[
        Path | None,
        out_folder(
            "Folder for evidence.parquet, places.parquet and cooccurrence.safetensors.", "--details"
        ),
    ] = None,
    *,
    settings: Annotated[VocabularySettings, SettingOptions(leave_out=("known", "rejected"))],
    work: EngineOptions,
) -> None:
    """Choose the terms to mine: known names, rejected surfaces, phrases, abbreviations, a list.

    Example: `synsetmine vocabulary documents.parquet --sets sets --out vocabulary.tsv`

    With evidence on pairs of terms, and co-occurrence counts for vectors:

    Example: `synsetmine vocabulary documents.parquet --sets sets --details . --out vocabulary.tsv`
    """
    check_not_input(out, documents, links, Path(settings.list) if settings.list else None)
    from synsetmine.linking.supervision import write_links
    from synsetmine.pipeline.corpus_stages import choose_vocabulary, count_texts

    with stage_context(
        "reading",
        work=work,
        documents=documents,
        names=sets and sets / "names.tsv",
        rejected=sets and sets / "rejected.tsv",
        links=links,
        vocabulary=out,
        evidence=details and details / "evidence.parquet",
        places=details and details / "places.parquet",
        cooccurrence=details and details / "cooccurrence.safetensors",
    ) as context:
        if sets is None:
            context.at.names.touch()
            context.at.rejected.touch()
        if links is None:
            write_links(context.at.links, [])
        count_texts(settings, context)
        result = choose_vocabulary(settings, context, vectors=VectorSettings() if details else None)
    report_result(result, f"written to {out}")


def vectors(
    documents: Documents,
    terms: Annotated[
        list[Path],
        typer.Option(help="Vocabulary or file of sets whose terms get vectors; may be repeated."),
    ],
    out: Annotated[Path, out_file("Vector file: .safetensors, .bin or text.")],
    *,
    settings: Annotated[VectorSettings, SettingOptions()],
    counts: Annotated[
        Path | None,
        typer.Option(
            help="cooccurrence.safetensors that `vocabulary --details` wrote, for method "
            "cooccurrence: the documents are not read."
        ),
    ] = None,
    work: EngineOptions,
) -> None:
    """Train term vectors on documents; terms of several words count as one.

    Example: `synsetmine vectors documents.parquet --terms vocabulary.tsv --out vectors.safetensors`
    """
    check_not_input(out, documents, Path(settings.path) if settings.path else None, counts, *terms)
    from synsetmine.pipeline.corpus_stages import make_vectors

    with stage_context(
        "vectors", work=work, documents=documents, cooccurrence=counts, vectors=out
    ) as context:
        result = make_vectors(settings, context, terms, has_counts=counts is not None)
    report_result(result, f"written to {out}")
