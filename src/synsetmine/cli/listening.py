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
        help="Where to listen: 0.0.0.0 is every network of this machine. Everybody has to show "
        "the token, which is printed as a part of the address."
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="SYNSETMINE_TOKEN",
        help="Ask for this token. Others can see a command's options, so rather set "
        "SYNSETMINE_TOKEN. Default: a new one at each start.",
        show_default=False,
    ),
]
NoToken = Annotated[
    bool,
    typer.Option(
        "--no-token",
        help="Ask for no token: every user and program of this machine can read, and with "
        "`review` decide. Only where the server listens on this machine alone.",
    ),
]


def listen_and_serve(
    make_app: Callable[[Door], ASGIApp],
    *,
    host: str,
    port: int,
    token: str | None,
    no_token: bool,
    what: str,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Open the port first, since all else takes longer; then serve until Ctrl-C."""
    from synsetmine.web.guard import LOOPBACK, Door, new_token
    from synsetmine.web.running import address_of, listen, run_server

    if token is not None and len(token) < SHORTEST:
        raise SynsetmineError(f"a token needs {SHORTEST} characters or more")
    if no_token and token is not None:
        raise SynsetmineError("give either --no-token or a token (--token, SYNSETMINE_TOKEN)")
    if no_token and host not in LOOPBACK:
        raise SynsetmineError(f"--no-token is for 127.0.0.1 only, not for --host {host}")
    if not no_token:
        token = token or new_token()
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
