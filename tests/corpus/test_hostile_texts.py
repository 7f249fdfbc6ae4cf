"""Whatever stands in a text, reading it takes time that grows with its length, not with the square.

Each way of reading runs in a process of its own, which the system ends after so much processor
time that only the square can need it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from synsetmine.corpus.wikitext import Site, read_target
from tests.support.hostiletexts import READERS


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_hostile_texts_are_read_in_time(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "tests.support.hostiletexts", name, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_character_with_a_number_of_thousands_of_digits_is_none() -> None:
    written = f"&#{'9' * 5000};"
    assert read_target(f"A{written}", Site()).title == "A&"  # and then a section begins
    assert read_target("A&#66;", Site()).title == "AB"
