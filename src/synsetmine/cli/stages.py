"""The stages of a run before its model, as commands: from `read` to `vectors`.

Each takes and leaves plain files. `synsetmine run` does all of them in one folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.console import check_not_input, output_file, output_folder
from synsetmine.cli.options import SettingOptions, with_settings
from synsetmine.cli.run import EngineOptions, report_result, show_links
from synsetmine.pipeline.settings import (
    CorpusSettings,
    KbSettings,
    LinkSettings,
    SuperviseSettings,
    VectorSettings,
    VocabularySettings,
)

if TYPE_CHECKING:
    from synsetmine.runs.folder import Artefacts

Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", callback=output_file, help="The file to write.", show_default=False
    ),
]
Documents = Annotated[
    Path, typer.Argument(help="Documents as `synsetmine read` writes them.", show_default=False)
]
Knowledge = Annotated[
    Path,
    typer.Argument(help="Knowledge base as `synsetmine knowledge` writes it.", show_default=False),
]
CorpusOptions = Annotated[CorpusSettings, SettingOptions(arguments={"path": "corpus"})]


@contextmanager
def stage_files(**named: Path | None) -> Iterator[Artefacts]:
    """The files of a stage: those that the user named; the others are temporary."""
    from synsetmine.io.temporary import temporary_folder
    from synsetmine.runs.folder import Artefacts

    with temporary_folder() as folder:
        at = Artefacts(folder)
        for name, path in named.items():
            if path is not None:
                setattr(at, name, path)
        yield at


@with_settings
def read(out: Out, settings: CorpusOptions) -> None:
    """Read a corpus of any format into one file of documents.

    Files may be compressed (.gz, .bz2, .zst). Broken or empty documents are skipped and counted.

    Example: `synsetmine read abstracts.jsonl.gz --out documents.parquet`
    """
    from synsetmine.pipeline.corpus_stages import read_documents

    with console.progress_bar("reading", unit="bytes") as bar:
        result = read_documents(settings, out, bar.update)
    report_result(result, f"written to {out}")


@with_settings
def knowledge(
    out: Out, settings: Annotated[KbSettings, SettingOptions(arguments={"path": "kb"})]
) -> None:
    """Read a knowledge base of any format into one compact file.

    Example: `synsetmine knowledge doid.obo --out knowledge.arrow`
    """
    check_not_input(out, Path(settings.path))
    from synsetmine.pipeline.corpus_stages import read_knowledge

    with console.progress_bar("reading", unit="bytes") as bar:
        result = read_knowledge(settings, out, bar.update)
    report_result(result, f"written to {out}")


@with_settings
def link(
    documents: Documents,
    knowledge: Knowledge,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=output_file, help="TSV file for the links.")
    ],
    mentions: Annotated[
        Path, typer.Option(callback=output_file, help="Parquet file for every mention.")
    ] = Path("mentions.parquet"),
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

    with (
        stage_files(
            documents=documents,
            knowledge=knowledge,
            mentions=mentions,
            links=out,
            matcher=_matcher_of(knowledge, out),
            spotlight_cache=cache,
        ) as at,
        work.open() as engine,
        console.progress_bar("linking") as bar,
    ):
        result = link_documents(settings, at, engine=engine, progress=bar.update)
    report_result(result, f"written to {out} and {mentions}")


def _matcher_of(knowledge: Path, out: Path) -> Path:
    """The file of the name matcher: next to the knowledge base, unless that folder is read-only."""
    beside = knowledge.with_suffix(".matcher")
    if beside.exists() or os.access(beside.parent, os.W_OK):
        return beside
    return out.with_suffix(".matcher")


@with_settings
def supervise(
    links: Annotated[Path, typer.Argument(help="Links as `synsetmine link` writes them.")],
    knowledge: Knowledge,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            callback=output_folder,
            help="Folder for training.jsonl, test.jsonl, alone.jsonl, names.tsv, rejected.tsv "
            "and supervision.json.",
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

    with stage_files(
        links=links,
        knowledge=knowledge,
        training=out / "training.jsonl",
        test=out / "test.jsonl",
        alone=out / "alone.jsonl",
        names=out / "names.tsv",
        rejected=out / "rejected.tsv",
        supervision=out / "supervision.json",
    ) as at:
        result = supervise_links(settings, linking.ambiguous, at)
    show_links(out / "supervision.json")
    report_result(result, f"written to {out}")


@with_settings
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
        typer.Option(
            callback=output_folder,
            help="Folder for evidence.parquet, places.parquet and cooccurrence.safetensors.",
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
    from synsetmine.linking.mentions import write_links
    from synsetmine.pipeline.corpus_stages import choose_vocabulary, count_texts

    with (
        stage_files(
            documents=documents,
            names=sets and sets / "names.tsv",
            rejected=sets and sets / "rejected.tsv",
            links=links,
            vocabulary=out,
            evidence=details and details / "evidence.parquet",
            places=details and details / "places.parquet",
            cooccurrence=details and details / "cooccurrence.safetensors",
        ) as at,
        work.open() as engine,
    ):
        if sets is None:
            at.names.touch()
            at.rejected.touch()
        if links is None:
            write_links(at.links, [])
        with console.progress_bar("reading") as bar:
            count_texts(settings, at, engine=engine, progress=bar.update)
        with console.progress_bar("counting") as bar:
            result = choose_vocabulary(
                settings,
                at,
                vectors=VectorSettings() if details else None,
                engine=engine,
                progress=bar.update,
            )
    report_result(result, f"written to {out}")


@with_settings
def vectors(
    documents: Documents,
    terms: Annotated[
        list[Path],
        typer.Option(help="Vocabulary or file of sets whose terms get vectors; may be repeated."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", callback=output_file, help="Vector file: .safetensors, .bin or text."
        ),
    ],
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

    with (
        stage_files(documents=documents, cooccurrence=counts, vectors=out) as at,
        work.open() as engine,
        console.progress_bar("vectors") as bar,
    ):
        result = make_vectors(
            settings,
            at,
            terms,
            counted=counts is not None,
            engine=engine,
            progress=bar.update,
        )
    report_result(result, f"written to {out}")
