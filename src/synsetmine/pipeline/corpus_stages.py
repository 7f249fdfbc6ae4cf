"""The stages on the corpus: from files to documents, links, training sets, terms and vectors.

Each reads files, writes files, and returns its counts. Every stage is a command of its own too;
both call the functions here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from synsetmine.corpus import corpus_files, read_corpus
from synsetmine.corpus.documents import batch_sizes, write_documents
from synsetmine.corpus.name_lists import read_terms
from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError, ErrorCounts, quantity
from synsetmine.io.sets import is_set_file, read_sets, read_vocabulary, write_sets
from synsetmine.io.tables import write_table
from synsetmine.kb import KnowledgeBase, read_kb
from synsetmine.linking import (
    DictionaryLinker,
    Linker,
    MarkedLinker,
    PubtatorLinker,
    SpotlightLinker,
)
from synsetmine.linking.linkers import id_notes
from synsetmine.linking.supervision import (
    MentionCounter,
    Supervision,
    count_links,
    open_mentions,
    read_links,
    resolve_common,
    split_entities,
    supervise,
    write_links,
)
from synsetmine.normalization import normal_form
from synsetmine.pipeline.settings import (
    CorpusSettings,
    KbSettings,
    LinkSettings,
    SuperviseSettings,
    VectorSettings,
    VocabularySettings,
)
from synsetmine.pipeline.stage_results import (
    KEPT,
    KnowledgeResult,
    LinkResult,
    ReadResult,
    StageContext,
    SuperviseResult,
    VectorsResult,
    VocabularyResult,
    write_tallies,
)
from synsetmine.runs.folder import Artefacts, SkippedRecords
from synsetmine.runs.results import PlaceCounter, PlaceTable
from synsetmine.text.counters import BatchCounter, BatchCounts, count_together
from synsetmine.text.evidence import (
    Abbreviation,
    ConnectionCounter,
    DefinitionCounter,
    EvidenceTable,
    read_evidence,
)
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.phrases import Phrase, RunCounter, RunTable, choose_phrases
from synsetmine.text.vocabulary import (
    FormCounts,
    TermCounter,
    TermTable,
    WordCounter,
    by_frequency,
    candidate_terms,
    term_forms,
    word_variants,
    write_vocabulary,
)
from synsetmine.types import Ambiguous, Document, Progress, Term
from synsetmine.views import read_vectors, write_vectors
from synsetmine.views.vectors import vectors_for

FEW_SETS = 10  # training and held-out sets; with fewer the run says why there are so few


def read_documents(settings: CorpusSettings, context: StageContext) -> ReadResult:
    """Corpus files to one table of documents."""
    out = context.at.documents
    for path in corpus_files(settings.path, settings.format):
        if path.resolve() == out.resolve():
            raise DataError("the command reads this file; name another output file", path=out)
    skipped = ErrorCounts()
    documents = open_corpus(settings, skipped, context.progress)
    written = write_documents(out, _require_documents(documents, settings.path, skipped))
    return ReadResult(documents=written, skipped=_skipped_records(skipped))


def open_corpus(
    settings: CorpusSettings, skipped: ErrorCounts, progress: Progress
) -> Iterator[Document]:
    """The documents of the files."""
    options = dict(vars(settings))
    return read_corpus(options.pop("path"), **options, skipped=skipped, progress=progress)


def _require_documents(
    documents: Iterator[Document], paths: Sequence[str], skipped: ErrorCounts
) -> Iterator[Document]:
    """The documents; that there are none is an error before anything is written."""
    first = next(documents, None)
    if first is None:
        hint = "" if len(skipped) else "name files with text"
        raise DataError(f"no documents{skipped.hint()}", path=", ".join(paths), hint=hint)
    yield first
    yield from documents


def read_knowledge(settings: KbSettings, context: StageContext) -> KnowledgeResult:
    """A knowledge base of any format to our own."""
    skipped = ErrorCounts()
    kb = read_kb(**vars(settings), skipped=skipped, progress=context.progress)
    kb.save(context.at.knowledge)
    left_out = _skipped_records(skipped)
    return KnowledgeResult(entities=len(kb), names=kb.name_count, skipped=left_out)


def link_documents(
    settings: LinkSettings, context: StageContext, *, terms: VocabularySettings | None = None
) -> LinkResult:
    """Documents to mentions and the links they add up to.

    With settings of `terms` the same pass counts what their choice needs.
    """
    at = context.at
    batch_sizes(at.documents)  # a file that is no stored corpus is reported first
    skipped = ErrorCounts()
    notes: list[str] = []
    linker: Linker
    if settings.linker == "dictionary":
        # Which entity is common shows only once the names that are not ambiguous are counted.
        all_senses = settings.ambiguous != "skip"
        linker = DictionaryLinker.open(
            at.knowledge,
            at.matcher,
            ambiguous="senses" if all_senses else "skip",
            compounds=settings.compounds,
        )
    elif settings.linker == "spotlight":
        names = ("url", "confidence", "support", "concurrency", "per_second")
        options = {name: getattr(settings, name) for name in names}
        linker = SpotlightLinker(cache=at.spotlight_cache, **options)
        skipped = linker.skipped
        context = replace(context, engine=LocalEngine(1))
    elif settings.linker == "pubtator":
        kb = KnowledgeBase.load(at.knowledge)
        linker = PubtatorLinker(kb)
        notes += id_notes(at.documents, kb)
    else:
        linker = MarkedLinker(KnowledgeBase.load(at.knowledge))
    total = count_texts(terms, context, linker=linker)
    if settings.linker == "dictionary" and settings.ambiguous == "common":
        total = resolve_common(at.mentions)
    links = count_links(at.mentions, engine=context.engine)
    write_links(at.links, links)
    if not links:
        notes.append(
            f"the {settings.linker} linker found no mention of an entity; check that corpus and "
            "knowledge base have the same subject and language"
        )
    left_out = _skipped_records(skipped)
    return LinkResult(mentions=total, links=len(links), skipped=left_out, notes=notes)


def count_texts(
    terms: VocabularySettings | None, context: StageContext, *, linker: Linker | None = None
) -> int:
    """Read the corpus once: its mentions, and its words, abbreviations and runs of words.

    Runs that occur less than `min_count` times are left out. Returns the number of mentions.
    """
    at = context.at
    counters: dict[str, BatchCounter] = {}
    if linker is not None:
        counters["mentions"] = MentionCounter(linker)
    if terms is not None:
        counters |= {"words": WordCounter(), "abbreviations": DefinitionCounter()}
        if terms.mines_phrases:
            counters["runs"] = RunCounter()
    words, abbreviations, runs = FormCounts(), EvidenceTable(), RunTable()
    total = 0
    with nullcontext() if linker is None else open_mentions(at.mentions) as write:
        for batch in _count(counters, context):
            tables = batch.tables
            if write is not None:
                total += write(tables["mentions"], batch.first)
            if terms is not None:
                words.add(tables["words"])
                abbreviations.add(tables["abbreviations"])
                if terms.mines_phrases:
                    runs.add(tables["runs"], first=batch.first)
    if terms is not None:
        words.save(at.words)
        write_table(at.abbreviations, abbreviations.table())
        if terms.mines_phrases:
            runs.drop_below(terms.min_count)
            runs.save(at.runs)
    return total


def _count(
    counters: Mapping[str, BatchCounter], context: StageContext, matcher: NameMatcher | None = None
) -> Iterator[BatchCounts]:
    documents = context.at.documents
    size = sum(batch_sizes(documents))
    return count_together(
        documents,
        counters,
        matcher=matcher,
        engine=context.engine,
        progress=lambda done: context.progress(done, size),
    )


def supervise_links(
    settings: SuperviseSettings, ambiguous: Ambiguous, at: Artefacts
) -> SuperviseResult:
    """Links to training sets and held-out test sets, by entity."""
    supervision = supervise(
        read_links(at.links),
        KnowledgeBase.load(at.knowledge),
        min_count=settings.min_count,
        min_terms=settings.min_terms,
        ambiguous=ambiguous,
    )
    tallies = {KEPT: supervision.kept, **supervision.dropped}
    write_tallies(at.supervision, tallies)
    training, test = split_entities(supervision.sets, settings.held_out, seed=settings.seed)
    write_sets(at.training, training)
    write_sets(at.test, test)
    write_vocabulary(at.names, supervision.counts)
    write_vocabulary(at.rejected, supervision.rejected)
    write_sets(at.alone, supervision.alone)
    few = len(supervision.sets) < FEW_SETS
    return SuperviseResult(
        training_sets=len(training),
        test_sets=len(test),
        known_terms=len(supervision.counts),
        rejected=len(supervision.rejected),
        tallies=tallies,
        notes=[_too_few_sets(supervision, settings.min_terms)] if few else [],
    )


def choose_vocabulary(
    settings: VocabularySettings, context: StageContext, *, vectors: VectorSettings | None
) -> VocabularyResult:
    """The terms to mine, most frequent first, counted in one pass over the corpus.

    The terms of a list are mined however rare they are. Terms that are neither known nor listed
    are chosen only if half of their places, or `min_count` of them, have sound borders.

    Linked names that are no terms to mine take part in the pass: no shorter name is counted
    within them, and they have evidence too.

    With settings of `vectors` the pass also collects evidence, the places of the terms, and the
    counts that co-occurrence vectors need.
    """
    at, skipped = context.at, ErrorCounts()
    known = _read_terms(at.names)
    sources = _sources(settings, at, known, skipped)
    terms = candidate_terms(*sources.values())
    linked = [Term(link.surface) for link in read_links(at.links)]
    forms = term_forms([*terms, *known, *linked])
    totals = _count_terms(forms, context, vectors)
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
        raise DataError(
            f"the corpus has no term {settings.min_count} times or more",
            hint="lower min_count of [vocabulary], or name a larger corpus",
        )
    write_vocabulary(at.vocabulary, chosen)
    sizes = {name: len(source) for name, source in sources.items()}
    return VocabularyResult(terms=len(chosen), figures=sizes, skipped=_skipped_records(skipped))


def _count_terms(
    forms: Sequence[str], context: StageContext, vectors: VectorSettings | None
) -> TermTable:
    """How often each form occurs in the corpus, and how it is written."""
    at = context.at
    counters: dict[str, BatchCounter] = {"terms": TermCounter()}
    if vectors is not None:
        counters |= {"connections": ConnectionCounter(forms), "places": PlaceCounter()}
        evidence, places = EvidenceTable(), PlaceTable(forms)
        evidence.add(read_evidence(at.abbreviations).table)
        if vectors.method == "cooccurrence":
            from synsetmine.views.cooccurrence import Cooccurrence, NeighbourCounter

            options = _options_of(vectors, "window", "min_count")
            counter = NeighbourCounter.of(forms, FormCounts.load(at.words).counts, **options)
            counters["neighbours"] = counter
            cooccurrence = Cooccurrence(counter.units)
    totals = TermTable(forms)
    for batch in _count(counters, context, NameMatcher.build(forms)):
        tables = batch.tables
        totals.add(tables["terms"])
        if vectors is not None:
            evidence.add(tables["connections"])
            places.add(tables["places"], first=batch.first)
            if "neighbours" in tables:
                cooccurrence.add(tables["neighbours"], first=batch.first, size=batch.size)
    if vectors is not None:
        write_table(at.evidence, evidence.table())
        places.write(at.places)
        if "neighbours" in counters:
            cooccurrence.save(at.cooccurrence)
    return totals


def _sources(
    settings: VocabularySettings, at: Artefacts, known: Sequence[Term], skipped: ErrorCounts
) -> dict[str, Sequence[Term]]:
    """Where the terms of a vocabulary come from."""
    listed: dict[str, Sequence[Term]] = {}
    if settings.list:
        listed["listed"] = _read_list(settings, known, skipped)
    if settings.only_list:
        return listed
    phrases: Sequence[Phrase] = ()
    if settings.mines_phrases:
        phrases = choose_phrases(
            RunTable.load(at.runs).phrases(at.documents, min_count=settings.min_count),
            known=term_forms(known),
            most=settings.phrases,
        )
    variants: Sequence[Term] = ()
    if settings.known:
        kb = KnowledgeBase.load(at.knowledge) if at.knowledge.exists() else None
        forms = term_forms(known) if kb is None else kb.forms.to_pylist()
        words = FormCounts.load(at.words).counts
        variants = word_variants(words, forms, min_count=settings.min_count)
    abbreviations: Sequence[Term] = ()
    if settings.abbreviations:
        abbreviations = _abbreviations(read_evidence(at.abbreviations).abbreviations())
    return {
        "known": known if settings.known else (),
        "rejected": _read_terms(at.rejected) if settings.rejected else (),
        "variants": variants,
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


def _read_list(
    settings: VocabularySettings, known: Sequence[Term], skipped: ErrorCounts
) -> list[Term]:
    """The terms of a person's list, known names as they are written elsewhere in the run."""
    written = {normal_form(term.surface): term for term in known}
    terms = read_terms(settings.list, column=settings.name_column, skipped=skipped).terms
    return [written.get(normal_form(term.surface), term) for term in terms]


