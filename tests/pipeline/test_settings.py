"""Each setting is defined once: what functions and commands say elsewhere agrees with it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import synsetmine
from synsetmine import SynSetMiner, generate_sets, group, models, read_corpus, read_kb, supervise
from synsetmine.cli.export import FormatOptions
from synsetmine.cli.options import with_settings
from synsetmine.cli.run import init, run
from synsetmine.cli.train import finetune
from synsetmine.export import FORMATS, About, choose_entries
from synsetmine.export.solr import lint_file
from synsetmine.linking import SpotlightLinker
from synsetmine.models import DEFAULT_PRESET, preset_names
from synsetmine.models.general.settings import AdaptationSettings
from synsetmine.models.paper.settings import TrainingSettings
from synsetmine.models.paper.tune import tune as cross_validate
from synsetmine.pipeline import settings
from synsetmine.pipeline.project import PROJECT_FILE, Project
from synsetmine.pipeline.settings import (
    ComparisonSettings,
    CorpusSettings,
    CrossValidationSettings,
    ExportSettings,
    GroupSettings,
    KbSettings,
    LinkSettings,
    LintSettings,
    MineSettings,
    ModelChoice,
    RankSettings,
    SetLimits,
    SetReviewSettings,
    SuperviseSettings,
    TuningSettings,
    VectorSettings,
    VocabularySettings,
)
from synsetmine.pipeline.unsure_names import judge_run
from synsetmine.rivals.comparison import ComparisonPlan
from synsetmine.rivals.comparison import compare as compare_methods
from synsetmine.rivals.registry import methods
from synsetmine.schema import settings_in
from synsetmine.text.phrases import count_phrases
from synsetmine.views.cooccurrence import train_cooccurrence

SOURCES = Path(synsetmine.__file__).parent
CLASSES = [
    *(c for c in vars(settings).values() if is_dataclass(c) and isinstance(c, type)),
    *(TrainingSettings, AdaptationSettings),
]


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
        (with_settings(finetune), TuningSettings, ("epochs", "held_out", "seed")),
        (read_corpus, CorpusSettings, ("format", "text_field", "id_field")),
        (read_kb, KbSettings, ("format", "language", "sources", "keep_suppressed", "anchors")),
        (SpotlightLinker, LinkSettings, ("url", "confidence", "support", "concurrency")),
        (SpotlightLinker, LinkSettings, ("per_second",)),
        (supervise, SuperviseSettings, ("min_count", "min_terms")),
        (supervise, LinkSettings, ("ambiguous",)),
        (train_cooccurrence, VectorSettings, ("dimension", "seed")),
        (count_phrases, VocabularySettings, ("min_count",)),
        (SynSetMiner, SetLimits, ("max_sets",)),
        (SynSetMiner, ModelChoice, ("preset",)),
        (SynSetMiner, MineSettings, ("threshold",)),
        (generate_sets, TrainingSettings, ("threshold",)),
        (generate_sets, MineSettings, ("known_threshold",)),
        (generate_sets, SetLimits, ("max_sets",)),
        (choose_entries, ExportSettings, ("threshold", "min_size", "preferred")),
        (ComparisonPlan, ComparisonSettings, ("seeds", "orders", "samples", "expect_size")),
        (compare_methods, ComparisonSettings, ("workers",)),
        (methods, ComparisonSettings, ("preset",)),
        (cross_validate, CrossValidationSettings, ("folds", "workers")),
        (lint_file, LintSettings, ("limit",)),
        (models.rank, RankSettings, ("top",)),
        (judge_run, SetReviewSettings, ("below",)),
    ],
)
def test_functions_have_the_defaults_of_the_settings(
    function: Callable[..., Any], kind: type, names: tuple[str, ...]
) -> None:
    known = settings_in(kind)
    assert {name: defaults(function)[name] for name in names} == {
        name: known[name].default for name in names
    }


# A parameter that is called like a setting and has another default is something else, or 0 or None
# of the setting stands for the default of the function. Each is listed here: file, function, name.
OTHERS = {
    ("engines/base.py", "open_engine", "name"),  # of an engine, not of a column
    ("engines/spark.py", "__init__", "master"),  # None stands for it
    *(("export/formats.py", "Format", name) for name in ("sentences", "sources")),
    ("export/solr.py", "write_querqy", "weights"),
    *(("io/downloads.py", "fetch_dataset", name) for name in ("backoff", "retries", "timeout")),
    *(("kb/readers.py", "KbFields", name) for name in ("id", "name")),  # JSONL's own
    *(("linking/spotlight.py", "__init__", name) for name in ("retries", "timeout")),
    ("linking/linkers.py", "__init__", "ambiguous"),  # of one sentence, without a corpus
    ("linking/linkers.py", "open", "ambiguous"),
    ("models/general/settings.py", "AssignmentSettings", "epochs"),
    ("models/general/settings.py", "AssignmentSettings", "learning_rate"),
    *(
        (f"{file}.py", "near_pairs", "top")
        for file in ("models/general/prepared_names", "pipeline/grouping")
    ),
    ("pipeline/mcp/tools.py", "GroupCall", "unsure"),  # a language model reads the answer
    ("pipeline/merging.py", "ApplicationCounts", "ambiguous"),
    ("pipeline/name_sets.py", "NameCounts", "ambiguous"),
    ("pipeline/name_sets.py", "NameCounts", "names"),
    ("pipeline/plan.py", "PlannedMember", "known"),
    *(
        (f"review/{file}.py", name, "order")
        for file, name in (("state", "QueueFilter"), ("changes", "position"))
    ),  # of a list
    ("review/web/routes.py", "_set_cookie", "path"),
    ("rivals/registry.py", "L2C", "dropout"),
    ("rivals/registry.py", "L2C", "patience"),
    ("text/phrases.py", "__init__", "tokens"),
    ("types.py", "order_terms", "order"),  # None of the setting looks for counts
    ("views/skipgram.py", "train_skipgram", "dimension"),  # 0 stands for it
    ("views/skipgram.py", "train_skipgram", "epochs"),
    ("views/skipgram.py", "train_skipgram", "sample"),  # share of frequent words that stay
    ("views/skipgram.py", "train_skipgram", "window"),
}
# The same of options that are declared by hand, not made from settings.
OPTIONS = {("cli/vocabularies.py", "push", "dry_run")}  # of no language model


def declared_defaults() -> Iterator[tuple[tuple[str, str, str], Any]]:
    """(file, function or class, parameter or field) and default, of all of the package.

    A default that is no literal comes from somewhere else, such as a setting.
    """
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            pairs: list[tuple[str, ast.expr | None]] = []
            if isinstance(node, ast.FunctionDef):
                plain = [*node.args.posonlyargs, *node.args.args]
                arguments = [*plain[len(plain) - len(node.args.defaults) :], *node.args.kwonlyargs]
                values = [*node.args.defaults, *node.args.kw_defaults]
                pairs = [(a.arg, value) for a, value in zip(arguments, values, strict=True)]
            elif isinstance(node, ast.ClassDef):
                fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
                pairs = [(ast.unparse(each.target), each.value) for each in fields]
            for name, value in pairs:
                if isinstance(value, ast.Constant) and isinstance(
                    node, ast.FunctionDef | ast.ClassDef
                ):
                    yield (path.relative_to(SOURCES).as_posix(), node.name, name), value.value


def test_a_parameter_called_like_a_setting_has_its_default_or_is_listed() -> None:
    known: dict[str, list[Any]] = {}
    for kind in CLASSES:
        for name, definition in settings_in(kind).items():
            known.setdefault(name, [None]).append(definition.default)
    different = {
        place
        for place, value in declared_defaults()
        if place[2] in known
        and not place[0].startswith("cli/")
        and value not in known[place[2]]
        and value != ""
    }
    assert different == OTHERS


def test_an_option_called_like_a_setting_is_made_from_it_or_is_listed() -> None:
    names = {name for kind in CLASSES for name in settings_in(kind)}
    assert {
        place
        for place, value in declared_defaults()
        if place[0].startswith("cli/") and place[2] in names and value is not None
    } == OPTIONS


def test_the_help_of_export_names_the_defaults_of_the_writers() -> None:
    writers = defaults(About)
    for each in FORMATS.values():
        writers |= {n: v for n, v in defaults(each.writer).items() if n in each.takes}
    named = 0
    for name, definition in settings_in(FormatOptions).items():
        if match := re.search(r"([^;,]+) by default", definition.help):
            named_default = match[1].strip().strip("`")
            default = {"none": ""}.get(named_default, named_default)
            assert default == str(writers[name]), name
            named += 1
    assert named > 5


def test_a_project_has_the_names_that_commands_assume() -> None:
    assert defaults(init)["run"] == Project.run
    assert {str(defaults(init)["out"]), str(defaults(run)["project"])} == {PROJECT_FILE}


def test_the_estimator_has_every_setting_of_the_models() -> None:
    both = {*settings_in(TrainingSettings), *settings_in(AdaptationSettings)}
    own = {"preset", "architecture", "max_sets", "device", "random_state", "progress"}
    left_out = {"embed_sizes", "post_sizes", "train_vectors", "seed"}
    assert defaults(SynSetMiner).keys() == both - left_out | own
    for name in both - left_out:  # the value of the preset
        assert defaults(SynSetMiner)[name] is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'architectur'"):
        SynSetMiner(architectur="no-et")


def test_the_estimator_has_the_threshold_of_the_preset() -> None:
    X, y = np.eye(6, dtype=np.float32), np.repeat([0, 1, 2], 2)
    assert SynSetMiner().fit(X, y).model_.threshold == AdaptationSettings().threshold
    assert SynSetMiner(threshold=0.7).fit(X, y).model_.threshold == 0.7
