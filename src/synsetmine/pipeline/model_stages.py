"""The stages on the model: encoding, training, mining, and scores on the entities held out."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from synsetmine.io.files import cache_root, write_text
from synsetmine.io.sets import Vocabulary, lasting_ids, read_sets, read_vocabulary, write_sets
from synsetmine.io.traces import write_trace
from synsetmine.kb import KnowledgeBase
from synsetmine.linking.supervision import known_sets
from synsetmine.metrics import ClusterReport, evaluate
from synsetmine.models import (
    MiningResult,
    ModelSettings,
    StoredModel,
    TrainingResult,
    TrainingStep,
    generate_sets,
    load_model,
    save_model,
)
from synsetmine.models.known import write_candidates
from synsetmine.pipeline.new_names import NewNames, describe_joins
from synsetmine.pipeline.settings import EncoderSettings, EvaluateSettings, MineSettings
from synsetmine.review.decisions import read_decisions, write_decisions
from synsetmine.review.feedback import Constraints, seed_sets, training_sets
from synsetmine.review.store import read_store
from synsetmine.runs.folder import Artefacts, StageResult
from synsetmine.text.evidence import read_evidence
from synsetmine.types import Progress, SynonymSets, Term, order_terms
from synsetmine.views import (
    TermVectors,
    TermViews,
    encode_terms,
    find_encoder,
    read_vectors,
    write_vectors,
)
from synsetmine.views.encoder import kept_name, learned_surfaces

CHECKPOINT = "checkpoint.safetensors"
NO_SETS = SynonymSets((), ())
THRESHOLDS = tuple(round(0.1 * i, 1) for i in range(1, 10))
FEW_TEST_SETS = 10  # the scores of fewer are rough
SCORES = ("ari", "fmi", "nmi", "pair_precision", "pair_recall", "pair_f1", "bcubed_f1")

NotedProgress = Callable[[int, int, str], None]  # done, of how much, a few words


def write_reviews(at: Artefacts) -> list[Path]:
    """Write the decisions of reviewers to a file, if there are any; the files written, one or none.

    A stage is known by the content of its inputs, and that of a database says little.
    """
    decisions = read_store(at.reviews) if at.reviews.exists() else []
    if not decisions:
        return []
    write_decisions(at.decisions, decisions)
    return [at.decisions]


def read_constraints(reviews: Sequence[Path]) -> Constraints:
    """What people said in these files."""
    return Constraints.from_decisions(
        decision for path in reviews for decision in read_decisions(path)
    )


def _review_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """The reviews that a stage took in, for its counts."""
    return {f"reviewed {what}": count for what, count in counts.items()}


def encode_known(
    settings: EncoderSettings, at: Artefacts, *, device: str, progress: Progress
) -> StageResult:
    """The encoder's vectors of all terms; without an encoder there is nothing to do."""
    if not settings.model:
        at.encoded.unlink(missing_ok=True)  # of an earlier run
        return StageResult()
    terms = [*read_vocabulary(at.vocabulary).terms, *_read_partition(*at.known, at.test).terms]
    vectors = encode(settings.model, terms, device=device, progress=progress)
    write_vectors(at.encoded, vectors)
    return StageResult({"vectors": len(vectors), "dimension": vectors.dimension})


def encode(encoder: str, terms: Sequence[Term], *, device: str, progress: Progress) -> TermVectors:
    """The encoder's vectors of the terms, from the user's cache where they are known."""
    cache = cache_root() / "encoders"
    return encode_terms(terms, find_encoder(encoder), cache=cache, device=device, progress=progress)


def train_model(
    settings: ModelSettings,
    encoder: EncoderSettings,
    at: Artefacts,
    *,
    reviews: Sequence[Path],
    device: str,
    progress: NotedProgress,
) -> StageResult:
    """Train a model; training that was interrupted resumes.

    Reviews add to the training sets, but nothing on the entities held out.
    """
    informed = training_sets(
        read_sets(at.training, allow_empty=True),
        read_constraints(reviews),
        held_out=read_sets(at.test, allow_empty=True),
    )
    views = _read_views(at)
    if encoder.model:
        views = replace(views, learned=learned_surfaces(find_encoder(encoder.model)))

    def on_step(step: TrainingStep) -> None:
        progress(step.done, step.total, step.note)

    trained = train_to_folder(
        settings,
        informed.sets,
        views,
        at.model,
        encoder=encoder.model or None,
        device=device,
        replace_checkpoint=True,
        on_step=on_step,
    )
    return StageResult(
        {**trained.figures, **_review_counts(informed.counts)}, notes=trained.warnings
    )


