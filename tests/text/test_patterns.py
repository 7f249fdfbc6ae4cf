"""Abbreviation definitions and connectors against real sentences and an exhaustive search."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synsetmine.text.patterns import (
    OPPOSING,
    SUPPORTING,
    Relation,
    find_definitions,
    relation_between,
)
from synsetmine.text.tokens import FUNCTION_WORDS


def defined(text: str) -> list[tuple[str, str]]:
    return [(text[slice(*short)], text[slice(*long)]) for short, long in find_definitions(text)]


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("brain magnetic resonance imaging (MRI) scans", "MRI", "magnetic resonance imaging"),
        ("An MRI (magnetic resonance imaging) scan", "MRI", "magnetic resonance imaging"),
        ("as WHO (the World Health Organization) says", "WHO", "World Health Organization"),
        ("use of enzyme-linked assay (ELA)", "ELA", "enzyme-linked assay"),
        ("forced task. A drug-dependent learning (DDL)", "DDL", "drug-dependent learning"),
        ("alcohol and other drug (AOD) use", "AOD", "alcohol and other drug"),
        ("quality of life (QoL) of patients", "QoL", "quality of life"),
        ("in situ hybridization (ISH)", "ISH", "in situ hybridization"),
        ("by 3-methylcholanthrene (MC)", "MC", "3-methylcholanthrene"),
        ("of [3H]dimethylnitrosamine (DMN)", "DMN", "dimethylnitrosamine"),
        ("with 5-hydroxytryptamine (5-HT; serotonin)", "5-HT", "5-hydroxytryptamine"),
        ("2.42 [95% confidence interval (CI): 1 to 3]", "CI", "confidence interval"),
        ("the anti-basement membrane (BM) antibody", "BM", "basement membrane"),
        ("of National Heart, Lung, and Blood (NHLB)", "NHLB", "National Heart, Lung, and Blood"),
        ("binding of concanavalin A (Con A) to", "Con A", "concanavalin A"),
        ("given intravenous (i.v.) doses", "i.v.", "intravenous"),
        ("hypertensive patients (pts.) were", "pts.", "patients"),
        ("of “magnetic\n resonance” ( MR ) here", "MR", "magnetic\n resonance"),
        ("forced expired volume in 1 second (FEV1)", "FEV1", "forced expired volume in 1 second"),
        (f"{'far ' * 200}cardiac output (CO)", "CO", "cardiac output"),
        ("Die Ärzte ohne Grenzen (ÄOG)", "ÄOG", "Ärzte ohne Grenzen"),
    ],
)
def test_definitions_are_found_with_sound_borders(text: str, short: str, long: str) -> None:
    assert (short, long) in defined(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "()",
        "( )",
        "(MRI)",
        "magnetic resonance imaging (MRI",
        "magnetic resonance imaging MRI)",
        "Magnetic resonance is imaged. Later (MRI) was used",  # across the end of a sentence
        "Magnetic resonance imaging. (MRI) was used",
        "poly(A) and f(x) of patients",
        "patients (n = 20) and probes (p < 0.05) in percent (5 %)",
        "in the years (2003) and (Smith 2003)",
        "the injection (iii), inhibition (ii)",
        "elevated BP (BP ≥ 140/90 mmHg)",
        "morphine (1.5 mg) 59%, and of meperidine (1.5 mg)",
        "gliomas of the midbrain (Group I) or caudal brain stem (Group II) were",
        "The serum levels of thyrotrophin (TSH)",  # begins with a stop word
        "range from 2000 (bone marrow) to 7000 (spleen)",
        "not inhibited, i.e. irreversible (i.e.) here",
        "analyses of magnetic fields (such as these) or mainly (MF)",
        "Hispanic or Latino (Hispanic)",
        "rheumatoid arthritis cohort (RA)",  # the last word has nothing of the short form
        "later periods up to 75 months (late)",
        "receptors are their specificity for homologous (rat)",
        "from 7 to 18 degrees C in a (Ca)",
        "rest; extended: stay times (REST)",
        "patients in one group received glucagon (group A)",
        "x" * 5000 + " (XX)",
        "a (" * 2000,
        "a " * 3000 + "(AA)",
    ],
)
def test_nothing_else_is_a_definition(text: str) -> None:
    assert defined(text) == []


WORDS = st.text("abcst", min_size=3, max_size=6).filter(lambda word: word not in FUNCTION_WORDS)


def naive(words: list[str], short: str) -> str | None:
    """All starts from right to left: first those of which each word gives its first letter."""
    words = words[-min(len(short) + 5, 2 * len(short)) :]
    tails = [words[start:] for start in reversed(range(len(words)))]
    for tail in tails:
        if "".join(word[0] for word in tail) == short.lower():
            return " ".join(tail)
    for tail in tails:
        letters = "".join(f"{re.escape(letter)}.*" for letter in short.lower())
        long = " ".join(tail)
        if re.fullmatch(letters, long):
            sound = len(long) > len(short) and short[-1].lower() in tail[-1]
            return long if sound and short.lower() not in tail else None
    return None


@given(st.lists(WORDS, min_size=1, max_size=9), st.text("ABCST", min_size=2, max_size=5))
@example(["cab", "abc", "cat", "tab"], "CACT")
@example(["tac", "sat"], "TS")
def test_definitions_agree_with_an_exhaustive_search(words: list[str], short: str) -> None:
    text = f"{' '.join(words)} ({short})"
    expected = naive(words, short)
    if re.match(rf"{short}\b", expected or "", re.IGNORECASE):
        expected = None
    assert defined(text) == ([] if expected is None else [(short, expected)])


@given(st.text("aB1 .,;:-/()[]'\"é中", max_size=60))
def test_every_definition_keeps_its_letters(text: str) -> None:
    for short, long in find_definitions(text):
        letters = [char for char in text[slice(*short)].lower() if char.isalnum()]
        rest = iter(text[slice(*long)].lower())
        assert all(letter in rest for letter in letters)
        assert long[1] <= short[0] or short[1] <= long[0]
        assert text[long[0]].isalnum()
        assert not text[long[1] - 1].isspace()


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("<A> (<B>)", "parenthesis"),
        ("<A> [<B>]", "parenthesis"),
        ("<A> (<B>, <C>)", None),  # examples in brackets
        ("<A> (<B> of mice)", None),
        ("<A>, also known as <B>", "alias"),
        ("<A> (also called the <B>)", "alias"),
        ("<A>, formerly <B>", "alias"),
        ("<A> (previously known as <B>)", "alias"),
        ("<A>, a.k.a. <B>", "alias"),
        ("<A>, i.e. <B>", "alias"),
        ("<A> is commonly referred to as “<B>”", "alias"),
        ("<A> (or <B>)", "alias"),
        ("In rats <A>, or <B>, was", "alias"),
        ("In rats, mice, <A>, or <B>, was", "conjunction"),
        ("<A>, or <B> was", "conjunction"),
        ("<A>/<B>", "slash"),
        ("<A> / <B>", "slash"),
        ("<A> and <B>", "conjunction"),
        ("<A> and the <B>", "conjunction"),
        ("<A>, and\n<B>", "conjunction"),
        ("<A> or <B>", "conjunction"),
        ("<A> and/or <B>", "conjunction"),
        ("<A> as well as <B>", "conjunction"),
        ("<A>, <B>", "list"),
        ("<A>; <B>", "list"),
        ("<A> such as <B>", "such as"),
        ("<A>, including <B>", "such as"),
        ("<A> (e.g., <B>)", "such as"),
        ("<A> like <B>", "such as"),
        ("<A> versus <B>", "versus"),
        ("<A> vs. <B>", "versus"),
        ("<A> compared with <B>", "versus"),
        ("<A> than <B>", "versus"),
        ("<A> of <B>", None),
        ("<A> <B>", None),
        ("<A>. <B>", None),
        (f"<A>{' ' * 80}and <B>", None),
    ],
)
def test_what_stands_between_two_names(text: str, relation: Relation | None) -> None:
    places = {name: text.index(f"<{name}>") for name in "AB"}
    spans = [(places[name], places[name] + 3) for name in "AB"]
    assert relation_between(text, spans[0], spans[1]) == relation


def test_relations_speak_for_or_against() -> None:
    assert {*SUPPORTING, *OPPOSING} == {*get_args(Relation)}
    assert list(SUPPORTING) == sorted(SUPPORTING)  # examples are sorted by relation
