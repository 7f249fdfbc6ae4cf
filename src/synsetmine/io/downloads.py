"""The data sets of the paper, downloaded on request, and checks of web addresses."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from synsetmine.errors import DataError, choose_among
from synsetmine.io.files import atomic_write, cache_root, sha256, write_text

_CHUNK = 1 << 16


class BrokenError(Exception):
    """A failure that may pass: worth another attempt."""


def receive(url: str, limit: int, timeout: float) -> Iterator[bytes]:
    """The bytes at an address, at most `limit`."""
    check_address(url)
    size = 0
    try:
        request = Request(  # noqa: S310
            url, headers={"User-Agent": "synsetmine", "Accept-Encoding": "identity"}
        )
        with urlopen(request, timeout=timeout) as response:  # noqa: S310
            check_address(response.url)  # after redirects
            while chunk := response.read1(_CHUNK):
                size += len(chunk)
                if size > limit:
                    raise DataError(f"{redact(url)}: sent more than the {limit} bytes expected")
                yield chunk
            if response.length:
                raise BrokenError(f"ended {response.length} bytes early")
    except HTTPError as error:
        error.close()
        message = " ".join(f"{error.code} {error.reason}".split())
        if error.code >= 500 or error.code in (408, 429):
            raise BrokenError(message) from error
        raise DataError(f"{redact(url)}: {message}") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)  # of an unknown host, for example
        message = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        raise BrokenError(message) from error


def check_address(url: str) -> None:
    """Refuse what is no address of the web, and one with a user or password."""
    if not is_web_address(url) or re.search(r"[^!-~]", url):
        raise DataError("not a usable http(s) address", value=redact(url))
    if "@" in urlsplit(url).netloc:
        raise DataError("addresses with a user or password are not supported", value=redact(url))


T = TypeVar("T")
Progress = Callable[[str, int, int], None]

DATASETS: Mapping[str, str] = {"nyt": "NYT", "wiki": "Wiki", "pubmed": "PubMed"}
DEFAULT_HOME = "https://api.github.com/repos/mickeystroller/SynSetMine-pytorch/contents/data"
TRAINING_SETS = "train-cold.set"
TEST_SETS = "test.set"
VECTOR_FILES: Mapping[str, str] = {
    "word2vec": "combined.embed",
    "fasttext-no-subword": "combined.fastText-no-subword.embed",
    "fasttext-with-subword": "combined.fastText-with-subword.embed",
}
# sha256 of the known copies; the other files have only the hash in the listing to be checked by.
PINS: Mapping[str, str] = {
    "nyt/combined.embed": "16fdd0c1686645a7e56e0194f92705e014161d596f34edfc50de59d2bf64eebb",
    "nyt/combined.fastText-no-subword.embed": (
        "e03a5fac024729b84190d2c067d4ae0111367d9f74a95df1882fe393cc6734a8"
    ),
    "nyt/combined.fastText-with-subword.embed": (
        "53c0b01297f0db27c9ef7b4d380f4244616f787af455d73e10f2418cc66e1962"
    ),
    "nyt/test.set": "8a927215275ba4f5d84571b103c0d75ca414f1e75cafd4c808018ed2f1a6d4eb",
    "nyt/train-cold.set": "28c048aac95ee1d9230f05aeaa51cecb0bc426594a0cd9e2b14ce69b930c58db",
    "pubmed/test.set": "c70417235539a076a377536e517173c49699e9a3f44edf5084a6bc09996ea534",
    "pubmed/train-cold.set": "ebc9c797b5c05d2f15acbbaeb3de114858eaa98bed857373088f3a14b889e2a5",
}

_REQUIRED = frozenset({TRAINING_SETS, TEST_SETS})
_KNOWN = _REQUIRED | frozenset(VECTOR_FILES.values())
_MANIFEST = "manifest.json"
_LISTING_LIMIT = 1_000_000  # bytes
_LARGEST = 1 << 30  # bytes of a file; the listing may say anything
_LONGEST_PAUSE = 30.0  # seconds


@dataclass(frozen=True)
class Dataset:
    """A benchmark on disk; `vectors` has those files of `VECTOR_FILES` that the dataset has."""

    name: str
    folder: Path
    training_sets: Path
    test_sets: Path
    vectors: Mapping[str, Path]


def fetch_dataset(
    name: str,
    *,
    home: str = DEFAULT_HOME,
    cache: str | Path | None = None,
    source: str | Path | None = None,
    progress: Progress | None = None,
    retries: int = 4,
    timeout: float = 30,
    backoff: float = 0.5,
    pins: Mapping[str, str] = PINS,
) -> Dataset:
    """The dataset from the cache or, the first time, from `home` or from a local copy `source`.

    A broken download is repeated up to `retries` times a file, after pauses of `backoff` seconds
    that double. `progress` is called with (file name, bytes done, bytes in all). A `source` given
    always replaces what the cache holds.
    """
    if name not in DATASETS:
        raise DataError("no such dataset", value=name, hint=choose_among(name, DATASETS))
    folder = (Path(cache) if cache else cache_root()) / "datasets" / name
    own_pins = {file: pins[key] for file in _KNOWN if (key := f"{name}/{file}") in pins}
    fetch = _Fetch(folder, own_pins, progress or (lambda *_: None), retries, timeout, backoff)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if source is not None:
            files = fetch.copy(_find_copy(Path(source), name))
        else:
            url = f"{home.rstrip('/')}/{DATASETS[name]}"
            files = fetch.find_files() or fetch.download(url)
    except OSError as error:
        problem = error.strerror or str(error)
        raise DataError(problem, path=error.filename or folder) from error
    vectors = {key: folder / file for key, file in VECTOR_FILES.items() if file in files}
    return Dataset(name, folder, folder / TRAINING_SETS, folder / TEST_SETS, vectors)


def _find_copy(source: Path, name: str) -> Path:
    """The folder itself, or the one in it that has the dataset's name in any case."""
    if not source.is_dir():
        raise DataError("not a folder", path=source)
    inner = sorted(path for path in source.iterdir() if path.name.lower() == name)
    for folder in (*inner, source):
        if all((folder / file).is_file() for file in _REQUIRED):
            return folder
    names = f"{TRAINING_SETS} and {TEST_SETS}"
    raise DataError(f"{names} not found in this folder or in its folder {name!r}", path=source)


