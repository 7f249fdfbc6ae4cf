"""The stages on the model: encoding, training, mining, and scores on the entities held out."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, pstdev
from tempfile import TemporaryDirectory
from typing import Any

from synsetmine.errors import quantity
from synsetmine.io.files import cache_root, write_json
from synsetmine.io.sets import (
    Vocabulary,
    read_sets,
    read_trace,
    read_vocabulary,
    write_sets,
    write_trace,
)
from synsetmine.kb import KnowledgeBase
from synsetmine.linking.supervision import known_sets
from synsetmine.metrics import evaluate
from synsetmine.models import (
    ModelSettings,
    PreparedModel,
    StoredModel,
    TrainingResult,
    TrainingStep,
    generate_sets,
    load_model,
    save_model,
)
from synsetmine.models.known import KnownSets, write_candidates
from synsetmine.pipeline.mining import (
    NO_SETS,
    MineResult,
    accepted_names,
    mine_terms,
    order_vocabulary,
    threshold_of,
)
from synsetmine.pipeline.settings import EncoderSettings, EvaluateSettings, MineSettings
from synsetmine.pipeline.stage_results import HeldOutScores, StageContext, VectorsResult
from synsetmine.review.decisions import standing_decisions, write_decisions
from synsetmine.review.feedback import (
    Constraints,
    SetsWithReviews,
    find_decisions,
    seed_sets,
    training_sets,
)
from synsetmine.review.store import read_store
from synsetmine.runs.folder import Artefacts, StageResult
from synsetmine.schema import to_record
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
THRESHOLDS = tuple(round(0.1 * i, 1) for i in range(1, 10))
SCORES = ("ari", "fmi", "nmi", "pair_precision", "pair_recall", "pair_f1", "bcubed_f1")


def write_reviews(at: Artefacts) -> Path | None:
    """Write the decisions of reviewers to a file, if there are any; the file written.

    A stage is known by the content of its inputs, and that of a database says little.
    """
    decisions = read_store(at.reviews) if at.reviews.exists() else []
    if not decisions:
        return None
    write_decisions(at.decisions, decisions)
    return at.decisions


def read_constraints(reviews: Path | None) -> Constraints:
    """What the decisions in a run folder or a file require; nothing without a path."""
    return Constraints.from_decisions([] if reviews is None else find_decisions(reviews))


def _review_counts(informed: SetsWithReviews) -> dict[str, int]:
    """The reviews that a stage took in, for its counts."""
    return {f"reviewed {what}": count for what, count in informed.counts.items()}


def encode_known(settings: EncoderSettings, context: StageContext) -> StageResult:
    """The encoder's vectors of all terms; without an encoder there is nothing to do."""
    at = context.at
    if not settings.model:
        at.encoded.unlink(missing_ok=True)  # of an earlier run
        return StageResult()
    terms = [*read_vocabulary(at.vocabulary).terms, *_read_partition(*at.known, at.test).terms]
    vectors = encode(settings.model, terms, device=context.device, progress=context.progress)
    write_vectors(at.encoded, vectors)
    return VectorsResult(vectors=len(vectors), dimension=vectors.dimension)


def encode(encoder: str, terms: Sequence[Term], *, device: str, progress: Progress) -> TermVectors:
    """The encoder's vectors of the terms, from the user's cache where they are known."""
    cache = cache_root() / "encoders"
    return encode_terms(terms, find_encoder(encoder), cache=cache, device=device, progress=progress)


def train_model(
    settings: ModelSettings,
    encoder: EncoderSettings,
    context: StageContext,
    *,
    reviews: Path | None,
) -> StageResult:
    """Train a model; training that was interrupted resumes.

    Reviews add to the training sets, but nothing on the entities held out. On these, training
    without reviews shows whether decisions lower the scores.
    """
    at = context.at
    known = read_sets(at.training, allow_empty=True)
    held_out = read_sets(at.test, allow_empty=True)
    informed = training_sets(known, read_constraints(reviews), held_out=held_out)
    views = _read_views(at)
    if encoder.model:
        views = replace(views, learned=learned_surfaces(find_encoder(encoder.model)))

    def on_step(step: TrainingStep) -> None:
        context.progress(step.done, step.total, step.note)

    def train_on(sets: SynonymSets, folder: Path) -> TrainingResult:
        return train_to_folder(
            settings,
            sets,
            views,
            folder,
            encoder=encoder.model or None,
            device=context.device,
            replace_checkpoint=True,
            on_step=on_step,
        )

    trained, effect = train_with_reviews(
        train_on,
        known,
        informed.sets,
        at.model,
        reviews,
        held_out,
        views,
        device=context.device,
        ask=context.ask,
    )
    figures = {**trained.figures, **_review_counts(informed)}
    notes = trained.warnings
    if effect is not None and effect.is_loss:
        notes = (*notes, f"{effect}{'' if effect.is_kept else '; trained without them'}")
    elif effect is not None:
        figures |= effect.figures
    return StageResult(figures=figures, notes=notes)


