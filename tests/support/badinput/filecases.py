"""Bad files of a run."""

from __future__ import annotations

from pathlib import Path

from synsetmine.corpus import write_documents
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.types import Document
from tests.support.badinput.case import Case
from tests.support.badinput.inputs import DEEP, Make, bomb, files, nothing

SETS = "c1 {'a', 'b'}\n"
DECISION = '{"term": "a", "best_set": null, "probability": 0.5, "action": "opened"}\n'
LINKS = "surface\tentity\tcount\n"
MANIFEST = '{"format": "synsetmine-run 1", "stages": {"mine": 7}}'


def _beside(
    option: str, content: str | bytes | Make, part: str, what: str, code: int, says: str
) -> Case:
    """A file that `export` reads beside a file of sets."""
    make = files({"x.set": SETS, "beside": content}) if not callable(content) else content
    command = ("export", "x.set", "-f", "csv", "-o", "out.csv", option, "beside")
    return Case(part, what, make, command, code, says, ("out.csv",) if code == 0 else ())


def _links(
    content: str, what: str, says: str, leaves: tuple[str, ...] = (), *, code: int = 1
) -> Case:
    def make(folder: Path) -> None:
        (folder / "links.tsv").write_text(content)
        KnowledgeBase.of([Entity("D1", "good")]).save(folder / "k.arrow")

    command = ("supervise", "links.tsv", "k.arrow", "-o", "sets")
    return Case("links", what, make, command, code, says, leaves)


def _strangers(folder: Path) -> None:
    """Documents that name no entity."""
    write_documents(folder / "d.parquet", [Document("1", "A text.")])
    KnowledgeBase.of([Entity("D1", "good")]).save(folder / "k.arrow")
    (folder / "terms.txt").write_text("good\nbetter\n")


def _review(cells: str) -> str:
    header = "when id reviewer kind set_id terms other verdict scope undoes note members others"
    return "\t".join(header.split()) + "\n" + cells + "\n"


