"""The commands of a project: `init`, `run`, `report`, `demo`, and the stages one by one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from synsetmine.cli.run import ShownStages
from synsetmine.io.sets import read_sets, read_vocabulary
from synsetmine.types import SynonymSets, Term
from synsetmine.views import read_vectors
from tests.support.corpusfiles import store
from tests.support.officefiles import pdf_of, write_sheet
from tests.support.warmprocess import run_warm
from tests.support.worlds import write_text_world


def synsetmine(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run a command in a folder; what it says on both streams."""
    done = run_warm(arguments, folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_text_world(folder)
    return folder


def test_init_then_run_up_to_a_stage(world: Path, tmp_path: Path) -> None:
    places = {"corpus": world / "corpus.jsonl", "kb": world / "kb.jsonl"}
    given = [text for name, path in places.items() for text in (f"--{name}", str(path))]
    said = synsetmine(tmp_path, "init", *given)
    assert "synsetmine.toml written" in said
    assert "warning" not in said
    assert "exists already" in synsetmine(tmp_path, "init", *given, code=1)
    said = synsetmine(tmp_path, "run", "--until", "supervise")
    assert "40 entities, 110 names" in said
    assert "kept" in said
    assert "training sets" in said
    assert (tmp_path / "run" / "training.jsonl").exists()
    assert not (tmp_path / "run" / "vocabulary.tsv").exists()
    assert "unchanged" in synsetmine(tmp_path, "run", ".", "--until", "supervise")
    said = synsetmine(tmp_path, "run", "--until", "lunch", code=1)
    assert "no such stage: 'lunch'; expected one of read, knowledge, link" in said


def test_init_tells_what_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "kb.jsonl").touch()
    said = synsetmine(tmp_path, "init", "--corpus", "nowhere.txt", "--kb", "kb.jsonl")
    assert "warning: nowhere.txt: no such file" in said
    assert "kb.jsonl: no such file" not in said
    assert "warning" not in synsetmine(
        *(tmp_path, "init", "--corpus", "texts/*.txt", "--kb", "kb.jsonl", "--overwrite")
    )


def test_an_interrupted_run_says_that_it_can_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = ShownStages()
    watcher.on_start("link")
    watcher.__exit__(KeyboardInterrupt)
    assert capsys.readouterr().err.endswith("run the same command again to continue\n")


def by_id(sets: SynonymSets) -> dict[str, frozenset[Term]]:
    return {i: frozenset(members) for i, members in zip(sets.ids, sets, strict=True)}


@pytest.mark.slow
def test_the_stages_one_by_one_give_what_a_run_gives(world: Path, tmp_path: Path) -> None:
    """The commands of docs/how-to/own-corpus.md, with the settings of the project file."""
    synsetmine(world, "run")
    run = world / "run"
    steps = [
        f"read {world}/corpus.jsonl -o documents.parquet",
        f"knowledge {world}/kb.jsonl -o knowledge.arrow",
        "link documents.parquet knowledge.arrow -o links.tsv",
        "supervise links.tsv knowledge.arrow -o sets --min-count 2",
        "vocabulary documents.parquet --sets sets --links links.tsv --phrases 40 --details . "
        "-o vocabulary.tsv",
        "vectors documents.parquet --counts cooccurrence.safetensors --terms vocabulary.tsv "
        "--terms sets/training.jsonl --terms sets/test.jsonl --dimension 20 "
        "-o vectors.safetensors",
        "train sets/training.jsonl -v vectors.safetensors -o model",
    ]
    for step in steps:
        synsetmine(tmp_path, *step.split())
    pairs = {
        "links.tsv": "links.tsv",
        "sets/training.jsonl": "training.jsonl",
        "sets/test.jsonl": "test.jsonl",
        "vocabulary.tsv": "vocabulary.tsv",
        "evidence.parquet": "evidence.parquet",
        "places.parquet": "places.parquet",
        "vectors.safetensors": "vectors.safetensors",
        "model/model.safetensors": "model/model.safetensors",
    }
    for here, there in pairs.items():
        assert (tmp_path / here).read_bytes() == (run / there).read_bytes(), here
    (tmp_path / "known.jsonl").write_bytes(
        (run / "training.jsonl").read_bytes() + (run / "test.jsonl").read_bytes()
    )
    mine = "-v vectors.safetensors --vocabulary vocabulary.tsv --seeds known.jsonl"
    for model in ("model", f"{run}/model"):
        options = [*mine.split(), "--order", "frequent", "-o", "mined.jsonl"]
        synsetmine(tmp_path, "mine", model, *options)
        # A run has the entities in the order of the knowledge base.
        assert by_id(read_sets(tmp_path / "mined.jsonl")) == by_id(read_sets(run / "mined.jsonl"))
    said = synsetmine(tmp_path, "report", str(run), "--title", "Once <more>", "-o", "once.html")
    assert "once.html" in said
    assert "Once &lt;more&gt;" in (tmp_path / "once.html").read_text()