SHIFT = 0.02  # a loss of F1 that is more than chance between two trainings


@dataclass(frozen=True)
class ReviewEffect:
    """What reviews do to the pair F1 on held-out sets."""

    decisions: int
    before: float
    after: float
    is_kept: bool = True

    def __str__(self) -> str:
        verb = "lowered" if self.is_loss else "changed"
        change = f"{verb} F1 on held-out sets from {self.before:.2f} to {self.after:.2f}"
        return f"{quantity(self.decisions, 'decision')} {change}"

    @property
    def is_loss(self) -> bool:
        return self.before - self.after >= SHIFT

    @property
    def figures(self) -> dict[str, float]:
        """For the counts of a stage."""
        names = ("F1 on held-out sets without reviews", "with them")
        return dict(zip(names, (round(self.before, 4), round(self.after, 4)), strict=True))


def train_with_reviews(
    train_on: Callable[[SynonymSets, Path], TrainingResult],
    known: SynonymSets,
    informed: SynonymSets,
    folder: Path,
    reviews: Path | None,
    held_out: SynonymSets,
    views: TermViews,
    *,
    device: str,
    ask: Callable[[str], bool],
) -> tuple[TrainingResult, ReviewEffect | None]:
    """Train on sets with reviews, and on the `known` sets alone to see what reviews change.

    If reviews lower the scores on the held-out sets much, `ask` decides whether they are kept;
    otherwise the folder gets the model without them.
    """
    trained = train_on(informed, folder)
    if reviews is None or not held_out or informed == known:
        return trained, None
    with TemporaryDirectory() as temporary:
        other = Path(temporary) / "model"
        plain = train_on(known, other)
        before, after = (
            pair_f1(one.model, held_out, views, device=device) for one in (plain, trained)
        )
        effect = ReviewEffect(len(standing_decisions(find_decisions(reviews))), before, after)
        if not effect.is_loss or ask(f"{effect}: keep them?"):
            return trained, effect
        save_model(folder, load_model(other))
        return plain, replace(effect, is_kept=False)


def without_terms(sets: SynonymSets, others: SynonymSets) -> SynonymSets:
    """The sets that share no term with the others."""
    taken = set(others.terms)
    return sets.pick(i for i, members in enumerate(sets) if taken.isdisjoint(members))


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


def mine_sets(settings: MineSettings, context: StageContext, *, reviews: Path | None) -> MineResult:
    """A vocabulary to synonym sets; the entities' names seed them, ids of an earlier run stay.

    All names of the knowledge base take part, also those that the corpus lacks. What people
    called correct is a seed too; terms that they separated cannot be linked. Entities without a
    name in the corpus that no term joined are not written.

    The entities held out teach nothing. Then the vocabulary is mined once more, as if they were
    unknown, so that they can be scored.
    """
    at = context.at
    model, views = load_model(at.model), _read_views(at, evidence=True)
    constraints = read_constraints(reviews)
    test, vocabulary = read_sets(at.test, allow_empty=True), read_vocabulary(at.vocabulary)
    ordered = order_vocabulary(vocabulary, settings)
    names = _names_of_entities(at, vocabulary) if settings.known else NO_SETS
    informed = seed_sets(names, constraints)
    mined = mine_terms(
        model,
        views,
        [term for term in ordered if term not in constraints.not_names],
        settings,
        seeds=informed.sets,
        accepted=accepted_names(
            informed.sets, names, read_trace(at.trace) if at.trace.exists() else ()
        ),
        held_out=frozenset(test.ids),
        cannot_link=constraints.cannot_link,
        earlier=read_sets(at.mined) if at.mined.exists() else None,
        device=context.device,
        progress=context.progress,
    )
    write_candidates(at.candidates, mined.known)
    result = MineResult.of(mined, informed.sets, _review_counts(informed))
    write_json(at.rehearsal, result.record)
    in_corpus = _read_partition(*at.known, at.test)
    here = {*in_corpus.terms, *vocabulary.terms, *constraints.must_link.terms}
    write_sets(at.mined, _in_corpus(mined.sets, informed.sets, here))
    write_trace(at.trace, mined.trace)
    predicted, others = NO_SETS, _without(names, test)
    if test:
        predicted = generate_sets(
            model,
            views,
            [*ordered, *_rare_terms(test, vocabulary)],
            threshold=threshold_of(model, settings),
            known_threshold=settings.known_threshold,
            seeds=_assigned_seeds(mined.known, others),
            device=context.device,
            progress=context.progress,
        ).sets
    write_sets(at.mined_without_test, _in_corpus(predicted, others, here))
    return result


