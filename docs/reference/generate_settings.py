"""Writes docs/reference/settings.md from the definitions of the settings.

python docs/reference/generate_settings.py
"""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path
from typing import Any

from synsetmine.models.paper.settings import PRESETS, TrainingSettings
from synsetmine.pipeline.project import definitions, section_title, sections, toml
from synsetmine.schema import Setting, settings_in

PAGE = Path(__file__).with_name("settings.md")
INTRODUCTION = """\
# Settings

Each setting is defined once, in a dataclass of `synsetmine.pipeline.settings` or of its model. The
project file that `synsetmine init` writes, the options of the commands and the parameters of
`SynSetMiner` are made from the same definitions, and so is this page.

The preset `general` is the default of `synsetmine train` and `synsetmine run`: it
[adapts](../decisions/0018-adaptation.md) the general model. It takes any number of `--vectors`, and
an `--encoder` (in a project file `model` in `[encoder]`). With few sets the model stays close to
the general model. With fewer than 10 sets (`fewest_sets`), or if the adapted model is not clearly
better on held-out sets, the general model stays unchanged; `train`, `run` and the report warn of
that.

Both kinds of models use reviewers' decisions on mined sets: `--reviews` of `train`
and `mine`, in a project file `reviews` in `[mine]`; [its effects](reviews.md#effects).
"""
PAPER = """\
## The paper's model

A project file selects it by `preset = "project"`, or another of these presets, in `[train]`, where
its settings may be set too. It takes no encoder, and needs two sets or more. Its defaults are the
preset `paper`: the values of the paper and, if the paper lacks one, that of its released program.
`project` suits a corpus of your own: it learns faster than the released program and stops sooner,
and was chosen on held-out training sets of MEDLINE with MeSH
([how](../results/medline-mesh.md#how-the-preset-was-chosen)).

An empty cell is the value of `paper`. `architecture` sets both sizes by the paper's names:
`both-X-Y` is `embed_sizes` 50, X and `post_sizes` Y, X; `no-et` and `no-pt` leave a transformer
out.
"""


def reference() -> str:
    """The page: a table for each section of the project file, and one for the paper's model."""
    parts = [INTRODUCTION]
    for section, kind in sections().items():
        rows = [
            [f"`{s.name}`", _show(s.default), _values(s), s.description]
            for s in definitions(section)
        ]
        title = section_title(kind)
        parts += [f"## [{section}]", "", f"{title[0].upper()}{title[1:]}.", ""]
        parts += [*_table(["setting", "default", "values", ""], rows), ""]
    columns = ["setting", *(f"`{name}`" for name in PRESETS), "values", ""]
    rows = [
        [f"`{s.name}`", *_presets(s), _values(s), s.description]
        for s in settings_in(TrainingSettings).values()
    ]
    return "\n".join([*parts, PAPER, *_table(columns, rows)]) + "\n"


def _presets(setting: Setting) -> list[str]:
    values = [getattr(preset, setting.name) for preset in PRESETS.values()]
    return ["" if i and v == values[0] else _show(v) for i, v in enumerate(values)]


def _values(setting: Setting) -> str:
    return "" if setting.choices else setting.range


def _show(value: Any) -> str:
    if value is MISSING:
        return "required"
    if value is None or value in ("", ()):
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else toml(value)


def _table(columns: list[str], rows: list[list[str]]) -> list[str]:
    rule = ["---"] * len(columns)
    return [
        "| " + " | ".join(c.replace("|", "\\|") for c in row) + " |"
        for row in (columns, rule, *rows)
    ]


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
