"""Questions and answers of the HTTP API: their fields, limits and descriptions.

msgspec checks questions by these types, writes answers, and makes the schemas of the OpenAPI
document from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from starlette.datastructures import QueryParams

from synsetmine.types import NameKind, Scope

MAX_QUESTIONS = 100  # in one batch
REFERENCE = "#/components/schemas/{name}"


def _one_of(*schemas: Any) -> Meta:
    """A union of objects; msgspec itself knows only tagged ones."""
    return Meta(extra_json_schema={"oneOf": list(schemas)})


def _ref(name: str) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=name)}


class _Message(Struct, forbid_unknown_fields=True):
    pass


# --- Questions ---

TermText = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"\S")]
Terms = Annotated[tuple[TermText, ...], Meta(min_length=1, max_length=100)]
SetField = Annotated[Terms, Meta(description="The terms of the set.")]
TopField = Annotated[int, Meta(ge=1, le=1000, description="Maximum number of terms to return.")]


class ExpandQuestion(_Message):
    """Which synonyms a term has."""

    term: Annotated[TermText, Meta(description="The term whose synonyms are returned.")]
    top: TopField = 10
    least: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=1,
                description="Minimum probability. Default: 0 for a mined set; the model's "
                "threshold for a ranking.",
            ),
        ]
        | UnsetType
    ) = UNSET


class RankQuestion(_Message):
    """Which terms fit a set best."""

    set: SetField
    top: TopField = 10


class ScoreQuestion(_Message):
    """How well each of some terms fits a set."""

    set: SetField
    terms: Annotated[Terms, Meta(description="The terms to score.")]


Question: TypeAlias = ExpandQuestion | RankQuestion | ScoreQuestion
Kind = Literal["expand", "rank", "score"]
QUESTIONS: Mapping[Kind, type[Question]] = {
    "expand": ExpandQuestion,
    "rank": RankQuestion,
    "score": ScoreQuestion,
}


def _object_with(kind: Kind) -> dict[str, Any]:
    return {
        "properties": {kind: _ref(QUESTIONS[kind].__name__)},
        "required": [kind],
        "additionalProperties": False,
    }


class BatchQuestion(_Message):
    """Several questions, each an object such as `{"expand": {"term": "uk"}}`."""

    questions: Annotated[
        list[
            Annotated[
                dict[Kind, Raw],
                Meta(min_length=1, max_length=1),
                _one_of(*map(_object_with, QUESTIONS)),
            ]
        ],
        Meta(min_length=1, extra_json_schema={"maxItems": MAX_QUESTIONS}),
    ]


# --- Answers ---

Count = Annotated[int, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0, le=1)]


class Evidence(_Message):
    """A sentence that states that two terms mean the same."""

    relation: str
    document: str
    text: str


class Synonym(_Message):
    """A term of the same set; a bare model gives its text and probability only."""

    term: str
    probability: Annotated[
        float | None,
        Meta(
            description="The probability with which it joined the set; null for a known name "
            "and for the term that opened the set."
        ),
    ]
    count: Annotated[Count, Meta(description="Its frequency in the corpus.")] | UnsetType = UNSET
    known: (
        Annotated[bool, Meta(description="Whether the knowledge base has this name.")] | UnsetType
    ) = UNSET
    kind: (
        Annotated[
            NameKind,
            Meta(
                description="How a new name differs from the known names, such as `abbreviation`."
            ),
        ]
        | UnsetType
    ) = UNSET
    relation: (
        Annotated[
            Scope, Meta(description="The relation of a new name to the set that the run proposes.")
        ]
        | UnsetType
    ) = UNSET
    nearest: (
        Annotated[str, Meta(description="The known name of the set that is most similar.")]
        | UnsetType
    ) = UNSET
    evidence: (
        Annotated[list[Evidence], Meta(description="The best sentence first.")] | UnsetType
    ) = UNSET


class SetOfRun(_Message):
    """A mined set: its id, and its entity of the knowledge base."""

    id: str
    entity: str | None
    name: str | None


class TermSource(Enum):
    """Where an answer comes from."""

    run = "run"
    knowledge = "knowledge"
    model = "model"


SourceField = Annotated[
    TermSource,
    Meta(
        description="`run`: a mined set. `knowledge`: the names of the knowledge base, since the "
        "run lacks the term. `model`: a ranking."
    ),
]
LackingField = Annotated[
    list[str],
    Meta(description="Terms of the query that the run lacks; the knowledge base has them."),
]
InflectionsField = Annotated[
    list[str],
    Meta(description="Terms of the query that are unknown, but known in the singular or plural."),
]


class Expand(_Message):
    """The synonyms of a term."""

    term: str
    set: SetOfRun | None
    synonyms: list[Synonym]
    source: SourceField
    by_inflection: Annotated[
        bool,
        Meta(description="Whether `term` is the singular or plural of the unknown query."),
    ]


class ScoredTerm(_Message):
    """A term with its probability to belong to a set."""

    term: str
    probability: Probability


class Rank(_Message):
    """The terms that fit a set best."""

    set: list[str]
    terms: list[ScoredTerm]
    from_knowledge: LackingField
    by_inflection: InflectionsField


class Score(_Message):
    """The probability of each of some terms to belong to a set."""

    set: list[str]
    terms: list[ScoredTerm]
    threshold: Probability
    from_knowledge: LackingField
    by_inflection: InflectionsField


Answer: TypeAlias = Expand | Rank | Score


class SetCounts(_Message):
    """The size of the mined sets."""

    sets: Count
    terms: Count


class ModelSize(_Message):
    """The number of terms of the model, and its threshold."""

    terms: Count
    threshold: Probability


class Health(_Message):
    """The status of the server: its sets and model."""

    status: Literal["ok"]
    version: str
    mined: SetCounts | None
    model: ModelSize | None


class Alive(_Message):
    """The server runs."""

    status: Literal["ok"]


class Readiness(_Message):
    """Whether the server answers queries, or what it still reads."""

    status: Literal["ready", "loading"]
    loading: Annotated[
        str | None, Meta(description="What is being read, such as `mined sets`; null when ready.")
    ]
    done: Annotated[Count, Meta(description="Number of steps that are done.")]
    total: Annotated[Count, Meta(description="Number of all steps.")]


class ErrorDetail(_Message):
    """The reason why a query has no answer: a code for programs, a message for people."""

    code: str
    message: str
    term: str | UnsetType = UNSET
    near: list[str] | UnsetType = UNSET


class Problem(_Message):
    """The body of every answer that is an error."""

    error: ErrorDetail


class BatchAnswer(_Message):
    """The answer to one question of a batch."""

    status: Literal[200]
    answer: Annotated[Any, _one_of(*map(_ref, ("Expand", "Rank", "Score")))]


class BatchFailure(_Message):
    """The error of one question of a batch."""

    status: Annotated[int, Meta(extra_json_schema={"enum": [400, 404, 409, 501, 503]})]
    error: ErrorDetail


class Batch(_Message):
    """The answers to a batch, in the order of its questions."""

    answers: list[Annotated[Any, _one_of(_ref("BatchAnswer"), _ref("BatchFailure"))]]


MESSAGES: tuple[type[Struct], ...] = (
    *(ExpandQuestion, RankQuestion, ScoreQuestion, BatchQuestion),
    *(Health, Alive, Readiness, Expand, Rank, Score, Batch, BatchAnswer, BatchFailure, Problem),
)


# --- Reading ---


class ApiError(Exception):
    """A question without an answer: an HTTP status and what is wrong."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.detail = ErrorDetail(code, message, **more)


