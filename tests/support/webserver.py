"""Small runs on disk, and a real server on loopback in front of them."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx
import numpy as np
from starlette.types import ASGIApp

from synsetmine.corpus.documents import write_documents
from synsetmine.io.sets import Decision, write_sets, write_trace
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.review.web.server import address_of, listen, make_server
from synsetmine.runs.folder import FORMAT, MANIFEST, Artefacts
from synsetmine.text.vocabulary import term_forms
from synsetmine.types import Document, SynonymSets, Term
from synsetmine.views import TermVectors, write_vectors
from tests.support.corpusfiles import store_places

# By set: its terms, each with the probability with which it joined; None: it was there before.
Sets = Mapping[str, Mapping[str, float | None]]

MEDICAL: Sets = {
    "D009203": {
        "myocardial infarction": None,
        "heart attack": None,
        "heart attacks": 0.93,
        "cardiac arrest": 0.51,
    },
    "D006333": {"heart failure": None, "cardiac failure": None, "chf": 0.88},
    "D006973": {"hypertension": None, "high blood pressure": 0.97},
    "s1": {"aspirin": None, "acetylsalicylic acid": 0.72},
    "s2": {"salbutamol": None, "albuterol": 0.66},
    "s3": {"fever": None},
}
NAMES = {"D009203": "Myocardial Infarction", "D006333": "Heart Failure", "D006973": "Hypertension"}


def write_run(
    folder: Path,
    sets: Sets = MEDICAL,
    names: Mapping[str, str] = NAMES,
    texts: Sequence[str] = (),
) -> Path:
    """A run that has mined these sets; its knowledge base has the terms without a probability."""
    folder.mkdir(parents=True, exist_ok=True)
    at = Artefacts(folder)
    members = {set_id: [Term.parse(text) for text in terms] for set_id, terms in sets.items()}
    write_sets(at.mined, SynonymSets.of(members.values(), members.keys()))
    KnowledgeBase.of(
        Entity(entity, name, tuple(text for text, p in sets[entity].items() if p is None))
        for entity, name in names.items()
    ).save(at.knowledge)
    joined = [
        Decision(
            Term.parse(text), set_id, 0.1 if p is None else p, "opened" if p is None else "joined"
        )
        for set_id, terms in sets.items()
        for text, p in terms.items()
        if set_id not in names or p is not None
    ]
    write_trace(at.trace, joined)
    counts = [(term, 3 + len(term.surface)) for terms in members.values() for term in terms]
    for path in (at.vocabulary, at.names):
        path.write_text("".join(f"{term}\t{count}\n" for term, count in counts), "utf-8")
    shown = texts or [f"A patient with {t.surface} came in." for m in members.values() for t in m]
    write_documents(at.documents, (Document(f"d{n}", text) for n, text in enumerate(shown)))
    store_places(at.documents, at.places, term_forms(term for term, _ in counts))
    done = {"outputs": {}, "counts": {}, "inputs": [], "settings": {}, "seconds": 0}
    manifest = {"format": FORMAT, "stages": {"read": done, "mine": done}}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return folder


def write_near_vectors(run: Path, near: Sequence[Sequence[str]]) -> None:
    """Vectors for a run: terms of one group lie together."""
    chance = np.random.default_rng(0)
    terms, rows = [], []
    for group in near:
        centre = chance.normal(size=8)
        terms += [Term.parse(text) for text in group]
        rows += [centre + 0.05 * chance.normal(size=8) for _ in group]
    matrix = np.array(rows, np.float32)
    write_vectors(Artefacts(run).vectors, TermVectors(tuple(terms), matrix))


@contextmanager
def serve(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """The address, without a slash at its end, of an application that is being served."""
    listening = listen("127.0.0.1", port)
    server = make_server(app)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield address_of(listening, "127.0.0.1").rstrip("/")
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def start_server(
    *arguments: str, code: int = 0, token: bool = False, **environment: str
) -> Iterator[str]:
    """A server as a process; its address. It is ended as Ctrl-C does, and must end well.

    It asks for a token only if `token` says so.
    """
    with process_of(*arguments, code=code, token=token, **environment) as (address, _):
        yield address


@contextmanager
def process_of(
    *arguments: str, code: int = 0, token: bool = False, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The same, with the process."""
    options = [*arguments, "--port", "0", *([] if token else ["--no-token"])]
    process = subprocess.Popen(
        [sys.executable, "-m", "synsetmine", *options],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline() + process.stderr.readline()
        found = re.fullmatch(r"reading …\n.* at (http\S+) \(Ctrl-C to stop\)\n", line)
        assert found, line + process.stderr.read()
        yield found[1], process
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)  # the machine may be busy
        assert (process.returncode, out, err) == (code, "", "ended\n")
    finally:
        process.kill()
        process.communicate()


class Visitor:
    """A reviewer without a browser: follows links, fills forms in.

    The address may have a token, as a server prints it.
    """

    def __init__(self, address: str, name: str = "Ada", orcid: str = "") -> None:
        self.client = httpx.Client(
            base_url=address, follow_redirects=True, trust_env=False, timeout=60
        )
        if "?token=" in address:
            self.client.base_url = self.client.get(address).url.join(".")
        page = self.client.get("/reviewer")
        self.token = hidden_field(page.text, "form_token")
        self.page = self.send("/reviewer", name=name, orcid=orcid)

    def close(self) -> None:
        self.client.close()

    def open(self, **query: str) -> str:
        self.page = self.client.get("/", params=query)
        assert self.page.status_code == 200, self.page.text
        return self.page.text

    def send(self, address: str, **fields: str | Sequence[str]) -> httpx.Response:
        data = {"form_token": self.token, **fields}
        return self.client.post(address, data=data)

    def decide(self, act: str, set_id: str, **fields: str | Sequence[str]) -> httpx.Response:
        """Press a button on the page that is open."""
        own = {name: html.unescape(hidden_field(self.page.text, name)) for name in ("seen", "at")}
        own["shown"] = self.shown_hash(set_id)
        if isinstance(other := fields.get("other"), str):
            own["shown_other"] = self.shown_hash(other)
        given: dict[str, str | Sequence[str]] = {**own, "scope": "exact", **fields}
        self.page = self.send("/decide", act=act, set=set_id, **given)
        return self.page

    def shown_hash(self, set_id: str) -> str:
        """The hash of a set as the open page shows it, or as its own page does."""
        page = self.page.text
        if f'data-set="{html.escape(set_id)}"' not in page:
            page = self.client.get("/", params={"set": set_id}).text
        return hidden_field(page, "shown") if 'name="shown"' in page else ""


def hidden_field(page: str, name: str) -> str:
    """The first hidden field of this name."""
    match = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert match, name
    return match[1]
