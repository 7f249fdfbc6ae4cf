"""Both servers under load for a while: errors, waits, and whether memory stays as it is.

    python -m benchmarks.bench_load --minutes 10 --connections 32
    python -m benchmarks.bench_load --app review --minutes 1

`synsetmine serve` and `synsetmine review` run as users start them, one after the other, on a
made-up run of `--terms` terms with a trained model; 32 connections are kept and each waits for its
answer before it asks again. An error is a status that should not come, a body that is not right,
or a connection that the server dropped; there must be none, and the exit code says so. At the end
the decisions that the review server said it has recorded are compared with those in the file that
`synsetmine export-reviews` writes. Linux only: memory and open files are read from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.asking import Asker, Questions
from benchmarks.httpclient import Connection
from benchmarks.judging import Judge, Queue
from benchmarks.synthetic import Synthetic, make_vocabulary
from benchmarks.visits import Ledger, Visit, visit
from synsetmine.errors import in_one_line
from synsetmine.models import DEFAULT_PRESET, save_model, settings_of
from synsetmine.review.decisions import read_decisions
from synsetmine.runs.folder import Artefacts
from synsetmine.views import TermViews, write_vectors
from tests.support.webserver import process_of, write_run

EVERY = 30.0  # seconds between two looks at the memory
MB = 2**20
FLAT = 0.02  # of the memory, or
FLAT_MB = 4  # so much, may the second half of the time add
KEPT = 4096  # bytes that a review server may keep of each decision; its pages show who said what


def main() -> None:
    options = _options()
    apps = ("serve", "review") if options.app == "both" else (options.app,)
    with tempfile.TemporaryDirectory() as folder:
        world = make_vocabulary(options.terms, seed=1)
        run = make_run(Path(folder, "run"), world)
        errors = 0
        for app in apps:
            load = _load_serve if app == "serve" else _load_review
            errors += load(run, world, options.minutes * 60, options.connections)
    sys.exit(1 if errors else 0)


def make_run(folder: Path, world: Synthetic) -> Path:
    """A run whose mined sets are the true ones, with vectors, sentences and a trained model."""
    sets = {
        set_id: {str(term): None if n == 0 else 0.5 + 0.4 / n for n, term in enumerate(members)}
        for set_id, members in zip(world.sets.ids, world.sets, strict=True)
    }
    at = Artefacts(write_run(folder, sets, {}))
    views = TermViews(world.views.vectors)
    known = world.sets.pick(range(0, len(world.sets), 4))  # a quarter trains fast
    write_vectors(at.vectors, views.vectors[0])
    save_model(at.model, settings_of(DEFAULT_PRESET).train(known, views).model)
    return folder


def _load_serve(run: Path, world: Synthetic, seconds: float, connections: int) -> int:
    questions = Questions.about(world.sets, world.terms)
    with process_of("serve", str(run)) as (address, process):
        visits = [Asker(questions, n) for n in range(connections)]
        ledger = _load("serve", address, process.pid, visits, seconds)
    return len(ledger.errors)


def _load_review(run: Path, world: Synthetic, seconds: float, connections: int) -> int:
    sets = {
        set_id: list(map(str, members))
        for set_id, members in zip(world.sets.ids, world.sets, strict=True)
        if len(members) > 1
    }
    queue = Queue(sets)
    with process_of("review", str(run), "--no-open") as (address, process):
        port = urlsplit(address).port or 0
        judges = [Judge(queue, n, port) for n in range(connections)]
        asyncio.run(_wait_for_sentences(judges[0], port))
        told = queue.recorded.total
        ledger = _load("review", address, process.pid, judges, seconds, told=told)
    stored = _export_all(run)
    ledger.errors += [
        f"{key}: {stored[key]} in the file, {queue.recorded[key]} were told"
        for key in sorted(stored.keys() | queue.recorded.keys())
        if stored[key] != queue.recorded[key]
    ]
    print(
        f"{told():,} decisions told, {stored.total():,} in the exported file, "
        f"{queue.refused:,} refused; errors: {len(ledger.errors)}"
    )
    return len(ledger.errors)


async def _wait_for_sentences(judge: Judge, port: int) -> None:
    connection = await Connection.to(port)
    while not await judge.has_sentences(connection):
        await asyncio.sleep(0.5)
    await connection.close()


def _export_all(run: Path) -> Counter[tuple[str, str]]:
    out = run.parent / "reviews.tsv"
    command = [sys.executable, "-m", "synsetmine", "export-reviews", str(run), "-o", str(out)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return Counter((decision.reviewer, decision.kind) for decision in read_decisions(out))


# --- The load, and the watch over the server ---


@dataclass(frozen=True)
class Look:
    seconds: float
    memory: int
    files: int
    told: int  # decisions so far


@dataclass
class Watch:
    """The memory and the open files of a process, every half minute."""

    pid: int
    told: Callable[[], int]
    looks: list[Look] = field(default_factory=list)
    begin: float = field(default_factory=time.perf_counter)

    def look(self) -> None:
        status = Path(f"/proc/{self.pid}/status").read_text()
        memory = int(status.partition("VmRSS:")[2].split()[0]) * 1024
        files = len(list(Path(f"/proc/{self.pid}/fd").iterdir()))
        self.looks.append(Look(time.perf_counter() - self.begin, memory, files, self.told()))

    async def keep_looking(self, every: float) -> None:
        while True:
            self.look()
            await asyncio.sleep(every)

    def show(self, ledger: Ledger) -> None:
        half, last = self.looks[len(self.looks) // 2], self.looks[-1]
        ledger.show(last.seconds)
        print(f"\n{'seconds':>8} {'memory MB':>10} {'open files':>11} {'decisions':>10}")
        for look in self.looks:
            print(f"{look.seconds:8.0f} {look.memory / MB:10.1f} {look.files:11} {look.told:10,}")
        growth, told = last.memory - half.memory, last.told - half.told
        kept = f", {growth / told / 1024:.1f} KB for each of {told:,} decisions" if told else ""
        beyond = growth - KEPT * told
        is_flat = beyond <= max(FLAT * half.memory, FLAT_MB * MB)
        print(
            f"memory is {'flat' if is_flat else 'NOT flat'}: the second half added "
            f"{growth / MB:+.1f} MB ({growth / half.memory:+.1%}{kept})",
            flush=True,
        )


def _load(
    app: str,
    address: str,
    pid: int,
    visits: Sequence[Visit],
    seconds: float,
    *,
    told: Callable[[], int] = int,
) -> Ledger:
    ledger, watch = Ledger(), Watch(pid, told)
    port = urlsplit(address).port or 0
    print(f"\n== {app}, {len(visits)} connections, {seconds:g} s ==", flush=True)

    async def everyone() -> None:
        looking = asyncio.create_task(watch.keep_looking(min(EVERY, seconds / 4)))
        await visit(port, visits, seconds, ledger)
        looking.cancel()
        watch.look()

    asyncio.run(everyone())
    watch.show(ledger)
    return ledger


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--app", choices=("serve", "review", "both"), default="both")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--terms", type=int, default=2000)
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
