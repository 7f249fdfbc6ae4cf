"""What a knowledge base's file says of one entity, as it stands there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from synsetmine.errors import DataError
from synsetmine.files import byte_lines

UNSCOPED = "a name that is not exact, in a file whose form knows no other"


@dataclass(frozen=True, slots=True)
class NewName:
    """A name for an entity; `source` is the id of who vouches for it, for forms that have it."""

    entity: str
    name: str
    scope: str = "exact"  # of the name, compared with the entity; or broad, narrow, related
    source: str = ""
    kind: str = ""  # one of `NameKind`, for formats that have types of names


class Record(Protocol):
    """A piece of a file that names an entity; the pieces in their order are the file."""

    @property
    def raw(self) -> bytes: ...

    @property
    def entity(self) -> str: ...

    @property
    def names(self) -> Sequence[str]: ...

    def refuses(self, name: NewName) -> str:
        """Why the record cannot hold a name; empty if it can."""

    def with_names(self, names: Sequence[NewName]) -> bytes:
        """The piece with further names in it."""


def texts_of(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """The lines of a file: number, bytes, and the text without its end."""
    for number, raw in byte_lines(path):
        try:
            yield number, raw, raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise DataError("not UTF-8", path=path, line=number, value=raw[:80]) from None


def line_end(raw: bytes) -> bytes:
    """The line end of a piece; the last one of a file may have none, and `\\r` alone is none."""
    return raw[len(raw.rstrip(b"\r\n")) :] if raw.endswith(b"\n") else b""
