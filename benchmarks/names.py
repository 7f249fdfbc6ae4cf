"""Names with known sets, for `bench_group`: of public name lists, or made up.

A list is a file of JSON lines, `{"names": [...]}` with the names of one entity, as
`python -m experiments.name_lists` writes them. Entities are drawn from all lists in random order.
A name that two entities have goes to the first. When the lists run out, further entities are made
of them: all names of an entity with the same number or the same name of another entity behind
("Calcimycin 7", "Temefos, Portugal"). Such an entity is hard to tell from the one that it is made
of, as "type 1" is from "type 2" in real lists.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count as numbers_from
from pathlib import Path

import numpy as np

from benchmarks.synthetic import Numbers, make_vocabulary
from synsetmine.errors import DataError
from synsetmine.normalization import name_key

LARGEST_NUMBER = 100  # that is put behind names


@dataclass(frozen=True, eq=False)
class LabelledNames:
    """Different names, whatever their case, in random order, and the number of each one's set."""

    names: list[str]
    labels: Numbers  # (names,)

    def save(self, path: Path) -> None:
        path.write_text("\n".join(self.names) + "\n", encoding="utf-8")
        np.save(path.with_suffix(".npy"), self.labels)

    @classmethod
    def load(cls, path: Path) -> LabelledNames:
        names = path.read_text(encoding="utf-8").split("\n")[:-1]
        return cls(names, np.load(path.with_suffix(".npy")))


def made_up_names(count: int, seed: int) -> LabelledNames:
    """The terms of `benchmarks/synthetic.py`."""
    vocabulary = make_vocabulary(count, seed)
    return LabelledNames([term.surface for term in vocabulary.terms], vocabulary.labels)


def listed_names(lists: Path, count: int, seed: int) -> LabelledNames:
    """`count` names of the lists in a file or folder."""
    entities = list(read_entities(lists))
    chance = np.random.default_rng(seed)
    names: list[str] = []
    labels: list[int] = []
    taken: set[str] = set()
    for label, entity in enumerate(_endless(entities, chance)):
        for name in entity:
            key = name_key(name)
            if key and key not in taken and len(name.splitlines()) == 1:
                taken.add(key)
                names.append(name)
                labels.append(label)
        if len(names) >= count:
            break
    order = chance.permutation(count)
    return LabelledNames([names[row] for row in order.tolist()], np.array(labels)[order])


def read_entities(lists: Path) -> Iterator[list[str]]:
    """The names of each entity, from a file or from all files of a folder."""
    paths = sorted(lists.glob("*.jsonl*")) if lists.is_dir() else [lists]
    if not paths:
        raise DataError("there are no lists, *.jsonl or *.jsonl.gz, in the folder", value=lists)
    for path in paths:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield [name for name in json.loads(line)["names"] if name.strip()]


def _endless(
    entities: Sequence[Sequence[str]], chance: np.random.Generator
) -> Iterator[Sequence[str]]:
    """All entities in random order, then entities that are made of them."""
    for number in chance.permutation(len(entities)).tolist():
        yield entities[number]
    for _ in numbers_from():
        for number in chance.permutation(len(entities)).tolist():
            other = entities[int(chance.integers(len(entities)))]
            suffix = (
                f" {chance.integers(1, LARGEST_NUMBER + 1)}"
                if chance.random() < 0.5
                else f", {other[0]}"
            )
            yield [f"{name}{suffix}" for name in entities[number]]
