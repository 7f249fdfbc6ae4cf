"""The stages on the corpus: from files to documents, links, training sets, terms and vectors.

Each reads files, writes files, and returns counts for the manifest. Every stage is a command of
its own too; both call the functions here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from synsetmine.corpus import read_corpus
from synsetmine.corpus.sources import find_sources
from synsetmine.corpus.store import batch_sizes, write_documents
from synsetmine.engines import Engine, LocalEngine
from synsetmine.errors import DataError, Skipped
from synsetmine.files import write_text
from synsetmine.kb import KnowledgeBase, read_kb
from synsetmine.linking import DictionaryLinker, Linker, MarkedLinker, SpotlightLinker
from synsetmine.linking.mentions import (
    count_entities,
    count_links,
    link_corpus,
    read_links,
    write_links,
)
from synsetmine.phrases import mine_phrases
from synsetmine.pipeline.settings import (
    CorpusSettings,
    KbSettings,
    LinkSettings,
    SuperviseSettings,
    VectorSettings,
    VocabularySettings,
)
from synsetmine.runfolder import Counts
from synsetmine.setfiles import is_set_file, read_sets, read_vocabulary, write_sets
from synsetmine.supervision import Supervision, split_entities, supervise
from synsetmine.text import normal_form
from synsetmine.types import Ambiguous, Document, Progress, Term
from synsetmine.views import read_vectors, write_vectors
from synsetmine.views.pretrained import vectors_for
from synsetmine.vocabulary import by_frequency, candidate_terms, count_terms, write_vocabulary

FEWEST_SETS = 10  # training and held-out sets; fewer teach and tell nothing


def read_documents(settings: CorpusSettings, out: Path, progress: Progress) -> Counts:
    """Corpus files to one table of documents."""
    for source in find_sources(settings.path, settings.form):
        if source.path.resolve() == out.resolve():
            raise DataError("the documents would be written over this file of theirs", path=out)
    skipped = Skipped()
    documents = read_corpus(
        settings.path,
        form=settings.form,
        text_field=settings.text_field,
        id_field=settings.id_field,
        skipped=skipped,
        progress=progress,
    )
    written = write_documents(out, _some(documents, settings.path, skipped))
    return {"documents": written, **_told(skipped)}


def _some(
    documents: Iterator[Document], paths: Sequence[str], skipped: Skipped
) -> Iterator[Document]:
    """The documents; that there are none is an error before anything is written."""
    first = next(documents, None)
    if first is None:
        raise DataError(f"no documents{skipped.hint()}", path=", ".join(paths))
    yield first
    yield from documents


def read_knowledge(settings: KbSettings, out: Path, progress: Progress) -> Counts:
    """A knowledge base of any form to our own."""
    skipped = Skipped()
    kb = read_kb(
        Path(settings.path),
        form=settings.form,
        language=settings.language,
        sources=settings.sources,
        keep_suppressed=settings.keep_suppressed,
        anchors=settings.anchors,
        skipped=skipped,
        progress=progress,
    )
    kb.save(out)
    return {"entities": len(kb), "names": kb.name_count, **_told(skipped)}


def link_documents(
    settings: LinkSettings,
    documents: Path,
    knowledge: Path,
    *,
    mentions: Path,
    links: Path,
    matcher: Path,
    cache: Path,
    engine: Engine,
    progress: Progress,
) -> Counts:
    """Documents to mentions, and to the links they add up to."""
    total = sum(batch_sizes(documents))

    def link(linker: Linker, engine: Engine) -> int:
        return link_corpus(
            documents, linker, mentions, engine=engine, progress=lambda done: progress(done, total)
        )

    skipped = Skipped()
    if settings.linker == "dictionary":
        linker = DictionaryLinker.open(
            knowledge, matcher, ambiguous="senses" if settings.ambiguous == "senses" else "skip"
        )
        found = link(linker, engine)
        if settings.ambiguous == "common" and linker.has_ambiguous_names:
            # Which entity is common shows only once the names that are not ambiguous are counted.
            prior = count_entities(mentions, engine=engine)
            found = link(linker.with_prior(prior), engine)
    elif settings.linker == "spotlight":
        spotlight = SpotlightLinker(
            url=settings.url,
            confidence=settings.confidence,
            support=settings.support,
            concurrency=settings.concurrency,
            per_second=settings.per_second,
            cache=cache,
        )
        found = link(spotlight, LocalEngine(1))
        skipped = spotlight.skipped
    else:
        found = link(MarkedLinker(KnowledgeBase.load(knowledge)), LocalEngine(1))
    counted = count_links(mentions, engine=engine)
    if not counted:
        mentions.unlink()
        raise DataError(f"the {settings.linker} linker found no mention of an entity")
    write_links(links, counted)
    return {"mentions": found, "links": len(counted), **_told(skipped)}


def supervise_links(
    settings: SuperviseSettings,
    ambiguous: Ambiguous,
    links: Path,
    knowledge: Path,
    *,
    training: Path,
    test: Path,
    alone: Path,
    names: Path,
    rejected: Path,
    record: Path,
) -> Counts:
    """Links to training sets and held-out test sets, by entity."""
    found = supervise(
        read_links(links),
        KnowledgeBase.load(knowledge),
        min_count=settings.min_count,
        min_terms=settings.min_terms,
        ambiguous=ambiguous,
    )
    write_text(record, json.dumps(_record(found), indent=2, ensure_ascii=False) + "\n")
    if len(found.sets) < FEWEST_SETS:
        raise DataError(_too_few(found, settings.min_terms), path=links)
    for_training, for_test = split_entities(found.sets, settings.held_out, seed=settings.seed)
    write_sets(training, for_training)
    write_sets(test, for_test)
    write_vocabulary(names, found.counts)
    write_vocabulary(rejected, found.rejected)
    write_sets(alone, found.alone)
    return {
        "training sets": len(for_training),
        "test sets": len(for_test),
        "known terms": len(found.counts),
        "rejected surfaces": len(found.rejected),
    }


def choose_vocabulary(
    settings: VocabularySettings,
    documents: Path,
    names: Path | None,
    rejected: Path | None,
    out: Path,
    *,
    engine: Engine,
    progress: Progress,
) -> Counts:
    """The terms to mine, most frequent first."""
    total = sum(batch_sizes(documents))

    def tell(done: int) -> None:  # of each of the two passes
        progress(done, total)

    sources: dict[str, Collection[Term]]
    skipped = Skipped()
    if settings.list:
        sources = {"listed": _listed(Path(settings.list), names, skipped)}
    else:
        sources = {
            "known": _seen(names) if settings.known and names else (),
            "rejected": _seen(rejected) if settings.rejected and rejected else (),
            "phrases": _phrases(settings, documents, names, engine, tell)
            if settings.phrases
            else (),
        }
    # Links tell how often a name was linked, which is less than how often it stands there.
    terms = candidate_terms(*sources.values())
    counts = by_frequency(
        count_terms(documents, terms, engine=engine, progress=tell),
        min_count=settings.min_count if not settings.list else 0,
        max_terms=settings.max_terms if not settings.list else None,
    )
    if not counts:
        raise DataError(f"no term is seen {settings.min_count} times or more; lower min_count")
    write_vocabulary(out, counts)
    sizes = {name: len(source) for name, source in sources.items()}
    return {"terms": len(counts), **sizes, **_told(skipped)}


def _listed(path: Path, names: Path | None, skipped: Skipped) -> list[Term]:
    """The terms of a person's list, known names as they are written elsewhere in the run."""
    known = {normal_form(term.surface): term for term in (_seen(names) if names else ())}
    terms = read_vocabulary(path, skipped=skipped).terms
    return [known.get(normal_form(term.surface), term) for term in terms]


