"""The results of a run, as report, export and review read them."""

from synsetmine.runs.results import (
    WRONG,
    Judgement,
    MinedSet,
    MinedTerm,
    Verdict,
    describe_sets,
    example_sentences,
    find_sentences,
    read_counts,
    read_results,
)
from synsetmine.text.tokens import Sentence
from synsetmine.types import Scope

__all__ = [
    "WRONG",
    "Judgement",
    "MinedSet",
    "MinedTerm",
    "Scope",
    "Sentence",
    "Verdict",
    "describe_sets",
    "example_sentences",
    "find_sentences",
    "read_counts",
    "read_results",
]