def train_to_folder(
    settings: ModelSettings,
    sets: SynonymSets,
    views: TermViews,
    folder: Path,
    *,
    encoder: str | None,
    record: Mapping[str, Any] | None = None,
    device: str,
    replace_checkpoint: bool,
    on_step: Callable[[TrainingStep], None],
) -> TrainingResult:
    """Train a model and store it with the name of its encoder and a record of its inputs.

    A checkpoint in the folder is where training that was interrupted goes on.
    """
    trained = settings.train(
        sets,
        views,
        device=device,
        checkpoint=folder / CHECKPOINT,
        replace_checkpoint=replace_checkpoint,
        on_step=on_step,
    )
    named = {} if encoder is None else {"encoder": kept_name(encoder)}
    training = {**named, **(record or {}), **trained.model.training}
    save_model(folder, replace(trained.model, training=training))
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return trained


def mine_sets(
    settings: MineSettings,
    at: Artefacts,
    *,
    reviews: Sequence[Path],
    device: str,
    progress: Progress,
) -> StageResult:
    """A vocabulary to synonym sets; the entities' names seed them, ids of an earlier run stay.

    All names of the knowledge base take part, also those that the corpus lacks. What people
    called correct is a seed too; terms that they separated cannot be linked. Entities without a
    name in the corpus that no term joined are not written.
    """
    constraints = read_constraints(reviews)
    in_corpus = _read_partition(*at.known, at.test)
    vocabulary = read_vocabulary(at.vocabulary)
    names = NO_SETS
    if settings.known:
        kb = KnowledgeBase.load(at.knowledge)
        names = known_sets(kb, in_corpus, vocabulary=vocabulary.terms)
    informed = seed_sets(names, constraints)
    seeds = informed.sets
    mined = mine_terms(
        load_model(at.model),
        _read_views(at, evidence=True),
        order_vocabulary(vocabulary, settings),
        settings,
        seeds=seeds,
        cannot_link=constraints.cannot_link,
        earlier=read_sets(at.mined) if at.mined.exists() else None,
        device=device,
        progress=progress,
    )
    write_candidates(at.candidates, mined.known)
    new = NewNames.of(mined, seeds)
    write_text(at.rehearsal, json.dumps(new.to_dict(), indent=2) + "\n")
    here = {*in_corpus.terms, *vocabulary.terms, *constraints.must_link.terms}
    write_sets(at.mined, _in_corpus(mined.sets, seeds, here))
    write_trace(at.trace, mined.trace)
    counts = {**new.counts, "without vector": len(mined.without_vector)}
    if mined.giant:
        counts["in one set"] = mined.giant
    return StageResult(
        counts | _review_counts(informed.counts), notes=mining_notes(mined), summary=new.sentences
    )


def mine_terms(
    model: StoredModel,
    views: TermViews,
    terms: Sequence[Term],
    settings: MineSettings,
    *,
    seeds: SynonymSets = NO_SETS,
    cannot_link: Iterable[tuple[Term, Term]] = (),
    max_sets: int | None = None,
    earlier: SynonymSets | None = None,
    device: str,
    progress: Progress,
) -> MiningResult:
    """Mine terms in this order; the trace describes each new name.

    Sets that are those of `earlier` keep their ids.
    """
    mined = generate_sets(
        model,
        views,
        terms,
        threshold=model.threshold if settings.threshold is None else settings.threshold,
        known_threshold=settings.known_threshold,
        max_sets=max_sets,
        seeds=seeds,
        cannot_link=cannot_link,
        device=device,
        progress=progress,
    )
    mined = describe_joins(mined, views.evidence)
    return mined.renamed(lasting_ids(mined.sets, fixed=seeds.ids, earlier=earlier))


def mining_notes(mined: MiningResult) -> list[str]:
    """Warnings on a result."""
    if not mined.giant:
        return []
    return [
        f"one set has {mined.giant:,} terms that the model does not separate: the vectors may "
        "carry too little information, or the threshold may be too low"
    ]


def _in_corpus(sets: SynonymSets, seeds: SynonymSets, here: Container[Term]) -> SynonymSets:
    """The sets without those seeds that have no name `here` and no new term."""
    return sets.pick(
        number
        for number, members in enumerate(sets)
        if any(term in here or term not in seeds for term in members)
    )


