"""All name lists, in the order in which they are written."""

from __future__ import annotations

from experiments.name_lists import (
    biomedicine,
    chemistry,
    organisations,
    people,
    places,
    publications,
    technology,
    wikipedia,
    wordnet,
)
from experiments.name_lists.base import NameList

NAME_LISTS: tuple[NameList, ...] = (
    *wordnet.LISTS,
    *biomedicine.LISTS,
    *places.LISTS,
    *wikipedia.LISTS,
    *chemistry.LISTS,
    *organisations.LISTS,
    *people.LISTS,
    *publications.LISTS,
    *technology.LISTS,
)
