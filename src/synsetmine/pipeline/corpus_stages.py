"""The stages on the corpus: from files to documents, links, training sets, terms and vectors.

Each reads files, writes files, and returns counts for the manifest. Every stage is a command of
its own too; both call the functions here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synsetmine.corpus import corpus_files, read_corpus
from synsetmine.corpus.documents import batch_sizes, write_documents
from synsetmine.engines import Engine, LocalEngine
from synsetmine.errors import DataError, Skipped
from synsetmine.io.files import write_text
from synsetmine.io.sets import is_set_file, read_sets, read_vocabulary, write_sets
from synsetmine.kb import KnowledgeBase, read_kb
from synsetmine.linking import (
    DictionaryLinker,
    Linker,
    MarkedLinker,
    PubtatorLinker,
    SpotlightLinker,
)
from synsetmine.linking.identifiers import id_notes
from synsetmine.linking.mentions import (
    MentionCounter,
    count_links,
    open_mentions,
    read_links,
    resolve_common,
    write_links,
)
from synsetmine.linking.supervision import Supervision, split_entities, supervise
from synsetmine.normalization import normal_form
from synsetmine.pipeline.settings import (
    CorpusSettings,
    KbSettings,
    LinkSettings,
    SuperviseSettings,
    VectorSettings,
    VocabularySettings,
)
from synsetmine.runs.folder import SkippedRecords, StageResult
from synsetmine.runs.sentences import PlaceCounter, PlaceTable
from synsetmine.text.counters import BatchCounter, count_together
from synsetmine.text.evidence import (
    Abbreviation,
    ConnectionCounter,
    DefinitionCounter,
    EvidenceTable,
    read_evidence,
    write_evidence,
)
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.phrases import Phrase, RunCounter, RunTable, choose_phrases
from synsetmine.text.units import FormCounts, WordCounter
from synsetmine.text.vocabulary import (
    TermCounter,
    TermTable,
    by_frequency,
    candidate_terms,
    term_forms,
    write_vocabulary,
)
from synsetmine.types import Ambiguous, Document, Progress, Term
from synsetmine.views import read_vectors, write_vectors
from synsetmine.views.vectors import vectors_for

FEW_SETS = 10  # training and held-out sets; with fewer the run says why there are so few


def read_documents(settings: CorpusSettings, out: Path, progress: Progress) -> StageResult:
    """Corpus files to one table of documents."""
    for path in corpus_files(settings.path, settings.format):
        if path.resolve() == out.resolve():
            raise DataError("the command reads this file; name another output", path=out)
    skipped = Skipped()
    documents = read_corpus(
        settings.path,
        format=settings.format,
        text_field=settings.text_field,
        id_field=settings.id_field,
        skipped=skipped,
        progress=progress,
    )
    written = write_documents(out, _some(documents, settings.path, skipped))
    return StageResult({"documents": written}, _skipped(skipped))


def _some(
    documents: Iterator[Document], paths: Sequence[str], skipped: Skipped
) -> Iterator[Document]:
    """The documents; that there are none is an error before anything is written."""
    first = next(documents, None)
    if first is None:
        raise DataError(f"no documents{skipped.hint()}", path=", ".join(paths))
    yield first
    yield from documents


def read_knowledge(settings: KbSettings, out: Path, progress: Progress) -> StageResult:
    """A knowledge base of any form to our own."""
    skipped = Skipped()
    kb = read_kb(
        Path(settings.path),
        format=settings.format,
        language=settings.language,
        sources=settings.sources,
        keep_suppressed=settings.keep_suppressed,
        anchors=settings.anchors,
        skipped=skipped,
        progress=progress,
    )
    kb.save(out)
    return StageResult({"entities": len(kb), "names": kb.name_count}, _skipped(skipped))


@dataclass(frozen=True)
class TextCounts:
    """Files with what one pass over the texts counted, for the vocabulary."""

    words: Path
    abbreviations: Path
    runs: Path | None = None  # of words, for phrases


def link_documents(
    settings: LinkSettings,
    documents: Path,
    knowledge: Path,
    *,
    mentions: Path,
    links: Path,
    matcher: Path,
    cache: Path,
    texts: TextCounts | None = None,
    min_count: int = 1,
    engine: Engine,
    progress: Progress,
) -> StageResult:
    """Documents to mentions and the links they add up to, and to `texts` in the same pass."""
    batch_sizes(documents)  # a file that is no stored corpus is reported first
    skipped = Skipped()
    notes: list[str] = []
    linker: Linker
    if settings.linker == "dictionary":
        # Which entity is common shows only once the names that are not ambiguous are counted.
        all_senses = settings.ambiguous != "skip"
        linker = DictionaryLinker.open(
            knowledge, matcher, ambiguous="senses" if all_senses else "skip"
        )
    elif settings.linker == "spotlight":
        linker = SpotlightLinker(
            url=settings.url,
            confidence=settings.confidence,
            support=settings.support,
            concurrency=settings.concurrency,
            per_second=settings.per_second,
            cache=cache,
        )
        skipped = linker.skipped
        engine = LocalEngine(1)
    elif settings.linker == "pubtator":
        kb = KnowledgeBase.load(knowledge)
        linker = PubtatorLinker(kb)
        notes += id_notes(documents, kb)
    else:
        linker = MarkedLinker(KnowledgeBase.load(knowledge))
    total = count_texts(
        documents,
        texts,
        linker=linker,
        mentions=mentions,
        min_count=min_count,
        engine=engine,
        progress=progress,
    )
    if settings.linker == "dictionary" and settings.ambiguous == "common":
        total = resolve_common(mentions)
    counted = count_links(mentions, engine=engine)
    write_links(links, counted)
    if not counted:
        notes.append(f"the {settings.linker} linker found no mention of an entity")
    return StageResult({"mentions": total, "links": len(counted)}, _skipped(skipped), notes)


def count_texts(
    documents: Path,
    texts: TextCounts | None,
    *,
    linker: Linker | None = None,
    mentions: Path | None = None,
    min_count: int = 1,
    engine: Engine,
    progress: Progress,
) -> int:
    """Read the corpus once for its mentions, words, abbreviations and runs of words.

    Runs that occur less than `min_count` times are left out. Returns the number of mentions.
    """
    counters: dict[str, BatchCounter] = {}
    if linker is not None:
        counters["mentions"] = MentionCounter(linker)
    if texts is not None:
        counters |= {"words": WordCounter(), "abbreviations": DefinitionCounter()}
        if texts.runs is not None:
            counters["runs"] = RunCounter()
    words, abbreviations, runs = FormCounts(), EvidenceTable(), RunTable()
    size = sum(batch_sizes(documents))
    total = 0
    with nullcontext() if mentions is None else open_mentions(mentions) as write:
        for counted in count_together(
            documents, counters, engine=engine, progress=lambda done: progress(done, size)
        ):
            tables = counted.tables
            if write is not None:
                total += write(tables["mentions"], counted.first)
            if texts is not None:
                words.add(tables["words"])
                abbreviations.add(tables["abbreviations"])
                if texts.runs is not None:
                    runs.add(tables["runs"], first=counted.first)
    if texts is not None:
        words.save(texts.words)
        write_evidence(texts.abbreviations, abbreviations.table())
        if texts.runs is not None:
            runs.drop_below(min_count)
            runs.save(texts.runs)
    return total


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
) -> StageResult:
    """Links to training sets and held-out test sets, by entity."""
    found = supervise(
        read_links(links),
        KnowledgeBase.load(knowledge),
        min_count=settings.min_count,
        min_terms=settings.min_terms,
        ambiguous=ambiguous,
    )
    write_text(record, json.dumps(_record(found), indent=2, ensure_ascii=False) + "\n")
    for_training, for_test = split_entities(found.sets, settings.held_out, seed=settings.seed)
    write_sets(training, for_training)
    write_sets(test, for_test)
    write_vocabulary(names, found.counts)
    write_vocabulary(rejected, found.rejected)
    write_sets(alone, found.alone)
    return StageResult(
        {
            "training sets": len(for_training),
            "test sets": len(for_test),
            "known terms": len(found.counts),
            "rejected surfaces": len(found.rejected),
        },
        notes=[_few(found, settings.min_terms)] if len(found.sets) < FEW_SETS else [],
    )


@dataclass(frozen=True)
class TermDetails:
    """Files with what the pass over the terms of a vocabulary found beside their counts."""

    evidence: Path
    places: Path
    cooccurrence: Path | None = None  # for vectors of that method


def choose_vocabulary(
    settings: VocabularySettings,
    documents: Path,
    texts: TextCounts,
    out: Path,
    *,
    names: Path | None = None,
    rejected: Path | None = None,
    links: Path | None = None,
    details: TermDetails | None = None,
    vectors: VectorSettings | None = None,
    engine: Engine,
    progress: Progress,
) -> StageResult:
    """The terms to mine, most frequent first, and what the corpus says of them, in one pass.

    The terms of a list are mined however rare they are. Terms that are neither known nor listed
    are chosen only if half of their places, or `min_count` of them, have sound borders.

    Linked names that are no terms to mine take part in the pass: no shorter name is counted
    within them, and they have evidence too.
    """
    skipped = Skipped()
    known = _seen(names) if names else ()
    sources = _sources(settings, documents, texts, known, rejected, skipped)
    terms = candidate_terms(*sources.values())
    linked = [Term(link.surface) for link in read_links(links)] if links else []
    forms = term_forms([*terms, *known, *linked])
    totals = _count_terms(
        documents, forms, texts, details, vectors or VectorSettings(), engine, progress
    )
    counts, whole, spellings = totals.counts, totals.whole_counts, totals.spellings
    written = frozenset(term_forms([*known, *sources.get("listed", ())]))
    chosen = by_frequency(
        {
            term if form in written else Term(spellings[form]): counts[form]
            for term in terms
            if (form := normal_form(term.surface)) in written
            or (form in spellings and whole[form] >= min(settings.min_count, counts[form] / 2))
        },
        min_count=settings.min_count,
        max_terms=settings.max_terms,
        always=term_forms(sources.get("listed", ())),
    )
    if not chosen:
        raise DataError(f"no term is seen {settings.min_count} times or more; lower min_count")
    write_vocabulary(out, chosen)
    sizes = {name: len(source) for name, source in sources.items()}
    return StageResult({"terms": len(chosen), **sizes}, _skipped(skipped))


def _count_terms(
    documents: Path,
    forms: Sequence[str],
    texts: TextCounts,
    details: TermDetails | None,
    vectors: VectorSettings,
    engine: Engine,
    progress: Progress,
) -> TermTable:
    """How often each form stands in the corpus, and how it is written."""
    counters: dict[str, BatchCounter] = {"terms": TermCounter()}
    if details is not None:
        counters |= {"connections": ConnectionCounter(forms), "places": PlaceCounter()}
        evidence, places = EvidenceTable(), PlaceTable(forms)
        evidence.add(read_evidence(texts.abbreviations).table)
        if details.cooccurrence is not None:
            from synsetmine.views.cooccurrence import Cooccurrence, NeighbourCounter

            options: dict[str, Any] = {"window": vectors.window, "min_count": vectors.min_count}
            counter = NeighbourCounter.of(
                forms,
                FormCounts.load(texts.words).counts,
                **{name: value for name, value in options.items() if value},
            )
            counters["neighbours"] = counter
            cooccurrence = Cooccurrence(counter.units)
    totals = TermTable(forms)
    size = sum(batch_sizes(documents))
    for counted in count_together(
        documents,
        counters,
        matcher=NameMatcher.build(forms),
        engine=engine,
        progress=lambda done: progress(done, size),
    ):
        tables = counted.tables
        totals.add(tables["terms"])
        if details is not None:
            evidence.add(tables["connections"])
            places.add(tables["places"], first=counted.first)
            if details.cooccurrence is not None:
                cooccurrence.add(tables["neighbours"], first=counted.first, size=counted.size)
    if details is not None:
        write_evidence(details.evidence, evidence.table())
        places.write(details.places)
        if details.cooccurrence is not None:
            cooccurrence.save(details.cooccurrence)
    return totals


def _sources(
    settings: VocabularySettings,
    documents: Path,
    texts: TextCounts,
    known: Sequence[Term],
    rejected: Path | None,
    skipped: Skipped,
) -> dict[str, Sequence[Term]]:
    """Where the terms of a vocabulary come from."""
    listed: dict[str, Sequence[Term]] = {}
    if settings.list:
        listed["listed"] = _listed(Path(settings.list), known, skipped)
    if settings.only_list:
        return listed
    phrases: Sequence[Phrase] = ()
    if settings.phrases and texts.runs is not None:
        runs = RunTable.load(texts.runs)
        phrases = choose_phrases(
            runs.phrases(documents, min_count=settings.min_count),
            known=term_forms(known),
            most=settings.phrases,
        )
    abbreviations: Sequence[Term] = ()
    if settings.abbreviations:
        abbreviations = _abbreviations(read_evidence(texts.abbreviations).abbreviations())
    return {
        "known": known if settings.known else (),
        "rejected": _seen(rejected) if settings.rejected and rejected else (),
        "phrases": [Term(phrase.surface) for phrase in phrases],
        "abbreviations": abbreviations,
        **listed,
    }


def _abbreviations(defined: Sequence[Abbreviation]) -> list[Term]:
    """The short and long forms that are names; a common word must be defined in two documents."""
    return [
        Term(form)
        for entry in defined
        for form in (entry.short, entry.long)
        if entry.documents > 1 or " " in form or sum(c.isupper() or c.isdigit() for c in form) > 1
    ]


def _listed(path: Path, known: Sequence[Term], skipped: Skipped) -> list[Term]:
    """The terms of a person's list, known names as they are written elsewhere in the run."""
    written = {normal_form(term.surface): term for term in known}
    terms = read_vocabulary(path, skipped=skipped).terms
    return [written.get(normal_form(term.surface), term) for term in terms]


