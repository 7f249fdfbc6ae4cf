"""The run folder: its manifest, and stages that are skipped when nothing changed.

A stage is known by the hash of its settings, of the files it reads and of the program's version.
Its artefacts are written first, each whole or not at all, and its entry in the manifest last; so
whenever a run is broken off, what the manifest lists is good, and the rest is done again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from synsetmine import __version__
from synsetmine.errors import DataError, SynsetmineError, quantity_of_plural
from synsetmine.io.files import check_plain, read_json, remove_left_parts, sha256, write_json
from synsetmine.schema import to_record

MANIFEST = "manifest.json"
LOCK = ".lock"
FORMAT = "synsetmine-run 1"
STAGES = (
    "read",
    "knowledge",
    "link",
    "supervise",
    "vocabulary",
    "vectors",
    "encode",
    "train",
    "mine",
    "evaluate",
    "report",
)
MODEL_FILES = ("config.json", "model.safetensors", "vectors.safetensors", "checkpoint.safetensors")
PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "torch", "pyarrow", "duckdb", "daachorse", "gensim"),
    "sentence-transformers",
)

# What the manifest must say of each stage and each file for a run to go on from it.
_KINDS: dict[str, dict[str, Any]] = {
    "stages": {"inputs": list, "counts": dict, "outputs": dict, "seconds": int | float},
    "files": {"size": int, "time": int, "sha256": str},
}


@dataclass(frozen=True)
class SkippedRecords:
    """Records of one problem that a stage left out, with the first few as examples."""

    problem: str
    count: int
    examples: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """What a stage reports: the labelled fields of its class are counts, and `figures` are more.

    The manifest keeps it, and the command line and the report print it.
    """

    figures: Mapping[str, int | float] = field(default_factory=dict)  # by name
    skipped: Sequence[SkippedRecords] = ()
    notes: Sequence[str] = ()  # warnings
    summary: Sequence[str] = ()  # sentences on the outcome of the run

    @property
    def counts(self) -> Mapping[str, int | float]:
        return {**to_record(self), **self.figures}

    @property
    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]] | None:
        """Details for a terminal: the names of the columns, and rows."""
        return None

    def __str__(self) -> str:
        """The counts on one line."""
        return ", ".join(
            quantity_of_plural(n, what) if isinstance(n, int) else f"{n} {what}"
            for what, n in self.counts.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Counts and whatever else is not empty, in one object of JSON."""
        others = {name: value for name in _OTHERS if (value := getattr(self, name))}
        if self.skipped:
            others["skipped"] = [asdict(records) for records in self.skipped]
        return {**self.counts, **others}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> StageResult:
        """The result as the manifest has it: all counts are figures."""
        others = {name: record[name] for name in _OTHERS if name in record}
        if "skipped" in others:
            others["skipped"] = [SkippedRecords(**records) for records in others["skipped"]]
        figures = {name: value for name, value in record.items() if name not in _OTHERS}
        return StageResult(figures=figures, **others)


_OTHERS = [each.name for each in fields(StageResult) if each.name != "figures"]


