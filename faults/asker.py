"""`synsetmine group --judge` with an endpoint of its own, which is killed with it."""

from __future__ import annotations

import subprocess
import sys

from tests.support.judgeserver import JudgeServer

OUT = "out"
NAMES = "names.txt"
CACHE = "judge.sqlite"


def ask() -> int:
    with JudgeServer().start() as server:
        command = [sys.executable, "-m", "synsetmine", "group", NAMES, "--out", f"{OUT}/sets.jsonl"]
        judge = ["--judge", server.url, "--judge-band", "1", "--judge-cache", f"{OUT}/{CACHE}"]
        return subprocess.run([*command, *judge], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(ask())
