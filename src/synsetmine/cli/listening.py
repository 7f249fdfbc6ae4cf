"""What the commands that start a server have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.errors import SynsetmineError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from synsetmine.web.guard import Door

SHORTEST = 16

Host = Annotated[
    str,
    typer.Option(
        help="Where to listen. Further than 127.0.0.1 everybody has to show a token, which is "
        "printed; 0.0.0.0 is every network of this machine."
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="SYNSETMINE_TOKEN",
        help="Ask for this token, also on 127.0.0.1. Others can see a command's options, so "
        "rather set SYNSETMINE_TOKEN. Default: one is made where it is needed.",
        show_default=False,
    ),
]


def listen_and_serve(
    make_app: Callable[[Door], ASGIApp],
    *,
    host: str,
    port: int,
    token: str | None,
    what: str,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Open the port first, since all else takes longer; then serve until Ctrl-C."""
    from synsetmine.web.guard import Door
    from synsetmine.web.running import address_of, listen, run_server

    if token is not None and len(token) < SHORTEST:
        raise SynsetmineError(f"a token needs {SHORTEST} characters or more")
    with listen(host, port) as listening:
        door = Door.of(host, token)
        address = address_of(listening, host, door.token)

        def ready() -> None:
            console.say(f"{what} at {address} (Ctrl-C ends)")
            if on_ready is not None:
                on_ready(address)

        console.say("reading …")
        run_server(make_app(door), listening, ready)
    console.say("ended")


def check_installed() -> None:
    """The web's packages are optional; without them there is one clear line."""
    try:
        import starlette
        import uvicorn
    except ModuleNotFoundError as error:
        problem = f"{error.name} is not installed; pip install 'synsetmine[web]'"
        raise SynsetmineError(problem) from None
    del starlette, uvicorn
