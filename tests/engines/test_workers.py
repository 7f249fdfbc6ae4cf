"""Worker processes that are killed, and workers whose parent is: nobody waits, nobody stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from threading import Event, Thread

import pytest

from faults.processes import LOG, group, members_alive
from synsetmine.engines import LocalEngine
from synsetmine.engines.workers import WorkerDiedError, WorkerPool, spawn_context
from synsetmine.errors import SynsetmineError
from synsetmine.models.paper import tune as tuning
from synsetmine.pipeline.project import read_project
from synsetmine.pipeline.run import run_project
from tests.pipeline.test_run import COMMAND, Watch
from tests.support import workertasks
from tests.support.worlds import write_text_world


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(2) as pool:
        yield pool


def is_gone(process: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return True


def test_another_takes_the_place_of_one_that_died(pool: WorkerPool) -> None:
    with pytest.raises(WorkerDiedError):
        pool.submit(workertasks.die).result()
    assert pool.submit(workertasks.own_process).result() != os.getpid()


@pytest.mark.parametrize("seconds", [0.0, 0.03, 0.1])
def test_one_killed_in_the_midst_of_its_answer_is_noticed(pool: WorkerPool, seconds: float) -> None:
    """Python's own pool would wait for the other half of it for ever."""
    other = pool.submit(workertasks.own_process)
    with pytest.raises(WorkerDiedError):
        pool.submit(workertasks.large_and_doomed, seconds).result(timeout=60)
    assert other.result() != os.getpid()


def test_an_error_says_where_it_happened(pool: WorkerPool) -> None:
    with pytest.raises(ValueError, match=r"^no such luck$") as caught:
        pool.submit(workertasks.fail).result()
    assert "workertasks.py" in str(caught.value.__cause__)
    with pytest.raises(RuntimeError, match=r"^StubbornError: stays here$"):
        pool.submit(workertasks.fail_always).result()
    with pytest.raises(AttributeError, match="pickle local object"):
        pool.submit(lambda: None).result()


def test_what_is_in_the_works_is_not_waited_for(tmp_path: Path) -> None:
    pool = WorkerPool(2)
    running = [pool.submit(workertasks.sleep_long, str(tmp_path)) for _ in range(5)]
    while len(started := [int(path.name) for path in tmp_path.iterdir()]) < 2:
        time.sleep(0.01)
    pool.close()
    assert all(is_gone(process) for process in started)
    assert [future.cancelled() for future in running] == [False, False, True, True, True]


def test_a_killed_worker_costs_no_result(pool: WorkerPool) -> None:
    os.kill(pool.submit(workertasks.own_process).result(), signal.SIGKILL)
    assert len(list(pool.map(workertasks.own_process, range(20)))) == 20


def test_an_item_that_kills_its_worker_again_is_named(pool: WorkerPool) -> None:
    with pytest.raises(SynsetmineError, match=r"^it: its worker process died twice, perhaps for"):
        list(pool.map(workertasks.die, ["it"]))


def test_tuning_tells_of_a_killed_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_score_fold", workertasks.die)
    with pytest.raises(
        SynsetmineError, match=r"worker process died, .* same command again to continue$"
    ):
        list(tuning._run([("one", (0,)), ("two", (0,))], workers=2))


PROGRAM = """
import sys
from synsetmine.engines.workers import WorkerPool
from tests.support.workertasks import sleep_long
if __name__ == "__main__":
    with WorkerPool(2) as pool:
        list(pool.map(sleep_long, [sys.argv[1]] * 4))
"""


def test_a_script_without_a_guard_is_reported_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from synsetmine.engines.workers import WorkerPool\n"
        "with WorkerPool(2) as pool:\n    print(list(pool.map(abs, [-1, -2, -3])))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert 'put the code that starts the work under `if __name__ == "__main__":`' in done.stderr
    lines = script.read_text().splitlines()
    script.write_text(
        "\n".join([lines[0], 'if __name__ == "__main__":', *(f"    {x}" for x in lines[1:])])
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[1, 2, 3]\n"


def test_a_script_without_a_guard_that_catches_errors_is_reported_so_too(tmp_path: Path) -> None:
    """Its copies in the workers end as if all were well."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from synsetmine.engines.workers import WorkerPool\n"
        "try:\n"
        "    with WorkerPool(2) as pool:\n        print(list(pool.map(abs, [-1, -2, -3])))\n"
        "except Exception as error:\n    print(error)\n    sys.exit(0)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert 'put the code that starts the work under `if __name__ == "__main__":`' in done.stdout


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    """Also those that are at work."""
    notes = tmp_path / "notes"
    notes.mkdir()
    with group([sys.executable, "-c", PROGRAM, str(notes)], tmp_path) as parent:
        while len(list(notes.iterdir())) < 2:
            assert parent.poll() is None, (tmp_path / LOG).read_text()
            time.sleep(0.01)
        parent.kill()
        parent.wait()
        while members_alive(parent.pid):  # a worker that stayed would stay for ten minutes
            time.sleep(0.01)


@pytest.mark.slow
def test_a_run_survives_the_death_of_workers(tmp_path: Path) -> None:
    """One that links and one that counts phrases; the files are those of an unbroken run."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
        write_text_world(folder, mentions=60)  # enough for several batches
    command = [*COMMAND, "run", "--until", "vocabulary", "--workers", "2", "--device", "cpu"]
    killed = set()
    with group(command, broken) as run:
        while run.poll() is None:
            stage = "vocabulary" if "supervise (" in (broken / LOG).read_text() else "link"
            workers = [process for process in members_alive(run.pid) if is_worker(process)]
            if stage not in killed and workers:
                os.kill(workers[0], signal.SIGKILL)
                killed.add(stage)
    assert run.returncode == 0, (broken / LOG).read_text()
    assert killed == {"link", "vocabulary"}
    run_project(
        read_project(whole / "synsetmine.toml"), Watch(), engine=LocalEngine(1), until="vocabulary"
    )
    for name in ("mentions.parquet", "links.tsv", "vocabulary.tsv"):
        assert (broken / "run" / name).read_bytes() == (whole / "run" / name).read_bytes(), name


def is_worker(process: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return False


def test_threads_that_start_processes_at_once_leave_the_environment_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    second_started, first_left = Event(), Event()

    def wait_for_the_other() -> None:
        if not second_started.is_set() and second.ident is None:
            second.start()
            second_started.wait(0.2)
        else:
            second_started.set()
            assert first_left.wait(10)

    second = Thread(target=spawn_context)
    monkeypatch.setattr(resource_tracker, "ensure_running", wait_for_the_other)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    spawn_context()
    first_left.set()
    second.join(10)
    assert "PYTHONSAFEPATH" not in os.environ