def make_vectors(
    settings: VectorSettings,
    documents: Path,
    lists: Sequence[Path],
    out: Path,
    *,
    cooccurrence: Path | None = None,
    engine: Engine,
    progress: Progress,
) -> StageResult:
    """A vector for each term of these vocabularies and sets, from the corpus or from a file.

    Where `cooccurrence` has the counts of a corpus, its text is not read.
    """
    from synsetmine.views.cooccurrence import (  # scipy: the other stages need none
        Cooccurrence,
        cooccurrence_vectors,
        train_cooccurrence,
    )
    from synsetmine.views.skipgram import train_skipgram

    terms = list(dict.fromkeys(term for path in lists for term in _terms(path)))
    options: dict[str, Any] = {
        name: value
        for name in ("dimension", "window", "min_count")
        if (value := getattr(settings, name))
    }
    if settings.method == "file":
        vectors = vectors_for(terms, read_vectors(Path(settings.path)))
    elif settings.method == "cooccurrence" and cooccurrence is not None:
        options.pop("window", None)
        counts = Cooccurrence.load(cooccurrence)
        vectors = cooccurrence_vectors(counts, terms, seed=settings.seed, **options)
    else:
        train = train_skipgram if settings.method == "skipgram" else train_cooccurrence
        vectors = train(
            documents, terms, seed=settings.seed, engine=engine, progress=progress, **options
        )
    if not len(vectors):
        raise DataError("no term has a vector")
    write_vectors(out, vectors)
    without = len(vectors.missing(terms))
    return StageResult(
        {"vectors": len(vectors), "dimension": vectors.dimension, "terms without": without}
    )


