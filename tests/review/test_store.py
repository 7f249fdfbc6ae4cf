"""Decisions on disk: they survive, nobody's are lost, and strangers' files are left alone."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.review import (
    Conflict,
    Decision,
    ReviewStore,
    StoreReplacedError,
    read_store,
)
from synsetmine.review.decisions import now, standing_decisions

ROOT = Path(__file__).parents[2]


def accept(set_id: str = "s1", reviewer: str = "ann", **others: object) -> Decision:
    values = {"members": ("a", "b"), "terms": ("a", "b"), **others}
    return Decision(kind="accept", reviewer=reviewer, set_id=set_id, **values)  # type: ignore[arg-type]


def split(set_id: str, other: str) -> Decision:
    return replace(accept(set_id), kind="split", terms=("b",), other=other)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reviews.sqlite"


def test_what_is_stored_comes_back_with_who_and_when(path: Path) -> None:
    before = now()
    with ReviewStore(path) as store:
        first = store.add(accept(note="tab\there", scope="broad"))
        second = store.add(accept("s2", "bob", members=("ü||m.1", "x;y"), terms=("ü||m.1",)))
        assert (first.number, second.number, len(store.decisions())) == (1, 2, 2)
        assert before <= first.when < second.when <= now(second.when)
        assert first.id != second.id
    with ReviewStore(path) as store:
        assert store.decisions() == [first, second]
        assert [d.number for d in store.decisions()] == [1, 2]
        assert store.decisions(since=1) == [second]
        assert store.decisions()[1].members == ("ü||m.1", "x;y")


def test_times_differ_even_if_the_clock_stands_still(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ReviewStore(path) as store:
        late = accept("s0").stamp("2999-12-31T23:59:59.999Z")
        assert store.take_in([late]) == 1
        assert store.add(accept()).when == "3000-01-01T00:00:00.000Z"
        assert store.add(accept()).when == "3000-01-01T00:00:00.001Z"


def test_a_set_that_another_touched_meanwhile_is_a_conflict(path: Path) -> None:
    with ReviewStore(path) as store:
        first = store.add(accept("s1"), seen=0)
        store.add(accept("s2", "bob"), seen=0)
        with pytest.raises(Conflict) as conflict:
            store.add(accept("s1", "bob"), seen=0)
        assert conflict.value.newer == (first,)
        assert str(conflict.value) == (
            f"ann has changed this set in the meantime (accept, {first.when})"
        )
        assert len(store.decisions()) == 2
        store.add(accept("s1", "bob"), seen=first.number)
        assert len(store.decisions()) == 3


def test_both_sets_of_a_decision_count(path: Path) -> None:
    with ReviewStore(path) as store:
        made = store.add(split("s1", "s9"), seen=0)
        with pytest.raises(Conflict):
            store.add(accept("s9"), seen=0)
        merge = replace(accept("s3"), kind="merge", terms=(), other="s1", others=("c",))
        with pytest.raises(Conflict):
            store.add(merge, seen=0)
        store.add(merge, seen=made.number)
        with pytest.raises(Conflict):
            store.add(accept("s3"), seen=made.number)


def test_undo_takes_back_ones_own_last(path: Path) -> None:
    with ReviewStore(path) as store:
        first, second = store.add(accept("s1")), store.add(accept("s2"))
        other = store.add(accept("s3", "bob"))
        undo = store.undo("ann")
        assert (undo.kind, undo.undoes, undo.set_id) == ("undo", second.id, "s2")
        assert standing_decisions(store.decisions()) == [first, other]
        assert store.undo("ann").undoes == first.id
        with pytest.raises(DataError, match="no decision to undo by: 'ann'"):
            store.undo("ann")
        assert standing_decisions(store.decisions()) == [other]


def test_undo_of_one_that_another_depends_on_is_a_conflict(path: Path) -> None:
    with ReviewStore(path) as store:
        first = store.add(split("s1", "s9"))
        later = store.add(accept("s9", "bob"))
        with pytest.raises(Conflict) as conflict:
            store.undo("ann")
        assert conflict.value.newer == (later,)
        store.undo("ann", later.id)
        assert store.undo("ann", first.id).undoes == first.id
        assert standing_decisions(store.decisions()) == []


def test_several_are_stored_and_undone_at_once(path: Path) -> None:
    with ReviewStore(path) as store:
        first, second = store.add_all([accept("s1"), accept("s2")], seen=0)
        assert (first.number, second.number) == (1, 2)
        with pytest.raises(Conflict):
            store.add_all([accept("s3"), accept("s2")], seen=1)
        assert len(store.decisions()) == 2  # all or none
        later = store.add(accept("s2"))
        (undone,) = store.undo_all("ann", [first.id, second.id])
        assert undone.undoes == first.id  # a later one depends on the other
        with pytest.raises(Conflict):
            store.undo_all("ann", [second.id])
        assert standing_decisions(store.decisions()) == [second, later]


def test_what_cannot_be_undone_is_reported(path: Path) -> None:
    with ReviewStore(path) as store:
        made = store.add(accept())
        undo = store.undo("bob", made.id)
        for target, problem in (
            (made.id, "already been undone"),
            (undo.id, "an undo cannot be undone; decide again"),
            ("nothing", "there is no such decision: 'nothing'"),
        ):
            with pytest.raises(DataError, match=problem):
                store.undo("ann", target)
        with pytest.raises(SynsetmineError, match=r"use ReviewStore\.undo"):
            store.add(replace(undo, id="", when=""))
        assert len(store.decisions()) == 2


def test_an_undo_touches_the_sets_of_what_it_undoes(path: Path) -> None:
    with ReviewStore(path) as store:
        made = store.add(split("s1", "s9"))
        undo = store.undo("ann")
        with pytest.raises(Conflict) as conflict:
            store.add(accept("s1", "bob"), seen=made.number)
        assert conflict.value.newer == (undo,)


def test_decisions_from_elsewhere_are_taken_in_once(path: Path, tmp_path: Path) -> None:
    with ReviewStore(path) as here, ReviewStore(tmp_path / "there.sqlite") as there:
        ours, theirs = here.add(accept("s1")), there.add(accept("s1", "bob"))
        assert here.take_in(there.decisions()) == 1
        assert here.take_in(there.decisions()) == 0
        assert here.decisions() == [ours, theirs]
        with pytest.raises(DataError, match="another decision with this id; was a line edited"):
            here.take_in([accept("s5").stamp(now()), replace(theirs, note="changed")])
        with pytest.raises(DataError, match="no id or time yet"):
            here.take_in([accept("s5")])
        assert len(here.decisions()) == 2  # all or none


def test_decisions_are_never_changed_or_deleted(path: Path) -> None:
    with ReviewStore(path) as store:
        store.add(accept())
    raw = sqlite3.connect(path)
    for command in ("UPDATE decisions SET reviewer = 'x'", "DELETE FROM decisions"):
        with pytest.raises(sqlite3.IntegrityError, match="only added"):
            raw.execute(command)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    stranger = tmp_path / "other.sqlite"
    raw = sqlite3.connect(stranger)
    raw.execute("CREATE TABLE t (x)")
    raw.close()
    with pytest.raises(DataError, match="not a file of synsetmine, but another database"):
        ReviewStore(stranger)
    text = tmp_path / "text.sqlite"
    text.write_text("when\tid\n" * 200)
    with pytest.raises(DataError, match="cannot use these reviews"):
        ReviewStore(text)
    assert text.read_text() == "when\tid\n" * 200
    newer = tmp_path / "newer.sqlite"
    ReviewStore(newer).close()
    raw = sqlite3.connect(newer)
    raw.execute("PRAGMA user_version = 2")
    raw.close()
    with pytest.raises(DataError, match="of a newer synsetmine, with schema: 2"):
        ReviewStore(newer)
    folder = tmp_path / "folder.sqlite"
    folder.mkdir()
    with pytest.raises(DataError, match=r"folder\.sqlite: cannot use these reviews"):
        ReviewStore(folder)


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("kind", "guess", "kind"),
        ("members", "[" * 100_000, "maximum recursion"),
        ("members", b"\xff", "expected"),
        ("at", "9999-12-31T23:59:59.998Z", "expected a time"),
        ("at", "2026-13-01T00:00:00.000Z", "expected a time"),
        ("at", b"2026", "expected a time"),
    ],
)
def test_a_damaged_decision_is_left_out_and_reported(
    path: Path, caplog: pytest.LogCaptureFixture, column: str, value: object, problem: str
) -> None:
    with ReviewStore(path) as store:
        first, second = store.add(accept()), store.add(accept("s2"))
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DROP TRIGGER no_change")
        raw.execute(f"UPDATE decisions SET {column} = ? WHERE number = 2", [value])
        raw.commit()
    with ReviewStore(path) as store:
        assert [store.decisions(), store.decisions()] == [[first]] * 2
        (message,) = caplog.messages  # once
        assert message.startswith("left out 1 damaged decision of reviewers, such as")
        assert problem in message or column == "members"
        assert second.when <= store.add(accept("s3")).when < "9000"
        assert [store.undo("ann").set_id, store.undo("ann").set_id] == ["s3", "s1"]
    assert len(read_store(path)) == 4


def test_a_copy_of_the_file_is_whole_while_it_is_in_use(path: Path, tmp_path: Path) -> None:
    with ReviewStore(path) as store:
        made = store.add_all([accept(f"s{n}") for n in range(100)])
        shutil.copyfile(path, tmp_path / "copy.sqlite")
        assert read_store(tmp_path / "copy.sqlite") == made


FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


def test_a_full_disk_loses_nothing_that_was_given(small_disk: Path) -> None:
    told: list[Decision] = []
    with ReviewStore(small_disk / "reviews.sqlite") as store:
        with pytest.raises(DataError, match=r"cannot use these reviews \(.*full"):  # noqa: PT012
            while True:
                told.append(store.add(accept(f"s{len(told)}", note="x" * 500)))
        assert told
        assert store.decisions() == told


def test_many_threads_share_one_store(path: Path) -> None:
    with ReviewStore(path) as store:
        with ThreadPoolExecutor(8) as threads:
            made = list(threads.map(lambda i: store.add(accept(f"s{i}")), range(80)))
        assert sorted(d.number for d in made) == list(range(1, 81))
        assert sorted(d.when for d in made) == [d.when for d in store.decisions()]


# --- A file that is replaced while it is in use -----------------------------------------------


def delete(path: Path) -> None:
    path.unlink()


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def replace_folder(path: Path) -> None:
    move_folder(path)
    path.parent.mkdir()
    ReviewStore(path).close()


def rename_another(path: Path) -> None:
    ReviewStore(path.with_name("other.sqlite")).close()
    path.with_name("other.sqlite").rename(path)


def delete_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


@pytest.mark.parametrize(
    "change",
    [
        *(delete, move_folder, replace_folder, rename_another, delete_log),
    ],
)
@pytest.mark.parametrize("what", ["add", "undo", "take_in"])
def test_nothing_is_written_into_a_file_that_is_gone(
    tmp_path: Path, change: Callable[[Path], None], what: str
) -> None:
    """SQLite would write into the deleted file, and report that all is well."""
    path = tmp_path / "run" / "reviews.sqlite"
    with ReviewStore(path) as store:
        store.add(accept("s1"))
    path.with_name("backup").write_bytes(path.read_bytes())
    with ReviewStore(path) as store:
        # More than the log holds, so that the database changes too.
        many = (accept(f"u{n}", note="x" * 9000).stamp(now()) for n in range(300))
        assert store.take_in(many) == 300
    with ReviewStore(path) as store:
        store.add(accept("s2"))
        time.sleep(0.02)  # the clock of the file system has steps of some milliseconds
        change(path)
        there = path.read_bytes() if path.exists() else None
        acts: dict[str, Callable[[], object]] = {
            "add": lambda: store.add(accept("s3")),
            "undo": lambda: store.undo("ann"),
            "take_in": lambda: store.take_in([accept("s3").stamp(now())]),
        }
        for act in (acts[what], store.check_in_place):
            with pytest.raises(StoreReplacedError, match="was deleted or replaced while it was in"):
                act()
        assert (path.read_bytes() if path.exists() else None) == there


def test_the_log_of_a_replaced_file_is_not_taken_for_that_of_the_new_one(path: Path) -> None:
    with ReviewStore(path) as store:
        made = store.add(accept("s1"))
        path.rename(path.with_name("old.sqlite"))
        with ReviewStore(path.with_name("new.sqlite")) as new:
            theirs = new.add(accept("s9", "bob"))
        path.with_name("new.sqlite").rename(path)
        with pytest.raises(StoreReplacedError):
            store.add(accept("s2"))
    assert read_store(path) == [theirs]
    assert read_store(path.with_name("old.sqlite")) == [made]


def test_a_file_that_goes_while_it_is_written_is_reported(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ReviewStore(path) as store:
        insert = store._insert

        def insert_and_delete(decision: Decision) -> Decision:
            path.unlink()
            return insert(decision)

        monkeypatch.setattr(store, "_insert", insert_and_delete)
        with pytest.raises(StoreReplacedError):
            store.add(accept("s1"))


def test_a_log_that_was_left_is_not_taken_for_that_of_a_new_file(path: Path) -> None:
    with ReviewStore(path) as store:
        store.add(accept("s1"))
        log = Path(f"{path}-wal").read_bytes()
    path.unlink()
    Path(f"{path}-wal").write_bytes(log)
    with ReviewStore(path) as store:
        assert store.decisions() == []
        store.add(accept("s2"))
    assert [d.set_id for d in read_store(path)] == ["s2"]


def test_a_file_that_is_put_back_is_used_again(path: Path) -> None:
    with ReviewStore(path) as store:
        made = store.add(accept("s1"))
        path.rename(path.with_name("away"))
        with pytest.raises(StoreReplacedError):
            store.add(accept("s2"))
        path.with_name("away").rename(path)
        assert store.add(accept("s2")).number == made.number + 1


def test_a_file_that_others_change_is_the_same_file(path: Path) -> None:
    """Other processes write too, and move pages from the log to the database."""
    with ReviewStore(path) as store:
        store.add(accept("s1"))
        other = adder(path, "bob", count=20, sets=20)
        other.communicate()
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.utime(path)
        assert store.add(accept("s2")).number == 22


ADDING = """
import sys
from pathlib import Path
from synsetmine.review import Conflict, Decision, ReviewStore
path, name, count, sets = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with ReviewStore(path) as store:
    for i in range(count):
        made = Decision(kind="unsure", reviewer=name, set_id=f"s{i % sets}", members=("a", "b"))
        seen = len(store.decisions())
        try:
            print(store.add(made, seen=seen if sets < count else None).number, flush=True)
        except Conflict as conflict:
            assert all(d.number > seen and made.set_id in d.sets for d in conflict.newer)
            print("conflict", flush=True)
