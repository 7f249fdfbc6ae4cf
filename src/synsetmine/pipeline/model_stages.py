"""The stages on the model: encoding, training, mining, and scores on the entities held out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    Mined,
    ModelSettings,
    PreparedModel,
    TrainingStep,
    generate_sets,
    load_model,
    save_model,
)
from synsetmine.models.description import describe_joins
from synsetmine.models.known import write_candidates
from synsetmine.pipeline.new_names import NewNames
from synsetmine.pipeline.settings import EncoderSettings, EvaluateSettings, MineSettings
from synsetmine.review.feedback import Constraints, seed_sets, training_sets
from synsetmine.review.store import read_store
from synsetmine.review.tsv import read_decisions, write_decisions
from synsetmine.runs.folder import NOTES, SUMMARY, Counts
from synsetmine.text.evidence import read_evidence
from synsetmine.types import Progress, SynonymSets, Term, order_terms
from synsetmine.views import TermViews, encode_terms, find_encoder, read_vectors, write_vectors
from synsetmine.views.encoder import kept_name, learned_surfaces


def write_reviews(store: Path, out: Path) -> list[Path]:
    """Write the decisions of a store to a file, if there are any; the files written, one or none.

    A stage is known by the content of its inputs, and that of a database says little.
    """
    if not store.exists():
        return []
    decisions = read_store(store)
    if not decisions:
        return []
    write_decisions(out, decisions)
    return [out]


def read_constraints(reviews: Sequence[Path]) -> Constraints:
    """What people said in these files."""
    return Constraints.from_decisions(
        decision for path in reviews for decision in read_decisions(path)
    )


def told(counts: Mapping[str, int]) -> Counts:
    """What a stage tells of the reviews that it took in."""
    return {f"reviewed {what}": count for what, count in counts.items()}


CHECKPOINT = "checkpoint.safetensors"
NO_SETS = SynonymSets((), ())
IN_ONE = "in one set"  # counted only where that is a tenth of all terms or more
THRESHOLDS = tuple(round(0.1 * i, 1) for i in range(1, 10))
NOT_SCORED = "no entity could be held out, so there are no scores"
FEW_TESTED = 10  # entities held out; the scores of fewer are rough
SHOWN = ("ari", "fmi", "nmi", "pair_precision", "pair_recall", "pair_f1", "bcubed_f1")

Noted = Callable[[int, int, str], None]  # done, of how much, a few words


def encode_known(
    settings: EncoderSettings,
    vocabulary: Path,
    sets: Sequence[Path],
    out: Path,
    *,
    device: str,
    progress: Progress,
) -> Counts:
    """The encoder's vectors of all terms; without an encoder there is nothing to do."""
    if not settings.model:
        out.unlink(missing_ok=True)  # of an earlier run
        return {}
    vectors = encode_terms(
        [*read_vocabulary(vocabulary).terms, *_together(sets).terms],
        find_encoder(settings.model),
        cache=cache_root() / "encoders",
        device=device,
        progress=progress,
    )
    write_vectors(out, vectors)
    return {"vectors": len(vectors), "dimension": vectors.dimension}


def train_model(
    settings: ModelSettings,
    encoder: EncoderSettings,
    training: Path,
    views: Sequence[Path],
    folder: Path,
    *,
    reviews: Sequence[Path],
    held_out: Path,
    device: str,
    progress: Noted,
) -> Counts:
    """Train a model; training that was interrupted resumes.

    `views` are the file of vectors and, where there is an encoder, that of its vectors, here and
    below. Reviews add to the training sets, but nothing on the entities held out.
    """
    informed = training_sets(
        read_sets(training, allow_empty=True),
        read_constraints(reviews),
        held_out=read_sets(held_out, allow_empty=True),
    )
    term_views = _read_views(views)
    record: dict[str, str] = {}
    if encoder.model:
        learned = learned_surfaces(find_encoder(encoder.model))
        term_views = replace(term_views, learned=learned)
        record["encoder"] = kept_name(encoder.model)

    def on_step(step: TrainingStep) -> None:
        progress(step.done, step.total, step.note)

    trained = settings.train(
        informed.sets,
        term_views,
        device=device,
        checkpoint=folder / CHECKPOINT,
        replace_checkpoint=True,
        on_step=on_step,
    )
    model = trained.model
    save_model(folder, replace(model, training={**record, **model.training}))
    (folder / CHECKPOINT).unlink(missing_ok=True)
    notes: Counts = {NOTES: list(trained.warnings)} if trained.warnings else {}
    return {**trained.figures, **told(informed.counts), **notes}


