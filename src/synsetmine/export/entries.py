"""What is exported: sets that passed the filters, each with the term that stands for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from synsetmine.errors import DataError, Skipped
from synsetmine.kinds import KINDS, name_kind
from synsetmine.results import MinedSet, MinedTerm
from synsetmine.types import NameKind

Preferred = Literal["knowledge", "frequent"]
COMPARED = 200  # terms of a set with which a further one is compared, at most


@dataclass(frozen=True, slots=True)
class Entry:
    """One set: `preferred` stands for it, `others` are its further terms, best known first."""

    id: str
    preferred: MinedTerm
    others: tuple[MinedTerm, ...]
    entity: str | None = None  # of the knowledge base, where the set grew from one
    name: str = ""  # the knowledge base's name of that entity, whether the corpus has it or not

    @property
    def terms(self) -> tuple[MinedTerm, ...]:
        return (self.preferred, *self.others)


def choose_entries(
    sets: Iterable[MinedSet],
    *,
    threshold: float = 0.0,
    min_size: int = 2,
    preferred: Preferred = "knowledge",
    kinds: Collection[NameKind] = KINDS,
    skipped: Skipped | None = None,
) -> list[Entry]:
    """The sets to export.

    Terms that joined below the threshold and those that a person called incorrect are left out,
    then terms of other kinds than `kinds`, which are counted in `skipped`, then sets that are too
    small. A set's preferred term is the one that a reviewer chose, or the
    knowledge base's name of its entity if that is among the terms and wanted, or the most
    frequent one; a name that is not exact only where there is no other.
    """
    if not 0 <= threshold <= 1:
        raise DataError("the threshold must lie between 0 and 1", value=threshold)
    if min_size < 1:
        raise DataError("the smallest size must be 1 or more", value=min_size)
    entries = []
    for mined in sets:
        kept = [term for term in mined.terms if _is_wanted(term, threshold)]
        if kept and len(kinds) < len(KINDS):
            kept = _of_kinds(_entry(mined, kept, preferred), kinds, skipped)
        if len({term.text for term in kept}) >= min_size:
            entries.append(_entry(mined, kept, preferred))
    return entries


def _is_wanted(term: MinedTerm, threshold: float) -> bool:
    if term.judgement is not None and term.judgement.verdict != "unsure":
        return term.judgement.verdict == "correct"
    return term.probability is None or term.probability >= threshold


def _of_kinds(
    entry: Entry, kinds: Collection[NameKind], skipped: Skipped | None
) -> list[MinedTerm]:
    """The first term that no decision put there, which always stays, and those of these kinds.

    The kind of a term is the one that the run tells, or that of a comparison with the terms
    before it, whichever is more alike: of two new inflections of one word one is left.
    """
    known = (term for term in entry.terms if term.action in ("seed", "opened"))
    first = next(known, entry.preferred)
    ordered = [first, *(term for term in entry.terms if term is not first)]
    kept = [first]
    for place, term in enumerate(ordered[1:], start=1):
        kind = _kind(term, ordered[: min(place, COMPARED)])
        if kind in kinds:
            kept.append(term)
        elif skipped is not None:
            skipped.append(DataError(f"a name of the kind {kind}", value=term.text))
    return kept


def _kind(term: MinedTerm, others: Sequence[MinedTerm]) -> NameKind:
    kind = name_kind(term.text, [other.text for other in others]).kind
    return kind if term.kind is None else min(kind, term.kind, key=KINDS.index)


def _entry(mined: MinedSet, terms: list[MinedTerm], preferred: Preferred) -> Entry:
    by_count = sorted(terms, key=lambda term: (-term.count, term.text, term.sense))
    first = min(by_count, key=lambda term: term.scope != "exact")
    wanted = [mined.preferred] + [mined.name] * (preferred == "knowledge")
    for name in filter(None, wanted):
        found = next((term for term in by_count if term.text == name), None)
        if found is not None:
            first = found
            break
    others = tuple(term for term in by_count if term is not first)
    return Entry(mined.id, first, others, mined.entity, mined.name)
