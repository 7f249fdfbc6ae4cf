"""Entities that other tools extracted from texts, as rows that `group` takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from synsetmine.corpus.name_lists import NameRow
from synsetmine.models import StoredModel
from synsetmine.normalization import name_key
from synsetmine.notebook import ShowProgress
from synsetmine.pipeline.grouping import NameModel, Pairs, group
from synsetmine.pipeline.name_sets import Grouping, Member, NameSet
from synsetmine.pipeline.name_vocabulary import KnownSets
from synsetmine.pipeline.settings import JudgeSettings
from synsetmine.text.tokens import sentence_around

SENTENCES = 8  # of a text that mentions a name
LONGEST = 300  # characters of a sentence; a longer one is cut around the name


class GroupOptions(TypedDict, total=False):
    """The options of `synsetmine.group` that say how to group, not what."""

    precision: str | float
    known: KnownSets | str | Path | None
    never: Pairs | None
    always: Pairs | None
    model: NameModel | StoredModel | None
    encoder: str | None
    device: str
    cache: str | Path | None
    judge: str | JudgeSettings | None
    progress: ShowProgress


def group_mentions(mentions: Sequence[NameRow], **options: Unpack[GroupOptions]) -> Grouping:
    return group(
        [mention.name for mention in mentions],
        types=[mention.type for mention in mentions],
        contexts=[mention.contexts for mention in mentions],
        **options,
    )


def sentences_with(name: str, text: str) -> tuple[str, ...]:
    """The first sentences of a text that have the name, in any case."""
    sentences: dict[str, None] = {}
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
        sentences[sentence_around("", text, *match.span(), LONGEST).text] = None
        if len(sentences) == SENTENCES:
            break
    return tuple(sentences)


def distinct_names(grouping: Grouping) -> list[str]:
    """The name of each set, then of each name alone; `Paris (2)` if another set is called Paris.

    Sets of different types may have one name. The most frequent of several has the plain name.
    """
    entities: list[NameSet | Member] = [*grouping.sets, *grouping.alone]
    names = [entity.name for entity in entities]
    frequency = Counter(grouping.rows)
    places = sorted(range(len(names)), key=lambda place: (-frequency[place], place))
    taken: Counter[tuple[str, str]] = Counter()
    for place in places:
        key = name_key(names[place]), name_key(entities[place].type)
        taken[key] += 1
        if taken[key] > 1:
            names[place] += f" ({taken[key]})"
    return names