def test_a_list_adds_to_the_vocabulary_or_replaces_it(world: Path, tmp_path: Path) -> None:
    names = [
        record["name"] for record in map(json.loads, (world / "kb.jsonl").read_text().splitlines())
    ]
    (tmp_path / "terms.txt").write_text("\n".join([*names[:5], "nowhere to be seen"]) + "\n")
    synsetmine(tmp_path, "read", str(world / "corpus.jsonl"), "-o", "documents.parquet")

    def vocabulary(*options: str) -> dict[str, int]:
        synsetmine(tmp_path, "vocabulary", "documents.parquet", *options, "-o", "vocabulary.tsv")
        counts = read_vocabulary(tmp_path / "vocabulary.tsv").counts
        assert list(counts.values()) == sorted(counts.values(), reverse=True)
        return {str(term): count for term, count in counts.items()}

    listed = {**dict.fromkeys(names[:5], 12), "nowhere to be seen": 0}
    assert vocabulary("--list", "terms.txt", "--only-list") == listed
    phrases = vocabulary()
    assert set(phrases) - set(listed)
    both = set(vocabulary("--list", "terms.txt"))
    assert set(listed) < both
    # A listed name within a phrase takes part of its count, so a few phrases are too rare now.
    assert len(both & set(phrases)) > 0.9 * len(phrases)
    few = vocabulary("--list", "terms.txt", "--max-terms", "3")
    assert set(listed) < set(few)
    assert len(few) == len(listed) + 3


def test_rejected_surfaces_need_sound_borders(tmp_path: Path) -> None:
    texts = ["ChIP sequencing (ChIP seq) of IgG anti-CD3 and anti-heart failure"] * 6
    texts += ["heart failure", "IgG anti, sequencing ChIP"] * 3 + ["IgG anti-CD3"]
    documents = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "names.tsv").write_text("")
    (tmp_path / "sets" / "rejected.tsv").write_text(
        "IgG anti\t10\nsequencing (ChIP\t9\nheart failure\t9\n"
    )
    synsetmine(tmp_path, "read", "corpus.jsonl", "-o", "documents.parquet")
    options = ["--sets", "sets", "--phrases", "0", "--no-abbreviations", "--min-count", "3"]
    synsetmine(tmp_path, "vocabulary", "documents.parquet", *options, "-o", "vocabulary.tsv")
    counts = read_vocabulary(tmp_path / "vocabulary.tsv").counts
    # Each stands three times with sound borders, which is enough.
    assert {str(term): count for term, count in counts.items()} == {
        "IgG anti": 10,
        "heart failure": 9,
        "sequencing ChIP": 9,
    }
    options[-1] = "4"
    done = synsetmine(
        tmp_path, "vocabulary", "documents.parquet", *options, "-o", "vocabulary.tsv", code=1
    )
    assert "the corpus has no term 4 times or more; lower min_count" in done


