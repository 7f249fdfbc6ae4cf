"""Options that are made from settings, and defaults that functions have too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from synsetmine import SynSetMiner, generate_sets, group, read_corpus, read_kb, supervise
from synsetmine.cli.compare import compare
from synsetmine.cli.export import export
from synsetmine.cli.options import SettingOptions, with_settings
from synsetmine.cli.run import run
from synsetmine.cli.train import finetune
from synsetmine.cli.vocabularies import lint
from synsetmine.export import choose_entries
from synsetmine.export.solr import lint_file
from synsetmine.models import DEFAULT_PRESET, preset_names
from synsetmine.models.paper.settings import TrainingSettings
from synsetmine.pipeline.settings import (
    CorpusSettings,
    GroupSettings,
    KbSettings,
    MineSettings,
    ModelChoice,
    SetLimits,
    SuperviseSettings,
    TuningSettings,
    VectorSettings,
    VocabularySettings,
)
from synsetmine.rivals.comparison import Plan
from synsetmine.runs.folder import STAGES
from synsetmine.schema import check_settings, setting, settings_in
from synsetmine.text.phrases import count_phrases
from synsetmine.views.cooccurrence import train_cooccurrence


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
        example: Annotated[
            Example, SettingOptions(arguments={"path": "files"}, defaults={"size": 7})
        ],
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
        Example(path=("a", "b"), size=7),
        Example(path=("a",), share=0.1, size=7, sources=("x", "y"), known=True),
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
    assert "[default: 7]" in text


def test_the_help_names_all_stages() -> None:
    (until,) = get_type_hints(run, include_extras=True)["until"].__metadata__
    assert f"{', '.join(STAGES[:-1])} or {STAGES[-1]}" in until.help


def test_the_presets_are_those_of_the_models() -> None:
    preset = settings_in(ModelChoice)["preset"]
    assert (preset.choices, preset.default) == (preset_names(), DEFAULT_PRESET)
    assert SynSetMiner().preset == DEFAULT_PRESET


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


@pytest.mark.parametrize(
    ("function", "kind", "names"),
    [
        (group, GroupSettings, ("precision", "unsure")),
        (finetune, TuningSettings, ("epochs", "held_out", "seed")),
        (read_corpus, CorpusSettings, ("format", "text_field", "id_field")),
        (read_kb, KbSettings, ("format", "language", "sources", "keep_suppressed", "anchors")),
        (supervise, SuperviseSettings, ("min_count", "min_terms")),
        (train_cooccurrence, VectorSettings, ("dimension", "seed")),
        (count_phrases, VocabularySettings, ("min_count",)),
        (SynSetMiner, SetLimits, ("max_sets",)),
        (SynSetMiner, ModelChoice, ("preset",)),
        (SynSetMiner, MineSettings, ("threshold",)),
        (generate_sets, TrainingSettings, ("threshold",)),
        (generate_sets, SetLimits, ("max_sets",)),
    ],
)
def test_functions_have_the_defaults_of_the_settings(
    function: Callable[..., Any], kind: type, names: tuple[str, ...]
) -> None:
    known = settings_in(kind)
    assert {name: defaults(function)[name] for name in names} == {
        name: known[name].default for name in names
    }


def test_commands_have_the_defaults_of_the_functions_behind_them() -> None:
    for command, function in ((export, choose_entries), (compare, Plan), (lint, lint_file)):
        ours, theirs = defaults(command), defaults(function)
        shared = [n for n in ours.keys() & theirs.keys() if n not in ("device", "progress")]
        assert shared
        assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


def test_the_estimator_takes_settings_of_the_paper_alone_besides_its_own() -> None:
    own = {"preset", "architecture", "threshold", "max_sets", "device", "random_state"}
    of_the_paper = defaults(SynSetMiner).keys() - own
    assert of_the_paper <= settings_in(TrainingSettings).keys()
    assert all(defaults(SynSetMiner)[name] is None for name in of_the_paper)  # the preset's value
