"""Kills at random moments: a few for each command, and that bad ones would be noticed."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from faults.kill import kill_many, main
from faults.rounds import Tally, Whole, kill, unbroken
from faults.subjects import SUBJECTS, Subject

CARELESS = """
import os, pathlib, tempfile, time
out = pathlib.Path("out")
out.mkdir(exist_ok=True)
if not (out / "a.txt").exists():
    with (out / "a.txt").open("w") as stream:
        stream.write("one half, ")
        stream.flush()
        time.sleep(0.5)
        stream.write("the other")
(out / "b.txt").write_text("b")
"""
CAREFUL = """
import os, pathlib, time
out = pathlib.Path("out")
out.mkdir(exist_ok=True)
for name in "abc":
    (out / ".part").write_text(name)
    time.sleep(0.1)
    (out / ".part").replace(out / name)
"""


def subject(program: str) -> Subject:
    command = (sys.executable, "-c", program)
    return Subject("made up", command, "out", lambda _: None, lambda *_: "", lambda _: [])


def rounds(program: str, folder: Path, count: int) -> tuple[Whole, Tally]:
    tally = Tally()
    whole = unbroken(subject(program), folder / "whole")
    for number in range(count):
        chance = random.Random(number)
        kill(subject(program), folder / str(number), whole, tally, chance)
    return whole, tally


@pytest.mark.slow
def test_a_careless_command_is_found_out(tmp_path: Path) -> None:
    whole, tally = rounds(CARELESS, tmp_path, 6)
    assert set(whole.files) == {"a.txt", "b.txt"}
    assert tally.rounds == 6
    assert tally.kills >= 1  # how many fall into a short run depends on the load
    assert tally.equal < tally.rounds
    corrupt = {name.removeprefix(": ") for name in tally.corrupt}
    assert "a.txt" in corrupt
    assert corrupt <= {"a.txt", "b.txt"}  # a kill may also come before b.txt has its content
    assert not tally.clean


@pytest.mark.slow
def test_a_careful_one_is_clean(tmp_path: Path) -> None:
    _, tally = rounds(CAREFUL, tmp_path, 3)
    assert tally.equal == tally.rounds == 3
    assert tally.clean


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_killed_command_ends_as_if_unbroken(name: str) -> None:
    tally = kill_many(SUBJECTS[name], 1, seed=1)
    assert tally.kills >= 1
    assert (tally.lost, tally.corrupt, tally.left) == ([], [], [])
    assert tally.clean


def test_what_is_not_clean_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally(kills=3, rounds=2, equal=1, lost=["a decision"])
    monkeypatch.setattr("faults.kill.kill_many", lambda *_, **__: tally)
    assert main(["--commands", "run", "--times", "3"]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split("\t")[:6] == ["run", "3", "1 of 2", "1", "0", "0"]
    assert "run: lost: a decision" in shown.err
