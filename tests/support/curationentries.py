"""Sets to export to curators: judged by hand, and as nasty as hypothesis can make them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import get_args

from hypothesis import strategies as st

from synsetmine.runs import Judgement, MinedSet, MinedTerm, Scope, Sentence, Verdict
from synsetmine.types import NameKind
from tests.support.strategies import PIECES

ORCID = "0000-0002-1825-0097"
WHEN = "2026-01-31T12:00:00+00:00"

NASTY = (
    *("a, b", 'say "hi"', "tab\there", "two\nlines", "car\rriage", "a => b", "back\\slash", "\\"),
    *("emoji 😀", "\u202ertl\u200f", "<script>alert(1)</script>", "=1+1", "+1", "-x", "@home"),
    *("'quoted", "''", "#hash", "x|y", "x||y", "{b}", "!bang", "a ! b", " lead", "trail ", "100%"),
    *("naïve", "α-Helix", "http://x y", "[Term]", '"', "\x85next\u2028line", "\x1f", "null", "NaN"),
)


def judgement(verdict: Verdict, scope: Scope = "exact", reviewer: str = "Ann") -> Judgement:
    return Judgement(verdict, scope, reviewer, WHEN)


def term(
    text: str,
    probability: float | None = None,
    judgement: Judgement | None = None,
    *,
    action: str | None = None,
    known: bool = False,
    sense: str = "",
    count: int = 1,
    sentences: tuple[Sentence, ...] = (),
) -> MinedTerm:
    """A seed, or a term that joined where a probability is given."""
    told = action if action is not None else "seed" if probability is None else "joined"
    return MinedTerm(text, count, told, known, probability, sense, sentences, judgement)


def infarction(entity: str | None = "D009203") -> MinedSet:
    """A set with a name of every scope, one in doubt, and one in two senses."""
    return MinedSet(
        entity or "s1",
        (
            term("myocardial infarction", count=90, known=True),
            term("heart attack", 0.97, count=40, known=True),
            term("MI", 0.8, judgement("correct", reviewer=f"https://orcid.org/{ORCID}")),
            term("MI", 0.7, sense="2"),
            term("infarct", 0.6, judgement("correct", "broad", ORCID)),
            term("STEMI", 0.9, judgement("correct", "narrow", "Bo | Co")),
            term("angina", 0.55, judgement("correct", "related")),
            term("coronary", 0.51234567, judgement("unsure")),
        ),
        entity,
        "Myocardial Infarction" if entity else "",
    )


def explained_set() -> MinedSet:
    """A set whose names say what they are: nobody judged all but one of them."""
    text = "Acute myocardial infarction (AMI)\tis\ncommon; myocardial infarction (MI) too."
    evidence = (
        Sentence("399296", text, text.index("MI)", 40), text.index("MI)", 40) + 2, "abbreviation"),
        Sentence("d2", "Myocardial infarction, or MI", 26, 28, "alias"),
    )
    return MinedSet(
        "D009203",
        (
            term("myocardial infarction", count=90, known=True),
            replace(
                term("MI", 0.9),
                kind="abbreviation",
                relation="exact",
                nearest="Infarction, Myocardial",
                evidence=evidence,
            ),
            replace(term("Myocardial Infarctions", 0.99), kind="inflection", relation="exact"),
            replace(term("heart attack", 0.8), kind="other-words", relation="exact"),
            replace(
                term("acute myocardial infarction", 0.7),
                kind="other-words",
                relation="narrow",
                nearest="myocardial infarction",
            ),
            replace(term("infarction", 0.6), kind="other-words", relation="broad"),
            replace(
                term("cerebral infarction", 0.6, judgement("correct", "related")),
                kind="other-words",
                relation="broad",
            ),
        ),
        "D009203",
        "Myocardial Infarction",
    )


def nasty() -> MinedSet:
    return MinedSet(
        "D1",
        (term('=preferred, "really"\t\''), *tuple(term(text, 0.5) for text in NASTY)),
        "D1",
        'nasty\\ name, "quoted"',
    )


def surfaces() -> st.SearchStrategy[str]:
    pieces = st.sampled_from((*PIECES, *NASTY)) | st.text(max_size=2)
    return st.lists(pieces, min_size=1, max_size=3).map("".join).filter(bool)


def terms() -> st.SearchStrategy[MinedTerm]:
    judgements = st.builds(
        Judgement,
        st.sampled_from(get_args(Verdict)),
        st.sampled_from(get_args(Scope)),
        st.sampled_from(("Ann", ORCID, "Bo|Co", "=me\t")),
        st.just(WHEN),
    )
    evidence = st.builds(
        Sentence,
        document=surfaces(),
        text=surfaces(),
        start=st.just(0),
        end=st.just(0),
        relation=st.sampled_from(("abbreviation", "alias")),
    )
    return st.builds(
        MinedTerm,
        surfaces(),
        count=st.integers(0, 10**12),
        action=st.sampled_from(("seed", "joined", "forced", "opened", "")),
        known=st.booleans(),
        probability=st.none() | st.floats(0, 1),
        sense=st.sampled_from(("", "2")),
        judgement=st.none() | judgements,
        kind=st.none() | st.sampled_from(get_args(NameKind)),
        relation=st.none() | st.sampled_from(get_args(Scope)),
        nearest=st.just("") | surfaces(),
        evidence=st.lists(evidence, max_size=2).map(tuple),
    )


@st.composite
def entries(draw: st.DrawFn) -> list[MinedSet]:
    """Sets without a term in common, as a partition has them, with odd ids."""
    every = draw(st.lists(terms(), min_size=1, max_size=8, unique_by=lambda t: (t.text, t.sense)))
    ids = draw(st.lists(surfaces(), min_size=len(every), max_size=len(every), unique=True))
    cuts = sorted({0, len(every), *draw(st.lists(st.integers(0, len(every)), max_size=3))})
    made = []
    for start, stop in pairwise(cuts):
        entity = ids[start] if draw(st.booleans()) else None
        members = every[start:stop]
        made.append(MinedSet(ids[start], tuple(members), entity, draw(surfaces())))
    return made
