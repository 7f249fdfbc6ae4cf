"""The outcome of mining: new names of known entities with their kinds, and groups of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from synsetmine.errors import counted
from synsetmine.io.traces import Decision, Quote
from synsetmine.models import MiningResult
from synsetmine.models.known import Rehearsal
from synsetmine.normalization import normal_form
from synsetmine.text.evidence import Evidence
from synsetmine.text.kinds import DifferingWords, name_kind, pair_kind, relation_of
from synsetmine.types import SynonymSets, Term

LEVELS = (0.5, 0.8, 0.9)  # probabilities that the run reports on
SURE = 0.9


@dataclass(frozen=True, eq=False)
class NewNames:
    """New names with their probabilities, the rehearsal behind these, and all other terms."""

    probabilities: tuple[float, ...]
    entities: int
    groups: tuple[int, ...]  # the sizes of the groups of unknown terms
    alone: int  # unknown terms without a partner
    rehearsal: Rehearsal | None

    @classmethod
    def of(cls, mined: MiningResult, known: SynonymSets) -> NewNames:
        """The terms that joined known sets, and the sets that hold no known term."""
        ids = frozenset(known.ids)
        joined = [d for d in mined.trace if d.action in ("joined", "forced") and d.best_set in ids]
        others = [
            len(terms) for i, terms in zip(mined.sets.ids, mined.sets, strict=True) if i not in ids
        ]
        return cls(
            tuple(decision.probability for decision in joined),
            len({decision.best_set for decision in joined}),
            tuple(size for size in others if size > 1),
            others.count(1),
            mined.known.rehearsal if mined.known is not None else None,
        )

    @property
    def count(self) -> int:
        return len(self.probabilities)

    @property
    def counts(self) -> dict[str, int]:
        """The counts for the manifest; new names and unknown terms are all that was mined."""
        return {
            "new names of known entities": self.count,
            "entities with new names": self.entities,
            "groups of unknown terms": len(self.groups),
            "unknown terms in groups": sum(self.groups),
            "unknown terms that stand alone": self.alone,
        }

    @property
    def sentences(self) -> list[str]:
        """What to expect of the new names, and how many other terms were grouped."""
        unknown = counted(sum(self.groups), "unknown term")
        groups = f"besides, {counted(len(self.groups), 'group')} of {unknown}"
        return [self._expectation, groups] if self.groups else [self._expectation]

    @property
    def _expectation(self) -> str:
        names = f"{counted(self.count, 'new name')} for {counted(self.entities, 'entity')}"
        if self.rehearsal is None:
            return f"{names}; there was no rehearsal, so the probabilities are the model's own"
        sure = [p for p in self.probabilities if p >= SURE]
        return (
            f"{names}; {len(sure):,} with probability {SURE} or more, "
            f"of which about {round(sum(sure)):,} should be right"
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON has them; without a rehearsal only counts."""
        record: dict[str, Any] = {"new names": self.count, "entities": self.entities}
        if self.rehearsal is None:
            return record
        rows = []
        for probability in LEVELS:
            level = self.rehearsal.level(probability)
            above = [p for p in self.probabilities if p >= probability]
            rows.append(
                {
                    "probability": probability,
                    "new names": len(above),
                    "expected right": round(sum(above), 1),
                    "hidden names assigned": level.assigned,
                    "precision": round(level.precision, 4),
                    "recall": round(level.recall, 4),
                    "names without an entity that joined one": round(
                        self.rehearsal.joined_without_set(probability), 4
                    ),
                }
            )
        return record | {
            "hidden names": self.rehearsal.level(0).hidden,
            "levels": rows,
            "calibration error": round(self.rehearsal.calibration_error(), 4),
            "reliability": [
                [round(mean, 4), round(right, 4), count]
                for mean, right, count in self.rehearsal.reliability()
            ],
        }


SENTENCES = 3  # of evidence for a term
COMPARED = 50  # terms of a group without known names; a group may hold thousands


def describe_joins(mined: MiningResult, evidence: Evidence | None) -> MiningResult:
    """The same result; decisions of terms that joined a set have kind, relation and evidence.

    A term is compared with the known names of its set, and in a set without any with the others.
    """
    known = mined.known.sets if mined.known is not None else None
    words = DifferingWords.learn(
        [[term.surface for term in members] for members in (known or mined.sets)]
    )
    trace = []
    for decision in mined.trace:
        if decision.action in ("joined", "forced"):
            members = mined.sets.set_of(decision.term)
            names = [term for term in members if known is not None and term in known]
            names = names or [term for term in members if term != decision.term][:COMPARED]
            decision = _describe(decision, names, evidence, words)
        trace.append(decision)
    return replace(mined, trace=tuple(trace))


def _describe(
    decision: Decision, names: Sequence[Term], evidence: Evidence | None, words: DifferingWords
) -> Decision:
    surfaces = [name.surface for name in names]
    term = decision.term.surface
    kind, nearest = name_kind(term, surfaces)
    if decision.nearest and pair_kind(term, decision.nearest) == kind:
        nearest = decision.nearest
    return replace(
        decision,
        kind=kind,
        relation=relation_of(term, surfaces, decision.probability, words),
        nearest=nearest,
        evidence=_sentences(term, surfaces, evidence) if evidence is not None else (),
    )


def _sentences(term: str, names: Sequence[str], evidence: Evidence) -> tuple[Quote, ...]:
    """Sentences that state that the term and a name of its set mean the same."""
    own = normal_form(term)
    examples = [
        example
        for form in dict.fromkeys(map(normal_form, names))
        for example in evidence.examples(own, form)
    ]
    examples.sort(key=lambda example: example.relation)  # definitions of abbreviations first
    return tuple(Quote(e.relation, e.document, e.text) for e in examples[:SENTENCES])