BESIDE_CASES = (
    _beside(
        "--trace",
        files({"x.set": SETS}),
        "trace",
        "a missing file",
        1,
        "beside: No such file or directory; …",
    ),
    _beside("--trace", "", "trace", "an empty file", 0, ""),
    _beside(
        "--trace",
        DECISION[:20],
        "trace",
        "a line that is cut",
        1,
        'beside:1: not JSON: \'{"term": "a", "best_\'',
    ),
    _beside(
        "--trace",
        "[1]\n",
        "trace",
        "a JSON list for an object",
        1,
        "beside:1: not a trace record: [1]",
    ),
    _beside(
        "--trace",
        DECISION.replace("0.5", "true"),
        "trace",
        "a boolean for a number",
        1,
        "beside:1: not a trace record: {'term': 'a', 'best_set': None, 'probabilit…",
    ),
    _beside(
        "--trace",
        DECISION.replace("opened", "lost"),
        "trace",
        "an unknown action",
        1,
        "beside:1: not a trace record: {'term': 'a', 'best_set': None, 'probabilit…",
    ),
    _beside("--counts", "", "vocabulary", "an empty file", 1, "beside: no terms in this file"),
    _beside(
        "--counts",
        "a\t-1\n",
        "vocabulary",
        "a negative count",
        1,
        "beside:1: expected a count after the tab: '-1'",
    ),
    _beside(
        "--counts",
        "a\t٣\n",
        "vocabulary",
        "a digit of another script",
        1,
        "beside:1: expected a count after the tab: '٣'",
    ),
    _beside(
        "--counts",
        "a\t1\na\t2\n",
        "vocabulary",
        "a duplicate term",
        1,
        "beside:2: this term is in the vocabulary twice: 'a'",
    ),
    _beside(
        "--counts",
        b"Z\xfcr\t1\n",
        "vocabulary",
        "Latin-1",
        1,
        "beside:1: not UTF-8: b'Z\\xfcr\\t1\\n'; save the file as UTF-8",
    ),
    _beside("--counts", "\ufeffa\t1\r\n", "vocabulary", "a byte order mark, and CRLF", 0, ""),
    _beside(
        "--kb",
        "",
        "saved knowledge base",
        "an empty file",
        1,
        "beside: not a knowledge base, or a damaged one",
    ),
    _beside(
        "--kb",
        b"ARROW1\0\0" + bytes(99),
        "saved knowledge base",
        "a damaged file",
        1,
        "beside: not a knowledge base, or a damaged one",
    ),
    _beside(
        "--reviews",
        "",
        "reviews",
        "an empty file",
        1,
        "beside: the file is empty; expected at least the header",
    ),
    _beside(
        "--reviews",
        "who\twhat\n",
        "reviews",
        "other columns",
        1,
        "beside:1: expected the columns when id reviewer kind set_id terms other verdict…",
    ),
    _beside(
        "--reviews",
        _review("2026-01-01"),
        "reviews",
        "a line that is cut",
        1,
        "beside:2: expected 13 columns; got: 1",
    ),
    _beside(
        "--reviews",
        _review("\\x" + "\t" * 12),
        "reviews",
        "a broken escape",
        1,
        "beside:2: unknown escape; write a backslash twice: '\\\\x'",
    ),
    _beside(
        "--reviews",
        _review("soon\t\tann\taccept\tc1" + "\t" * 6 + "\ta;b\t"),
        "reviews",
        "no valid time",
        1,
        "beside:2: expected a time such as 2026-03-01T09:30:00.125Z: 'soon'",
    ),
)
RUN_CASES = (
    Case(
        "run folder",
        "a missing folder",
        nothing,
        ("export-reviews", "run", "-o", "r.tsv"),
        1,
        "run: No such file or directory; …",
    ),
    Case(
        "run folder",
        "a store of reviews that is no database",
        files({"run/reviews.sqlite": "x" * 999}),
        ("export-reviews", "run", "-o", "r.tsv"),
        1,
        "run/reviews.sqlite: cannot use these reviews (file is not a database)",
    ),
    Case(
        "run folder",
        "a manifest that is not JSON",
        files({"run/manifest.json": "{"}),
        ("export", "run", "-f", "csv", "-o", "o.csv"),
        1,
        "run/manifest.json:1: not JSON (Expecting property name enclosed in double quotes…",
    ),
    Case(
        "run folder",
        "a manifest nested 100,000 deep",
        files({"run/manifest.json": "[" * DEEP}),
        ("export", "run", "-f", "csv", "-o", "o.csv"),
        1,
        "run/manifest.json: not JSON: '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…",
    ),
    Case(
        "run folder",
        "a manifest with numbers for stages",
        files({"run/manifest.json": MANIFEST}),
        ("export", "run", "-f", "csv", "-o", "o.csv"),
        1,
        "run/manifest.json: broken stages; delete the manifest to start over",
    ),
    _links("", "an empty file", "links.tsv:1: expected the header 'surface\\tentity\\tcount': ''"),
    _links(
        LINKS + "good\tD1\n",
        "a line that is cut",
        "links.tsv:2: expected surface, entity and count: 'good\\tD1'",
    ),
    _links(
        LINKS + "good\tD1\tmany\n",
        "a word for a count",
        "links.tsv:2: expected a count after the tab: 'many'",
    ),
    _links(
        LINKS + f"good\tD1\t{'9' * 5000}\n",
        "a count of 5,000 digits",
        "links.tsv:2: expected a count after the tab: '9999999999999999999999999999999999…",
    ),
    _links(
        LINKS + "good\tD1\t²\n",
        "a superscript for a count",
        "links.tsv:2: expected a count after the tab: '²'",
    ),
    _links(
        LINKS,
        "no links",
        "only 0 entities have 2 or more known names in the corpus, which is little training data",
        (
            "sets",
            *(f"sets/{name}.jsonl" for name in ("training", "test", "alone")),
            *("sets/names.tsv", "sets/rejected.tsv", "sets/supervision.json"),
        ),
        code=0,
    ),
    Case(
        "documents",
        "a file that is not Parquet",
        files({"d.parquet": "x"}),
        ("vocabulary", "d.parquet", "-o", "v.tsv"),
        1,
        "d.parquet: damaged Parquet file: 'Parquet file size is 1 bytes, smaller than the…",
    ),
    Case(
        "documents",
        "no mention of any entity",
        _strangers,
        ("link", "d.parquet", "k.arrow", "-o", "links.tsv", "--workers", "1"),
        0,
        "the dictionary linker found no mention of an entity; check that …",
        ("k.matcher", "links.tsv", "mentions.parquet"),
    ),
    Case(
        "documents",
        "terms that are all unknown",
        _strangers,
        ("vectors", "d.parquet", "--terms", "terms.txt", "-o", "v.bin", "--workers", "1"),
        1,
        "no term has a vector",
    ),
    Case(
        "synonyms.txt",
        "Latin-1",
        files({"s.txt": b"Z\xfcr, b\n"}),
        ("lint", "s.txt"),
        1,
        "s.txt:1: not UTF-8: b'\\xfcr, b\\n'",
    ),
    Case(
        "synonyms.txt",
        "a gzip bomb",
        files({"s.txt.gz": bomb}),
        ("lint", "s.txt.gz"),
        1,
        "s.txt.gz: the file is longer than 64 MiB: b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…",
    ),
    Case(
        "patch",
        "other columns",
        files({"p.tsv": "a\tb\n", "k.jsonl": "{}\n"}),
        ("apply-names", "p.tsv", "k.jsonl", "-o", "out.jsonl"),
        1,
        "p.tsv:1: expected a header with the columns entity and new_name; found: 'a, b'",
    ),
    Case(
        "patch",
        "a row without a name",
        files({"p.tsv": "entity\tnew_name\nD1\t\n", "k.jsonl": "{}\n"}),
        ("apply-names", "p.tsv", "k.jsonl", "-o", "out.jsonl"),
        1,
        "p.tsv:2: a row needs an entity and a new name: 'D1\\t'",
    ),
)
