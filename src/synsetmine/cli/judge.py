"""`synsetmine judge`, and the options of `group` that ask a language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.options import SettingOptions, with_settings
from synsetmine.errors import SynsetmineError
from synsetmine.pipeline.settings import JudgeSettings

if TYPE_CHECKING:
    from synsetmine.pipeline.judge import JudgeReport

JudgeOptions = Annotated[
    JudgeSettings, SettingOptions(leave_out=("backoff",), panel="Language model")
]


def judge_of(settings: JudgeSettings) -> JudgeSettings | None:
    """The settings if there is a judge; options of one without its address are an error."""
    if settings.url:
        return settings
    if settings != JudgeSettings():
        raise SynsetmineError("these options need the address of a language model: --judge URL")
    return None


def report_judge(report: JudgeReport) -> None:
    console.say(console.one_line(report.summary))


@with_settings
def judge(
    run: Annotated[
        Path, typer.Argument(help="Folder of a run that has mined sets.", show_default=False)
    ],
    settings: Annotated[
        JudgeSettings, SettingOptions(leave_out=("backoff", "band"), panel="Language model")
    ],
    below: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Ask about sets with a term whose probability is below this."
        ),
    ] = 0.9,
) -> None:
    """Let a language model review the unsure sets of a run.

    It decides as a reviewer does, under the name of the model: its decisions feed `export`,
    `train --reviews` and `mine --reviews`, appear on the review page and can be undone there. It
    skips sets that have a decision.

    Example: `synsetmine judge run --judge http://localhost:8080/v1 --judge-dry-run`
    """
    if judge_of(settings) is None:
        raise SynsetmineError("name the endpoint of the language model: --judge URL")
    from synsetmine.pipeline.judge import Judge
    from synsetmine.pipeline.unsure_names import judge_run

    with console.progress_bar("questions") as bar:
        done = judge_run(run, Judge(settings), below=below, progress=bar.update)
    if done.conflicts:
        console.warn(f"{done.conflicts} sets left out: a reviewer has changed them in the meantime")
    report_judge(done.report)
    console.say(f"{len(done.decisions)} decisions of {console.one_line(done.report.judge)}")
