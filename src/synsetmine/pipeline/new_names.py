"""The new names of known entities that a run found, and how many of them should be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synsetmine.models import Mined
from synsetmine.models.rehearsal import Rehearsal
from synsetmine.types import SynonymSets

LEVELS = (0.5, 0.8, 0.9)  # probabilities that the run reports on
SURE = 0.9


@dataclass(frozen=True, eq=False)
class NewNames:
    """New names with their probabilities, and the rehearsal that these were learned from."""

    probabilities: tuple[float, ...]
    entities: int
    rehearsal: Rehearsal | None

    @classmethod
    def of(cls, mined: Mined, known: SynonymSets) -> NewNames:
        """The terms that joined known sets."""
        ids = frozenset(known.ids)
        joined = [d for d in mined.trace if d.action == "joined" and d.best_set in ids]
        return cls(
            tuple(decision.probability for decision in joined),
            len({decision.best_set for decision in joined}),
            mined.known.rehearsal if mined.known is not None else None,
        )

    @property
    def count(self) -> int:
        return len(self.probabilities)

    @property
    def sentence(self) -> str:
        """What to expect of the new names, in a sentence."""
        found = f"{_counted(self.count, 'new name')} for {_counted(self.entities, 'entity')}"
        if self.rehearsal is None:
            few = "the known names are too few for a rehearsal"
            return f"{found}; {few}, so the probabilities are those of the general model"
        sure = [p for p in self.probabilities if p >= SURE]
        return (
            f"{found}; at {SURE} and above {len(sure)}, "
            f"of which about {round(sum(sure))} should be right"
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
                    "hidden names found": level.assigned,
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


def _counted(count: int, noun: str) -> str:
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
