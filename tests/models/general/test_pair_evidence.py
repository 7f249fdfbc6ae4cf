"""Weights of differing stems and features of the text against naive counts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.models.general.name_table import NameTable, Positions, stem_key
from synsetmine.models.general.pair_evidence import (
    Meanings,
    StemWeights,
    TextEvidence,
    near_pairs,
)
from synsetmine.models.general.settings import AssignmentSettings
from synsetmine.normalization import normal_form
from synsetmine.text.evidence import Evidence
from synsetmine.text.patterns import OPPOSING
from tests.support.nameworlds import evidence_of

SETTINGS = AssignmentSettings()
SET_NAMES, SMOOTHING = SETTINGS.taught_set_names, SETTINGS.smoothing

WORDS = ["heart", "failure", "disease", "acute", "left", "right", "lung", "of"]
names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
known_sets = st.lists(st.lists(names, min_size=1, max_size=10), min_size=1, max_size=6)


Sides = tuple[frozenset[str], frozenset[str]]  # what each of two names has alone


class NaiveCounts:
    """How often pairs of names differ by a stem, and by some stems in the place of others."""

    def __init__(self) -> None:
        self.stems: defaultdict[str, float] = defaultdict(float)
        self.sides: list[tuple[Sides, int]] = []  # with the set

    def add(self, one: set[str], other: set[str], label: int) -> None:
        differing = one ^ other
        if one & other and 0 < len(differing) <= SETTINGS.taught_stems:
            for stem in differing:
                self.stems[stem] += 1 / len(differing)
        sides = frozenset(one - other), frozenset(other - one)
        if one & other and all(0 < len(side) <= SETTINGS.replaced_stems for side in sides):
            self.sides += [(sides, label), (sides[::-1], label)]


def learn(
    table: NameTable, labels: Positions, references: Positions, settings: AssignmentSettings
) -> StemWeights:
    near = near_pairs(table, len(labels), settings)
    return StemWeights.learn(table, labels, references, near, settings)


@settings(max_examples=40, deadline=None)
@given(known_sets, st.integers(0, 99), st.sets(st.integers(0, 59)))
def test_weights_of_stems_are_those_of_a_naive_count(
    sets: list[list[str]], seed: int, hidden: set[int]
) -> None:
    surfaces = [name for members in sets for name in members]
    labels = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    table = NameTable(surfaces, [])
    everyone = np.arange(len(surfaces))
    references = np.setdiff1d(everyone, [*hidden])
    weights = learn(table, labels, references, replace(SETTINGS, seed=seed))

    bags = [set(key.split()) for key in table.stem_keys]
    same, different = NaiveCounts(), NaiveCounts()
    start = 0
    for members in sets:
        shown = [name for name in range(start, start + len(members)) if name not in hidden]
        for one, other in combinations(shown[:SET_NAMES], 2):
            same.add(bags[one], bags[other], int(labels[one]))
        start += len(members)
    for one, other in zip(
        *table.candidates(everyone, everyone, SETTINGS.taught_neighbours), strict=True
    ):
        if labels[one] != labels[other] and not {one, other} & hidden:
            different.add(bags[one], bags[other], -1)
    scale = max(sum(same.stems.values()), 1) / max(sum(different.stems.values()), 1)

    def weight(same_count: float, different_count: float) -> float:
        return math.log((same_count + SMOOTHING) / (scale * different_count + SMOOTHING))

    replacing = Counter(sides for sides, _ in set(same.sides))  # each set counts once
    opposed = Counter(sides for sides, _ in different.sides)
    left, right = (grid.ravel() for grid in np.indices((len(bags), len(bags))))
    values = weights.features(table, left, right)
    for row, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        expected: list[float] = []
        for only in (bags[one] - bags[other], bags[other] - bags[one]):
            weights_of = [weight(same.stems[stem], different.stems[stem]) for stem in only]
            expected += [min(weights_of, default=0.0), sum(weights_of)]
        sides = frozenset(bags[one] - bags[other]), frozenset(bags[other] - bags[one])
        sets_with, pairs_with = replacing[sides], opposed[sides]
        counted = sets_with or pairs_with
        expected.append(weight(sets_with, pairs_with) if counted else 0)
        expected.append(math.log1p(sets_with))
        np.testing.assert_allclose(values[row], expected, atol=1e-4)


def test_words_that_change_the_meaning_weigh_less_than_others() -> None:
    parts = ["lung", "liver", "heart", "kidney", "skin", "brain"]
    sets = [[f"{part} tumor", f"{part} tumor disease"] for part in parts]
    sets += [[f"benign {part} tumor"] for part in parts]
    surfaces = [name for members in sets for name in members]
    labels = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    table = NameTable(surfaces, [])
    weights = learn(table, labels, np.arange(len(surfaces)), SETTINGS)
    names = ("lung tumor", "lung tumor disease", "benign lung tumor")
    plain, disease, benign = map(surfaces.index, names)
    sums = weights.features(table, np.array([disease, benign]), np.array([plain, plain]))[:, 1]
    disease_weight, benign_weight = sums.tolist()
    assert disease_weight > 0 > benign_weight


@settings(max_examples=40, deadline=None)
@given(known_sets, st.lists(names, min_size=1, max_size=4))
def test_replaced_words_lead_to_the_names_of_a_naive_search(
    sets: list[list[str]], queries: list[str]
) -> None:
    surfaces = [name for members in sets for name in members]
    labels = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    table = NameTable([*surfaces, *queries], [])
    references = np.arange(len(surfaces))
    learned = learn(table, labels, references, SETTINGS).substitutions
    positions = len(surfaces) + np.arange(len(queries))
    left, right = learned.candidates(table, positions, references)
    found = {*zip(left.tolist(), right.tolist(), strict=True)}

    bags = [frozenset(key.split()) for key in table.stem_keys]
    replacements = set()
    start = 0
    for members in sets:
        for one, other in combinations(range(start, start + min(len(members), SET_NAMES)), 2):
            if bags[one] & bags[other] and bags[one] - bags[other] and bags[other] - bags[one]:
                replacements.add((bags[one] - bags[other], bags[other] - bags[one]))
                replacements.add((bags[other] - bags[one], bags[one] - bags[other]))
        start += len(members)
    by_bag = defaultdict(list)
    for number in references.tolist():
        by_bag[bags[number]].append(number)
    expected = {
        (query, number)
        for query in positions.tolist()
        for replaced, replacing in replacements
        if replaced <= bags[query] and not replacing & bags[query]
        for number in by_bag[bags[query] - replaced | replacing][: SETTINGS.replaced_names]
    }
    assert found == expected


def test_words_of_a_compound_stand_for_each_other_alone() -> None:
    sets = [
        ["TGF-beta receptor", "transforming growth factor beta receptor"],
        ["transforming growth factor beta"],
        ["beta blocker"],
    ]
    surfaces = [name for members in sets for name in members]
    table = NameTable([*surfaces, "TGF-beta"], [])
    references = np.arange(len(surfaces))
    learned = learn(table, np.array([0, 0, 1, 2]), references, SETTINGS).substitutions
    left, right = learned.candidates(table, np.array([4]), references)
    assert [table.names[number] for number in right] == ["transforming growth factor beta"]
    weight, sets_with = learned.features(table, left, right)[0]
    assert weight > 0
    assert sets_with == pytest.approx(math.log1p(1))


SURFACES = (
    "MRI",
    "mri",
    "magnetic resonance imaging",
    "magnetic resonance images",
    "myocardial infarction",
    "MI",
    "heart attack",
    "stroke",
    "mitral insufficiency",
)
SENTENCES = (
    "Magnetic resonance imaging (MRI) was used.",
    "We took magnetic resonance imaging (MRI).",
    "The myocardial infarction (MI) group.",
    "Mitral insufficiency (MI) was found.",
    "Myocardial infarction, also known as heart attack, kills.",
    "Heart attack and stroke were counted.",
    "Heart attack/MI was counted.",
    "Stroke versus heart attack was compared.",
)


def short_key(name: str) -> str:
    return "".join(c for c in name if c.isalnum())


def naive_features(evidence: Evidence, one: str, other: str) -> list[float]:
    as_short = as_long = longs = shorts = 0
    for a in evidence.abbreviations():
        is_short = short_key(a.short) == short_key(one)
        is_long = stem_key(a.long) == stem_key(one)
        longs += a.count * is_short
        shorts += a.count * is_long
        as_short += a.count * (is_short and stem_key(a.long) == stem_key(other))
        as_long += a.count * (is_long and short_key(a.short) == short_key(other))
    sides = [0, 0]
    for first, second, relation, count in evidence.pairs():
        if {first, second} == {normal_form(one), normal_form(other)} and one != other:
            sides[relation in OPPOSING] += count * (relation != "abbreviation")
    return [
        math.log1p(as_short + as_long),
        as_short / max(longs, 1),
        as_long / max(shorts, 1),
        math.log1p(longs),
        *map(math.log1p, sides),
    ]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(SENTENCES), max_size=10))
def test_features_of_the_text_are_those_of_a_naive_count(sentences: list[str]) -> None:
    evidence = evidence_of(sentences, SURFACES)
    text = TextEvidence(NameTable(SURFACES, []), evidence)
    every = np.arange(len(SURFACES))
    left, right = (grid.ravel() for grid in np.indices((len(every), len(every))))
    different = left != right
    left, right = left[different], right[different]
    values = text.features(left, right)
    expected = [
        naive_features(evidence, SURFACES[one], SURFACES[other])
        for one, other in zip(left.tolist(), right.tolist(), strict=True)
    ]
    np.testing.assert_allclose(values, expected, atol=1e-5)
    connected = (values[:, 0] > 0) | (values[:, 4] > 0)
    pairs = {(int(a), int(b)) for a, b in zip(*text.candidates(every, every), strict=True)}
    assert {pair for pair in pairs if pair[0] != pair[1]} == {
        (int(a), int(b)) for a, b in zip(left[connected], right[connected], strict=True)
    }


@pytest.mark.parametrize(
    ("one", "other", "shares"),
    [
        ("MRI", "magnetic resonance images", (1, 0)),  # another number of the long form
        ("magnetic resonance images", "MRI", (0, 1)),
        ("MI", "myocardial infarction", (0.5, 0)),  # it has two meanings
        ("mri", "magnetic resonance imaging", (0, 0)),  # the case of a short form counts
    ],
)
def test_definitions(one: str, other: str, shares: tuple[float, float]) -> None:
    text = TextEvidence(NameTable(SURFACES, []), evidence_of(SENTENCES, SURFACES))
    pair = (np.array([SURFACES.index(name)]) for name in (one, other))
    assert tuple(text.features(*pair)[0, 1:3].tolist()) == shares


def test_candidates_are_references_alone() -> None:
    text = TextEvidence(NameTable(SURFACES, []), evidence_of(SENTENCES, SURFACES))
    left, right = text.candidates(np.array([5]), np.array([0, 4]))
    assert ({*left.tolist()}, {*right.tolist()}) == ({5}, {4})


def test_abbreviations_that_the_corpus_defines_as_something_else_are_foreign() -> None:
    sets = [
        ["polyvinyl alcohol", "PVA", "poly(vinyl alcohol)"],
        ["polyarteritis nodosa", "PAN"],
        ["magnetic resonance imaging", "MRI"],
        ["positron emission tomography", "PET"],
    ]
    evidence = evidence_of(
        [
            "A child had pulmonary valve agenesis (PVA).",
            "Fibres of polyacrylonitrile (PAN) were spun.",
            "One patient had polyarteritis nodose (PAN).",
            "A medical record identifier (MRI) was given.",
        ]
    )
    names = [name for members in sets for name in members]
    labels = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    meanings = Meanings(names, labels, evidence, 0.6)
    ruled_out = meanings.rule_out(names, labels)
    assert [names[place] for place in np.flatnonzero(ruled_out)] == ["PVA", "MRI"]
    assert meanings.rule_out(["MRI", "PVA", "PET"], np.array([0, 1, 2])).tolist() == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("known", "is_ruled_out"),
    [
        (["map", "maps", "chart"], True),
        (["IL6", "IFNB2", "interferon beta 2"], True),
        (["M.A.P.", "chart"], False),  # another spelling
        (["MAP2", "MAPS"], False),  # abbreviations tell nothing
        (["arterial pressures, mean"], False),
    ],
)
def test_other_spellings_of_an_abbreviation_are_not_ruled_out(
    known: list[str], is_ruled_out: bool
) -> None:
    evidence = evidence_of(["The mean arterial pressure (MAP) fell."])
    meanings = Meanings(known, np.zeros(len(known), np.int64), evidence, 0.6)
    assert meanings.rule_out(["MAP"], np.array([0])).tolist() == [is_ruled_out]
