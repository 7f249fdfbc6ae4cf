"""The page on the architecture follows a term through functions that a run calls."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from synsetmine.cli.app import app
from synsetmine.engines import LocalEngine
from synsetmine.pipeline.run import run_project
from tests.support.worlds import write_text_world

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
# Functions that earlier steps call as well: on names of the knowledge base, and training sets.
EARLIER = {"normal_form", "write_sets"}


def listed() -> list[tuple[str, str]]:
    """Module and function of each step."""
    rows = re.findall(r"^\| \d+ \| `(\w+)` \| `([\w.]+)` \|", PAGE.read_text("utf-8"), re.M)
    return [(module, function) for function, module in rows]


@pytest.mark.slow
def test_a_run_and_an_export_call_the_functions_in_this_order(tmp_path: Path) -> None:
    steps = [*dict.fromkeys(listed())]
    calls: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            step = frame.f_globals.get("__name__", ""), frame.f_code.co_name
            if step in steps:
                calls.setdefault(step)

    project = write_text_world(tmp_path)
    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run = run_project(project, engine=LocalEngine(1)).path
        arguments = ["export", str(run), "--format", "solr", "--out", str(tmp_path / "rules.txt")]
        app(arguments, standalone_mode=False)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    assert calls.keys() == {*steps}
    order = [step for step in calls if step[1] not in EARLIER]
    # Generators begin when their first value is taken: read_jsonl after write_documents.
    lazy = ("synsetmine.corpus.documents", "read_jsonl")
    order.remove(lazy)
    assert order == [s for s in steps if s[1] not in EARLIER and s != lazy]
