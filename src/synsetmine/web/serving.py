"""The serving API: one application that answers with JSON."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from synsetmine.errors import SynsetmineError
from synsetmine.web.answers import Answers
from synsetmine.web.guard import Door, Guard
from synsetmine.web.openapi import openapi_document
from synsetmine.web.questions import (
    KINDS,
    Problem,
    Question,
    read_batch,
    read_query,
    read_question,
)

WAITING = 64  # questions to the model that may wait; more are sent away
CODES = {
    401: "no_token",
    403: "forbidden",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    413: "too_large",
}


def serving_app(answers: Answers, door: Door) -> ASGIApp:
    """The application, behind its door."""
    desk = _Desk(answers)
    document = openapi_document()

    async def start(request: Request) -> Response:
        root = request.scope.get("root_path", "")
        return RedirectResponse(f"{root}/openapi.json", status_code=303)

    async def openapi(_: Request) -> Response:
        return JSONResponse(document)

    async def health(_: Request) -> Response:
        return JSONResponse(answers.health)

    async def single(request: Request) -> Response:
        kind = request.url.path.rpartition("/")[2]
        return JSONResponse(await desk.ask(read_query(kind, request.query_params)))

    async def batch(request: Request) -> Response:
        questions = read_batch(await _json_of(request))
        return JSONResponse({"answers": [await desk.ask_safely(*q) for q in questions]})

    app = Starlette(
        routes=[
            Route("/", start),
            Route("/openapi.json", openapi),
            Route("/v1/health", health),
            *(Route(f"/v1/{kind}", single) for kind in KINDS),
            Route("/v1/batch", batch, methods=["POST"]),
        ],
        exception_handlers={
            Problem: lambda _, problem: _refusal(problem),
            HTTPException: _plain_refusal,
            Exception: _failure,
        },
        lifespan=desk.open,
    )
    return Guard(app, door, _plain_refusal)


class _Desk:
    """Where questions wait: the model answers one at a time, in a thread of its own.

    The event loop stays free meanwhile; torch uses all cores for one question already.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._one: CapacityLimiter | None = None
        self._asked = 0  # questions that the model has not answered yet

    @asynccontextmanager
    async def open(self, _: Starlette) -> AsyncIterator[None]:
        self._one = CapacityLimiter(1)
        yield

    async def ask(self, question: Question) -> dict[str, Any]:
        if self._answers.is_quick(question):
            return self._answers.answer(question)
        if self._asked > WAITING:
            message = f"{WAITING} questions are waiting for the model; ask again in a second"
            raise Problem(503, "busy", message)
        self._asked += 1
        try:
            return await to_thread.run_sync(self._answers.answer, question, limiter=self._one)
        finally:
            self._asked -= 1

    async def ask_safely(self, kind: str, fields: object) -> dict[str, Any]:
        """The answer to a question of a batch, or what is wrong with that one."""
        try:
            answer = await self.ask(read_question(kind, fields))
        except Problem as problem:
            return {"status": problem.status, "error": problem.record}
        await anyio.sleep(0)  # others have their turn between the questions of a long batch
        return {"status": 200, "answer": answer}


async def _json_of(request: Request) -> object:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = f"expected a body of the type application/json, not {kind or 'none'!r}"
        raise Problem(415, "not_json", message)
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise Problem(400, "not_json", f"the body is not JSON ({error})") from None


def _refusal(problem: Exception) -> Response:
    if not isinstance(problem, Problem):
        raise problem
    headers = {"retry-after": "1"} if problem.status == 503 else None
    return JSONResponse({"error": problem.record}, problem.status, headers)


def _plain_refusal(request: Request, error: Exception) -> Response:
    """What Starlette and the guard refuse, in the same form."""
    if not isinstance(error, HTTPException):
        raise error
    code = CODES.get(error.status_code, "refused")
    message = error.detail
    if error.status_code == 404:
        message = f"there is nothing at {request.url.path}; see /openapi.json"
    record = {"error": {"code": code, "message": message}}
    return JSONResponse(record, error.status_code, error.headers)


def _failure(_: Request, error: Exception) -> Response:
    """What should not happen; the traceback goes to the log."""
    message = str(error) if isinstance(error, SynsetmineError) else "the server failed; see its log"
    return JSONResponse({"error": {"code": "failed", "message": message}}, 500)
