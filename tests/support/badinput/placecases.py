"""Places that cannot be written: folders, files, devices, disks, caches, a closed pipe."""

from __future__ import annotations

from tests.support.badinput.case import Case
from tests.support.badinput.world import (
    fifo_too,
    full_disk,
    link_too,
    loop_too,
    read_only_disk,
    world,
)

CONVERT = ("convert", "train.set")
FOLDER = "model: this is a folder; name a file to write"
FILE = "train.set: this is not a folder; name a folder to write to"
LOOP = "loop: this is a circular symbolic link"
OWN = "the command already uses this file; name another output file"

# Commands that lack only their output; it is looked at before anything is read.
TO_FILES = (
    ("read", "corpus.jsonl", "-o"),
    ("knowledge", "kb.jsonl", "-o"),
    ("link", "documents.parquet", "knowledge.arrow", "-o"),
    ("link", "documents.parquet", "knowledge.arrow", "-o", "out.tsv", "--mentions"),
    ("vocabulary", "documents.parquet", "-o"),
    ("vectors", "documents.parquet", "--terms", "new.jsonl", "-o"),
    ("mine", "model", "-v", "vectors.txt", "-o"),
    ("mine", "model", "-v", "vectors.txt", "-o", "out.jsonl", "--trace"),
    ("init", "--overwrite", "-o"),
    ("report", "run", "-o"),
    ("export-reviews", "run", "-o"),
    ("export", "new.jsonl", "-f", "solr", "-o"),
    ("apply-names", "names.tsv", "kb.jsonl", "-o"),
    ("group", "new.jsonl", "-o"),
    ("group", "new.jsonl", "-o", "out.csv", "--unsure"),
    CONVERT,
)
TO_FOLDERS = (
    ("supervise", "links.tsv", "knowledge.arrow", "-o"),
    ("train", "train.set", "-v", "vectors.txt", "-o"),
    ("tune", "train.set", "-v", "vectors.txt", "-g", "dropout=0.3", "-o"),
    ("compare", "train.set", "-v", "vectors.txt", "-o"),
    ("finetune", "train.set", "-o"),
    ("datasets", "nyt", "--copy-to"),
)
# Commands whose output is one of their inputs, or their other output.
OVER = (
    (("knowledge", "kb.jsonl", "-o", "kb.jsonl"), f"kb.jsonl: {OWN}"),
    (
        ("link", "documents.parquet", "knowledge.arrow", "-o", "a", "--mentions", "a"),
        f"a: {OWN}",
    ),
    (("vocabulary", "documents.parquet", "-o", "documents.parquet"), f"documents.parquet: {OWN}"),
    (
        ("vectors", "documents.parquet", "--terms", "new.jsonl", "-o", "./new.jsonl"),
        f"new.jsonl: {OWN}",
    ),
    (("mine", "model", "-v", "vectors.txt", "-o", "vectors.txt"), f"vectors.txt: {OWN}"),
    (("mine", "model", "-v", "vectors.txt", "-o", "a", "--trace", "a"), f"a: {OWN}"),
    (
        ("mine", "model", "-v", "vectors.txt", "--seeds", "train.set", "-o", "train.set"),
        f"train.set: {OWN}",
    ),
    (
        ("mine", "model", "-v", "vectors.txt", "-o", "a", "--trace", "vectors.txt"),
        f"vectors.txt: {OWN}",
    ),
    (("apply-names", "new.jsonl", "kb.jsonl", "-o", "new.jsonl"), f"new.jsonl: {OWN}"),
    (("export", "new.jsonl", "-f", "solr", "-o", "new.jsonl"), f"new.jsonl: {OWN}"),
    (
        ("read", "*.jsonl", "-o", "corpus.jsonl"),
        "corpus.jsonl: the command reads this file; name another output file",
    ),
)
TOO_LARGE = "the file exceeds the size limit (ulimit -f, or the file system); nothing was written"


def _name_of(command: tuple[str, ...]) -> str:
    return f"{command[0]} {command[-1]}" if command[-1].startswith("-") else command[0]


