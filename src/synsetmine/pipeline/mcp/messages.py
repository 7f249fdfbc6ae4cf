"""Arguments and results of the tools: their fields, limits and descriptions.

As with the HTTP API, msgspec checks arguments by these types and makes the JSON schemas that a
client reads; what both have in common stands in `review.web.schemas`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from synsetmine.pipeline.settings import GroupSettings
from synsetmine.review.web.schemas import ExpandQuestion, Probability, ScoreQuestion, TermText
from synsetmine.types import NameKind, Scope

MAX_NAMES = 5_000
MAX_TEXT = 2_000_000  # characters of all names and contexts of a call
MAX_CONTEXTS = 20  # of a name
MAX_CONTEXT = 2_000  # characters

Context = Annotated[str, Meta(min_length=1, max_length=MAX_CONTEXT)]
Contexts = Annotated[
    Context | Annotated[list[Context], Meta(max_length=MAX_CONTEXTS)],
    Meta(description="Sentences in which the name stands, or a description of its bearer."),
]
TypeOfName = Annotated[
    str,
    Meta(
        max_length=500,
        description="Names of different types, such as person and city, are never one thing.",
    ),
]
Among = (
    Annotated[
        list[TermText],
        Meta(
            max_length=MAX_NAMES,
            description="The names to look in, or to compare with; the run of the server then "
            "takes no part.",
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
            "same name may stand in several objects: it is split if its contexts differ.",
        ),
    ]
    precision: Annotated[
        Literal["cautious", "balanced", "bold"] | Annotated[float, Meta(ge=0, le=1)],
        Meta(description="How sure a set must be: a level, or a threshold from 0 to 1."),
    ] = GroupSettings().precision  # type: ignore[assignment]  # the default is a level
    unsure: Annotated[
        int, Meta(ge=0, le=100, description="How many pairs near the threshold to return.")
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
    whether the name means the same as the other, more or less; and a sentence as evidence.
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
    list[int], Meta(description="Where the list of the call has the names, from 0.")
]


class GroupedName(Message):
    """A name in its set."""

    name: str
    probability: Annotated[
        Probability | None, Meta(description="Null for another spelling of a name of the set.")
    ]


class GroupedSet(Message):
    """Names of one thing."""

    id: Annotated[str, Meta(description="The same for the same names in every call.")]
    name: Annotated[str, Meta(description="The canonical name.")]
    type: str
    probability: Annotated[Probability | None, Meta(description="The lowest of its names.")]
    names: list[GroupedName]
    positions: Positions


class SingleName(Message):
    """A name that stands alone."""

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
    unsure: Annotated[list[UnsureNames], Meta(description="The nearest to the threshold first.")]


class ExplainResult(Message):
    """What speaks for and against two names being one thing."""

    name: str
    other: str
    probability: Annotated[
        Probability, Meta(description="That they are one thing; 0 if their types differ.")
    ]
    threshold: Annotated[
        Probability, Meta(description="From here on group puts two names into one set.")
    ]
    names_probability: Annotated[Probability, Meta(description="By the names alone.")]
    context_log_odds: Annotated[
        float | None,
        Meta(description="What the contexts add to the log-odds; null if a name has none."),
    ]
    kind: NameKind
    relation: Annotated[
        Scope, Meta(description="Of the name to the other: narrow if it means less.")
    ]
    shared_words: Annotated[list[str], Meta(description="Of their contexts, the rarest first.")]
    statement: Annotated[
        str | None, Meta(description="What the sentence says of both names, such as abbreviation.")
    ]
    sentence: Annotated[
        str, Meta(description="With both names; or of the first name's contexts the most alike.")
    ]
    other_sentence: Annotated[str, Meta(description="Of the other name's contexts.")]


def schema_of(message: type[Struct]) -> dict[str, Any]:
    """The JSON schema of a message, with an object as its root."""
    _, schemas = msgspec.json.schema_components([message], ref_template="#/$defs/{name}")
    root: dict[str, Any] = schemas.pop(message.__name__)
    return root | ({"$defs": schemas} if schemas else {})
