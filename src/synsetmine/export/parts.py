"""Several files at once: all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from synsetmine.errors import DataError
from synsetmine.files import packing_of, plain_name, writing

LIMIT = 10_000  # rules in a set of Elasticsearch's synonyms API

T = TypeVar("T")


def split(rules: Sequence[T], limit: int) -> list[Sequence[T]]:
    """The rules in parts of at most `limit`; 0 is no limit."""
    if limit < 0:
        raise DataError("the limit must be 0 or more", value=limit)
    step = limit or max(len(rules), 1)
    return [rules[start : start + step] for start in range(0, len(rules), step)] or [rules]


def write_parts(path: Path, texts: Sequence[str]) -> list[Path]:
    """Write `x.txt`, `x-2.txt`, … whole or not at all, and return their paths.

    A further part that is there already would be taken for one of these, so it is an error.
    """
    paths = [part_of(path, number) for number in range(1, len(texts) + 1)]
    beyond = part_of(path, len(texts) + 1)
    if beyond.exists():
        raise DataError("a part of an earlier, longer export is in the way", path=beyond)
    for target in paths:
        if target.is_dir():
            raise DataError("a folder is in the way", path=target)
    with ExitStack() as stack:
        # In reverse, since the last to be opened is the first to take its place: `x.txt` is last.
        for target, text in reversed(list(zip(paths, texts, strict=True))):
            stack.enter_context(writing(target)).write(text.encode())
    return paths


def part_of(path: Path, number: int) -> Path:
    """`x.txt`, then `x-2.txt`; of `x.txt.gz` it is `x-2.txt.gz`."""
    if number == 1:
        return path
    plain = Path(plain_name(path))
    packed = path.suffix if packing_of(path) else ""
    return path.with_name(f"{plain.stem}-{number}{plain.suffix}{packed}")
