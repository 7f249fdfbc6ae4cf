"""What the stages of a run work with, and what each reports.

A result gives the line that a command prints, the entry of the manifest and the row of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from synsetmine.engines import Engine
from synsetmine.io.files import write_json
from synsetmine.linking.supervision import Tally
from synsetmine.runs.folder import Artefacts, StageResult
from synsetmine.schema import labelled
from synsetmine.types import Link

KEPT = "kept"
FEW_TEST_SETS = 10  # the scores of fewer are imprecise


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
    documents: int = labelled("documents")


@dataclass(frozen=True, kw_only=True)
class KnowledgeResult(StageResult):
    entities: int = labelled("entities")
    names: int = labelled("names")


@dataclass(frozen=True, kw_only=True)
class LinkResult(StageResult):
    mentions: int = labelled("mentions")
    links: int = labelled("links")


@dataclass(frozen=True, kw_only=True)
class SuperviseResult(StageResult):
    training_sets: int = labelled("training sets")
    test_sets: int = labelled("test sets")
    known_terms: int = labelled("known terms")
    rejected: int = labelled("rejected surfaces")
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

    terms: int = labelled("terms")


@dataclass(frozen=True, kw_only=True)
class VectorsResult(StageResult):
    vectors: int = labelled("vectors")
    dimension: int = labelled("dimension")
    without: int | None = labelled("terms without", default=None)


@dataclass(frozen=True, kw_only=True)
class HeldOutScores:
    """The scores on the entities held out, as `scores.json` has them."""

    test_sets: int = labelled("test sets")
    test_terms: int = labelled("test terms")
    threshold: float = labelled("threshold")
    # Without entities held out there is no more.
    rare: int | None = labelled("test terms too rare for the vocabulary", default=None)
    tuned_on: int | None = labelled("test terms that the encoder was tuned on", default=None)
    among: Mapping[str, float] | None = labelled("among all terms", default=None)
    exact: Sequence[Sequence[str]] | None = labelled("found exactly", default=None)
    alone: Mapping[str, Sequence[float]] | None = labelled("on their own", default=None)
    curve: Sequence[Sequence[float]] | None = labelled("thresholds", default=None)

    @property
    def result(self) -> StageResult:
        """What the stage reports."""
        if not self.among or not self.alone:
            note = "no entity could be held out, so there are no scores"
            return StageResult(figures={"test sets": self.test_sets}, notes=[note])
        rough = f"only {self.test_sets} entities were held out, so the scores are imprecise"
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
    new_names: int = labelled("new names")
    groups: int = labelled("groups of unknown terms")
