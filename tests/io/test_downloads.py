"""Receiving files over a real, and often unwilling, HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message
from http.client import HTTPMessage
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from synsetmine.errors import DataError
from synsetmine.io import downloads
from tests.support.paperfiles import (
    BIG,
    FILES,
    LISTING,
    RAW,
    TEST,
    assert_complete,
    fetch,
    part_of,
)
from tests.support.paperserver import Fault, PaperServer, row


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperServer]:
    monkeypatch.setenv("no_proxy", "*")
    with PaperServer({f"NYT/{name}": c for name, c in FILES.items()}).running() as running:
        yield running


def leave_part(cache: Path, content: bytes) -> None:
    part_of(cache).parent.mkdir(parents=True)
    part_of(cache).write_bytes(content)


# Broken lines


def test_a_broken_line_is_taken_up_where_it_broke(server: PaperServer, tmp_path: Path) -> None:
    server.fail(RAW, Fault(cut=100_000), Fault(cut=50_000))
    assert_complete(fetch(server, tmp_path))
    asked = server.asked(RAW)
    assert [seen.range for seen in asked] == [None, "bytes=100000-", "bytes=150000-"]
    assert sum(seen.sent for seen in asked) == len(BIG)


def test_broken_for_good_then_continued_by_a_later_call(
    server: PaperServer, tmp_path: Path
) -> None:
    server.fail(RAW, Fault(cut=200_000))
    server.always_fail(RAW, Fault(reset=True))
    with pytest.raises(DataError, match=r"combined\.embed: .* \(attempt 3, the last\)"):
        fetch(server, tmp_path, retries=2)
    assert part_of(tmp_path).read_bytes() == BIG[:200_000]
    assert not part_of(tmp_path).with_suffix("").exists()
    assert not (part_of(tmp_path).parent / "manifest.json").exists()

    server.always_fail(RAW, None)
    server.seen.clear()
    assert_complete(fetch(server, tmp_path))
    assert [(seen.range, seen.sent) for seen in server.asked(RAW)] == [("bytes=200000-", 100_000)]


def test_an_interrupted_call_is_continued(server: PaperServer, tmp_path: Path) -> None:
    def interrupt(name: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server, tmp_path, progress=interrupt)
    left = part_of(tmp_path).read_bytes()
    assert 0 < len(left) < len(BIG)
    assert BIG.startswith(left)
    assert_complete(fetch(server, tmp_path))
    assert server.asked(RAW)[-1].range == f"bytes={len(left)}-"


def test_no_retries_is_one_attempt(server: PaperServer, tmp_path: Path) -> None:
    server.fail(RAW, Fault(reset=True))
    with pytest.raises(DataError, match="attempt 1, the last"):
        fetch(server, tmp_path, retries=0)


def test_a_silent_server_is_left_and_asked_again(server: PaperServer, tmp_path: Path) -> None:
    server.fail(RAW, Fault(cut=70_000, stall=True))
    server.fail(LISTING, Fault(cut=0, stall=True))
    assert_complete(fetch(server, tmp_path, timeout=0.2))
    assert [seen.range for seen in server.asked(RAW)] == [None, "bytes=70000-"]


def test_a_body_of_unknown_length_that_ends_early_is_continued(
    server: PaperServer, tmp_path: Path
) -> None:
    server.fail(RAW, Fault(cut=1000, no_length=True))
    assert_complete(fetch(server, tmp_path))
    assert [seen.range for seen in server.asked(RAW)] == [None, "bytes=1000-"]


def test_a_server_that_ignores_ranges_starts_over(server: PaperServer, tmp_path: Path) -> None:
    server.fail(RAW, Fault(cut=100_000), Fault(ignore_range=True))
    assert_complete(fetch(server, tmp_path))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=416),
        Fault(content_range="bytes 0-299999/300000"),
        Fault(content_range="bytes 1000-299999/777777"),
        Fault(content_range="elephants"),
    ],
)
def test_a_range_that_cannot_be_used_starts_over(
    server: PaperServer, tmp_path: Path, fault: Fault
) -> None:
    leave_part(tmp_path, BIG[:1000])
    server.fail(RAW, fault)
    assert_complete(fetch(server, tmp_path, retries=0))
    assert [seen.range for seen in server.asked(RAW)] == ["bytes=1000-", None]


def test_the_total_may_be_left_open(server: PaperServer, tmp_path: Path) -> None:
    leave_part(tmp_path, BIG[:1000])
    server.fail(RAW, Fault(content_range="bytes 1000-299999/*"))
    assert_complete(fetch(server, tmp_path))
    assert [seen.range for seen in server.asked(RAW)] == ["bytes=1000-"]


def test_a_part_that_is_complete_needs_no_request(server: PaperServer, tmp_path: Path) -> None:
    leave_part(tmp_path, BIG)
    assert_complete(fetch(server, tmp_path))
    assert server.asked(RAW) == []


@pytest.mark.parametrize("left", [BIG + b"more", b"x" * len(BIG), b"x" * 1000])
def test_a_part_of_another_file_is_thrown_away(
    server: PaperServer, tmp_path: Path, left: bytes
) -> None:
    leave_part(tmp_path, left)
    assert_complete(fetch(server, tmp_path))
    assert server.asked(RAW)[-1].range is None


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_passing_failures_are_tried_again(server: PaperServer, tmp_path: Path, status: int) -> None:
    server.fail(LISTING, Fault(status=status), Fault(status=status))
    server.fail(RAW, Fault(status=status), Fault(cut=10), Fault(status=status))
    assert_complete(fetch(server, tmp_path))
    assert [seen.range for seen in server.asked(RAW)] == [None, None, "bytes=10-", "bytes=10-"]


@pytest.mark.parametrize("status", [401, 403, 404, 410])
@pytest.mark.parametrize("path", [LISTING, RAW])
def test_refusals_are_not(server: PaperServer, tmp_path: Path, status: int, path: str) -> None:
    server.always_fail(path, Fault(status=status))
    with pytest.raises(DataError, match=f"{path}: {status} "):
        fetch(server, tmp_path)
    assert len(server.asked(path)) == 1


def test_nobody_there(server: PaperServer, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"http://127\.0\.0\.1:1/NYT: .*attempt 2, the last"):
        fetch(server, tmp_path, home="http://127.0.0.1:1", retries=1)


def test_a_cut_listing_is_asked_for_again(server: PaperServer, tmp_path: Path) -> None:
    server.fail(LISTING, Fault(cut=30))
    assert_complete(fetch(server, tmp_path))


def test_pauses_double(
    server: PaperServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    server.always_fail(LISTING, Fault(status=500))
    with pytest.raises(DataError, match="500"):
        fetch(server, tmp_path, backoff=0.5, retries=8)
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30]


# Wrong and hostile answers


def test_a_wrong_body_leaves_nothing(server: PaperServer, tmp_path: Path) -> None:
    wrong = b"x" * len(BIG)
    server.always_fail(RAW, Fault(body=wrong))
    with pytest.raises(DataError) as caught:
        fetch(server, tmp_path)
    assert str(part_of(tmp_path).with_suffix("")) in str(caught.value)
    for content in (BIG, wrong):
        assert row("", content, "")["sha"] in str(caught.value)  # type: ignore[operator]
    assert list(part_of(tmp_path).parent.iterdir()) == []
    assert len(server.asked(RAW)) == 1


@pytest.mark.parametrize("no_length", [False, True])
def test_a_file_longer_than_listed_is_refused(
    server: PaperServer, tmp_path: Path, no_length: bool
) -> None:
    server.always_fail(RAW, Fault(body=BIG + b"more", no_length=no_length))
    with pytest.raises(DataError, match="more than the 300000 bytes"):
        fetch(server, tmp_path)
    assert not part_of(tmp_path).with_suffix("").exists()


@pytest.mark.parametrize("no_length", [False, True])
def test_an_endless_listing_is_refused(
    server: PaperServer, tmp_path: Path, no_length: bool
) -> None:
    server.always_fail(LISTING, Fault(body=b" " * 1_100_000, no_length=no_length))
    with pytest.raises(DataError, match="more than the 1000000 bytes"):
        fetch(server, tmp_path)


@pytest.mark.parametrize("scheme", ["file", "ftp", "data"])
@pytest.mark.parametrize("path", [LISTING, RAW])
def test_redirects_out_of_the_web_are_refused(
    server: PaperServer, tmp_path: Path, scheme: str, path: str
) -> None:
    server.always_fail(path, Fault(location=f"{scheme}:///etc/hostname"))
    with pytest.raises(DataError, match=f"{path}: 302 .*{scheme}:///etc/hostname"):
        fetch(server, tmp_path)
    assert len(server.asked(path)) == 1


def test_redirects_within_the_web_keep_the_range(server: PaperServer, tmp_path: Path) -> None:
    server.files["elsewhere"] = BIG
    server.always_fail(RAW, Fault(location="/raw/elsewhere"))
    server.fail("/raw/elsewhere", Fault(cut=1000))
    assert_complete(fetch(server, tmp_path))
    assert [seen.range for seen in server.asked("/raw/elsewhere")] == [None, "bytes=1000-"]


def test_redirects_do_not_give_up_encryption() -> None:
    follow = downloads._WebRedirects().redirect_request
    headers, request = HTTPMessage(Message().policy), Request("https://a.example/x")
    assert follow(request, BytesIO(), 302, "Found", headers, "https://b.example/x") is not None
    with pytest.raises(HTTPError, match="refused") as caught:
        follow(request, BytesIO(), 302, "Found", headers, "http://b.example/x")
    caught.value.close()


@pytest.mark.parametrize(
    "url", ["file:///etc/hostname", "ftp://x/y", "/etc/hostname", "", "http://[", "http://a b:c/"]
)
def test_other_addresses_are_refused(server: PaperServer, tmp_path: Path, url: str) -> None:
    server.extra_rows = [row(TEST, b"secret", url)]
    with pytest.raises(DataError, match=r"not a usable http\(s\) address"):
        fetch(server, tmp_path)
    with pytest.raises(DataError, match=r"not a usable http\(s\) address"):
        fetch(server, tmp_path, home=url)
