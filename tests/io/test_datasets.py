"""The paper's data: fetched whole, kept in a cache, checked against pins and listings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from synsetmine.errors import DataError
from synsetmine.io import downloads
from synsetmine.io.downloads import PINS, VECTOR_FILES, fetch_dataset
from tests.support.paperfiles import (
    BIG,
    FILES,
    LISTING,
    TEST,
    TRAIN,
    VECTORS,
    assert_complete,
    fetch,
    part_of,
)
from tests.support.paperserver import Fault, PaperServer, row


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperServer]:
    monkeypatch.setenv("no_proxy", "*")
    with PaperServer({f"NYT/{name}": c for name, c in FILES.items()}).start() as running:
        yield running


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


# Pins and listings


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
        assert name in downloads.DATASETS
        assert file in {TRAIN, TEST, *VECTOR_FILES.values()}
        assert len(bytes.fromhex(pin)) == 32


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
    assert server.requests_to("/raw/evil") == []
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


def test_an_unknown_name_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'\.\./nyt'; expected one of nyt, wiki, pubmed"):
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
    with pytest.raises(DataError, match=r"copy: train-cold.set and test.set not found .* 'nyt'"):
        fetch_dataset("nyt", cache=tmp_path, source=source)
    with pytest.raises(DataError, match="gone: not a folder"):
        fetch_dataset("nyt", cache=tmp_path, source=tmp_path / "gone")
