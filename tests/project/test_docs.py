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
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import synsetmine
from docs.reference import generate_errors, generate_settings
from docs.reference.generate_cli import PAGE, reference
from docs.tutorials import generate_notebook
from synsetmine.cli.app import COMMANDS, command_of
from synsetmine.io.downloads import fetch_dataset
from synsetmine.kb import read_kb
from tests.support.graphserver import PASSWORD, USER, graph_server
from tests.support.judgeserver import JudgeServer
from tests.support.synonymsserver import SynonymsServer
from tests.support.walks import blocks, run, steps, walk

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_cli_reference_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == reference(), "run `make reference`"


def test_the_page_of_errors_is_up_to_date() -> None:
    shown = generate_errors.PAGE.read_text("utf-8")
    assert shown == generate_errors.reference(), "run `make reference`"


def test_every_command_and_option_is_in_the_reference_and_explained() -> None:
    sections = dict(
        re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    )
    assert set(sections) == set(COMMANDS)
    for name in COMMANDS:
        command = command_of(name)
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
    folders = ("src", "tests", "fuzz", "experiments")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    definitions = "\n".join(path.read_text("utf-8") for path in sources)
    for name, recipe in recipes:
        assert re.findall(r"^(\d)\. ", recipe, re.M) == ["1", "2", "3", "4", "5"], name
        for quoted in re.findall(r"`([^`]+)`", recipe):
            if re.fullmatch(r"[\w/]+(\.\w+|/)", quoted):  # a file or folder
                assert [*ROOT.glob(quoted), *(ROOT / "src").rglob(quoted)], f"{name}: {quoted}"
            elif re.fullmatch(r"\w+", quoted) and quoted != "test":
                pattern = rf"^(?:def|class) {quoted}\b|^ *{quoted}(?:: .*)? = "
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
def test_the_python_tutorial_runs(cache: Path, clinic: Path, tmp_path: Path) -> None:
    page = ROOT / "docs/tutorials/python.md"
    shutil.copytree(clinic, tmp_path / "clinic")
    code = "\n".join(blocks(page, "python"))
    command = [sys.executable, "-W", "error", "-c", code]
    shown = run(command, tmp_path, {"SYNSETMINE_CACHE": str(cache)})
    check_tutorial(shown)
    for block in blocks(page, "text"):
        pattern = r"\n".join(re.escape(line).replace("…", ".*") for line in block.splitlines())
        assert re.search(pattern, shown), block


def check_tutorial(shown: str) -> None:
    assert "SynonymSets(1,273 sets with 2,600 terms" in shown
    assert "TermVectors(2,989 terms, 50 dimensions" in shown
    assert "known sets have new terms" in shown
    assert "sets in synonyms-py.txt and 0 terms left out" in shown


def test_the_first_ten_lines_of_the_python_tutorial_group_names_rightly() -> None:
    page = ROOT / "docs/tutorials/python.md"
    first = blocks(page, "python")[0]
    assert len(first.splitlines()) <= 10
    values: dict[str, Any] = {}
    exec(first, values)
    sets = {frozenset(name_set.members) for name_set in values["group"](values["names"]).sets}
    assert sets == {
        frozenset({"IBM", "I.B.M.", "International Business Machines"}),
        frozenset({"General Motors", "GM"}),
        frozenset({"heart attack", "myocardial infarction"}),
        frozenset({"heart failure", "cardiac failure"}),
        frozenset({"type 2 diabetes", "Type II diabetes", "diabetes mellitus type 2"}),
        frozenset({"Burma", "Myanmar"}),
        frozenset({"St. Petersburg", "Saint Petersburg"}),
        frozenset({"New York City", "NYC"}),
    }


def test_the_notebook_is_the_page() -> None:
    shown = generate_notebook.NOTEBOOK.read_text("utf-8")
    assert shown == generate_notebook.notebook(), "run `make reference`"
    notebook = nbformat.reads(shown, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert code == [block.rstrip("\n") for block in blocks(generate_notebook.TUTORIAL, "python")]


@pytest.mark.slow
def test_the_notebook_runs(
    cache: Path, clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNSETMINE_CACHE", str(cache))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shutil.copytree(clinic, tmp_path / "clinic")
    notebook = nbformat.read(generate_notebook.NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, resources=resources).execute()
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", ())]
    check_tutorial("".join(o.text for o in outputs if o.output_type == "stream"))
    bars = [o for o in outputs if "progress" in str(o.get("data", {}).get("text/html", ""))]
    assert bars, "a notebook shows the progress"


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
@pytest.mark.usefixtures("no_proxy")
def test_the_way_to_a_search_engine_runs(checkout: Path) -> None:
    page = (ROOT / "docs/how-to/search-engine.md").read_text("utf-8")
    with SynonymsServer().start() as server:
        local = page.replace("http://localhost:9200", server.root)
        (checkout / "search-engine.md").write_text(local)
        walk(checkout / "search-engine.md", checkout)
        assert server.sets["mined"]["P08"] == "television, telly"
    rules = (checkout / "shop" / "synonyms.txt").read_text("utf-8").splitlines()
    assert "pushchair, baby buggy, stroller" in rules
    assert not any("kettle" in rule for rule in rules)


@pytest.mark.slow
def test_the_way_from_a_list_of_names_runs(checkout: Path) -> None:
    done = walk(ROOT / "docs/how-to/group-names.md", checkout)
    assert "Marie Curie" in done


@pytest.mark.slow
def test_the_way_to_tools_for_a_language_model_runs(tmp_path: Path) -> None:
    walk(ROOT / "docs/how-to/mcp.md", tmp_path)


def test_the_configuration_of_a_desktop_client_starts_a_server() -> None:
    (block,) = blocks(ROOT / "docs/how-to/mcp.md", "json")
    (server,) = json.loads(block)["mcpServers"].values()
    command, *arguments = server["args"]
    assert Path(server["command"]).name == "synsetmine"
    command_of(command).make_context(command, list(arguments))  # reads the arguments


@pytest.mark.slow
def test_the_way_to_a_graph_without_duplicates_runs(checkout: Path) -> None:
    pytest.importorskip("pandas")
    walk(ROOT / "docs/how-to/duplicate-entities.md", checkout)
    for name in ("entities.csv", "relations.csv"):
        assert (checkout / "restored" / name).read_bytes() == (checkout / name).read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("no_proxy")
def test_the_way_to_a_language_model_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/language-model.md").read_text("utf-8")
    with JudgeServer().start() as server:
        place = f"127.0.0.1:{server.server_port}"
        (tmp_path / "language-model.md").write_text(page.replace("localhost:8080", place))
        walk(tmp_path / "language-model.md", tmp_path, {"SYNSETMINE_CACHE": str(tmp_path)})
        assert server.seen


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


@pytest.mark.slow
@pytest.mark.parametrize("page", ["dataframes", "graphrag", "hub", "langchain"])
def test_the_ways_from_other_tools_run(page: str, tmp_path: Path) -> None:
    assert walk(ROOT / f"docs/how-to/{page}.md", tmp_path)


@pytest.mark.slow
def test_the_way_to_neo4j_runs(tmp_path: Path) -> None:
    with graph_server(tmp_path) as address:
        access = {"NEO4J_URI": address, "NEO4J_USERNAME": USER, "NEO4J_PASSWORD": PASSWORD}
        assert "number_of_created_nodes=2" in walk(ROOT / "docs/how-to/neo4j.md", tmp_path, access)
