"""Name lists as training data: reading, capping, and parts that share no name."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from experiments.general_model.settings import GeneralSettings
from experiments.name_lists.base import Names
from experiments.name_lists.heldout import letters
from experiments.name_lists.phrases import FILE as PHRASES
from synsetmine.errors import DataError

Lists: TypeAlias = dict[str, list[Names]]  # entities of each list by the list's name

SUFFIX = ".jsonl.gz"


@dataclass(frozen=True)
class Parts:
    """Entities for the encoder and word weights, for the pair classifier, and for ARI.

    No name of `shared_letters` letters or more is in two of them.
    """

    encoder: Lists
    classifier: Lists
    test: Lists


def read_lists(folder: Path, *, skipped: Collection[str] = ()) -> Lists:
    """The lists that `python -m experiments.name_lists` wrote into a folder, sorted by name."""
    paths = {path.name.removesuffix(SUFFIX): path for path in sorted(folder.glob(f"*{SUFFIX}"))}
    lists = {name: _read(path) for name, path in paths.items() if name not in skipped}
    if not lists:
        raise DataError(f"no name list (*{SUFFIX}) in this folder", path=folder)
    return lists


def read_phrases(folder: Path) -> list[str]:
    """The phrases that `python -m experiments.name_lists` wrote into a folder."""
    path = folder / PHRASES
    if not path.exists():
        raise DataError("no phrases; run: python -m experiments.name_lists", path=path)
    return gzip.decompress(path.read_bytes()).decode().split("\n")


def _read(path: Path) -> list[Names]:
    entities = []
    with gzip.open(path, "rt", encoding="utf8") as lines:
        for number, line in enumerate(lines, start=1):
            record = json.loads(line)
            names = record.get("names") if isinstance(record, dict) else None
            if not isinstance(names, list) or not names or set(map(type, names)) != {str}:
                problem = f'line {number}: expected {{"names": […]}}; got {line!r}'
                raise DataError(problem, path=path)
            entities.append(tuple(names))
    return entities


def cap(lists: Lists, settings: GeneralSettings, seed: int) -> Lists:
    """At most `list_sets` random entities with several names and `list_singles` with one."""
    return {name: _cap(name, lists[name], settings, seed) for name in lists}


def _cap(name: str, entities: Sequence[Names], settings: GeneralSettings, seed: int) -> list[Names]:
    drawn = shuffle(entities, generator(seed, "cap", name))
    several = [names for names in drawn if len(names) > 1]
    single = [names for names in drawn if len(names) == 1]
    return several[: settings.list_sets] + single[: settings.list_singles]


def split(lists: Lists, settings: GeneralSettings, seed: int) -> Parts:
    """Parts by the connected components of entities that share a name.

    A component goes to the classifier in one of `folds` cases; one of `test_parts` of these is
    the test. The hash of its smallest name decides, so an entity that is added elsewhere moves
    no other.
    """
    entities = [(name, names) for name in lists for names in lists[name]]
    empty: list[Lists] = [{name: [] for name in lists} for _ in range(3)]
    parts = Parts(*empty)
    keys = _component_keys([names for _, names in entities], settings.shared_letters)
    for (name, names), key in zip(entities, keys, strict=True):
        digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
        rest, fold = divmod(int.from_bytes(digest[:8], "big"), settings.folds)
        if fold:
            part = parts.encoder
        else:
            part = parts.classifier if rest % settings.test_parts else parts.test
        part[name].append(names)
    return parts


def _component_keys(entities: Sequence[Names], shared_letters: int) -> list[str]:
    """The smallest name of each entity's component."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    forms = [sorted({letters(name) for name in names}) for names in entities]
    number_of: dict[str, int] = {}
    rows, columns = [], []
    for row, names in enumerate(forms):
        for name in names:
            if len(name) >= shared_letters:
                rows.append(row)
                columns.append(len(entities) + number_of.setdefault(name, len(number_of)))
    count = len(entities) + len(number_of)
    graph = sparse.coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(count, count))
    components = connected_components(graph, directed=False)[1][: len(entities)].tolist()
    smallest: dict[int, str] = {}
    for component, names in zip(components, forms, strict=True):
        smallest[component] = min(smallest.get(component, names[0]), names[0])
    return [smallest[component] for component in components]


def leave_out(
    lists: Lists, names: Iterable[str], known: Mapping[str, Sequence[Names]], least_letters: int
) -> Lists:
    """The other lists, without entities that have a name of the lists left out.

    `known` holds the entities of the lists left out. Names with fewer than `least_letters`
    letters are no reason to leave an entity out.
    """
    left_out = set(names)
    forms = forms_of(entity for name in left_out for entity in known[name])
    forms = {form for form in forms if len(form) >= least_letters}
    return {
        name: [entity for entity in lists[name] if forms.isdisjoint(map(letters, entity))]
        for name in lists
        if name not in left_out
    }


def deal(lists: Lists, groups: int) -> list[tuple[str, ...]]:
    """Groups of lists of about the same size; similar lists stand in different groups."""
    by_size = sorted(lists, key=lambda name: (-sum(map(len, lists[name])), name))
    dealt = [tuple(by_size[start::groups]) for start in range(groups)]
    return [group for group in dealt if group]


def forms_of(entities: Iterable[Names]) -> set[str]:
    """The letters and digits of all names."""
    return {letters(name) for names in entities for name in names}


def shuffle(entities: Sequence[Names], rng: np.random.Generator) -> list[Names]:
    return [entities[place] for place in rng.permutation(len(entities)).tolist()]


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """Random numbers for one purpose, independent of those drawn for others."""
    return np.random.default_rng([seed, zlib.crc32("/".join(purpose).encode())])
