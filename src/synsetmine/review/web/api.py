"""The HTTP API over its answers, its OpenAPI description, and the pages for people."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from synsetmine import __version__
from synsetmine.errors import SynsetmineError
from synsetmine.kb import page_of
from synsetmine.normalization import normal_form
from synsetmine.review.web.answers import Answers, FoundSet, MinedAnswers
from synsetmine.review.web.pages import TermRow, render
from synsetmine.review.web.routes import palette
from synsetmine.review.web.schemas import (
    MESSAGES,
    QUESTIONS,
    REFERENCE,
    Alive,
    Answer,
    ApiError,
    Batch,
    BatchAnswer,
    BatchFailure,
    ErrorDetail,
    ExpandQuestion,
    Kind,
    Problem,
    Question,
    Readiness,
    TermSource,
    read_batch,
    read_query,
    read_question,
)
from synsetmine.review.web.server import AccessMiddleware, AccessPolicy
from synsetmine.review.web.session import NEAREST, Neighbours, sentence_finder
from synsetmine.runs import MinedSet, MinedTerm
from synsetmine.runs.folder import Artefacts
from synsetmine.types import Term

Schema = dict[str, Any]

SUMMARIES: Mapping[str, str] = {
    "health": "The status of the server",
    "expand": "The synonyms of a term",
    "rank": "The terms with the highest probability for a set",
    "score": "The probability that each term belongs to a set",
    "batch": "Several queries in one request",
    "alive": "Whether the server runs; needs no token",
    "readiness": "Whether the server answers queries, and what it still reads; needs no token",
}
QUESTION_ERRORS = {
    400: "A field is missing, unknown or has a wrong value",
    404: "An unknown term; `near` lists terms with a similar spelling",
    409: "A text matches several terms; `near` lists them",
    501: "The server has mined sets but no model",
    503: "The server still loads, or too many queries wait for the model",
}
LOADING = {503: "The server still loads"}
BATCH_ERRORS = {
    **LOADING,
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
    413: "too_large",
}
PROBES = ("/healthz", "/readyz")  # tell nothing of the data, and need no token
MAX_WAITING = 64  # questions for the model; further ones get status 503


# --- The application ---


class ServerState:
    """What a server answers from, once it is loaded; until then, what is being read."""

    def __init__(self, answers: Answers | None = None, page: SearchPage | None = None) -> None:
        self._answers = answers
        self._page = page or (None if answers is None else SearchPage(answers))
        self._state = Readiness("ready" if answers else "loading", None, 0, 0)

    def report_progress(self, what: str, done: int, total: int) -> None:
        self._state = Readiness("loading", what, done, total)

    def ready(self, answers: Answers, page: SearchPage) -> None:
        """From now on queries are answered."""
        self._answers, self._page = answers, page
        self._state = Readiness("ready", None, self._state.total, self._state.total)

    @property
    def readiness(self) -> Readiness:
        return self._state

    @property
    def answers(self) -> Answers:
        if self._answers is None:
            raise self._loading_error()
        return self._answers

    @property
    def page(self) -> SearchPage:
        if self._page is None:
            raise self._loading_error()
        return self._page

    def _loading_error(self) -> ApiError:
        what = self._state.loading or "its files"
        return ApiError(503, "loading", f"the server still reads {what}; try again in a second")


def serving_app(service: ServerState, policy: AccessPolicy) -> ASGIApp:
    """The application, behind its access checks."""
    requests = RequestQueue(service)
    document = openapi_document()
    static = resources.files("synsetmine.review.web") / "static"

    async def search(request: Request) -> Response:
        root, query = request.scope.get("root_path", ""), request.query_params.get("q", "")
        return HTMLResponse(await requests.page(query, root))

    async def docs(request: Request) -> Response:
        return HTMLResponse(docs_page(document, request.scope.get("root_path", "")))

    async def openapi(_: Request) -> Response:
        return JsonResponse(document)

    async def health(_: Request) -> Response:
        return JsonResponse(service.answers.health)

    async def alive(_: Request) -> Response:
        return JsonResponse(Alive("ok"))

    async def ready(_: Request) -> Response:
        state = service.readiness
        return JsonResponse(state, 200 if state.status == "ready" else 503)

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
            *map(single, QUESTIONS),  # the most frequent ones first
            Route("/", search),
            Route("/docs", docs),
            Route("/palette.css", palette),
            Mount("/static", StaticFiles(directory=str(static))),
            Route("/openapi.json", openapi),
            *(Route(path, handler) for path, handler in zip(PROBES, (alive, ready), strict=True)),
            Route("/v1/health", health),
            Route("/v1/batch", batch, methods=["POST"]),
        ],
        exception_handlers=dict.fromkeys((ApiError, HTTPException, Exception), refuse),
        lifespan=requests.open,
    )
    return AccessMiddleware(app, policy, refuse, public=frozenset(PROBES))


class RequestQueue:
    """Questions to the model wait here: it answers one at a time, in a thread of its own.

    The event loop stays free meanwhile; a model uses all cores for one question already.
    """

    def __init__(self, service: ServerState) -> None:
        self._service = service
        self._limiter: CapacityLimiter | None = None
        self._pages: CapacityLimiter | None = None
        self._pending = 0  # questions that the model has not answered yet

    @asynccontextmanager
    async def open(self, _: Starlette) -> AsyncIterator[None]:
        self._limiter, self._pages = CapacityLimiter(1), CapacityLimiter(1)
        yield

    async def answer(self, question: Question) -> Answer:
        answers = self._service.answers
        if answers.is_quick(question):
            return answers.answer(question)
        if self._pending > MAX_WAITING:
            message = f"{MAX_WAITING} queries are waiting for the model; try again in a second"
            raise ApiError(503, "busy", message)
        self._pending += 1
        try:
            return await to_thread.run_sync(answers.answer, question, limiter=self._limiter)
        finally:
            self._pending -= 1

    async def page(self, query: str, root: str) -> str:
        """The page of a search, which may need the model too."""
        limiter = self._limiter if self._service.answers.mined is None else self._pages
        return await to_thread.run_sync(self._service.page.render, query, root, limiter=limiter)

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
    """The answer for an error; the traceback of an unexpected one goes to the log.

    A browser that opens an address gets a page.
    """
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
    if "text/html" not in request.headers.get("accept", ""):
        return JsonResponse(Problem(detail), status, headers)
    root = request.scope.get("root_path", "")
    page = render("problem.html", root=root, app="search", status=status, message=detail.message)
    return HTMLResponse(page, status, headers)


# --- The OpenAPI document ---


def openapi_document() -> Schema:
    """OpenAPI 3.1, whose schemas are JSON Schema."""
    _, schemas = msgspec.json.schema_components(MESSAGES, ref_template=REFERENCE)
    batch = _operation("batch", BATCH_ERRORS)
    ready = _operation("readiness", {})
    ready["responses"]["503"] = {**ready["responses"]["200"], "description": LOADING[503]}
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
            "/healthz": {"get": _operation("alive", {})},
            "/readyz": {"get": ready},
            "/v1/health": {"get": _operation("health", LOADING)},
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


RANKED = 20  # terms of a model without a run
QUOTED = 50  # names of a set, the most frequent, that come with sentences
LONGEST = 500  # characters of a search, as in a query


class SearchPage:
    """A term's set, names, entity, near terms and sentences."""

    def __init__(self, answers: Answers, run: Path | None = None, *, title: str = "") -> None:
        self._answers = answers
        self._title = title
        self._at = None if run is None else Artefacts(run)
        self._sentences_of = sentence_finder(self._at)
        self._neighbours: Neighbours | None = None
        if answers.mined is not None and self._at is not None:
            keys = [str(term.term) for one in answers.mined.sets.values() for term in one.terms]
            self._neighbours = Neighbours(keys, self._at.vectors)
            self._neighbours.start()

    def render(self, query: str, root: str) -> str:
        """The page for what a person typed; the empty page for nothing."""
        text = query.strip()[:LONGEST]
        context: dict[str, Any] = {"result": None, "ranked": None, "problem": None}
        try:
            if text:
                context |= self._lookup(text)
        except ApiError as problem:
            context["problem"] = problem.detail
        return render("search.html", root=root, title=self._title, query=text, **context)

    def _lookup(self, text: str) -> dict[str, Any]:
        mined = self._answers.mined
        if mined is None:
            return {"ranked": self._answers.answer(ExpandQuestion(text, top=RANKED))}
        result = mined.find(text)
        shown = [term for term in (result.own, *result.synonyms) if term is not None]
        frequent = sorted(shown, key=lambda term: -term.count)[:QUOTED]
        sentences = self._sentences_of(tuple(term.text for term in frequent if term.count))
        entity = result.mined.entity or ""
        return {
            "result": result,
            "called": str(result.term),
            "from_knowledge": result.source is TermSource.knowledge,
            "rows": [
                TermRow(
                    str(term.term), term, term.quotes(sentences.get(normal_form(term.text), ()))
                )
                for term in shown
            ],
            "definition": mined.kb.definition(entity),
            "page": page_of(entity),
            "nearest": list(islice(self._nearest(mined, result), NEAREST)),
        }

    def _nearest(
        self, mined: MinedAnswers, result: FoundSet
    ) -> Iterator[tuple[MinedTerm, MinedSet]]:
        """Terms of other sets that share words or contexts, one of each set."""
        seen = {result.mined.id}
        keys = [str(term.term) for term in result.mined.terms]
        for key in self._neighbours.near(keys) if self._neighbours is not None else ():
            term = Term.parse(key)
            home = mined.home(term)
            if home is not None and home not in seen:
                seen.add(home)
                other = mined.sets[home]
                yield next(one for one in other.terms if one.term == term), other


def docs_page(document: Schema, root: str) -> str:
    """The operations of an OpenAPI document, each with a form to try it."""
    operations = [
        {"parameters": [], "requestBody": None, "method": method, "path": path, **operation}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return render("docs.html", root=root, operations=operations, info=document["info"])