def read_query(kind: Kind, query: QueryParams) -> Question:
    """A question from a URL; a list is its name repeated: `set=a&set=b`."""
    values: dict[str, object] = {}
    for name in query:
        texts = query.getlist(name)
        is_list = name in ("set", "terms")
        if not is_list and len(texts) > 1:
            raise ApiError(400, "wrong_value", f"{kind}: {name!r} must be given once")
        values[name] = texts if is_list else texts[0]
    try:
        return msgspec.convert(values, QUESTIONS[kind], strict=False)
    except msgspec.ValidationError as error:
        raise _field_error(kind, error) from None


def read_question(kind: Kind, content: Raw) -> Question:
    """A question of a batch."""
    try:
        return msgspec.json.decode(content, type=QUESTIONS[kind])
    except (msgspec.DecodeError, RecursionError) as error:
        raise _field_error(kind, error) from None


def read_batch(body: bytes) -> list[tuple[Kind, Raw]]:
    """The questions of a batch, whose fields are not checked yet."""
    try:
        batch = msgspec.json.decode(body, type=BatchQuestion)
    except msgspec.ValidationError as error:
        raise ApiError(400, "wrong_value", f"batch: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, "not_json", f"the body is not JSON ({error})") from None
    if (count := len(batch.questions)) > MAX_QUESTIONS:
        message = f"a batch has at most {MAX_QUESTIONS} queries; got {count}"
        raise ApiError(400, "too_many", message)
    return [item for question in batch.questions for item in question.items()]


def _field_error(kind: Kind, error: Exception) -> ApiError:
    message = str(error)
    code = "wrong_value"
    if message.startswith("Object missing required field"):
        code = "missing_field"
    elif message.startswith("Object contains unknown field"):
        code = "unknown_field"
    return ApiError(400, code, f"{kind}: {message}")
