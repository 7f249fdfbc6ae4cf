"""Sources of synonym sets: files of sets and public name lists, and the halves drawn from them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.general_model.lists import read_lists
from synsetmine.errors import DataError
from synsetmine.io.sets import read_sets
from synsetmine.types import SynonymSets, Term

SET_NAMES = 12  # of an entity; a few large ones would decide the ARI


@dataclass(frozen=True, eq=False)
class Source:
    """Sets of two or more names. `weights` were learned without it; None: the packaged ones."""

    name: str
    sets: SynonymSets
    is_list: bool  # a name list, part of which the packaged weights were learned from
    weights: Path | None = None

    @property
    def seen(self) -> bool:
        """Whether the weights were learned from a part of this source."""
        return self.is_list and self.weights is None


def read_sources(
    sets: Mapping[str, Path],
    lists: Path | None,
    only: Sequence[str] | None,
    weights: Sequence[Path] = (),
) -> list[Source]:
    """Files of sets first, then the name lists of a folder, or `only` some of them.

    A list gets the first of the `weights` that were not learned from it.
    """
    learned = {folder: _lists_of(folder) for folder in weights}
    sources = [
        Source(name, _usable(members for members in read_sets(path)), False)
        for name, path in sets.items()
    ]
    if lists is not None:
        entities = read_lists(lists)
        for name in entities if only is None else only:
            if name not in entities:
                raise DataError("no such name list in this folder", path=lists, value=name)
            terms = ([Term(n) for n in names if n.strip()] for names in entities[name])
            without = next((folder for folder in learned if name not in learned[folder]), None)
            sources.append(Source(name, _usable(terms), True, without))
    names = [source.name for source in sources]
    if not names:
        raise DataError("no sources: give --sets or --lists")
    for name in names:
        if names.count(name) > 1:
            raise DataError("two sources have this name", value=name)
    return sources


def _lists_of(folder: Path) -> list[str]:
    """The lists that weights were learned from."""
    try:
        lists: list[str] = json.loads((folder / "config.json").read_text("utf8"))["lists"]
    except (OSError, ValueError, KeyError):
        problem = "no weights of experiments.general_model in this folder"
        raise DataError(problem, path=folder) from None
    return lists


def _usable(sets: Iterable[Iterable[Term]]) -> SynonymSets:
    """Sets of two or more names, with whitespace for `_`; the sense tells equal names apart."""
    usable: list[list[Term]] = []
    for members in sets:
        names = {term.surface.replace("_", " ") for term in members}
        distinct = sorted({name.casefold(): name for name in sorted(names)}.values())
        if len(distinct) > 1:
            number = str(len(usable))
            usable.append([Term(name, number) for name in distinct])
    return SynonymSets.of(usable)


def halves(sets: SynonymSets, *, names: int, seed: int) -> tuple[SynonymSets, SynonymSets]:
    """Random sets for training and as many others for test, of at most `names` names each.

    Each name occurs once: two entities of one name cannot be told apart by strings.
    """
    rng = np.random.default_rng(seed)
    seen: set[str] = set()
    drawn: list[list[Term]] = []
    count = 0
    for number in rng.permutation(len(sets)).tolist():
        surfaces = [term.surface for term in sets.sets[number]]
        fresh = [surface for surface in surfaces if surface.casefold() not in seen]
        chosen = [fresh[place] for place in rng.permutation(len(fresh))[:SET_NAMES].tolist()]
        if len(chosen) < 2:
            continue
        if count + len(chosen) > 2 * names:
            break
        seen.update(surface.casefold() for surface in chosen)
        drawn.append([Term(surface) for surface in chosen])
        count += len(chosen)
    middle = len(drawn) // 2
    return _sort(drawn[:middle]), _sort(drawn[middle:])


def pairs_only(sets: SynonymSets, *, seed: int) -> SynonymSets:
    """Each set cut to two random terms."""
    rng = np.random.default_rng(seed)
    return _sort(
        [members[place] for place in rng.permutation(len(members))[:2].tolist()] for members in sets
    )


def _sort(sets: Iterable[Collection[Term]]) -> SynonymSets:
    return SynonymSets.of(sorted(sorted(members) for members in sets))
