"""Options and arguments: those made from the definitions of settings, and files to write."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, get_type_hints

import typer

from synsetmine.errors import DataError
from synsetmine.schema import Setting, settings_in

STDOUT = "standard output"  # the name of the file that stands for it


@dataclass(frozen=True, kw_only=True)
class SettingOptions:
    """Marks the parameter of a command that becomes one option per setting.

    The parameter is an object of its settings class, or a dict with the values that the user gave,
    where `changes` names the class whose settings are to be changed. A field that is no setting
    is annotated as a parameter of a command would be.
    """

    changes: type | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)  # that differ for this command
    only: tuple[str, ...] = ()  # empty: all
    leave_out: tuple[str, ...] = ()
    arguments: Mapping[str, str] = field(default_factory=dict)  # the names of required settings
    panel: str | None = None
    checked: bool = True  # whether values are checked where they enter, as wrong usage

    def parameters(self, kind: type) -> dict[str, inspect.Parameter]:
        """The parameters of the command, by the names of their settings."""
        kind = self.changes or kind
        hints = get_type_hints(kind, include_extras=True)
        parameters = {}
        for item in fields(kind):
            name = item.name
            if name in self.leave_out or (self.only and name not in self.only):
                continue
            if item.metadata:
                parameters[name] = self._parameter(settings_in(kind)[name])
            else:
                default = self.defaults.get(name, item.default)
                parameters[name] = _keyword(name, hints[name], default)
        return parameters

    def _parameter(self, definition: Setting) -> inspect.Parameter:
        name, kind = definition.name, definition.type
        if kind in (tuple[str, ...], Sequence[str]):
            kind = list[str]
        if definition.default is MISSING:
            argument = typer.Argument(help=_sentence(definition))
            return _keyword(self.arguments[name], Annotated[kind, argument])
        default = None if self.changes or definition.default in ("", ()) else definition.default
        option = option_of(definition, panel=self.panel)
        if not self.checked:
            option.callback = None
        if default is False and not definition.option:
            option.param_decls = (f"--{name.replace('_', '-')}",)
        annotation: Any = kind if default is not None else kind | None
        return _keyword(name, Annotated[annotation, option], default)


def option_of(definition: Setting, *, more: str = "", panel: str | None = None) -> Any:
    """The option of one setting, with `more` after its help text."""
    return typer.Option(
        *filter(None, definition.option.split(",")),
        help=_sentence(definition) + more,
        callback=_checker(definition),
        rich_help_panel=definition.panel or panel,
    )


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that `SettingOptions` marks are options, one per setting."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    marked: dict[str, tuple[type, dict[str, str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        marks = [m for m in getattr(hint, "__metadata__", ()) if isinstance(m, SettingOptions)]
        if not marks:
            parameters.append(_keyword(parameter.name, hint, parameter.default))
            continue
        options = marks[0].parameters(hint.__origin__)
        parameters += options.values()
        names = {name: option.name for name, option in options.items()}
        marked[parameter.name] = (dict if marks[0].changes else hint.__origin__, names)

    @wraps(command)
    def run(**arguments: Any) -> None:
        settings: dict[str, Any] = {}
        for parameter, (kind, names) in marked.items():
            values = {name: arguments.pop(option) for name, option in names.items()}
            settings[parameter] = kind(
                **{
                    name: tuple(value) if isinstance(value, list) else value
                    for name, value in values.items()
                    if value is not None
                }
            )
        command(**arguments, **settings)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def out_file(help: str, *names: str, stdout: str | None = None) -> Any:  # noqa: A002
    """An option for a file to write, `--out` by default.

    With `stdout`, `-` is standard output, and the file is written as one with that ending is.
    """

    def callback(context: typer.Context, path: Path | None) -> Path | None:
        if path == Path("-"):
            if stdout is None:
                raise typer.BadParameter("this is not written to standard output; name a file")
            return _file_for_stdout(context, stdout)
        return output_file(path)

    more = "" if stdout is None else " `-`: standard output."
    return typer.Option(*(names or ("--out", "-o")), callback=callback, help=help + more)


def out_folder(help: str, *names: str) -> Any:  # noqa: A002
    """An option for a folder to write files into, `--out` by default."""
    return typer.Option(*(names or ("--out", "-o")), callback=output_folder, help=help)


def output_file(path: Path | None) -> Path | None:
    """Checks a file to write where it enters."""
    if path is None:
        return None
    from synsetmine.io.files import check_file
    from synsetmine.runs.folder import is_artefact

    check_file(path)
    if is_artefact(path):
        raise DataError("a file of the run itself; name another output file", path=path)
    return path


def _file_for_stdout(context: typer.Context, ending: str) -> Path:
    """A temporary file; what a command has written to it in the end goes to standard output."""
    folder = TemporaryDirectory(prefix="synsetmine-")
    path = Path(folder.name, f"{STDOUT}{ending}")

    def show() -> None:
        with folder:
            if path.exists():
                with path.open("rb") as stream:
                    shutil.copyfileobj(stream, typer.get_binary_stream("stdout"))
                typer.get_binary_stream("stdout").flush()

    context.call_on_close(show)
    return path


def place_of(path: Path) -> str:
    """What a message calls a file that was written."""
    return "standard output" if path.stem == STDOUT else str(path)


def output_folder(path: Path | None) -> Path | None:
    """Checks a folder to write files into where it enters."""
    if path is not None:
        from synsetmine.io.files import check_folder

        check_folder(path)
    return path


def check_not_input(out: Path, *others: Path | None) -> None:
    """Refuse to write a file over another one that the command reads or writes."""
    for other in others:
        if other is not None and os.path.realpath(other) == os.path.realpath(out):
            raise DataError(
                "the command already uses this file; name another output file", path=out
            )


def _keyword(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _checker(definition: Setting) -> Callable[[Any], Any]:
    """Checks a value where it enters, with the message of the settings."""

    def check(value: Any) -> Any:
        try:
            if value is not None:
                definition.check(tuple(value) if isinstance(value, list) else value)
        except DataError as error:
            raise typer.BadParameter(str(error)) from error
        return value

    return check


def _sentence(definition: Setting) -> str:
    """The help text: what the setting is for, its range, and whether it may be repeated."""
    text = definition.explanation
    if definition.default is not MISSING and definition.type == tuple[str, ...]:
        text += "; may be repeated"
    if not definition.choices and text[0].isascii():
        text = text[0].upper() + text[1:]
    return f"{text}."
