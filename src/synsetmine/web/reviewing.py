"""The review page: an application whose every answer is a whole page.

Forms are sent as forms, and answered by leading on to the next page; a small script does the same
without a reload. So all works with and without it, and there is one way in.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.review import Conflict, Decision, StoreReplacedError
from synsetmine.reviewers import Reviewer
from synsetmine.web import forms
from synsetmine.web.asked import Asked
from synsetmine.web.forms import Form
from synsetmine.web.guard import Door, Guard, cookie_name
from synsetmine.web.pages import render, work_page
from synsetmine.web.workbench import NotShownError, Workbench

YEAR = 365 * 24 * 3600
_name_page = partial(render, "reviewer.html")

Act = Callable[[Workbench, Form, str], Asked]


def reviewing_app(bench: Workbench, door: Door, *, title: str) -> ASGIApp:
    """The application, behind its door."""
    site = _Site(bench, title)
    static = resources.files("synsetmine.web") / "static"
    app = Starlette(
        routes=[
            Route("/", site.work),
            Route("/reviewer", site.ask_name),
            Route("/reviewer", site.take_name, methods=["POST"]),
            Route("/blind", site.take_blind, methods=["POST"]),
            Route("/decide", site.decide, methods=["POST"]),
            Route("/undo", site.undo, methods=["POST"]),
            Route("/palette.css", _palette),
            Mount("/static", StaticFiles(directory=str(static))),
        ],
        exception_handlers={HTTPException: _refuse, SynsetmineError: _refuse, Exception: _fail},
        lifespan=site.open,
    )
    return Guard(app, door, _refuse)


class _Site:
    """What is behind each address. One request at a time works at the bench."""

    def __init__(self, bench: Workbench, title: str) -> None:
        self._bench = bench
        self._title = title
        self._one: CapacityLimiter | None = None

    @asynccontextmanager
    async def open(self, _: Starlette) -> AsyncIterator[None]:
        self._one = CapacityLimiter(1)
        self._bench.open()
        try:
            yield
        finally:
            self._bench.close()

    async def work(self, request: Request) -> Response:
        reviewer = _reviewer(request)
        if reviewer is None:
            return RedirectResponse(f"{_root(request)}/reviewer", 303)
        asked = Asked.of(request.query_params)
        return await self._in_turn(self._work, request, asked, reviewer)

    async def decide(self, request: Request) -> Response:
        return await self._act(request, forms.decide)

    async def undo(self, request: Request) -> Response:
        return await self._act(request, forms.undo)

    async def ask_name(self, request: Request) -> Response:
        reviewer = _reviewer(request) or Reviewer("")
        return _answer(request, _name_page, title=self._title, typed=reviewer, problem="")

    async def take_name(self, request: Request) -> Response:
        form = await _form(request)
        try:
            reviewer = Reviewer.of(form["name"], form["orcid"])
        except DataError as error:
            typed = Reviewer(form["name"], form["orcid"])
            values = {"title": self._title, "typed": typed, "problem": error.problem}
            return _answer(request, _name_page, 400, **values)
        answer = RedirectResponse(f"{_root(request)}/", 303)
        _set_cookie(answer, request, "reviewer", reviewer.cookie)
        return answer

    async def take_blind(self, request: Request) -> Response:
        form = await _form(request)
        answer = RedirectResponse(f"{_root(request)}{form.asked.address()}", 303)
        _set_cookie(answer, request, "blind", "1" if form["blind"] else "")
        return answer

    async def _act(self, request: Request, act: Act) -> Response:
        form = await _form(request)
        reviewer = _reviewer(request)
        if reviewer is None:
            return RedirectResponse(f"{_root(request)}/reviewer", 303)
        return await self._in_turn(self._carry_out, request, act, form, reviewer)

    def _carry_out(self, request: Request, act: Act, form: Form, reviewer: Reviewer) -> Response:
        self._bench.sync()
        try:
            following = act(self._bench, form, str(reviewer))
            return RedirectResponse(f"{_root(request)}{following.address()}", 303)
        except Conflict as conflict:
            other, own = conflict.newer[-1], form["act"]
            return self._work(request, form.asked, reviewer, conflict=other, wanted=own)
        except NotShownError as error:
            own = form["act"]
            return self._work(request, form.asked, reviewer, stale=str(error), wanted=own)
        except DataError as error:
            return self._work(request, form.asked, reviewer, problem=str(error))

    def _work(
        self,
        request: Request,
        asked: Asked,
        reviewer: Reviewer,
        *,
        conflict: Decision | None = None,
        stale: str = "",
        wanted: str = "",
        problem: str = "",
    ) -> Response:
        """The page; with what somebody else decided meanwhile, or with what is wrong.

        `stale` says why a decision on an earlier page was refused.
        """
        self._bench.sync()
        if conflict is not None and self._bench.get(asked.set) is None:
            asked = asked.opened(conflict.set_id)  # it was merged into that one
        page = partial(work_page, self._bench, asked, reviewer)
        return _answer(
            request,
            page,
            409 if conflict is not None or stale else 400 if problem else 200,
            title=self._title,
            blind=bool(_cookie(request, "blind")),
            conflict=conflict,
            stale=stale,
            wanted=wanted,
            problem=problem,
        )

    async def _in_turn(self, work: Callable[..., Response], *given: Any) -> Response:
        """In a thread, so that the server goes on meanwhile, and one after the other."""
        return await to_thread.run_sync(work, *given, limiter=self._one)


def _palette(_: Request) -> Response:
    """The colours, which the report has too."""
    return FileResponse(str(resources.files("synsetmine.report") / "palette.css"))


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
    form = Form.read(await request.body())
    token = _cookie(request, "form")
    if not token or not secrets.compare_digest(form["form_token"].encode(), token.encode()):
        raise HTTPException(403, "this form is not from a page of this server; open it anew")
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
    headers = None
    if isinstance(error, HTTPException):
        status, said, headers = error.status_code, error.detail, error.headers
    else:
        status, said = 503 if isinstance(error, StoreReplacedError) else 400, str(error)
    page = render("problem.html", root=_root(request), status=status, said=said)
    return HTMLResponse(page, status, headers)


def _fail(request: Request, error: Exception) -> Response:
    """What should not happen; the traceback goes to the log."""
    del error
    said = "The server failed; its log says more. Nothing was recorded."
    return HTMLResponse(render("problem.html", root=_root(request), status=500, said=said), 500)
