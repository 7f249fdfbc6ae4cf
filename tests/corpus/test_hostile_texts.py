"""Whatever stands in a text, reading it takes time that grows with its length, not with the square.

Each way of reading runs in a process of its own, which the system ends after so much processor
time that only the square can need it.
"""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.corpus.wikitext import Site, read_target
from synsetmine.normalization import nfc
from tests.support.hostiletexts import READERS

MARKS = "\u0301\u0316\u0f73\u0344\u0f71\u3099\u0345\u05b0\u0300\u302e"
LETTERS = "aé\u1ea1か가\u1100\u1161\u11a8. \u0958"


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_hostile_texts_are_read_in_time(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "tests.support.hostiletexts", name, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@given(
    st.text(LETTERS + MARKS, max_size=20),
    st.lists(st.sampled_from(MARKS), min_size=60, max_size=200),
    st.text(LETTERS + MARKS, max_size=20),
)
@settings(deadline=None, max_examples=60)
def test_many_marks_on_one_letter_are_brought_into_unicodes_own_form(
    before: str, marks: list[str], after: str
) -> None:
    text = before + "".join(marks) + after + "-" * 2000  # long enough to be looked at closely
    assert nfc(text) == unicodedata.normalize("NFC", text)


def test_a_character_with_a_number_of_thousands_of_digits_is_none() -> None:
    written = f"&#{'9' * 5000};"
    assert read_target(f"A{written}", Site()).title == "A&"  # and then a section begins
    assert read_target("A&#66;", Site()).title == "AB"
