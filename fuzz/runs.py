"""Targets: what a run is told, what it keeps, what people and services say."""

from __future__ import annotations

import json
import math
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fuzz.tables import bytes_of
from fuzz.target import Form, Target, folder, require
from synsetmine.errors import SynsetmineError
from synsetmine.export.solr import lint_file
from synsetmine.io.rules import read_rules
from synsetmine.io.sets import Decision, read_trace, write_trace
from synsetmine.linking.spotlight import Annotation, read_annotation
from synsetmine.models import SetModel, StoredModel, load_model, save_model
from synsetmine.models.general import GeneralModel
from synsetmine.models.general.features import TABLE_FEATURES, WordWeights
from synsetmine.models.general.linkage import SetFunction
from synsetmine.models.general.pairs import Adaptation, PairClassifier
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.storage import CONFIG, WEIGHTS
from synsetmine.pipeline.project import read_project, write_project
from synsetmine.review.decisions import Decision as Review
from synsetmine.review.decisions import read_decisions, write_decisions
from synsetmine.runs.folder import FORMAT, MANIFEST, RunFolder
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import Term
from synsetmine.views.strings import StaticEncoder

# --- Settings: projects, models, manifests ---


def _check_model(path: Path) -> None:
    model = load_model(path.parent)
    require(0 <= model.threshold <= 1, "a threshold that is no probability")
    json.dumps(dict(model.training))


@cache
def _model_folder(kind: str) -> Path:
    """A small model; only its config is fuzzed, since checksums guard the rest."""
    model = general_model() if kind == "general" else paper_model()
    path = folder("examples") / kind
    save_model(path, StoredModel(model, 0.5, {"seed": 0, "preset": kind}))
    return path


def paper_model() -> SetModel:
    return SetScorer(dimension=2, embed_sizes=(3,), post_sizes=(2,))


def general_model(seed: int = 0) -> GeneralModel:
    """An adapted model of random weights, which looks at vectors of two dimensions only."""
    rng = np.random.default_rng(seed)
    width = len(TABLE_FEATURES)

    def draw(*shape: int) -> npt.NDArray[np.float32]:
        return rng.normal(size=shape).astype(np.float32)

    features = np.zeros(width, np.float32), np.ones(width, np.float32)
    return GeneralModel(
        StaticEncoder(("a", "##b"), rng.integers(-9, 9, (6, 4), dtype=np.int8), np.abs(draw(6))),
        WordWeights(draw(8)),
        PairClassifier(*features, (draw(width, 1),), (draw(1),)),
        SetFunction(-0.3, 1.0),
        adaptation=Adaptation(False, (2,), *features, draw(1 + width)),
    )


def _model_form(kind: str) -> Form:
    def check(path: Path) -> None:
        weights = path.with_name(WEIGHTS)
        if not weights.exists():
            shutil.copy(_model_folder(kind) / WEIGHTS, weights)
        _check_model(path)

    return Form(f"{kind}/{CONFIG}", check, lambda: [(_model_folder(kind) / CONFIG).read_bytes()])


def _check_manifest(path: Path) -> None:
    run = RunFolder(path.parent)
    json.dumps([record.to_dict() for record in run.stages.values()])


_PROJECT = b"""run = "~/run"
[corpus]
path = ["a.txt", "b/*.jsonl"]
format = "text"
[kb]
path = "kb.obo"
sources = ["MSH"]
anchors = 3
[train]
preset = "paper"
embed_sizes = [50, 0x10]
dropout = 0.5
[mine]
threshold = 0.25
order = "given"
"""


def _manifest() -> bytes:
    done = {"key": "k", "seconds": 1.0, "counts": {"documents": 2}}
    stage = {**done, "settings": {}, "inputs": ["a.txt"], "outputs": {"a": "b"}}
    content = {"format": FORMAT, "versions": {}, "stages": {"read": stage}, "files": {}}
    return json.dumps(content).encode()


SETTINGS = Target(
    "settings",
    (
        Form(
            "synsetmine.toml",
            lambda p: require(bool(read_project(p).run), "no folder"),
            lambda: [
                _PROJECT,
                bytes_of(
                    lambda p: write_project(p, corpus="c", kb="k", run="r", overwrite=True),
                    "p.toml",
                ),
            ],
        ),
        _model_form("sets"),
        _model_form("general"),
        Form(MANIFEST, _check_manifest, lambda: [_manifest()]),
    ),
    words=(
        *("[corpus]\n", "[kb]\n", "[encoder]\n", "path = ", "= 0x", "= nan", "= inf", "~nobody/"),
        *(
            '"threshold":',
            '"scorer":',
            '"sha256":',
            '"kind": "general"',
            '"adaptation":',
            '"tables":',
        ),
        *(
            '"stages":',
            '"counts":',
            '"files":',
            "1979-05-27T07:32:00Z",
            "'''",
            "[[mine]]",
            "\\u0000",
        ),
    ),
)


