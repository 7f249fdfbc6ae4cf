"""Mining: terms to sets, new names of known entities with their kinds, and groups of others."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from synsetmine.errors import quantity
from synsetmine.io.sets import PUT, Decision, Quote, Vocabulary, lasting_ids
from synsetmine.models import MiningResult, StoredModel, generate_sets
from synsetmine.models.known import Rehearsal
from synsetmine.normalization import normal_form
from synsetmine.pipeline.settings import MineSettings
from synsetmine.runs.folder import StageResult
from synsetmine.schema import from_record, result_field, to_record
from synsetmine.text.evidence import Evidence
from synsetmine.text.kinds import DifferingWords, name_kind, pair_kind, relation_of
from synsetmine.text.word_forms import name_stems
from synsetmine.types import Progress, SynonymSets, Term, order_terms
from synsetmine.views import TermViews

NO_SETS = SynonymSets((), ())
LEVELS = (0.5, 0.8, 0.9)  # probabilities that the run reports on
SURE = 0.9
SENTENCES = 3  # of evidence for a term
COMPARED = 50  # terms of a group without known names; a group may hold thousands


def mine_terms(
    model: StoredModel,
    views: TermViews,
    terms: Sequence[Term],
    settings: MineSettings,
    *,
    seeds: SynonymSets = NO_SETS,
    accepted: Iterable[Decision] = (),
    held_out: Container[str] = (),
    cannot_link: Iterable[tuple[Term, Term]] = (),
    max_sets: int | None = None,
    earlier: SynonymSets | None = None,
    device: str,
    progress: Progress,
) -> MiningResult:
    """Mine terms in this order; the trace describes each new name.

    It describes names that reviewers accepted too: see `accepted_names`. Sets that are those of
    `earlier` keep their ids.
    """
    mined = generate_sets(
        model,
        views,
        terms,
        threshold=threshold_of(model, settings),
        known_threshold=settings.known_threshold,
        max_sets=max_sets,
        seeds=seeds,
        held_out=held_out,
        cannot_link=cannot_link,
        device=device,
        progress=progress,
    )
    mined = describe_joins(replace(mined, trace=(*mined.trace, *accepted)), views.evidence)
    return mined.with_ids(lasting_ids(mined.sets, fixed=seeds.ids, earlier=earlier))


def accepted_names(
    seeds: SynonymSets, known: SynonymSets, earlier: Iterable[Decision] = ()
) -> list[Decision]:
    """The decisions on seeds that their set in `known` lacks: reviewers put them there.

    A name that was in this set in an earlier run keeps its probability, kind and relation, since
    these are what the reviewers saw.
    """
    shown = {d.term: d for d in earlier if d.action in PUT}
    before = dict(zip(known.ids, known, strict=True))
    decisions = []
    for set_id, members in zip(seeds.ids, seeds, strict=True):
        for term in sorted(set(members).difference(before.get(set_id, ()))):
            decision = shown.get(term)
            if decision is None or decision.best_set != set_id:
                decision = Decision(term, set_id, 1.0, "accepted")
            decisions.append(replace(decision, action="accepted"))
    return decisions


def threshold_of(model: StoredModel, settings: MineSettings) -> float:
    """The threshold of the settings, or else that of the model."""
    return model.threshold if settings.threshold is None else settings.threshold


def order_vocabulary(vocabulary: Vocabulary, settings: MineSettings) -> list[Term]:
    """The terms in the order in which they are mined."""
    counts = vocabulary.counts or None
    order = settings.order or ("frequent" if counts else "given")
    return order_terms(vocabulary.terms, order, seed=settings.seed, counts=counts)


@dataclass(frozen=True)
class RehearsalLevel:
    """Names with at least this probability: new ones, and hidden ones that were looked for."""

    probability: float = result_field("probability")
    new_names: int = result_field("new names")
    expected_right: float = result_field("expected right")  # of the new names
    assigned: int = result_field("hidden names assigned")
    precision: float = result_field("precision")  # of the hidden names that were assigned
    recall: float = result_field("recall")  # of all hidden names
    # The share of names whose entity was removed that joined another
    without_entity: float = result_field("names without an entity that joined one")


@dataclass(frozen=True)
class RehearsalSummary:
    """How well known names that were hidden found their entities, the lowest level first."""

    hidden: int = result_field("hidden names")
    levels: Sequence[RehearsalLevel] = result_field("levels")
    calibration_error: float = result_field("calibration error")
    # Mean probability, share that was right, and number of names of each bin
    reliability: Sequence[tuple[float, float, int]] = result_field("reliability")

    @classmethod
    def of(cls, rehearsal: Rehearsal, probabilities: Sequence[float]) -> RehearsalSummary:
        """What a rehearsal says of new names with these probabilities."""
        levels = []
        for probability in LEVELS:
            level = rehearsal.level(probability)
            above = [p for p in probabilities if p >= probability]
            levels.append(
                RehearsalLevel(
                    probability,
                    new_names=len(above),
                    expected_right=round(sum(above), 4),
                    assigned=level.assigned,
                    precision=round(level.precision, 4),
                    recall=round(level.recall, 4),
                    without_entity=round(rehearsal.joined_without_set(probability), 4),
                )
            )
        return cls(
            rehearsal.level(0).hidden,
            levels,
            round(rehearsal.calibration_error(), 4),
            [(round(m, 4), round(right, 4), n) for m, right, n in rehearsal.reliability()],
        )

    def to_dict(self) -> dict[str, Any]:
        return to_record(self) | {"levels": [to_record(level) for level in self.levels]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> RehearsalSummary | None:
        """The figures of `rehearsal.json`; None if there was no rehearsal."""
        if "levels" not in record:
            return None
        levels = [from_record(RehearsalLevel, level) for level in record["levels"]]
        rows = [(mean, right, count) for mean, right, count in record["reliability"]]
        return from_record(cls, {**record, "levels": levels, "reliability": rows})


@dataclass(frozen=True, kw_only=True)
class MineResult(StageResult):
    """How many new names and unknown terms were mined; the summary says what to expect of them."""

    new_names: int = result_field("new names of known entities")
    entities: int = result_field("entities with new names")
    groups: int = result_field("groups of unknown terms")
    grouped: int = result_field("unknown terms in groups")
    alone: int = result_field("unknown terms that stand alone")
    without_vector: int = result_field("without vector")
    in_one_set: int | None = result_field("in one set", default=None)
    rehearsal: RehearsalSummary | None = None

    @classmethod
    def of(
        cls, mined: MiningResult, known: SynonymSets, reviewed: Mapping[str, int] | None = None
    ) -> MineResult:
        """The terms that joined known sets, and the sets that hold no known term."""
        ids = frozenset(known.ids)
        joined = [d for d in mined.trace if d.action in ("joined", "forced") and d.best_set in ids]
        probabilities = [decision.probability for decision in joined]
        others = zip(mined.sets.ids, mined.sets.sizes, strict=True)
        sizes = [size for set_id, size in others if set_id not in ids]
        groups = [size for size in sizes if size > 1]
        entities = len({decision.best_set for decision in joined})
        rehearsal = None if mined.known is None else mined.known.rehearsal
        giant = (
            f"one set has {mined.giant:,} terms that the model does not separate: the vectors may "
            "carry too little information, or the threshold may be too low"
        )
        return cls(
            new_names=len(joined),
            entities=entities,
            groups=len(groups),
            grouped=sum(groups),
            alone=sizes.count(1),
            without_vector=len(mined.without_vector),
            in_one_set=mined.giant or None,
            rehearsal=RehearsalSummary.of(rehearsal, probabilities) if rehearsal else None,
            figures=reviewed or {},
            notes=[giant] if mined.giant else [],
            summary=_expectations(probabilities, entities, groups, rehearsed=rehearsal is not None),
        )

    @property
    def record(self) -> dict[str, Any]:
        """The contents of `rehearsal.json`; without a rehearsal only counts."""
        counts = {"new names": self.new_names, "entities": self.entities}
        return counts | (self.rehearsal.to_dict() if self.rehearsal else {})


def _expectations(
    probabilities: Sequence[float], entities: int, groups: Sequence[int], *, rehearsed: bool
) -> list[str]:
    """What to expect of the new names, and how many other terms were grouped."""
    names = f"{quantity(len(probabilities), 'new name')} for {quantity(entities, 'entity')}"
    sure = [p for p in probabilities if p >= SURE]
    expected = f"of which about {round(sum(sure)):,} should be right"
    if rehearsed:
        sentences = [f"{names}; {len(sure):,} with probability {SURE} or more, {expected}"]
    else:
        sentences = [f"{names}; there was no rehearsal, so the probabilities are the model's own"]
    if groups:
        unknown = quantity(sum(groups), "unknown term")
        sentences.append(f"besides, {quantity(len(groups), 'group')} of {unknown}")
    return sentences


def describe_joins(mined: MiningResult, evidence: Evidence | None) -> MiningResult:
    """The same result; decisions of terms that joined a set have kind, relation and evidence.

    A term is compared with the known names of its set, and in a set without any with the others.
    Evidence may connect it with any other name. The same holds for names that reviewers accepted,
    which are not compared with each other where there are known ones.
    """
    known = None
    if mined.known is not None and mined.known.sets:
        known, words = mined.known.sets, mined.known.words
    else:
        words = DifferingWords.learn([t.surface for t in members] for members in mined.sets)
    accepted = {decision.term for decision in mined.trace if decision.action == "accepted"}
    trace = []
    for decision in mined.trace:
        if decision.action in PUT:
            members = mined.sets.set_of(decision.term)
            left_out = accepted if decision.term in accepted else ()
            names = [
                term.surface
                for term in members
                if known is not None and term in known and term not in left_out
            ]
            new = [t.surface for t in members if t != decision.term and t.surface not in names]
            new = new[:COMPARED]
            if decision.kind is None:
                decision = _describe(decision, names or new, words)
            if evidence is not None:
                decision = _quote(decision, names or new, new if names else (), evidence)
        trace.append(decision)
    return replace(mined, trace=tuple(trace))


def _describe(decision: Decision, names: Sequence[str], words: DifferingWords) -> Decision:
    term = decision.term.surface
    kind, nearest = name_kind(term, names)
    if decision.nearest and pair_kind(term, decision.nearest) == kind:
        nearest = decision.nearest
    relation = relation_of(term, names, decision.probability, words)
    return replace(decision, kind=kind, relation=relation, nearest=nearest)


def _quote(
    decision: Decision, names: Sequence[str], others: Sequence[str], evidence: Evidence
) -> Decision:
    """The decision with sentences that equate the term with a name of its set.

    Names as written come first, then variants: "Toll-like receptors 2 (TLR2)" is evidence for
    *TLR2* in the set of *Toll-Like Receptor 2*. What the text defines as short for one of `names`
    is an abbreviation, also if its letters do not tell: *Con A* of *concanavalin A*.
    """
    own = normal_form(decision.term.surface)
    partners = evidence.partners(own)
    if not partners:
        return decision
    name_of: dict[str, str] = {}
    for name in names:
        name_of.setdefault(normal_form(name), name)
    variants: dict[frozenset[str], str] = {}
    for name in (*names, *others):
        variants.setdefault(name_stems(name), name)
    equated = {form: name for form, name in name_of.items() if form in partners}
    for form in partners:
        if form not in equated and (stems := name_stems(form)) in variants and stems:
            equated[form] = variants[stems]
    examples = [example for form in equated for example in evidence.examples(own, form)]
    examples.sort(key=lambda example: example.relation)  # definitions of abbreviations first
    quotes: dict[tuple[str, str], Quote] = {}  # "fever (F)" is a definition and names in brackets
    for example in examples:
        quote = Quote(example.relation, example.document, example.text)
        quotes.setdefault((example.document, example.text), quote)
    decision = replace(decision, evidence=tuple(quotes.values())[:SENTENCES])
    long = [
        name
        for form, name in equated.items()
        if name in names and len(form) > len(own) and evidence.counts(own, form).get("abbreviation")
    ]
    if decision.kind == "other-words" and long:
        return replace(decision, kind="abbreviation", relation="exact", nearest=long[0])
    return decision
