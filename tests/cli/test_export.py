"""`synsetmine export` and `synsetmine lint` as a user gives them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from synsetmine.cli import app
from synsetmine.errors import SynsetmineError
from synsetmine.export import FORMATS, read_rules
from synsetmine.io.sets import Decision, write_sets, write_trace
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.review import ReviewState, ReviewStore
from synsetmine.runs import read_results
from synsetmine.runs.folder import FORMAT, Artefacts
from synsetmine.types import SynonymSets, Term
from tests.cli.test_cli import synsetmine

SETS = SynonymSets.of(
    [
        [Term("MI"), Term("heart attack"), Term("myocardial infarction"), Term("cardiac")],
        [Term("hot dog"), Term("wiener")],
        [Term("alone")],
        [Term("two\nlines"), Term("line")],
    ],
    ["D009203", "s1", "s2", "s3"],
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with sets and what is known of them, loose and as the folder of a run."""
    run = tmp_path / "run"
    run.mkdir()
    at = Artefacts(run)
    stage = {"inputs": [], "counts": {}, "outputs": {}, "seconds": 0}
    manifest = {"format": FORMAT, "stages": {"mine": stage}}
    (run / "manifest.json").write_text(json.dumps(manifest))
    entity = Entity("D009203", "heart attack", ("MI",))
    for kb in (at.knowledge, tmp_path / "kb.arrow"):
        KnowledgeBase.of([entity]).save(kb)
    trace = [
        Decision(Term("myocardial infarction"), "D009203", 0.9, "joined"),
        Decision(Term("cardiac"), "D009203", 0.4, "joined"),
        Decision(Term("wiener"), "s1", 0.8, "joined"),
    ]
    for path in (at.trace, tmp_path / "trace.jsonl"):
        write_trace(path, trace)
    for path in (at.vocabulary, tmp_path / "vocabulary.tsv"):
        path.write_text("MI\t50\nwiener\t9\nhot dog\t3\ncardiac\t80\n")
    at.names.write_text("heart attack\t20\n")
    for path in (at.mined, tmp_path / "mined.jsonl"):
        write_sets(path, SETS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(*arguments: str) -> None:
    """The command in this process, in the current folder."""
    app(["export", *arguments], standalone_mode=False)


def exported(*arguments: str) -> list[tuple[str, ...]]:
    export(*arguments, "-f", "solr", "-o", "s.txt")
    return [rule.inputs for rule in read_rules(Path("s.txt"))]


def test_every_form_can_be_chosen_and_is_explained() -> None:
    with pytest.raises(typer.BadParameter) as unknown:
        export("mined.jsonl", "-f", "docx", "-o", "x")
    assert unknown.value.message == f"'docx' is not one of {', '.join(map(repr, FORMATS))}."
    assert synsetmine("export", "--help").stdout.count("Example") == 9
    header, *rows = synsetmine("export", "--formats").stdout.splitlines()
    assert header == "format\tending\tcontent\textra"
    assert [row.split("\t")[0] for row in rows] == list(FORMATS)
    assert "solr\t.txt\tsynonyms.txt of Solr, Elasticsearch and OpenSearch\t" in rows


def test_a_run_is_exported(place: Path) -> None:
    done = synsetmine("export", "run", "--format", "solr", "--out", "x/s.txt", cwd=place)
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "left out: 1 set of fewer than 2 terms",
        "synsetmine: warning: left out 1: a term with a line break, such as 'two\\nlines'",
        "synsetmine: warning: left out 1: a set of which fewer than 2 terms can be written, "
        "such as 'line'",
        "2 sets of 6 terms written to x/s.txt",
    ]
    rules = [rule.inputs for rule in read_rules(place / "x" / "s.txt")]
    assert rules == [
        ("heart attack", "cardiac", "MI", "myocardial infarction"),
        ("wiener", "hot dog"),
    ]


@pytest.mark.usefixtures("place")
def test_filters_and_the_preferred_term(capsys: pytest.CaptureFixture[str]) -> None:
    assert exported("run", "--threshold", "0.85") == [
        ("heart attack", "MI", "myocardial infarction"),
    ]
    assert exported("run", "--preferred", "frequent")[0][0] == "cardiac"
    assert exported("run", "--min-size", "3")[0][0] == "heart attack"
    capsys.readouterr()
    exported("run", "--threshold", "0.85")
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [
        "left out: 2 terms below the threshold or judged incorrect",
        "left out: 2 sets of fewer than 2 terms",
    ]


