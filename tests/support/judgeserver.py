"""A stand-in for an OpenAI-compatible endpoint: groups names by a key, with faults on order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from synsetmine.pipeline.name_questions import NameInContext
from synsetmine.pipeline.settings import JudgeSettings
from tests.support.faultyserver import Fault, FaultyHandler
from tests.support.localserver import LocalServer

OK = Fault()


@dataclass(frozen=True)
class Request:
    """A request as the server saw it."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The numbered names of the question."""
        entries: list[dict[str, Any]] = json.loads(self.body["messages"][1]["content"])["names"]
        return entries

    @property
    def names(self) -> list[str]:
        return [entry["name"] for entry in self.entries]


class JudgeServer(LocalServer):
    """Names with the same key, by default the same last word, belong together."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.seen: list[Request] = []
        self.key_of: Callable[[str], str] = lambda name: name.split()[-1]
        self.content: str | None = None  # every answer from now on
        self.usage: object = {"prompt_tokens": 100, "completion_tokens": 10}
        self._once: list[Fault] = []

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def fail(self, *faults: Fault) -> None:
        """The next answers, one fault each; OK is none."""
        self._once.extend(faults)

    def next_fault(self) -> Fault:
        return self._once.pop(0) if self._once else OK

    def answer(self, asked: Request) -> bytes:
        sets: dict[str, list[int]] = {}
        for entry in asked.entries:
            sets.setdefault(self.key_of(entry["name"]), []).append(entry["number"])
        content = (
            json.dumps({"sets": list(sets.values())}) if self.content is None else self.content
        )
        return completion(content, usage=self.usage)


def completion(content: object, **others: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}}], **others}).encode()


def settings_of(server: JudgeServer, cache: object, **changed: Any) -> JudgeSettings:
    """An impatient judge."""
    values: dict[str, Any] = {"url": server.url, "cache": str(cache)}
    values |= {"retries": 0, "backoff": 0.001, "timeout": 5}
    return JudgeSettings(**values | changed)


def question(*names: str) -> list[NameInContext]:
    return [NameInContext(name) for name in names]


class _Handler(FaultyHandler):
    server: JudgeServer

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it so
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Request(self.path, body, dict(self.headers))
        self.server.seen.append(asked)
        with suppress(ConnectionError):
            self.reply(self.server.answer(asked), self.server.next_fault())
