"""The package: versions are pinned, wheel and sdist are complete, and a plain install works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import synsetmine
from tests.dependencies import ADVISORIES

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PIN = re.compile(r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9.]*)")
NAMES = ["lung cancer", "cancer of the lung", "lung cancers", "asthma", "bronchial asthma"]


def pins() -> dict[str, str]:
    """The versions of constraints.txt by package; any other line fails."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    matches = [PIN.fullmatch(line) for line in lines if not line.startswith("#")]
    return {canonicalize_name(match[1]): match[2] for match in matches if match}


def direct_dependencies() -> Iterator[Requirement]:
    """All that pyproject.toml requires, in extras and groups too, without references to these."""
    project = PYPROJECT["project"]
    lists = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *PYPROJECT["dependency-groups"].values(),
    ]
    for requirements in lists:
        for requirement in (Requirement(text) for text in requirements if isinstance(text, str)):
            if requirement.name != "synsetmine":
                yield requirement


def test_constraints_are_pins_without_paths_and_addresses() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert [line for line in lines if not PIN.fullmatch(line)] == lines[:1]
    assert lines[0].startswith("# ")


def test_every_direct_dependency_is_pinned_to_a_version_that_is_allowed() -> None:
    versions = pins()
    for requirement in direct_dependencies():
        version = versions.get(canonicalize_name(requirement.name))
        assert version, f"constraints.txt lacks {requirement.name}: run `make constraints`"
        assert requirement.specifier.contains(version), requirement


def test_no_version_with_a_known_weakness_is_allowed() -> None:
    allowed = dict.fromkeys(ADVISORIES, False)
    for requirement in direct_dependencies():
        name = canonicalize_name(requirement.name)
        if name in ADVISORIES:
            allowed[name] = True
            least = max(Version(one.version) for one in requirement.specifier)
            assert least >= Version(ADVISORIES[name][0]), (requirement, ADVISORIES[name])
    assert all(allowed.values()), allowed


def test_the_extra_all_has_every_extra_and_dev_every_group() -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == extras.keys() - {"all"}
    groups = PYPROJECT["dependency-groups"]
    included = {entry["include-group"] for entry in groups["dev"]}
    assert included == groups.keys() - {"dev"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "hatchling", "build", "--directory", str(folder)], ROOT)
    return folder


def run(command: list[str], folder: Path) -> str:
    """What a command prints; nothing of this checkout can be imported."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_wheel_and_sdist_have_valid_metadata_and_all_files(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    (sdist,) = built.glob("*.tar.gz")
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (described,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        texts = [archive.read(described)]
    with tarfile.open(sdist) as archive:
        (root,) = {name.split("/")[0] for name in archive.getnames()}
        content = archive.extractfile(f"{root}/PKG-INFO")
        assert content is not None
        texts.append(content.read())
        assert {f"{root}/README.md", f"{root}/LICENSE"} <= set(archive.getnames())
    source = ROOT / "src"
    files = {
        str(path.relative_to(source))
        for path in (source / "synsetmine").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files <= names, f"the wheel lacks {files - names}"
    for text in texts:
        metadata = Metadata.from_email(text, validate=True)
        assert (metadata.name, str(metadata.version)) == ("synsetmine", synsetmine.__version__)
        assert metadata.description_content_type == "text/markdown"
        assert metadata.description == (ROOT / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    (sdist,) = built.glob("*.tar.gz")
    run(["tar", "-xzf", str(sdist)], tmp_path)  # Python before 3.11.4 knows no filter
    (root,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    run([*command, "--directory", str(tmp_path / "dist")], root)
    with ZipFile(wheel) as first, ZipFile(tmp_path / "dist" / wheel.name) as second:
        assert {name: first.read(name) for name in first.namelist()} == {
            name: second.read(name) for name in second.namelist()
        }


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment_without_extras(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "-c", "constraints.txt", str(wheel)]
    run(install, ROOT)
    synsetmine_command = str(python.with_name("synsetmine"))
    assert run([synsetmine_command, "--version"], tmp_path).split()[-1] == synsetmine.__version__
    (tmp_path / "names.txt").write_text("\n".join(NAMES) + "\n", "utf-8")
    shown = run([synsetmine_command, "group", "names.txt"], tmp_path)
    sets = {frozenset("|".join(row.split("\t")[:2]).split("|")) for row in shown.splitlines()[1:]}
    assert {frozenset(map(str.strip, members)) for members in sets} == {
        frozenset(NAMES[:3]),
        frozenset(NAMES[3:]),
    }
