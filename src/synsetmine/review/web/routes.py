"""The review page: its addresses and forms."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.review import Conflict, Decision, Kind, StoreReplacedError
from synsetmine.review.web.pages import QueueQuery, Reviewer, read_position, render, work_page
from synsetmine.review.web.server import AccessMiddleware, AccessPolicy, cookie_name
from synsetmine.review.web.session import NotShownError, ReviewSession
from synsetmine.runs import Verdict

Form = ImmutableMultiDict[str, str]
Act = Callable[[ReviewSession, Form, str], QueueQuery]

FIELDS = 10_000  # of a form, at most
# What a button asks for, and the kind of decision that it is.
ACTS: Mapping[str, tuple[Kind, Verdict | None]] = {
    "accept": ("accept", None),
    "reject": ("reject", None),
    "unsure": ("unsure", None),
    "correct": ("judge", "correct"),
    "incorrect": ("judge", "incorrect"),
    "no-name": ("judge", "not-a-name"),
    "doubt": ("judge", "unsure"),
    "remove": ("remove", None),
    "split": ("split", None),
    "merge": ("merge", None),
    "rename": ("rename", None),
}
LAST: frozenset[Kind] = frozenset({"accept", "reject", "unsure"})  # then comes the next set
WITH_TERMS: frozenset[Kind] = frozenset({"judge", "remove", "split", "rename"})


def read_form(body: bytes) -> Form:
    """The fields of a form, each with all its values."""
    try:
        return Form(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS))
    except ValueError as error:
        raise DataError(f"this form cannot be read ({error})") from None


def decide(session: ReviewSession, form: Form, reviewer: str) -> QueueQuery:
    """Record what a button asks for; returns the page to show next.

    `Conflict` if another reviewer was faster, `NotShownError` if the page showed other sets.
    """
    page, set_id, act = QueueQuery.of(form), form.get("set", ""), form.get("act", "")
    if act not in ACTS:
        raise DataError(f"act must be one of {', '.join(ACTS)}", value=act)
    kind, verdict = ACTS[act]
    reviewed = session.state.get(set_id)
    if reviewed is None:
        if gone := [d for d in session.history(set_id) if d.kind != "undo"]:
            raise Conflict(gone[:1])
        raise DataError("there is no such set", value=set_id)
    other = form.get("other", "") if kind == "merge" else ""
    shown = {set_id: form.get("shown", "")}
    if kind == "merge":
        shown[other] = form.get("shown_other", "")
    made = session.decide(
        kind,
        set_id,
        seen=_number(form.get("seen", "")),
        shown=shown,
        reviewer=reviewer,
        terms=form.getlist("term") if kind in WITH_TERMS else (),
        other=other,
        verdict=verdict,
        scope=form.get("scope", "") if kind == "judge" else None,
    )
    if kind not in LAST:
        return replace(page, set=set_id, find="", made=made.id)
    position = page.selection.position(reviewed)
    return replace(page.behind(read_position(page.at) or position), made=made.id)


def accept_all(session: ReviewSession, form: Form, reviewer: str) -> QueueQuery:
    """Accept all sets of the list from a probability on."""
    page, text = QueueQuery.of(form), form.get("least", "")
    least = float(text) if re.fullmatch(r"[01]?\.?\d{1,6}", text) else math.nan
    if not 0 < least <= 1:
        raise DataError("expected a probability above 0 and up to 1", value=text)
    made = session.accept_all(page.selection, least, reviewer=reviewer)
    return replace(page.open_set(""), made=made.id)


def undo(session: ReviewSession, form: Form, reviewer: str) -> QueueQuery:
    """Undo a decision by its id, or the one that the page offers to undo, and show its set."""
    undone = session.undo(
        reviewer,
        form.get("target") or None,
        set_id=form.get("set", ""),
        shown=form.get("last"),
    )
    return QueueQuery.of(form).show_decision(undone)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise DataError("seen must be a number", value=text)
    return int(text)


YEAR = 365 * 24 * 3600
_name_page = partial(render, "reviewer.html")


def reviewing_app(session: ReviewSession, policy: AccessPolicy, *, title: str) -> ASGIApp:
    """The application, behind its access checks."""
    site = _Site(session, title)
    static = resources.files("synsetmine.review.web") / "static"
    app = Starlette(
        routes=[
            Route("/", site.work),
            Route("/reviewer", site.ask_name),
            Route("/reviewer", site.take_name, methods=["POST"]),
            Route("/blind", site.toggle_blind, methods=["POST"]),
            Route("/decide", partial(site.act, act=decide), methods=["POST"]),
            Route("/accept-all", partial(site.act, act=accept_all), methods=["POST"]),
            Route("/undo", partial(site.act, act=undo), methods=["POST"]),
            Route("/palette.css", palette),
            Mount("/static", StaticFiles(directory=str(static))),
        ],
        exception_handlers=dict.fromkeys((HTTPException, SynsetmineError, Exception), _refuse),
        lifespan=site.open,
    )
    return AccessMiddleware(app, policy, _refuse)


class _Site:
    """The handlers of the addresses. One request at a time uses the session."""

    def __init__(self, session: ReviewSession, title: str) -> None:
        self._session = session
        self._title = title
        self._one: CapacityLimiter | None = None

    @asynccontextmanager
    async def open(self, _: Starlette) -> AsyncIterator[None]:
        self._one = CapacityLimiter(1)
        self._session.open()
        try:
            yield
        finally:
            self._session.close()

    async def work(self, request: Request) -> Response:
        reviewer = _reviewer(request)
        if reviewer is None:
            return RedirectResponse(f"{_root(request)}/reviewer", 303)
        query = QueueQuery.of(request.query_params)
        return await self._in_turn(self._work, request, query, reviewer)

    async def ask_name(self, request: Request) -> Response:
        reviewer = _reviewer(request) or Reviewer("")
        return _answer(request, _name_page, title=self._title, typed=reviewer, problem="")

    async def take_name(self, request: Request) -> Response:
        form = await _form(request)
        typed = Reviewer(form.get("name", ""), form.get("orcid", ""))
        try:
            reviewer = Reviewer.of(typed.name, typed.orcid)
        except DataError as error:
            values = {"title": self._title, "typed": typed, "problem": error.problem}
            return _answer(request, _name_page, 400, **values)
        answer = RedirectResponse(f"{_root(request)}/", 303)
        _set_cookie(answer, request, "reviewer", reviewer.cookie)
        return answer

    async def toggle_blind(self, request: Request) -> Response:
        form = await _form(request)
        answer = RedirectResponse(f"{_root(request)}{QueueQuery.of(form).address()}", 303)
        _set_cookie(answer, request, "blind", "1" if form.get("blind") else "")
        return answer

    async def act(self, request: Request, act: Act) -> Response:
        form = await _form(request)
        reviewer = _reviewer(request)
        if reviewer is None:
            return RedirectResponse(f"{_root(request)}/reviewer", 303)
        return await self._in_turn(self._carry_out, request, act, form, reviewer)

    def _carry_out(self, request: Request, act: Act, form: Form, reviewer: Reviewer) -> Response:
        self._session.sync()
        page = partial(self._work, request, QueueQuery.of(form), reviewer)
        try:
            following = act(self._session, form, str(reviewer))
            return RedirectResponse(f"{_root(request)}{following.address()}", 303)
        except Conflict as conflict:
            return page(conflict=conflict.newer[-1], act=form.get("act", ""))
        except NotShownError as error:
            return page(stale=str(error), act=form.get("act", ""))
        except DataError as error:
            return page(problem=str(error))

    def _work(
        self,
        request: Request,
        query: QueueQuery,
        reviewer: Reviewer,
        *,
        conflict: Decision | None = None,
        stale: str = "",
        act: str = "",
        problem: str = "",
    ) -> Response:
        """The page; with what somebody else decided meanwhile, or with what is wrong.

        `stale` says why a decision on an earlier page was refused.
        """
        self._session.sync()
        if conflict is not None and self._session.state.get(query.set) is None:
            query = query.open_set(conflict.set_id)  # it was merged into that one
        page = partial(work_page, self._session, query, reviewer)
        return _answer(
            request,
            page,
            409 if conflict is not None or stale else 400 if problem else 200,
            title=self._title,
            blind=bool(_cookie(request, "blind")),
            conflict=conflict,
            stale=stale,
            act=act,
            problem=problem,
        )

    async def _in_turn(self, work: Callable[..., Response], *arguments: Any) -> Response:
        """Run in a thread, so that the event loop stays free; one after the other."""
        return await to_thread.run_sync(work, *arguments, limiter=self._one)


def palette(_: Request) -> Response:
    """The colours, which the report uses too."""
    return FileResponse(str(resources.files("synsetmine.runs") / "palette.css"))


def _answer(
    request: Request, page: Callable[..., str], status: int = 200, **values: Any
) -> Response:
    """A page with the token that its forms send back, which a cookie holds too."""
    token = _cookie(request, "form") or secrets.token_urlsafe(18)
    root = _root(request)
    answer = HTMLResponse(page(form_token=token, root=root, **values), status)
    if token != _cookie(request, "form"):
        _set_cookie(answer, request, "form", token, path=root or "/")
    return answer


async def _form(request: Request) -> Form:
    """The form of a request, if it came from one of our pages."""
    form = read_form(await request.body())
    token, sent = _cookie(request, "form"), form.get("form_token", "")
    if not token or not secrets.compare_digest(sent.encode(), token.encode()):
        raise HTTPException(403, "this form is not from a page of this server; reload the page")
    return form


def _reviewer(request: Request) -> Reviewer | None:
    return Reviewer.from_cookie(_cookie(request, "reviewer"))


def _cookie(request: Request, what: str) -> str:
    return request.cookies.get(cookie_name(what, request), "")


def _set_cookie(
    answer: Response, request: Request, what: str, value: str, *, path: str = "/"
) -> None:
    """Set a cookie that stays; not a strict one, which the first page after a start would lack.

    A browser that is opened on a file with the address comes from another site.
    """
    name = cookie_name(what, request)
    answer.set_cookie(name, value, max_age=YEAR, path=path, httponly=True, samesite="lax")


def _root(request: Request) -> str:
    """The path above all pages."""
    return str(request.scope.get("root_path", ""))


def _refuse(request: Request, error: Exception) -> Response:
    """The page for an error; the traceback of an unexpected one goes to the log."""
    headers = None
    match error:
        case HTTPException():
            status, message, headers = error.status_code, error.detail, error.headers
        case SynsetmineError():
            status, message = 503 if isinstance(error, StoreReplacedError) else 400, str(error)
        case _:
            status, message = 500, "The server failed; its log says more. Nothing was recorded."
    values = {"root": _root(request), "app": "review", "status": status, "message": message}
    page = render("problem.html", **values)
    return HTMLResponse(page, status, headers)
