"""Options that are made from the definitions of settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from synsetmine.errors import DataError
from synsetmine.schema import Setting, settings_in


@dataclass(frozen=True, kw_only=True)
class SettingOptions:
    """Marks the parameter of a command that stands for one option per setting.

    The parameter is a dict with the values of the settings. It lacks those that have no value,
    which are all that the user did not give if `unset` is true.
    """

    settings: type
    only: tuple[str, ...] = ()  # empty: all
    leave_out: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)  # that differ from the settings'
    unset: bool = False
    panel: str | None = None

    def parameters(self) -> list[inspect.Parameter]:
        return [
            self._parameter(definition)
            for name, definition in settings_in(self.settings).items()
            if definition.default is not MISSING
            and name not in self.leave_out
            and (not self.only or name in self.only)
        ]

    def _parameter(self, definition: Setting) -> inspect.Parameter:
        name, kind = definition.name, definition.type
        default = self.defaults.get(name, definition.default)
        if self.unset or default in ("", ()):
            default = None
        names = definition.option.split(",") if definition.option else []
        if default is False and not names:
            names = [f"--{name.replace('_', '-')}"]
        if kind == tuple[str, ...]:
            kind = list[str]
        option = typer.Option(
            *names,
            help=_sentence(definition, repeated=kind == list[str]),
            # Options that change a preset are checked by the settings of its model.
            callback=None if self.unset else _checker(definition),
            rich_help_panel=definition.panel or self.panel,
        )
        annotation: Any = kind if default is not None else kind | None
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[annotation, option],
        )


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that `SettingOptions` marks are options, one per setting."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    settings_of: dict[str, list[str]] = {}
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        marks = [m for m in getattr(hint, "__metadata__", ()) if isinstance(m, SettingOptions)]
        if marks:
            options = marks[0].parameters()
            parameters += options
            settings_of[parameter.name] = [option.name for option in options]
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(annotation=hint, kind=kind))

    @wraps(command)
    def run(**arguments: Any) -> None:
        for parameter, names in settings_of.items():
            values = {name: arguments.pop(name) for name in names}
            arguments[parameter] = {n: v for n, v in values.items() if v is not None}
        command(**arguments)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _checker(definition: Setting) -> Callable[[Any], Any]:
    """Checks a value where it enters, with the message of the settings."""

    def check(value: Any) -> Any:
        value = tuple(value) if isinstance(value, list) else value
        try:
            if value is not None:
                definition.check(value)
        except DataError as error:
            raise typer.BadParameter(str(error)) from error
        return value

    return check


def _sentence(definition: Setting, *, repeated: bool) -> str:
    text = definition.description + ("; may be repeated" if repeated else "")
    if not definition.choices and text[0].isascii():
        text = text[0].upper() + text[1:]
    return f"{text}."
