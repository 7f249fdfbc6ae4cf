"""The tools: group, expand, score and explain, with the messages that call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from synsetmine.errors import DataError
from synsetmine.models.general import load_general
from synsetmine.pipeline.explanation import explain
from synsetmine.pipeline.grouping import group, threshold_of
from synsetmine.pipeline.name_sets import Grouping
from synsetmine.pipeline.settings import GroupSettings
from synsetmine.review.web.answers import Answers, ModelAnswers
from synsetmine.review.web.schemas import (
    Answer,
    Expand,
    ExpandQuestion,
    Probability,
    Score,
    ScoreQuestion,
    TermText,
)
from synsetmine.types import NameKind, Scope, Term
from synsetmine.views import TermViews

MAX_NAMES = 5_000
MAX_TEXT = 2_000_000  # characters of all names and contexts of a call
MAX_CONTEXTS = 20  # of a name
MAX_CONTEXT = 2_000  # characters

Context = Annotated[str, Meta(min_length=1, max_length=MAX_CONTEXT)]
Contexts = Annotated[
    Context | Annotated[list[Context], Meta(max_length=MAX_CONTEXTS)],
    Meta(description="Sentences that contain the name, or a description of what it names."),
]
TypeOfName = Annotated[
    str,
    Meta(
        max_length=500,
        description="Names of different types, such as person and city, never share a set.",
    ),
]
Among = (
    Annotated[
        list[TermText],
        Meta(
            max_length=MAX_NAMES,
            description="The names to search or to compare with, instead of the server's run.",
        ),
    ]
    | UnsetType
)


class Message(Struct, forbid_unknown_fields=True):
    pass


# --- Arguments ---


class ListedName(Message):
    """A name with its contexts and its type."""

    name: TermText
    contexts: Contexts | UnsetType = UNSET
    type: TypeOfName = ""


class GroupCall(Message):
    """Find the names that mean the same thing, in a list of names.

    Names may come with sentences in which they stand, and with types. Each set has a canonical
    name; a probability is how likely a name belongs to the others of its set. The pairs nearest to
    the threshold are listed as unsure.
    """

    names: Annotated[
        list[TermText | ListedName],
        Meta(
            min_length=1,
            max_length=MAX_NAMES,
            description="Strings, or objects with a name, and optionally contexts and a type. The "
            "same name may occur in several objects: it is split if its contexts differ.",
        ),
    ]
    precision: Annotated[
        Literal["cautious", "balanced", "bold"] | Annotated[float, Meta(ge=0, le=1)],
        Meta(description="Level of precision, or a threshold from 0 to 1."),
    ] = GroupSettings().precision  # type: ignore[assignment]  # the default is a level
    unsure: Annotated[
        int, Meta(ge=0, le=100, description="Number of pairs near the threshold to return.")
    ] = 10


class ExpandCall(ExpandQuestion):
    """Find the synonyms of a term: in the mined sets of a run, or in a list of names."""

    among: Among = UNSET


class ScoreCall(ScoreQuestion):
    """The probability of each of some terms to belong to a set of synonyms.

    By the model of the run, or by the general model, which knows how names vary. The general model
    compares with the other names of the list too: one of them may fit a term better.
    """

    among: Among = UNSET


class ExplainCall(Message):
    """Why two names are, or are not, names of one thing.

    The probability by the names alone, and with the sentences in which they stand or descriptions;
    the kind of the difference (spelling, inflection, word-order, abbreviation, other-words);
    whether the name means the same as the other, more or less; and a sentence as evidence. Without
    `among`, other names of the list, the probability is that of the pair alone, often too high.
    """

    name: TermText
    other: TermText
    contexts: Contexts | UnsetType = UNSET
    other_contexts: Contexts | UnsetType = UNSET
    type: TypeOfName = ""
    other_type: TypeOfName = ""
    among: Among = UNSET


# --- Results ---

Positions = Annotated[
    list[int], Meta(description="Positions of the names in the list of the call, from 0.")
]


class GroupedName(Message):
    """A name in its set."""

    name: str
    probability: Annotated[
        Probability | None,
        Meta(description="Null if it only spells another name of the set differently."),
    ]


class GroupedSet(Message):
    """Names of one thing."""

    id: Annotated[str, Meta(description="The same names have the same id in every call.")]
    name: Annotated[str, Meta(description="The canonical name.")]
    type: str
    probability: Annotated[
        Probability | None, Meta(description="The lowest probability of its names.")
    ]
    names: list[GroupedName]
    positions: Positions


class SingleName(Message):
    """A set of one name."""

    id: str
    name: str
    positions: Positions


class UnsureNames(Message):
    """Two names whose probability is near the threshold."""

    name: str
    other: str
    probability: Probability


class GroupResult(Message):
    """The sets of two or more names, and the names that stand alone."""

    summary: str
    threshold: Probability
    sets: list[GroupedSet]
    alone: list[SingleName]
    unsure: Annotated[
        list[UnsureNames], Meta(description="The pairs nearest to the threshold first.")
    ]


class ExplainResult(Message):
    """What speaks for and against two names being one thing."""

    name: str
    other: str
    probability: Annotated[
        Probability, Meta(description="That both name the same thing; 0 if their types differ.")
    ]
    threshold: Annotated[
        Probability, Meta(description="From this probability on, group merges the names.")
    ]
    names_probability: Annotated[
        Probability, Meta(description="The probability without the contexts.")
    ]
    context_log_odds: Annotated[
        float | None,
        Meta(description="What the contexts add to the log-odds; null if a name has no contexts."),
    ]
    kind: NameKind
    relation: Annotated[
        Scope, Meta(description="Of the name to the other: narrow if the name is the narrower one.")
    ]
    shared_words: Annotated[
        list[str], Meta(description="Words that both contexts have, the rarest first.")
    ]
    statement: Annotated[
        str | None, Meta(description="The relation that the sentence states, such as abbreviation.")
    ]
    sentence: Annotated[
        str,
        Meta(description="With both names; or the most similar one of the first name's contexts."),
    ]
    other_sentence: Annotated[
        str, Meta(description="The most similar one of the other name's contexts.")
    ]


def schema_of(message: type[Struct]) -> dict[str, Any]:
    """The JSON schema of a message, with an object as its root."""
    _, schemas = msgspec.json.schema_components([message], ref_template="#/$defs/{name}")
    root: dict[str, Any] = schemas.pop(message.__name__)
    return root | ({"$defs": schemas} if schemas else {})


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
