"""Programs that ask the serving API: a mix of questions, good and bad, whose answers are known."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from benchmarks.httpclient import Connection
from benchmarks.visits import Ledger, Wrong
from synsetmine.types import SynonymSets, Term

# How often of a hundred times each is asked.
MIX = {"expand": 45, "score": 22, "rank": 10, "batch": 6, "health": 7, "bad": 10}
EACH = 300  # different questions of a kind, so that each is asked again and again
BAD = (
    (404, "unknown_term", "/v1/expand?term=no+such+term+at+all"),
    (400, "missing_field", "/v1/expand"),
    (400, "wrong_value", "/v1/expand?term=a&top=0"),
    (400, "unknown_field", "/v1/score?set=a&terms=b&tpo=1"),
    (404, "not_found", "/v2/expand?term=a"),
    (405, "wrong_method", "/v1/batch"),
)
JSON = {"Content-Type": "application/json"}


@dataclass
class Questions:
    """What everybody asks, and what was answered the first time."""

    sets: SynonymSets
    asked: dict[str, list[dict[str, Any]]]
    answered: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def about(cls, sets: SynonymSets, terms: Sequence[Term], seed: int = 0) -> Questions:
        """Questions about mined sets, and about the terms that the model knows."""
        chance = random.Random(seed)  # noqa: S311
        known = list(map(str, terms))
        mined = list(map(str, sets.terms))

        def several(**fields: int) -> list[dict[str, Any]]:
            drawn = range(EACH)
            return [{name: chance.sample(known, n) for name, n in fields.items()} for _ in drawn]

        expand = [{"term": chance.choice(mined), "top": 1000} for _ in range(EACH)]
        asked = {"expand": expand, "score": several(set=2, terms=3), "rank": several(set=3)}
        return cls(sets, asked)

    def check(self, kind: str, question: dict[str, Any], answer: Any) -> None:
        """Whether an answer is right as far as that can be known without the server."""
        if kind == "expand":
            term = Term.parse(question["term"])
            others = {str(t) for t in self.sets.sets[self.sets.label_of(term)]} - {str(term)}
            if {found["term"] for found in answer["synonyms"]} != others:
                raise Wrong(f"expand {question}: {answer}")
            return
        found = answer["terms"]
        count = len(question["terms"]) if kind == "score" else 10
        if len(found) != count or not all(0 <= one["probability"] <= 1 for one in found):
            raise Wrong(f"{kind} {question}: {answer}")

    def same(self, key: str, body: bytes) -> None:
        """The same question must get the same bytes, whoever asks and whatever goes on beside."""
        if self.answered.setdefault(key, body) != body:
            raise Wrong(f"{key}: {body!r} after {self.answered[key]!r}")


class Asker:
    """One program with its own chance."""

    def __init__(self, questions: Questions, number: int) -> None:
        self._questions = questions
        self._chance = random.Random(number)  # noqa: S311

    async def step(self, connection: Connection, ledger: Ledger) -> None:
        (kind,) = self._chance.choices(list(MIX), list(MIX.values()))
        if kind == "health":
            answer = ledger.note(kind, await connection.ask("/v1/health"), 200)
            self._questions.same(kind, answer.body)
        elif kind == "bad":
            await self._ask_badly(connection, ledger)
        elif kind == "batch":
            await self._ask_several(connection, ledger)
        else:
            question = self._chance.choice(self._questions.asked[kind])
            path = f"/v1/{kind}?{urlencode(question, doseq=True)}"
            answer = ledger.note(kind, await connection.ask(path), 200)
            self._questions.check(kind, question, json.loads(answer.body))
            self._questions.same(path, answer.body)

    async def _ask_several(self, connection: Connection, ledger: Ledger) -> None:
        kinds = self._chance.choices(["expand", "score"], k=8)
        asked = [{kind: self._chance.choice(self._questions.asked[kind])} for kind in kinds]
        body = json.dumps({"questions": asked}).encode()
        sent = await connection.ask("/v1/batch", method="POST", headers=JSON, body=body)
        answers = json.loads(ledger.note("batch", sent, 200).body)["answers"]
        for question, answer in zip(asked, answers, strict=True):
            ((kind, fields),) = question.items()
            if answer["status"] != 200:
                raise Wrong(f"batch: {question}: {answer}")
            self._questions.check(kind, fields, answer["answer"])

    async def _ask_badly(self, connection: Connection, ledger: Ledger) -> None:
        status, code, path = self._chance.choice(BAD)
        answer = ledger.note("bad", await connection.ask(path), status)
        if json.loads(answer.body)["error"]["code"] != code:
            raise Wrong(f"{path}: {answer.text}")
