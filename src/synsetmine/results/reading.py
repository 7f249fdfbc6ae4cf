"""The sets of a run folder, or of loose files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from synsetmine.errors import SynsetmineError
from synsetmine.kb import KnowledgeBase
from synsetmine.results.sentences import find_sentences
from synsetmine.results.sets import MinedSet, describe_sets
from synsetmine.runfolder import Artefacts, RunFolder
from synsetmine.sentences import Sentence
from synsetmine.setfiles import read_sets, read_vocabulary
from synsetmine.text import normal_form
from synsetmine.trace import read_trace
from synsetmine.types import Progress, Term


def read_results(folder: Path) -> list[MinedSet]:
    """What the run in a folder has mined."""
    if "mine" not in RunFolder(folder).stages:
        raise SynsetmineError(f"{folder} is no folder of a run that has mined sets")
    at = Artefacts(folder)
    return describe_sets(
        read_sets(at.mined),
        kb=KnowledgeBase.load(at.knowledge),
        trace={decision.term: decision for decision in read_trace(at.trace)},
        counts=read_counts(at),
    )


def read_counts(at: Artefacts) -> dict[Term, int]:
    """How often the corpus has each term, known names that are no terms to mine too."""
    return {
        **read_vocabulary(at.names, allow_empty=True).counts,
        **read_vocabulary(at.vocabulary).counts,
    }


def example_sentences(
    at: Artefacts, surfaces: Sequence[str], per_term: int, progress: Progress | None = None
) -> Mapping[str, Sequence[Sentence]]:
    """Sentences of a run's corpus by the normal form of the surface that they hold."""
    forms = [form for form in dict.fromkeys(map(normal_form, surfaces)) if form]
    if not per_term or not forms:
        return {}
    return find_sentences(at.documents, at.places, forms, per_term=per_term, progress=progress)
