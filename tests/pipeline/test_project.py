"""Project files: what may stand in them, and what is said when something else does."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.models import settings_of
from synsetmine.models.paper.settings import PRESETS
from synsetmine.pipeline.project import Project, read_project, template, write_project

LEAST = 'corpus.path = "texts"\nkb.path = "kb.jsonl"\n'


def project(folder: Path, text: str) -> Path:
    path = folder / "synsetmine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    read = read_project(project(tmp_path, LEAST + 'vocabulary.list = "/abs/terms.txt"\n'))
    assert read.corpus.path == (str(tmp_path / "texts"),)
    assert read.kb.path == str(tmp_path / "kb.jsonl")
    assert read.vocabulary.list == "/abs/terms.txt"
    assert read.vectors.path == ""
    assert read.run == str(tmp_path / "run")


def test_what_stands_there_is_taken(tmp_path: Path) -> None:
    text = """
        [corpus]
        path = ["a", "b"]
        text_field = "title,text"
        [kb]
        path = "MRCONSO.RRF"
        sources = "MSH"
        [link]
        linker = "spotlight"
        confidence = 1
        [train]
        preset = "released-pubmed"
        epochs = 7
        [mine]
        threshold = 0.25
        known = false
    """
    read = read_project(project(tmp_path, text))
    assert [Path(path).name for path in read.corpus.path] == ["a", "b"]
    assert read.corpus.text_field == "title,text"
    assert read.kb.sources == ("MSH",)
    assert read.link.linker == "spotlight"
    assert read.link.confidence == 1.0
    assert read.train == PRESETS["released-pubmed"].with_changes({"epochs": 7})
    assert read.mine.threshold == 0.25
    assert not read.mine.known


def test_our_own_model_is_the_default(tmp_path: Path) -> None:
    plain = read_project(project(tmp_path, LEAST)).train
    assert plain == settings_of("general")
    text = LEAST + '[train]\npreset = "general"\nfolds = 3\nseed = 7\nthreshold = 1\n'
    given = read_project(project(tmp_path, text)).train
    assert given == settings_of("general").with_changes({"folds": 3, "seed": 7, "threshold": 1.0})


def test_an_encoder_is_a_folder_if_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "minilm").mkdir()
    told = {"models/mine": str(tmp_path / "models/mine"), "some/name": "some/name"}
    for given, meant in (told | {"minilm": "minilm", "": ""}).items():
        read = read_project(project(tmp_path, f'{LEAST}encoder.model = "{given}"\n'))
        assert read.encoder.model == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x =", r"synsetmine\.toml: not TOML"),
        ('corpus.path = "a"', r"the section \[kb\] is missing or has no path"),
        ('kb.path = "a"', r"the section \[corpus\]"),
        (LEAST + "[extra]\n", r"no such section: 'extra'; expected one of corpus, "),
        (LEAST + "[link]\nlinkr = 1\n", r"toml:3: \[link\] no such setting: 'linkr'; .*'linker'"),
        (LEAST + '[link]\nlinker = "guess"\n', r"linker must be one of dictionary, .*: 'guess'"),
        (LEAST + "[supervise]\nmin_count = 1.5\n", r"min_count must be a whole number: 1\.5"),
        (LEAST + "[supervise]\nmin_count = -1\n", r"min_count must be at least 1: -1"),
        (LEAST + "[supervise]\nheld_out = nan\n", r"held_out must be in \(0, 1\): nan"),
        (LEAST + '[supervise]\nheld_out = "x"\n', r"held_out must be a number: 'x'"),
        (LEAST + "[mine]\nknown = 1\n", r"known must be true or false: 1"),
        (LEAST + "[report]\ntitle = 1\n", r"title must be a string: 1"),
        (LEAST + "report = 1\n", r"toml:3: \[report\] expected a section"),
        (
            LEAST + '[train]\npreset = "x"\n',
            r"no such preset: 'x'; expected one of general, paper, ",
        ),
        (
            LEAST + "[train]\npreset = [1]\n",
            r"no such preset: \[1\]; expected one of general, paper, ",
        ),
        (
            LEAST + "[train]\nepochs = 9\n",
            r"toml:3: \[train\] no such setting: 'epochs'; expected one of seed, threshold, ",
        ),
        (LEAST + "[train]\nfolds = true\n", r"\[train\] folds must be a whole number: True"),
        (LEAST + "[train]\nthreshold = 2\n", r"threshold must be between 0 and 1: 2\.0"),
        (
            LEAST + "[train]\nseed = 4294967296\n",
            r"seed must be between 0 and 4294967295",
        ),
        (
            LEAST + '[train]\npreset = "project"\nepochs = 0\n',
            r"\[train\] epochs must be at least 1: 0",
        ),
        (
            LEAST + '[train]\npreset = "paper"\n[encoder]\nmodel = "minilm"\n',
            r"toml:5: the paper's model takes no encoder; choose another preset",
        ),
        (
            LEAST + "[encoder]\nname = 1\n",
            r"\[encoder\] no such setting: 'name'; expected one of model",
        ),
        ('corpus.path = ""\nkb.path = "x"\n', r"\[corpus\] path must be"),
        ('corpus.path = [1]\nkb.path = "x"\n', r"\[corpus\] path must be a string or a list"),
        ('corpus.format = "text"\nkb.path = "x"\n', r"\[corpus\] path is missing"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_project(project(tmp_path, text))


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="synsetmine init"):
        read_project(tmp_path / "synsetmine.toml")


def test_the_template_reads_as_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "synsetmine.toml"
    write_project(path, corpus='te"xts\\', kb="kb ä.jsonl", run="run")
    read = read_project(path)
    assert read == Project(corpus=read.corpus, kb=read.kb, run=read.run)
    assert Path(read.corpus.path[0]).name == 'te"xts\\'


def test_the_template_shows_every_setting_with_its_default(tmp_path: Path) -> None:
    """With the comment signs off, all lines are valid, and all but examples are defaults."""
    commented = template(corpus="texts", kb="kb", run="run")
    text = re.sub(r"^# (?=\w+ = )", "", commented, flags=re.M)
    text = text.replace('method = "cooccurrence"', 'method = "file"')
    path = project(tmp_path, text)
    shown, plain = read_project(path), read_project(project(tmp_path, LEAST))
    examples = {"format", "sources", "list", "path", "threshold", "order", "method"}
    examples |= {"id_field", "name_field", "names_field", "name_column"}
    for section in fields(Project):
        given, default = getattr(shown, section.name), getattr(plain, section.name)
        if not is_dataclass(default):
            continue
        for setting in fields(default):
            if setting.name in examples:
                continue
            assert getattr(given, setting.name) == getattr(default, setting.name)
            assert re.search(rf"^#? ?{setting.name} = ", commented, re.M), setting.name


def test_a_project_file_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    path = project(tmp_path, LEAST)
    with pytest.raises(SynsetmineError, match="exists already"):
        write_project(path, corpus="c", kb="k", run="r")
    assert path.read_text() == LEAST
    write_project(path, corpus="c", kb="k", run="r", overwrite=True)
    assert path.read_text() != LEAST
