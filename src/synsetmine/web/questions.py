"""What can be asked of the serving API: fields with their limits, read from JSON or an address."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from starlette.datastructures import QueryParams

from synsetmine.text import is_unicode

LONGEST = 500  # characters of a term
MOST_TERMS = 100  # in one set, and to be scored at once
MOST_FOUND = 1000
MOST_QUESTIONS = 100  # in one batch


class Problem(Exception):  # noqa: N818 - an answer, too
    """Why a question has no answer: an HTTP status, a code for programs, words for people."""

    def __init__(self, status: int, code: str, message: str, **more: object) -> None:
        super().__init__(message)
        self.status = status
        self.record = {"code": code, "message": message, **more}


@dataclass(frozen=True, slots=True)
class Expand:
    """The synonyms of a term."""

    term: str
    top: int
    least: float | None


@dataclass(frozen=True, slots=True)
class Rank:
    """The terms that fit a set best."""

    set: tuple[str, ...]
    top: int


@dataclass(frozen=True, slots=True)
class Score:
    """How well each of some terms fits a set."""

    set: tuple[str, ...]
    terms: tuple[str, ...]


Question: TypeAlias = Expand | Rank | Score


NEEDED = object()  # the default of a field that has none


class Field(Protocol):
    """A field of a question: what it takes, what it says of itself in the OpenAPI document."""

    @property
    def help(self) -> str: ...

    @property
    def default(self) -> Any: ...

    @property
    def schema(self) -> dict[str, Any]: ...

    def read(self, value: object) -> Any: ...

    def from_query(self, texts: list[str]) -> object: ...


@dataclass(frozen=True)
class Text:
    help: str
    default: object = NEEDED

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "maxLength": LONGEST}

    def read(self, value: object) -> str:
        if not isinstance(value, str):
            raise ValueError("must be a text")
        if not value.strip() or len(value) > LONGEST:
            raise ValueError(f"must be a text of 1 to {LONGEST} characters")
        if not is_unicode(value):
            raise ValueError("must be valid Unicode")
        return value

    def from_query(self, texts: list[str]) -> object:
        return _single(texts)


@dataclass(frozen=True)
class Texts:
    help: str
    default: object = NEEDED

    @property
    def schema(self) -> dict[str, Any]:
        item = Text("").schema
        return {"type": "array", "items": item, "minItems": 1, "maxItems": MOST_TERMS}

    def read(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not 1 <= len(value) <= MOST_TERMS:
            raise ValueError(f"must be a list of 1 to {MOST_TERMS} texts")
        return tuple(map(Text("").read, value))

    def from_query(self, texts: list[str]) -> object:
        return texts


@dataclass(frozen=True)
class Whole:
    help: str
    default: int
    most: int

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": 1, "maximum": self.most, "default": self.default}

    def read(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= self.most:
            raise ValueError(f"must be a whole number from 1 to {self.most}")
        return value

    def from_query(self, texts: list[str]) -> object:
        text = _single(texts)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text


@dataclass(frozen=True)
class Share:
    help: str
    default: None = None

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": 0, "maximum": 1}

    def read(self, value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            raise ValueError("must be a number from 0 to 1")
        return float(value)

    def from_query(self, texts: list[str]) -> object:
        text = _single(texts)
        try:
            return float(text)
        except ValueError:
            return math.nan


_TOP = Whole("How many terms to return at most.", 10, MOST_FOUND)
_SET = Texts("The terms of the set.")
FIELDS: Mapping[str, Mapping[str, Field]] = {
    "expand": {
        "term": Text("The term whose synonyms are wanted."),
        "top": _TOP,
        "least": Share(
            "Leave out terms of a lower probability. Default: none of a mined set; in a ranking "
            "those below the model's threshold."
        ),
    },
    "rank": {"set": _SET, "top": _TOP},
    "score": {"set": _SET, "terms": Texts("The terms to judge.")},
}
KINDS: Mapping[str, type[Expand] | type[Rank] | type[Score]] = {
    "expand": Expand,
    "rank": Rank,
    "score": Score,
}


def read_question(kind: str, given: object) -> Question:
    """A question from the values of a JSON object."""
    if not isinstance(given, Mapping):
        raise Problem(400, "wrong_value", f"{kind!r} must be an object with its fields")
    fields = FIELDS[kind]
    for name in given:
        if name not in fields:
            known = ", ".join(fields)
            raise Problem(400, "unknown_field", f"{name!r} is no field of {kind}: {known}")
    values = {}
    for name, field in fields.items():
        if name not in given:
            if field.default is NEEDED:
                raise Problem(400, "missing_field", f"{kind} needs the field {name!r}")
            values[name] = field.default
            continue
        try:
            values[name] = field.read(given[name])
        except ValueError as error:
            raise Problem(400, "wrong_value", f"{name!r} {error}") from None
    return KINDS[kind](**values)


def read_query(kind: str, query: QueryParams) -> Question:
    """A question from an address; a list is its name over and over: `set=a&set=b`."""
    fields = FIELDS[kind]
    given: dict[str, object] = {}
    for name in query:
        texts = query.getlist(name)
        try:
            given[name] = fields[name].from_query(texts) if name in fields else texts
        except ValueError as error:
            raise Problem(400, "wrong_value", f"{name!r} {error}") from None
    return read_question(kind, given)


def read_batch(given: object) -> list[tuple[str, object]]:
    """The questions of a batch: objects such as `{"expand": {"term": "uk"}}`, not yet read."""
    questions = given.get("questions") if isinstance(given, Mapping) else None
    if not isinstance(questions, list) or not isinstance(given, Mapping) or len(given) != 1:
        message = 'a batch is an object {"questions": […]}'
        raise Problem(400, "wrong_value", message)
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        message = f"a batch may have 1 to {MOST_QUESTIONS} questions, this one has {len(questions)}"
        raise Problem(400, "too_many" if questions else "wrong_value", message)
    found: list[tuple[str, object]] = []
    for number, question in enumerate(questions):
        if (
            not isinstance(question, Mapping)
            or len(question) != 1
            or not set(question) <= set(KINDS)
        ):
            kinds = ", ".join(KINDS)
            message = f"question {number} must be an object with one of the keys {kinds}"
            raise Problem(400, "wrong_value", message)
        found.extend(question.items())
    return found


def _single(texts: list[str]) -> str:
    if len(texts) != 1:
        raise ValueError("must be given once")
    return texts[0]
