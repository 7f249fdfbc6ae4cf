"""Receiving files over a real, and often unwilling, HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from synsetmine.errors import DataError
from tests.support.paperfiles import (
    BIG,
    FILES,
    LISTING,
    RAW,
    TEST,
    assert_complete,
    fetch,
)
from tests.support.paperserver import Fault, PaperServer, row


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperServer]:
    monkeypatch.setenv("no_proxy", "*")
    with PaperServer({f"NYT/{name}": c for name, c in FILES.items()}).start() as running:
        yield running


# Broken lines


@pytest.mark.parametrize(
    "fault",
    [
        Fault(cut=100_000),
        Fault(cut=1000, no_length=True),
        *(Fault(status=status) for status in (408, 429, 500, 503)),
    ],
)
def test_a_broken_download_is_repeated(server: PaperServer, tmp_path: Path, fault: Fault) -> None:
    server.fail(RAW, fault, fault)
    assert_complete(fetch(server, tmp_path))
    assert len(server.requests_to(RAW)) == 3


def test_a_failing_listing_is_asked_for_again(server: PaperServer, tmp_path: Path) -> None:
    server.fail(LISTING, Fault(status=503), Fault(status=429))
    assert_complete(fetch(server, tmp_path))


def test_a_download_that_broke_for_good_leaves_nothing(server: PaperServer, tmp_path: Path) -> None:
    server.fail(RAW, Fault(cut=200_000))
    server.always_fail(RAW, Fault(reset=True))
    with pytest.raises(DataError, match=r"combined\.embed: .* \(attempt 3, the last\)"):
        fetch(server, tmp_path, retries=2)
    assert not (tmp_path / "datasets" / "nyt" / "manifest.json").exists()
    assert not list(tmp_path.rglob("combined.embed*"))
    server.always_fail(RAW, None)
    assert_complete(fetch(server, tmp_path))


def test_a_silent_server_is_left_and_asked_again(server: PaperServer, tmp_path: Path) -> None:
    server.fail(RAW, Fault(cut=70_000, stall=True))
    server.fail(LISTING, Fault(cut=0, stall=True))
    assert_complete(fetch(server, tmp_path, timeout=0.2))
    assert len(server.requests_to(RAW)) == 2


def test_no_retries_is_one_attempt(server: PaperServer, tmp_path: Path) -> None:
    server.fail(RAW, Fault(reset=True))
    with pytest.raises(DataError, match="attempt 1, the last"):
        fetch(server, tmp_path, retries=0)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
@pytest.mark.parametrize("path", [LISTING, RAW])
def test_refusals_are_not(server: PaperServer, tmp_path: Path, status: int, path: str) -> None:
    server.always_fail(path, Fault(status=status))
    with pytest.raises(DataError, match=f"{path}: {status} "):
        fetch(server, tmp_path)
    assert len(server.requests_to(path)) == 1


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
    assert str(tmp_path / "datasets" / "nyt" / "combined.embed") in str(caught.value)
    for content in (BIG, wrong):
        assert row("", content, "")["sha"] in str(caught.value)  # type: ignore[operator]
    assert not list(tmp_path.rglob("*combined.embed*"))
    assert len(server.requests_to(RAW)) == 1


@pytest.mark.parametrize("no_length", [False, True])
def test_a_file_longer_than_listed_is_refused(
    server: PaperServer, tmp_path: Path, no_length: bool
) -> None:
    server.always_fail(RAW, Fault(body=BIG + b"more", no_length=no_length))
    with pytest.raises(DataError, match="more than the 300000 bytes"):
        fetch(server, tmp_path)
    assert not list(tmp_path.rglob("*combined.embed*"))


@pytest.mark.parametrize("path", [LISTING, RAW])
def test_redirects_out_of_the_web_are_refused(
    server: PaperServer, tmp_path: Path, path: str
) -> None:
    server.always_fail(path, Fault(location="file:///etc/hostname"))
    with pytest.raises(DataError, match=f"{path}: 302 .*file:///etc/hostname"):
        fetch(server, tmp_path)
    assert len(server.requests_to(path)) == 1


def test_redirects_within_the_web_are_followed(server: PaperServer, tmp_path: Path) -> None:
    server.files["elsewhere"] = BIG
    server.always_fail(RAW, Fault(location="/raw/elsewhere"))
    assert_complete(fetch(server, tmp_path))


@pytest.mark.parametrize("no_length", [False, True])
def test_an_endless_listing_is_refused(
    server: PaperServer, tmp_path: Path, no_length: bool
) -> None:
    server.always_fail(LISTING, Fault(body=b" " * 1_100_000, no_length=no_length))
    with pytest.raises(DataError, match="more than the 1000000 bytes"):
        fetch(server, tmp_path)


@pytest.mark.parametrize(
    "url", ["file:///etc/hostname", "ftp://x/y", "/etc/hostname", "", "http://[", "http://a b:c/"]
)
def test_other_addresses_are_refused(server: PaperServer, tmp_path: Path, url: str) -> None:
    server.extra_rows = [row(TEST, b"secret", url)]
    with pytest.raises(DataError, match=r"not a usable http\(s\) address"):
        fetch(server, tmp_path)
    with pytest.raises(DataError, match=r"not a usable http\(s\) address"):
        fetch(server, tmp_path, home=url)
