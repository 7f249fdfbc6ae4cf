"""The packages that synsetmine needs, and those that they need, with their licences.

`python -m tests.dependencies` lists them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


# Known weaknesses of what we use, by the first version without them. `make audit` asks the index
# for all; this list needs no network. Those of torch before 2.10 (CVE-2026-24747, CVE-2025-32434)
# are in reading pickled weights, which nothing here does.
ADVISORIES = {
    "h11": ("0.16", "CVE-2025-43859"),
    "jinja2": ("3.1.6", "CVE-2025-27516, CVE-2024-56326"),
    "mcp": ("1.23", "CVE-2025-66416, CVE-2025-53366"),
    "pyarrow": ("23.0.1", "CVE-2026-25087, CVE-2023-47248"),
    "starlette": ("1.5.1", "CVE-2025-62727, CVE-2026-48710, CVE-2026-54283"),
    "transformers": ("5.3", "CVE-2026-4372"),
}


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    licence: str


def core_packages() -> list[Package]:
    """What a plain `pip install synsetmine` brings along."""
    waiting = list(map(Requirement, PROJECT["dependencies"]))
    found: dict[str, Package] = {}
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue  # of another platform
        found[name] = Package(name, installed.version, _licence(name))
        waiting += map(Requirement, installed.requires or ())
    return sorted(found.values(), key=lambda package: package.name)


def _licence(name: str) -> str:
    told = distribution(name).metadata
    named = [
        part.rpartition("::")[2].strip()
        for part in told.get_all("Classifier") or ()
        if part.startswith("License ::")
    ]
    written = told.get_all("License-Expression") or named or told.get_all("License") or []
    return ", ".join(written) or "none told"


if __name__ == "__main__":
    for package in core_packages():
        print(f"{package.name}\t{package.version}\t{package.licence}")
