"""`synsetmine review`."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli.listening import Host, Port, Token, check_installed, listen_and_serve

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
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Review mined sets in a browser: accept, reject, correct, split and merge them.

    The least certain sets come first. Decisions are kept in the run's `reviews.sqlite`, each as
    soon as it is made; several people may review at the same time.

    Example: `synsetmine review run`
    """
    check_installed()

    def make_app(door: Door) -> ASGIApp:
        from synsetmine.web.reviewing import reviewing_app
        from synsetmine.web.workbench import Workbench

        return reviewing_app(Workbench(run), door, title=run.resolve().name)

    def show(address: str) -> None:
        if open_browser and _has_screen():
            # It may wait for the browser, so it does not belong into the server's own thread.
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    listen_and_serve(
        make_app, host=host, port=port, token=token, what=f"{run} is reviewed", on_ready=show
    )


def _has_screen() -> bool:
    """Whether a browser would have a window; in a bare terminal one would take the terminal."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform != "linux" or any(os.environ.get(name) for name in screens)
