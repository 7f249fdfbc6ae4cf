"""What reviews change elsewhere: the sets to export, those to train on, and those to mine from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.results import MinedSet
from synsetmine.review.decisions import Decision
from synsetmine.review.said import Said
from synsetmine.review.state import ReviewState
from synsetmine.review.store import read_store
from synsetmine.review.tsv import read_decisions
from synsetmine.runfolder import Artefacts
from synsetmine.setids import new_id
from synsetmine.types import SynonymSets, Term


@dataclass(frozen=True)
class Informed:
    """Sets that reviews had a say in, and how many terms or sets that concerned, in words."""

    sets: SynonymSets
    counts: Mapping[str, int] = field(default_factory=dict)


def find_decisions(path: Path) -> list[Decision]:
    """The decisions of a run folder, of its store, or of a TSV file."""
    store = Artefacts(path).reviews if path.is_dir() else path
    if path.is_dir() and not store.exists():
        raise SynsetmineError(f"{path} has no reviews yet")
    if store.suffix != ".sqlite":
        return read_decisions(store)
    if not store.exists():
        raise DataError("No such file or directory", path=store)
    named_link = store.is_symlink() and not path.is_dir()  # the user may name a link
    return read_store(store.resolve() if named_link else store)


def reviewed_sets(
    mined: Sequence[MinedSet], decisions: Iterable[Decision], *, accepted_only: bool = False
) -> list[MinedSet]:
    """The sets to export, in their order, each term with its judgement.

    Those that were rejected are left out, or with `accepted_only` all that were not accepted.
    """
    state = ReviewState(mined, decisions)
    place = {found.id: number for number, found in enumerate(mined)}
    wanted = [
        found.mined
        for found in state.sets
        if found.status == "accepted" or (not accepted_only and found.status != "rejected")
    ]
    # New sets, those of split and removed terms, come last.
    return sorted(wanted, key=lambda found: (place.get(found.id, len(place)), found.id))


def training_sets(
    sets: SynonymSets, said: Said, *, held_out: SynonymSets | None = None
) -> Informed:
    """Training sets with what people said: terms called correct and exact come in.

    A term that has a set already stays there, unless it had to leave one of its terms. Terms that
    had to leave and are with no others come in as sets of one, which are negatives. What has to
    do with entities held out for scores is left out, or the scores would be too good.
    """
    counts: Counter[str] = Counter()
    found = {i: _staying(members, said) for i, members in zip(sets.ids, sets, strict=True)}
    home = {term: set_id for set_id, members in found.items() for term in members}
    hidden = frozenset(held_out.terms if held_out else ())
    for set_id, members in zip(said.exact.ids, said.exact, strict=True):
        if held_out is not None and (set_id in held_out.ids or not hidden.isdisjoint(members)):
            counts["sets of entities held out"] += 1
            continue
        shared = Counter(home[term] for term in members if term in home)
        target = _target(set_id, shared)
        new = said.fitting((t for t in members if t not in home), found.get(target, ()))
        counts["sets"] += target not in found
        counts["terms"] += len(new)
        counts["terms that have another set"] += sum(n for i, n in shared.items() if i != target)
        found.setdefault(target, []).extend(new)
        home.update(dict.fromkeys(new, target))
    for term in sorted(said.alone - home.keys() - hidden):
        counts["terms told apart"] += 1
        found[new_id([term], found)] = [term]
    return Informed(_sets(found), +counts)


def seed_sets(known: SynonymSets, said: Said) -> Informed:
    """Known sets as people have mended them: the seeds of mining.

    Terms that were called correct in one set stay together, with the id of that set, or of the
    known one that they are in. What else is known of it comes in, but for terms that were told
    apart from one that is there; those are no seeds any more.
    """
    groups = {i: list(members) for i, members in zip(said.together.ids, said.together, strict=True)}
    home = {term: set_id for set_id, members in groups.items() for term in members}
    names: dict[str, str] = {}  # of groups: the known ids that they get
    found: dict[str, list[Term]] = {}
    for set_id, members in zip(known.ids, known, strict=True):
        rest = _staying([term for term in members if term not in home], said)
        shared = Counter(home[term] for term in members if term in home)
        target = set_id if set_id in groups else _target(set_id, shared)
        fitting = said.fitting(rest, groups.get(target, ()))
        if target not in groups or (rest and not fitting and target != set_id):
            found[set_id] = rest
            continue
        groups[target] += fitting
        if target == set_id or target not in names:
            names[target] = set_id
    found |= {names.get(set_id, set_id): members for set_id, members in groups.items()}
    seeds = _sets(found)
    lost = sum(term not in seeds for term in known.terms)
    pairs = len({frozenset(pair) for pair in said.apart})
    counts = {"sets": len(groups), "terms told apart": lost, "pairs kept apart": pairs}
    return Informed(seeds, +Counter(counts))


def _staying(members: Sequence[Term], said: Said) -> list[Term]:
    """The terms of a known set, less those that had to leave another one of it."""
    there = frozenset(members)
    return [
        term
        for term in members
        if not any((term, other) in said.apart for other in said.told_apart_from(term) & there)
    ]


def _target(set_id: str, shared: Counter[str]) -> str:
    """The set that terms join: the one with their id, or the one that has most of them."""
    if not shared or set_id in shared:
        return set_id
    return max(shared, key=lambda name: (shared[name], name))


def _sets(found: Mapping[str, Sequence[Term]]) -> SynonymSets:
    left = {set_id: members for set_id, members in found.items() if members}
    return SynonymSets.of(left.values(), left.keys())
