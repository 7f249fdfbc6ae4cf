"""What a page shows is what is printed: the comparison bites."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.walks import pattern, steps, walk

PAGE = """# A page
```console
$ printf 'read 0.1/0.2 MB\\nmine (0.5 s):\\n3 sets\\tof 7\\nrun/report.html\\n'
mine (12.25 s):
3 sets   of 7
…
$ cd sub && \\
    ls
```
"""


def test_commands_share_a_shell_and_bars_are_passed_over(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (tmp_path / "sub").mkdir()
    assert [step.command for step in steps(page)][1] == "cd sub && \\\n    ls"
    walk(page, tmp_path)


def test_a_page_that_shows_something_else_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("3 sets   of 7", "4 sets   of 7"))
    (tmp_path / "sub").mkdir()
    with pytest.raises(AssertionError, match="4 sets"):
        walk(page, tmp_path)
    page.write_text("```console\n$ false\n```\n")
    with pytest.raises(AssertionError):
        walk(page, tmp_path)


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        (["1.5 s"], "0.9341 s\n", True),
        (["15 terms"], "16 terms\n", False),
        (["a", "…", "d"], "a\nb\nc\nd\n", True),
        (["a", "d"], "a\nb\nd\n", False),
        (["a … d"], "a b c d\n", True),
        (["a"], "a\nb\n", False),
        (["a+b (c)"], "a+b (c)\n", True),
    ],
)
def test_what_may_be_printed(shown: list[str], printed: str, fits: bool) -> None:
    assert bool(re.fullmatch(pattern(shown), printed)) is fits
