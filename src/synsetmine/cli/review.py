"""Commands on reviews: by people in a browser, by a language model, and in files."""

from __future__ import annotations

import html
import os
import sys
import webbrowser
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.options import SettingOptions, option_of, out_file, place_of
from synsetmine.cli.server import ServerOptions, check_packages, listen_and_serve
from synsetmine.errors import SynsetmineError, one_line, quantity
from synsetmine.pipeline.settings import JudgeSettings, ReportSettings, SetReviewSettings
from synsetmine.schema import settings_in

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from synsetmine.pipeline.judge import JudgeReport
    from synsetmine.review.web.server import AccessPolicy

Run = Annotated[Path, typer.Argument(help="Folder of a run that has mined sets.")]
JudgeOptions = Annotated[
    JudgeSettings, SettingOptions(leave_out=("backoff",), panel="Language model")
]


def review(
    run: Run,
    server: Annotated[ServerOptions, SettingOptions(defaults={"port": 8765})],
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
    document_prefix: Annotated[
        str | None, option_of(settings_in(ReportSettings)["document_prefix"])
    ] = None,
) -> None:
    """Review mined sets in a browser: accept, reject, correct, split and merge them.

    The least certain sets come first. The run's `reviews.sqlite` stores each decision at
    once; several people may review at the same time. Everyone with the printed address can
    decide; each start makes a new token for it.

    Example: `synsetmine review run`
    """
    check_packages("web")

    def make_app(policy: AccessPolicy) -> ASGIApp:
        from synsetmine.review.web.routes import reviewing_app
        from synsetmine.review.web.session import ReviewSession

        return reviewing_app(
            ReviewSession(run, document_prefix=document_prefix or ""),
            policy,
            title=run.resolve().name,
        )

    with ExitStack() as stack:

        def show(address: str) -> None:
            if open_browser and _has_screen():
                if "?token=" in address:
                    folder = stack.enter_context(TemporaryDirectory(prefix="synsetmine-"))
                    address = _hide_token(address, Path(folder))
                # It may wait for the browser, so it does not belong into the server's own thread.
                Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        listen_and_serve(make_app, server, what=f"reviewing {run}", on_ready=show)


def _hide_token(address: str, folder: Path) -> str:
    """The address of a private file that leads on to an address with a token.

    Every user of the machine can see the arguments of the browser's process.
    """
    target = html.escape(address)
    page = (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={target}"><title>synsetmine review</title>'
        f'<p><a href="{target}">To the review page</a></p>\n'
    )
    path = folder / "review.html"
    path.touch(0o600, exist_ok=False)
    path.write_text(page, "utf-8")
    return path.as_uri()


def _has_screen() -> bool:
    """Whether a browser would have a window; in a bare terminal one would take the terminal."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform != "linux" or any(os.environ.get(name) for name in screens)


def export_reviews(
    run: Run,
    out: Annotated[Path, out_file("TSV file for the decisions.", stdout=".tsv")],
) -> None:
    """Write reviewers' decisions to a TSV file, for git and for other runs.

    The same decisions always give the same bytes; new ones are new lines.

    Example: `synsetmine export-reviews run --out reviews.tsv`
    """
    from synsetmine.review.decisions import write_decisions
    from synsetmine.review.feedback import find_decisions

    decisions = find_decisions(run)
    write_decisions(out, decisions)
    console.say(f"{quantity(len(decisions), 'decision')} written to {place_of(out)}")


def import_reviews(
    run: Run,
    file: Annotated[Path, typer.Argument(help="TSV file of `export-reviews`.")],
) -> None:
    """Import decisions of another run from a TSV file; known decisions are skipped.

    They apply to those sets of this run that have their terms.

    Example: `synsetmine import-reviews run reviews.tsv`
    """
    from synsetmine.review import ReviewState, ReviewStore
    from synsetmine.review.decisions import read_decisions, tomorrow
    from synsetmine.runs import read_results
    from synsetmine.runs.folder import Artefacts

    mined = read_results(run)
    decisions = read_decisions(file, until=tomorrow())
    with ReviewStore(Artefacts(run).reviews) as store:
        new = store.take_in(decisions)
        state = ReviewState(mined, store.decisions())
    console.say(f"{quantity(len(decisions), 'decision')} in {file}, {new} of them new to {run}")
    extents = Counter(state.extents.values())
    console.say(
        f"{len(state.extents)} in force: {extents['whole']} fully applicable to these sets, "
        f"{extents['part']} in part, {extents['none']} not at all"
    )


def judge_of(settings: JudgeSettings) -> JudgeSettings | None:
    """The settings if there is a judge; options of one without its address are an error."""
    if settings.url:
        return settings
    if settings != JudgeSettings():
        raise SynsetmineError("these options need the address of a language model: --judge URL")
    return None


def report_judge(report: JudgeReport) -> None:
    console.say(one_line(report.summary))


def judge(
    run: Run,
    settings: Annotated[
        JudgeSettings, SettingOptions(leave_out=("backoff", "band"), panel="Language model")
    ],
    chosen: Annotated[SetReviewSettings, SettingOptions()],
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
        done = judge_run(run, Judge(settings), below=chosen.below, progress=bar.update)
    if done.conflicts:
        console.warn(f"{done.conflicts} sets left out: a reviewer has changed them in the meantime")
    report_judge(done.report)
    console.say(f"{quantity(len(done.decisions), 'decision')} of {one_line(done.report.judge)}")
