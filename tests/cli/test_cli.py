"""The commands as a user gives them: real processes, real files, exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from synsetmine.export.solr import escape
from synsetmine.io.sets import read_sets, write_sets
from synsetmine.types import SynonymSets, Term
from synsetmine.views import read_vectors
from tests.support.warmprocess import run_warm
from tests.support.worlds import write_world

TRAIN = [
    "train",
    "train.set",
    "-v",
    "vectors.txt",
    "--preset",
    "paper",
    "--epochs",
    "10",
    "--architecture",
    "both-20-40",
]

MINE = ["model", "-v", "vectors.txt"]


def synsetmine(
    *arguments: str, cwd: Path | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a command and check its exit code."""
    done = run_warm(arguments, cwd or Path.cwd())
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with training sets, vectors, new sets, and a trained model."""
    folder = tmp_path_factory.mktemp("cli")
    write_world(folder, entities=60)
    synsetmine(*TRAIN, "-o", "model", cwd=folder)
    return folder


def test_help_does_not_import_torch() -> None:
    code = (
        "import sys\nfrom synsetmine.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'numpy', 'sklearn', 'scipy', 'pyarrow', 'duckdb', 'rapidfuzz'}\n"
        "heavy |= {'synsetmine.corpus', 'synsetmine.normalization'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_stages_before_the_model_do_not_import_torch() -> None:
    code = (
        "import sys\nimport synsetmine.pipeline.corpus_stages\n"
        "assert not {'torch', 'sklearn', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_every_command_has_help_with_an_example() -> None:
    listed = synsetmine("--help").stdout
    for name in ("datasets", "train", "mine", "evaluate", "score", "rank", "tune", "convert"):
        assert name in listed
        assert "Example" in synsetmine(name, "--help").stdout


def test_version() -> None:
    assert synsetmine("--version").stdout.startswith("synsetmine 0.")


def test_train_mine_evaluate(place: Path) -> None:
    mine = ["mine", "model", "-v", "vectors.txt", "--vocabulary", "new.jsonl"]
    done = synsetmine(*mine, "-o", "mined.jsonl", "--trace", "trace.jsonl", cwd=place)
    assert "written to mined.jsonl" in done.stderr
    mined, new = read_sets(place / "mined.jsonl"), read_sets(place / "new.jsonl")
    assert sorted(mined.terms) == sorted(new.terms)
    trace = [json.loads(line) for line in (place / "trace.jsonl").read_text().splitlines()]
    assert {step["action"] for step in trace} <= {"opened", "joined"}
    assert len(trace) == len(new.terms)

    table = synsetmine("evaluate", "mined.jsonl", "new.jsonl", cwd=place).stdout
    assert table.startswith("measure\tvalue\nari\t")
    report = json.loads(
        synsetmine("evaluate", "mined.jsonl", "new.jsonl", "--json", cwd=place).stdout
    )
    assert report["terms"] == len(new.terms)
    assert 0 <= report["nmi"] <= 1


def test_mine_order_threshold_and_size(place: Path) -> None:
    base = ["mine", "model", "-v", "vectors.txt", "--vocabulary", "new.jsonl", "-o"]
    synsetmine(*base, "alone.set", "--threshold", "1", cwd=place)
    assert set(read_sets(place / "alone.set").sizes) == {1}
    synsetmine(*base, "one.set", "--threshold", "1", "--max-sets", "1", cwd=place)
    assert len(read_sets(place / "one.set")) == 1
    for name in ("a.set", "b.set"):
        synsetmine(*base, name, "--order", "random", "--seed", "3", "--threshold", "0.2", cwd=place)
    assert (place / "a.set").read_bytes() == (place / "b.set").read_bytes()
    synsetmine(*base, "big.set", "--min-size", "2", "--threshold", "0.2", cwd=place)
    assert min(read_sets(place / "big.set").sizes) >= 2


def test_a_set_of_most_terms_is_warned_of(place: Path) -> None:
    terms = len(read_vectors(place / "vectors.txt"))
    said = {
        threshold: synsetmine(
            "mine", *MINE, "--threshold", threshold, "-o", "g.set", cwd=place
        ).stderr
        for threshold in ("0", "0.9")
    }
    assert f"warning: one set has {terms} terms that the model does not separate" in said["0"]
    assert "warning" not in said["0.9"]


def test_mine_by_frequency_with_seeds_and_missing_terms(place: Path) -> None:
    new = read_sets(place / "new.jsonl")
    lines = [f"{term}\t{i}" for i, term in enumerate(new.terms)]
    (place / "terms.tsv").write_text("\n".join([*lines, "unknown\t1"]) + "\n")
    write_sets(place / "seeds.jsonl", SynonymSets.of(new.sets[:2], ["KB:1", "KB:2"]))
    done = synsetmine(
        *["mine", "model", "-v", "vectors.txt", "--vocabulary", "terms.tsv"],
        *["--order", "frequent", "--seeds", "seeds.jsonl", "-o", "seeded.jsonl"],
        cwd=place,
    )
    mined = read_sets(place / "seeded.jsonl")
    assert mined.ids[:2] == ("KB:1", "KB:2")
    assert set(new.sets[0]) <= set(mined.sets[0])
    assert "1 of " in done.stderr
    assert "have no vector and stand alone: unknown" in done.stderr
    rules = [", ".join(escape(str(term)) for term in one) for one in new.sets[:2]]
    (place / "synonyms.txt").write_text("# ours\n" + "\n".join(rules) + "\n")
    synsetmine(
        *["mine", "model", "-v", "vectors.txt", "--vocabulary", "terms.tsv"],
        *["--order", "frequent", "--seeds", "synonyms.txt", "-o", "ruled.jsonl"],
        cwd=place,
    )
    assert read_sets(place / "ruled.jsonl").sets == mined.sets
    assert re.search(r"^\d+ new names? for \d entit\w+; there was no", done.stderr, re.M)
    write_sets(place / "odd.jsonl", SynonymSets.of([[Term("nowhere")]], ["an id"]))
    odd = ["mine", "model", "-v", "vectors.txt", "--seeds", "odd.jsonl", "-o"]
    assert (
        "must not be empty or have whitespace"
        in synsetmine(*odd, "o.set", cwd=place, code=1).stderr
    )
    assert "are ignored in seeds: nowhere" in synsetmine(*odd, "o.jsonl", cwd=place).stderr
    assert mined.set_of(Term("unknown")) == (Term("unknown"),)


def test_score_and_rank(place: Path) -> None:
    new = read_sets(place / "new.jsonl")
    first, second, *_ = new.sets[0]
    query = ["--vectors", "vectors.txt", "--set", str(first)]
    scored = synsetmine("score", "model", str(second), *query, "--json", cwd=place).stdout
    (found,) = json.loads(scored)
    assert found["term"] == str(second)
    ranked = json.loads(
        synsetmine("rank", "model", *query, "--top", "500", "--json", cwd=place).stdout
    )
    assert [r["probability"] for r in ranked] == sorted(
        (r["probability"] for r in ranked), reverse=True
    )
    assert str(first) not in {r["term"] for r in ranked}
    (same,) = (r for r in ranked if r["term"] == str(second))
    assert same["probability"] == pytest.approx(found["probability"], abs=1e-5)
    by_surface = synsetmine("rank", "model", "-v", "vectors.txt", "-s", first.surface, cwd=place)
    assert len(by_surface.stdout.splitlines()) == 11


def test_tune_and_train_with_the_winner(place: Path) -> None:
    grid = ["-g", "learning_rate=0.01,0.001", "-g", "architecture=both-8-16", "--epochs", "5"]
    tune = ["tune", "train.set", "-v", "vectors.txt", "-o", "tuning", "--folds", "2", *grid]
    table = synsetmine(*tune, cwd=place).stdout.splitlines()
    assert table[0].split("\t") == [
        "learning_rate",
        "architecture",
        "mean fmi",
        "sd",
        "best epochs",
    ]
    assert len(table) == 3
    assert synsetmine(*tune, cwd=place).stdout.splitlines() == table
    again = ["train", "train.set", "-v", "vectors.txt", "--settings", "tuning/best.json"]
    synsetmine(*again, "--epochs", "5", "-o", "tuned", cwd=place)
    config = json.loads((place / "tuned" / "config.json").read_text())
    assert config["scorer"]["post_sizes"] == [16, 8]


def test_a_finished_model_is_known_again_and_not_lost_by_accident(place: Path) -> None:
    weights = place / "model" / "model.safetensors"
    before = weights.read_bytes()
    (place / "model" / "checkpoint.safetensors").write_bytes(b"left by a kill")
    done = synsetmine(*TRAIN, "-o", "model", cwd=place)
    assert "already contains this model" in done.stderr
    assert not (place / "model" / "checkpoint.safetensors").exists()
    done = synsetmine(*TRAIN, "-o", "model", "--seed", "7", cwd=place, code=1)
    assert "contains another finished model; --overwrite replaces it" in done.stderr
    missing = ["train", "none.set", *TRAIN[2:], "-o", "model", "--overwrite"]
    synsetmine(*missing, cwd=place, code=1)
    assert weights.read_bytes() == before
    synsetmine("mine", "model", "-v", "vectors.txt", "-o", "still.jsonl", cwd=place)
    synsetmine(*TRAIN, "-o", "model", "--overwrite", cwd=place)
    assert weights.read_bytes() == before


@pytest.mark.slow
def test_an_interrupt_ends_with_130_and_can_be_taken_up(place: Path) -> None:
    long = ("--epochs", "5000", "--patience", "5000")
    command = [sys.executable, "-m", "synsetmine", *TRAIN[:6], *long, "-o", "stopped"]
    with subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert run.stderr.readline().startswith("training 5/5000")
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
    assert "Traceback" not in said
    assert said.splitlines()[-1] == "synsetmine: interrupted"
    assert run.returncode == 130
    assert (place / "stopped" / "checkpoint.safetensors").exists()


def test_share_token_fallbacks_are_reported(place: Path) -> None:
    done = synsetmine(*TRAIN, "-o", "mixed", "--strategy", "mixture", cwd=place)
    assert "% of share-token draws had no partner" in done.stderr


def test_tensorboard_curves(place: Path) -> None:
    synsetmine(*TRAIN, "-o", "curves", "--tensorboard", "board", cwd=place)
    assert list((place / "board").glob("events.out.tfevents.*"))


def test_convert_both_kinds(place: Path) -> None:
    synsetmine("convert", "vectors.txt", "vectors.safetensors", cwd=place)
    assert (
        read_vectors(place / "vectors.safetensors").terms
        == read_vectors(place / "vectors.txt").terms
    )
    synsetmine("convert", "train.set", "train.jsonl", cwd=place)
    assert read_sets(place / "train.jsonl") == read_sets(place / "train.set")
    done = synsetmine("convert", "train.set", "train.bin", cwd=place, code=1)
    assert "must be a file of sets" in done.stderr
    (place / "rules.txt").write_text("# ours\nsofa, couch\nipod => iPod\n")
    synsetmine("convert", "rules.txt", "rules.jsonl", cwd=place)
    assert [list(map(str, one)) for one in read_sets(place / "rules.jsonl")] == [
        ["sofa", "couch"],
        ["iPod", "ipod"],
    ]
    done = synsetmine("convert", "vectors.txt", "no.jsonl", cwd=place, code=1)
    assert "vectors.txt: no rule of two terms" in done.stderr


def test_a_broken_line_is_one_line_of_error_and_can_be_skipped(place: Path) -> None:
    text = (place / "train.set").read_text()
    (place / "bad.set").write_text(f"{text}oops {{'a', b}}\n")
    lines = len(text.splitlines()) + 1
    train = ["train", "bad.set", *TRAIN[2:], "-o", "skipping"]
    done = synsetmine(*train, cwd=place, code=1)
    assert done.stderr == f"synsetmine: error: bad.set:{lines}: expected a quoted term: 'b'\n"
    assert not (place / "skipping").exists()
    done = synsetmine(*train, "--skip-bad", cwd=place)
    assert "left out 1 broken line:" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["mine", "nowhere", "-v", "vectors.txt", "-o", "x.set"], 1, "nowhere: no such folder"),
        (["mine", "vectors.txt", "-v", "model", "-o", "x.set"], 1, "vectors.txt: not a folder"),
        (["mine", *MINE, "--vocabulary", "vectors.txt", "-o", "x.set"], 1, "has a vector"),
        (["score", "model", "NAME0 of 1", *MINE[1:], "-s", "x"], 1, "there is name0_of_1||e1"),
        (["mine", "model", "-v", "none.txt", "-o", "x.set"], 1, "none.txt: No such file"),
        (["mine", "model", "-v", "vectors.txt", "-o", "x.set", "--threshold", "2"], 2, "threshold"),
        (
            ["mine", "model", "-v", "vectors.txt", "-o", "x.set", "--order", "odd"],
            2,
            "frequent",
        ),
        (["mine", "model", "-v", "vectors.txt", "-o", "x.set", "--order", "frequent"], 1, "counts"),
        (["mine", "model", "-v", "vectors.txt"], 2, "--out"),
        (
            ["mine", "model", "-v", "vectors.txt", "-o", "x.set", "--device", "tpu"],
            2,
            "tpu",
        ),
        (
            ["train", "train.set", "-v", "vectors.txt", "-o", "y", "--preset", "z"],
            2,
            "released-nyt",
        ),
        (["score", "model", "nobody", "-v", "vectors.txt", "-s", "nobody"], 1, "has no vector"),
        (["evaluate", "train.set"], 2, "gold"),
        (["datasets", "atlantis"], 2, "atlantis"),
        (
            ["tune", "train.set", "-v", "vectors.txt", "-o", "t", "-g", "seed=1", "-g", "seed=2"],
            1,
            "already",
        ),
        (["train", "train.set", "-v", "vectors.txt", "-o", "y", "--seed", "-1"], 1, "seed must be"),
        (["tune", "train.set", "-v", "vectors.txt", "-o", "t", "-g", "x"], 1, "name=value"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_errors_are_clear_and_leave_nothing(
    place: Path, arguments: list[str], code: int, message: str
) -> None:
    before = sorted(place.iterdir())
    done = synsetmine(*arguments, cwd=place, code=code)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(place.iterdir()) == before


def test_debug_shows_the_traceback(place: Path) -> None:
    arguments = ["--debug", "mine", "nowhere", "-v", "vectors.txt", "-o", "x.set"]
    assert "Traceback" in synsetmine(*arguments, cwd=place, code=1).stderr


def test_datasets_from_a_local_copy(nyt: Path, tmp_path: Path) -> None:
    done = synsetmine(
        *["datasets", "nyt", "--from", str(nyt), "--cache", str(tmp_path / "cache")],
        *["--copy-to", str(tmp_path / "data")],
    )
    assert len(done.stdout.splitlines()) == 6
    assert read_sets(tmp_path / "data" / "test.set") == read_sets(nyt / "test.set")


def test_the_terminal_gets_a_table_and_a_bar(place: Path) -> None:
    import pty

    main, side = pty.openpty()
    command = [sys.executable, "-m", "synsetmine", "evaluate", "train.set", "train.set"]
    with subprocess.Popen(command, cwd=place, stdout=side, stderr=side) as run:
        run.wait()
    os.close(side)
    shown = os.read(main, 100_000).decode()
    assert "┃" in shown
    assert "100.00 %" in shown