@dataclass(frozen=True)
class _Fetch:
    """Fills one cache folder; each way in returns the names of the dataset's files."""

    folder: Path
    pins: Mapping[str, str]
    progress: Progress
    retries: int
    timeout: float  # seconds
    backoff: float  # seconds

    def find_files(self) -> list[str] | None:
        """The files of a finished dataset; None where one is missing, cut, or not the pinned."""
        try:
            manifest = json.loads((self.folder / _MANIFEST).read_text("utf-8"))
            intact = _REQUIRED <= manifest.keys() <= _KNOWN and all(
                (self.folder / name).stat().st_size == facts["size"]
                and self.pins.get(name, facts["sha256"]) == facts["sha256"]
                for name, facts in manifest.items()
            )
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None  # a manifest that cannot be used counts as none
        return list(manifest) if intact else None

    def copy(self, source: Path) -> list[str]:
        names = sorted(name for name in _KNOWN if (source / name).is_file())
        for name in names:  # all are checked before the first changes anything
            if problem := _mismatch(source / name, self.pins.get(name)):
                raise DataError(problem, path=source / name)
        (self.folder / _MANIFEST).unlink(missing_ok=True)
        for name in names:
            with atomic_write(self.folder / name) as temporary:
                shutil.copyfile(source / name, temporary)
            size = (self.folder / name).stat().st_size
            self.progress(name, size, size)
        return self._finish(names)

    def download(self, url: str) -> list[str]:
        entries = self._retry(url, lambda: _listing(url, self.timeout))
        (self.folder / _MANIFEST).unlink(missing_ok=True)
        for entry in entries:
            target = self.folder / entry.name
            pin = self.pins.get(entry.name)
            if not target.is_file() or _mismatch(target, pin, entry.sha):
                self._retry(entry.url, lambda: self._download_file(entry, target, pin))  # noqa: B023
            self.progress(entry.name, entry.size, entry.size)
        return self._finish([entry.name for entry in entries])

    def _retry(self, url: str, action: Callable[[], T]) -> T:
        attempt = 0
        while True:
            try:
                return action()
            except BrokenError as error:
                if attempt >= self.retries:
                    tried = f"{error} (attempt {attempt + 1}, the last)"
                    raise DataError(f"{redact(url)}: {tried}") from error
            time.sleep(min(self.backoff * 2**attempt, _LONGEST_PAUSE))
            attempt += 1

    def _download_file(self, entry: _Entry, target: Path, pin: str | None) -> None:
        done = 0
        with atomic_write(target) as temporary:
            with temporary.open("wb") as stream:
                for chunk in receive(entry.url, entry.size, self.timeout):
                    done += stream.write(chunk)
                    self.progress(entry.name, done, entry.size)
            if done != entry.size:
                raise BrokenError(f"ended after {done} of {entry.size} bytes")
            if problem := _mismatch(temporary, pin, entry.sha):
                raise DataError(problem, path=target)

    def _finish(self, names: list[str]) -> list[str]:
        """Write the manifest: from now on the network is not asked any more."""
        manifest = {}
        for name in names:
            path = self.folder / name
            manifest[name] = {"size": path.stat().st_size, "sha256": sha256(path)}
        write_text(self.folder / _MANIFEST, json.dumps(manifest, indent=2) + "\n")
        return names


