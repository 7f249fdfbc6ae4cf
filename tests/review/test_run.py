"""Reviews in a run and on the command line: they change training and mining, and only these."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from synsetmine.cli import app
from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.sets import read_sets, write_sets
from synsetmine.models import DEFAULT_PRESET, load_model, settings_of
from synsetmine.pipeline.model_stages import train_model
from synsetmine.pipeline.settings import EncoderSettings
from synsetmine.pipeline.stage_results import StageContext
from synsetmine.review import Decision, ReviewState, ReviewStore
from synsetmine.review.decisions import now, read_decisions, write_decisions
from synsetmine.runs import MinedSet, read_results
from synsetmine.runs.folder import STAGES, Artefacts, RunFolder, StageResult
from synsetmine.types import Term
from synsetmine.views import TermVectors, write_vectors
from tests.pipeline.test_run import carry_out
from tests.support.reviewparts import mined_set
from tests.support.viewworlds import name_world
from tests.support.worlds import write_text_world


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = write_text_world(tmp_path_factory.mktemp("world"))
    carry_out(project)
    return project


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Path:
    """A finished run of one's own."""
    shutil.copytree(finished.parent, tmp_path / "world")
    return tmp_path / "world" / finished.name


def keys(found: MinedSet) -> list[Term]:
    return [Term(term.text, term.sense) for term in found.terms]


@pytest.mark.slow
def test_a_run_learns_from_its_reviews(project: Path) -> None:
    at = Artefacts(project.parent / "run")
    mined = read_results(at.mined.parent)
    joined = [found for found in mined if found.least is not None and found.entity]
    wrong, right = joined[0], joined[1]
    out = next(term for term in wrong.terms if term.probability is not None)
    state = ReviewState(mined)
    with ReviewStore(at.reviews) as store:
        for decision in (
            state.decide("remove", wrong.id, reviewer="ann", terms=[out.text]),
            state.decide("accept", right.id, reviewer="ann"),
        ):
            state.apply(store.add(decision, seen=state.number))
    scores = at.scores.read_text()
    folder, skipped = carry_out(project)
    assert [stage for stage in STAGES if not skipped[stage]] == [*STAGES[STAGES.index("train") :]]
    assert len(read_decisions(at.decisions)) == 2
    again = read_sets(at.mined)
    assert len(set(again.labels(keys(right)))) == 1
    assert again.ids[again.label_of(keys(right)[0])] == right.id
    stays = [term for term in keys(wrong) if term.surface != out.text]
    home = again.label_of(Term(out.text, out.sense))
    assert home not in again.labels(stays)
    counts = folder.results["mine"].counts
    assert counts["reviewed sets"] == 1
    assert counts["reviewed cannot-link pairs"] == len(stays)
    assert {name for name in folder.results["train"].counts if name.startswith("reviewed")}
    assert json.loads(at.scores.read_text()).keys() == json.loads(scores).keys()
    _, skipped = carry_out(project)
    assert skipped == dict.fromkeys(STAGES, True)
    replayed = ReviewState(read_results(at.mined.parent), read_decisions(at.decisions))
    assert replayed[right.id].status == "accepted"
    assert set(replayed.extents.values()) == {"whole"}


def test_accepted_names_stay_new_in_the_next_run(project: Path, tmp_path: Path) -> None:
    run = project.parent / "run"
    state = ReviewState(read_results(run))
    right = next(one for one in state.sets if one.mined.entity and one.mined.least is not None)
    with ReviewStore(Artefacts(run).reviews) as store:
        store.add(state.decide("accept", right.id, reviewer="ann (orcid:0000-0002-1825-0097)"))

    def export_all() -> dict[str, str]:
        texts = {}
        for format in ("patch", "robot", "kgcl", "sssom", "obo"):
            out = tmp_path / f"names-{format}.tsv"
            prefix = () if format in ("kgcl", "patch") else ("--document-prefix", "DOC")
            done = call("export", run, "--accepted", "--format", format, "--out", out, *prefix)
            assert done.exit_code == 0, done.exception
            texts[format] = out.read_text()
        return texts

    first = export_all()
    new = next(term.text for term in right.mined.terms if term.probability is not None)
    assert all(new in text for text in first.values())
    assert "DOC:d" in first["robot"]
    for _ in range(2):  # the second time the accepted names were seeds before
        carry_out(project)
        assert export_all() == first
        Artefacts(run).mined.unlink()  # so that the next run mines again


