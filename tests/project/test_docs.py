"""The docs are true: the CLI reference is complete, tutorials run, links lead somewhere."""

from __future__ import annotations

import ast
import gzip
import inspect
import json
import re
import shutil
import sys
from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

import synsetmine
from docs.reference import generate_errors, generate_settings
from docs.reference.generate_cli import PAGE, reference
from synsetmine.cli import app
from synsetmine.io.downloads import fetch_dataset
from synsetmine.kb import read_kb
from tests.support.walks import blocks, run, steps, walk

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_cli_reference_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == reference(), "run `make reference`"


def test_the_page_of_errors_is_up_to_date() -> None:
    shown = generate_errors.PAGE.read_text("utf-8")
    assert shown == generate_errors.reference(), "run `make reference`"


def test_every_command_and_option_is_in_the_reference_and_explained() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    sections = dict(
        re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    )
    assert set(sections) == set(group.commands)
    for name, command in group.commands.items():
        assert command.params
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name} has no help"
            for option in (*parameter.opts, *parameter.secondary_opts):
                shown = option if option.startswith("-") else option.upper()
                assert f"`{shown}`" in sections[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


def test_the_page_of_settings_is_up_to_date() -> None:
    shown = generate_settings.PAGE.read_text("utf-8")
    assert shown == generate_settings.reference(), "run `make reference`"


def test_every_method_is_in_the_reference_and_counted() -> None:
    from synsetmine.rivals.registry import methods

    page = (ROOT / "docs" / "reference" / "methods.md").read_text(encoding="utf-8")
    for name, entry in methods().items():
        star = "*" if entry.needs_k else ""
        assert f"`{name}`{star}" in page, name
    others = sum(entry.origin != "ours" for entry in methods().values())
    assert f"[{others} others]" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_public_names_are_what_the_readme_imports() -> None:
    (block,) = blocks(ROOT / "README.md", "python")
    imported = {
        name.name
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and node.module == "synsetmine"
        for name in node.names
    }
    assert imported
    assert imported <= set(synsetmine.__all__)
    for name in synsetmine.__all__:
        assert getattr(synsetmine, name) is not None


def test_every_public_name_has_a_docstring_and_is_on_the_page() -> None:
    page = (ROOT / "docs/reference/python.md").read_text("utf-8")
    assert sorted(re.findall(r"^::: synsetmine\.(\w+)$", page, re.M)) == sorted(synsetmine.__all__)
    for name in synsetmine.__all__:
        public = getattr(synsetmine, name)
        if callable(public):
            assert vars(public).get("__doc__") or public.__doc__, name
        else:  # a constant: the page itself explains it
            assert re.search(rf"^::: synsetmine\.{name}\n\n\w", page, re.M), name


def test_recipes_for_contributors_have_five_steps_and_name_what_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    recipes = re.findall(r"^## Add an? (\w+)\n(.*?)(?=^## )", page, re.M | re.S)
    assert [name for name, _ in recipes] == ["exporter", "reader", "view"]
    definitions = "\n".join(p.read_text("utf-8") for p in (ROOT / "src").rglob("*.py"))
    for name, recipe in recipes:
        assert re.findall(r"^(\d)\. ", recipe, re.M) == ["1", "2", "3", "4", "5"], name
        for quoted in re.findall(r"`([^`]+)`", recipe):
            if re.fullmatch(r"[\w/]+(\.\w+|/)", quoted):  # a file or folder
                assert [*ROOT.glob(quoted), *(ROOT / "src").rglob(quoted)], f"{name}: {quoted}"
            elif re.fullmatch(r"\w+", quoted) and quoted != "test":
                pattern = rf"^(?:def|class) {quoted}\b|^{quoted}\b.* = "
                assert re.search(pattern, definitions, re.M), f"{name}: {quoted}"


def test_functions_of_the_architecture_page_exist() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| \d+ \| `(\w+)` \| `(synsetmine[\w.]+)` \|", page, re.M)
    assert 20 <= len(rows) <= 25
    for function, module in rows:
        defined = getattr(import_module(module), function, None)
        assert inspect.isfunction(defined), f"{module} has no function {function}"
        assert defined.__module__ == module, f"{function} is defined in {defined.__module__}"


@pytest.fixture(scope="module")
def cache(nyt: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    fetch_dataset("nyt", cache=folder, source=nyt)
    return folder


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to walk in, with the examples where the pages have them."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "docs/examples", folder / "docs/examples")
    return folder


@pytest.fixture(scope="module")
def clinic(checkout: Path) -> Path:
    """The folder that the walk to new names leaves; another page goes on from there."""
    walk(ROOT / "docs/how-to/new-names.md", checkout)
    return checkout / "clinic"


@pytest.mark.slow
def test_the_shell_tutorial_runs(cache: Path, clinic: Path, tmp_path: Path) -> None:
    page = ROOT / "docs/tutorials/shell.md"
    assert sum(step.command.startswith("synsetmine ") for step in steps(page)) == 11
    shutil.copytree(clinic, tmp_path / "clinic")
    done = walk(page, tmp_path, {"SYNSETMINE_CACHE": str(cache)})
    assert "united_kingdom||m.07ssc" in done
    assert (tmp_path / "mined.jsonl").exists()


@pytest.mark.slow
def test_the_python_tutorial_runs(cache: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(ROOT / "docs/tutorials/python.md", "python"))
    command = [sys.executable, "-W", "error", "-c", code]
    shown = run(command, tmp_path, {"SYNSETMINE_CACHE": str(cache)})
    assert shown.startswith("1273 sets, 2600 terms, 50 dimensions")
    assert "known sets have new terms" in shown
    assert "sets in synonyms-py.txt and 0 terms left out" in shown


@pytest.mark.slow
def test_the_medline_tutorial_runs(tmp_path: Path) -> None:
    """On a tenth of the abstracts."""
    data = ROOT.parent / "shared" / "data" / "medline"
    if not data.is_dir():
        pytest.skip("MEDLINE and MeSH are not at hand")
    (tmp_path / "mesh.jsonl.gz").write_bytes((data / "mesh.jsonl.gz").read_bytes())
    with (
        gzip.open(data / "corpus.jsonl.gz") as whole,
        gzip.open(tmp_path / "corpus.jsonl.gz", "wb", 1) as part,
    ):
        part.writelines(islice(whole, 3000))
    page = ROOT / "docs/tutorials/medline.md"
    assert sum(step.command.startswith("synsetmine ") for step in steps(page)) == 4
    done = walk(page, tmp_path)
    assert "the only name of its entity" in done
    assert (tmp_path / "run" / "report.html").exists()
    settings = json.loads((tmp_path / "run" / "manifest.json").read_text())["stages"]
    assert settings["supervise"]["settings"]["min_count"] == 3


@pytest.mark.slow
def test_the_way_to_a_search_engine_runs(checkout: Path) -> None:
    walk(ROOT / "docs/how-to/search-engine.md", checkout)
    rules = (checkout / "shop" / "synonyms.txt").read_text("utf-8").splitlines()
    assert "pushchair, baby buggy, stroller" in rules
    assert not any("kettle" in rule for rule in rules)


@pytest.mark.slow
def test_the_way_from_a_list_of_names_runs(checkout: Path) -> None:
    done = walk(ROOT / "docs/how-to/group-names.md", checkout)
    assert "Marie Curie" in done


@pytest.mark.slow
def test_the_way_to_new_names_runs(clinic: Path) -> None:
    kb = read_kb(clinic / "thesaurus-more.jsonl")
    assert kb.names("D013") == ("schistosomiasis", "bilharzia", "snail fever")
    assert not kb.entities_named("dengue fever")


@pytest.mark.slow
def test_the_way_to_a_knowledge_graph_runs(checkout: Path) -> None:
    walk(ROOT / "docs/how-to/knowledge-graph.md", checkout)
    kb = read_kb(checkout / "news" / "aliases.ttl")
    assert "Beeb" in kb.names("https://graph.example/org/044")
