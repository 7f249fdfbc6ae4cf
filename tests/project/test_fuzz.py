"""A short run of the fuzzing targets: their seeds, and some thousand changes of them."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.mutation import mutate
from fuzz.runner import TARGET_NAMES, replay
from fuzz.target import FIRST, Form, Target, both_ways
from fuzz.targets import TARGETS
from synsetmine.errors import DataError, ErrorCounts, SynsetmineError

INPUTS = 100  # for each form of file
ROOT = Path(__file__).parents[2]


def test_the_runner_knows_all_targets() -> None:
    assert tuple(TARGETS) == TARGET_NAMES


@pytest.mark.parametrize("name", TARGET_NAMES)
def test_every_seed_is_sound(name: str) -> None:
    """Otherwise what is made of them would only be refused at the first byte."""
    target = TARGETS[name]
    seeds = target.seeds()
    assert {seed[0] - FIRST for seed in seeds} == set(range(len(target.forms)))
    for form, examples in ((form, form.examples()) for form in target.forms):
        for example in examples:
            _check_sound(target, form, example)


def _check_sound(target: Target, form: Form, example: bytes) -> None:
    def check(path: Path) -> None:
        try:
            form.check(path)
        except SynsetmineError as error:
            pytest.fail(f"{form.file}: {error}")

    Target(target.name, (Form(form.file, check, form.examples),)).run(bytes([FIRST]) + example)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGET_NAMES)
def test_whatever_is_read_is_read_or_refused(name: str) -> None:
    target = TARGETS[name]
    chance = random.Random(name)
    seeds, words = target.seeds(), [word.encode() for word in target.words]
    for _ in range(INPUTS * len(target.forms)):
        data = mutate(chance.choice(seeds), chance, words, longest=2000)
        try:
            target.run(data)
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}, of {data!r}")


# --- What the targets would find ---


def _target(check: object) -> Target:
    return Target("sets", (Form("a.txt", check, lambda: [b""]),))  # type: ignore[arg-type]


def test_another_exception_is_a_finding() -> None:
    def check(path: Path) -> None:
        int(path.read_text())

    _target(check).run(b"07")
    with pytest.raises(ValueError, match="invalid literal"):
        _target(check).run(b"0x")


@pytest.mark.parametrize("message", ["two\nlines", "half a \ud800"])
def test_an_error_that_cannot_be_shown_is_a_finding(message: str) -> None:
    def check(_: Path) -> None:
        raise SynsetmineError(message)

    with pytest.raises((AssertionError, UnicodeEncodeError)):
        _target(check).run(b"0")


def test_what_is_left_out_without_a_word_is_a_finding() -> None:
    def read(skipped: ErrorCounts | None) -> int:
        if skipped is None:
            raise DataError("broken")
        return 1

    with pytest.raises(AssertionError, match="left out without a word"):
        both_ways(read)


def test_what_differs_when_nothing_is_broken_is_a_finding() -> None:
    with pytest.raises(AssertionError, match="all is another"):
        both_ways(lambda skipped: skipped is None)


# --- The runner ---


def test_a_finding_runs_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finding = tmp_path / "finding"
    finding.write_bytes(TARGETS["answers"].seeds()[0])
    assert replay("answers", [finding]) == 0
    assert capsys.readouterr().out == f"{finding}: fine\n"


@pytest.mark.slow
def test_atheris_runs_a_target(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris has no wheel for this Python or machine")
    command = [sys.executable, "-m", "fuzz", "answers", "--minutes", "0.2", "--out", str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert "inputs in" in done.stdout
    assert done.stdout.endswith(f"answers: 0 findings in {tmp_path / 'found'}\n")
    assert len(list((tmp_path / "corpus" / "answers").iterdir())) > len(TARGETS["answers"].seeds())