PLACE_CASES: tuple[Case, ...] = (
    *(
        Case("a folder as a file", _name_of(command), world, (*command, "model"), 1, FOLDER)
        for command in TO_FILES
    ),
    *(
        Case("a file as a folder", _name_of(command), world, (*command, "train.set"), 1, FILE)
        for command in TO_FOLDERS
    ),
    *(Case("over itself", " ".join(command), world, command, 1, says) for command, says in OVER),
    *(
        Case("a circular symbolic link", _name_of(command), loop_too, (*command, "loop"), 1, LOOP)
        for command in (*TO_FILES[:-1], *TO_FOLDERS)
    ),
    Case("a file as a folder", "convert", world, (*CONVERT, "train.set/a.jsonl"), 1, FILE),
    Case(
        "a pipe as a file",
        "convert",
        fifo_too,
        (*CONVERT, "pipe.jsonl"),
        1,
        "pipe.jsonl: this is a device or a pipe; name a file to write",
    ),
    Case("a link as a file", "convert", link_too, (*CONVERT, "link.jsonl"), 0, "", ("new.jsonl",)),
    Case(
        "a parent that is missing",
        "convert",
        world,
        (*CONVERT, "far/away/a.set"),
        0,
        "",
        ("far", "far/away", "far/away/a.set"),
    ),
    Case(
        "an existing file",
        "init",
        world,
        ("init",),
        1,
        "synsetmine.toml exists already; --overwrite replaces it",
    ),
    Case(
        "a full disk",
        "convert",
        world,
        (*CONVERT, "disk/new.jsonl"),
        1,
        "disk/new.jsonl: the disk is full; nothing was written",
        during=full_disk,
    ),
    Case(
        "a full disk",
        "convert over an old file",
        world,
        (*CONVERT, "disk/old.jsonl"),
        1,
        "disk/old.jsonl: the disk is full; nothing was written",
        during=full_disk,
    ),
    Case(
        "a full disk",
        "read",
        world,
        ("read", "corpus.jsonl", "-o", "disk/a.parquet"),
        1,
        "disk/a.parquet: the disk is full; nothing was written",
        during=full_disk,
    ),
    Case(
        "a read-only disk",
        "mine",
        world,
        ("mine", "model", "-v", "vectors.txt", "-o", "disk/a.jsonl"),
        1,
        "disk: this folder is not writable",
        during=read_only_disk,
    ),
    Case(
        "a read-only disk",
        "train",
        world,
        ("train", "train.set", "-o", "disk/model"),
        1,
        "disk: this folder is not writable",
        during=read_only_disk,
    ),
    *(
        Case(
            "too large a file",
            " ".join(command),
            world,
            command,
            1,
            f"{command[-1]}: {TOO_LARGE}",
            largest=0,
        )
        for command in (
            (*CONVERT, "new.jsonl"),
            ("convert", "vectors.txt", "a.safetensors"),
            ("export", "new.jsonl", "-f", "parquet", "-o", "a.parquet"),
            ("export", "new.jsonl", "-f", "solr", "-o", "kb.jsonl"),
            ("init", "--overwrite", "-o", "synsetmine.toml"),
        )
    ),
    *(
        Case(
            "too large a file",
            " ".join(command),
            world,
            command,
            1,
            "no folder for temporary files is writable; set TMPDIR, or raise the limit of file "
            "sizes (ulimit -f)",
            largest=0,
        )
        for command in (
            ("read", "corpus.jsonl", "-o", "a.parquet"),
            ("knowledge", "kb.jsonl", "-o", "a.arrow"),
        )
    ),
    Case(
        "a read-only cache",
        "datasets",
        world,
        ("datasets", "nyt", "--from", "."),
        1,
        "disk/datasets: Read-only file system",
        during=read_only_disk,
        environment={"SYNSETMINE_CACHE": "disk"},
    ),
    Case("a closed pipe", "compare --list", world, ("compare", "--list"), 1, "", unread=True),
    Case(
        "a closed pipe",
        "evaluate",
        world,
        ("evaluate", "new.jsonl", "new.jsonl", "--json"),
        1,
        "",
        unread=True,
    ),
    Case("a closed pipe", "synsetmine --help", world, ("--help",), 1, "", unread=True),
)
