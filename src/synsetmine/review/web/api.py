"""The HTTP API and its OpenAPI description."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from synsetmine import __version__
from synsetmine.errors import SynsetmineError
from synsetmine.review.web.answers import Answers
from synsetmine.review.web.schemas import (
    MESSAGES,
    QUESTIONS,
    REFERENCE,
    Answer,
    ApiError,
    Batch,
    BatchAnswer,
    BatchFailure,
    ErrorDetail,
    Kind,
    Problem,
    Question,
    read_batch,
    read_query,
    read_question,
)
from synsetmine.review.web.server import AccessMiddleware, AccessPolicy

Schema = dict[str, Any]

SUMMARIES: Mapping[str, str] = {
    "health": "The status of the server",
    "expand": "The synonyms of a term",
    "rank": "The terms with the highest probability for a set",
    "score": "The probability that each term belongs to a set",
    "batch": "Several queries in one request",
}
QUESTION_ERRORS = {
    400: "A field is missing, unknown or has a wrong value",
    404: "An unknown term; `near` lists terms with a similar spelling",
    409: "A text matches several terms; `near` lists them",
    501: "The server has mined sets but no model",
    503: "Too many queries wait for the model",
}
BATCH_ERRORS = {
    400: "The body is not JSON, or not a batch",
    413: "The body is too large",
    415: "The body is not of the type application/json",
}
ACCESS_ERRORS = {
    401: "The server requires its token",
    403: "The request names another host, or comes from a page of another site",
}
ERROR_CODES = {
    401: "no_token",
    403: "forbidden",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    413: "too_large",
}
MAX_WAITING = 64  # questions for the model; further ones get status 503


# --- The application ---


def serving_app(answers: Answers, policy: AccessPolicy) -> ASGIApp:
    """The application, behind its access checks."""
    requests = RequestQueue(answers)
    document = openapi_document()

    async def start(request: Request) -> Response:
        root = request.scope.get("root_path", "")
        return RedirectResponse(f"{root}/openapi.json", status_code=303)

    async def openapi(_: Request) -> Response:
        return JsonResponse(document)

    async def health(_: Request) -> Response:
        return JsonResponse(answers.health)

    async def batch(request: Request) -> Response:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != "application/json":
            message = f"expected the content type application/json; got {content_type!r}"
            raise ApiError(415, "not_json", message)
        questions = read_batch(await request.body())
        return JsonResponse(Batch([await requests.batch_answer(*q) for q in questions]))

    def single(kind: Kind) -> Route:
        async def answer(request: Request) -> Response:
            return JsonResponse(await requests.answer(read_query(kind, request.query_params)))

        return Route(f"/v1/{kind}", answer)

    app = Starlette(
        routes=[
            Route("/", start),
            Route("/openapi.json", openapi),
            Route("/v1/health", health),
            *map(single, QUESTIONS),
            Route("/v1/batch", batch, methods=["POST"]),
        ],
        exception_handlers=dict.fromkeys((ApiError, HTTPException, Exception), refuse),
        lifespan=requests.open,
    )
    return AccessMiddleware(app, policy, refuse)


class RequestQueue:
    """Questions to the model wait here: it answers one at a time, in a thread of its own.

    The event loop stays free meanwhile; a model uses all cores for one question already.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._limiter: CapacityLimiter | None = None
        self._pending = 0  # questions that the model has not answered yet

    @asynccontextmanager
    async def open(self, _: Starlette) -> AsyncIterator[None]:
        self._limiter = CapacityLimiter(1)
        yield

    async def answer(self, question: Question) -> Answer:
        if self._answers.is_quick(question):
            return self._answers.answer(question)
        if self._pending > MAX_WAITING:
            message = f"{MAX_WAITING} queries are waiting for the model; try again in a second"
            raise ApiError(503, "busy", message)
        self._pending += 1
        try:
            return await to_thread.run_sync(self._answers.answer, question, limiter=self._limiter)
        finally:
            self._pending -= 1

    async def batch_answer(self, kind: Kind, content: msgspec.Raw) -> BatchAnswer | BatchFailure:
        """The answer to one question of a batch, or its error."""
        try:
            answer = await self.answer(read_question(kind, content))
        except ApiError as error:
            return BatchFailure(error.status, error.detail)
        await anyio.sleep(0)  # other requests get their turn during a long batch
        return BatchAnswer(200, answer)


class JsonResponse(Response):
    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return msgspec.json.encode(content)


def refuse(request: Request, error: Exception) -> Response:
    """The answer for an error; the traceback of an unexpected one goes to the log."""
    headers: Mapping[str, str] | None = None
    match error:
        case ApiError():
            status, detail = error.status, error.detail
            headers = {"retry-after": "1"} if status == 503 else None
        case HTTPException():  # of Starlette and of the access checks
            status, message, headers = error.status_code, error.detail, error.headers
            if status == 404:
                message = f"no such path: {request.url.path}; /openapi.json lists all"
            detail = ErrorDetail(ERROR_CODES.get(status, "refused"), message)
        case SynsetmineError():
            status, detail = 500, ErrorDetail("failed", str(error))
        case _:
            status, detail = 500, ErrorDetail("failed", "the server failed; see its log")
    return JsonResponse(Problem(detail), status, headers)


# --- The OpenAPI document ---


def openapi_document() -> Schema:
    """OpenAPI 3.1, whose schemas are JSON Schema."""
    _, schemas = msgspec.json.schema_components(MESSAGES, ref_template=REFERENCE)
    batch = _operation("batch", BATCH_ERRORS)
    batch["requestBody"] = {"required": True, "content": _content("BatchQuestion")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "synsetmine",
            "version": __version__,
            "description": "Synonyms of terms, from mined sets or by a model.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"token": []}, {"cookie": []}],
        "paths": {
            "/v1/health": {"get": _operation("health", {})},
            **{
                f"/v1/{kind}": {
                    "get": _operation(kind, QUESTION_ERRORS)
                    | {"parameters": _parameters(schemas[question.__name__])}
                }
                for kind, question in QUESTIONS.items()
            },
            "/v1/batch": {"post": batch},
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "synsetmine_token_PORT",
                    "description": "The printed address sets it, for the paths below its own.",
                },
            },
        },
    }


def _parameters(question: Schema) -> list[Schema]:
    return [
        {
            "name": name,
            "in": "query",
            "required": name in question["required"],
            "description": schema["description"],
            "schema": {key: value for key, value in schema.items() if key != "description"},
            **({"style": "form", "explode": True} if schema["type"] == "array" else {}),
        }
        for name, schema in question["properties"].items()
    ]


def _operation(name: str, errors: Mapping[int, str]) -> Schema:
    answer = {"description": SUMMARIES[name], "content": _content(name.capitalize())}
    return {
        "operationId": name,
        "summary": SUMMARIES[name],
        "responses": {
            "200": answer,
            **{
                str(status): {"description": description, "content": _content("Problem")}
                for status, description in sorted({**errors, **ACCESS_ERRORS}.items())
            },
        },
    }


def _content(schema: str) -> Schema:
    return {"application/json": {"schema": {"$ref": REFERENCE.format(name=schema)}}}
