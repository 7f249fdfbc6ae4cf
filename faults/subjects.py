"""The commands that are killed, each in a small world of its own, and how they are judged."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from safetensors import safe_open

from faults.asker import CACHE, NAMES, OUT
from faults.reviewer import RUN, TOLD, plan, write_plan
from synsetmine.io.files import sha256
from synsetmine.io.sets import write_sets
from synsetmine.linking.service import open_cache
from synsetmine.models.paper.tune import BEST, RESULTS
from synsetmine.models.storage import is_model, load_model
from synsetmine.pipeline.graph_files import read_table
from synsetmine.pipeline.plan import Merge, Plan, PlannedMember, read_plan
from synsetmine.pipeline.registry import read_registry
from synsetmine.review import ReviewStore
from synsetmine.runs.folder import MANIFEST, STAGES, Artefacts
from synsetmine.views import write_vectors
from tests.support.worlds import make_world, write_text_world

WORDS = tuple(f"{a}{b}" for a in ("attack", "beat", "failure", "rate", "valve") for b in "abcdef")
SYNSETMINE = (sys.executable, "-m", "synsetmine")
CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True)
class Subject:
    """A command that can be broken off and given again."""

    name: str
    command: tuple[str, ...]
    out: str  # the folder that it writes
    prepare: Callable[[Path], None]
    stage: Callable[[Path, str], str]  # where it is, by its folder and by what it said
    broken: Callable[[Path], list[str]]  # what a kill must not leave
    lost: Callable[[Path], list[str]] = lambda _: []  # what was promised and is not there


def result(folder: Path) -> dict[str, bytes]:
    """The files of a finished command, without the times that some of them tell."""
    return {
        path.relative_to(folder).as_posix(): content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def content(path: Path) -> bytes:
    """What a file says, without times."""
    found = path.read_bytes()
    if path.name == MANIFEST:
        return _timeless_manifest(found)
    if path.name == "report.html":
        return re.sub(rb'<time .*?</time>|<rect width="[\d.]+" height="4">|[\d.]+ s\b', b"", found)
    if path.name == "reviews.sqlite":
        with ReviewStore(path) as store:
            made = [(d.kind, d.reviewer, d.set_id, d.terms, d.members) for d in store.decisions()]
        return json.dumps(made).encode()
    if path.name == CACHE:
        return json.dumps(sorted(_answers(path))).encode()
    return found


def _timeless_manifest(text: bytes) -> bytes:
    found = json.loads(text)
    found["files"] = sorted(Path(name).name for name in found.get("files", {}))
    for record in found["stages"].values():
        record.pop("seconds")
        record.pop("finished", None)
    found["stages"].get("report", {}).pop("outputs", None)  # it tells times
    return json.dumps(found, sort_keys=True).encode()


# --- synsetmine run ---------------------------------------------------------------------------


def _prepare_run(folder: Path) -> None:
    project = write_text_world(folder, entities=16, mentions=6)
    quick = 'train = {preset = "project", epochs = 4, validation_orders = 1}'
    project.write_text(f"{project.read_text()}{quick}\n")


def _stage_of_run(_: Path, said: str) -> str:
    if not said:
        return "start"
    done = re.findall(r"^(\w+) \(", said, re.MULTILINE)
    return next((stage for stage in STAGES if stage not in done), "end")


def _broken_run(folder: Path) -> list[str]:
    """What the manifest vouches for must be there, unharmed."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        return []
    listed = json.loads(manifest.read_bytes())["stages"].values()
    outputs = [output for record in listed for output in record["outputs"].items()]
    return [name for name, digest in outputs if sha256(folder / name) != digest]


# --- synsetmine train -------------------------------------------------------------------------


def _prepare_training(folder: Path) -> None:
    sets, vectors = make_world(entities=24)
    write_sets(folder / "train.set", sets)
    write_vectors(folder / "vectors.txt", vectors)


def _stage_of_training(folder: Path, said: str) -> str:
    if not said:
        return "start"
    if is_model(folder):
        return "end"
    return "later epochs" if (folder / CHECKPOINT).exists() else "first epochs"


def _broken_model(folder: Path) -> list[str]:
    checkpoint = folder / CHECKPOINT
    if checkpoint.exists():
        with safe_open(checkpoint, framework="np") as stored:
            for name in stored.keys():  # noqa: SIM118 - it is no mapping
                stored.get_tensor(name)
    if is_model(folder):
        load_model(folder)
    return []


# --- synsetmine tune --------------------------------------------------------------------------


def _stage_of_tuning(folder: Path, said: str) -> str:
    results = folder / RESULTS
    done = results.read_text().count("\n") if results.exists() else 0
    if not said and not results.exists():
        return "start"
    return "end" if (folder / BEST).exists() else f"{done} folds done"


def _broken_tuning(folder: Path) -> list[str]:
    for path in (folder / RESULTS, folder / BEST):
        if path.exists():
            text = path.read_text()
            for whole in text.splitlines() if path.name == RESULTS else [text]:
                json.loads(whole)
    return []


# --- synsetmine review ------------------------------------------------------------------------


