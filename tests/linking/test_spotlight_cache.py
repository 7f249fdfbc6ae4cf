"""What Spotlight answered is kept: not asked again, whatever breaks."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.linking.service import open_cache
from synsetmine.linking.spotlight import (
    NO_ENTITY,
)
from tests.support.faultyserver import Fault
from tests.support.spotlightlinks import documents, linker_of, many
from tests.support.spotlightserver import NAMES, SpotlightServer, answer, resource

pytestmark = pytest.mark.usefixtures("no_proxy")


@pytest.fixture
def server() -> Iterator[SpotlightServer]:
    with SpotlightServer().start() as running:
        yield running


def test_what_is_in_the_cache_is_not_asked_again(server: SpotlightServer, tmp_path: Path) -> None:
    cache = tmp_path / "new" / "cache.sqlite"
    broken = answer("In Berlin") | {"Resources": [resource("?", "Berlin", 3)]}
    server.fail(Fault(body=json.dumps(broken).encode()))
    texts = documents("In Berlin", "New York 😀 Berlin", "Nothing", "w " * 9000)
    first = linker_of(server, cache=cache, concurrency=1)
    linked = first.link(texts)
    server.seen.clear()
    second = linker_of(server, cache=cache)
    assert second.link(texts) == linked
    assert second.link(list(reversed(texts))) == list(reversed(linked))
    assert server.seen == []
    assert first.skipped.counts == {NO_ENTITY: 1}
    assert second.skipped.counts == {NO_ENTITY: 2}
    assert str(second.skipped.examples[NO_ENTITY][0]) == str(first.skipped.examples[NO_ENTITY][0])
    by_address = linker_of(server, cache=cache, entities="uri").link(texts)
    assert [m.entity for m in by_address[1]] == [NAMES["New York"], NAMES["Berlin"]]
    assert server.seen == []
    assert [path.name for path in cache.parent.iterdir()] == ["cache.sqlite"]


@pytest.mark.parametrize("changed", [{"confidence": 0.4}, {"support": 1}, {"url": "other"}])
def test_other_settings_are_other_questions(
    server: SpotlightServer, tmp_path: Path, changed: dict[str, Any]
) -> None:
    cache = tmp_path / "cache.sqlite"
    linker_of(server, cache=cache).link(many(2))
    with SpotlightServer().start() as other:
        if "url" in changed:
            changed = {"url": other.url}
        linker_of(server, cache=cache, **changed).link(many(2))
        assert len(server.seen) + len(other.seen) == 4


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_broken_run_goes_on_where_it_was(
    server: SpotlightServer, tmp_path: Path, concurrency: int
) -> None:
    cache = tmp_path / "cache.sqlite"
    texts = many(30)
    server.always_fail("Text 11 ", Fault(status=500, body=b"broken"))
    linker = linker_of(server, cache=cache, concurrency=concurrency, retries=0)
    with pytest.raises(SynsetmineError, match="document 'd11': 500"):
        linker.link(texts)
    answered = {seen.text for seen in server.seen if "Text 11 " not in seen.text}
    assert len(answered) == 11 if concurrency == 1 else len(answered) >= 8
    server.always_fail("Text 11 ", None)
    server.seen.clear()
    linked = linker.link(texts)
    assert Counter(server.texts) == {d.text: 1 for d in texts if d.text not in answered}
    assert all(len(mentions) == 1 for mentions in linked)


KILLED = """
import sys
from pathlib import Path
from threading import Timer
from synsetmine.linking.spotlight import SpotlightLinker
from synsetmine.types import Document
url, cache = sys.argv[1:]
linker = SpotlightLinker(url=url, cache=Path(cache), concurrency=1, per_second=0)
linker.link([Document(f"d{n}", f"Text {n} about Berlin.") for n in range(20)])
"""


def test_a_killed_run_goes_on_where_it_was(server: SpotlightServer, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    server.always_fail("Text 13 ", Fault(stall=True))
    process = subprocess.Popen([sys.executable, "-c", KILLED, server.url, str(cache)])
    try:
        while len(server.seen) < 14 and process.poll() is None:
            time.sleep(0.01)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    server.always_fail("Text 13 ", None)
    server.seen.clear()
    linked = linker_of(server, cache=cache).link(many(20))
    assert sorted(server.texts) == sorted(document.text for document in many(20)[13:])
    assert all(len(mentions) == 1 for mentions in linked)


WRITER = """
import sys
from pathlib import Path
from threading import Timer
from synsetmine.linking.service import open_cache
for round in range(10):
    with open_cache(Path(sys.argv[1])) as cache:
        for number in range(10):
            cache.put(f"{sys.argv[2]}-{round}-{number}", "x" * 100)
