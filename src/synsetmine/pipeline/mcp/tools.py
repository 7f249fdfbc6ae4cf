"""The tools: group, expand, score and explain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from synsetmine.errors import DataError
from synsetmine.models.general import load_general
from synsetmine.pipeline.explanation import explain
from synsetmine.pipeline.grouping import group, threshold_of
from synsetmine.pipeline.mcp.messages import (
    MAX_TEXT,
    ExpandCall,
    ExplainCall,
    ExplainResult,
    GroupCall,
    GroupedName,
    GroupedSet,
    GroupResult,
    ListedName,
    ScoreCall,
    SingleName,
    UnsureNames,
)
from synsetmine.pipeline.name_sets import Grouping
from synsetmine.pipeline.settings import GroupSettings
from synsetmine.review.web.answers import Answers, ModelAnswers
from synsetmine.review.web.schemas import Answer, Expand, Score
from synsetmine.types import Term
from synsetmine.views import TermViews

Arguments: TypeAlias = Mapping[str, Any]
THRESHOLD = threshold_of(GroupSettings().precision)
EXPLAINED = (  # fields that the result has as the library gives them
    *("name", "other", "probability", "names_probability", "context_log_odds", "kind"),
    *("relation", "statement", "sentence", "other_sentence"),
)


@dataclass(frozen=True)
class Tool:
    """A function for language models; its docstrings and schemas are those of its messages."""

    name: str
    title: str
    call: type[Struct]
    result: type[Struct]
    run: Callable[[Any], Struct]

    @property
    def description(self) -> str:
        return " ".join((self.call.__doc__ or "").split())

    def answer(self, arguments: Arguments) -> Struct:
        """The result; a `DataError` or an `ApiError` says what is wrong with the arguments."""
        if (length := _length(arguments)) > MAX_TEXT:
            problem = f"a call may have {MAX_TEXT:,} characters in all; got"
            raise DataError(f"{problem} {length:,}: pass fewer names or shorter contexts")
        try:
            call = msgspec.convert(arguments, self.call)
        except msgspec.ValidationError as error:
            fields = ", ".join(field.name for field in msgspec.structs.fields(self.call))
            raise DataError(f"{self.name}: {error}; the arguments are {fields}") from None
        except UnicodeEncodeError as error:  # the name of a field
            raise DataError(f"{self.name}: not valid Unicode", value=error.object) from None
        return self.run(call)


def tools_of(source: Answers | None) -> dict[str, Tool]:
    """The tools by name; `source` is the run or the model that answers where no list is passed."""
    answers = _ToolAnswers(source or Answers())
    tools = (
        Tool("group", "Group names", GroupCall, GroupResult, answers.group),
        Tool("expand", "Synonyms of a term", ExpandCall, Expand, answers.expand),
        Tool("score", "Score terms for a set", ScoreCall, Score, answers.score),
        Tool("explain", "Explain a pair of names", ExplainCall, ExplainResult, answers.explain),
    )
    return {tool.name: tool for tool in tools}


@dataclass(frozen=True)
class _ToolAnswers:
    source: Answers

    def group(self, call: GroupCall) -> GroupResult:
        listed = [ListedName(n) if isinstance(n, str) else n for n in call.names]
        grouping = group(
            [one.name for one in listed],
            contexts=[_texts(one.contexts) for one in listed],
            types=[one.type for one in listed],
            precision=call.precision,
            unsure=call.unsure,
        )
        return _group_result(grouping)

    def expand(self, call: ExpandCall) -> Answer:
        if call.among is not UNSET:
            return _general_answers([call.term, *call.among]).expand(call)
        if self.source.mined is None and self.source.model is None:
            problem = "expand: this server has no run; pass `among`, a list of names to search"
            raise DataError(problem)
        return self.source.answer(call)

    def score(self, call: ScoreCall) -> Answer:
        if call.among is UNSET and self.source.model is not None:
            return self.source.answer(call)
        among = () if call.among is UNSET else call.among
        return _general_answers([*call.set, *call.terms, *among]).score(call)

    def explain(self, call: ExplainCall) -> ExplainResult:
        explanation = explain(
            call.name,
            call.other,
            contexts=_texts(call.contexts),
            other_contexts=_texts(call.other_contexts),
            types=(call.type, call.other_type),
            among=() if call.among is UNSET else call.among,
        )
        fields = {name: getattr(explanation, name) for name in EXPLAINED}
        return ExplainResult(
            threshold=THRESHOLD, shared_words=list(explanation.shared_words), **fields
        )


def _general_answers(names: Iterable[str]) -> ModelAnswers:
    """The general model over these names alone."""
    terms = list(dict.fromkeys(map(Term.parse, names)))
    return ModelAnswers(load_general().prepare(terms, TermViews()), THRESHOLD)


def _texts(contexts: str | list[str] | UnsetType) -> list[str] | None:
    if isinstance(contexts, UnsetType):
        return None
    return [contexts] if isinstance(contexts, str) else contexts


def _group_result(grouping: Grouping) -> GroupResult:
    positions: dict[int, list[int]] = {}
    for position, place in enumerate(grouping.rows):
        if place is not None:
            positions.setdefault(place, []).append(position)
    sets = [
        GroupedSet(
            id=one.id,
            name=one.name,
            type=one.type,
            probability=one.probability,
            names=[GroupedName(member.name, member.probability) for member in one.entries],
            positions=positions.get(place, []),
        )
        for place, one in enumerate(grouping.sets)
    ]
    alone = [
        SingleName(one.id, one.name, positions.get(place, []))
        for place, one in enumerate(grouping.every_set[len(sets) :], start=len(sets))
    ]
    unsure = [UnsureNames(*pair) for pair in grouping.unsure]
    return GroupResult(grouping.summary, grouping.threshold, sets, alone, unsure)


def _length(value: object) -> int:
    """How many characters the strings of arguments have."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_length(key) + _length(item) for key, item in value.items())
    return sum(map(_length, value)) if isinstance(value, list) else 0