def _stage_of_review(folder: Path, said: str) -> str:
    told = folder.parent / TOLD
    if not said:
        return "start"
    return "decisions" if told.exists() and told.stat().st_size else "first page"


def _broken_reviews(folder: Path) -> list[str]:
    store = Artefacts(folder).reviews
    if not store.exists():
        return []
    with ReviewStore(store) as opened:
        made = [decision.set_id for decision in opened.decisions()]
    return [] if made == plan(folder)[: len(made)] else [f"{store.name}: {made}"]


def _lost_decisions(folder: Path) -> list[str]:
    """Those that the page confirmed; one more may have been kept than was told."""
    told = folder.parent / TOLD
    confirmed = told.read_text().splitlines() if told.exists() else []
    if not confirmed:
        return []
    with ReviewStore(Artefacts(folder).reviews) as opened:
        kept = {decision.set_id for decision in opened.decisions()}
    return [set_id for set_id in confirmed if set_id not in kept]


# --- synsetmine group, apply-plan -------------------------------------------------------------


def _prepare_names(folder: Path) -> None:
    variants = ("heart {}", "hearts {}", "the heart {}", "heart-{}")
    names = [form.format(word) for word in WORDS for form in variants]
    (folder / NAMES).write_text("".join(f"{name}\n" for name in names))
    rows = [f"{number},{name},thing,What {name} is.\n" for number, name in enumerate(names)]
    (folder / "entities.csv").write_text(f"id,name,type,description\n{''.join(rows)}")
    ends = [f"{one},{other}\n" for one, other in pairwise(names)]
    (folder / "relations.csv").write_text(f"source,target\n{''.join(ends)}")
    merges = []
    for number in range(0, len(names), len(variants)):
        members = tuple(map(PlannedMember, names[number : number + len(variants)]))
        merges.append(Merge(f"s{number}", members[0].name, members))
    Plan(tuple(merges)).write(folder / "plan.jsonl")


def _stage_of_files(folder: Path, _: str) -> str:
    """Which of the files there are; they are written one after the other."""
    return f"{len([*folder.glob('*.*')])} files" if folder.exists() else "start"


def _broken_graph(folder: Path) -> list[str]:
    for table in folder.glob("*.csv"):
        read_table(table)
    for name, read in (("registry.jsonl", read_registry), ("plan.jsonl", read_plan)):
        if (folder / name).exists():
            read(folder / name)
    return []


def _answers(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as opened:
        return {answer for (answer,) in opened.execute("SELECT answer FROM answers")}


def _broken_cache(folder: Path) -> list[str]:
    """Each answer that is there must be whole."""
    path = folder / CACHE
    if not path.exists():
        return []
    with open_cache(path):
        for answer in _answers(path):
            json.loads(answer)
    return []


_PAPERS = ("--preset", "paper", "--validate-every", "1", "--architecture", "both-20-40")
_TRAIN = ("train", "train.set", "-v", "vectors.txt", *_PAPERS, "--epochs", "20", "-o", "out")
_TUNE = ("tune", "train.set", "-v", "vectors.txt", "--epochs", "4", "--folds", "3", "-o", "out")
_GRID = ("--grid", "learning_rate=0.01,0.001", "--grid", "architecture=both-20-40")

_GROUP = ("group", "entities.csv", "--name-column", "name", "--id-column", "id")
_COLUMNS = ("--type-column", "type", "--context-column", "description")
_WRITTEN = ("--out", "out/sets.jsonl", "--plan", "out/plan.jsonl")
_APPLY = ("apply-plan", "plan.jsonl", "--entities", "entities.csv", "--relations", "relations.csv")
_MERGED = ("--out-dir", "out", "--registry", "out/registry.jsonl")

SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject(
            "run",
            (*SYNSETMINE, "run", "--workers", "1", "--device", "cpu"),
            "run",
            _prepare_run,
            _stage_of_run,
            _broken_run,
        ),
        Subject(
            "train",
            (*SYNSETMINE, *_TRAIN, "--device", "cpu"),
            "out",
            _prepare_training,
            _stage_of_training,
            _broken_model,
        ),
        Subject(
            "tune",
            (*SYNSETMINE, *_TUNE, *_GRID, "--device", "cpu"),
            "out",
            _prepare_training,
            _stage_of_tuning,
            _broken_tuning,
        ),
        Subject(
            "review",
            (sys.executable, "-m", "faults.reviewer"),
            RUN,
            write_plan,
            _stage_of_review,
            _broken_reviews,
            _lost_decisions,
        ),
        Subject(
            "group",
            (*SYNSETMINE, *_GROUP, *_COLUMNS, *_WRITTEN),
            "out",
            _prepare_names,
            _stage_of_files,
            _broken_graph,
        ),
        Subject(
            "apply-plan",
            (*SYNSETMINE, *_APPLY, *_MERGED),
            "out",
            _prepare_names,
            _stage_of_files,
            _broken_graph,
        ),
        Subject(
            "judge",
            (sys.executable, "-m", "faults.asker"),
            OUT,
            _prepare_names,
            _stage_of_files,
            _broken_cache,
        ),
    )
}
