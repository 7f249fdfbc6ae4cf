"""The HTTP API: its answers, and its OpenAPI description."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from anyio import CapacityLimiter, to_thread
from msgspec import UNSET
from rapidfuzz import fuzz, process
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from synsetmine import __version__
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.normalization import normal_form
from synsetmine.review import ReviewState
from synsetmine.review.feedback import find_decisions
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
    Evidence,
    Expand,
    ExpandQuestion,
    Health,
    Kind,
    ModelSize,
    Problem,
    Question,
    Rank,
    RankQuestion,
    Score,
    ScoredTerm,
    ScoreQuestion,
    SetCounts,
    SetOfRun,
    Synonym,
    read_batch,
    read_query,
    read_question,
)
from synsetmine.review.web.server import AccessMiddleware, AccessPolicy
from synsetmine.runs import MinedSet, MinedTerm, read_results
from synsetmine.runs.folder import Artefacts
from synsetmine.types import Term

if TYPE_CHECKING:
    from synsetmine.models import PreparedModel

MAX_NEAR = 5
MIN_SIMILARITY = 75  # of 100


class TermIndex:
    """Finds terms by their exact text, their surface, or their normal form."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._terms = dict.fromkeys(terms)
        self._by_surface: dict[str, list[Term]] = {}
        self._by_form: dict[str, list[Term]] = {}
        for term in self._terms:
            self._by_surface.setdefault(term.surface, []).append(term)
            self._by_form.setdefault(normal_form(term.surface), []).append(term)

    def __contains__(self, term: object) -> bool:
        return term in self._terms

    def find(self, text: str) -> Term:
        """The only term that a text can mean; an `ApiError` if there are none or several."""
        try:
            term = Term.parse(text)
        except DataError as error:
            raise ApiError(400, "wrong_value", str(error), term=text) from None
        if term in self._terms:
            return term
        matches: list[Term] = []
        if not term.sense:
            matches = self._by_surface.get(text) or self._by_form.get(normal_form(text)) or []
        if len(matches) == 1:
            return matches[0]
        if matches:
            near = sorted(map(str, matches))[:MAX_NEAR]
            message = f"{text!r} matches {len(matches)} terms: {', '.join(near)}"
            raise ApiError(409, "ambiguous_term", message, term=text, near=near)
        near = self._near(text)
        hint = f"; similar: {', '.join(near)}" if near else ""
        message = f"unknown term {text!r}{hint}"
        raise ApiError(404, "unknown_term", message, term=text, near=near)

    def _near(self, text: str) -> list[str]:
        """Terms with a similar spelling."""
        similar = process.extract(
            normal_form(text),
            list(self._by_form),
            scorer=fuzz.ratio,
            limit=MAX_NEAR,
            score_cutoff=MIN_SIMILARITY,
        )
        return [str(self._by_form[match][0]) for match, _, _ in similar]


@dataclass(frozen=True)
class Answers:
    """Answers questions from mined sets, a model with its terms, or both."""

    mined: MinedAnswers | None = None
    model: ModelAnswers | None = None

    @property
    def health(self) -> Health:
        return Health(
            status="ok",
            version=__version__,
            mined=None if self.mined is None else self.mined.size,
            model=None if self.model is None else self.model.size,
        )

    def is_quick(self, question: Question) -> bool:
        """Whether the mined sets hold the answer; the model needs some time."""
        return isinstance(question, ExpandQuestion) and self.mined is not None

    def answer(self, question: Question) -> Answer:
        """The answer, or an `ApiError`."""
        if isinstance(question, ExpandQuestion) and self.mined is not None:
            return self.mined.expand(question)
        if self.model is None:
            message = "this server has no model: it answers from mined sets only"
            raise ApiError(501, "no_model", message)
        match question:
            case ExpandQuestion():
                return self.model.expand(question)
            case RankQuestion():
                return self.model.rank(question)
            case ScoreQuestion():
                return self.model.score(question)


class MinedAnswers:
    """Synonyms are the other terms of the same set, except those that reviewers rejected."""

    def __init__(self, sets: Sequence[MinedSet], rejected: Container[str] = ()) -> None:
        self._count = len(sets)
        self._rejected = rejected
        self._members = {term.term: (mined, term) for mined in sets for term in mined.terms}
        self._index = TermIndex(self._members)

    @classmethod
    def of_run(cls, run: Path) -> MinedAnswers:
        """The sets of a run after its reviews."""
        decisions = find_decisions(run) if Artefacts(run).reviews.exists() else ()
        sets = ReviewState(read_results(run), decisions).sets
        rejected = frozenset(reviewed.id for reviewed in sets if reviewed.status == "rejected")
        return cls([reviewed.mined for reviewed in sets], rejected)

    @property
    def size(self) -> SetCounts:
        return SetCounts(self._count, len(self._members))

    def expand(self, question: ExpandQuestion) -> Expand:
        mined, own = self._members[self._index.find(question.term)]
        least = 0.0 if question.least is UNSET else question.least
        synonyms: list[MinedTerm] = []
        if mined.id not in self._rejected and not own.is_wrong:
            synonyms = [
                term
                for term in mined.terms
                if term is not own and not term.is_wrong and term.certainty >= least
            ]
        synonyms.sort(key=lambda term: (-term.certainty, -term.count, term.text))
        return Expand(
            term=str(own.term),
            set=SetOfRun(mined.id, mined.entity, mined.name or None),
            synonyms=list(map(_synonym, synonyms[: question.top])),
        )


class ModelAnswers:
    """Answers with the probabilities of a model, and its threshold."""

    def __init__(self, model: PreparedModel, threshold: float) -> None:
        self._model = model
        self._threshold = threshold
        self._index = TermIndex(model.terms)

    def __contains__(self, term: object) -> bool:
        return term in self._index

    @property
    def size(self) -> ModelSize:
        return ModelSize(len(self._model.terms), self._threshold)

    def expand(self, question: ExpandQuestion) -> Expand:
        """The terms that fit a set of this one alone."""
        term = self._index.find(question.term)
        least = self._threshold if question.least is UNSET else question.least
        ranked = self._model.rank([term], top=question.top)
        synonyms = [Synonym(str(other), score) for other, score in ranked if score >= least]
        return Expand(str(term), None, synonyms)

    def rank(self, question: RankQuestion) -> Rank:
        members = list(map(self._index.find, question.set))
        return Rank(
            list(map(str, members)), _scored_terms(self._model.rank(members, top=question.top))
        )

    def score(self, question: ScoreQuestion) -> Score:
        members = list(map(self._index.find, question.set))
        terms = list(map(self._index.find, question.terms))
        scores = self._model.probabilities(members, terms)
        return Score(
            list(map(str, members)), _scored_terms(zip(terms, scores, strict=True)), self._threshold
        )


def _synonym(term: MinedTerm) -> Synonym:
    """A term of a mined set; kind, relation and evidence if the trace of the run has them."""
    evidence = [Evidence(quote.relation, quote.document, quote.text) for quote in term.evidence]
    return Synonym(
        term=str(term.term),
        probability=term.probability,
        count=term.count,
        known=term.known,
        kind=term.kind or UNSET,
        relation=term.relation or UNSET,
        nearest=term.nearest or UNSET,
        evidence=evidence or UNSET,
    )


def _scored_terms(ranked: Iterable[tuple[Term, float]]) -> list[ScoredTerm]:
    return [ScoredTerm(str(term), probability) for term, probability in ranked]


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