def _mismatch(path: Path, pin: str | None, git_hash: str | None = None) -> str | None:
    """What is wrong with a file's checksums, if anything."""
    if git_hash is not None:
        header = b"blob %d\0" % path.stat().st_size
        with path.open("rb") as stream:
            blob = hashlib.file_digest(stream, lambda: hashlib.sha1(header, usedforsecurity=False))
        if (digest := blob.hexdigest()) != git_hash:
            return f"wrong git hash: expected {git_hash}, found {digest}"
    if pin is not None and (digest := sha256(path)) != pin:
        return f"wrong sha256: expected {pin}, found {digest}"
    return None


def _listing(url: str, timeout: float) -> list[_Entry]:
    """Read a folder in GitHub's contents API; files that no dataset has are passed over."""
    body = b"".join(receive(url, _LISTING_LIMIT, timeout))
    entries: dict[str, _Entry] = {}
    try:
        for row in json.loads(body):
            # Only known names get through, so none can point outside the cache.
            if (name := row["name"]) in _KNOWN and row["type"] == "file":
                size, url_of_file = int(row["size"]), str(row["download_url"])
                entries[name] = _Entry(name, size, str(row["sha"]), url_of_file)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        problem = f"{redact(url)}: not a listing of GitHub's contents API"
        raise DataError(problem, value=body) from error
    if missing := sorted(_REQUIRED - entries.keys()):
        raise DataError(f"{redact(url)}: the listing lacks {' and '.join(missing)}")
    for entry in entries.values():
        if not 0 <= entry.size <= _LARGEST:
            problem = f"{entry.name} is listed with {entry.size} bytes; expected 0 to {_LARGEST:,}"
            raise DataError(f"{redact(url)}: {problem}")
        check_address(entry.url)
    return list(entries.values())


@dataclass(frozen=True)
class _Entry:
    """One file in the listing; `sha` is its git blob hash."""

    name: str
    size: int
    sha: str
    url: str


_CREDENTIALS = re.compile(r"(\A|//)[^/?#]*@")


def is_web_address(url: str) -> bool:
    """Whether it names a host that HTTP may reach."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def redact(url: str) -> str:
    """An address without what may be secret in it: user and password, and what follows a `?`.

    >>> shown("https://me:secret@example.org/data?token=abc")
    'https://example.org/data?…'
    """
    address, mark, _ = _CREDENTIALS.sub(r"\1", url).partition("?")
    return f"{address}?…" if mark else address
