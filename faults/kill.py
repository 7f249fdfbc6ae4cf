"""`python -m faults.kill --times 100`: kill -9 at random moments, and what comes of it.

Each round begins in a new folder. The command is killed with all its processes, given again and
killed again, one to three times, and then left to end. After each kill nothing may be broken, and
what was promised must be there; in the end every file must be the one of an unbroken run, and
nothing else may be left. Half of the kills come at a random time, half right after a write.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from faults.rounds import Tally, kill, unbroken
from faults.subjects import SUBJECTS, Subject

COLUMNS = ("command", "kills", "resumed equal", "lost", "corrupt", "left over", "where")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="faults.kill", description="kill -9, and go on")
    parser.add_argument("--times", type=int, default=100, help="kills in all")
    parser.add_argument("--commands", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tallies = {}
    for number, name in enumerate(given.commands):
        share = range(number, given.times, len(given.commands))
        tallies[name] = kill_many(SUBJECTS[name], len(share), seed=given.seed)
        print(f"{name}: {tallies[name].kills} kills", file=sys.stderr, flush=True)
    show(tallies)
    return 0 if all(tally.clean for tally in tallies.values()) else 1


def kill_many(subject: Subject, times: int, *, seed: int) -> Tally:
    """Kill a command so many times or, in the last round, up to two times more."""
    chance = random.Random(f"{seed} {subject.name}")  # noqa: S311
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        whole = unbroken(subject, Path(name, "whole"))
        while tally.kills < times:
            kill(subject, Path(name, f"round{tally.rounds}"), whole, tally, chance)
    return tally


def show(tallies: dict[str, Tally]) -> None:
    rows = [
        (
            name,
            tally.kills,
            f"{tally.equal} of {tally.rounds}",
            *map(len, (tally.lost, tally.corrupt, tally.left)),
            ", ".join(f"{stage} {count}" for stage, count in tally.stages.most_common()),
        )
        for name, tally in tallies.items()
    ]
    for row in (COLUMNS, *rows):
        print(*row, sep="\t")
    for name, tally in tallies.items():
        for what in ("lost", "corrupt", "left"):
            for found in getattr(tally, what):
                print(f"{name}: {what}: {found}", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
