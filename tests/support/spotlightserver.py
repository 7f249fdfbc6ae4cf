"""A small stand-in for DBpedia Spotlight: finds names as plain strings, with faults on order."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Barrier, BrokenBarrierError, Lock
from urllib.parse import parse_qs

from tests.support.faultyserver import Fault, FaultyHandler
from tests.support.localserver import LocalServer

NAMES = {
    "Berlin": "http://dbpedia.org/resource/Berlin",
    "New York": "http://dbpedia.org/resource/New_York_City",
    "Alzheimer's disease": "http://dbpedia.org/resource/Alzheimer%27s_disease",
    "Truffaut": "http://dbpedia.org/resource/Fran%C3%A7ois_Truffaut",
    "1990": "http://dbpedia.org/resource/1990",
}


@dataclass(frozen=True)
class Seen:
    """A request as the server saw it."""

    time: float  # by the monotonic clock
    path: str
    form: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def text(self) -> str:
        return self.form["text"]


class SpotlightServer(LocalServer):
    def __init__(self) -> None:
        super().__init__(_Handler)
        self.seen: list[Seen] = []
        self.most_at_once = 0
        self.meeting: Barrier | None = None  # requests wait until so many are there together
        self._at_once = 0
        self._lock = Lock()
        self._once: list[Fault] = []
        self._always: dict[str, Fault] = {}

    @property
    def url(self) -> str:
        return f"{self.root}/rest"

    @property
    def texts(self) -> list[str]:
        return [seen.text for seen in self.seen]

    def fail(self, *faults: Fault) -> None:
        """The next answers, one fault each."""
        self._once.extend(faults)

    def always_fail(self, word: str, fault: Fault | None) -> None:
        """Every answer about a text with this word from now on; None mends it."""
        if fault is None:
            del self._always[word]
        else:
            self._always[word] = fault

    def next_fault(self, text: str) -> Fault:
        with self._lock:
            if self._once:
                return self._once.pop(0)
        return next((fault for word, fault in self._always.items() if word in text), Fault())

    @contextmanager
    def count_request(self) -> Iterator[None]:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.meeting:
                with suppress(BrokenBarrierError):
                    self.meeting.wait(10)
            yield
        finally:
            with self._lock:
                self._at_once -= 1


def answer(text: str, names: Mapping[str, str] = NAMES) -> dict[str, object]:
    """What Spotlight says about a text: all values are strings, offsets are those of Java."""
    text = text.replace("’", "'")
    found = [
        resource(uri, name, len(text[: match.start()].encode("utf-16-le")) // 2)
        for name, uri in names.items()
        for match in re.finditer(re.escape(name), text)
    ]
    head: dict[str, object] = {"@text": text, "@confidence": "0.5", "@support": "0"}
    head |= {"@types": "", "@sparql": "", "@policy": "whitelist"}
    return head | ({"Resources": found} if found else {})


def resource(uri: object, surface: object, offset: object) -> dict[str, object]:
    return {
        "@URI": uri,
        "@support": "12345",
        "@types": "Wikidata:Q515,DBpedia:City",
        "@surfaceForm": surface,
        "@offset": str(offset) if isinstance(offset, int) else offset,
        "@similarityScore": "0.9999",
        "@percentageOfSecondRank": "2.384E-4",
    }


class _Handler(FaultyHandler):
    server: SpotlightServer

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it so
        with self.server.count_request():
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode("ascii")
            form = {name: values[0] for name, values in parse_qs(sent).items()}
            seen = Seen(time.monotonic(), self.path, form, dict(self.headers))
            self.server.seen.append(seen)
            fault = self.server.next_fault(form.get("text", ""))
        # A client that has heard enough hangs up; that is for its test to judge.
        with suppress(ConnectionError):
            self._answer(seen, fault)

    def _answer(self, seen: Seen, fault: Fault) -> None:
        if fault != Fault():
            self.reply(json.dumps(answer(seen.text)).encode(), fault)
        elif seen.path != "/rest/annotate":
            self.reply(b"nothing here", Fault(status=404))
        elif not seen.form.get("text", "").strip():
            refusal = b"org.dbpedia.spotlight.exceptions.InputException: No text"
            self.reply(refusal, Fault(status=400))
        else:
            self.reply(json.dumps(answer(seen.text)).encode(), fault)
