"""Reading PubTator files: articles, and the mentions that are marked in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from synsetmine.corpus import (
    read_corpus,
)
from synsetmine.errors import ErrorCounts
from synsetmine.types import Document, Mention
from tests.support.corpusfiles import read_broken, store

NCBI = Path(__file__).parents[3] / "shared" / "data" / "ncbi-disease"


PUBTATOR = """\
1|t|Copper toxicosis | in dogs.
1|a|A disease of dogs.\tTab.
1\t0\t16\tCopper toxicosis\tDisease\tMESH:D001
1\t30\t37\tdisease\tDisease\tOMIM:12
1\t22\t26\tdogs\tSpecies\t9615\tmore
1\tCID\tD001\tD002
1\tAssociation\tD001\tD002\tNovel

2|t|Title only
2|a|
2\t0\t5\tTitle\tDisease\tD1
3|t|No blank line before
"""


def test_pubtator_articles_and_mentions(tmp_path: Path) -> None:
    expected = [
        Document(
            "1",
            "Copper toxicosis | in dogs.\nA disease of dogs.\tTab.",
            (Mention(0, 16, "MESH:D001"), Mention(30, 37, "OMIM:12"), Mention(22, 26, "9615")),
        ),
        Document("2", "Title only", (Mention(0, 5, "D1"),)),
        Document("3", "No blank line before"),
    ]
    assert list(read_corpus(store(tmp_path, PUBTATOR, "a.pubtator"))) == expected
    foreign = PUBTATOR.replace("\n", "\r\n")
    assert list(read_corpus(store(tmp_path, foreign, "b.PubTator"))) == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1\t1\t5\tword\tT\tD1", "the offsets do not match the surface: '1\\t1\\t5\\tword"),
        ("1\t-4\t-1\tord\tT\tD1", "the offsets do not match the surface"),
        ("1\t4\t4\t\tT\tD1", "the offsets do not match the surface"),
        ("1\t0\t999\tword text\tT\tD1", "the offsets do not match the surface"),
        ("2\t0\t4\tword\tT\tD1", "the mention belongs to another article: '2'"),
        ("1\t0\t4", "neither a mention nor a relation: '1\\t0\\t4'"),
        ("some words", "neither a mention nor a relation: 'some words'"),
    ],
)
def test_a_broken_mention_leaves_the_article(tmp_path: Path, line: str, problem: str) -> None:
    path = store(tmp_path, f"1|t|word\n1|a|text\n{line}\n1\t5\t9\ttext\tT\tD2\n", "x.pubtator")
    texts, errors = read_broken(path)
    assert texts == ["word\ntext"]
    assert len(errors) == 1
    assert errors[0].startswith(f":3: {problem}")
    (document,) = read_corpus(path, skipped=ErrorCounts())
    assert document.mentions == (Mention(5, 9, "D2"),)


@pytest.mark.parametrize("field", ["D1|D2", " D1 ", "c|SUB|C|435|G", "", "-1", None])
def test_id_fields_stay_as_they_are_written(tmp_path: Path, field: str | None) -> None:
    tail = "" if field is None else f"\t{field}"
    path = store(tmp_path, f"1|t|word\n1\t0\t4\tword\tT{tail}\n", "x.pubtator")
    assert list(read_corpus(path)) == [
        Document("1", "word", (Mention(0, 4, (field or "").strip()),))
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("1|a|no title\n", "1: expected a title: `id|t|text`: '1|a|no title'"),
        ("1\t0\t4\tword\tT\tD1\n", "1: expected a title: `id|t|text`: "),
        ("1|t|a\n2|a|b\n", "1: title and abstract have different ids: '2'"),
        ("\n1|t| \n1|a|\n", "2: the document is empty"),
    ],
)
def test_an_article_of_another_form_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = store(tmp_path, f"{content}\n9|t|good\n", "x.pubtator")
    texts, errors = read_broken(path)
    assert texts == ["good"]
    assert errors[0].startswith(f":{problem}")


def test_the_ncbi_disease_corpus() -> None:
    if not NCBI.is_dir():
        pytest.skip("the NCBI disease corpus is not at hand")
    skipped = ErrorCounts()
    documents = list(read_corpus(NCBI, skipped=skipped))
    mentions = [(d, m) for d in documents for m in d.mentions]
    assert (len(documents), len(mentions)) == (793, 6891)
    assert skipped.counts == {"the offsets do not match the surface": 1}
    lines = [line for path in NCBI.iterdir() for line in path.read_text().splitlines()]
    assert sum(line.count("\t") == 5 for line in lines) == len(mentions) + len(skipped)
