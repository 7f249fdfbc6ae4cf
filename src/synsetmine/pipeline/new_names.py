"""The outcome of mining: new names of known entities, and groups of unknown terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synsetmine.errors import counted
from synsetmine.models import MiningResult
from synsetmine.models.known import Rehearsal
from synsetmine.types import SynonymSets

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
        groups = f"apart from these, {counted(len(self.groups), 'group')} of {unknown}"
        return [self._expectation, groups] if self.groups else [self._expectation]

    @property
    def _expectation(self) -> str:
        names = f"{counted(self.count, 'new name')} for {counted(self.entities, 'entity')}"
        if self.rehearsal is None:
            return f"{names}; there was no rehearsal, so the probabilities are the model's own"
        sure = [p for p in self.probabilities if p >= SURE]
        return (
            f"{names}; at {SURE} and above {len(sure):,}, "
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
