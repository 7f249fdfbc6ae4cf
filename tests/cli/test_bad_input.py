"""Bad input gets one clear line and an exit code, and nothing half-written is left behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.badinput.case import Case, answer
from tests.support.badinput.table import CASES


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input(case: Case, tmp_path: Path) -> None:
    found = answer(case, tmp_path)
    told = [line for line in found.errors if line.startswith("synsetmine: ")]
    assert found.code == case.code, found.errors
    assert not any("Traceback" in line for line in found.errors)
    assert found.new_files == frozenset(case.leaves), found.errors
    if case.code and not case.unread:
        assert told[-1:] == list(found.errors[-1:])  # the error comes last
        assert _fits(told[-1].removeprefix("synsetmine: error: "), case.says), told[-1]
        assert sum(line.startswith("synsetmine: error: ") for line in told) == 1
    elif case.says:
        assert any(_fits(line.removeprefix("synsetmine: warning: "), case.says) for line in told)
    else:
        assert not told


def test_no_case_stands_twice() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def _fits(line: str, says: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, says.split("…"))), line) is not None
