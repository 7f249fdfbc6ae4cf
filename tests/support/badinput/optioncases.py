"""Option values that mean nothing, and options that contradict each other."""

from __future__ import annotations

from tests.support.badinput.case import Case
from tests.support.badinput.world import world

MINE = ("mine", "model", "-v", "vectors.txt", "-o", "out.jsonl")
TRAIN = ("train", "train.set", "-v", "vectors.txt", "-o", "out")
PAPER = (*TRAIN, "--preset", "paper")
LINK = ("link", "documents.parquet", "knowledge.arrow", "-o", "out.tsv", "--workers", "1")
TUNE = ("tune", "train.set", "-v", "vectors.txt", "-o", "out", "-g")
EXPORT = ("export", "new.jsonl", "-f", "solr", "-o", "out.txt")
VECTORS = ("vectors", "documents.parquet", "--terms", "a", "-o", "out.txt")

# An option, its value, the rest of a command that would do without; typer refuses it itself.
WRONG = (
    ("--input-format", "docx", ("group", "names.txt")),
    ("--threshold", "1.5", MINE),
    ("--threshold", "-0.1", MINE),
    ("--threshold", "nan", MINE),
    ("--threshold", "high", MINE),
    ("--max-sets", "0", MINE),
    ("--min-size", "0", MINE),
    ("--device", "tpu", MINE),
    ("--order", "backwards", MINE),
    ("--preset", "nosuch", TRAIN),
    ("--strategy", "nosuch", PAPER),
    ("--format", "docx", ("read", "corpus.jsonl", "-o", "out.parquet")),
    ("--format", "docx", ("knowledge", "kb.jsonl", "-o", "out.arrow")),
    ("--anchors", "-1", ("knowledge", "kb.jsonl", "-o", "out.arrow")),
    ("--linker", "nosuch", LINK),
    ("--engine", "nosuch", LINK),
    ("--confidence", "nan", LINK),
    ("--confidence", "7", LINK),
    ("--support", "-5", LINK),
    ("--per-second", "-1", LINK),
    ("--concurrency", "0", LINK),
    ("--held-out", "nan", ("supervise", "links.tsv", "knowledge.arrow", "-o", "out")),
    ("--min-count", "0", ("supervise", "links.tsv", "knowledge.arrow", "-o", "out")),
    ("--ambiguous", "nosuch", ("supervise", "links.tsv", "knowledge.arrow", "-o", "out")),
    ("--phrases", "-1", ("vocabulary", "documents.parquet", "-o", "out.tsv")),
    ("--method", "nosuch", VECTORS),
    ("--dimension", "-1", VECTORS),
    ("--dimension", "100000", VECTORS),
    ("--seed", "-1", VECTORS),
    ("--format", "nosuch", ("export", "new.jsonl", "-o", "out.txt")),
    ("--threshold", "nan", EXPORT),
    ("--limit", "-1", EXPORT),
    ("--limit", "-1", ("lint", "out.txt")),
    ("--format", "rdf", ("apply-names", "names.tsv", "kb.jsonl", "-o", "out.jsonl")),
    ("--port", "65536", ("serve", "model", "-v", "vectors.txt")),
    ("--port", "-1", ("review", "run")),
    ("--sentences", "-1", ("report", "run")),
    ("--top", "0", ("rank", "model", "-v", "vectors.txt", "--set", "a")),
    ("--folds", "1", (*TUNE, "dropout=0.3")),
    ("--seeds", "0", ("compare", "train.set", "-v", "vectors.txt")),
    ("--workers", "0", ("demo", "-o", "out")),
    ("--workers", "0", ("run",)),
)


def _wrong(option: str, value: str, rest: tuple[str, ...]) -> Case:
    says = f"Invalid value for '{option}'…: …"
    return Case(rest[0], f"{option} {value}", world, (*rest, option, value), 2, says)


def _refuse(part: str, input_: str, command: tuple[str, ...], says: str) -> Case:
    return Case(part, input_, world, command, 1, says)


