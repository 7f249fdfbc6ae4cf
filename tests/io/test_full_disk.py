"""A run on too small a disk: one clear line, nothing half-written, and on with more room."""

from __future__ import annotations

import re
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.subjects import result
from synsetmine.engines import LocalEngine
from synsetmine.errors import SynsetmineError
from synsetmine.io.files import atomic_write, disk_errors
from synsetmine.models.paper.settings import PRESETS
from synsetmine.models.paper.tune import tune
from synsetmine.pipeline.project import read_project
from synsetmine.pipeline.run import run_project
from synsetmine.views import write_vectors
from tests.pipeline.test_run import PAPERS, Watch
from tests.support.worlds import make_world, write_text_world

TOO_LARGE = "the file exceeds the size limit (ulimit -f, or the file system)"


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may have more bytes, for this process and for so long."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def carry_out(folder: Path) -> None:
    run_project(read_project(folder / "synsetmine.toml"), Watch(), engine=LocalEngine(1))


def prepared(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    project = write_text_world(folder, entities=16, mentions=6)
    project.write_text(f"{project.read_text()}{PAPERS}")
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = prepared(tmp_path_factory.mktemp("whole"))
    carry_out(folder)
    return result(folder / "run")


def stopped(folder: Path, problem: str, whole: dict[str, bytes]) -> str:
    """Where a run stopped; what it left must be whole."""
    run = folder / "run"
    with pytest.raises(SynsetmineError) as caught:
        carry_out(folder)
    message = re.escape(f"{problem}; nothing was written")
    found = re.fullmatch(rf"{re.escape(str(run))}/(\S+): {message}", str(caught.value))
    assert found, str(caught.value)
    left = {path.relative_to(run).as_posix(): path for path in run.rglob("*") if path.is_file()}
    for name, path in left.items():
        if name not in ("manifest.json", "model/checkpoint.safetensors"):
            assert path.read_bytes() == whole[name], name
    return found[1]


def test_a_run_goes_on_when_files_may_be_larger(tmp_path: Path, whole: dict[str, bytes]) -> None:
    folder = prepared(tmp_path / "small")
    places = []
    for size in (1000, 9000, 40_000):
        with largest_file(size):
            places.append(stopped(folder, TOO_LARGE, whole))
    assert len(set(places)) == 3
    assert any(place.endswith(".safetensors") for place in places)
    carry_out(folder)
    assert result(folder / "run") == whole


def test_a_run_goes_on_when_the_disk_has_more_room(
    small_disk: Path, whole: dict[str, bytes]
) -> None:
    folder = small_disk
    places = []
    subprocess.run(["mount", "-o", "remount,size=4m", str(folder)], check=True)
    prepared(folder)
    used = sum(path.stat().st_blocks for path in folder.iterdir()) // 2  # KiB
    for more in (8, 40, 170):
        size = f"remount,size={used + more}k"
        subprocess.run(["mount", "-o", size, str(folder)], check=True)
        places.append(stopped(folder, "the disk is full", whole))
    assert len(set(places)) == 3
    assert places[-1] == "model/checkpoint.safetensors"
    subprocess.run(["mount", "-o", "remount,size=8m", str(folder)], check=True)
    carry_out(folder)
    assert result(folder / "run") == whole


def test_vectors_and_results_of_tuning_name_their_file(tmp_path: Path) -> None:
    sets, vectors = make_world(entities=12)
    for name in ("vectors.safetensors", "vectors.txt"):
        with (
            largest_file(500),
            pytest.raises(SynsetmineError, match=f"{name}: the file exceeds the"),
        ):
            write_vectors(tmp_path / name, vectors)
    settings = PRESETS["paper"].with_changes({"epochs": 1, "architecture": "both-4-4"})
    with (
        largest_file(100),
        pytest.raises(SynsetmineError, match=r"results\.jsonl: the file exceeds"),
    ):
        tune(sets, vectors, settings, [{}], out=tmp_path, folds=2)
    assert len(tune(sets, vectors, settings, [{}], out=tmp_path, folds=2)) == 1


def test_other_errors_pass(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="of another kind"), atomic_write(tmp_path / "x"):
        raise ValueError("of another kind")
    with pytest.raises(PermissionError), disk_errors(tmp_path / "x"):
        raise PermissionError(13, "no")