@pytest.mark.usefixtures("place")
def test_a_file_of_sets_with_what_is_known_from_others() -> None:
    assert exported("mined.jsonl")[0][0] == "MI"  # nothing is known: by the alphabet
    with_counts = exported("mined.jsonl", "--counts", "vocabulary.tsv")
    assert with_counts[0][:2] == ("cardiac", "MI")
    known = exported("mined.jsonl", "--kb", "kb.arrow", "--trace", "trace.jsonl")
    assert known[0][0] == "heart attack"
    options = ["--trace", "trace.jsonl", "--threshold", "0.85"]
    assert exported("mined.jsonl", *options) == [
        ("MI", "heart attack", "myocardial infarction"),
    ]


def test_options_of_a_form_reach_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--explicit", "--limit", "1", "--title", "My hearts"]
    export("run", "-f", "solr", "-o", "s.txt", *options)
    assert capsys.readouterr().err.endswith("2 sets of 6 terms written to s.txt, s-2.txt\n")
    assert (place / "s-2.txt").read_text().startswith("# My hearts, by synsetmine ")
    assert read_rules(place / "s-2.txt")[0].outputs == ("wiener",)
    export("run", "-f", "querqy", "-o", "r.txt")
    assert "  SYNONYM(0.8): hot dog" in (place / "r.txt").read_text()
    export("run", "-f", "querqy", "-o", "r.txt", "--weights", "none")
    assert "  SYNONYM: hot dog" in (place / "r.txt").read_text()
    export("run", "-f", "elasticsearch", "-o", "e.json")
    rules = json.loads((place / "e.json").read_text())["synonyms_set"]
    assert [rule["id"] for rule in rules] == ["D009203", "s1"]
    export("run", "-f", "solr-managed", "-o", "m.json")
    assert json.loads((place / "m.json").read_text())["hot dog"] == ["wiener", "hot dog"]


def test_an_own_synonyms_file_is_a_source(place: Path) -> None:
    (place / "own.txt").write_text("# ours\nsofa, couch, settee\ni-pod => iPod\n")
    export("own.txt", "-f", "elasticsearch", "-o", "own.json")
    rules = json.loads((place / "own.json").read_text())["synonyms_set"]
    assert [rule["synonyms"] for rule in rules] == ["sofa, couch, settee", "iPod, i-pod"]
    export("own.txt", "-f", "solr", "--explicit", "-o", "own2.txt")
    assert (place / "own2.txt").read_text().endswith("\ncouch, settee => sofa\ni-pod => iPod\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["run", "-f", "querqy", "--limit", "5"],
            "--limit does not apply to querqy, only to solr ",
        ),
        (
            ["run", "-f", "solr", "--weights", "none"],
            "--weights does not apply to solr, only to qu",
        ),
        (["run", "-f", "elasticsearch", "--title", "x"], "--title does not apply to elasticsearch"),
        (["run", "-f", "solr", "--counts", "vocabulary.tsv"], "a run folder has its own: 'run'"),
        (
            ["kb.arrow", "-f", "solr"],
            "kb.arrow: neither a run folder nor sets in .jsonl, .set or .txt; `synsetmine run`",
        ),
        (["missing.jsonl", "-f", "solr"], "missing.jsonl: No such file or directory"),
        ([".", "-f", "solr"], ".: not a run folder with mined sets"),
        (["run", "-f", "solr", "--min-size", "9"], "no set of run is left to export"),
    ],
)
def test_mistakes_are_reported(arguments: list[str], problem: str, place: Path) -> None:
    with pytest.raises(SynsetmineError) as caught:
        export(*arguments, "-o", "out.txt")
    assert problem in str(caught.value)
    assert not (place / "out.txt").exists()


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("--threshold", "2", "threshold must be between 0 and 1: 2.0"),
        ("--min-size", "0", "min_size must be at least 1: 0"),
    ],
)
def test_values_out_of_range_are_wrong_usage(
    option: str, value: str, problem: str, place: Path
) -> None:
    with pytest.raises(typer.BadParameter, match=problem):
        export("run", "-f", "solr", option, value, "-o", "out.txt")
    assert not (place / "out.txt").exists()


def test_mistakes_are_one_line_on_stderr(place: Path) -> None:
    done = synsetmine("export", "x", "-f", "solr", "-o", "out.txt", cwd=place, code=1)
    assert done.stderr == ("synsetmine: error: x: no such folder; `synsetmine run` writes one\n")
    done = synsetmine("export", "run", "-f", "word", "-o", "x", cwd=place, code=2)
    assert "no such value: 'word'; expected one of solr, " in done.stderr
    assert " solr-managed, " in done.stderr


