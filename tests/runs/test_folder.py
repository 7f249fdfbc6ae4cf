"""Run folders: what is done and unchanged is skipped, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synsetmine.errors import SynsetmineError
from synsetmine.runs.folder import MANIFEST, RunFolder, Stage, StageRecord, StageResult


class Silent:
    """Notes which stages were skipped."""

    def __init__(self) -> None:
        self.skipped: dict[str, bool] = {}

    def on_start(self, stage: str) -> None:
        pass

    def progress(self, done: int, total: int, note: str = "") -> None:
        pass

    def on_finish(self, stage: str, record: StageRecord, *, skipped: bool) -> None:
        self.skipped[stage] = skipped


class Line:
    """Two stages: `read` copies the input in capitals, `link` counts its letters."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "input.txt"
        self.source.write_text("abc")
        self.run = folder / "run"
        self.first = self.run / "first.txt"
        self.second = self.run / "second.txt"

    def go(self, *, shout: bool = True) -> dict[str, bool]:
        watcher = Silent()
        folder = RunFolder(self.run)
        with folder.lock():
            folder.carry_out(self.stage("read", {"shout": shout}, self.copy(shout)), watcher)
            folder.carry_out(self.stage("link", {}, self.count), watcher)
        return watcher.skipped

    def stage(self, name: str, settings: dict[str, bool], work: Callable[[], Any]) -> Stage:
        places = {"read": (self.source, self.first), "link": (self.first, self.second)}
        source, target = places[name]
        return Stage(name, settings, [source], [target], work)

    def copy(self, shout: bool) -> Callable[[], StageResult]:
        def work() -> StageResult:
            text = self.source.read_text()
            self.first.write_text(text.upper() if shout else text)
            return StageResult(figures={"letters": len(text)})

        return work

    def count(self) -> StageResult:
        self.second.write_text(str(len(self.first.read_text())))
        return StageResult()


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path)


def test_the_same_again_is_skipped(line: Line) -> None:
    assert line.go() == {"read": False, "link": False}
    assert line.go() == {"read": True, "link": True}
    assert line.second.read_text() == "3"


def test_other_content_is_noticed(line: Line) -> None:
    line.go()
    line.source.write_text("abcd")
    assert line.go() == {"read": False, "link": False}
    assert line.second.read_text() == "4"


def test_content_of_the_same_length_is_noticed(line: Line) -> None:
    line.go()
    line.source.write_text("xyz")
    os.utime(line.source, ns=(1, 1))
    assert line.go() == {"read": False, "link": False}


def test_content_of_the_same_length_and_time_is_noticed(line: Line) -> None:
    line.go()
    before = line.source.stat()
    line.source.write_text("xyz")
    os.utime(line.source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert line.source.stat().st_size == before.st_size
    assert line.go() == {"read": False, "link": False}


def test_the_same_content_with_another_date_is_not_read_again(line: Line) -> None:
    line.go()
    os.utime(line.source, (1, 1))
    assert line.go() == {"read": True, "link": True}


def test_another_setting_redoes_its_stage_and_what_depends_on_it(line: Line) -> None:
    line.go()
    assert line.go(shout=False) == {"read": False, "link": False}


def test_a_stage_that_gives_the_same_bytes_again_disturbs_nothing(line: Line) -> None:
    line.source.write_text("ABC")
    line.go()
    assert line.go(shout=False) == {"read": False, "link": True}


def test_an_artefact_that_was_changed_or_removed_is_made_again(line: Line) -> None:
    line.go()
    line.first.write_text("tampered")
    assert line.go() == {"read": False, "link": True}
    line.second.unlink()
    assert line.go() == {"read": True, "link": False}
    assert line.first.read_text() == "ABC"


def test_a_stage_that_fails_is_not_vouched_for(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    line.go()
    line.source.write_text("other")
    monkeypatch.setattr(line, "count", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        line.go()
    monkeypatch.undo()
    assert list(RunFolder(line.run).stages) == ["read"]
    assert line.go() == {"read": True, "link": False}


def test_the_manifest_tells_what_was_done(line: Line) -> None:
    line.go()
    manifest = json.loads((line.run / MANIFEST).read_text())
    read = manifest["stages"]["read"]
    assert read["settings"] == {"shout": True}
    assert read["counts"] == {"letters": 3}
    assert read["inputs"] == ["input.txt"]
    assert list(read["outputs"]) == ["first.txt"]
    assert {"synsetmine", "python", "torch", "numpy"} <= set(manifest["versions"])


def test_a_second_run_in_the_same_folder_is_refused(line: Line) -> None:
    with RunFolder(line.run).lock(), pytest.raises(SynsetmineError, match="another run"):
        line.go()
    line.go()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "else"}'])
def test_a_manifest_that_is_none_is_a_clear_error(line: Line, text: str) -> None:
    line.run.mkdir()
    (line.run / MANIFEST).write_text(text)
    with pytest.raises(SynsetmineError, match=r"manifest\.json"):
        line.go()


def test_two_inputs_of_one_name_both_count(tmp_path: Path) -> None:
    inputs = [tmp_path / "a" / "part.txt", tmp_path / "b" / "part.txt"]
    for path in inputs:
        path.parent.mkdir()
        path.write_text("same name")
    for changed in inputs:
        watcher = Silent()
        folder = RunFolder(tmp_path / "run")
        with folder.lock():
            stage = Stage("read", {}, inputs, [], StageResult)
            folder.carry_out(stage, Silent())
            changed.write_text(f"other text in {changed}")
            folder.carry_out(stage, watcher)
        assert watcher.skipped == {"read": False}


def test_half_written_files_of_a_killed_run_go(line: Line) -> None:
    line.go()
    half = line.run / ".second.txt.x1y2.part"
    half.write_text("half")
    line.go()
    assert not half.exists()


def test_a_folder_with_other_files_is_not_written_to(line: Line) -> None:
    line.run.mkdir()
    (line.run / "thesis.txt").write_text("precious")
    with pytest.raises(SynsetmineError, match="contains other files"):
        line.go()
    assert [path.name for path in line.run.iterdir()] == ["thesis.txt"]
