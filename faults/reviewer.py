"""A reviewer who goes on where he was: `synsetmine review` with somebody at the page.

The server and the one who presses its buttons are one group of processes, so that both are killed
at a time. What the page confirmed is noted outside of the run's folder.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from synsetmine.io.sets import read_sets
from synsetmine.review import ReviewStore
from synsetmine.runs.folder import Artefacts
from tests.support.webserver import Visitor, write_run

RUN = "run"
TOLD = "told.txt"
SETS = 40


def write_plan(folder: Path) -> None:
    """A run with sets to be accepted."""
    sets = {f"s{n}": {f"name {n}": None, f"term {n}": 0.9} for n in range(SETS)}
    write_run(folder / RUN, sets, names={})


def plan(run: Path) -> list[str]:
    """The sets in the order in which they are accepted."""
    return list(read_sets(Artefacts(run).mined).ids)


def review(folder: Path) -> None:
    """Accept what was not accepted yet, then end the server as Ctrl-C does."""
    run = folder / RUN
    command = [sys.executable, "-m", "synsetmine", "review", RUN, "--no-open"]
    command += ["--no-token", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        visitor = Visitor(_address(server))
        with ReviewStore(Artefacts(run).reviews) as store:
            made = {decision.set_id for decision in store.decisions()}
        with (folder / TOLD).open("a") as told:
            for set_id in plan(run):
                if set_id not in made:
                    visitor.open(set=set_id)
                    visitor.decide("accept", set_id).raise_for_status()
                    told.write(f"{set_id}\n")
                    told.flush()
                    os.fsync(told.fileno())
        visitor.close()
        server.send_signal(signal.SIGINT)
        server.communicate()
    if server.returncode:
        raise SystemExit(server.returncode)


def _address(server: subprocess.Popen[str]) -> str:
    for line in server.stderr or ():
        print(line, end="", file=sys.stderr, flush=True)
        if found := re.search(r" at (http\S+) ", line):
            return found[1]
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    review(Path())