"""


def test_processes_share_a_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(cache), str(n)]) for n in range(4)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    keys = [f"{n}-{r}-{i}" for n in range(4) for r in range(10) for i in range(10)] * 3
    with open_cache(cache) as opened:
        assert opened.get(keys) == dict.fromkeys(keys, "x" * 100)
        assert opened.get(["unknown"]) == {}


def test_a_damaged_cache_is_a_clear_error(server: SpotlightServer, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    linker = linker_of(server, cache=cache)
    texts = documents(*(f"{number} {'Berlin ' * 300}" for number in range(40)))
    linker.link(texts)
    whole = cache.read_bytes()
    server.seen.clear()
    for content, problem in [
        (b"This is not a database, but long enough to be looked at." * 9, "not a database"),
        (whole[: len(whole) // 2], "malformed"),
        (whole[:4096] + b"\xa5" * (len(whole) - 4096), "malformed"),
    ]:
        cache.write_bytes(content)
        with pytest.raises(DataError, match=f"damaged cache .*{problem}.*delete it") as caught:
            linker.link(texts)
        assert str(caught.value).startswith(f"{cache}: ")
    assert server.seen == []
    cache.unlink()
    linker.link(texts)
    assert len(server.seen) == 40


@pytest.mark.parametrize("row", ["", "{}", "[]", "null", '{"mentions": [1], "broken": []}'])
def test_a_damaged_answer_is_a_clear_error(
    server: SpotlightServer, tmp_path: Path, row: str
) -> None:
    cache = tmp_path / "cache.sqlite"
    linker_of(server, cache=cache).link(many(1))
    connection = sqlite3.connect(cache)
    with connection:
        connection.execute("UPDATE answers SET answer = ?", (row,))
    connection.close()
    with pytest.raises(DataError, match="damaged cache"):
        linker_of(server, cache=cache).link(many(1))


def test_other_files_are_left_alone(server: SpotlightServer, tmp_path: Path) -> None:
    other = tmp_path / "places.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE places (name)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(DataError, match="another database"):
        linker_of(server, cache=other).link(many(1))
    assert other.read_bytes() == before
    with pytest.raises(DataError, match="cannot use this cache") as caught:
        linker_of(server, cache=tmp_path).link(many(1))
    assert caught.value.path == tmp_path
    with pytest.raises(DataError, match="cannot use this cache"):
        linker_of(server, cache=other / "cache").link(many(1))
    assert server.seen == []


def test_a_file_that_another_one_writes_is_waited_for(tmp_path: Path) -> None:
    """The change to a log needs the file for itself."""
    path = tmp_path / "cache.sqlite"
    with open_cache(path) as cache:
        cache.put("a", "b")
    other = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    with closing(other):
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN IMMEDIATE")
        release = Timer(0.3, lambda: other.execute("COMMIT"))
        release.start()
        with open_cache(path) as cache:
            assert cache.get(["a"]) == {"a": "b"}
        release.join()


def test_several_may_make_the_file_at_once(tmp_path: Path) -> None:
    """One that saw no table is not to take the table of another for a stranger's."""

    def open_one(number: int) -> None:
        with open_cache(tmp_path / f"{number // 8}.sqlite") as cache:
            cache.put(str(number), "answer")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(open_one, range(200)))
    for file in range(25):
        with open_cache(tmp_path / f"{file}.sqlite") as cache:
            assert len(cache.get(map(str, range(8 * file, 8 * file + 8)))) == 8