@dataclass(frozen=True)
class StageRecord:
    """What the manifest says of a stage that is done."""

    inputs: Sequence[str]
    outputs: Mapping[str, str]  # file to hash
    seconds: float
    result: StageResult
    key: str = ""  # hash of settings, inputs and version
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    finished: str = ""

    def to_dict(self) -> dict[str, Any]:
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        result: StageResult = record.pop("result")
        return record | {"counts": result.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> StageRecord:
        others = {name: value for name, value in record.items() if name != "counts"}
        return cls(**others, result=StageResult.from_dict(record["counts"]))


class Watcher(Protocol):
    """Receives the progress of a run; the command line shows it."""

    def on_start(self, stage: str) -> None: ...

    def progress(self, done: int, total: int, note: str = "") -> None: ...

    def on_finish(self, stage: str, record: StageRecord, *, skipped: bool) -> None: ...


@dataclass(frozen=True)
class Stage:
    """One step of a run: what it depends on, what it writes, and the work itself."""

    name: str
    settings: Mapping[str, Any]
    inputs: Sequence[Path]
    outputs: Sequence[Path]
    work: Callable[[], StageResult] = field(compare=False)


class Artefacts:
    """The files of a run folder, which may come from other people: only plain files are opened.

    The folder itself may be a link: the user has named it.
    """

    def __init__(self, folder: Path) -> None:
        self.manifest = folder / MANIFEST
        self.lock = folder / LOCK
        self.documents = folder / "documents.parquet"
        self.knowledge = folder / "knowledge.arrow"
        self.matcher = folder / "knowledge.matcher"
        self.mentions = folder / "mentions.parquet"
        self.links = folder / "links.tsv"
        self.words = folder / "words.parquet"
        self.runs = folder / "runs.parquet"
        self.abbreviations = folder / "abbreviations.parquet"
        self.training = folder / "training.jsonl"
        self.test = folder / "test.jsonl"
        self.alone = folder / "alone.jsonl"
        self.known = (self.training, self.alone)  # what may be known when the rest is scored
        self.names = folder / "names.tsv"
        self.rejected = folder / "rejected.tsv"
        self.supervision = folder / "supervision.json"
        self.vocabulary = folder / "vocabulary.tsv"
        self.evidence = folder / "evidence.parquet"
        self.places = folder / "places.parquet"
        self.cooccurrence = folder / "cooccurrence.safetensors"
        self.vectors = folder / "vectors.safetensors"
        self.encoded = folder / "encoded.safetensors"
        self.model = folder / "model"
        self.mined = folder / "mined.jsonl"
        self.mined_without_test = folder / "mined-without-test.jsonl"
        self.trace = folder / "trace.jsonl"
        self.candidates = folder / "candidates.parquet"
        self.rehearsal = folder / "rehearsal.json"
        self.scores = folder / "scores.json"
        self.report = folder / "report.html"
        self.reviews = folder / "reviews.sqlite"
        self.decisions = folder / "reviews.tsv"  # the same, as it was when the model was trained
        self.spotlight_cache = folder / "spotlight.sqlite"
        if self.model.is_symlink():
            check_plain(self.model)
        files = [path for path in vars(self).values() if isinstance(path, Path)]
        for path in [*files, *(self.model / name for name in MODEL_FILES)]:
            if path != self.model:
                check_plain(path)


class RunFolder:
    """A folder with the artefacts of a run and the manifest that vouches for them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = Artefacts(path)
        self._stages, self._files = self._read()

    @property
    def stages(self) -> Mapping[str, StageRecord]:
        """What the manifest says of each stage that is done, in their order."""
        return {name: self._stages[name] for name in STAGES if name in self._stages}

    @property
    def results(self) -> dict[str, StageResult]:
        """What each stage that is done reported."""
        return {name: record.result for name, record in self.stages.items()}

    @property
    def summary(self) -> list[str]:
        """Sentences on the outcome of the stages that are done."""
        return [line for result in self.results.values() for line in result.summary]

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep a second run out of this folder."""
        if self.path.is_dir() and any(self.path.iterdir()) and not self._begun():
            raise SynsetmineError(
                f"{self.path} contains other files; name an empty folder for the run"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        with self._at.lock.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SynsetmineError(f"another run is using {self.path}") from None
            for folder in (self.path, self._at.model):
                remove_left_parts(folder)
            yield

    def _begun(self) -> bool:
        return self._at.lock.exists() or self._at.manifest.exists()

    def carry_out(self, stage: Stage, watcher: Watcher) -> None:
        """Do a stage, unless the manifest knows it done with the same settings and inputs."""
        key = self._key(stage)
        record = self._stages.get(stage.name)
        if record is not None and record.key == key and self._is_intact(record, stage):
            watcher.on_finish(stage.name, record, skipped=True)
            return
        watcher.on_start(stage.name)
        self._stages.pop(stage.name, None)
        self._write()
        begin = time.monotonic()
        result = stage.work()
        record = StageRecord(
            key=key,
            settings=dict(stage.settings),
            versions=versions(),
            inputs=[path.name for path in stage.inputs],
            seconds=round(time.monotonic() - begin, 2),
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            result=result,
            outputs={
                path.relative_to(self.path).as_posix(): self._hash(path) for path in stage.outputs
            },
        )
        self._stages[stage.name] = record
        self._write()
        watcher.on_finish(stage.name, record, skipped=False)

    def _key(self, stage: Stage) -> str:
        described = {
            "stage": stage.name,
            "version": __version__,
            "settings": dict(stage.settings),
            "inputs": [[path.name, self._hash(path)] for path in stage.inputs],
        }
        text = json.dumps(described, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def _is_intact(self, record: StageRecord, stage: Stage) -> bool:
        """Whether the artefacts are still there as the manifest knows them."""
        return all(
            path.is_file()
            and record.outputs.get(path.relative_to(self.path).as_posix()) == self._hash(path)
            for path in stage.outputs
        )

    def _hash(self, path: Path) -> str:
        """The hash of a file's content; taken again only if its size or a time changed.

        A program that writes another content of the same size can set the time of the content
        back, but not that of the last change.
        """
        stat = path.stat()
        name = str(path.relative_to(self.path) if path.is_relative_to(self.path) else path)
        known = self._files.get(name)
        state = {"size": stat.st_size, "time": stat.st_mtime_ns, "changed": stat.st_ctime_ns}
        if known is None or state != {key: known.get(key) for key in state}:
            known = {**state, "sha256": sha256(path)}
            self._files[name] = known
        return str(known["sha256"])

    def _read(self) -> tuple[dict[str, StageRecord], dict[str, Any]]:
        """The stages and files of the manifest; none without one."""
        path = self._at.manifest
        if not path.exists():
            return {}, {}
        try:
            manifest = read_json(path)
        except DataError as error:
            raise SynsetmineError(f"{error}; delete it to start over") from error
        if not isinstance(manifest, dict) or (written := manifest.get("format")) is None:
            raise DataError("not the manifest of a run", path=path)
        if written != FORMAT:
            problem = f"unsupported version; this synsetmine reads {FORMAT!r}"
            raise DataError(problem, path=path, value=written)
        for name, kinds in _KINDS.items():
            parts = manifest.get(name, {})
            if not isinstance(parts, dict) or not all(_has(part, kinds) for part in parts.values()):
                raise DataError(f"broken {name}; delete the manifest to start over", path=path)
        recorded = manifest.get("stages", {})
        try:
            stages = {name: StageRecord.from_dict(record) for name, record in recorded.items()}
        except (TypeError, KeyError) as error:
            problem = "broken stages; delete the manifest to start over"
            raise DataError(problem, path=path) from error
        return stages, manifest.get("files", {})

    def _write(self) -> None:
        manifest = {
            "format": FORMAT,
            "versions": versions(),
            "stages": {name: record.to_dict() for name, record in self._stages.items()},
            "files": self._files,
        }
        write_json(self._at.manifest, manifest)


def is_run(folder: Path) -> bool:
    """Whether a folder has a manifest, of whatever kind: opening the run refuses a wrong one."""
    return (folder / MANIFEST).exists()


def is_artefact(path: Path) -> bool:
    """Whether a run has this file, or may have it later; the report may be written again."""
    path = path.resolve()
    own = Artefacts(Path(os.devnull))  # names alone: there are no files below it
    names = {file.name for file in vars(own).values() if isinstance(file, Path)}
    names -= {own.report.name, own.model.name}
    names |= {f"{own.model.name}/{name}" for name in MODEL_FILES}
    names |= {f"{own.reviews.name}{suffix}" for suffix in ("-wal", "-shm", "-journal")}
    folders = [folder for folder in path.parents[:2] if is_run(folder)]
    return any(path.relative_to(folder).as_posix() in names for folder in folders)


def no_run(folder: Path, missing: str = "mined sets") -> SynsetmineError:
    """The error for a folder that is no run, or a run that lacks something."""
    if not folder.exists():
        return DataError("no such folder", path=folder, hint="`synsetmine run` writes one")
    problem = f"not a run folder with {missing}"
    return DataError(problem, path=folder, hint="`synsetmine run` writes one, or completes it")


def _has(part: object, kinds: Mapping[str, Any]) -> bool:
    return isinstance(part, dict) and all(isinstance(part.get(n), k) for n, k in kinds.items())


def versions() -> dict[str, str]:
    """The versions of everything that has a say in the result."""
    installed = {"synsetmine": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed
