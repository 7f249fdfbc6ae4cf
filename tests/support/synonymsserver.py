"""Elasticsearch's synonyms API on loopback: checks rules, credentials and pages as it does."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.faultyserver import Fault, FaultyHandler
from tests.support.localserver import LocalServer

LIMIT = 10_000


@dataclass(frozen=True)
class Request:
    """A request as the server saw it."""

    method: str
    path: str
    query: dict[str, str]
    authorization: str
    body: Any = None


@dataclass(frozen=True)
class ProblemError(Exception):
    """An error as Elasticsearch words it."""

    status: int
    kind: str
    reason: str


@dataclass
class Access:
    """Who may come in; nobody is asked by default."""

    key: str = ""
    person: tuple[str, str] | None = None
    headers: set[str] = field(default_factory=set)

    def admits(self, header: str) -> bool:
        allowed = {f"ApiKey {self.key}"} if self.key else set()
        if self.person:
            plain = ":".join(self.person).encode()
            allowed.add(f"Basic {base64.b64encode(plain).decode()}")
        return not allowed or header in allowed


class SynonymsServer(LocalServer):
    """Holds sets of rules; `faults` are given to the requests of a method and a set."""

    def __init__(self, *sets: tuple[str, dict[str, str]]) -> None:
        super().__init__(_Handler)
        self.sets = dict(sets)
        self.seen: list[Request] = []
        self.access = Access()
        self.faults: dict[tuple[str, str], Fault] = {}
        self.failed_shards = 0

    def answer(self, request: Request) -> Any:
        if not self.access.admits(request.authorization):
            raise ProblemError(401, "security_exception", "missing authentication credentials")
        match = re.fullmatch(r"/_synonyms/([^/]+)", request.path)
        if match is None:
            raise ProblemError(400, "illegal_argument_exception", f"no such path {request.path}")
        name = unquote(match[1])
        return (
            self._put(name, request.body) if request.method == "PUT" else self._get(name, request)
        )

    def _get(self, name: str, request: Request) -> Any:
        start, size = int(request.query.get("from", 0)), int(request.query.get("size", 10))
        if start < 0 or size < 0 or size > LIMIT or start + size > LIMIT:
            raise ProblemError(400, "illegal_argument_exception", "Result window is too large")
        if name not in self.sets:
            raise ProblemError(
                404, "resource_not_found_exception", f"synonyms set [{name}] not found"
            )
        rules = sorted(self.sets[name].items())
        page = [{"id": id_, "synonyms": rule} for id_, rule in rules[start : start + size]]
        return {"count": len(rules), "synonyms_set": page}

    def _put(self, name: str, body: Any) -> Any:
        rules = body["synonyms_set"]
        if len(rules) > LIMIT:
            reason = f"The number of synonyms rules in a synonym set cannot exceed {LIMIT}"
            raise ProblemError(400, "illegal_argument_exception", reason)
        for rule in rules:
            _check(rule["synonyms"])
        result = "updated" if name in self.sets else "created"
        self.sets[name] = {rule["id"]: rule["synonyms"] for rule in rules}
        shards = {"total": 4, "successful": 4 - self.failed_shards, "failed": self.failed_shards}
        return {"result": result, "reload_analyzers_details": {"_shards": shards}}


def _check(rule: str) -> None:
    sides = re.split(r"(?<!\\)=>", rule)
    if len(sides) > 2:
        reason = "More than one explicit mapping specified in the same synonyms rule"
        raise ProblemError(400, "action_request_validation_exception", reason)
    for side in sides:
        if not all(term.strip() for term in re.split(r"(?<!\\),", side)):
            raise ProblemError(
                400, "action_request_validation_exception", f"empty terms in [{rule}]"
            )


class _Handler(FaultyHandler):
    server: SynonymsServer

    def do_GET(self) -> None:  # noqa: N802
        self._serve("GET")

    def do_PUT(self) -> None:  # noqa: N802
        self._serve("PUT")

    def _serve(self, method: str) -> None:
        parts = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(
            method,
            parts.path,
            {name: values[0] for name, values in parse_qs(parts.query).items()},
            self.headers.get("Authorization", ""),
            json.loads(content) if content else None,
        )
        self.server.seen.append(request)
        fault = self.server.faults.get((method, parts.path.rpartition("/")[2]), Fault())
        try:
            body = {} if fault != Fault() else self.server.answer(request)
        except ProblemError as problem:
            fault = Fault(status=problem.status)
            error = {"type": problem.kind, "reason": problem.reason}
            body = {"error": error, "status": problem.status}
        self.reply(json.dumps(body).encode(), fault)
