"""The settings of a run: one section for each stage, read from `synsetmine.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from synsetmine.corpus import Form as CorpusForm
from synsetmine.errors import DataError, require
from synsetmine.files import read_text
from synsetmine.kb import Form as KbForm
from synsetmine.linking import LinkerName
from synsetmine.models import DEFAULT_PRESET, ModelSettings, settings_of
from synsetmine.models.known import KNOWN_THRESHOLD
from synsetmine.types import Ambiguous, Order
from synsetmine.views.encoder import MINILM

PROJECT_FILE = "synsetmine.toml"
MOST_DIMENSIONS = 4096
ONLY_LIST = "only_list needs a list of terms"
NEEDS_PATH = 'method "file", and no other, needs the path of a vector file'


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """`[corpus]`: the text."""

    path: tuple[str, ...]  # files, folders or patterns
    form: CorpusForm | None = None  # guessed from the ending
    text_field: str = "text"  # of JSONL, CSV and Parquet; several joined as "title,text"
    id_field: str = "id"


@dataclass(frozen=True, kw_only=True)
class KbSettings:
    """`[kb]`: the knowledge base."""

    path: str
    form: KbForm | None = None  # guessed from the ending
    language: str = "en"
    sources: tuple[str, ...] = ()  # UMLS: only these vocabularies
    keep_suppressed: bool = False  # UMLS
    anchors: int = 0  # MediaWiki: link texts used at least so often are names too


@dataclass(frozen=True, kw_only=True)
class LinkSettings:
    """`[link]`: from text to entities."""

    linker: LinkerName = "dictionary"
    ambiguous: Ambiguous = "common"  # a name of several entities
    url: str = "https://api.dbpedia-spotlight.org/en"  # Spotlight only, as are the next four
    confidence: float = 0.5
    support: int = 0
    concurrency: int = 4
    per_second: float = 5.0


@dataclass(frozen=True, kw_only=True)
class SuperviseSettings:
    """`[supervise]`: from links to training sets."""

    min_count: int = 5  # a name seen less often has no vector either
    min_terms: int = 2
    held_out: float = 0.2  # share of the entities kept for the scores
    seed: int = 0

    def __post_init__(self) -> None:
        require(0 < self.held_out < 1, "held_out must lie between 0 and 1", self.held_out)
        require(self.min_terms >= 2, "min_terms must be 2 or more", self.min_terms)


@dataclass(frozen=True, kw_only=True)
class VocabularySettings:
    """`[vocabulary]`: the terms to mine, beside the known names that were seen."""

    list: str = ""  # a file of further terms, one a line; all are mined, however rare
    only_list: bool = False  # mine the terms of the list alone
    known: bool = True
    rejected: bool = True  # surfaces that lost their links
    phrases: int = 2000  # so many frequent phrases of the corpus
    abbreviations: bool = True  # short and long forms that the corpus defines
    min_count: int = 5
    max_terms: int = 30_000  # the most frequent ones, beside those of the list

    def __post_init__(self) -> None:
        require(bool(self.list) or not self.only_list, ONLY_LIST, self.only_list)
        require(self.max_terms >= 1, "max_terms must be 1 or more", self.max_terms)


@dataclass(frozen=True, kw_only=True)
class VectorSettings:
    """`[vectors]`: what the corpus says about a term."""

    method: Literal["cooccurrence", "skipgram", "file"] = "cooccurrence"
    path: str = ""  # for method "file": pretrained vectors
    dimension: int = 100  # what the scorer learns best from
    window: int = 0  # 0: the method's default, here and next
    min_count: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        require((self.method == "file") == bool(self.path), NEEDS_PATH, self.path)
        most = f"dimension must be in [0, {MOST_DIMENSIONS}]"
        require(0 <= self.dimension <= MOST_DIMENSIONS, most, self.dimension)
        require(0 <= self.seed < 2**32, "seed must be in [0, 2**32)", self.seed)


@dataclass(frozen=True, kw_only=True)
class EncoderSettings:
    """`[encoder]`: what a sentence encoder says about the strings of terms."""

    model: str = ""  # none; or `minilm`, a folder, a name on the Hugging Face hub


@dataclass(frozen=True, kw_only=True)
class MineSettings:
    """`[mine]`: from terms to sets."""

    known: bool = True  # the known sets seed the pool, and new terms may join them
    threshold: float | None = None  # θ of groups of unknown terms; the model's
    known_threshold: float = KNOWN_THRESHOLD  # a new name joins an entity from here on
    order: Order = "frequent"
    seed: int = 0  # for order "random"
    reviews: bool = True  # what people decided in this run folder counts, in training too

    def __post_init__(self) -> None:
        in_range = self.threshold is None or 0 <= self.threshold <= 1
        require(in_range, "threshold must lie between 0 and 1", self.threshold)
        require(
            0 <= self.known_threshold <= 1,
            "known_threshold must lie between 0 and 1",
            self.known_threshold,
        )


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """`[evaluate]`: scores on the entities held out."""

    orders: int = 10  # random orders of the held-out terms on their own

    def __post_init__(self) -> None:
        require(self.orders >= 1, "orders must be 1 or more", self.orders)


@dataclass(frozen=True, kw_only=True)
class ReportSettings:
    """`[report]`: the HTML page."""

    title: str = "Synonym sets"
    sentences: int = 3  # examples a term
    map_terms: int = 1500


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
    run: str = "run"  # the folder for everything that comes out

    def __post_init__(self) -> None:
        self.train.check_inputs(tables=1, encoder=bool(self.encoder.model))


def read_project(path: str | Path) -> Project:
    """Read a project file; paths in it are relative to its folder."""
    path = Path(path)
    if not path.exists():
        raise DataError("no such file; `synsetmine init` writes one", path=path)
    text = read_text(path)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not TOML ({error})", path=path) from error
    except (ValueError, RecursionError) as error:  # thousands of digits, or of brackets
        raise DataError("not TOML", path=path, value=text[:120]) from error
    sections: dict[str, Any] = {}
    kinds = get_type_hints(Project)
    for name, table in tables.items():
        if name not in kinds:
            known = ", ".join(section for section, kind in kinds.items() if kind is not str)
            problem = f"no such section; there are {known}"
            raise DataError(problem, path=path, line=_line(text, name), value=name)
        try:
            sections[name] = _section(name, kinds[name], table)
        except DataError as error:
            problem = f"[{name}] {error.problem}"
            raise DataError(problem, path=path, line=_line(text, name), value=error.value) from None
    for name in ("corpus", "kb"):
        if name not in sections:
            raise DataError(f"the section [{name}] with its path is missing", path=path)
    try:
        project = Project(**sections)
    except DataError as error:  # of the two sections that must fit together
        raise error.at(path, _line(text, "encoder")) from None
    return _with_absolute_paths(project, path)


def _section(name: str, kind: Any, table: Any) -> Any:
    if kind is str:
        return _value(name, str, table)
    if not isinstance(table, dict):
        raise DataError("expected a section with settings", value=table)
    if name == "train":
        changes = dict(table)
        return settings_of(changes.pop("preset", DEFAULT_PRESET)).updated(changes)
    hints = get_type_hints(kind)
    for key in table:
        if key not in hints:
            raise DataError(f"no such setting; there are {', '.join(hints)}", value=key)
    for setting in fields(kind):
        if setting.default is MISSING and setting.name not in table:
            raise DataError(f"{setting.name} is missing")
    return kind(**{key: _value(key, hints[key], value) for key, value in table.items()})


def _value(name: str, kind: Any, value: Any) -> Any:
    """The value as the kind asks for; anything else is an error that says what is allowed."""
    options = [option for option in get_args(kind) or (kind,) if option is not type(None)]
    if get_origin(kind) is tuple:
        values = [value] if isinstance(value, str) else value
        if isinstance(values, list) and values and all(isinstance(v, str) and v for v in values):
            return tuple(values)
        raise DataError(f"{name} must be a text or a list of texts", value=value)
    if get_origin(kind) is Literal:
        if value in options:
            return value
        raise DataError(f"{name} must be one of {', '.join(map(str, options))}", value=value)
    if get_origin(kind) is not None:  # X | None: TOML has no null, so a value there is an X
        return _value(name, options[0], value)
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise DataError(f"{name} is a number beyond the 64 bits of TOML", value=value)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
        raise DataError(f"{name} must be {words[kind]}", value=value)
    if kind in (int, float) and not 0 <= value < float("inf"):
        raise DataError(f"{name} must not be negative or infinite", value=value)
    return value


def _line(text: str, section: str) -> int:
    """The line on which a section begins."""
    header = re.compile(rf"\s*\[?\s*{re.escape(section)}\s*[\].=]")
    lines = text.splitlines()
    return next((n for n, line in enumerate(lines, start=1) if header.match(line)), 1)


def _with_absolute_paths(project: Project, file: Path) -> Project:
    def place(path: str) -> str:
        try:
            return str(file.parent / Path(path).expanduser()) if path else path
        except RuntimeError:
            raise DataError("no user has this name", path=file, value=path) from None

    # A name on the hub looks like a path; it is one if there is such a folder.
    model = project.encoder.model
    is_folder = model != MINILM and Path(place(model)).is_dir()
    weights = project.train.to_dict().get("weights")
    train = project.train.updated({"weights": place(weights)}) if weights else project.train
    return replace(
        project,
        encoder=replace(project.encoder, model=place(model) if is_folder else model),
        corpus=replace(project.corpus, path=tuple(map(place, project.corpus.path))),
        kb=replace(project.kb, path=place(project.kb.path)),
        vocabulary=replace(project.vocabulary, list=place(project.vocabulary.list)),
        vectors=replace(project.vectors, path=place(project.vectors.path)),
        train=train,
        run=place(project.run),
    )