def test_only_the_list_needs_a_list(world: Path, tmp_path: Path) -> None:
    synsetmine(tmp_path, "read", str(world / "corpus.jsonl"), "-o", "documents.parquet")
    options = ("documents.parquet", "--only-list", "-o", "vocabulary.tsv")
    said = synsetmine(tmp_path, "vocabulary", *options, code=1)
    assert "only_list needs a list of terms" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("read nowhere.jsonl -o d.parquet", "nowhere.jsonl: no such file or folder"),
        ("read broken.jsonl -o d.parquet", r"broken.jsonl:1"),
        ("knowledge broken.jsonl -o k.arrow", "broken.jsonl: no entities"),
        ("link broken.jsonl k.arrow -o l.tsv", "broken.jsonl"),
        ("supervise broken.jsonl k.arrow -o sets", "broken.jsonl:1: expected the header"),
        ("report nowhere", "nowhere: no such folder; `synsetmine run` writes one"),
        ("run nowhere.toml", "`synsetmine init` writes one"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path: Path, arguments: str, message: str) -> None:
    (tmp_path / "broken.jsonl").write_text("not JSON\n")
    said = synsetmine(tmp_path, *arguments.split(), code=1)
    (line,) = [line for line in said.splitlines() if line.startswith("synsetmine: error")]
    assert message in line
    assert [path.name for path in tmp_path.iterdir()] == ["broken.jsonl"]


@pytest.mark.slow
def test_the_demo_runs(tmp_path: Path) -> None:
    said = synsetmine(tmp_path, "demo", "--out", "demo")
    assert "106 documents" in said
    manifest = json.loads((tmp_path / "demo/run/manifest.json").read_text())
    counts = manifest["stages"]["supervise"]["counts"]
    assert (counts["training sets"], counts["test sets"]) == (759, 190)
    assert "Of 190 entities kept out of training" in said
    assert re.search(
        r"^\d+ new names for \d+ entities; \d+ with probability 0.9 or more", said, re.M
    )
    assert "0/?" not in said
    finds = re.findall(r"^  (\S.*)  (\S.*)  →  (.*)\n        (\w.*: .*)$", said, re.M)
    assert len(finds) == 10
    names = {name: entity for _, name, entity, _ in finds}
    assert names["EU"] == "European Union"
    assert names["CIS"] == "Commonwealth of Independent States"
    assert all(name in sentence for _, name, _, sentence in finds)
    assert re.search(r"found exactly \(ARI \d+\.\d\); expect less on other data", said)
    scores = json.loads((tmp_path / "demo/run/scores.json").read_text())
    assert scores["on their own"]["ari"][0] > 0.6  # all alone or all together: 0
    assert (tmp_path / "demo/run/report.html").stat().st_size > 100_000
    again = synsetmine(tmp_path, "demo", "--out", "demo")  # all stages are skipped
    assert said.startswith(again)
    screen = again.splitlines()
    assert len(screen) < 30
    assert all(len(line) <= 100 for line in screen)
    assert json.loads((tmp_path / "demo/run/manifest.json").read_text()) == manifest
    shown = synsetmine(tmp_path, "run", "demo/synsetmine.toml")
    assert "report (unchanged)" in shown


