"""Nothing that is read is run: no pickles, no `eval`, no shell, no archives, no trees of XML."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dependencies import PROJECT, ROOT, core_packages

SOURCE = ROOT / "src" / "synsetmine"
MODULES = sorted(SOURCE.rglob("*.py"))

# Calls that run what they are given, or may.
FORBIDDEN = re.compile(
    r"eval|exec|compile|__import__|breakpoint|input"
    r"|(?:c?pickle|cloudpickle|dill|marshal|shelve|joblib)\.\w+"
    r"|torch\.(?:load|jit\.\w+|hub\.\w+|package\.\w+)"
    r"|yaml\.\w*load\w*|jsonpickle\.\w+|pandas\.read_pickle|runpy\.\w+"
    r"|os\.(?:system|popen|exec\w+|spawn\w+)|subprocess\.(?:getoutput|getstatusoutput)"
    r"|shutil\.unpack_archive|tempfile\.mktemp|numpy\.fromfile|np\.fromfile"
)
# Between processes of one run, which start each other; what is read there was written there.
OWN_PROCESSES = {
    *("engines/base.py", "engines/spark.py"),
    *("rivals/comparison.py", "engines/workers.py"),
}
PICKLES = re.compile(r"pickle\.(?:loads|dumps)")
MODULES_NOT_NEEDED = {
    *("zipfile", "tarfile", "ftplib", "telnetlib", "smtplib", "ctypes", "cgi", "imp"),
    *("xml.etree", "xml.dom", "xml.sax", "lxml", "html5lib", "requests", "yaml", "rdflib"),
}


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def problems(tree: ast.AST, place: str) -> Iterator[str]:
    for name, call in calls(tree):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if FORBIDDEN.fullmatch(name) and not (place in OWN_PROCESSES and PICKLES.fullmatch(name)):
            yield f"line {call.lineno}: {name}"
        for option in ("shell", "allow_pickle", "trust_remote_code", "weights_only"):
            value = given.get(option)
            safe = option == "weights_only"
            if value is not None and not (isinstance(value, ast.Constant) and value.value is safe):
                yield f"line {call.lineno}: {name}({option}=…)"
        if name.endswith("Environment") and "autoescape" not in given:
            yield f"line {call.lineno}: {name} without autoescape"
    for module in imports(tree):
        if any(f"{module}.".startswith(f"{other}.") for other in MODULES_NOT_NEEDED):
            yield f"import of {module}"
        if module.startswith("pickle.") or (module == "pickle" and place not in OWN_PROCESSES):
            yield f"import of {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nothing_that_is_read_is_run(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert list(problems(tree, path.relative_to(SOURCE).as_posix())) == []


@pytest.mark.parametrize(
    "code",
    [
        "eval(x)",
        "exec(x)",
        "import pickle",
        "from pickle import loads",
        "pickle.load(f)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=x)",
        "yaml.load(f)",
        "subprocess.run(x, shell=True)",
        "os.system(x)",
        "import zipfile",
        "from tarfile import open",
        "from xml.etree import ElementTree",
        "jinja2.Environment()",
        "SentenceTransformer(x, trust_remote_code=True)",
    ],
)
def test_what_runs_things_would_be_found(code: str) -> None:
    assert list(problems(ast.parse(code), "some.py"))


# --- Dependencies -----------------------------------------------------------------------------


PERMISSIVE = re.compile(
    r"(MIT|(0?BSD|Apache|ISC|PSF)\b.*|BSL-1\.0|Zlib|CC0-1\.0|Unlicense|HPND)( License)?", re.I
)


def test_the_core_needs_only_packages_with_permissive_licences() -> None:
    found = core_packages()
    assert {package.name for package in found} >= {"numpy", "jinja2", "safetensors"}
    assert "torch" not in {package.name for package in found}
    for package in found:
        for part in re.split(r" AND | OR |, ", package.licence):
            assert PERMISSIVE.fullmatch(part.strip("()")), package


def test_the_package_of_encoders_is_one_that_runs_no_code_of_theirs() -> None:
    required = [
        requirement
        for requirements in PROJECT["optional-dependencies"].values()
        for requirement in requirements
        if "sentence-tr" in requirement
    ]
    assert required == ["sentence-transformers>=6.0"]  # those before trust any folder
