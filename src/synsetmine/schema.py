"""A setting, defined once: its default, the values that it takes, and a line of help.

A class of settings is a frozen dataclass derived from `Settings` whose fields are `setting(…)`.
The template of the project file, the options of the command line, the parameters of the estimator
and docs/reference/settings.md are made from the same fields.

A class of results has `result_field(…)` fields: one definition for JSON and for printed lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cache
from numbers import Integral
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from synsetmine.errors import DataError, choose_among

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")

MAX_SEED = 2**32 - 1
_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The definition of one setting."""

    name: str
    type: Any  # without None
    default: Any  # MISSING if the setting is required
    help: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    example: Any = None  # for a default that says nothing, such as None
    option: str = ""  # its name on the command line, if that is not its own
    panel: str | None = None  # of the options

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def description(self) -> str:
        """The choices, if there are any, and the help text."""
        *first, last = self.choices or ("",)
        listed = f"{', '.join(first)} or {last}" if first else ""
        return "; ".join(part for part in (listed, self.help) if part)

    @property
    def explanation(self) -> str:
        """The description, and the range where it is not part of that."""
        if self.choices or self.range in self.description:
            return self.description
        bound = f", {self.range}" if self.range.startswith("in ") else f" ({self.range})"
        return self.description + bound

    @property
    def range(self) -> str:
        """The allowed values in words; empty if any value of the type is allowed."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        low = self.ge if self.gt is None else self.gt
        high = self.le if self.lt is None else self.lt
        if high is None:
            bound = "at least" if self.gt is None else "more than"
            return "" if low is None else f"{bound} {low}"
        if self.gt is None and self.lt is None:
            return f"between {low} and {high}"
        return f"in {'[' if self.gt is None else '('}{low}, {high}{']' if self.lt is None else ')'}"

    def convert(self, value: Any) -> Any:
        """The value as its type, as TOML and JSON have it; raises a DataError for another."""
        if get_origin(self.type) is not tuple:
            return self._convert_one(self.type, value)
        kind = get_args(self.type)[0]
        values = [value] if kind is str and isinstance(value, str) else value
        if kind is str and not (isinstance(values, list | tuple) and values and all(values)):
            raise DataError(f"{self.name} must be a string or a list of strings", value=value)
        if not isinstance(values, list | tuple):
            raise DataError(f"{self.name} must be a list of whole numbers", value=value)
        return tuple(self._convert_one(kind, item) for item in values)

    def check(self, value: Any) -> None:
        """Raise a DataError if the value is outside the range."""
        if value is None and self.default is None:
            return
        for item in value if isinstance(value, tuple) else (value,):
            if not self._allows(item):
                hint = choose_among(item, self.choices)
                problem = f"{self.name} must be {self.range}"
                raise DataError(problem, value=value, hint=hint if hint.endswith("?") else "")

    def _convert_one(self, kind: Any, value: Any) -> Any:
        if self.choices:
            self.check(value)
            return value
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if whole and not -(2**63) <= value < 2**63:
            raise DataError(f"{self.name} is a number beyond 64 bits", value=value)
        if kind is float and (whole or isinstance(value, float)):
            return float(value)
        if kind is int and whole:
            return int(value)
        if kind in (str, bool) and isinstance(value, kind):
            return value
        listed = " or a list of strings" if get_origin(self.type) is tuple and kind is str else ""
        raise DataError(f"{self.name} must be {_NAMES[kind]}{listed}", value=value)

    def _allows(self, value: Any) -> bool:
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if not self.range:
            return True
        return (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
            and math.isfinite(value)
        )


def setting(default: Any = MISSING, *, help: str, **options: Any) -> Any:  # noqa: A002
    """A field of a class of settings; `options` are those of `Setting`."""
    return field(default=default, metadata={"help": help, **options})


def seed_setting(purpose: str) -> Any:
    """The field `seed`, which is the same everywhere."""
    return setting(0, help=purpose, ge=0, le=MAX_SEED)


@cache
def settings_in(kind: type) -> Mapping[str, Setting]:
    """The definitions of the settings of a class, by name."""
    hints = get_type_hints(kind)
    return {
        item.name: Setting(
            name=item.name,
            type=_without_none(hints[item.name]),
            default=item.default,
            **item.metadata,
        )
        for item in fields(kind)
    }


def check_settings(settings: DataclassInstance) -> None:
    """Raise a DataError if a value is outside its range."""
    for name, definition in settings_in(type(settings)).items():
        definition.check(getattr(settings, name))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The base of classes of settings, which checks their values."""

    def __post_init__(self) -> None:
        check_settings(self)

    def to_dict(self) -> dict[str, Any]:
        """All values, as JSON has them."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """These settings with some values changed."""
        return with_changes(self, changes)


def from_values(kind: type[S], values: Mapping[str, Any]) -> S:
    """Settings from plain values, as TOML has them; the other settings have their defaults."""
    converted = _convert_values(kind, values)
    for name, definition in settings_in(kind).items():
        if definition.default is MISSING and name not in values:
            raise DataError(f"{name} is missing")
    return kind(**converted)


def with_changes(settings: S, changes: Mapping[str, Any]) -> S:
    """Settings with some values changed."""
    return replace(settings, **_convert_values(type(settings), changes))


def result_field(label: str, **options: Any) -> Any:
    """A field of a class of results, with the name that it has in JSON and in printed lines."""
    return field(metadata={"label": label}, **options)


def to_record(result: DataclassInstance) -> dict[str, Any]:
    """The labelled fields by label, without those that are None."""
    values = {each.metadata.get("label"): getattr(result, each.name) for each in fields(result)}
    return {label: value for label, value in values.items() if label and value is not None}


def from_record(kind: type[S], record: Mapping[str, Any]) -> S:
    """The result that has this record; labels that it does not know are left out."""
    names = {each.metadata.get("label"): each.name for each in fields(kind)}
    return kind(**{names[label]: value for label, value in record.items() if label in names})


def _convert_values(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    definitions = settings_in(kind)
    for name in values:
        if name not in definitions:
            raise DataError("no such setting", value=name, hint=choose_among(name, definitions))
    return {name: definitions[name].convert(value) for name, value in values.items()}


def _without_none(kind: Any) -> Any:
    """X of `X | None`, and any other type as it is."""
    if NoneType in get_args(kind):
        (kind,) = (option for option in get_args(kind) if option is not NoneType)
    return kind
