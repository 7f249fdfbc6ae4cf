"""What people decided in a run folder, for the stages that learn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from synsetmine.review.said import Said
from synsetmine.review.store import read_store
from synsetmine.review.tsv import read_decisions, write_decisions
from synsetmine.runfolder import Counts


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


def read_said(reviews: Sequence[Path]) -> Said:
    """What people said in these files."""
    return Said.by(decision for path in reviews for decision in read_decisions(path))


def told(counts: Mapping[str, int]) -> Counts:
    """What a stage tells of the reviews that it took in."""
    return {f"reviewed {what}": count for what, count in counts.items()}