def make_vectors(
    settings: VectorSettings, context: StageContext, lists: Sequence[Path], *, has_counts: bool
) -> VectorsResult:
    """A vector for each term of these vocabularies and sets, from the corpus or from a file.

    With `has_counts` the neighbours of the terms are known, and the text is not read again.
    """
    from synsetmine.views.cooccurrence import (  # scipy: the other stages need none
        Cooccurrence,
        cooccurrence_vectors,
        train_cooccurrence,
    )
    from synsetmine.views.skipgram import train_skipgram

    at = context.at
    terms = list(dict.fromkeys(term for path in lists for term in _terms(path)))
    if settings.method == "file":
        vectors = vectors_for(terms, read_vectors(Path(settings.path)))
    elif settings.method == "cooccurrence" and has_counts:
        counts = Cooccurrence.load(at.cooccurrence)
        options = _options_of(settings, "dimension", "min_count")
        vectors = cooccurrence_vectors(counts, terms, seed=settings.seed, **options)
    else:
        train = train_skipgram if settings.method == "skipgram" else train_cooccurrence
        vectors = train(
            at.documents,
            terms,
            seed=settings.seed,
            engine=context.engine,
            progress=context.progress,
            **_options_of(settings, "dimension", "window", "min_count"),
        )
    if not len(vectors):
        raise DataError("no term has a vector")
    write_vectors(at.vectors, vectors)
    without = len(vectors.missing(terms))
    return VectorsResult(vectors=len(vectors), dimension=vectors.dimension, without=without)


