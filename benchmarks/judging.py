"""Reviewers of one queue: they look at lists and sets, decide, undo, and meet each other."""

from __future__ import annotations

import html
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from benchmarks.httpclient import Answer, Connection
from benchmarks.visits import Ledger, Wrong

# How often of a hundred times each is done.
MIX = {"list": 25, "set": 30, "decide": 28, "undo": 7, "stale": 6, "bad": 4}
SHOW = ("todo", "accepted", "rejected", "all")
ACTS = ("accept", "reject", "unsure", "correct")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Queue:
    """The sets under review, by id with their terms, and what the server said it has recorded."""

    sets: Mapping[str, Sequence[str]]
    recorded: Counter[tuple[str, str]] = field(default_factory=Counter)  # reviewer, kind
    decided: list[str] = field(default_factory=list)  # sets
    refused: int = 0  # decisions that came too late


class Judge:
    """A reviewer with a connection, a name and a chance of their own."""

    def __init__(self, queue: Queue, number: int, port: int) -> None:
        self.name = f"Reviewer {number}"
        self._queue = queue
        self._chance = random.Random(number)  # noqa: S311
        self._ids = list(queue.sets)
        token = f"token-of-reviewer-{number}"
        named = {"form": token, "reviewer": quote(self.name, safe="")}
        cookies = "; ".join(f"synsetmine_{what}_{port}={value}" for what, value in named.items())
        self._cookies = {"Cookie": cookies}
        self._token = token

    async def step(self, connection: Connection, ledger: Ledger) -> None:
        (kind,) = self._chance.choices(list(MIX), list(MIX.values()))
        if kind == "list":
            query = {"show": self._chance.choice(SHOW), "q": self._chance.choice(["", "", "a"])}
            await self._open(connection, ledger, "list", **query)
        elif kind == "set":
            set_id = self._chance.choice(self._ids)
            self._check(set_id, await self._open(connection, ledger, "set", set=set_id))
        elif kind == "decide":
            await self._decide(connection, ledger)
        elif kind == "undo":
            await self._undo(connection, ledger)
        elif kind == "stale" and self._queue.decided:
            await self._decide_too_late(connection, ledger)
        else:
            fields = {"form_token": "of another page", "act": "accept", "set": self._ids[0]}
            ledger.note("bad", await self._send(connection, "/decide", **fields), 403)

    async def has_sentences(self, connection: Connection) -> bool:
        """Whether the server has looked them up, which it does beside the pages."""
        page = await self._open(connection, Ledger(), "set", set=self._ids[0])
        return "being looked up" not in page

    async def _decide(self, connection: Connection, ledger: Ledger) -> None:
        set_id = self._chance.choice(self._ids)
        page = await self._open(connection, ledger, "set", set=set_id)
        act = self._chance.choice(ACTS)
        fields = {"act": act, "set": set_id, "scope": "exact"}
        fields |= {name: _hidden_field(page, name) for name in ("seen", "shown")}
        if act == "correct":
            fields["term"] = self._queue.sets[set_id][0]
        sent = await self._send(connection, "/decide", **fields)
        if ledger.note("decide", sent, 303, 409).status == 303:
            self._queue.recorded[self.name, "judge" if act == "correct" else act] += 1
            self._queue.decided.append(set_id)
        else:
            self._refuse(sent)

    async def _decide_too_late(self, connection: Connection, ledger: Ledger) -> None:
        """As one who has had the page open since before anybody decided."""
        set_id = self._chance.choice(self._queue.decided)
        fields = {"act": "reject", "set": set_id, "scope": "exact", "seen": "0"}
        sent = await self._send(connection, "/decide", **fields)
        self._refuse(ledger.note("stale", sent, 409))

    async def _undo(self, connection: Connection, ledger: Ledger) -> None:
        sent = await self._send(connection, "/undo")
        if ledger.note("undo", sent, 303, 400, 409).status == 303:
            self._queue.recorded[self.name, "undo"] += 1
        elif sent.status == 409:
            self._refuse(sent)
        elif "there is no decision to undo" not in sent.text:
            raise Wrong(f"undo: {sent.text[:300]}")

    def _refuse(self, answer: Answer) -> None:
        self._queue.refused += 1
        if "was not recorded" not in answer.text:
            raise Wrong(f"a conflict that is not shown: {answer.text[:300]}")

    async def _open(self, connection: Connection, ledger: Ledger, kind: str, **query: str) -> str:
        sent = await connection.ask(f"/?{urlencode(query)}", headers=self._cookies)
        page = ledger.note(kind, sent, 200).text
        if f"<bdi>{self.name}</bdi>" not in page or not page.rstrip().endswith("</html>"):
            raise Wrong(f"{kind}: a page of somebody else, or half of one: {page[:300]}")
        return page

    def _check(self, set_id: str, page: str) -> None:
        """That all terms of the set are on its page, each with its sentence."""
        if f'data-set="{set_id}"' not in page:
            raise Wrong(f"set {set_id}: another one is open")
        for term in self._queue.sets[set_id]:
            if f"<mark>{html.escape(' '.join(term.split()))}</mark>" not in page:
                raise Wrong(f"set {set_id}: no sentence with {term!r}")

    async def _send(self, connection: Connection, path: str, **fields: str) -> Answer:
        body = urlencode({"form_token": self._token, **fields}).encode()
        headers = {**self._cookies, **FORM}
        return await connection.ask(path, method="POST", headers=headers, body=body)


def _hidden_field(page: str, name: str) -> str:
    match = re.search(rf'name="{name}" value="([^"]*)"', page)
    if match is None:
        raise Wrong(f"a page without the field {name}: {page[:300]}")
    return match[1]
