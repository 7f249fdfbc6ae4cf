"""What kind a new name is, which relation it has to its set, and which names conflict."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.text import kinds
from synsetmine.text.kinds import (
    DifferingWords,
    is_abbreviation,
    name_kind,
    names_conflict,
    pair_kind,
    relation_of,
)
from synsetmine.text.word_forms import is_designator, name_stems, stem
from synsetmine.types import NameKind, Scope

MESH = Path(__file__).parents[3] / "shared" / "data" / "medline" / "mesh.jsonl.gz"

PAIRS: dict[NameKind, Sequence[tuple[str, str]]] = {
    "spelling": [
        ("Heart-Failure", "heart failure"),
        ("tumour", "Tumor"),
        ("haemorrhagic diarrhoea", "hemorrhagic diarrhea"),
        ("Besançon", "BESANCON"),
        ("data base", "database"),
        ("health centre", "health center"),
        ("organisation", "organization"),
        ("α-tocopherol", "alpha-Tocopherol"),
        ("TNFα", "TNF-alpha"),
        ("type II diabetes", "type 2 diabetes"),
        ("AT&T", "AT and T"),
        ("IL-18", "IL18"),
        ("Alzheimer's disease", "Alzheimers disease"),
        ("grey seal", "gray seal"),
    ],
    "inflection": [
        ("DC", "DCs"),
        ("plasmacytoid DC", "plasmacytoid DCs"),
        ("T4", "T4s"),
        ("heart attacks", "heart attack"),
        ("Alzheimer's disease", "Alzheimer disease"),
        ("bodies of water", "body of water"),
        ("vertebrae", "vertebra"),
        ("bacilli", "Bacillus"),
        ("mitochondria", "mitochondrion"),
        ("analyses", "analysis"),
        ("arterial", "artery"),
        ("neurologic disease", "neurological disease"),
        ("Italian", "Italy"),
        ("women's hospital", "woman hospital"),
        ("potatoes", "potato"),
        ("centres", "center"),
    ],
    "word-order": [
        ("Failure, Heart", "heart failure"),
        ("diseases of the heart", "heart disease"),
        ("Second World War", "World War II"),
        ("The Beatles", "Beatles"),
        ("Lake Victoria", "Victoria Lake"),
        ("Neoplasm, Colonic", "colon neoplasms"),
        ("Agents, Antidiuretic", "Anti-Diuretic Agent"),
    ],
    "abbreviation": [
        ("MRI", "magnetic resonance imaging"),
        ("MRIs", "magnetic resonance imaging"),
        ("USA", "United States of America"),
        ("U.S.", "United States"),
        ("ECG", "electrocardiogram"),
        ("DNA", "deoxyribonucleic acid"),
        ("NSAID", "nonsteroidal anti-inflammatory drugs"),
        ("IL-2", "interleukin 2"),
        ("E. coli", "Escherichia coli"),
        ("Calif.", "California"),
        ("St. Louis", "Saint Louis"),
        ("HIV infections", "human immunodeficiency virus infection"),
        ("IgG", "immunoglobulin G"),
        ("mRNA", "messenger RNA"),
    ],
    "other-words": [
        ("renal failure", "kidney failure"),
        ("heart attack", "myocardial infarction"),
        ("cat", "chronic fatigue"),
        ("MRI", "nuclear tomography"),
        ("MS", "M"),
        ("Burma", "Myanmar"),
        ("heart failure", "acute heart failure"),
        ("United States", "United Kingdom"),
        ("+", "-"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "one", "other"), [(kind, *pair) for kind, pairs in PAIRS.items() for pair in pairs]
)
def test_kind_of_two_names(kind: NameKind, one: str, other: str) -> None:
    assert pair_kind(one, other) == pair_kind(other, one) == kind


def test_the_most_alike_of_the_known_names_counts() -> None:
    known = ["Failure, Heart", "cardiac failure", "Heart Failures", "HF"]
    assert name_kind("heart-failure", known) == ("inflection", "Heart Failures")
    assert name_kind("heart-failure", known[:2]) == ("word-order", "Failure, Heart")
    assert name_kind("failing heart", known) == ("other-words", "Failure, Heart")
    assert name_kind("myocardial failure", known) == ("other-words", "cardiac failure")
    with pytest.raises(DataError, match="at least one known name"):
        name_kind("heart failure", [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("type 1 diabetes", "diabetes type 2"),
        ("type 1 diabetes mellitus", "type II diabetes"),
        ("phospholipase A2", "phospholipase D"),
        ("male rats", "female rats"),
        ("superior colliculus", "inferior colliculi"),
        ("left ventricle", "right cardiac ventricle"),
        ("acute myeloid leukaemia", "chronic myeloid leukemia"),
        ("hypertension", "hypotension"),
        ("interferon alpha", "interferon-β"),
        ("vitamin B12", "vitamin B6"),
        ("B12", "B6"),
        ("CD4 T cells", "CD8 T cell"),
        ("IL-2", "IL3"),
        ("stage IIa cancer", "stage IIb cancer"),
        ("non-Hodgkin lymphoma", "Hodgkin lymphoma"),
        ("nonsmall cell lung cancer", "small cell lung cancer"),
        ("syndrome without aura", "syndrome aura"),
        ("World War I", "Second World War"),
        ("North Korea", "South Korea"),
        ("Eastern Samoa", "Western Samoa"),
        ("GPT-3", "GPT-4"),
        ("hepatitis A", "hepatitis B"),
    ],
)
def test_siblings_and_opposites_conflict(one: str, other: str) -> None:
    assert names_conflict(one, other)
    assert names_conflict(other, one)
    assert relation_of(one, [other]) == "related"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("type II diabetes", "diabetes type 2"),
        ("diabetes", "type 2 diabetes"),
        ("coagulation factor V", "coagulation factor 5"),
        ("receptor beta", "receptor B"),
        ("heart attack", "myocardial infarction"),
        ("CD134L protein", "OX40L protein"),  # two names with numbers of their own
        ("CCK B receptor", "CCK 2 receptor"),  # a letter here, a number there
        ("Lake Victoria", "Victoria Lake"),
        ("left lung", "lung"),
        ("a cold", "cold"),
    ],
)
def test_names_without_conflict(one: str, other: str) -> None:
    assert not names_conflict(one, other)
    assert not names_conflict(other, one)


@pytest.mark.parametrize(
    ("name", "known", "relation"),
    [
        ("acute heart failure", ["heart failure", "cardiac failure"], "narrow"),
        ("heart failure", ["acute heart failure"], "broad"),
        ("Failure, Acute Heart", ["heart failure"], "narrow"),
        ("cancer of the left lung", ["lung cancer"], "narrow"),
        ("type 2 diabetes", ["diabetes"], "narrow"),
        ("diabetes mellitus type 2", ["diabetes mellitus"], "narrow"),
        ("New York", ["York"], "narrow"),
        ("heart failures", ["heart failure", "acute heart failure"], "exact"),
        ("HF", ["heart failure"], "exact"),
        ("renal failure", ["kidney failure"], "exact"),
        ("black bear", ["white bear"], "related"),
        ("HIV-infected", ["HIV infection"], "related"),
        ("clinically relevant", ["clinical relevance"], "related"),
        ("dopaminergic", ["dopamine"], "related"),
        ("oncology nurses", ["nursing, oncology"], "related"),
        ("mesalazine", ["mesalamine"], "exact"),  # no endings of one root
        ("sperm", ["spermatozoa"], "exact"),
        ("fluoxetin", ["fluoxetine"], "exact"),
        ("aortic dilation", ["aortic dilatation"], "exact"),
        ("vitamin D deficient", ["vitamin D deficiency"], "related"),
    ],
)
def test_relation(name: str, known: list[str], relation: Scope) -> None:
    assert relation_of(name, known, 0.9) == relation


def test_probability_decides_where_words_do_not() -> None:
    assert relation_of("renal failure", ["kidney failure"], 0.5) == "exact"
    assert relation_of("renal failure", ["kidney failure"], 0.49) == "related"
    assert relation_of("acute renal failure", ["renal failure"], 0.01) == "narrow"


@pytest.mark.parametrize(
    ("name", "known", "relation"),
    [
        ("chronic renal failure", ["renal failure", "kidney failure"], "narrow"),
        ("platelet aggregation", ["platelet", "blood platelet"], "related"),
        ("pituitary tumors", ["pituitary gland", "pituitary"], "related"),
        ("tumor", ["pituitary tumors"], "broad"),
        ("pituitary", ["pituitary tumors"], "related"),
    ],
)
def test_further_words_of_which_the_sets_say_nothing_change_the_meaning(
    name: str, known: list[str], relation: Scope
) -> None:
    words = DifferingWords.learn([known])
    assert relation_of(name, known, 0.9, words) == relation_of(name, known, 0.1, words) == relation


PROVINCES = [
    *([f"{name} Province", name] for name in ("Jiangsu", "Hunan", "Gauteng")),
    *([f"{name} county", f"county of {name}"] for name in ("Kent", "Essex")),
    ["Kent"],
    ["Essex"],
    ["renal colic", "kidney colic"],
    ["renal stone", "kidney stone"],
    *([f"{metal} oxide"] for metal in ("zinc", "iron")),
    *([f"{metal} sulphate"] for metal in ("zinc", "iron")),
]


def test_words_that_change_the_meaning_are_learned() -> None:
    words = DifferingWords.learn(PROVINCES)
    assert repr(words) == f"DifferingWords({len(words.words)} words, {len(words.pairs)} pairs)"
    assert words.words["province"] == (3, 0)
    assert words.words["county"] == (0, 2)
    assert words.optional("provinces") == pytest.approx((3 + 2 * 3 / 5) / (3 + 2))
    assert words.optional("unheard") is None
    assert words.pairs["kidney", "renal"] == (2, 0)
    assert words.unite("renal", "Kidneys".lower())
    assert words.pairs["iron", "zinc"] == (0, 2)
    assert words.distinguish("zinc", "iron")
    assert not words.distinguish("renal", "kidney")

    assert relation_of("Limpopo Province", ["Limpopo"], 0.1, words) == "exact"
    assert relation_of("Sussex county", ["Sussex"], 0.9, words) == "related"
    assert relation_of("Sussex county", ["Sussex"], 0.9) == "related"  # not known
    assert relation_of("renal failure", ["kidney failure"], 0.1, words) == "exact"
    assert relation_of("zinc chloride", ["iron chloride"], 0.9, words) == "related"
    assert names_conflict("zinc chloride", "iron chlorides", words)
    assert not names_conflict("zinc chloride", "iron chlorides")


WORDS = "heart hearts failure acute left right 1 2 type renal kidney of"
vocabulary = st.sampled_from(WORDS.split())
small_names = st.lists(vocabulary, min_size=1, max_size=4).map(" ".join)
small_sets = st.lists(st.lists(small_names, min_size=1, max_size=4), max_size=7)


@given(small_sets)
def test_learned_counts_equal_those_of_all_pairs_of_names(sets: list[list[str]]) -> None:
    words, pairs = _count_all_pairs(sets)
    learned = DifferingWords.learn(sets)
    assert dict(learned.words) == words
    assert dict(learned.pairs) == {
        key: (same, different) for key, (same, different) in pairs.items() if same or different > 1
    }


BatchCounts = dict[object, tuple[int, int]]


def _count_all_pairs(sets: list[list[str]]) -> tuple[BatchCounts, BatchCounts]:
    bags = {(i, name_stems(name)) for i, names in enumerate(sets) for name in names}
    words: dict[object, set[tuple[int, int]]] = {}
    pairs: dict[object, set[tuple[int, int]]] = {}
    for (i, one), (j, other) in product(bags, bags):
        own, theirs = one - other, other - one
        entities = (min(i, j), max(i, j))
        if len(own) == 1 and not theirs and other:
            words.setdefault(min(own), set()).add(entities)
        if len(own) == 1 and len(theirs) == 1 and (i == j or one & other):
            pairs.setdefault(tuple(sorted(own | theirs)), set()).add(entities)

    def counted(observed: dict[object, set[tuple[int, int]]]) -> BatchCounts:
        return {
            key: (sum(i == j for i, j in entities), sum(i != j for i, j in entities))
            for key, entities in observed.items()
        }

    return counted(words), counted(pairs)


def test_a_large_group_says_nothing_of_two_of_its_words() -> None:
    words = [f"x{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(101)]
    sets = [[f"{word} {noun}"] for word in words for noun in ("acid", "oxide")]
    nouns = {("acid", "oxide"): (0, 101)}
    assert dict(DifferingWords.learn(sets).pairs) == nouns
    assert len(DifferingWords.learn(sets[2:]).pairs) == 100 * 99 // 2 + 1
    together = DifferingWords.learn([*sets, ["renal acid", "kidney acid"]])
    assert dict(together.pairs) == nouns | {("kidney", "renal"): (1, 0)}


letters = st.text("abc", min_size=1, max_size=4)


@given(letters, st.lists(letters, min_size=1, max_size=3))
def test_letters_of_words_equal_an_exhaustive_search(short: str, words: list[str]) -> None:
    """Every way to choose letters: of each word none, or its first and some of the others."""
    options = []
    for place, word in enumerate(words):
        chosen = [
            "".join((word[0], *rest))
            for count in range(len(word))
            for rest in combinations(word[1:], count)
        ]
        options.append(chosen if place == 0 else ["", *chosen])
    counts = [sum(map(bool, way)) for way in product(*options) if "".join(way) == short]
    assert kinds._words_with_letters(short, words) == max(counts, default=0)


@given(small_names, small_names)
def test_both_directions_agree(one: str, other: str) -> None:
    assert pair_kind(one, other) == pair_kind(other, one)
    assert names_conflict(one, other) == names_conflict(other, one)
    assert is_abbreviation(one, other) == is_abbreviation(other, one)
    turned = {"narrow": "broad", "broad": "narrow"}
    relation = relation_of(one, [other])
    assert relation_of(other, [one]) == turned.get(relation, relation)


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_text_has_a_kind(one: str, other: str) -> None:
    assert pair_kind(one, one) == "spelling"
    assert not names_conflict(one, one)
    assert pair_kind(one, other) == pair_kind(other, one)
    assert name_kind(one, [other]).nearest == other
    assert relation_of(one, [other]) in ("exact", "broad", "narrow", "related")


PLURALS = """
women/woman children/child bodies/body boxes/box churches/church classes/class viruses/virus
causes/cause houses/house fungi/fungus nuclei/nucleus alveoli/alveolus algae/alga species/species
hypotheses/hypothesis neuroses/neurosis matrices/matrix bacteria/bacterium series/series gases/gas
devices/device diseases/disease bases/base shoes/shoe analyses/analysis thrombi/thrombus
"""


@pytest.mark.parametrize("pair", PLURALS.split())
def test_singular_and_plural_have_one_stem(pair: str) -> None:
    plural, singular = pair.split("/")
    assert stem(plural) == stem(singular)


@pytest.mark.parametrize("pair", ["bus/busy", "glass/glas", "news/new", "heart/hearth", "iris/iri"])
def test_other_words_have_other_stems(pair: str) -> None:
    one, other = pair.split("/")
    assert stem(one) != stem(other)


@pytest.mark.slow
@pytest.mark.skipif(not MESH.exists(), reason="needs MeSH")
def test_conflicts_on_mesh() -> None:
    """Learned on one half of MeSH, judged on the other."""
    with gzip.open(MESH, "rt") as lines:
        records = map(json.loads, lines)
        sets = [[record["name"], *record["synonyms"]] for record in records]
    random.Random(0).shuffle(sets)
    half = len(sets) // 2
    words, judged = DifferingWords.learn(sets[:half]), sets[half:]

    chance = random.Random(1)
    same = [chance.sample(names, 2) for names in judged if len(names) > 1 for _ in range(3)]
    wrong = sum(names_conflict(one, other, words) for one, other in same)
    assert wrong < 0.01 * len(same)

    siblings = list(_numbered_siblings(judged))
    right = sum(names_conflict(one, other, words) for one, other in siblings)
    assert len(siblings) > 1000
    assert right > 0.9 * len(siblings)


def _numbered_siblings(sets: list[list[str]]) -> list[tuple[str, str]]:
    """Names of two entities that are alike but for a designator each."""
    groups: dict[frozenset[str], dict[str, tuple[int, str]]] = {}
    for entity, names in enumerate(sets):
        for name in names:
            stems = name_stems(name)
            for word in filter(is_designator, stems):
                if any(len(rest) > 2 for rest in stems - {word}):
                    groups.setdefault(stems - {word}, {}).setdefault(word, (entity, name))
    return [
        (one, other)
        for group in groups.values()
        for (i, one), (j, other) in combinations(group.values(), 2)
        if i != j
    ]


@pytest.mark.parametrize(
    ("name", "other", "kind", "relation"),
    [
        ("hepatitis A", "hepatitis", "other-words", "narrow"),
        ("IL-17", "IL-17A", "other-words", "broad"),
        ("vitamin A deficiency", "Deficiency, Vitamin A", "word-order", "exact"),
        ("a cold", "cold", "word-order", "exact"),
        ("heart of a dog", "dog heart", "word-order", "exact"),
    ],
)
def test_the_letter_a_is_no_article(name: str, other: str, kind: str, relation: str) -> None:
    assert pair_kind(name, other) == kind
    assert relation_of(name, [other]) == relation
