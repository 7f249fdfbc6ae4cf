"""Run folders of other people, that are read-only, or that a server is writing to."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import struct
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest
from typer.main import get_command

from synsetmine.cli import app
from synsetmine.engines.workers import forkserver_context, spawn_context
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.files import write_text
from synsetmine.models import StoredModel, load_model, save_model
from synsetmine.review import Decision, ReviewStore
from synsetmine.review.feedback import find_decisions
from synsetmine.review.web.answers import MinedAnswers
from synsetmine.review.web.schemas import SetCounts
from synsetmine.review.web.session import ReviewSession
from synsetmine.runs.folder import MODEL_FILES, Artefacts, RunFolder
from tests.models.paper.test_classifier import make_scorer
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


# --- Folders of other people ------------------------------------------------------------------


def link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def dangling_link(path: Path, victim: Path) -> None:
    path.symlink_to(victim.with_name("new file"))


def pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


KINDS = (link, dangling_link, pipe)


def artefact_names(folder: Path) -> list[str]:
    """All files that a command looks for in a run folder."""
    paths = (path for path in vars(Artefacts(folder)).values() if isinstance(path, Path))
    names = [path.name for path in paths if path.name != "model"]
    return [*names, *(f"model/{name}" for name in MODEL_FILES)]


def put(run: Path, name: str, kind: Callable[[Path, Path], None], victim: Path) -> None:
    """Replace a file of a run by something else."""
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).unlink(missing_ok=True)
    kind(run / name, victim)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_plain_files_is_opened(
    tmp_path: Path, kind: Callable[[Path, Path], None]
) -> None:
    for number, name in enumerate(artefact_names(tmp_path / "none")):
        run = tmp_path / f"run{number}"
        run.mkdir()
        put(run, name, kind, tmp_path / "precious")
        for start in (RunFolder, Artefacts):
            with pytest.raises(DataError, match=f"{name}: this is not a regular file"):
                start(run)


COMMANDS: dict[str, Callable[[Path], object]] = {
    "export": lambda _: invoke("export", "run", "-f", "solr", "-o", "out.txt"),
    "export-reviews": lambda _: invoke("export-reviews", "run", "-o", "out.tsv"),
    "report": lambda _: invoke("report", "run"),
    "run": lambda _: invoke("run"),
    "serve": MinedAnswers.of_run,
    "review": review,
    "mine --reviews": find_decisions,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_follows_a_link(place: Path, command: str) -> None:
    before = outside(place)
    put(place / "run", "mined.jsonl", link, place / "home" / "precious")
    with pytest.raises(SynsetmineError, match=r"mined\.jsonl: this is not a regular file"):
        COMMANDS[command](place / "run")
    assert outside(place) == before


def test_a_link_in_place_of_the_model_folder(place: Path) -> None:
    (place / "run" / "model").symlink_to(place / "home")
    with pytest.raises(DataError, match="this is not a regular file"):
        review(place / "run")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vectors.safetensors"])
def test_files_of_a_model_are_plain(
    place: Path, name: str, kind: Callable[[Path, Path], None]
) -> None:
    model = place / "model"
    save_model(model, StoredModel(make_scorer(), 0.5, {}))
    before = outside(place)
    put(model, name, kind, place / "home" / "precious")
    for start in (
        lambda: load_model(model),
        lambda: save_model(model, StoredModel(make_scorer(), 0.5, {})),
    ):
        with pytest.raises(DataError, match=f"{name}: this is not a regular file"):
            start()
    assert outside(place) == before


MAGIC = bytes.fromhex("d9d505f920a163d7")  # of a rollback journal
PAGE = 4096


def write_journal(database: Path, victim: Path) -> None:
    """A rollback journal that makes SQLite delete a file.

    It names the file as its super-journal: SQLite rolls the journal back, finds no other journal
    that needs the file, and deletes it. https://sqlite.org/fileformat2.html#the_rollback_journal
    """
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    pages = database.stat().st_size // PAGE
    header = MAGIC + struct.pack(">5I", 0, 1, pages, 512, PAGE)
    name = os.fsencode(victim)
    end = struct.pack(">I", 2**30 // PAGE + 1) + name + struct.pack(">2I", len(name), sum(name))
    Path(f"{database}-journal").write_bytes(header.ljust(512, b"\0") + end + MAGIC)


@pytest.mark.parametrize("start", [find_decisions, review], ids=["read", "write"])
def test_a_journal_deletes_nothing(place: Path, start: Callable[[Path], object]) -> None:
    before = outside(place)
    write_journal(place / "run" / "reviews.sqlite", place / "home" / "precious")
    with pytest.raises(DataError, match=r"reviews\.sqlite-journal: unexpected SQLite journal"):
        start(place / "run")
    assert outside(place) == before


def test_the_journal_of_this_table_does_delete(place: Path) -> None:
    """The attack works where SQLite is let near the file, so the test above tests something."""
    write_journal(place / "run" / "reviews.sqlite", place / "home" / "precious")
    with closing(sqlite3.connect(place / "run" / "reviews.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM decisions").fetchone() == (1,)
    assert outside(place) == {}


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_beside_a_database_are_plain_too(
    place: Path, suffix: str, kind: Callable[[Path, Path], None]
) -> None:
    before = outside(place)
    put(place / "run", f"reviews.sqlite{suffix}", kind, place / "home" / "precious")
    for start in (find_decisions, review):
        with pytest.raises(DataError, match=rf"reviews\.sqlite{suffix}: "):
            start(place / "run")
    assert outside(place) == before


@pytest.mark.slow
@pytest.mark.parametrize("start", [spawn_context, forkserver_context])
def test_modules_in_the_working_directory_are_not_imported(
    place: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[], BaseContext]
) -> None:
    """Python starts processes with `python -c`, which looks for modules in the current folder."""
    (place / "run" / "multiprocessing.py").write_text(
        f"open({str(place / 'home' / 'executed')!r}, 'w')"
    )
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.chdir(place / "run")
    with ProcessPoolExecutor(1, start()) as pool:
        assert pool.submit(abs, -1).result() == 1
    assert set(outside(place)) == {"precious"}
