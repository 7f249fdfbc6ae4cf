"""A whole run: corpus and knowledge base in, sets and report out; broken off and given again."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synsetmine.engines import BatchFunction, LocalEngine
from synsetmine.errors import DataError
from synsetmine.io.files import atomic_write
from synsetmine.io.sets import read_sets, read_trace, read_vocabulary
from synsetmine.kb import KnowledgeBase
from synsetmine.models import load_model
from synsetmine.models.paper.network import SetScorer
from synsetmine.normalization import normal_form
from synsetmine.pipeline.model_stages import mine_sets, score_held_out
from synsetmine.pipeline.project import read_project
from synsetmine.pipeline.run import run_project
from synsetmine.pipeline.settings import EvaluateSettings, MineSettings
from synsetmine.pipeline.stage_results import StageContext
from synsetmine.runs.folder import STAGES, Artefacts, RunFolder, StageRecord
from synsetmine.text.evidence import read_evidence
from synsetmine.types import Term
from synsetmine.views import encoder, read_vectors
from tests.support.worlds import write_text_world
from tests.views.test_encoder import LetterCounter, model_folder

COMMAND = [sys.executable, "-m", "synsetmine"]
PAPERS = 'train = {preset = "project", epochs = 5, validation_orders = 1}\n'


class Watch:
    def __init__(self) -> None:
        self.skipped: dict[str, bool] = {}

    def on_start(self, stage: str) -> None:
        pass

    def progress(self, done: int, total: int, note: str = "") -> None:
        assert 0 <= done <= total

    def on_finish(self, stage: str, record: StageRecord, *, skipped: bool) -> None:
        self.skipped[stage] = skipped


def carry_out(project: Path, *, until: str | None = None) -> tuple[RunFolder, dict[str, bool]]:
    watch = Watch()
    folder = run_project(read_project(project), watch, engine=LocalEngine(1), until=until)
    return folder, watch.skipped


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    project = write_text_world(folder)
    carry_out(project)
    return project


def test_every_stage_leaves_its_files(finished: Path) -> None:
    folder = RunFolder(finished.parent / "run")
    at = Artefacts(folder.path)
    assert tuple(folder.stages) == STAGES
    kb = KnowledgeBase.load(at.knowledge)
    training, test = read_sets(at.training), read_sets(at.test)
    assert not {t.surface for t in training.terms} & {t.surface for t in test.terms}
    for sets in (training, test):
        for entity, members in zip(sets.ids, sets, strict=True):
            assert all(kb.knows(entity, term.surface) for term in members)
    vocabulary = read_vocabulary(at.vocabulary)
    counts = list(vocabulary.counts.values())
    assert counts == sorted(counts, reverse=True)
    assert set(training.terms) <= set(vocabulary.terms)
    assert set(training.terms) <= set(read_vectors(at.vectors).terms)
    mined = read_sets(at.mined)
    assert set(vocabulary.terms) <= set(mined.terms)
    assert set(training.ids + test.ids) <= set(mined.ids)
    scores = json.loads(at.scores.read_text())
    assert scores["test sets"] == len(test)
    assert 0 <= scores["on their own"]["nmi"][0] <= 1
    page = at.report.read_text()
    assert all(str(term) in page for term in mined.terms[:20])


def test_the_default_model_is_adapted_to_vectors_and_strings(finished: Path) -> None:
    folder = RunFolder(finished.parent / "run")
    at = Artefacts(folder.path)
    model = load_model(at.model)
    assert model.kind == "general"
    assert model.views == ("vectors", "strings")
    assert "encoder" not in model.training
    assert folder.results["train"].counts["names"] == model.training["names"]
    assert folder.results["train"].counts["pairs"] == model.training["pairs"]
    assert folder.results["encode"].counts == {}
    assert not at.encoded.exists()
    scores = json.loads(at.scores.read_text())
    assert scores["on their own"]["ari"][0] > 0.6
    assert len(scores["thresholds"]) == 9
    assert f"The penalty chosen is {model.training['ridge']}." in at.report.read_text()


@pytest.mark.slow
def test_a_set_of_most_terms_is_counted_and_warned_of(tmp_path: Path) -> None:
    project = write_text_world(tmp_path)
    project.write_text(project.read_text() + PAPERS + "mine = {threshold = 0.0, known = false}\n")
    said = subprocess.run([*COMMAND, "run", project], capture_output=True, text=True, check=True)
    folder = RunFolder(tmp_path / "run")
    terms = len(read_sets(Artefacts(folder.path).mined).terms)
    assert folder.results["mine"].counts["in one set"] == terms
    assert f"synsetmine: warning: one set has {terms} terms" in said.stderr


def test_the_papers_model_is_a_preset(tmp_path: Path) -> None:
    project = write_text_world(tmp_path)
    project.write_text(project.read_text() + PAPERS)
    folder, _ = carry_out(project)
    at = Artefacts(folder.path)
    assert isinstance(load_model(at.model).model, SetScorer)
    assert folder.results["train"].counts["epochs"] == 5
    assert not list(at.model.glob("checkpoint*"))
    assert "The loss goes from" in at.report.read_text()
    _, skipped = carry_out(project)
    assert skipped == dict.fromkeys(STAGES, True)
    changed = project.read_text().replace("epochs = 5", "epochs = 5, train_vectors = true")
    project.write_text(changed)
    _, skipped = carry_out(project)
    assert [stage for stage in STAGES if not skipped[stage]] == [*STAGES[-4:]]
    assert load_model(at.model).tuned_vectors is not None


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LetterCounter:
    """An encoder for all names, which does not come from a package and has a cache of its own."""
    fake = LetterCounter("bdklmnrst")
    monkeypatch.setattr(encoder, "load_encoder", lambda _model, _device: fake)
    monkeypatch.setattr(encoder, "quiet", nullcontext)
    monkeypatch.setenv("SYNSETMINE_CACHE", str(tmp_path / "cache"))
    return fake


@pytest.mark.slow
def test_an_encoder_is_one_more_view(counter: LetterCounter, tmp_path: Path) -> None:
    project = write_text_world(tmp_path)
    plain = project.read_text()
    carry_out(project)
    at = Artefacts(tmp_path / "run")
    project.write_text(plain + 'encoder.model = "letters"\n')
    folder, skipped = carry_out(project)
    assert [stage for stage in STAGES if not skipped[stage]] == [*STAGES[STAGES.index("encode") :]]
    encoded = read_vectors(at.encoded)
    everyone = {*read_vocabulary(at.vocabulary).terms, *read_sets(at.mined).terms}
    assert set(encoded.terms) == everyone
    assert folder.results["encode"].counts == {"vectors": len(everyone), "dimensions": 10}
    model = load_model(at.model)
    assert model.views == ("vectors", "strings", "encoder")
    assert model.training["encoder"] == "letters"
    for stage in ("train", "mine", "evaluate"):
        assert "encoded.safetensors" in folder.stages[stage].inputs
    project.write_text(project.read_text() + "train.seed = 1\n")
    _, skipped = carry_out(project, until="train")
    assert [stage for stage in skipped if not skipped[stage]] == ["train"]
    project.write_text(plain)
    carry_out(project, until="encode")
    assert not at.encoded.exists()


def test_an_encoder_is_known_by_what_its_folder_holds(
    counter: LetterCounter, tmp_path: Path
) -> None:
    project = write_text_world(tmp_path)
    model_folder(tmp_path / "encoder")
    project.write_text(project.read_text() + 'encoder.model = "encoder"\n')
    carry_out(project, until="encode")
    assert carry_out(project, until="encode")[1]["encode"]
    (tmp_path / "encoder" / "model.safetensors").write_bytes(b"other")
    assert not carry_out(project, until="encode")[1]["encode"]


def test_given_again_nothing_is_done(finished: Path) -> None:
    _, skipped = carry_out(finished)
    assert skipped == dict.fromkeys(STAGES, True)


def test_the_same_settings_elsewhere_give_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    """Also with two workers."""
    project = write_text_world(tmp_path)
    run_project(read_project(project), Watch(), engine=LocalEngine(2), until="evaluate")
    here, there = finished.parent / "run", tmp_path / "run"
    for name in ("links.tsv", "training.jsonl", "vocabulary.tsv", "vectors.safetensors"):
        assert (there / name).read_bytes() == (here / name).read_bytes(), name
    for name in ("mined.jsonl", "trace.jsonl", "scores.json", "model/model.safetensors"):
        assert (there / name).read_bytes() == (here / name).read_bytes(), name


def test_a_setting_redoes_only_what_depends_on_it(tmp_path: Path) -> None:
    project = write_text_world(tmp_path)
    carry_out(project, until="mine")
    project.write_text(project.read_text() + "mine.threshold = 0.3\n")
    _, skipped = carry_out(project, until="mine")
    assert skipped == {stage: stage != "mine" for stage in STAGES[: STAGES.index("mine") + 1]}


class ReadingEngine(LocalEngine):
    """Notes which files are gone through."""

    def __init__(self) -> None:
        super().__init__(1)
        self.read: list[str] = []

    def map_batches(self, function: BatchFunction, source: Path) -> Iterator[pa.RecordBatch]:
        self.read.append(source.name)
        return super().map_batches(function, source)


def test_the_documents_are_gone_through_twice(tmp_path: Path) -> None:
    engine = ReadingEngine()
    project = read_project(write_text_world(tmp_path))
    run_project(project, Watch(), engine=engine, until="vectors")
    assert engine.read == ["documents.parquet"] * 2
    at = Artefacts(Path(project.run))
    names = read_vocabulary(at.vocabulary).terms
    forms = {normal_form(term.surface) for term in names}
    assert forms <= set(pq.read_table(at.places)["form"].to_pylist())
    evidence = read_evidence(at.evidence)
    assert evidence.table.num_rows == len([*evidence.pairs()])


@pytest.mark.slow
def test_killed_at_many_moments_the_same_command_ends_the_same(
    finished: Path, tmp_path: Path
) -> None:
    project = write_text_world(tmp_path)
    command = [*COMMAND, "run", project.name, "--workers", "1", "--device", "cpu"]
    for seconds in (1.5, 3.0, 4.0, 5.0, 6.0):
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    run, whole = tmp_path / "run", finished.parent / "run"
    for name in ("links.tsv", "mined.jsonl", "trace.jsonl", "scores.json", "vectors.safetensors"):
        assert (run / name).read_bytes() == (whole / name).read_bytes(), name
    left = {path.name for path in run.rglob("*.part")}
    assert not left


def test_what_a_killed_run_left_goes_and_what_another_writes_stays(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / ".lock").touch()
    (run / ".report.html.abc.part").touch()
    with atomic_write(run / "scores.json") as held, RunFolder(run).lock():
        assert {path.name for path in run.iterdir()} == {".lock", held.name}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('run = "."', "this input is in the run folder"),
        ('vocabulary.list = "nowhere.txt"', "nowhere.txt: no such file"),
        ('vectors.method = "file"', 'only method "file" takes a vector file'),
        ("mine.threshold = 1.5", "threshold must be between 0 and 1: 1.5"),
        ("evaluate.orders = 0", "orders must be at least 1: 0"),
        ("supervise.held_out = 1.0", "held_out must be in (0, 1): 1.0"),
        ('encoder.model = "empty"', "empty: no encoder in this folder"),
        (f'{PAPERS}encoder.model = "empty"', "the paper's model takes no encoder"),
    ],
)
def test_what_cannot_work_is_said_before_any_work(
    tmp_path: Path, setting: str, message: str
) -> None:
    project = write_text_world(tmp_path)
    (tmp_path / "empty").mkdir()
    project.write_text(f"{setting}\n{project.read_text()}".replace("evaluate.orders = 2\n", ""))
    with pytest.raises(DataError, match=re.escape(message)):
        run_project(read_project(project), Watch())
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "manifest.json").exists()


def test_a_list_adds_to_the_vocabulary(finished: Path, tmp_path: Path) -> None:
    """The phrases of the corpus are mined too, unless the list is to be mined alone."""
    own = {*read_vocabulary(finished.parent / "run" / "vocabulary.tsv").terms}
    project = write_text_world(tmp_path)
    (tmp_path / "terms.txt").write_text("a term that no text has\n")
    project.write_text(f'vocabulary.list = "terms.txt"\n{project.read_text()}')
    carry_out(project, until="vocabulary")
    vocabulary = tmp_path / "run" / "vocabulary.tsv"
    listed = Term("a term that no text has")
    assert {*read_vocabulary(vocabulary).terms} == own | {listed}
    project.write_text(f"vocabulary.only_list = true\n{project.read_text()}")
    carry_out(project, until="vocabulary")
    assert read_vocabulary(vocabulary).terms == (listed,)


def test_a_frequent_plural_of_a_known_name_is_a_term(tmp_path: Path) -> None:
    project = write_text_world(tmp_path)
    with (tmp_path / "kb.jsonl").open("a") as kb:
        kb.write(json.dumps({"id": "X1", "name": "platelet"}) + "\n")
    with (tmp_path / "corpus.jsonl").open("a") as corpus:
        texts = [f"The platelets {verb}." for verb in ("fell", "rose", "grew", "died", "shrank")]
        corpus.writelines(json.dumps({"id": text, "text": text}) + "\n" for text in texts)
    carry_out(project, until="vocabulary")
    assert Term("platelets") in read_vocabulary(tmp_path / "run" / "vocabulary.tsv").terms


def test_a_known_name_is_not_new_in_another_spelling(tmp_path: Path) -> None:
    """Names that the linker did not mark are known all the same, and are written."""
    project = write_text_world(tmp_path)
    names = {"X1": "Quite Unseen Thing", "X2": "Another Unseen Thing"}
    with (tmp_path / "kb.jsonl").open("a") as kb:
        kb.writelines(json.dumps({"id": i, "name": name}) + "\n" for i, name in names.items())
    listed = ["quite unseen thing", "Another Unseen Thing"]
    (tmp_path / "terms.txt").write_text("\n".join(listed))
    project.write_text(f'vocabulary.list = "terms.txt"\n{project.read_text()}')
    carry_out(project, until="mine")
    at = Artefacts(tmp_path / "run")
    sets = read_sets(at.mined)
    terms_of = dict(zip(sets.ids, sets, strict=True))
    assert {set_id: [str(term) for term in terms_of[set_id]] for set_id in names} == {
        "X1": ["quite unseen thing"],
        "X2": ["Another Unseen Thing"],
    }
    assert {decision.term.surface for decision in read_trace(at.trace)}.isdisjoint(listed)


def test_no_known_name_joins_another_entity(finished: Path) -> None:
    """Also not one that is the only name of its entity."""
    at = Artefacts(finished.parent / "run")
    kb = KnowledgeBase.load(at.knowledge)
    for set_id, members in zip(read_sets(at.mined).ids, read_sets(at.mined), strict=True):
        for term in members:
            named = kb.entities_named(term.surface)
            assert not named or set_id in named


def test_a_run_that_finds_nothing_says_why(tmp_path: Path) -> None:
    project = write_text_world(tmp_path)
    (tmp_path / "corpus.jsonl").write_text('{"id": "1", "text": "Nothing of that kind."}\n')
    result = subprocess.run(
        [*COMMAND, "run", project.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "the dictionary linker found no mention of an entity" in result.stderr
    assert "Traceback" not in result.stderr


def one_entity(folder: Path) -> Path:
    """A project whose corpus names one entity of the knowledge base by two names."""
    project = write_text_world(folder)
    entities = [json.loads(line) for line in (folder / "kb.jsonl").read_text().splitlines()]
    first = next(entity for entity in entities if len(entity.get("synonyms", [])) > 0)
    (folder / "kb.jsonl").write_text(json.dumps(first) + "\n")
    return project


def no_entity(folder: Path) -> Path:
    project = write_text_world(folder)
    (folder / "kb.jsonl").write_text('{"id": "Q1", "name": "nowhere to be seen"}\n')
    return project


@pytest.mark.parametrize("world", [no_entity, one_entity])
def test_a_corpus_that_links_nearly_nothing_is_mined_by_the_general_model(
    tmp_path: Path, world: Callable[[Path], Path]
) -> None:
    folder, _ = carry_out(world(tmp_path))
    at = Artefacts(folder.path)
    assert load_model(at.model).training["ridge"] is None
    assert any(len(members) > 1 for members in read_sets(at.mined))
    scores = json.loads(at.scores.read_text())
    assert scores == {"test sets": 0, "test terms": 0, "threshold": scores["threshold"]}
    page = at.report.read_text()
    assert "No held-out entities were scored." in page
    links, sets = (0, 0) if world is no_entity else (folder.results["link"].counts["links"], 1)
    notes = {stage: result.notes for stage, result in folder.results.items() if result.notes}
    entities = "1 entity has" if sets else "0 entities have"
    expected = {
        "supervise": f"only {entities} 2 or more known names in the corpus",
        "train": f"too few sets: {sets}, at least 10 needed to adapt the general model",
        "evaluate": "no entity could be held out, so there are no scores",
    }
    if not links:
        expected["link"] = "the dictionary linker found no mention of an entity"
    assert set(notes) == set(expected)
    new = folder.results["mine"].counts["new names of known entities"]
    assert folder.summary[0].startswith(f"{new} new name")
    assert "there was no rehearsal" in folder.summary[0]
    for stage, note in expected.items():
        assert any(note in line for line in notes[stage])
        assert note in page


def test_the_papers_model_refuses_to_learn_from_one_set(tmp_path: Path) -> None:
    project = one_entity(tmp_path)
    project.write_text(project.read_text() + PAPERS)
    with pytest.raises(DataError, match="too few for the paper's model; preset `general` works"):
        carry_out(project)


def test_terms_that_stray_into_other_entities_cost_precision(
    finished: Path, tmp_path: Path
) -> None:
    """With a threshold of 0 nearly all held-out terms join a known entity."""
    shutil.copytree(finished.parent / "run", tmp_path / "run")
    at = Artefacts(tmp_path / "run")
    context = StageContext(at=at, engine=LocalEngine(1), progress=Watch().progress)
    gold = read_sets(at.test)
    results = {}
    for threshold in (0.0, 0.999):
        mining = MineSettings(threshold=threshold, known_threshold=threshold)
        mine_sets(mining, context, reviews=None)
        results[threshold] = score_held_out(EvaluateSettings(orders=1), mining, context)
        scores = json.loads(at.scores.read_text())["among all terms"]
        assert scores["terms"] == len(gold.terms)
        assert (scores["pair_precision"] < 0.5) == (threshold == 0)
        assert (scores["ari"] < 0.5) == (threshold == 0)
    strayed = "of the test terms joined to another entity"
    assert results[0.0].counts[strayed] > 0.9 * len(gold.terms)
    assert results[0.999].counts[strayed] < 0.1 * len(gold.terms)