def test_lint_tells_lines_and_fails_on_errors(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("tv, telly\n")
    (tmp_path / "bad.txt").write_text("tv, telly\ntv => => box\nx, box\n")
    done = synsetmine("lint", "good.txt", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (
        "",
        "good.txt: 1 rule of 2 terms; 0 errors, 0 warnings, 0 notes\n",
    )
    done = synsetmine("lint", "good.txt", "bad.txt", cwd=tmp_path, code=1)
    assert done.stdout.splitlines() == [
        "bad.txt:2: error: more than one => in a rule; engines reject the whole file",
        "bad.txt:3: warning: a term of one letter: 'x'",
    ]
    assert done.stderr.splitlines()[1] == (
        "bad.txt: 2 rules of 4 terms; 1 error, 1 warning, 0 notes"
    )
    done = synsetmine("lint", "bad.txt", "--json", cwd=tmp_path, code=1)
    (result,) = json.loads(done.stdout)
    assert result["file"] == "bad.txt"
    assert result["rules"] == 2
    assert result["findings"][0] == {
        "line": 2,
        "severity": "error",
        "check": "refused",
        "message": "more than one => in a rule; engines reject the whole file",
    }
    done = synsetmine("lint", "missing.txt", cwd=tmp_path, code=1)
    (line,) = done.stderr.splitlines()
    missing = "synsetmine: error: missing.txt: No such file or directory; the current folder is "
    assert line.startswith(missing)


# --- Reviews ----------------------------------------------------------------------------------


def test_reviews_of_the_run_have_their_say(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = place / "run"
    with ReviewStore(Artefacts(run).reviews) as store:
        state = ReviewState(read_results(run))
        for kind, set_id, said in (
            ("remove", "D009203", {"terms": ["cardiac"]}),
            ("judge", "D009203", {"terms": ["MI"], "verdict": "correct", "scope": "broad"}),
            ("accept", "D009203", {}),
            ("reject", "s1", {}),
        ):
            decision = state.decide(kind, set_id, reviewer="ann", **said)  # type: ignore[arg-type]
            state.apply(store.add(decision))
    export("run", "-f", "solr", "-o", "synonyms.txt")
    text = (place / "synonyms.txt").read_text()
    assert "heart attack, myocardial infarction" in text
    assert "cardiac" not in text  # removed
    assert "MI" not in text  # broader, so not to be taken for the others
    assert "wiener" not in text  # rejected
    told = capsys.readouterr().err
    assert "4 decisions of reviewers" in told
    assert "left out 1: a name that is broad, narrow or related, such as 'MI'" in told
    export("run", "--accepted", "-f", "csv", "-o", "sets.csv")
    assert {line.split(",")[0] for line in (place / "sets.csv").read_text().splitlines()[1:]} == {
        "D009203"
    }


def test_without_reviews_nothing_is_accepted(place: Path) -> None:
    with pytest.raises(SynsetmineError, match="--accepted needs reviews, and run has none"):
        export("run", "--accepted", "-f", "solr", "-o", "synonyms.txt")


def test_a_reviewer_vouches_for_new_names_only(place: Path) -> None:
    run, orcid = place / "run", "0000-0002-1825-0097"
    with ReviewStore(Artefacts(run).reviews) as store:
        state = ReviewState(read_results(run))
        store.add(state.decide("accept", "D009203", reviewer=f"ann (orcid:{orcid})"))
    for format in ("obo", "ssslm"):
        export("run", "--accepted", "-f", format, "-o", "names.txt")
        lines = (place / "names.txt").read_text().splitlines()
        with_orcid = "\n".join(line for line in lines if orcid in line)
        assert "myocardial infarction" in with_orcid
        assert "cardiac" in with_orcid
        assert "MI" not in with_orcid
        assert "heart attack\tkb:D009203" not in with_orcid


# --- Known entities alone ---------------------------------------------------------------------


@pytest.mark.parametrize("format", ["obo", "csv", "jsonl", "skos", "patch", "solr"])
def test_known_entities_alone_are_exported(
    format: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export("run", "--known-only", "-f", format, "-o", "known.txt")
    text = (place / "known.txt").read_text()
    assert "myocardial infarction" in text
    assert "wiener" not in text
    assert "synsetmine:s" not in text
    assert "left out: 3 sets without an entity" in capsys.readouterr().err


def test_known_entities_alone_need_a_knowledge_base(place: Path) -> None:
    with pytest.raises(SynsetmineError, match=r"none has an entity .* give --kb"):
        export("mined.jsonl", "--known-only", "-f", "csv", "-o", "known.csv")