"""


def adder(path: Path, name: str, *, count: int, sets: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ADDING, str(path), name, str(count), str(sets)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.parametrize("sets", [200, 3], ids=["all of one's own", "shared sets"])
def test_two_processes_lose_nothing(path: Path, sets: int) -> None:
    both = [adder(path, name, count=200, sets=sets) for name in ("ann", "bob")]
    told = [process.communicate()[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert [len(lines) for lines in told] == [200, 200]
    with ReviewStore(path) as store:
        stored = store.decisions()
    numbers = [int(line) for lines in told for line in lines if line != "conflict"]
    assert sorted(numbers) == [d.number for d in stored]
    for lines, name in zip(told, ("ann", "bob"), strict=True):
        own = [d.number for d in stored if d.reviewer == name]
        assert own == [int(line) for line in lines if line != "conflict"]
    if sets == 200:
        assert len(stored) == 400


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2])
def test_what_was_given_survives_a_kill(path: Path, after: float) -> None:
    process = adder(path, "ann", count=1_000_000, sets=1_000_000)
    assert process.stdout is not None
    told = [int(process.stdout.readline())]
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    told += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    with ReviewStore(path) as store:
        stored = [d.number for d in store.decisions()]
        assert stored[: len(told)] == told == list(range(1, len(told) + 1))
        assert len(stored) <= len(told) + 1  # one may have been stored, but not told
        assert store.add(accept()).number == len(stored) + 1