def test_reviews_of_entities_held_out_are_not_learned(project: Path) -> None:
    at = Artefacts(project.parent / "run")
    test = read_sets(at.test)
    before = load_model(at.model).training["losses"]
    mined = [found for found in read_results(at.mined.parent) if found.id in test.ids]
    state = ReviewState(mined)
    with ReviewStore(at.reviews) as store:
        for found in mined:
            state.apply(store.add(state.decide("accept", found.id, reviewer="ann")))
    folder, _ = carry_out(project)
    assert folder.results["train"].counts["reviewed sets of entities held out"] > 0
    assert load_model(at.model).training["losses"] == before


def test_a_run_may_leave_reviews_aside(project: Path) -> None:
    at = Artefacts(project.parent / "run")
    with ReviewStore(at.reviews) as store:
        carry_out(project)
        assert not at.decisions.exists()  # a store without decisions changes nothing
        state = ReviewState(read_results(at.mined.parent))
        store.add(state.decide("reject", state.sets[0].id, reviewer="ann"))
    project.write_text(project.read_text() + "mine.reviews = false\n")
    _, skipped = carry_out(project)
    assert skipped == dict.fromkeys(STAGES, True)


def test_decisions_travel_from_run_to_run(project: Path, tmp_path: Path) -> None:
    run, other = project.parent / "run", tmp_path / "other"
    shutil.copytree(run, other)
    state = ReviewState(read_results(run))
    least = state.sets[0]
    with ReviewStore(Artefacts(run).reviews) as store:
        store.add(state.decide("accept", least.id, reviewer="ann", note="sure"))
        store.add(Decision(kind="unsure", reviewer="bob", set_id="gone", members=("not", "there")))
    file = tmp_path / "reviews.tsv"
    done = call("export-reviews", run, "--out", file)
    assert (done.exit_code, done.stderr) == (0, f"2 decisions written to {file}\n")
    for new in (2, 0):
        done = call("import-reviews", other, file)
        assert done.stderr == (
            f"2 decisions in {file}, {new} of them new to {other}\n"
            "2 in force: 1 fully applicable to these sets, 0 in part, 1 not at all\n"
        )
    again = tmp_path / "again.tsv"
    call("export-reviews", other, "--out", again)
    assert again.read_bytes() == file.read_bytes()


def test_decisions_of_the_future_are_not_imported(project: Path, tmp_path: Path) -> None:
    made = Decision(kind="unsure", reviewer="bob", set_id="gone", members=("not", "there"))
    file = tmp_path / "reviews.tsv"
    write_decisions(file, [made.stamp(now()), made.stamp("2999-12-31T23:59:59.999Z")])
    run = project.parent / "run"
    assert str(call("import-reviews", run, file).exception) == (
        f"{file}:3: a time in the future: '2999-12-31T23:59:59.999Z'; correct the time, or the "
        "clock of this machine"
    )
    assert not Artefacts(run).reviews.exists()


