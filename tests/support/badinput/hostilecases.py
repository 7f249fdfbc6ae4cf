"""Run and model folders that somebody else has prepared: links, pipes, journals, hard links."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.support.badinput.case import Case
from tests.support.badinput.world import world
from tests.support.hostilefolders import (
    dangling_link,
    link,
    pipe,
    put,
    write_journal,
    write_reviewed_run,
)

PART = "a folder from someone else"
PLAIN = "only regular files of a run or model folder are opened"
LINK, PIPE = f"this is a symbolic link; {PLAIN}", f"this is a pipe; {PLAIN}"
VICTIM = "kb.jsonl"


def _with(name: str, kind: Callable[[Path, Path], None]) -> Callable[[Path], None]:
    """A world with a run in which one file is something else; `model/…` is the model's."""

    def make(folder: Path) -> None:
        world(folder)
        write_reviewed_run(folder / "run")
        owner = folder if name.startswith("model/") else folder / "run"
        put(owner, name, kind, folder / VICTIM)

    return make


def _with_journal(folder: Path) -> None:
    world(folder)
    write_reviewed_run(folder / "run")
    write_journal(folder / "run" / "reviews.sqlite", folder / VICTIM)


def _with_second_name(folder: Path) -> None:
    world(folder)
    os.link(write_reviewed_run(folder / "run") / "reviews.sqlite", folder / "other.sqlite")


EXPORT = ("export", "run", "-f", "solr", "-o", "out.txt")
HOSTILE_CASES: tuple[Case, ...] = (
    *(
        Case(
            PART,
            f"{command[0]}, a journal of SQLite",
            _with_journal,
            command,
            1,
            "run/reviews.sqlite-journal: unexpected SQLite journal, which can make SQLite "
            "delete other files; delete it, unless another program is writing to the database",
        )
        for command in (
            EXPORT,
            ("export-reviews", "run", "-o", "out.tsv"),
            ("serve", "run", "--sets-only", "--port", "0"),
            ("review", "run", "--no-open", "--port", "0"),
        )
    ),
    *(
        Case(
            PART,
            f"{command[0]}, {kind} as {name}",
            _with(name, make),
            command,
            1,
            f"{'' if name.startswith('model/') else 'run/'}{name}: {says}",
        )
        for command, name, kind, make, says in (
            (("run",), ".lock", "a link", link, LINK),
            (("report", "run"), "report.html", "a link", link, LINK),
            (("review", "run", "--no-open"), "sentences.sqlite", "a link", link, LINK),
            (("review", "run", "--no-open"), "reviews.sqlite", "a link", dangling_link, LINK),
            (EXPORT, "mined.jsonl", "a pipe", pipe, PIPE),
            (("serve", "run"), "manifest.json", "a pipe", pipe, PIPE),
            (("export-reviews", "run", "-o", "a"), "reviews.sqlite-wal", "a pipe", pipe, PIPE),
            (("mine", "model", "-o", "a"), "model/config.json", "a pipe", pipe, PIPE),
            (("mine", "model", "-o", "a"), "model/model.safetensors", "a link", link, LINK),
            (("train", "train.set", "-o", "model"), "model/config.json", "a link", link, LINK),
        )
    ),
    Case(
        PART,
        "review, reviews with a second hard link",
        _with_second_name,
        ("review", "run", "--no-open"),
        1,
        "run/reviews.sqlite: this file has a second hard link, which would change too; use a copy",
    ),
)
