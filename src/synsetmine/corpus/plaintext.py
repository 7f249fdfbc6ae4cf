"""Plain text: a document a paragraph, or a document a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from synsetmine.corpus.checks import sound_text
from synsetmine.errors import DataError, Skipped, raise_or_keep
from synsetmine.files import numbered_lines, plain_name
from synsetmine.types import Document

LONGEST_BLOCK = 2**20  # characters: a file without blank lines must not become one document


def read_paragraphs(
    path: Path, *, skipped: Skipped | None = None, on_read: Callable[[int], None] | None = None
) -> Iterator[Document]:
    """Blocks of lines between blank lines, with the ids `name#1`, `name#2`, …

    A whole file as one document would not fit into memory where the file is large, and what is
    mined from a corpus, which words stand together, is settled within a paragraph anyway.
    """
    name = plain_name(path)
    blocks = _blocks(numbered_lines(path, skipped=skipped, on_read=on_read))
    for count, (line, block) in enumerate(blocks, start=1):
        try:
            text = sound_text(block)
        except DataError as error:
            raise_or_keep(error.at(path, line), skipped)
            continue
        yield Document(f"{name}#{count}", text)


def read_lines(
    path: Path, *, skipped: Skipped | None = None, on_read: Callable[[int], None] | None = None
) -> Iterator[Document]:
    """One document a line, with the ids `name:1`, `name:2`, …"""
    name = plain_name(path)
    for number, line in numbered_lines(path, skipped=skipped, on_read=on_read):
        try:
            text = sound_text(line)
        except DataError as error:
            raise_or_keep(error.at(path, number), skipped)
            continue
        yield Document(f"{name}:{number}", text)


def _blocks(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """(Number of the first line, block) of each block."""
    block: list[str] = []
    first = size = 0
    for number, line in lines:
        blank = not line or line.isspace()
        if block and (blank or size + len(line) > LONGEST_BLOCK):
            yield first, "\n".join(block)
            block = []
        if blank:
            continue
        if not block:
            first, size = number, 0
        block.append(line)
        size += len(line) + 1
    if block:
        yield first, "\n".join(block)
