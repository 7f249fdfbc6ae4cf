"""What tests of reviews share: small mined sets, and people who decide at random."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from synsetmine.review import Decision, ReviewState
from synsetmine.runs import MinedSet, MinedTerm
from synsetmine.types import Term

VERDICTS = ("correct", "incorrect", "unsure")
SCOPES = ("exact", "broad", "narrow", "related")


def mined_set(set_id: str, *terms: str, entity: str | None = None, name: str = "") -> MinedSet:
    """A set from texts such as `aspirin` or `asa:0.8`, a name that joined with 0.8."""
    return MinedSet(set_id, tuple(map(_term, terms)), entity, name)


def _term(text: str) -> MinedTerm:
    text, _, joined = text.partition(":")
    term = Term.parse(text)
    action, probability = ("joined", float(joined)) if joined else ("seed", None)
    return MinedTerm(term.surface, len(text), action, not joined, probability, sense=term.sense)


@st.composite
def mined_sets(draw: st.DrawFn, *, terms: Sequence[str] = "abcdefghij") -> list[MinedSet]:
    """A partition of these terms, or of some of them, with ids and probabilities."""
    kept = draw(st.lists(st.sampled_from(list(terms)), min_size=1, unique=True))
    groups: dict[int, list[str]] = {}
    for term in kept:
        sure = draw(st.sampled_from(["", ":0.5", ":0.7", ":0.9"]))
        groups.setdefault(draw(st.integers(0, 4)), []).append(f"{term}{sure}")
    return [mined_set(f"s{label}", *texts) for label, texts in groups.items()]


def some_decision(draw: st.DrawFn, state: ReviewState) -> Decision | None:
    """Any decision that a person could make now; None where there is nothing to decide so."""
    kind = draw(
        st.sampled_from(
            ["accept", "reject", "unsure", "judge", "remove", "split", "merge", "rename"]
        )
    )
    found = draw(st.sampled_from(state.sets))
    reviewer = draw(st.sampled_from(["ann", "bob"]))
    terms: list[str] = []
    other = ""
    if kind in ("remove", "split"):
        if len(found.keys) < 2:
            return None
        most = 1 if kind == "remove" else len(found.keys) - 1
        terms = draw(st.lists(st.sampled_from(found.keys), min_size=1, max_size=most, unique=True))
    elif kind == "merge":
        others = [one.id for one in state.sets if one.id != found.id]
        if not others:
            return None
        other = draw(st.sampled_from(others))
    elif kind == "rename":
        terms = [draw(st.sampled_from(found.keys))]
    elif kind == "judge" or (kind == "accept" and not draw(st.booleans())):
        terms = draw(st.lists(st.sampled_from(found.keys), min_size=1, unique=True))
    elif kind == "accept":
        terms = list(found.keys)
    return state.decide(
        kind,  # type: ignore[arg-type]
        found.id,
        reviewer=reviewer,
        terms=terms,
        other=other,
        verdict=draw(st.sampled_from(VERDICTS)) if kind == "judge" else None,
        scope=draw(st.sampled_from(SCOPES)) if kind in ("judge", "accept") else None,
    )
