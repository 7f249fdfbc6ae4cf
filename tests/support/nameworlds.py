"""Made-up known sets: names with inflections, inversions, abbreviations and numbered siblings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from synsetmine.models.general.neighbours import Floats
from synsetmine.normalization import normal_form
from synsetmine.text.evidence import Evidence, EvidenceTable, connections_in, definitions_in
from synsetmine.text.matcher import NameMatcher

HEADS = ("deficiency", "syndrome", "toxin", "receptor", "lesion", "valve", "kinase", "fever")
PARTS = ("bra", "cto", "dal", "fen", "gri", "hul", "jom", "kex", "lir", "mov", "nup", "pas")


@dataclass(frozen=True)
class NameWorld:
    """Known sets, and new names with the numbers of their sets, or -1."""

    sets: Sequence[Sequence[str]]
    variants: Sequence[tuple[str, int]]  # inflections, inversions, hyphens
    abbreviations: Sequence[tuple[str, int]]  # that the text defines
    siblings: Sequence[tuple[str, int]]  # "… type 3" beside types 1 and 2
    unsure: Sequence[tuple[str, int]]  # "early …", a name of the set in half of the cases
    strangers: Sequence[tuple[str, int]]  # of words that no set has
    sentences: Sequence[str]  # that define the abbreviations

    @cached_property
    def evidence(self) -> Evidence:
        return evidence_of(self.sentences)

    @property
    def new(self) -> list[tuple[str, int]]:
        parts = (self.variants, self.abbreviations, self.siblings, self.unsure, self.strangers)
        return [pair for part in parts for pair in part]


def name_world(count: int, seed: int = 0) -> NameWorld:
    """About `count` sets; a third of the bases come as two siblings, type 1 and type 2."""
    rng = random.Random(seed)
    words = ["".join(parts) for parts in product(PARTS, repeat=3)]
    rng.shuffle(words)
    fresh = iter(words)
    sets: list[list[str]] = []
    variants: list[tuple[str, int]] = []
    abbreviations: list[tuple[str, int]] = []
    siblings: list[tuple[str, int]] = []
    unsure: list[tuple[str, int]] = []
    sentences: list[str] = []
    shorts: set[str] = set()
    while len(sets) < count:
        first, second, head = f"{next(fresh)}al", next(fresh), rng.choice(HEADS)
        base = f"{first} {second} {head}"
        if rng.random() < 0.3:
            for ending in ("type 1", "type 2"):
                names = [f"{head} {ending}, {first} {second}", f"{first}-{second} {head} {ending}"]
                if rng.random() < 0.3:
                    variants.append((names.pop(), len(sets)))
                sets.append([f"{base} {ending}", *names])
            siblings.append((f"{base} type 3", -1))
            continue
        short = f"{first[0]}{second[:2]}{head[0]}".upper()
        if short in shorts:
            continue
        shorts.add(short)
        sentences += [f"We studied {base} ({short}) here."] * 2
        names = [f"{head}, {first} {second}", _plural(base), f"{second} {head}, {first}"]
        rng.shuffle(names)
        home = len(sets)
        if rng.random() < 0.5:
            names.append(short)
        else:
            abbreviations.append((short, home))
        if rng.random() < 0.3:
            variants.append((names.pop(0), home))
        sets.append([base, *names])
        early, is_same, is_new = f"early {base}", rng.random() < 0.5, rng.random() < 0.3
        if is_new:
            unsure.append((early, home if is_same else -1))
        elif is_same:
            sets[home].append(early)
        else:
            sets.append([early, f"{early}s"])
    strangers = [f"{next(fresh)}al {next(fresh)} {rng.choice(HEADS)}" for _ in range(count // 6)]
    return NameWorld(
        sets,
        variants,
        abbreviations,
        siblings,
        unsure,
        [(name, -1) for name in strangers],
        sentences,
    )


def evidence_of(sentences: Sequence[str], names: Sequence[str] = ()) -> Evidence:
    """The definitions, and relations of names, in documents of one sentence each."""
    ids = [f"d{number}" for number in range(len(sentences))]
    table = EvidenceTable()
    table.add(definitions_in(ids, sentences))
    if names:
        forms = sorted({normal_form(name) for name in names})
        matches = NameMatcher.build(forms).find(sentences)
        table.add(connections_in(ids, sentences, matches, forms))
    return Evidence(table.table())


def unit_vectors(count: int, dimension: int, seed: int) -> Floats:
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _plural(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