def mine_sets(
    settings: MineSettings,
    model: Path,
    views: Sequence[Path],
    vocabulary: Path,
    *,
    knowledge: Path,
    evidence: Path,
    known: Sequence[Path],
    reviews: Sequence[Path],
    out: Path,
    trace: Path,
    candidates: Path,
    rehearsal: Path,
    device: str,
    progress: Progress,
) -> Counts:
    """A vocabulary to synonym sets; the entities' names seed them, ids of an earlier run stay.

    `known` are the sets of names that the corpus has; all other names of the knowledge base take
    part too. What people called correct is a seed too; terms that they separated cannot be linked.
    Entities without a name in the corpus that no term joined are not written.
    """
    terms = read_vocabulary(vocabulary)
    said = read_constraints(reviews)
    seen = _together(known)
    names = known_sets(KnowledgeBase.load(knowledge), seen) if settings.known else NO_SETS
    informed = seed_sets(names, said)
    seeds = informed.sets
    miner = _Miner(model, views, evidence, device, settings)
    mined = miner.mine(
        _walk(settings, terms), seeds=seeds, cannot_link=said.cannot_link, progress=progress
    )
    mined = describe_joins(mined, miner.evidence)
    earlier = read_sets(out) if out.exists() else None
    mined = mined.renamed(lasting_ids(mined.sets, fixed=seeds.ids, earlier=earlier))
    write_candidates(candidates, mined.known)
    new = NewNames.of(mined, seeds)
    write_text(rehearsal, json.dumps(new.to_dict(), indent=2) + "\n")
    write_sets(out, _in_corpus(mined.sets, seeds, seen, said.must_link.terms))
    write_trace(trace, mined.trace)
    return {
        **new.counts,
        "without vector": len(mined.without_vector),
        **({IN_ONE: mined.giant} if mined.giant else {}),
        SUMMARY: new.sentences,
    } | told(informed.counts)


def _in_corpus(
    sets: SynonymSets, seeds: SynonymSets, seen: SynonymSets, reviewed: Iterable[Term]
) -> SynonymSets:
    """The sets without those seeds that have no name in the corpus and no new term."""
    here = {*seen.terms, *reviewed}
    return sets.pick(
        number
        for number, members in enumerate(sets)
        if any(term in here or term not in seeds for term in members)
    )


