"""The stages of a run before its model, as commands: from `read` to `vectors`.

Each takes and leaves plain files. `synsetmine run` does all of them in one folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.places import a_file, a_folder, check_apart
from synsetmine.cli.run import EngineName, Master, Workers, show_fates, tell

Out = Annotated[
    Path,
    typer.Option("--out", "-o", callback=a_file, help="The file to write.", show_default=False),
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
CorpusForm = Annotated[
    Literal["text", "lines", "jsonl", "csv", "tsv", "parquet", "pubtator", "mediawiki"] | None,
    typer.Option(
        help="text, lines, jsonl, csv, tsv, parquet, pubtator or mediawiki; else guessed."
    ),
]
TextField = Annotated[str, typer.Option(help="Field with the text; `title,text` joins two.")]
IdField = Annotated[str, typer.Option(help="Field with the id.")]
Ambiguous = Annotated[
    Literal["skip", "common", "senses"],
    typer.Option(help="A name of several entities: skip it, the most common one, or all senses."),
]


def read(
    corpus: CorpusFiles,
    out: Out,
    form: CorpusForm = None,
    text_field: TextField = "text",
    id_field: IdField = "id",
) -> None:
    """Read a corpus of any form into one file of documents.

    Plain, .gz, .bz2 or .zst. What is broken or empty is left out, counted and reported.

    Example: `synsetmine read abstracts.jsonl.gz --out documents.parquet`
    """
    from synsetmine.pipeline.corpus_stages import read_documents
    from synsetmine.pipeline.settings import CorpusSettings

    settings = CorpusSettings(
        path=tuple(corpus), form=form, text_field=text_field, id_field=id_field
    )
    with console.progress_bar("reading", unit="bytes") as bar:
        counts = read_documents(settings, out, bar.update)
    tell(counts, f"written to {out}")


def knowledge(
    kb: Annotated[Path, typer.Argument(help="File with entities.", show_default=False)],
    out: Out,
    form: Annotated[
        Literal["jsonl", "csv", "tsv", "obo", "rdf", "umls", "wikidata", "mediawiki"] | None,
        typer.Option(help="jsonl, csv, tsv, obo, rdf, umls, wikidata or mediawiki; else guessed."),
    ] = None,
    language: Annotated[str, typer.Option(help="Of RDF, UMLS and Wikidata names.")] = "en",
    source: Annotated[
        list[str] | None, typer.Option(help="UMLS: only this vocabulary; may be repeated.")
    ] = None,
    keep_suppressed: Annotated[
        bool, typer.Option("--keep-suppressed", help="UMLS: suppressed names too.")
    ] = False,
    anchors: Annotated[
        int, typer.Option(min=0, help="MediaWiki: link texts used so often are names too.")
    ] = 0,
) -> None:
    """Read a knowledge base of any form into one compact file.

    Example: `synsetmine knowledge doid.obo --out knowledge.arrow`
    """
    check_apart(out, kb)
    from synsetmine.pipeline.corpus_stages import read_knowledge
    from synsetmine.pipeline.settings import KbSettings

    settings = KbSettings(
        path=str(kb),
        form=form,
        language=language,
        sources=tuple(source or ()),
        keep_suppressed=keep_suppressed,
        anchors=anchors,
    )
    with console.progress_bar("reading", unit="bytes") as bar:
        counts = read_knowledge(settings, out, bar.update)
    tell(counts, f"written to {out}")


def link(
    documents: Documents,
    knowledge: Knowledge,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=a_file, help="TSV file for the links.")
    ],
    mentions: Annotated[
        Path, typer.Option(callback=a_file, help="Parquet file for every mention.")
    ] = Path("mentions.parquet"),
    linker: Annotated[
        Literal["dictionary", "spotlight", "pubtator", "wikilinks"],
        typer.Option(help="dictionary, spotlight, pubtator or wikilinks."),
    ] = "dictionary",
    ambiguous: Ambiguous = "common",
    url: Annotated[
        str, typer.Option(help="Of a DBpedia Spotlight service.", rich_help_panel="Spotlight")
    ] = "https://api.dbpedia-spotlight.org/en",
    confidence: Annotated[
        float, typer.Option(min=0, max=1, help="Least confidence.", rich_help_panel="Spotlight")
    ] = 0.5,
    support: Annotated[
        int, typer.Option(min=0, help="Least support.", rich_help_panel="Spotlight")
    ] = 0,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Requests at a time.", rich_help_panel="Spotlight")
    ] = 4,
    per_second: Annotated[
        float,
        typer.Option(min=0, help="Requests a second; 0: no limit.", rich_help_panel="Spotlight"),
    ] = 5.0,
    cache: Annotated[
        Path, typer.Option(help="Keeps Spotlight's answers.", rich_help_panel="Spotlight")
    ] = Path("spotlight.sqlite"),
    workers: Workers = None,
    engine: EngineName = "local",
    master: Master = None,
) -> None:
    """Find which words of the documents name which entity.

    Example: `synsetmine link documents.parquet knowledge.arrow --out links.tsv`
    """
    check_apart(out, mentions, documents, knowledge)
    check_apart(mentions, documents, knowledge)
    from synsetmine.engines import open_engine
    from synsetmine.pipeline.corpus_stages import link_documents
    from synsetmine.pipeline.settings import LinkSettings

    settings = LinkSettings(
        linker=linker,
        ambiguous=ambiguous,
        url=url,
        confidence=confidence,
        support=support,
        concurrency=concurrency,
        per_second=per_second,
    )
    with (
        open_engine(engine, workers=workers, master=master) as where,
        console.progress_bar("linking") as bar,
    ):
        counts = link_documents(
            settings,
            documents,
            knowledge,
            mentions=mentions,
            links=out,
            matcher=_matcher_of(knowledge, out),
            cache=cache,
            engine=where,
            progress=bar.update,
        )
    tell(counts, f"written to {out} and {mentions}")


def _matcher_of(knowledge: Path, out: Path) -> Path:
    """Where the matcher of names is kept: beside the knowledge base, unless that is read-only."""
    beside = knowledge.with_suffix(".matcher")
    if beside.exists() or os.access(beside.parent, os.W_OK):
        return beside
    return out.with_suffix(".matcher")


def supervise(
    links: Annotated[Path, typer.Argument(help="Links as `synsetmine link` writes them.")],
    knowledge: Knowledge,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            callback=a_folder,
            help="Folder for training.jsonl, test.jsonl, alone.jsonl, names.tsv, rejected.tsv "
            "and supervision.json.",
        ),
    ],
    min_count: Annotated[int, typer.Option(min=1, help="A name must be seen so often.")] = 5,
    min_terms: Annotated[int, typer.Option(min=1, help="An entity needs so many names.")] = 2,
    ambiguous: Ambiguous = "common",
    held_out: Annotated[float, typer.Option(help="Share of the entities kept for testing.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Of the split.")] = 0,
) -> None:
    """Make training sets of links, and say what was kept, what dropped and why.

    A link counts only if its surface is among the known names of its entity.

    Example: `synsetmine supervise links.tsv knowledge.arrow --out sets`
    """
    from synsetmine.pipeline.corpus_stages import supervise_links
    from synsetmine.pipeline.settings import SuperviseSettings

    settings = SuperviseSettings(
        min_count=min_count, min_terms=min_terms, held_out=held_out, seed=seed
    )
    counts = supervise_links(
        settings,
        ambiguous,
        links,
        knowledge,
        training=out / "training.jsonl",
        test=out / "test.jsonl",
        alone=out / "alone.jsonl",
        names=out / "names.tsv",
        rejected=out / "rejected.tsv",
        record=out / "supervision.json",
    )
    show_fates(out / "supervision.json")
    tell(counts, f"written to {out}")


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
            callback=a_folder,
            help="Folder for evidence.parquet, places.parquet and cooccurrence.safetensors.",
        ),
    ] = None,
    list_: Annotated[
        Path | None, typer.Option("--list", help="Your own terms, one a line; all are mined.")
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--only-list", help="Mine the terms of --list alone.")
    ] = False,
    phrases: Annotated[int, typer.Option(min=0, help="So many frequent phrases.")] = 2000,
    abbreviations: Annotated[
        bool, typer.Option(help="Short and long forms that the documents define.")
    ] = True,
    min_count: Annotated[int, typer.Option(min=1, help="A term must be seen so often.")] = 5,
    max_terms: Annotated[int, typer.Option(min=1, help="Only the most frequent terms.")] = 30_000,
    workers: Workers = None,
    engine: EngineName = "local",
    master: Master = None,
) -> None:
    """Choose the terms to mine: known names, rejected surfaces, phrases, abbreviations, a list.

    Example: `synsetmine vocabulary documents.parquet --sets sets --out vocabulary.tsv`

    With what the documents say about pairs of terms, and their neighbours for vectors:

    Example: `synsetmine vocabulary documents.parquet --sets sets --details . --out vocabulary.tsv`
    """
    check_apart(out, documents, links, list_)
    from synsetmine.engines import open_engine
    from synsetmine.pipeline.corpus_stages import (
        TermDetails,
        TextCounts,
        choose_vocabulary,
        count_texts,
    )
    from synsetmine.pipeline.settings import VocabularySettings
    from synsetmine.temporary import temporary_folder

    settings = VocabularySettings(
        list=str(list_ or ""),
        only_list=only_list,
        phrases=phrases,
        abbreviations=abbreviations,
        min_count=min_count,
        max_terms=max_terms,
    )
    with (
        open_engine(engine, workers=workers, master=master) as where,
        temporary_folder() as folder,
    ):
        texts = TextCounts(
            folder / "words.parquet",
            folder / "abbreviations.parquet",
            folder / "runs.parquet" if phrases and not only_list else None,
        )
        with console.progress_bar("reading") as bar:
            count_texts(documents, texts, min_count=min_count, engine=where, progress=bar.update)
        with console.progress_bar("counting") as bar:
            counts = choose_vocabulary(
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
    tell(counts, f"written to {out}")


def vectors(
    documents: Documents,
    terms: Annotated[
        list[Path],
        typer.Option(help="Vocabulary or file of sets whose terms get vectors; may be repeated."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", callback=a_file, help="Vector file: .safetensors, .bin or text."
        ),
    ],
    method: Annotated[
        Literal["cooccurrence", "skipgram", "file"],
        typer.Option(
            help="cooccurrence (PPMI and SVD), skipgram (extra `skipgram`) or file: those of "
            "--pretrained, and the mean of its words' vectors for a term it lacks."
        ),
    ] = "cooccurrence",
    pretrained: Annotated[
        Path | None, typer.Option(help="Vector file for method file; see `convert` for its forms.")
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            help="cooccurrence.safetensors that `vocabulary --details` wrote, for method "
            "cooccurrence: the documents are not read."
        ),
    ] = None,
    dimension: Annotated[int, typer.Option(min=0, help="0: the method's default.")] = 100,
    window: Annotated[int, typer.Option(min=0, help="Words to each side; 0: the default.")] = 0,
    min_count: Annotated[
        int, typer.Option(min=0, help="A term seen less often gets no vector; 0: the default.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of the decomposition or the training.")] = 0,
    workers: Workers = None,
    engine: EngineName = "local",
    master: Master = None,
) -> None:
    """Train term vectors on documents; terms of several words count as one.

    Example: `synsetmine vectors documents.parquet --terms vocabulary.tsv --out vectors.safetensors`
    """
    check_apart(out, documents, pretrained, counts, *terms)
    from synsetmine.engines import open_engine
    from synsetmine.pipeline.corpus_stages import make_vectors
    from synsetmine.pipeline.settings import VectorSettings

    settings = VectorSettings(
        method=method,
        path=str(pretrained or ""),
        dimension=dimension,
        window=window,
        min_count=min_count,
        seed=seed,
    )
    with (
        open_engine(engine, workers=workers, master=master) as where,
        console.progress_bar("vectors") as bar,
    ):
        made = make_vectors(
            settings,
            documents,
            terms,
            out,
            cooccurrence=counts,
            engine=where,
            progress=bar.update,
        )
    tell(made, f"written to {out}")