def _options_of(settings: VectorSettings, *names: str) -> dict[str, Any]:
    """These settings, without those whose 0 means the default of the method."""
    return {name: value for name in names if (value := getattr(settings, name))}


def _terms(path: Path) -> Sequence[Term]:
    """The terms of a file; there may be no training or test set."""
    if is_set_file(path):
        return read_sets(path, allow_empty=True).terms
    return read_vocabulary(path).terms


def _read_terms(path: Path) -> Sequence[Term]:
    """The terms of a vocabulary; there may be none, as when nothing was rejected."""
    return read_vocabulary(path, allow_empty=True).terms


def _skipped_records(skipped: ErrorCounts) -> list[SkippedRecords]:
    return [
        SkippedRecords(problem, count, [str(e) for e in skipped.examples[problem]])
        for problem, count in skipped.counts.most_common()
    ]


def _too_few_sets(supervision: Supervision, min_terms: int) -> str:
    lost = max(supervision.dropped.items(), key=lambda item: item[1].links, default=None)
    why = f"; most links were dropped because: {lost[0]}" if lost else ""
    entities = quantity(count := len(supervision.sets), "entity")
    verb = "has" if count == 1 else "have"
    seen = f"only {entities} {verb} {min_terms} or more known names in the corpus"
    return f"{seen}, which is little training data{why}"
