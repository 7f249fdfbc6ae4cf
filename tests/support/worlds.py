"""Small made-up worlds: entities are points, their names lie around them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

from synsetmine.io.sets import write_sets
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, write_vectors


def make_world(
    *, entities: int = 40, largest: int = 4, dimension: int = 8, noise: float = 0.2, seed: int = 0
) -> tuple[SynonymSets, TermVectors]:
    """Synonym sets of two to `largest` names each, with vectors that give them away."""
    random = np.random.default_rng(seed)
    sets: list[list[Term]] = []
    rows: list[np.ndarray] = []
    for entity in range(entities):
        centre = random.normal(size=dimension)
        size = int(random.integers(2, largest + 1))
        sets.append([Term(f"name{i}_of_{entity}", f"e{entity}") for i in range(size)])
        rows += [centre + noise * random.normal(size=dimension) for _ in range(size)]
    terms = [term for members in sets for term in members]
    shuffled = random.permutation(len(terms))
    vectors = TermVectors(
        tuple(terms[i] for i in shuffled),
        np.array(rows, dtype=np.float32)[shuffled],
    )
    return SynonymSets.of(sets), vectors


def write_world(folder: Path, *, entities: int) -> None:
    """Training sets, new sets and vectors of such a world as files in a folder."""
    sets, vectors = make_world(entities=entities)
    training, new = sets.split(0.3, seed=0)
    write_sets(folder / "train.set", training)
    write_sets(folder / "new.jsonl", new)
    write_vectors(folder / "vectors.txt", vectors)


def write_text_world(
    folder: Path, *, entities: int = 40, mentions: int = 12, seed: int = 0
) -> Path:
    """A small corpus and knowledge base in a folder, with a project file for them.

    Each entity has three names. Two or three context words are its own, so that its names occur
    in alike sentences; the third name is unknown to the knowledge base for every fourth entity.
    """
    chance = random.Random(seed)
    kb: list[object] = []
    texts: list[str] = []
    for i in range(entities):
        names = [f"{_word(3 * i + j)} {_word(1000 + i)}" for j in range(3)]
        known = names[:2] if i % 4 == 0 else names
        kb.append({"id": f"E{i}", "name": known[0], "synonyms": known[1:]})
        around = [_word(2000 + 3 * i + j) for j in range(3)]
        for name in names:
            for _ in range(mentions):
                before, after = chance.choices(around, k=2), chance.choices(around, k=2)
                common = _word(5000 + chance.randrange(50))
                texts.append(f"The {' '.join(before)} {name} {' '.join(after)} {common}.")
    chance.shuffle(texts)
    records: list[object] = [{"id": f"d{n}", "text": text} for n, text in enumerate(texts)]
    for name, lines in {"corpus.jsonl": records, "kb.jsonl": kb}.items():
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    project = folder / "synsetmine.toml"
    project.write_text(
        'corpus.path = "corpus.jsonl"\nkb.path = "kb.jsonl"\n'
        "supervise.min_count = 2\nvocabulary.phrases = 40\nvectors.dimension = 20\n"
        "evaluate.orders = 2\n"
    )
    return project


def _word(number: int) -> str:
    """A made-up word, another one for each number."""
    syllables = ["ba", "ke", "di", "mo", "lu", "ra", "te", "ni", "so", "vu"]
    return "".join(syllables[int(digit)] for digit in f"{number:04}")