def _assigned_seeds(known: KnownSets | None, others: SynonymSets) -> SynonymSets | KnownSets:
    """The sets that are not held out, with the terms that mining assigned to them.

    Where reviews changed the sets of mining, those without reviews: what people said of an entity
    that is held out must not help to find it.
    """
    assigned = None if known is None else known.without_held_out
    return assigned if assigned is not None and assigned.sets == others else others


def _names_of_entities(at: Artefacts, vocabulary: Vocabulary) -> SynonymSets:
    """All names of the knowledge base, those of the corpus as they are written there."""
    kb, in_corpus = KnowledgeBase.load(at.knowledge), _read_partition(*at.known, at.test)
    return known_sets(kb, in_corpus, vocabulary=vocabulary.terms)


def _without(sets: SynonymSets, test: SynonymSets) -> SynonymSets:
    """The sets of the entities that are not held out."""
    held_out = frozenset(test.ids)
    return sets.pick(n for n, set_id in enumerate(sets.ids) if set_id not in held_out)


def _rare_terms(test: SynonymSets, vocabulary: Vocabulary) -> list[Term]:
    """Terms of the test sets that are too rare for the vocabulary.

    In their sets' order they would stand beside their synonyms, and that would leak.
    """
    return [term for term in order_terms(test.terms, "random") if term not in vocabulary.counts]


def _in_corpus(sets: SynonymSets, seeds: SynonymSets, here: Container[Term]) -> SynonymSets:
    """The sets without those seeds that have no name `here` and no new term."""
    return sets.pick(
        number
        for number, members in enumerate(sets)
        if any(term in here or term not in seeds for term in members)
    )


def score_held_out(
    settings: EvaluateSettings, mining: MineSettings, context: StageContext
) -> StageResult:
    """How well the sets of the entities held out are found again.

    Twice: among the whole vocabulary, as mined with the other entities known (the real task), and
    on their own in random orders (the paper's task), there with other thresholds too. In the
    first, a term that joins another entity's names is an error.
    """
    at = context.at
    gold, vocabulary = read_sets(at.test, allow_empty=True), read_vocabulary(at.vocabulary)
    model, views = load_model(at.model), _read_views(at)
    threshold = threshold_of(model, mining)
    scores = HeldOutScores(test_sets=len(gold), test_terms=len(gold.terms), threshold=threshold)
    if gold:
        predicted = read_sets(at.mined_without_test)
        names = _names_of_entities(at, vocabulary)
        exact = [members for members in predicted if frozenset(members) in gold.partition]
        prepared = model.prepare(order_terms(gold.terms, "random"), views, device=context.device)
        scores = replace(
            scores,
            rare=len(_rare_terms(gold, vocabulary)),
            tuned_on=_tuned_on(model, gold.terms),
            among=evaluate(predicted, gold, known=_without(names, gold)).to_dict(),
            exact=[[str(term) for term in members] for members in exact],
            alone=_score_orders(prepared, gold, threshold, settings.orders),
            curve=_score_thresholds(prepared, gold),
        )
    write_json(at.scores, to_record(scores))
    return scores.result


def pair_f1(model: StoredModel, gold: SynonymSets, views: TermViews, *, device: str) -> float:
    """How well a model finds these sets again among their own terms, in a random order."""
    prepared = model.prepare(order_terms(gold.terms, "random"), views, device=device)
    return evaluate(prepared.generate(threshold=model.threshold).sets, gold).pair_f1


def _score_orders(
    prepared: PreparedModel, gold: SynonymSets, threshold: float, count: int
) -> dict[str, list[float]]:
    """Mean and standard deviation of the scores over random orders of the terms."""
    orders = [order_terms(gold.terms, "random", seed=seed) for seed in range(count)]
    reports = [
        evaluate(prepared.generate(order=order, threshold=threshold).sets, gold) for order in orders
    ]
    values = {name: [float(getattr(report, name)) for report in reports] for name in SCORES}
    return {name: [mean(scores), pstdev(scores)] for name, scores in values.items()}


def _score_thresholds(prepared: PreparedModel, gold: SynonymSets) -> list[list[float]]:
    """θ, ARI, FMI and pair F1."""
    reports = [evaluate(prepared.generate(threshold=θ).sets, gold) for θ in THRESHOLDS]
    return [[θ, r.ari, r.fmi, r.pair_f1] for θ, r in zip(THRESHOLDS, reports, strict=True)]


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


def _read_partition(*paths: Path) -> SynonymSets:
    """The sets of several files as one partition."""
    return SynonymSets.union(read_sets(path, allow_empty=True) for path in paths)