def test_what_cannot_be_done_is_reported(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    done = call("export-reviews", tmp_path / "run", "--out", tmp_path / "x.tsv")
    assert isinstance(done.exception, SynsetmineError)
    assert str(done.exception) == f"{tmp_path / 'run'} has no reviews yet"
    done = call("import-reviews", tmp_path / "run", tmp_path / "x.tsv")
    assert "not a run folder with mined sets" in str(done.exception)
    assert RunFolder(tmp_path / "run").stages == {}
    assert not list((tmp_path / "run").iterdir())


def test_loose_files_take_reviews_too(tmp_path: Path) -> None:
    """`train --reviews` and `mine --reviews`, without a run."""
    sets, _ = name_world(24, seed=3)
    training, rest = sets.pick(range(14)), sets.pick(range(14, 24))
    write_sets(tmp_path / "train.jsonl", training)
    (tmp_path / "terms.txt").write_text("".join(f"{term}\n" for term in rest.terms))
    members = [str(term) for term in rest.sets[0]]
    one, other = [str(term) for term in rest.sets[1][:2]]
    state = ReviewState([mined_set("good", *members), mined_set("bad", one, other)])
    with ReviewStore(tmp_path / "reviews.sqlite") as store:
        store.add(state.decide("accept", "good", reviewer="ann"))
        store.add(state.decide("reject", "bad", reviewer="ann"))
    files = ["--reviews", tmp_path / "reviews.sqlite", "--out"]
    train = ["train", tmp_path / "train.jsonl", *files, tmp_path / "model"]
    done = call(*train)
    assert done.exit_code == 0, done.output
    assert f"from reviews: 1 set, {len(members)} terms, 2 terms separated\n" in done.stderr
    assert "already contains this model" in call(*train).stderr
    with ReviewStore(tmp_path / "reviews.sqlite") as store:
        store.add(state.decide("unsure", "good", reviewer="ann"))
    assert "contains another finished model" in str(call(*train).exception)
    out = tmp_path / "mined.jsonl"
    mine = ["mine", tmp_path / "model", "--vocabulary", tmp_path / "terms.txt"]
    done = call(*mine, *files, out)
    assert done.exit_code == 0, done.output
    assert "from reviews: 1 set, 1 cannot-link pair\n" in done.stderr
    mined = read_sets(out)
    assert set(map(Term.parse, members)) <= set(mined.sets[mined.ids.index("good")])
    assert mined.label_of(Term.parse(one)) != mined.label_of(Term.parse(other))
    done = call(*mine, "--reviews", tmp_path / "no.tsv", "--out", out)
    assert isinstance(done.exception, DataError)
    missing = f"{tmp_path / 'no.tsv'}: No such file or directory; check its name"
    assert str(done.exception) == missing


def write_held_out(folder: Path) -> tuple[Path, ReviewState]:
    """Training sets, a run that holds sets out, and sets that are wrong to reject."""
    sets, _ = name_world(60, seed=3)
    training, test = sets.pick(range(40)), sets.pick(range(40, 60))
    write_sets(folder / "train.jsonl", training)
    run = folder / "run"
    run.mkdir()
    write_sets(Artefacts(run).test, test)
    others = [[term.surface for term in members] for members in name_world(460, seed=9)[0]]
    return run, ReviewState([mined_set(f"w{i}", *others[i][:2]) for i in range(60, 460)])


def test_a_run_announces_decisions_that_lower_the_scores(tmp_path: Path) -> None:
    """As a question; its answer and the scores are in the report of the stage."""
    run, state = write_held_out(tmp_path)
    at = Artefacts(run)
    shutil.copy(tmp_path / "train.jsonl", at.training)
    write_vectors(at.vectors, TermVectors((Term("other"),), np.ones((1, 1), np.float32)))
    asked: list[str] = []

    def train(*, keep: bool = True) -> StageResult:
        def ask(question: str) -> bool:
            asked.append(question)
            return keep

        context = StageContext(at=at, engine=LocalEngine(1), progress=lambda *_: None, ask=ask)
        settings = settings_of(DEFAULT_PRESET)
        return train_model(settings, EncoderSettings(), context, reviews=run)

    with ReviewStore(at.reviews) as store:
        store.add(state.decide("reject", "w60", reviewer="ann"))
    result = train()
    assert asked == []
    assert "lowered" not in " ".join(result.notes)
    assert {"F1 on held-out sets without reviews", "with them"} <= result.counts.keys()
    with ReviewStore(at.reviews) as store:
        ids = [one.id for one in state.sets if one.id != "w60"]
        store.add_all(state.decide("reject", set_id, reviewer="ann") for set_id in ids)
    weights = at.model / "model.safetensors"
    kept, learned = train(), weights.read_bytes()
    left, plain = train(keep=False), weights.read_bytes()
    lowered = r"400 decisions lowered F1 on held-out sets from 1\.00 to 0\.\d\d"
    assert [bool(re.fullmatch(f"{lowered}: keep them\\?", one)) for one in asked] == [True, True]
    assert re.fullmatch(lowered, kept.notes[-1])
    assert re.fullmatch(f"{lowered}; trained without them", left.notes[-1])
    assert learned != plain


def test_decisions_that_lower_the_scores_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong decisions are asked about; without them the model is the one of before."""
    run, state = write_held_out(tmp_path)
    with ReviewStore(Artefacts(run).reviews) as store:
        store.add(state.decide("reject", "w60", reviewer="ann"))
    train = ["train", tmp_path / "train.jsonl", "--reviews", run, "--overwrite", "--out"]
    done = call(*train, tmp_path / "right")
    assert done.exit_code == 0, done.output
    assert re.search(r"1 decision changed F1 on held-out sets from 1\.00 to 1\.00", done.stderr)
    with ReviewStore(Artefacts(run).reviews) as store:
        ids = [one.id for one in state.sets if one.id != "w60"]
        store.add_all(state.decide("reject", set_id, reviewer="ann") for set_id in ids)
    done = call(*train, tmp_path / "kept")
    assert done.exit_code == 0, done.output
    asked = r"warning: 400 decisions lowered F1 on held-out sets from 1\.00 to 0\.\d\d: keep them\?"
    assert re.search(asked, done.stderr), done.stderr
    monkeypatch.setattr("synsetmine.cli.console.ask", lambda question: False)
    assert call(*train, tmp_path / "left").exit_code == 0
    plain = ["train", tmp_path / "train.jsonl", "--out", tmp_path / "plain"]
    assert call(*plain).exit_code == 0
    same = {path.name: path.read_bytes() for path in (tmp_path / "plain").glob("*.safetensors")}
    assert same
    for name, content in same.items():
        assert (tmp_path / "left" / name).read_bytes() == content
        assert (tmp_path / "kept" / name).read_bytes() != content
