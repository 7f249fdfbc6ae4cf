"""Made-up findings for reports: a small run on medical abstracts, and hostile texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from hypothesis import strategies as st

from synsetmine.linking.supervision import Tally
from synsetmine.pipeline.mining import RehearsalLevel, RehearsalSummary
from synsetmine.pipeline.report.findings import (
    Epochs,
    Findings,
    HeldOutScore,
    Penalties,
    StageSummary,
)
from synsetmine.runs import MinedSet, MinedTerm, Sentence
from synsetmine.types import Link
from tests.support.strategies import PIECES

NASTY = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]> & &amp; \" ' ` {{ 7 * 7 }} {% raw %}",
    "line\u2028and\u2029paragraph",
    "\u202eright to left",
    "javascript:alert(1)",
    "👩\u200d👧 naïve 漢字",
)
nasty_texts = st.lists(
    st.sampled_from([*PIECES, *NASTY]) | st.text(min_size=1, max_size=3), min_size=1, max_size=3
).map("".join)

MEDICINE: Mapping[tuple[str, str], Sequence[tuple[str, int, float | None, bool]]] = {
    ("D009203", "Myocardial Infarction"): [
        ("myocardial infarction", 332, None, True),
        ("heart attack", 58, None, True),
        ("heart attacks", 21, 0.93, False),
        ("coronary thrombosis", 9, 0.57, False),
    ],
    ("D006973", "Hypertension"): [
        ("hypertension", 911, None, True),
        ("high blood pressure", 64, 0.9712, True),
        ("raised blood pressure", 12, 0.81, False),
    ],
    ("D006333", "Heart Failure"): [
        ("heart failure", 402, None, True),
        ("cardiac failure", 37, 0.99, True),
        ("CHF", 120, 0.64, False),
    ],
    ("D003920", "Diabetes Mellitus"): [("diabetes mellitus", 254, None, True)],
    ("", "acetylsalicylic acid"): [
        ("acetylsalicylic acid", 44, None, True),
        ("aspirin", 210, 0.72, True),
        ("ASA", 31, 0.515, False),
    ],
    ("", "ankle oedema"): [("ankle oedema", 4, None, False), ("swollen ankles", 2, 0.66, False)],
    ("", "salbutamol"): [("salbutamol", 19, None, False)],
}


REHEARSAL = RehearsalSummary(
    hidden=1200,
    levels=[
        RehearsalLevel(0.5, 6, 4.9, 1105, 0.912, 0.84, 0.081),
        RehearsalLevel(0.9, 3, 2.9, 663, 0.996, 0.55, 0.012),
    ],
    reliability=[(0.05, 0.04, 800), (0.96, 0.94, 700)],
    calibration_error=0.0123,
)
PENALTIES = Penalties([(None, 1.2), (100, 0.9), (10, 0.7), (1, 0.8)], 10)


def sample(
    *, sets: Sequence[MinedSet] | None = None, training: Epochs | Penalties | None = None
) -> Findings:
    """A small run on medical abstracts, with everything that a report can show."""
    mined = medical_sets() if sets is None else sets
    names = {entity: name for entity, name in MEDICINE if entity}
    terms = [(term.text, s.id) for s in mined for term in s.terms][:1500]
    history = [
        (e, 0.1 + 0.6 / e, 0.8 - abs(e - 14) / 50 if e % 2 == 0 else None) for e in range(1, 21)
    ]
    return Findings(
        title="Names of diseases and drugs",
        version="1.2.3",
        created="2025-03-09T14:05:00+00:00",
        inputs=[("corpus", "abstracts.jsonl.gz, 33,277 documents, 44 MB"), ("names", "mesh.obo")],
        stages=[
            StageSummary("link", 6.24, "512,345 mentions"),
            StageSummary("train", 83.5),
            StageSummary("mine", 3800),
        ],
        skipped=[("not UTF-8", 3, "abstracts.jsonl.gz:12: not UTF-8: b'caf\\xe9'")],
        kept=Tally(9211, 402112, (Link("heart attack", "D009203", 58),)),
        dropped={
            "not a known name of its entity": Tally(2230, 51200, (Link("stroke", "D009203", 12),)),
            "seen too seldom": Tally(4120, 4120, (Link("CHF", "D999999", 1),)),
        },
        entity_names=names,
        training=training or Epochs(history, 14, "ARI"),
        scores=[
            HeldOutScore("ARI", 0.8472, 0.0112, "adjusted Rand index"),
            HeldOutScore("NMI", 0.97),
        ],
        thresholds=[(i / 10, i / 12, i / 11, i / 13) for i in range(1, 10)],
        threshold=0.5,
        sets=mined,
        points=[(term, math.cos(i), math.sin(3 * i), s) for i, (term, s) in enumerate(terms)],
        summary=[
            "6 new names for 3 entities; 3 with probability 0.9 or more, "
            "of which about 3 should be right"
        ],
        rehearsal=REHEARSAL,
    )


def medical_sets() -> list[MinedSet]:
    sets = []
    for number, ((entity, _), members) in enumerate(MEDICINE.items()):
        terms = tuple(
            MinedTerm(
                text=text,
                count=count,
                action="joined" if p is not None else "seed" if entity else "opened",
                known=known,
                probability=p,
                sentences=tuple(sentences_with(text, count)),
            )
            for text, count, p, known in members
        )
        sets.append(MinedSet(entity or f"c{number}", terms, entity or None))
    return sets


def sentences_with(term: str, count: int) -> Iterator[Sentence]:
    for number, (before, after) in enumerate(
        [("We followed 66 patients with ", " for a year."), ("Is ", " 😀 on the rise?")]
    ):
        if number < count:
            text = f"{before}{term}{after}"
            yield Sentence(f"PMID{count + number}", text, len(before), len(before) + len(term))


def one_set(text: str) -> MinedSet:
    """A set in which every text is the same one."""
    sentence = Sentence(text, f"{text}{text}{text}", len(text), 2 * len(text))
    return MinedSet(text, (MinedTerm(text, 1, text, False, 0.5, text, (sentence,)),), text)


def findings_with(text: str) -> Findings:
    """A run in which every text that comes from outside is the same one."""
    tally = Tally(1, 1, (Link(text, text, 1),))
    pair = (MinedTerm(text, 2, "opened", False), MinedTerm(f"{text}2", 1, text, False, 0.7))
    return Findings(
        title=text,
        version="1",
        created=text,
        inputs=[(text, text)],
        stages=[StageSummary(text, 1.0, text)],
        skipped=[(text, 1, text)],
        kept=tally,
        dropped={text: tally},
        entity_names={text: text},
        training=Epochs([(1, 0.5, 0.5)], 1, text),
        scores=[HeldOutScore(text, 0.5, 0.1, text)],
        thresholds=[(0.5, 0.5, 0.5, 0.5)],
        threshold=0.5,
        sets=[one_set(text), MinedSet(f"{text}2", pair)],
        points=[(text, 0.0, 1.0, text), (text, 2.0, 0.0, text)],
        summary=[text],
    )