# --- Results: traces, reviews, synonyms.txt ---


def _check_trace(path: Path) -> None:
    found = list(read_trace(path))
    again = path.with_name("again.jsonl")
    write_trace(again, found)
    rounded = list(read_trace(again))
    write_trace(again, rounded)
    require([str(d) for d in read_trace(again)] == [str(d) for d in rounded], "another trace")
    for one, other in zip(found, rounded, strict=True):
        require(one.term == other.term and one.action == other.action, "another decision")
        close = math.isclose(one.probability, other.probability, abs_tol=1e-6)
        require(close, "another probability")


def _check_reviews(path: Path) -> None:
    found = read_decisions(path)
    again = path.with_name("again.tsv")
    write_decisions(again, found)
    require(read_decisions(again) == found, "decisions that are others when written")


def _check_rules(path: Path) -> None:
    lint = lint_file(path)
    try:
        rules = read_rules(path)
    except SynsetmineError:
        require(any(f.check == "refused" for f in lint.findings), "refused, but nothing is found")
        return
    require(len(rules) == lint.rules, "another number of rules")
    require(not any(f.check == "refused" for f in lint.findings), "read, though it is refused")


def _reviews() -> list[bytes]:
    when = "2026-03-01T09:30:00.125Z"
    terms = ("a;b", "c\\", "é\u2028", "t||s")
    made = [
        Review(
            kind="accept", reviewer="me", set_id="s1", members=terms, terms=terms[:2], note="\t"
        ),
        Review(kind="merge", reviewer="me", set_id="s1", members=terms, other="s2", others=("z",)),
        Review(
            kind="judge",
            reviewer="x",
            set_id="s",
            members=terms,
            terms=terms[2:],
            verdict="correct",
        ),
    ]
    return [bytes_of(lambda p: write_decisions(p, [d.stamp(when) for d in made]), "reviews.tsv")]


_TRACE = [
    Decision(Term("a", "Q1"), "s0", 0.75, "joined"),
    Decision(Term("b"), None, 0.0, "no vector"),
]

RESULTS = Target(
    "results",
    (
        Form(
            "trace.jsonl",
            _check_trace,
            lambda: [bytes_of(lambda p: write_trace(p, _TRACE), "trace.jsonl")],
        ),
        Form("reviews.tsv", _check_reviews, _reviews),
        Form(
            "synonyms.txt",
            _check_rules,
            lambda: [
                b"# a remark\nusa, united states => america\na\\, b, c\n\xef\xbb\xbfx # y, z\n"
            ],
        ),
    ),
    words=(
        *('"probability": ', '"best_set": null', '"forced"', "=>", "\\,", "\\u2028", "\\ud800"),
        *("undo", "split", "rename", "9999-12-31T23:59:59.999Z", "incorrect", "narrow", "\t\t"),
    ),
)


# --- Answers of services, and what is kept of them ---


def _check_answer(path: Path) -> None:
    """The first line of an input is the text that was asked about."""
    text, _, body = path.read_bytes().partition(b"\n")
    asked = text.decode("utf-8", "replace")
    found = read_annotation(body, asked)
    for mention in found.mentions:
        require(0 <= mention.start < mention.end <= len(asked), "a mention beyond its text")
    require(Annotation.from_json(found.to_json()) == found, "another annotation when stored")


def _check_kept(path: Path) -> None:
    try:
        found = Annotation.from_json(path.read_bytes().decode("utf-8", "replace"))
    except ValueError:
        return  # which the cache tells as damage
    require(Annotation.from_json(found.to_json()) == found, "another annotation when stored")


def _check_matcher(path: Path) -> None:
    """libFuzzer sees what checksum a file should have, and forges it."""
    NameMatcher.load(path)


_ANSWER = """in 𝕏 Paris’s
{"@text": "x", "Resources": [{"@URI": "http://dbpedia.org/resource/Par%C3%ADs",
 "@surfaceForm": "Paris's", "@offset": "6", "@support": 1.5e3}]}""".encode()

ANSWERS = Target(
    "answers",
    (
        Form("answer.json", _check_answer, lambda: [_ANSWER]),
        Form(
            "kept.json",
            _check_kept,
            lambda: [b'{"mentions": [[0, 5, "http://x/resource/y"]], "broken": [["p", "r"]]}'],
        ),
        Form(
            "names.matcher",
            _check_matcher,
            lambda: [bytes_of(NameMatcher.build(["new york", "WHO"]).save, "names.matcher")],
        ),
    ),
    words=(
        '"@URI"',
        '"@offset": "',
        '"@surfaceForm"',
        '"Resources"',
        "/resource/",
        "%C3",
        "\\ud835",
    ),
)
