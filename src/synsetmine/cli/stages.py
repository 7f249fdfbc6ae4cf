"""The stages of a run before its model, as commands: from `read` to `vectors`.

Each takes and leaves plain files. `synsetmine run` does all of them in one folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from synsetmine.cli import console
from synsetmine.cli.console import check_not_input, output_file, output_folder
from synsetmine.cli.options import SettingOptions, with_settings
from synsetmine.cli.run import EngineName, Master, Workers, report_result, show_links
from synsetmine.pipeline.settings import (
    CorpusSettings,
    KbSettings,
    LinkSettings,
    SuperviseSettings,
    VectorSettings,
    VocabularySettings,
)

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
CorpusFiles = Annotated[
    list[str], typer.Argument(help="Files, folders or patterns.", show_default=False)
]
CorpusOptions = Annotated[dict[str, Any], SettingOptions(settings=CorpusSettings)]


@with_settings
def read(
    corpus: CorpusFiles,
    out: Out,
    options: CorpusOptions,
) -> None:
    """Read a corpus of any format into one file of documents.

    Plain, .gz, .bz2 or .zst. Broken or empty documents are left out, counted and reported.

    Example: `synsetmine read abstracts.jsonl.gz --out documents.parquet`
    """
    from synsetmine.pipeline.corpus_stages import read_documents

    settings = CorpusSettings(path=tuple(corpus), **options)
    with console.progress_bar("reading", unit="bytes") as bar:
        result = read_documents(settings, out, bar.update)
    report_result(result, f"written to {out}")


@with_settings
def knowledge(
    kb: Annotated[Path, typer.Argument(help="File with entities.", show_default=False)],
    out: Out,
    options: Annotated[dict[str, Any], SettingOptions(settings=KbSettings)],
) -> None:
    """Read a knowledge base of any format into one compact file.

    Example: `synsetmine knowledge doid.obo --out knowledge.arrow`
    """
    check_not_input(out, kb)
    from synsetmine.pipeline.corpus_stages import read_knowledge

    settings = KbSettings(path=str(kb), **options)
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
    options: Annotated[dict[str, Any], SettingOptions(settings=LinkSettings)],
    cache: Annotated[
        Path,
        typer.Option(help="File that caches Spotlight's answers.", rich_help_panel="Spotlight"),
    ] = Path("spotlight.sqlite"),
    workers: Workers = None,
    engine: EngineName = "local",
    master: Master = None,
) -> None:
    """Find which words of the documents name which entity.

    Example: `synsetmine link documents.parquet knowledge.arrow --out links.tsv`
    """
    check_not_input(out, mentions, documents, knowledge)
    check_not_input(mentions, documents, knowledge)
    from synsetmine.engines import open_engine
    from synsetmine.pipeline.corpus_stages import link_documents

    with (
        open_engine(engine, workers=workers, master=master) as where,
        console.progress_bar("linking") as bar,
    ):
        result = link_documents(
            LinkSettings(**options),
            documents,
            knowledge,
            mentions=mentions,
            links=out,
            matcher=_matcher_of(knowledge, out),
            cache=cache,
            engine=where,
            progress=bar.update,
        )
    report_result(result, f"written to {out} and {mentions}")


def _matcher_of(knowledge: Path, out: Path) -> Path:
    """Where the matcher of names is kept: beside the knowledge base, unless that is read-only."""
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
    options: Annotated[dict[str, Any], SettingOptions(settings=SuperviseSettings)],
    ambiguous: Annotated[
        dict[str, Any], SettingOptions(settings=LinkSettings, only=("ambiguous",))
    ],
) -> None:
    """Make training sets from links, and report which links were dropped and why.

    A link counts only if its surface is among the known names of its entity.

    Example: `synsetmine supervise links.tsv knowledge.arrow --out sets`
    """
    from synsetmine.pipeline.corpus_stages import supervise_links

    result = supervise_links(
        SuperviseSettings(**options),
        LinkSettings(**ambiguous).ambiguous,
        links,
        knowledge,
        training=out / "training.jsonl",
        test=out / "test.jsonl",
        alone=out / "alone.jsonl",
        names=out / "names.tsv",
        rejected=out / "rejected.tsv",
        record=out / "supervision.json",
    )
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
        typer.Option(help="Links as `synsetmine link` writes them: names to look for as well."),
    ] = None,
    details: Annotated[
        Path | None,
        typer.Option(
            callback=output_folder,
            help="Folder for evidence.parquet, places.parquet and cooccurrence.safetensors.",
        ),
    ] = None,
    *,
    options: Annotated[
        dict[str, Any],
        SettingOptions(settings=VocabularySettings, leave_out=("known", "rejected")),
    ],
    workers: Workers = None,
    engine: EngineName = "local",
    master: Master = None,
) -> None:
    """Choose the terms to mine: known names, rejected surfaces, phrases, abbreviations, a list.

    Example: `synsetmine vocabulary documents.parquet --sets sets --out vocabulary.tsv`

    With evidence on pairs of terms, and co-occurrence counts for vectors:

    Example: `synsetmine vocabulary documents.parquet --sets sets --details . --out vocabulary.tsv`
    """
    settings = VocabularySettings(**options)
    check_not_input(out, documents, links, Path(settings.list) if settings.list else None)
    from synsetmine.engines import open_engine
    from synsetmine.io.temporary import temporary_folder
    from synsetmine.pipeline.corpus_stages import (
        TermDetails,
        TextCounts,
        choose_vocabulary,
        count_texts,
    )

    with (
        open_engine(engine, workers=workers, master=master) as where,
        temporary_folder() as folder,
    ):
        texts = TextCounts(
            folder / "words.parquet",
            folder / "abbreviations.parquet",
            folder / "runs.parquet" if settings.mines_phrases else None,
        )
        with console.progress_bar("reading") as bar:
            count_texts(
                documents, texts, min_count=settings.min_count, engine=where, progress=bar.update
            )
        with console.progress_bar("counting") as bar:
            result = choose_vocabulary(
                settings,
                documents,
                texts,
                out,
                names=None if sets is None else sets / "names.tsv",
                rejected=None if sets is None else sets / "rejected.tsv",
                links=links,
                details=None
                if details is None
                else TermDetails(
                    details / "evidence.parquet",
                    details / "places.parquet",
                    details / "cooccurrence.safetensors",
                ),
                engine=where,
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
    options: Annotated[dict[str, Any], SettingOptions(settings=VectorSettings)],
    counts: Annotated[
        Path | None,
        typer.Option(
            help="cooccurrence.safetensors that `vocabulary --details` wrote, for method "
            "cooccurrence: the documents are not read."
        ),
    ] = None,
    workers: Workers = None,
    engine: EngineName = "local",
    master: Master = None,
) -> None:
    """Train term vectors on documents; terms of several words count as one.

    Example: `synsetmine vectors documents.parquet --terms vocabulary.tsv --out vectors.safetensors`
    """
    settings = VectorSettings(**options)
    check_not_input(out, documents, Path(settings.path) if settings.path else None, counts, *terms)
    from synsetmine.engines import open_engine
    from synsetmine.pipeline.corpus_stages import make_vectors

    with (
        open_engine(engine, workers=workers, master=master) as where,
        console.progress_bar("vectors") as bar,
    ):
        result = make_vectors(
            settings,
            documents,
            terms,
            out,
            cooccurrence=counts,
            engine=where,
            progress=bar.update,
        )
    report_result(result, f"written to {out}")