def _terms(path: Path) -> Sequence[Term]:
    """The terms of a file; there may be no training or test set."""
    if is_set_file(path):
        return read_sets(path, allow_empty=True).terms
    return read_vocabulary(path).terms


def _seen(path: Path) -> Sequence[Term]:
    """The terms of a vocabulary; there may be none, as when nothing was rejected."""
    return read_vocabulary(path, allow_empty=True).terms


def _skipped(skipped: Skipped) -> list[SkippedRecords]:
    return [
        SkippedRecords(problem, count, [str(e) for e in skipped.examples[problem]])
        for problem, count in skipped.counts.most_common()
    ]


def _record(found: Supervision) -> dict[str, Any]:
    tallies = {"kept": found.kept, **found.dropped}
    return {
        reason: {
            "links": tally.links,
            "mentions": tally.mentions,
            "examples": [[link.surface, link.entity, link.count] for link in tally.examples],
        }
        for reason, tally in tallies.items()
    }


def _few(found: Supervision, min_terms: int) -> str:
    lost = max(found.dropped.items(), key=lambda item: item[1].links, default=None)
    why = f"; most links were dropped because: {lost[0]}" if lost else ""
    seen = f"only {len(found.sets)} entities have {min_terms} or more known names in the corpus"
    return f"{seen}, little training data{why}"
