"""A run or model folder of somebody else harms nothing outside of it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from typer.main import get_command

from synsetmine.cli import app
from synsetmine.cli.inputs import choose_encoder
from synsetmine.engines.workers import WorkerPool, forkserver_context
from synsetmine.errors import DataError, ModelError, SynsetmineError
from synsetmine.io.files import write_text
from synsetmine.io.temporary import clear
from synsetmine.linking.linkers import DictionaryLinker
from synsetmine.linking.service import open_cache
from synsetmine.models import StoredModel, load_model, save_model
from synsetmine.review import Decision, ReviewStore
from synsetmine.review.feedback import find_decisions
from synsetmine.review.web.answers import MinedAnswers
from synsetmine.review.web.schemas import SetCounts
from synsetmine.review.web.session import ReviewSession, SentenceCache
from synsetmine.runs.folder import RunFolder
from synsetmine.views.encoder import encoder_digest
from tests.models.paper.test_classifier import make_scorer
from tests.support.hostilefolders import (
    FILES,
    KINDS,
    MODEL_FILES,
    artefact_names,
    link,
    pipe,
    put,
    unblocked,
    write_journal,
    write_reviewed_run,
)

PROJECT = 'corpus.path = "corpus.jsonl"\nkb.path = "kb.jsonl"\nrun = "run"\n'
PRECIOUS = "the only copy\n"


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


COMMANDS: dict[str, Callable[[Path], object]] = {
    "export": lambda _: invoke("export", "run", "-f", "solr", "-o", "out.txt"),
    "export-reviews": lambda _: invoke("export-reviews", "run", "-o", "out.tsv"),
    "import-reviews": lambda _: invoke("import-reviews", "run", "reviews.tsv"),
    "report": lambda _: invoke("report", "run"),
    "run": lambda _: invoke("run"),
    "serve": MinedAnswers.of_run,
    "review": review,
    "mine --reviews": find_decisions,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_nothing_but_plain_files_is_opened(
    place: Path, name: str, kind: Callable[[Path, Path], None]
) -> None:
    run = place / "run"
    before = outside(place)
    path = put(run, name, kind, place / "home" / "precious")
    for command, start in COMMANDS.items():
        with unblocked(*([path] if kind is pipe else [])):
            begin = time.monotonic()
            with pytest.raises(SynsetmineError, match=r"this is a (symbolic link|pipe|socket)"):
                start(run)
            assert time.monotonic() - begin < 4, command
    assert outside(place) == before
    assert not stat.S_ISREG(path.lstat().st_mode)  # nor was it replaced


def test_the_table_has_all_files(place: Path) -> None:
    assert artefact_names(place / "run") | {f"model/{name}" for name in MODEL_FILES} == set(FILES)


def test_a_folder_that_the_user_names_may_be_a_link(place: Path) -> None:
    (place / "linked").symlink_to("run")
    assert len(find_decisions(place / "linked")) == 1
    review(place / "linked")
    (place / "linked.sqlite").symlink_to("run/reviews.sqlite")
    assert len(find_decisions(place / "linked.sqlite")) == 1


def test_a_link_in_place_of_the_model_folder(place: Path) -> None:
    save_model(place / "home" / "model", StoredModel(make_scorer(), 0.5, {}))
    (place / "run" / "model").symlink_to(place / "home" / "model")
    with pytest.raises(DataError, match="this is a symbolic link; a folder of this name must be"):
        review(place / "run")


# --- Journals and other files of SQLite -------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["export", "export-reviews", "import-reviews", "serve", "review", "mine --reviews"]
)
def test_a_journal_deletes_nothing(place: Path, command: str) -> None:
    before = outside(place)
    write_journal(place / "run" / "reviews.sqlite", place / "home" / "precious")
    (place / "reviews.tsv").write_text(
        "when\tid\treviewer\tkind\tset_id\tterms\tother\tverdict\tscope\tundoes\tnote\tmembers"
        "\tothers\n"
    )
    with pytest.raises(DataError, match=r"reviews\.sqlite-journal: unexpected SQLite journal"):
        COMMANDS[command](place / "run")
    assert outside(place) == before


def test_the_journal_of_this_table_does_delete(place: Path) -> None:
    """The attack works where SQLite is let near the file, so the test above tests something."""
    write_journal(place / "run" / "reviews.sqlite", place / "home" / "precious")
    with closing(sqlite3.connect(place / "run" / "reviews.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM decisions").fetchone() == (1,)
    assert outside(place) == {}


def test_a_journal_beside_the_sentences_is_not_read(place: Path) -> None:
    run = place / "run"
    shelf = SentenceCache(run, ["fever"])
    shelf.start()
    wait_for(lambda: (run / "sentences.sqlite").exists())
    shelf.close()
    write_journal(run / "sentences.sqlite", place / "home" / "precious")
    shelf = SentenceCache(run, ["fever"])
    assert shelf.get(["fever"])
    shelf.close()
    assert outside(place)["precious"][0] == PRECIOUS


def test_a_journal_beside_the_cache_deletes_nothing(place: Path) -> None:
    cache = place / "run" / "spotlight.sqlite"
    with open_cache(cache) as opened:
        opened.put("a", "b")
    write_journal(cache, place / "home" / "precious")
    with pytest.raises(DataError, match="unexpected SQLite journal"), open_cache(cache):
        pass
    assert outside(place)["precious"][0] == PRECIOUS


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_beside_a_database_are_plain_too(
    place: Path, suffix: str, kind: Callable[[Path, Path], None]
) -> None:
    before = outside(place)
    path = put(place / "run", f"reviews.sqlite{suffix}", kind, place / "home" / "precious")
    for start in (find_decisions, review):
        with (
            unblocked(*([path] if kind is pipe else [])),
            pytest.raises(DataError, match=rf"reviews\.sqlite{suffix}: "),
        ):
            start(place / "run")
    assert outside(place) == before


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_database_with_a_second_name_is_not_written(place: Path, suffix: str) -> None:
    """SQLite writes in place, so both would change. To read it does no harm."""
    path = place / "run" / f"reviews.sqlite{suffix}"
    path.touch()
    os.link(path, place / "home" / "other")
    before = outside_bytes(place)
    with pytest.raises(DataError, match="this file has a second hard link"):
        review(place / "run")
    assert len(find_decisions(place / "run")) == 1
    assert outside_bytes(place) == before


def outside_bytes(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (place / "home").iterdir()}


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


# --- Modules in the folder --------------------------------------------------------------------


def search_sentences(run: Path) -> None:
    shelf = SentenceCache(run, ["fever"])
    shelf.start()
    wait_for(lambda: (run / "sentences.sqlite").exists())
    shelf.close()


def spawn_worker(_: Path) -> None:
    with WorkerPool(1) as pool:
        assert pool.submit(abs, -1).result() == 1


def serve_forks(_: Path) -> None:
    with ProcessPoolExecutor(1, forkserver_context()) as pool:
        assert pool.submit(abs, -1).result() == 1


@pytest.mark.slow
@pytest.mark.parametrize("start", [search_sentences, spawn_worker, serve_forks])
def test_modules_in_the_working_directory_are_not_imported(
    place: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[Path], None]
) -> None:
    """Python starts processes with `python -c`, which looks for modules in the current folder."""
    run = place / "run"
    (run / "multiprocessing.py").write_text(f"open({str(place / 'home' / 'executed')!r}, 'w')")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.chdir(run)
    start(run)
    assert set(outside(place)) == {"precious"}
    assert "PYTHONSAFEPATH" not in os.environ  # the caller's own processes are not affected


# --- Files that are written -------------------------------------------------------------------


def test_a_lock_is_not_emptied(place: Path) -> None:
    lock = place / "run" / ".lock"
    os.link(place / "home" / "precious", lock)
    with RunFolder(place / "run").lock():
        pass
    assert outside(place)["precious"][0] == PRECIOUS


def test_sentences_are_not_written_through_a_link(place: Path) -> None:
    """Also if the link appears while they are looked up."""
    run = place / "run"
    shelf = SentenceCache(run, ["fever"])
    link(run / "sentences.sqlite", place / "home" / "precious")
    shelf.start()
    wait_for(lambda: shelf._process is not None and not shelf._process.is_alive())
    shelf.close()
    assert outside(place)["precious"][0] == PRECIOUS


def test_remains_of_a_killed_run_are_plain_files(place: Path) -> None:
    """Neither a pipe nor a folder behind a link is taken for what a killed run left."""
    run = place / "run"
    (place / "home" / ".a.b.part").write_text(PRECIOUS)
    (run / "elsewhere").symlink_to(place / "home")
    (run / ".c.d.part").symlink_to(place / "home" / "precious")
    os.mkfifo(run / ".pipe.part")
    (run / ".left.part").touch()
    with unblocked(run / ".pipe.part"), RunFolder(run).lock():
        pass
    assert not (run / ".left.part").exists()
    assert (place / "home" / ".a.b.part").read_text() == PRECIOUS
    begin = time.monotonic()
    with unblocked(run / ".pipe.part"):
        clear(run, ".*.part")
    assert time.monotonic() - begin < 4


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
def test_a_file_that_is_rewritten_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


def test_a_matcher_beside_a_knowledge_base_is_not_written_through_a_link(place: Path) -> None:
    run = place / "run"
    (run / "knowledge.matcher").symlink_to(place / "home" / "new file")
    with pytest.raises(DataError, match=r"knowledge\.matcher: this is a symbolic link"):
        DictionaryLinker.open(run / "knowledge.arrow", run / "knowledge.matcher")
    assert set(outside(place)) == {"precious"}


@pytest.mark.parametrize("target", ["home/precious", "home/new file"])
def test_nothing_is_written_over_a_link_in_the_folder(place: Path, target: str) -> None:
    """The user names the file, and the sender has put a link there, or on the way to it."""
    before = outside(place)
    run = place / "run"
    (run / "out.txt").symlink_to(place / target)
    (run / "sub").symlink_to(place / "home")
    (run / "deep").mkdir()
    (run / "deep" / "sub").symlink_to(place / "home")
    for out in ("run/out.txt", "run/sub/out.txt", "run/deep/sub/new/out.txt"):
        with pytest.raises(DataError, match="symbolic link in a run or model folder"):
            invoke("export", "run", "-f", "solr", "-o", out)
    with pytest.raises(DataError, match="symbolic link in a run or model folder"):
        invoke("train", "none.set", "-o", "run/sub/model")
    assert outside(place) == before


def test_the_user_may_write_over_a_link_elsewhere(place: Path) -> None:
    (place / "run").rename(place / "home" / "run")
    (place / "run").symlink_to("home/run")
    (place / "out.txt").symlink_to("home/out.txt")
    for out in ("out.txt", "run/out.txt"):
        invoke("export", "run", "-f", "solr", "-o", out)
        assert (place / "home" / out).is_file()


# --- Model folders ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODEL_FILES)
def test_files_of_a_model_are_plain(
    place: Path, name: str, kind: Callable[[Path, Path], None]
) -> None:
    model = place / "model"
    save_model(model, StoredModel(make_scorer(), 0.5, {}))
    before = outside(place)
    path = put(model, name, kind, place / "home" / "precious")
    with unblocked(*([path] if kind is pipe else [])):
        for start in (
            lambda: load_model(model),
            lambda: save_model(model, StoredModel(make_scorer(), 0.5, {})),
            lambda: invoke("train", "none.set", "-o", "model", "--overwrite"),
        ):
            with pytest.raises(ModelError, match=rf"{name}: this is a (symbolic link|pipe|socket)"):
                start()
    assert outside(place) == before


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_in_a_model_folder_is_of_plain_files(
    place: Path, kind: Callable[[Path, Path], None]
) -> None:
    """A model may name an encoder in its own folder, and libraries open the files of that."""
    stored = StoredModel(make_scorer(), 0.5, {"encoder": "model/encoder"})
    save_model(place / "model", stored)
    (place / "model" / "encoder" / "pooling").mkdir(parents=True)
    (place / "model" / "encoder" / "modules.json").write_text("[]")
    assert choose_encoder(None, stored) == "model/encoder"
    put(place / "model" / "encoder", "pooling/config.json", kind, place / "home" / "precious")
    with pytest.raises(SynsetmineError, match=r"symbolic link|this is a (pipe|socket)"):
        choose_encoder(None, stored)
    if kind is not link:  # one to a file is the user's to allow: the hub's cache has them
        with pytest.raises(DataError, match="not a file of the encoder"):
            encoder_digest("model/encoder")


@pytest.mark.parametrize("name", ["encoder", "pooling"])
def test_a_folder_of_an_encoder_is_not_a_link(place: Path, name: str) -> None:
    stored = StoredModel(make_scorer(), 0.5, {"encoder": "model/encoder"})
    save_model(place / "model", stored)
    folder = place / "home" / "encoder"
    folder.mkdir()
    (folder / "modules.json").write_text("[]")
    if name == "encoder":
        (place / "model" / "encoder").symlink_to(folder)
    else:
        shutil.copytree(folder, place / "model" / "encoder")
        (place / "model" / "encoder" / name).symlink_to(folder)
    with pytest.raises(SynsetmineError, match="symbolic link"):
        choose_encoder(None, stored)


# --- A read-only file system ------------------------------------------------------------------


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


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        with suppress(OSError):
            time.sleep(0.02)