OPTION_CASES: tuple[Case, ...] = (
    *(_wrong(*wrong) for wrong in WRONG),
    Case("synsetmine", "no such command", world, ("mien",), 2, "No such command 'mien'.…"),
    Case(
        "mine",
        "no such option",
        world,
        (*MINE, "--teta", "1"),
        2,
        "No such option: --teta…; see …",
    ),
    Case(
        "mine",
        "no output",
        world,
        MINE[:4],
        2,
        "Missing option '--out'…; see …",
    ),
    Case(
        "datasets",
        "no such data",
        world,
        ("datasets", "bbc"),
        2,
        "…no such value: 'bbc'; …",
    ),
    Case("compare", "no sets", world, ("compare",), 2, "Invalid value for SETS: …"),
    _refuse(
        "mine",
        "a missing device",
        (*MINE, "--device", "cuda"),
        "cannot use device 'cuda': there is no CUDA device",
    ),
    _refuse(
        "mine",
        "by frequency without counts",
        (*MINE, "--order", "frequent"),
        "order 'frequent' needs term counts",
    ),
    _refuse(
        "train",
        "--threshold nan",
        (*TRAIN, "--threshold", "nan"),
        "threshold must be between 0 and 1: nan",
    ),
    _refuse(
        "train", "--seed -1", (*TRAIN, "--seed", "-1"), "seed must be between 0 and 4294967295: -1"
    ),
    _refuse(
        "train",
        "a setting of another preset",
        (*TRAIN, "--epochs", "5"),
        "no such setting: 'epochs'; expected one of seed, threshold, ridges, folds, margin, "
        "vocabulary_names, names, easy_share, fewest_sets, weights",
    ),
    _refuse("train", "--epochs 0", (*PAPER, "--epochs", "0"), "epochs must be at least 1: 0"),
    _refuse("train", "--lr nan", (*PAPER, "--lr", "nan"), "learning_rate must be in (0, 1): nan"),
    _refuse(
        "train",
        "no such architecture",
        (*PAPER, "--architecture", "deep"),
        "expected both-X-Y (such as both-250-500), no-et or no-pt: 'deep'",
    ),
    _refuse(
        "train",
        "two tables for the paper's model",
        (*PAPER, "-v", "other.txt"),
        "the paper's model needs one --vectors table; got: 2",
    ),
    _refuse(
        "link",
        "a master for the local engine",
        (*LINK, "--master", "local[2]"),
        "a master needs the Spark engine: --engine spark --master URL",
    ),
    _refuse(
        "link",
        "workers for Spark",
        (*LINK, "--engine", "spark"),
        "workers apply to the local engine; with Spark the master sets them, as in local[4]",
    ),
    _refuse(
        "link",
        "a service without an address",
        (*LINK, "--linker", "spotlight", "--url", "somewhere"),
        "the url must be the http(s) address of a service, without ? and #: 'somewhere'",
    ),
    _refuse(
        "vectors",
        "pretrained vectors for another method",
        (
            *("vectors", "documents.parquet", "--terms", "new.jsonl", "-o", "out.txt"),
            *("--pretrained", "vectors.txt"),
        ),
        "only method \"file\" takes a vector file, and it needs one: 'vectors.txt'",
    ),
    _refuse("tune", "no grid", (*TUNE, "nonsense"), "expected --grid name=value,value: 'nonsense'"),
    _refuse(
        "tune", "no such setting", (*TUNE, "depth=1"), "no such setting: 'depth'; expected one of …"
    ),
    _refuse("tune", "a wrong value", (*TUNE, "dropout=2"), "dropout must be in [0, 1): 2.0"),
    _refuse(
        "tune",
        "more folds than sets",
        (*TUNE, "dropout=0.3", "--folds", "99"),
        "the number of folds must be between 2 and 14: 99",
    ),
    _refuse(
        "compare",
        "no such method",
        ("compare", "train.set", "-m", "magic"),
        "no such method…'magic'",
    ),
    Case(
        "compare",
        "--held-out 2",
        world,
        ("compare", "train.set", "--held-out", "2"),
        2,
        "Invalid value for '--held-out': held_out must be in (0, 1): 2.0…",
    ),
    _refuse(
        "finetune",
        "--epochs 0",
        ("finetune", "train.set", "-o", "out", "--epochs", "0"),
        "epochs must be at least 1: 0",
    ),
    _refuse(
        "finetune",
        "no such encoder",
        ("finetune", "train.set", "-o", "out", "--encoder", "./nosuch"),
        "nosuch: no such encoder folder",
    ),
    _refuse(
        "export",
        "an option of another format",
        (*EXPORT, "--language", "en"),
        "--language does not apply to solr, only to skos…",
    ),
    _refuse(
        "export", "accepted without reviews", (*EXPORT, "--accepted"), "--accepted needs reviews, …"
    ),
    _refuse(
        "run",
        "no such stage",
        ("run", "--until", "dinner"),
        "no such stage: 'dinner'; expected one of …",
    ),
    _refuse(
        "serve",
        "a short token",
        ("serve", "model", "-v", "vectors.txt", "--token", "secret"),
        "a token needs 16 characters or more",
    ),
    _refuse(
        "serve",
        "a token and none",
        ("serve", "model", "-v", "vectors.txt", "--no-token", "--token", "a-secret-of-mine"),
        "give either --no-token or a token (--token, SYNSETMINE_TOKEN)",
    ),
    _refuse(
        "review",
        "no token for other machines",
        ("review", "run", "--no-token", "--host", "0.0.0.0"),
        "--no-token is for 127.0.0.1 only, not for --host 0.0.0.0",
    ),
)