def _phrases(
    settings: VocabularySettings,
    documents: Path,
    names: Path | None,
    engine: Engine,
    tell: Callable[[int], None],
) -> list[Term]:
    found = mine_phrases(
        documents,
        known=[normal_form(term.surface) for term in _seen(names)] if names else (),
        min_count=settings.min_count,
        most=settings.phrases,
        engine=engine,
        progress=tell,
    )
    return [Term(phrase.surface) for phrase in found]


def make_vectors(
    settings: VectorSettings,
    documents: Path,
    lists: Sequence[Path],
    out: Path,
    *,
    engine: Engine,
    progress: Progress,
) -> Counts:
    """A vector for each term of these vocabularies and sets, from the corpus or from a file."""
    from synsetmine.views.cooccurrence import (
        train_cooccurrence,
    )  # scipy: the other stages need none
    from synsetmine.views.skipgram import train_skipgram

    terms = list(dict.fromkeys(term for path in lists for term in _terms(path)))
    if settings.method == "file":
        vectors = vectors_for(terms, read_vectors(Path(settings.path)))
    else:
        train = train_skipgram if settings.method == "skipgram" else train_cooccurrence
        given: dict[str, Any] = {
            "dimension": settings.dimension,
            "window": settings.window,
            "min_count": settings.min_count,
        }
        vectors = train(
            documents,
            terms,
            seed=settings.seed,
            engine=engine,
            progress=progress,
            **{name: value for name, value in given.items() if value},
        )
    if not len(vectors):
        raise DataError("no term has a vector")
    write_vectors(out, vectors)
    without = len(vectors.missing(terms))
    return {"vectors": len(vectors), "dimension": vectors.dimension, "terms without": without}


def _terms(path: Path) -> Sequence[Term]:
    return read_sets(path).terms if is_set_file(path) else read_vocabulary(path).terms


def _seen(path: Path) -> Sequence[Term]:
    """The terms of a vocabulary; there may be none, as when nothing was rejected."""
    return read_vocabulary(path).terms if path.stat().st_size else ()


def _told(skipped: Skipped) -> Counts:
    """What was left out, for the manifest; nothing if nothing was."""
    told = [
        {
            "problem": problem,
            "count": count,
            "examples": [str(e) for e in skipped.examples[problem]],
        }
        for problem, count in skipped.counts.most_common()
    ]
    return {"skipped": told} if told else {}


def _record(found: Supervision) -> Counts:
    tallies = {"kept": found.kept, **found.dropped}
    return {
        reason: {
            "links": tally.links,
            "mentions": tally.mentions,
            "examples": [[link.surface, link.entity, link.count] for link in tally.examples],
        }
        for reason, tally in tallies.items()
    }


def _too_few(found: Supervision, min_terms: int) -> str:
    lost = max(found.dropped.items(), key=lambda item: item[1].links, default=None)
    why = f"; most links were dropped because: {lost[0]}" if lost else ""
    seen = f"only {len(found.sets)} entities have {min_terms} or more known names in the corpus"
    return f"{seen}, too few to learn from{why}"
