"""Options that are made from settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from synsetmine.cli.options import SettingOptions, with_settings
from synsetmine.cli.run import run
from synsetmine.runs.folder import STAGES
from synsetmine.schema import check_settings, setting


@dataclass(frozen=True, kw_only=True)
class Example:
    path: tuple[str, ...] = setting(help="files")
    share: float = setting(0.5, gt=0, lt=1, help="a share")
    size: int = setting(3, ge=1, help="a size")
    sources: tuple[str, ...] = setting((), help="names", option="--source")
    known: bool = setting(False, help="whether sets are known")

    def __post_init__(self) -> None:
        check_settings(self)


def commands(received: list[Any]) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @with_settings
    def settings(
        example: Annotated[Example, SettingOptions(arguments={"path": "files"})],
    ) -> None:
        received.append(example)

    @app.command()
    @with_settings
    def changes(
        values: Annotated[
            dict[str, Any], SettingOptions(changes=Example, leave_out=("path", "sources"))
        ],
    ) -> None:
        received.append(values)

    return app


def test_a_command_gets_settings() -> None:
    received: list[Any] = []
    app = commands(received)
    assert CliRunner().invoke(app, ["settings", "a", "b"]).exit_code == 0
    line = ["settings", "a", "--source", "x", "--source", "y", "--known", "--share", "0.1"]
    assert CliRunner().invoke(app, line).exit_code == 0
    assert received == [
        Example(path=("a", "b")),
        Example(path=("a",), share=0.1, sources=("x", "y"), known=True),
    ]


def test_changes_are_what_the_user_gave() -> None:
    received: list[Any] = []
    app = commands(received)
    assert CliRunner().invoke(app, ["changes", "--size", "1"]).exit_code == 0
    assert received == [{"size": 1}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["settings", "a", "--share", "1"], "share must be in (0, 1): 1.0"),
        (["settings", "a", "--size", "0"], "size must be at least 1: 0"),
        (["changes", "--size", "0"], "size must be at least 1: 0"),
    ],
)
def test_values_out_of_range_are_wrong_usage(line: list[str], message: str) -> None:
    result = CliRunner().invoke(commands([]), line)
    assert result.exit_code == 2
    assert message in result.output


def test_the_help_has_default_and_range() -> None:
    text = CliRunner().invoke(commands([]), ["settings", "--help"], terminal_width=200).output
    for words in ("A share, in (0, 1).", "A size (at least 1).", "Names; may be repeated."):
        assert words in text
    assert "[default: 3]" in text


def test_the_help_names_all_stages() -> None:
    (until,) = get_type_hints(run, include_extras=True)["until"].__metadata__
    assert f"{', '.join(STAGES[:-1])} or {STAGES[-1]}" in until.help
