"""Ids that stay with a set from run to run, as long as its terms say that it is the same set."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Container

from synsetmine.types import SynonymSets, Term

DIGITS = 10  # of a hash: two of a million sets collide once in two runs, and are told apart


def lasting_ids(
    sets: SynonymSets, *, fixed: Collection[str] = (), earlier: SynonymSets | None = None
) -> dict[str, str]:
    """For each id of a set the id that it is to have.

    Ids in `fixed` (those of known entities) stay. A set that shares more than half of its terms
    with more than half of an earlier set is that set, and there can be only one such. The others
    are called after a hash of their terms, so that the same set has the same id everywhere.
    """
    kept = set(fixed)
    names = {set_id: set_id for set_id in sets.ids if set_id in kept}
    others = [(i, members) for i, members in zip(sets.ids, sets, strict=True) if i not in names]
    taken = set(names.values()) | kept
    if earlier is not None:
        for set_id, members in others:
            name = _same_set(members, earlier)
            if name is not None and name not in taken:
                names[set_id] = name
                taken.add(name)
    for set_id, members in others:
        if set_id not in names:
            names[set_id] = new_id(members, taken)
            taken.add(names[set_id])
    return names


def _same_set(members: Collection[Term], earlier: SynonymSets) -> str | None:
    shared = Counter(earlier.label_of(term) for term in members if term in earlier)
    if not shared:
        return None
    number, count = shared.most_common(1)[0]
    same = 2 * count > len(members) and 2 * count > len(earlier.sets[number])
    return earlier.ids[number] if same else None


def new_id(members: Collection[Term], taken: Container[str]) -> str:
    """An id for a set of these terms that no other has."""
    text = "\n".join(sorted(map(str, members)))
    name = f"s{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
