"""The serving API under load, against the barest endpoint of the same server in the same run.

    python -m benchmarks.bench_serve                    # a made-up run of 5,000 sets
    python -m benchmarks.bench_serve --run demo/run     # a real one
    python -m benchmarks.bench_serve --quick

Server and client are two processes on loopback; 32 connections ask as fast as they are answered.
`hello` is a Starlette
endpoint that answers `{"hello":"world"}`, without a guard, served by the same uvicorn; the ratio
is that of the requests a second to it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from benchmarks.httpclient import Connection, percentile
from benchmarks.synthetic import make_vocabulary
from synsetmine.errors import in_one_line
from synsetmine.io.sets import read_sets
from synsetmine.models import DEFAULT_PRESET, load_model, settings_of
from synsetmine.review.web.answers import Answers, MinedAnswers, ModelAnswers
from synsetmine.review.web.api import ServerState, serving_app
from synsetmine.review.web.server import AccessPolicy, listen, run_server
from synsetmine.runs import MinedSet, MinedTerm
from synsetmine.runs.folder import Artefacts
from synsetmine.views import TermViews, read_vectors

TERMS_A_SET, LEARNED = 4, 1000
Made = tuple[ASGIApp, list[str]]  # an application, and the terms to ask it about


def main() -> None:
    options = _options()
    if options.quick:
        options.seconds, options.sets = 1.0, 500
    with _open_server(_hello) as (port, _):
        hello = _load(port, ["/"], options)
    synonyms = partial(_made_up, options.sets) if options.run is None else partial(_of, options.run)
    with _open_server(synonyms) as (port, terms):
        print(
            f"{len(terms):,} terms, {options.connections} connections, {options.seconds:g} s each"
        )
        print(f"\n{'':24} {'a second':>9} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>8}")
        _show("hello", hello, hello)
        for name, paths in _questions(terms).items():
            _show(name, _load(port, paths, options), hello)


def _questions(terms: Sequence[str]) -> dict[str, list[str]]:
    """Many different addresses of each kind, so that nothing is the same twice in a row."""
    chance = random.Random(0)  # noqa: S311

    def paths(kind: str, **fields: int) -> list[str]:
        asked = ({name: chance.sample(terms, n) for name, n in fields.items()} for _ in range(500))
        return [f"/v1/{kind}?{urlencode(fields, doseq=True)}" for fields in asked]

    return {
        "expand": paths("expand", term=1),
        "score, 1 term with 2": paths("score", set=2, terms=1),
        "rank, a set of 3": paths("rank", set=3),
    }


# --- What is served ---


def _hello() -> Made:
    async def hello(_: Request) -> Response:
        return JSONResponse({"hello": "world"})

    return Starlette(routes=[Route("/", hello)]), []


def _made_up(sets: int) -> Made:
    """Sets of about four terms, and the general model, adapted to a part of them."""
    world = make_vocabulary(TERMS_A_SET * sets, seed=0)
    mined = [
        MinedSet(f"s{s}", tuple(MinedTerm(str(t), 9, "joined", False, 0.9) for t in members))
        for s, members in enumerate(world.sets)
    ]
    views = TermViews(world.views.vectors)
    known = world.sets.pick(range(0, len(world.sets), max(1, len(world.sets) // LEARNED)))
    trained = settings_of(DEFAULT_PRESET).train(known, views).model
    model = trained.prepare(world.terms, views)
    return _app(MinedAnswers(mined), ModelAnswers(model, trained.threshold)), [
        *map(str, world.terms)
    ]


def _of(run: Path) -> Made:
    at = Artefacts(run)
    stored = load_model(at.model)
    encoded = read_vectors(at.encoded) if at.encoded.exists() else None
    views = TermViews((read_vectors(at.vectors),), encoded)
    prepared = stored.prepare(read_sets(at.mined).terms, views)
    model = ModelAnswers(prepared, stored.threshold)
    return _app(MinedAnswers.of_run(run), model), list(map(str, prepared.terms))


def _app(mined: MinedAnswers, model: ModelAnswers) -> ASGIApp:
    return serving_app(ServerState(Answers(mined, model)), AccessPolicy())


@contextmanager
def _open_server(make: Callable[[], Made]) -> Iterator[tuple[int, list[str]]]:
    """A server in a process of its own: its port, and its terms."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(make, there), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def _serve(make: Callable[[], Made], told: Pipe) -> None:
    app, terms = make()
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    run_server(app, listening, lambda: told.send((port, terms)))


# --- Who asks ---


@dataclass(frozen=True)
class Load:
    seconds: float
    waits: list[float]  # of each request, in order

    @property
    def rate(self) -> float:
        return len(self.waits) / self.seconds

    def percentile(self, share: float) -> float:
        return percentile(self.waits, share)


def _load(port: int, paths: Sequence[str], options: argparse.Namespace) -> Load:
    async def everyone(seconds: float) -> Load:
        until = time.perf_counter() + seconds
        asking = [_ask(port, paths, n, until) for n in range(options.connections)]
        begin = time.perf_counter()
        waits = [wait for own in await asyncio.gather(*asking) for wait in own]
        return Load(time.perf_counter() - begin, waits)

    asyncio.run(everyone(options.seconds / 5))  # warm
    return asyncio.run(everyone(options.seconds))


async def _ask(port: int, paths: Sequence[str], first: int, until: float) -> list[float]:
    """One connection, one question after the other; how long each waited."""
    connection = await Connection.to(port)
    waits = []
    for number in range(first * 17, 10**9):
        if time.perf_counter() > until:
            break
        path = paths[number % len(paths)]
        answer = await connection.ask(path)
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {answer.text}")
        waits.append(answer.seconds)
    await connection.close()
    return waits


def _show(name: str, load: Load, hello: Load) -> None:
    waits = f"{1e3 * load.percentile(0.5):8.1f} {1e3 * load.percentile(0.99):8.1f}"
    print(f"{name:24} {load.rate:9,.0f} {waits} {load.rate / hello.rate:7.3f}×", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", type=Path, help="a run instead of made-up sets")
    parser.add_argument("--sets", type=int, default=5000, help="made-up sets of four terms")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--quick", action="store_true", help="500 sets, 1 s each")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
