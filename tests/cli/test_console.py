"""Names come from anywhere; none may steer the terminal that they are printed to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synsetmine.cli import console
from synsetmine.errors import DataError, printable
from synsetmine.types import Term

EVIL = "a\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\u202eb"
SPELLED = r"a\u001b[2J\u001b]0;title\u0007\u009b31m\u000d\u0008\u202eb"


def test_what_steers_a_terminal_is_spelled_out(capsys: pytest.CaptureFixture[str]) -> None:
    console.error(EVIL)
    console.warn(EVIL)
    console.say(EVIL)
    console.show(EVIL)
    console.report_missing([Term(EVIL)], 1, "stand alone")
    console.report_skipped([DataError(EVIL, path=EVIL)])
    console.show_table(("term",), [(EVIL,)])
    said = "".join(capsys.readouterr())
    assert said.count(SPELLED) == 8
    assert not [char for char in said if char != "\n" and not char.isprintable()]


def test_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    console.show_json([EVIL])
    said = capsys.readouterr().out
    assert json.loads(said) == [EVIL]
    assert SPELLED.replace(r"\u000d\u0008", r"\r\b") in said


def test_no_name_makes_up_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    forged = "a\nsynsetmine: error: all is lost"
    console.warn(forged)
    console.report_missing([Term(forged)], 1, "stand alone")
    console.report_skipped([DataError("broken", path=forged)])
    console.show_table(("term",), [(forged,)])
    lines = "".join(capsys.readouterr()).splitlines()
    assert len(lines) == 6
    assert not any(line.startswith("synsetmine: error: all is lost") for line in lines)


@pytest.mark.parametrize("text", ["naïve\tа 東京", "two\nlines", "🫀 – … ‘x’", "a\u200db"])
def test_all_else_is_shown_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_on_a_real_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J\n.set"
    path.write_text("broken")
    reading, writing = os.openpty()
    command = [sys.executable, "-m", "synsetmine", "convert", str(path), str(tmp_path / "b.jsonl")]
    done = subprocess.run(command, stderr=writing, stdout=writing, check=False)
    os.close(writing)
    said = os.read(reading, 10_000)
    os.close(reading)
    assert done.returncode == 1
    assert b"\x1b" not in said
    assert rb"a\u001b[2J\n.set:1: expected" in said


def test_no_bar_is_left_on_a_terminal() -> None:
    reading, writing = os.openpty()
    work = "from synsetmine.cli import console\nwith console.progress_bar('train'): pass"
    subprocess.run([sys.executable, "-c", work], stderr=writing, check=True)
    os.close(writing)
    said = os.read(reading, 100_000)
    os.close(reading)
    assert b"train" in said
    assert said.rindex(b"\x1b[2K") > said.rindex(b"0/?")  # the line is erased at the end


def test_in_a_pipe_only_long_work_has_lines_of_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("synsetmine.cli.console.time.monotonic", lambda: now[0])
    with console.progress_bar("mine") as bar:
        for done in range(101):
            now[0] += 0.3
            bar.update(done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["mine 33/100", "mine 67/100"]
    with console.progress_bar("train") as bar:
        bar.update(1, 3, "epoch 1", line=True)
    assert capsys.readouterr().err.splitlines() == ["train 1/3 epoch 1"]
