"""Run folders that are named by a link, that are read-only, or that a server is writing to."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from typer.main import get_command

from synsetmine.cli import app
from synsetmine.errors import SynsetmineError
from synsetmine.io.files import write_text
from synsetmine.review import Decision, ReviewStore
from synsetmine.review.feedback import find_decisions
from synsetmine.review.web.answers import MinedAnswers
from synsetmine.review.web.schemas import SetCounts
from synsetmine.review.web.session import ReviewSession
from synsetmine.runs.folder import RunFolder
from tests.support.webserver import write_run

PROJECT = 'corpus.path = "corpus.jsonl"\nkb.path = "kb.jsonl"\nrun = "run"\n'
PRECIOUS = "the only copy\n"


def write_reviewed_run(folder: Path) -> Path:
    """A run with one decision."""
    run = write_run(folder)
    with ReviewStore(run / "reviews.sqlite") as store:
        store.add(
            Decision(
                kind="accept",
                reviewer="Ada",
                set_id="s1",
                members=("aspirin", "acetylsalicylic acid"),
                terms=("aspirin", "acetylsalicylic acid"),
            )
        )
    return run


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reviewed_run(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def place(whole_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run, a project of that run, and a file that has nothing to do with them."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole_run, tmp_path / "run")
    (tmp_path / "synsetmine.toml").write_text(PROJECT)
    (tmp_path / "corpus.jsonl").write_text('{"id": "d", "text": "fever"}\n')
    (tmp_path / "kb.jsonl").write_text('{"id": "E1", "name": "fever"}\n')
    home = tmp_path / "home"
    home.mkdir()
    (home / "precious").write_text(PRECIOUS)
    (home / "precious").chmod(0o600)
    return tmp_path


def outside(place: Path) -> dict[str, tuple[str, int, int]]:
    """Name, content, mode and time of all files outside the run."""
    return {
        path.name: (path.read_text(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in (place / "home").iterdir()
    }


SYNSETMINE = get_command(app)  # which takes longer than a command that refuses its input


def invoke(*arguments: str) -> None:
    SYNSETMINE.main([*arguments], prog_name="synsetmine", standalone_mode=False)


def review(run: Path) -> None:
    ReviewSession(run).close()


def test_a_folder_that_the_user_names_may_be_a_link(place: Path) -> None:
    (place / "linked").symlink_to("run")
    assert len(find_decisions(place / "linked")) == 1
    review(place / "linked")
    (place / "linked.sqlite").symlink_to("run/reviews.sqlite")
    assert len(find_decisions(place / "linked.sqlite")) == 1


def test_a_log_of_somebody_else_changes_decisions_at_most(place: Path) -> None:
    """A write-ahead log names no files: it can hold pages of the database, and no more."""
    run = place / "run"
    with ReviewStore(run / "reviews.sqlite") as store:
        store.add(Decision(kind="unsure", reviewer="Eve", set_id="s2", members=("salbutamol",)))
        log = (run / "reviews.sqlite-wal").read_bytes()
    before = outside(place)
    for content in (log, log[: len(log) // 2], b"x" * 5000, b""):
        (run / "reviews.sqlite-wal").write_bytes(content)
        assert len(find_decisions(run)) in (1, 2)
    assert outside(place) == before


def test_a_lock_is_not_emptied(place: Path) -> None:
    lock = place / "run" / ".lock"
    os.link(place / "home" / "precious", lock)
    with RunFolder(place / "run").lock():
        pass
    assert outside(place)["precious"][0] == PRECIOUS


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
def test_a_file_that_is_rewritten_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


def test_the_user_may_write_over_a_link_elsewhere(place: Path) -> None:
    (place / "run").rename(place / "home" / "run")
    (place / "run").symlink_to("home/run")
    (place / "out.txt").symlink_to("home/out.txt")
    for out in ("out.txt", "run/out.txt"):
        invoke("export", "run", "-f", "solr", "-o", out)
        assert (place / "home" / out).is_file()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder is mounted read-only meanwhile; permissions would not stop the superuser."""
    run = str(folder)
    commands = [["mount", "--bind", run, run], ["mount", "-o", "remount,bind,ro", run]]
    try:
        for command in commands:
            subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        subprocess.run(["umount", run], check=False, capture_output=True)
        pytest.skip("a folder cannot be mounted read-only here")
    try:
        with pytest.raises(OSError, match="Read-only"):
            (folder / "new file").touch()
        yield
    finally:
        subprocess.run(["umount", "--lazy", run], check=True)


def read_everything(place: Path) -> None:
    invoke("export", "run", "-f", "jsonl", "-o", "out.jsonl", "--accepted")
    invoke("export-reviews", "run", "-o", "out.tsv")
    assert (place / "out.jsonl").read_text().count("\n") == 1
    assert (place / "out.tsv").read_text().count("\n") == 2
    assert MinedAnswers.of_run(place / "run").size == SetCounts(sets=6, terms=14)


def test_reading_commands_work_on_a_read_only_file_system(place: Path) -> None:
    with read_only(place / "run"):
        read_everything(place)
        invoke("link", "run/documents.parquet", "run/knowledge.arrow", "-o", "links.tsv")
        assert (place / "links.matcher").is_file()
        with pytest.raises(SynsetmineError):
            review(place / "run")


@pytest.mark.parametrize("mounted", [True, False], ids=["read-only", "writable"])
def test_the_log_of_a_killed_server_is_read(place: Path, mounted: bool) -> None:
    """Its last decisions are in the log only."""
    run = place / "run"
    with ReviewStore(run / "reviews.sqlite") as store:
        store.add(Decision(kind="unsure", reviewer="Ada", set_id="s2", members=("salbutamol",)))
        kept = {path.name: path.read_bytes() for path in run.glob("reviews.sqlite*")}
    for name, content in kept.items():
        (run / name).write_bytes(content)
    (run / "reviews.sqlite-shm").unlink(missing_ok=True)
    names = {path.name for path in run.iterdir()}
    with read_only(run) if mounted else nullcontext():
        assert [d.kind for d in find_decisions(run)] == ["accept", "unsure"]
    assert {path.name for path in run.iterdir()} == names


def test_reading_commands_leave_the_folder_as_it_is(place: Path) -> None:
    run = place / "run"
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.iterdir()}
    read_everything(place)
    after = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.iterdir()}
    assert after == before


def test_decisions_are_read_while_a_server_writes(place: Path) -> None:
    with ReviewStore(place / "run" / "reviews.sqlite") as store:
        for number in range(30):
            decision = Decision(
                kind="unsure", reviewer="Ada", set_id=f"x{number}", members=("a" * 3000,)
            )
            store.add(decision)
            assert len(find_decisions(place / "run")) == number + 2
