"""`synsetmine review`."""

from __future__ import annotations

import html
import os
import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli.listening import (
    Host,
    NoToken,
    Port,
    Token,
    check_installed,
    listen_and_serve,
)
from synsetmine.temporary import temporary_folder

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from synsetmine.web.guard import Door


def review(
    run: Annotated[
        Path, typer.Argument(help="Folder of a run that has mined sets.", show_default=False)
    ],
    host: Host = "127.0.0.1",
    port: Port = 8765,
    token: Token = None,
    no_token: NoToken = False,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Review mined sets in a browser: accept, reject, correct, split and merge them.

    The least certain sets come first. Decisions are kept in the run's `reviews.sqlite`, each as
    soon as it is made; several people may review at the same time. Whoever opens the printed
    address may decide; it has a token that is new at each start.

    Example: `synsetmine review run`
    """
    check_installed()

    def make_app(door: Door) -> ASGIApp:
        from synsetmine.web.reviewing import reviewing_app
        from synsetmine.web.workbench import Workbench

        return reviewing_app(Workbench(run), door, title=run.resolve().name)

    with ExitStack() as stack:

        def show(address: str) -> None:
            if open_browser and _has_screen():
                if "?token=" in address:
                    address = _hide_token(address, stack.enter_context(temporary_folder()))
                # It may wait for the browser, so it does not belong into the server's own thread.
                Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        listen_and_serve(
            make_app,
            host=host,
            port=port,
            token=token,
            no_token=no_token,
            what=f"{run} is reviewed",
            on_ready=show,
        )


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
