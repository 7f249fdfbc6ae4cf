"""The same seed gives the same bytes, whatever the machine around it is like."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from synsetmine.io.sets import write_trace
from synsetmine.models import save_model, settings_of
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.settings import TrainingSettings
from synsetmine.models.paper.train import train_scorer
from synsetmine.types import order_terms
from synsetmine.views import TermViews
from tests.support.viewworlds import name_world
from tests.support.worlds import make_world, write_text_world

PRESETS = {
    "general": ([], ""),
    "paper": (
        ["--preset", "project", "--epochs", "5", "--validation-orders", "1"],
        'train = {preset = "project", epochs = 5, validation_orders = 1}\n',
    ),
}
TIMES = {"manifest.json", "report.html"}  # they tell when it was, and how long it took


@dataclass(frozen=True)
class Around:
    """What a command finds around it."""

    environment: Mapping[str, str]
    workers: int
    elsewhere: bool = False  # the current folder is not that of the project


HERE = Around({"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.utf8"}, 1)
OTHERS = {
    "threads, workers, folder": Around(
        {"OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
        workers=2,
        elsewhere=True,
    ),
    "random hashes": Around(
        {
            "OMP_NUM_THREADS": "2",
            "PYTHONHASHSEED": "random",
            "TZ": "America/St_Johns",
            "LC_ALL": "",
            "LANG": "tr_TR.UTF-8",  # where an I in small letters has no dot
        },
        workers=1,
    ),
}


def command(around: Around, folder: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "synsetmine", *arguments],
        cwd=folder,
        # Threads that wait for each other take turns: the machine may have fewer cores.
        env={**os.environ, "OMP_WAIT_POLICY": "passive", **around.environment},
        check=True,
        capture_output=True,
    )


def results(around: Around, folder: Path, preset: str) -> dict[str, bytes]:
    """All files of a whole run, and of `train` and `mine` on what it has learned from."""
    training, setting = PRESETS[preset]
    project = write_text_world(folder)
    project.write_text(project.read_text() + setting)
    place, workers = folder / "there", ["--workers", str(around.workers)]
    place.mkdir()
    here = place if around.elsewhere else folder
    command(around, here, "run", str(project), "--device", "cpu", *workers)
    at = folder / "run"
    vectors = ["--vectors", str(at / "vectors.safetensors"), "--device", "cpu"]
    learned = [str(at / "training.jsonl"), "--out", str(folder / "model"), *vectors]
    command(around, here, "train", *learned, *training)
    terms = ["--vocabulary", str(at / "vocabulary.tsv"), "--order", "frequent"]
    out = ["--out", str(folder / "mined.jsonl"), "--trace", str(folder / "trace.jsonl")]
    command(around, here, "mine", str(folder / "model"), *vectors, *terms, *out)
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module", params=PRESETS)
def expected(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, bytes]]:
    """A preset, and the files that it gives."""
    return request.param, results(HERE, tmp_path_factory.mktemp("here"), request.param)


@pytest.mark.slow
@pytest.mark.parametrize("around", OTHERS.values(), ids=OTHERS)
def test_what_is_around_a_command_changes_no_byte(
    tmp_path: Path, expected: tuple[str, dict[str, bytes]], around: Around
) -> None:
    preset, files = expected
    assert {"mined.jsonl", "trace.jsonl", "run/mined.jsonl", "run/report.html"} <= set(files)
    assert {"model/model.safetensors", "run/model/model.safetensors"} <= set(files)
    found = results(around, tmp_path, preset)
    assert set(found) == set(files)
    differ = [path for path in found if found[path] != files[path]]
    assert {Path(path).name for path in differ} <= TIMES, differ


def merged(around: Around, folder: Path) -> dict[str, bytes]:
    """All files of `group` with contexts and a plan, of `apply-plan` and of `abbreviations`."""
    things = [f"{place} {part}" for place in ("Ithaca", "Ílion") for part in ["station", "museum"]]
    forms = ("{}", "the {}", "{}s", "{} (I)")
    names = [form.format(thing) for thing in things for form in forms]
    rows = [f"{n},{name},place,A {name} is near {names[n - 1]}.\n" for n, name in enumerate(names)]
    (folder / "e.csv").write_text(f"id,name,type,context\n{''.join(rows)}", "utf-8")
    here = folder / "there" if around.elsewhere else folder
    here.mkdir(exist_ok=True)
    columns = ["--name-column", "name", "--id-column", "id", "--type-column", "type"]
    table, plan = str(folder / "e.csv"), str(folder / "plan.jsonl")
    out = ["--out", str(folder / "sets.jsonl"), "--plan", plan, "--precision", "bold"]
    command(around, here, "group", table, *columns, "--context-column", "context", *out)
    out = ["--out-dir", str(folder / "out"), "--registry", str(folder / "registry.jsonl")]
    command(around, here, "apply-plan", plan, "--entities", table, *out)
    (folder / "t.txt").write_text("A magnetic resonance (MR) image.\nA heart attack (HA).\n")
    short = str(folder / "short.tsv")
    command(around, here, "abbreviations", str(folder / "t.txt"), "--out", short)
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.slow
def test_what_is_around_changes_no_plan_and_no_merged_table(tmp_path: Path) -> None:
    files = []
    for number, around in enumerate((HERE, *OTHERS.values())):
        folder = tmp_path / str(number)
        folder.mkdir()
        files.append(merged(around, folder))
    assert b"Ithaca" in files[0]["plan.jsonl"]
    assert {"sets.jsonl", "out/e.csv", "registry.jsonl", "short.tsv"} <= set(files[0])
    assert files[0] == files[1] == files[2]


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets the number of torch's threads; afterwards it is as before."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_the_default_model_twice_is_the_same(tmp_path: Path) -> None:
    sets, views = name_world(150, seed=3)
    models = []
    for name in "ab":
        save_model(tmp_path / name, settings_of().train(sets, views).model)
        models.append((tmp_path / name / "model.safetensors").read_bytes())
    assert models[0] == models[1]


def test_threads_leave_the_papers_model_as_it_is(threads: Callable[[int], None]) -> None:
    sets, vectors = make_world(entities=60, dimension=50)
    settings = TrainingSettings(epochs=3, validate_every=3, validation_orders=1)
    weights: list[list[torch.Tensor]] = []
    for count in (1, 2):
        threads(count)
        trained = train_scorer(sets, vectors, settings)
        weights.append(list(trained.scorer.state_dict().values()))
    assert all(torch.equal(one, two) for one, two in zip(*weights, strict=True))


def test_blocks_and_threads_leave_sets_and_trace_as_they_are(
    tmp_path: Path, threads: Callable[[int], None]
) -> None:
    """Scores of some size, whose last digits float32 does not know."""
    sets, vectors = make_world(entities=100, dimension=50)
    scorer = SetScorer(dimension=50, seed=7)
    with torch.no_grad():
        for weight in scorer.parameters():
            weight.mul_(1.5)
    terms = order_terms(sets.terms, "random", seed=1)
    written = set()
    for count, size in ((1, 1), (1, 7), (2, 32), (1, 1000)):
        threads(count)
        prepared = scorer.prepare(terms, TermViews((vectors,)))
        mined = prepared.generate(block_size=size)
        write_trace(tmp_path / "trace.jsonl", mined.trace)
        written.add((mined.sets, (tmp_path / "trace.jsonl").read_bytes()))
    assert len(written) == 1
    assert {decision.action for decision in mined.trace} == {"joined", "opened"}
