"""What the stages of a run work with, and what each reports.

A result gives the line that a command prints, the entry of the manifest and the row of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from synsetmine.engines import Engine
from synsetmine.errors import quantity
from synsetmine.io.files import write_json
from synsetmine.linking.supervision import Tally
from synsetmine.runs.folder import Artefacts, StageResult
from synsetmine.schema import result_field
from synsetmine.types import Link

KEPT = "kept"
FEW_TEST_SETS = 10  # fewer are too few to tell how good the mined sets are


class StageProgress(Protocol):
    def __call__(self, done: int, total: int, note: str = "") -> None: ...


@dataclass(frozen=True, kw_only=True)
class StageContext:
    """What stages work with: the files of a run, where work runs, and a report of progress."""

    at: Artefacts
    engine: Engine
    device: str = "cpu"
    progress: StageProgress
    ask: Callable[[str], bool] = lambda _: True  # a question that a person may say no to


@dataclass(frozen=True, kw_only=True)
class ReadResult(StageResult):
    documents: int = result_field("documents")


@dataclass(frozen=True, kw_only=True)
class KnowledgeResult(StageResult):
    entities: int = result_field("entities")
    names: int = result_field("names")


@dataclass(frozen=True, kw_only=True)
class LinkResult(StageResult):
    mentions: int = result_field("mentions")
    links: int = result_field("links")


@dataclass(frozen=True, kw_only=True)
class SuperviseResult(StageResult):
    training_sets: int = result_field("training sets")
    test_sets: int = result_field("test sets")
    known_terms: int = result_field("known terms")
    rejected: int = result_field("rejected surfaces")
    tallies: Mapping[str, Tally]  # of the links kept, and of those dropped by reason

    @property
    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """How many links were kept, and dropped for each reason."""
        rows = [
            (
                KEPT if outcome == KEPT else f"dropped: {outcome}",
                f"{tally.links:,}",
                f"{tally.mentions:,}",
                "; ".join(f"{link.surface} → {link.entity}" for link in tally.examples[:2]),
            )
            for outcome, tally in self.tallies.items()
        ]
        return ("links", "number", "mentions", "most frequent"), rows


def write_tallies(path: Path, tallies: Mapping[str, Tally]) -> None:
    """Write how many links met each outcome, with examples."""
    write_json(
        path,
        {
            outcome: {
                "links": tally.links,
                "mentions": tally.mentions,
                "examples": [[link.surface, link.entity, link.count] for link in tally.examples],
            }
            for outcome, tally in tallies.items()
        },
    )


def parse_tallies(record: Mapping[str, Any]) -> dict[str, Tally]:
    """The tallies of the JSON that `write_tallies` wrote."""
    return {
        outcome: Tally(
            tally["links"], tally["mentions"], tuple(Link(*link) for link in tally["examples"])
        )
        for outcome, tally in record.items()
    }


@dataclass(frozen=True, kw_only=True)
class VocabularyResult(StageResult):
    """`figures` has the number of terms that each source proposed."""

    terms: int = result_field("terms")


@dataclass(frozen=True, kw_only=True)
class VectorsResult(StageResult):
    vectors: int = result_field("vectors")
    dimension: int = result_field("dimensions")
    without: int | None = result_field("terms without a vector", default=None)


@dataclass(frozen=True, kw_only=True)
class HeldOutScores:
    """The scores on the entities held out, as `scores.json` has them."""

    test_sets: int = result_field("test sets")
    test_terms: int = result_field("test terms")
    threshold: float = result_field("threshold")
    # Without entities held out there is no more.
    rare: int | None = result_field("test terms too rare for the vocabulary", default=None)
    tuned_on: int | None = result_field("test terms that the encoder was tuned on", default=None)
    among: Mapping[str, float] | None = result_field("among all terms", default=None)
    exact: Sequence[Sequence[str]] | None = result_field("found exactly", default=None)
    alone: Mapping[str, Sequence[float]] | None = result_field("on their own", default=None)
    curve: Sequence[Sequence[float]] | None = result_field("thresholds", default=None)

    @property
    def result(self) -> StageResult:
        """What the stage reports."""
        if not self.among or not self.alone:
            note = "no entity could be held out, so there are no scores"
            return StageResult(figures={"test sets": self.test_sets}, notes=[note])
        held_out = quantity(self.test_sets, "entity")
        verb = "was" if self.test_sets == 1 else "were"
        rough = f"only {held_out} {verb} held out: too few to tell how good the mined sets are"
        return StageResult(
            figures={
                "ARI among all terms": round(self.among["ari"], 4),
                "pair precision among all terms": round(self.among["pair_precision"], 4),
                "ARI on their own": round(self.alone["ari"][0], 4),
                "of the test sets found exactly": len(self.exact or ()),
                "of the test terms joined to another entity": self.among["strayed_terms"],
            },
            notes=[rough] if self.test_sets < FEW_TEST_SETS else [],
        )


@dataclass(frozen=True, kw_only=True)
class ReportResult(StageResult):
    new_names: int = result_field("new names")
    groups: int = result_field("groups of unknown terms")