def test_pretrained_vectors_for_terms(world: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("heart 1 0\nfailure 0 1\n")
    (tmp_path / "terms.txt").write_text("Heart failure\nliver\n")
    synsetmine(tmp_path, "read", str(world / "corpus.jsonl"), "-o", "documents.parquet")
    options = "--terms terms.txt --method file --pretrained words.txt -o out.safetensors"
    said = synsetmine(tmp_path, "vectors", "documents.parquet", *options.split())
    assert "1 vector, 2 dimensions, 1 term without a vector" in said
    found = read_vectors(tmp_path / "out.safetensors")
    assert found.terms == (Term("Heart failure"),)
    assert found.matrix.tolist() == [[0.5, 0.5]]
    said = synsetmine(
        tmp_path, "vectors", "documents.parquet", *options.split()[:4], "-o", "x.txt", code=1
    )
    assert 'only method "file" takes a vector file' in said


def test_the_demo_overwrites_no_project_of_yours(tmp_path: Path) -> None:
    (tmp_path / "synsetmine.toml").write_text("# mine\n")
    assert "is not the project of the demo" in synsetmine(tmp_path, "demo", "--out", ".", code=1)
    assert (tmp_path / "synsetmine.toml").read_text() == "# mine\n"


def test_a_folder_of_documents_and_a_spreadsheet(tmp_path: Path) -> None:
    rows: list[list[object]] = [["SKU", "Product name", "Also known as", "Price"]]
    rows += [[f"P{n}", f"widget {n}", f"gadget {n}; gizmo {n}", n] for n in range(3)]
    write_sheet(tmp_path / "products.xlsx", rows)
    write_sheet(tmp_path / "queries.xlsx", [["query", "count"], ["cheap gizmo", 3]])
    store(tmp_path, "# On widgets\n\nThe **widget 1** is a gizmo 1.", "docs/a.md")
    store(tmp_path, "<p>A cheap gizmo, the gadget 2, or widget 2.", "docs/sub/b.html")
    store(tmp_path, pdf_of(["A gadget 1 costs more."]), "docs/c.pdf")
    store(tmp_path, b"%PDF-", "docs/d.pdf")
    store(tmp_path, "", "docs/e.png")
    command = ("init", "--corpus", "docs", "--kb", "products.xlsx", "--list", "queries.xlsx")
    said = synsetmine(tmp_path, *command)
    assert "products.xlsx: id 'SKU', name 'Product name', other names 'Also known as', " in said
    assert "queries.xlsx: names 'query'; not used: 'count'" in said
    said = synsetmine(tmp_path, "run", "--until", "vocabulary")
    assert "1 left out: docs/e.png: a file of an unknown kind" in said
    assert "1 left out: docs/d.pdf: damaged PDF file" in said
    assert "3 documents" in said
    assert "3 entities, 9 names" in said
    vocabulary = {str(term) for term in read_vocabulary(tmp_path / "run/vocabulary.tsv").terms}
    assert vocabulary == {"cheap gizmo"}  # all else is too rare


def test_a_project_with_a_synonyms_file(tmp_path: Path) -> None:
    store(tmp_path, "# ours\nheart attack, MI\nhigh blood pressure => hypertension\n", "syn.txt")
    store(tmp_path, "A heart attack is an MI. No hypertension.", "corpus.txt")
    said = synsetmine(tmp_path, "init", "--corpus", "corpus.txt", "--kb", "syn.txt")
    assert "warning" not in said
    said = synsetmine(tmp_path, "run", "--until", "link")
    assert "2 entities, 4 names" in said
    assert "3 mentions" in said


def test_a_table_without_known_columns_names_them(tmp_path: Path) -> None:
    write_sheet(tmp_path / "x.xlsx", [["a", "b"], ["heart", "lung"]])
    said = synsetmine(tmp_path, "group", "x.xlsx", code=1)
    assert "x.xlsx:1: cannot tell which column has the names; name one of a, b; use --name-" in said
    assert "2 stand alone" not in synsetmine(tmp_path, "group", "x.xlsx", "--name-column", "b")
    said = synsetmine(tmp_path, "knowledge", "x.xlsx", "-o", "k.arrow", code=1)
    assert "found: 'a, b'; choose columns with --id-field and --name-field" in said
    fields = ("--id-field", "a", "--name-field", "b")
    assert "1 entity" in synsetmine(tmp_path, "knowledge", "x.xlsx", "-o", "k.arrow", *fields)
    store(tmp_path, '[corpus]\npath = "x.txt"\n[kb]\npath = "x.xlsx"\n', "synsetmine.toml")
    store(tmp_path, "heart", "x.txt")
    said = synsetmine(tmp_path, "run", code=1)
    assert "id_field and name_field of [kb]; `synsetmine init` proposes them" in said
    store(tmp_path, '[corpus]\npath = "x.txt"\n[kb]\npath = "x"\nformat = "jsol"', "x.toml")
    assert "'jsol'; did you mean 'jsonl'?" in synsetmine(tmp_path, "run", "x.toml", code=1)
