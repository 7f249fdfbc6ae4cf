"""Names with known sets, for `bench_group`: of public name lists, or made up.

A list is a file of JSON lines, `{"names": [...]}` with the names of one entity, as
`python -m experiments.name_lists` writes them. Entities are drawn from all lists in random order.
A name that two entities have goes to the first. When the lists run out, further entities are made
of them: all names of an entity with the same number or the same name of another entity behind
("Calcimycin 7", "Temefos, Portugal"). Such an entity is hard to tell from the one that it is made
of, as "type 1" is from "type 2" in real lists.

Phrases of MEDLINE come with the sentences in which they stand. Those that MeSH has are labelled.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count as numbers_from
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from benchmarks.synthetic import Numbers, make_vocabulary
from synsetmine.corpus import read_corpus
from synsetmine.errors import DataError
from synsetmine.kb import read_kb
from synsetmine.metrics import compare_labels
from synsetmine.normalization import name_key
from synsetmine.text.tokens import FUNCTION_WORDS

LARGEST_NUMBER = 100  # that is put behind names
LONGEST_PHRASE = 4  # words
UNKNOWN = -1  # the label of a phrase that MeSH lacks
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_WORD = re.compile(r"\w[\w'-]*|[^\w\s]")


@dataclass(frozen=True, eq=False)
class LabelledNames:
    """Different names, whatever their case, in random order, and the number of each one's set."""

    names: list[str]
    labels: Numbers  # (names,)
    contexts: tuple[str, ...] = ()  # of each name; none where the names stand alone

    @property
    def texts(self) -> list[str]:
        """The names with their contexts, as an encoder of texts takes them."""
        if not self.contexts:
            return self.names
        return [f"{n}: {context}" for n, context in zip(self.names, self.contexts, strict=True)]

    def ari(self, predicted: Numbers) -> float:
        """How well the sets of the labelled names are found: (names,)"""
        known = self.labels != UNKNOWN
        return compare_labels(predicted[known], self.labels[known]).ari

    def save(self, path: Path) -> None:
        path.write_text("\n".join(self.names) + "\n", encoding="utf-8")
        np.save(path.with_suffix(".npy"), self.labels)
        if self.contexts:
            rows = zip(self.names, self.contexts, strict=True)
            lines = [json.dumps({"name": name, "context": text}) + "\n" for name, text in rows]
            path.with_suffix(".jsonl").write_text("".join(lines), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> LabelledNames:
        names = path.read_text(encoding="utf-8").split("\n")[:-1]
        rows = path.with_suffix(".jsonl")
        contexts: tuple[str, ...] = ()
        if rows.exists():
            with rows.open(encoding="utf-8") as lines:
                contexts = tuple(json.loads(line)["context"] for line in lines)
        return cls(names, np.load(path.with_suffix(".npy")), contexts)


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


def phrases_in_context(folder: Path, count: int, seed: int) -> LabelledNames:
    """`count` phrases of MEDLINE abstracts, each with the first sentence that has it.

    `folder` has `corpus.jsonl.gz` and `mesh.jsonl.gz`. Up to half of the phrases are all those that
    name an entity of MeSH; the others are labelled `UNKNOWN`.
    """
    mesh = read_kb(folder / "mesh.jsonl.gz")
    label_of = {name_key(name): entity for entity in mesh for name in mesh.names(entity)}
    entities: dict[str, list[str]] = {}
    others: list[str] = []
    sentence_of: dict[str, tuple[str, str]] = {}
    for phrase, sentence in _phrases(folder / "corpus.jsonl.gz", seed):
        key = name_key(phrase)
        if key not in sentence_of:
            sentence_of[key] = phrase, sentence
            (entities.setdefault(label_of[key], []) if key in label_of else others).append(key)
    order = sorted(entities)
    random.Random(seed).shuffle(order)  # noqa: S311
    labelled = [key for entity in order for key in entities[entity]][: count // 2]
    keys = [*labelled, *others[: count - len(labelled)]]
    if len(keys) < count:
        raise DataError("the abstracts have fewer phrases", value=len(keys))
    random.Random(seed).shuffle(keys)  # noqa: S311
    number = {entity: place for place, entity in enumerate(order)}
    labels = [number[label_of[key]] if key in label_of else UNKNOWN for key in keys]
    names, contexts = zip(*map(sentence_of.__getitem__, keys), strict=True)
    return LabelledNames(list(names), np.array(labels), contexts)


def _phrases(corpus: Path, seed: int) -> Iterator[tuple[str, str]]:
    """Runs of words between function words and punctuation marks, and their sentences."""
    documents = [document.text for document in read_corpus([corpus], text_field="text")]
    random.Random(seed).shuffle(documents)  # noqa: S311
    for text in documents:
        for sentence in _SENTENCE_END.split(text):
            words = groupby(_WORD.findall(sentence), key=_is_content)
            for is_content, run in words:
                some = [*islice(run, LONGEST_PHRASE + 1)] if is_content else []
                if 0 < len(some) <= LONGEST_PHRASE:
                    yield " ".join(some), sentence


def _is_content(word: str) -> bool:
    return word[0].isalpha() and word.casefold() not in FUNCTION_WORDS


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
