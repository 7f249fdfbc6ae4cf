"""The serving API with many who ask at once, and without a model."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from synsetmine.review.web.answers import Answers, MinedAnswers, ModelAnswers
from synsetmine.review.web.api import ServerState, serving_app
from synsetmine.review.web.server import AccessPolicy
from synsetmine.types import Term
from tests.review.web.test_serving import checked
from tests.support.webserver import serve, write_run


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> MinedAnswers:
    return MinedAnswers.of_run(write_run(tmp_path_factory.mktemp("run")))


class SlowModel:
    """Ranks one at a time, each taking a while; says if two are at it at the same time."""

    terms = (Term("a"), Term("b"))

    def __init__(self) -> None:
        self.working = 0
        self.together = 0
        self.go = threading.Event()

    def rank(self, members: object, top: int) -> list[tuple[Term, float]]:
        self.working += 1
        self.together = max(self.together, self.working)
        self.go.wait(30)
        self.working -= 1
        return [(Term("b"), 0.9)]


def test_the_server_answers_while_the_model_works(mined: MinedAnswers) -> None:
    slow = SlowModel()
    both = Answers(mined, ModelAnswers(slow, 0.5))  # type: ignore[arg-type]

    async def ask(address: str) -> list[int]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(
            base_url=address, limits=limits, trust_env=False, timeout=60
        ) as client:
            ranks = [
                asyncio.create_task(client.get("/v1/rank", params={"set": "a"}, timeout=60))
                for _ in range(80)
            ]
            async with asyncio.timeout(20):
                while sum(task.done() for task in ranks) < 15:  # those that are sent away
                    await asyncio.sleep(0.01)
            found = await client.get("/v1/expand", params={"term": "aspirin"})
            assert found.status_code == 200
            assert (await client.get("/v1/health")).status_code == 200
            slow.go.set()  # all that is above was answered while the model was busy
            got = await asyncio.gather(*ranks)
            for answer in got:
                checked(answer)
                assert answer.status_code == 200 or answer.headers["retry-after"] == "1"
            return [answer.status_code for answer in got]

    with serve(serving_app(ServerState(both), AccessPolicy())) as address:
        statuses = asyncio.run(ask(address))
    assert slow.together == 1
    assert statuses.count(200) == 65  # one at work, 64 that wait
    assert statuses.count(503) == 15


def test_head_and_body_of_an_answer_come_at_once(mined: MinedAnswers) -> None:
    app = serving_app(ServerState(Answers(mined)), AccessPolicy())
    with serve(app) as address:
        host, port = urlsplit(address).hostname, urlsplit(address).port
        with socket.create_connection((host, port), timeout=20) as connection:
            for _ in range(20):
                connection.sendall(
                    b"GET /v1/expand?term=aspirin HTTP/1.1\r\nHost: localhost\r\n\r\n"
                )
                head, _, body = connection.recv(1 << 16).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                assert json.loads(body)["term"] == "aspirin"


def test_no_torch_without_a_model(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from synsetmine.review.web.answers import Answers, MinedAnswers\n"
        "from synsetmine.review.web.server import AccessPolicy\n"
        "from synsetmine.review.web.api import ServerState, serving_app\n"
        "answers = Answers(MinedAnswers.of_run(Path(sys.argv[1])))\n"
        "serving_app(ServerState(answers), AccessPolicy())\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=True)