def score_held_out(
    settings: EvaluateSettings,
    mining: MineSettings,
    at: Artefacts,
    *,
    device: str,
    progress: Progress,
) -> StageResult:
    """How well the sets of the entities held out are found again.

    Twice: among the whole vocabulary, the training sets known as in mining (the real task), and
    on their own in random orders (the paper's task), there with other thresholds too. In the
    first, a term that joins another entity's names is an error. Without entities held out there
    are no scores.
    """
    gold = read_sets(at.test, allow_empty=True)
    stored, views = load_model(at.model), _read_views(at, evidence=True)
    threshold = stored.threshold if mining.threshold is None else mining.threshold
    scores: dict[str, Any] = {
        "test sets": len(gold),
        "test terms": len(gold.terms),
        "threshold": threshold,
    }
    if not gold:
        write_text(at.scores, json.dumps(scores, indent=2) + "\n")
        note = "no entity could be held out, so there are no scores"
        return StageResult({"test sets": 0}, notes=[note])
    terms = read_vocabulary(at.vocabulary)
    others = known_sets(
        KnowledgeBase.load(at.knowledge),
        _read_partition(*at.known, at.test),
        vocabulary=terms.terms,
        without=frozenset(gold.ids),
    )
    # Test terms that are too rare for the vocabulary come last; in their sets' order they would
    # stand beside their synonyms, and that would leak.
    rare = [term for term in order_terms(gold.terms, "random") if term not in terms.counts]
    among_all = generate_sets(
        stored,
        views,
        [*order_vocabulary(terms, mining), *rare],
        threshold=threshold,
        known_threshold=mining.known_threshold,
        seeds=others if mining.known else NO_SETS,
        device=device,
        progress=progress,
    )
    among = evaluate(among_all.sets, gold, known=others)
    exact = [members for members in among_all.sets if frozenset(members) in gold.partition]
    orders = [order_terms(gold.terms, "random", seed=i) for i in range(settings.orders)]
    prepared = stored.prepare(orders[0], views, device=device)
    alone = [
        evaluate(prepared.generate(order=order, threshold=threshold).sets, gold) for order in orders
    ]
    curve = {θ: evaluate(prepared.generate(threshold=θ).sets, gold) for θ in THRESHOLDS}
    scores |= {
        "test terms too rare for the vocabulary": len(rare),
        "test terms that the encoder was tuned on": _tuned_on(stored, gold.terms),
        "among all terms": among.to_dict(),
        "found exactly": [[str(term) for term in members] for members in exact],
        "on their own": {name: _mean_and_spread(alone, name) for name in SCORES},
        "thresholds": [[θ, at.ari, at.fmi, at.pair_f1] for θ, at in curve.items()],
    }
    write_text(at.scores, json.dumps(scores, indent=2, ensure_ascii=False) + "\n")
    rough = f"only {len(gold)} entities were held out, so the scores are imprecise"
    return StageResult(
        {
            "ARI among all terms": round(among.ari, 4),
            "pair precision among all terms": round(among.pair_precision, 4),
            "ARI on their own": round(mean(report.ari for report in alone), 4),
            "of the test sets found exactly": len(exact),
            "of the test terms joined to another entity": among.strayed_terms,
        },
        notes=[rough] if len(gold) < FEW_TEST_SETS else [],
    )


def _read_views(at: Artefacts, *, evidence: bool = False) -> TermViews:
    return TermViews(
        (read_vectors(at.vectors),),
        read_vectors(at.encoded) if at.encoded.exists() else None,
        evidence=read_evidence(at.evidence) if evidence else None,
    )


def _tuned_on(model: StoredModel, terms: Sequence[Term]) -> int:
    """How many of the terms the encoder was tuned on; their score is then too good."""
    encoder: str | None = model.training.get("encoder")
    surfaces = learned_surfaces(find_encoder(encoder)) if encoder else frozenset()
    return sum(term.surface in surfaces for term in terms)


def order_vocabulary(vocabulary: Vocabulary, settings: MineSettings) -> list[Term]:
    """The terms in the order in which they are mined."""
    return order_terms(
        vocabulary.terms, settings.order, seed=settings.seed, counts=vocabulary.counts or None
    )


def _read_partition(*paths: Path) -> SynonymSets:
    """The sets of several files as one partition."""
    return SynonymSets.union(read_sets(path, allow_empty=True) for path in paths)


def _mean_and_spread(reports: Sequence[ClusterReport], name: str) -> list[float]:
    values = [float(getattr(report, name)) for report in reports]
    return [mean(values), pstdev(values)]