def score_held_out(
    settings: EvaluateSettings,
    mining: MineSettings,
    model: Path,
    views: Sequence[Path],
    vocabulary: Path,
    *,
    knowledge: Path,
    evidence: Path,
    known: Sequence[Path],
    test: Path,
    out: Path,
    device: str,
    progress: Progress,
) -> Counts:
    """How well the sets of the entities held out are found again.

    Twice: among the whole vocabulary, the training sets known as in mining (the real task), and
    on their own in random orders (the paper's task), there with other thresholds too. In the
    first, a term that joins another entity's names is an error. Without entities held out there
    are no scores.
    """
    gold = read_sets(test, allow_empty=True)
    miner = _Miner(model, views, evidence, device, mining)
    scores: dict[str, Any] = {
        "test sets": len(gold),
        "test terms": len(gold.terms),
        "threshold": miner.threshold,
    }
    if not gold:
        write_text(out, json.dumps(scores, indent=2) + "\n")
        return {"test sets": 0, NOTES: [NOT_SCORED]}
    kb = KnowledgeBase.load(knowledge)
    seen = SynonymSets.together([_together(known), gold])
    others = known_sets(kb, seen, without=frozenset(gold.ids))
    terms = read_vocabulary(vocabulary)
    # Test terms that are too rare for the vocabulary come last; in their sets' order they would
    # stand beside their synonyms, and that would leak.
    rare = [term for term in order_terms(gold.terms, "random") if term not in terms.counts]
    among_all = miner.mine(
        [*_walk(mining, terms), *rare],
        seeds=others if mining.known else NO_SETS,
        progress=progress,
    )
    among = evaluate(among_all.sets, gold, known=others)
    exact = [members for members in among_all.sets if frozenset(members) in gold.partition]
    orders = [order_terms(gold.terms, "random", seed=i) for i in range(settings.orders)]
    prepared = miner.prepare(orders[0])
    alone = [
        evaluate(prepared.generate(order=order, threshold=miner.threshold).sets, gold)
        for order in orders
    ]
    curve = {θ: evaluate(prepared.generate(threshold=θ).sets, gold) for θ in THRESHOLDS}
    scores |= {
        "test terms too rare for the vocabulary": len(rare),
        "test terms that the encoder was tuned on": miner.learned(gold.terms),
        "among all terms": among.to_dict(),
        "found exactly": [[str(term) for term in members] for members in exact],
        "on their own": {name: _mean_and_spread(alone, name) for name in SHOWN},
        "thresholds": [[θ, at.ari, at.fmi, at.pair_f1] for θ, at in curve.items()],
    }
    write_text(out, json.dumps(scores, indent=2, ensure_ascii=False) + "\n")
    rough = f"scores on so few entities are rough: {len(gold)} held out"
    return {
        "ARI among all terms": round(among.ari, 4),
        "pair precision among all terms": round(among.pair_precision, 4),
        "ARI on their own": round(mean(report.ari for report in alone), 4),
        "of the test sets found exactly": len(exact),
        "of the test terms joined to another entity": among.strayed_terms,
        **({NOTES: [rough]} if len(gold) < FEW_TESTED else {}),
    }


class _Miner:
    """A stored model with its views."""

    def __init__(
        self,
        model: Path,
        views: Sequence[Path],
        evidence: Path,
        device: str,
        settings: MineSettings,
    ) -> None:
        self._model = load_model(model)
        self.evidence = read_evidence(evidence)
        self._views = replace(_read_views(views), evidence=self.evidence)
        self._device = device
        self._known_threshold = settings.known_threshold
        self._encoder: str | None = self._model.training.get("encoder")
        chosen = settings.threshold
        self.threshold = self._model.threshold if chosen is None else chosen

    def learned(self, terms: Sequence[Term]) -> int:
        """How many of the terms the encoder was tuned on; their score is then too good."""
        surfaces = learned_surfaces(find_encoder(self._encoder)) if self._encoder else frozenset()
        return sum(term.surface in surfaces for term in terms)

    def prepare(self, terms: Sequence[Term]) -> PreparedModel:
        return self._model.prepare(terms, self._views, device=self._device)

    def mine(
        self,
        terms: Sequence[Term],
        *,
        seeds: SynonymSets,
        cannot_link: Iterable[tuple[Term, Term]] = (),
        progress: Progress,
    ) -> Mined:
        return generate_sets(
            self._model,
            self._views,
            terms,
            threshold=self.threshold,
            known_threshold=self._known_threshold,
            seeds=seeds,
            cannot_link=cannot_link,
            device=self._device,
            progress=progress,
        )


def _read_views(paths: Sequence[Path]) -> TermViews:
    vectors, *encoded = map(read_vectors, paths)
    return TermViews((vectors,), next(iter(encoded), None))


def _walk(settings: MineSettings, vocabulary: Vocabulary) -> list[Term]:
    return order_terms(
        vocabulary.terms, settings.order, seed=settings.seed, counts=vocabulary.counts or None
    )


def _together(paths: Sequence[Path]) -> SynonymSets:
    """The sets of several files as one partition."""
    return SynonymSets.together(read_sets(path, allow_empty=True) for path in paths)


def _mean_and_spread(reports: Sequence[ClusterReport], name: str) -> list[float]:
    values = [float(getattr(report, name)) for report in reports]
    return [mean(values), pstdev(values)]
