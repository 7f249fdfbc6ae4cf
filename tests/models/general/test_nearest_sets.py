"""Known sets that are too few for a rehearsal, and the new names that join them."""

from __future__ import annotations

import pytest

from synsetmine.models import generate_sets
from synsetmine.models.general import load_general
from synsetmine.models.task import MiningResult
from synsetmine.pipeline.mining import describe_joins
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews
from tests.support.nameworlds import evidence_of

KNOWN = SynonymSets.of(
    [
        ["pituitary gland", "hypophysis", "pituitary"],
        ["erythrocyte", "red blood cell", "red cell"],
        ["renal failure", "kidney failure"],
        ["growth hormone", "somatotropin", "somatotrophin", "adenohypophyseal protein"],
        ["thyroid gland", "thyroid"],
    ],
    ["pituitary", "erythrocyte", "failure", "hormone", "thyroid"],
)
NEW = (
    *("rat pituitary", "red cell volume", "red cells", "erythrocytes", "chronic renal failure"),
    *("renal function", "GH", "General Hospital", "thyroid hormone", "thyroid hormones"),
)
TEXTS = [
    "Rats had growth hormone (GH) in plasma.",
    "Release of growth hormone (GH) fell.",
    "The General Hospital (GH) took part.",
]


def mined(texts: list[str] = TEXTS, *, threshold: float = 0.3, known: float = 0.5) -> MiningResult:
    names = [*NEW, *(term.surface for term in KNOWN.terms)]
    views = TermViews(evidence=evidence_of(texts, names))
    terms = [Term(name) for name in NEW]
    return generate_sets(
        load_general(), views, terms, seeds=KNOWN, threshold=threshold, known_threshold=known
    )


def joined(result: MiningResult) -> dict[str, tuple[str, float]]:
    return {
        d.term.surface: (d.best_set or "", d.probability)
        for d in result.trace
        if d.action == "joined" and d.best_set in KNOWN.ids
    }


@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
def test_no_name_joins_below_the_threshold_of_known_sets(level: float) -> None:
    result = mined(known=level)
    assert result.known is not None
    assert result.known.rehearsal is None
    members = dict(zip(result.sets.ids, result.sets, strict=True))
    for set_id, names in zip(KNOWN.ids, KNOWN, strict=True):
        for term in set(members[set_id]) - set(names):
            assert joined(result)[term.surface][1] >= level
    assert result.known.candidates[Term("rat pituitary")][0].probability < 0.9


def test_a_lower_threshold_of_groups_lets_no_name_join() -> None:
    assert joined(mined(threshold=0.1)) == joined(mined(threshold=0.9))


def test_a_variant_joins_whatever_other_names_the_set_has() -> None:
    found = joined(mined(known=0.9))
    assert found["red cells"][0] == found["erythrocytes"][0] == "erythrocyte"


def test_an_abbreviation_joins_the_set_that_most_of_its_definitions_name() -> None:
    assert joined(mined())["GH"][0] == "hormone"
    assert "GH" not in joined(mined(TEXTS[2:]))
    assert "GH" not in joined(mined([TEXTS[0], TEXTS[2], TEXTS[2], TEXTS[2]]))


def test_new_names_are_compared_with_known_names_alone() -> None:
    described = describe_joins(mined(known=0.0), None)
    kinds = {d.term.surface: d.kind for d in described.trace if d.best_set in KNOWN.ids}
    relations = {d.term.surface: d.relation for d in described.trace}
    assert relations["chronic renal failure"] == "narrow"
    assert kinds["thyroid hormones"] == kinds["thyroid hormone"] == "other-words"
    assert kinds["red cells"] == "inflection"
