"""The paper's data over a real, and often unwilling, HTTP server."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from http.client import HTTPMessage
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from synsetmine import datasets, downloads
from synsetmine.datasets import PINS, VECTOR_FILES, Dataset, fetch_dataset
from synsetmine.errors import DataError
from tests.paperserver import Fault, PaperServer, row, serve

TRAIN, TEST, VECTORS = "train-cold.set", "test.set", "combined.embed"
BIG = random.Random(1).randbytes(300_000)  # several chunks
FILES = {VECTORS: BIG, TEST: b"{'a||1', 'b||1'}\n" * 20, TRAIN: b"{'c||2', 'd||2'}\n" * 50}
RAW = f"/raw/NYT/{VECTORS}"
LISTING = "/data/NYT"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperServer]:
    monkeypatch.setenv("no_proxy", "*")
    with serve({f"NYT/{name}": content for name, content in FILES.items()}) as running:
        yield running


def fetch(server: PaperServer, cache: Path, **options: Any) -> Dataset:
    settings: dict[str, Any] = {"home": server.home, "cache": cache, "pins": {}}
    settings |= {"backoff": 0.001, "timeout": 5}
    return fetch_dataset("nyt", **settings | options)


def assert_complete(dataset: Dataset) -> None:
    assert {p.name for p in dataset.folder.iterdir()} == {*FILES, "manifest.json"}
    for name, content in FILES.items():
        assert (dataset.folder / name).read_bytes() == content


def part_of(cache: Path, name: str = VECTORS) -> Path:
    return cache / "datasets" / "nyt" / f"{name}.part"


def leave_part(cache: Path, content: bytes) -> None:
    part_of(cache).parent.mkdir(parents=True)
    part_of(cache).write_bytes(content)


# The straight way


def test_a_dataset_arrives_whole(server: PaperServer, tmp_path: Path) -> None:
    dataset = fetch(server, tmp_path)
    assert_complete(dataset)
    assert dataset.name == "nyt"
    assert dataset.folder == tmp_path / "datasets" / "nyt"
    assert dataset.training_sets.read_bytes() == FILES[TRAIN]
    assert dataset.test_sets.read_bytes() == FILES[TEST]
    assert dataset.vectors == {"word2vec": dataset.folder / VECTORS}
    manifest = json.loads((dataset.folder / "manifest.json").read_text())
    assert manifest == {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in FILES.items()
    }


def test_all_three_kinds_of_vectors_are_found(server: PaperServer, tmp_path: Path) -> None:
    server.files |= {f"NYT/{name}": name.encode() for name in VECTOR_FILES.values()}
    vectors = fetch(server, tmp_path).vectors
    assert {key: path.read_text() for key, path in vectors.items()} == VECTOR_FILES


def test_an_empty_file_is_a_file(server: PaperServer, tmp_path: Path) -> None:
    server.files[f"NYT/{VECTORS}"] = b""
    assert fetch(server, tmp_path).vectors["word2vec"].read_bytes() == b""


def test_the_second_call_asks_the_network_nothing(server: PaperServer, tmp_path: Path) -> None:
    first = fetch(server, tmp_path)
    server.seen.clear()
    assert fetch(server, tmp_path) == first
    assert server.seen == []


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_only_a_damaged_file_is_fetched_again(
    server: PaperServer, tmp_path: Path, damage: str
) -> None:
    test_sets = fetch(server, tmp_path).test_sets
    if damage == "cut":
        test_sets.write_bytes(b"cut")
    else:
        test_sets.unlink()
    server.seen.clear()
    assert_complete(fetch(server, tmp_path))
    assert {seen.path for seen in server.seen} == {LISTING, f"/raw/NYT/{TEST}"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"test.set": 1}', '{"../x": {"size": 1}}'])
def test_a_broken_manifest_counts_as_none(server: PaperServer, tmp_path: Path, text: str) -> None:
    (fetch(server, tmp_path).folder / "manifest.json").write_text(text)
    server.seen.clear()
    assert_complete(fetch(server, tmp_path))
    assert [seen.path for seen in server.seen] == [LISTING]


def test_progress_reaches_the_total(server: PaperServer, tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    fetch(server, tmp_path, progress=lambda *call: calls.append(call))
    for name, content in FILES.items():
        done = [call[1] for call in calls if call[0] == name]
        assert done == sorted(done)
        assert done[-1] == len(content)
    assert {(name, total) for name, _, total in calls} == {(n, len(c)) for n, c in FILES.items()}
    assert sum(name == VECTORS for name, _, _ in calls) > 2


def test_two_at_once_fetch_each_file_once(server: PaperServer, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        for dataset in pool.map(lambda _: fetch(server, tmp_path), range(4)):
            assert_complete(dataset)
    assert len(server.seen) == 1 + len(FILES)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SYNSETMINE_CACHE": "own", "XDG_CACHE_HOME": "xdg"}, "own"),
        ({"XDG_CACHE_HOME": "xdg"}, "xdg/synsetmine"),
        ({"SYNSETMINE_CACHE": "", "XDG_CACHE_HOME": ""}, "home/.cache/synsetmine"),
        ({}, "home/.cache/synsetmine"),
    ],
)
def test_where_the_cache_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.delenv("SYNSETMINE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for key, value in variables.items():
        monkeypatch.setenv(key, str(tmp_path / value) if value else "")
    dataset = fetch_dataset("nyt", source=local_copy(tmp_path / "copy"), pins={})
    assert dataset.folder == tmp_path / expected / "datasets" / "nyt"


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


def test_a_pinned_checksum_counts_beside_the_listing(server: PaperServer, tmp_path: Path) -> None:
    found = hashlib.sha256(BIG).hexdigest()
    with pytest.raises(DataError, match=rf"combined\.embed: .*expected {'0' * 64}, found {found}"):
        fetch(server, tmp_path, pins={f"nyt/{VECTORS}": "0" * 64})
    assert list(part_of(tmp_path).parent.iterdir()) == []
    pins = {f"nyt/{VECTORS}": found, f"wiki/{TEST}": "0" * 64}
    assert_complete(fetch(server, tmp_path, pins=pins))


def test_a_cached_file_must_be_the_pinned_one(server: PaperServer, tmp_path: Path) -> None:
    fetch(server, tmp_path)
    with pytest.raises(DataError, match="wrong sha256"):
        fetch(server, tmp_path, pins={f"nyt/{VECTORS}": "0" * 64})


def test_the_pins_are_checksums_of_known_files() -> None:
    for key, pin in PINS.items():
        name, file = key.split("/")
        assert name in datasets.DATASETS
        assert file in {TRAIN, TEST, *VECTOR_FILES.values()}
        assert len(bytes.fromhex(pin)) == 32


@pytest.mark.parametrize("no_length", [False, True])
def test_a_file_longer_than_listed_is_refused(
    server: PaperServer, tmp_path: Path, no_length: bool
) -> None:
    server.always_fail(RAW, Fault(body=BIG + b"more", no_length=no_length))
    with pytest.raises(DataError, match="more than the 300000 bytes"):
        fetch(server, tmp_path)
    assert not part_of(tmp_path).with_suffix("").exists()


@pytest.mark.parametrize(
    "name",
    ["../evil", "/tmp/evil", "a/evil", "..", ".evil", "manifest.json", "evil\0", "README.md"],
)
def test_other_names_are_passed_over(server: PaperServer, tmp_path: Path, name: str) -> None:
    server.files["evil"] = b"evil"
    server.extra_rows = [
        row(name, b"evil", f"{server.root}/raw/evil"),
        {"name": name},
        {"name": VECTORS, "type": "dir"},
    ]
    assert_complete(fetch(server, tmp_path / "cache"))
    assert server.asked("/raw/evil") == []
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"\xff\xfe\x00",
        b"",
        b"7",
        b"null",
        b'{"message": "Not Found"}',
        b'["train-cold.set"]',
        b'[{"name": ["test.set"], "type": "file"}]',
        b'[{"name": "test.set", "type": "file"}]',
        b'[{"name": "test.set", "type": "file", "size": "x", "sha": "", "download_url": ""}]',
        b'[{"name": "test.set", "type": "file", "size": null, "sha": "", "download_url": ""}]',
        b"[" * 100_000,
    ],
)
def test_nonsense_is_no_listing(server: PaperServer, tmp_path: Path, body: bytes) -> None:
    server.always_fail(LISTING, Fault(body=body))
    with pytest.raises(DataError, match=f"{server.home}/NYT: not a listing"):
        fetch(server, tmp_path)


@pytest.mark.parametrize("name", [TRAIN, TEST])
def test_a_listing_without_the_sets_is_refused(
    server: PaperServer, tmp_path: Path, name: str
) -> None:
    del server.files[f"NYT/{name}"]
    with pytest.raises(DataError, match=f"the listing lacks {name}"):
        fetch(server, tmp_path)


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


def test_an_unknown_name_is_told_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nyt, wiki, pubmed: '\.\./nyt'"):
        fetch_dataset("../nyt", cache=tmp_path)


def test_a_cache_that_cannot_be_written_is_named(server: PaperServer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=f"{tmp_path}/file.*: Not a directory"):
        fetch(server, tmp_path / "file")


# A local copy


def local_copy(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "README.md").write_text("not data")
    return folder


@pytest.mark.parametrize("inner", ["", "nyt", "NYT", "Nyt"])
def test_a_local_copy_needs_no_network(tmp_path: Path, inner: str) -> None:
    local_copy(tmp_path / "copy" / inner)
    calls: list[tuple[str, int, int]] = []
    dataset = fetch_dataset(
        "nyt",
        home="http://127.0.0.1:1",
        cache=tmp_path / "cache",
        source=tmp_path / "copy",
        pins={f"nyt/{VECTORS}": hashlib.sha256(BIG).hexdigest()},
        progress=lambda *call: calls.append(call),
    )
    assert_complete(dataset)
    assert sorted(calls) == sorted((n, len(c), len(c)) for n, c in FILES.items())
    again = fetch_dataset("nyt", home="http://127.0.0.1:1", cache=tmp_path / "cache", pins={})
    assert again == dataset


def test_a_local_copy_replaces_what_is_cached(server: PaperServer, tmp_path: Path) -> None:
    fetch(server, tmp_path / "cache")
    source = local_copy(tmp_path / "copy", {TRAIN: b"new", TEST: b"newer"})
    dataset = fetch(server, tmp_path / "cache", source=source)
    assert dataset.training_sets.read_bytes() == b"new"
    assert dataset.vectors == {}
    assert fetch(server, tmp_path / "cache") == dataset


def test_a_wrong_local_copy_changes_nothing(server: PaperServer, tmp_path: Path) -> None:
    dataset = fetch(server, tmp_path / "cache")
    source = local_copy(tmp_path / "copy", {VECTORS: b"good", TRAIN: b"bad", TEST: b"good"})
    wrong = hashlib.sha256(b"bad").hexdigest()
    pins = {f"nyt/{TRAIN}": "0" * 64}
    with pytest.raises(DataError, match=f"{source / TRAIN}: .*expected {'0' * 64}, found {wrong}"):
        fetch(server, tmp_path / "cache", source=source, pins=pins)
    assert_complete(dataset)
    server.seen.clear()
    assert fetch(server, tmp_path / "cache") == dataset
    assert server.seen == []


def test_a_local_copy_must_hold_the_sets(tmp_path: Path) -> None:
    source = local_copy(tmp_path / "copy", {TRAIN: b"", VECTORS: b""})
    with pytest.raises(DataError, match=r"copy: neither .* 'nyt' .* train-cold.set and test.set"):
        fetch_dataset("nyt", cache=tmp_path, source=source)
    with pytest.raises(DataError, match="gone: not a folder"):
        fetch_dataset("nyt", cache=tmp_path, source=tmp_path / "gone")
