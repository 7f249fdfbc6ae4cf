"""Names put into texts, and how many of them are found."""

from __future__ import annotations

from experiments.languages import insertions, joined, share_found
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.linking.linkers import DictionaryLinker

NAMES = {"KR": "한국", "DE": "독일"}


def test_each_name_stands_where_it_was_put() -> None:
    for spaces in (True, False):
        placed = [*insertions(NAMES, ["좋은 날 입니다", "좋다"], ("{}의", "({})"), spaces=spaces)]
        assert len(placed) == 4
        for text, start, end, entity in placed:
            assert text[start:end] == NAMES[entity]
    assert placed[0][0] == "좋은 날 입니다한국의좋다"


def test_the_share_of_names_that_are_found() -> None:
    linker = DictionaryLinker(KnowledgeBase.of(Entity(e, n) for e, n in NAMES.items()))
    placed = [*insertions(NAMES, ["좋은 날"], ("{}의", "경{}"), spaces=True)]
    assert share_found(linker, placed) == 0.5


def test_a_name_of_two_territories_goes_to_the_first() -> None:
    tables = [{"US": "America", "DE": "Germany"}, {"DE": "Deutschland", "XX": "America"}]
    assert joined(tables) == [["America"], ["Germany", "Deutschland"]]
