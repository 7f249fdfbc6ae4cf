"""The stored corpus: what is written is read back, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.corpus import (
    batch_of,
    documents_of,
    read_batches,
    write_documents,
)
from synsetmine.errors import DataError
from synsetmine.types import Document, Mention

quick = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpus")


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(st.text(st.characters(codec="utf-8"), max_size=30))
    spans = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)), st.text("aé😀"))
    return Document(
        draw(st.text("ab\n\0é", max_size=5)),
        text,
        tuple(Mention(*m) for m in draw(st.lists(spans))),
    )


@given(st.lists(documents(), max_size=8), st.data())
@quick
def test_what_is_stored_is_read_back(
    folder: Path, corpus: list[Document], data: st.DataObject
) -> None:
    path = folder / "corpus.parquet"
    assert write_documents(path, iter(corpus)) == len(corpus)
    assert [d for batch in read_batches(path) for d in documents_of(batch)] == corpus
    batch = batch_of(corpus)
    assert documents_of(batch) == corpus
    start = data.draw(st.integers(0, len(corpus)))
    stop = data.draw(st.integers(start, len(corpus)))
    assert documents_of(batch.slice(start, stop - start)) == corpus[start:stop]


def test_batches_are_bounded_in_documents_and_size(tmp_path: Path) -> None:
    short = [Document(str(i), "x", (Mention(0, 1, "e"),)) for i in range(2500)]
    long = [Document(str(i), "x" * 1_500_000) for i in range(7)]
    write_documents(tmp_path / "c.parquet", (d for d in [*short, *long]))
    sizes = [len(batch) for batch in read_batches(tmp_path / "c.parquet")]
    assert sizes == [1000, 1000, 503, 3, 1]
    file = pq.ParquetFile(tmp_path / "c.parquet")
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    # Any other reader sees plain columns.
    rows = pq.read_table(tmp_path / "c.parquet").slice(0, 1).to_pylist()
    mentions = [{"start": 0, "end": 1, "entity": "e"}]
    assert rows == [{"id": "0", "text": "x", "mentions": mentions}]


def test_a_broken_stream_leaves_no_half_of_a_corpus(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        yield Document("1", "text")
        raise DataError("bad")

    with pytest.raises(DataError, match="bad"):
        write_documents(tmp_path / "c.parquet", broken())
    assert list(tmp_path.iterdir()) == []


def test_another_parquet_file_is_no_stored_corpus(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["1"], "text": ["x"]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet: not a file of documents; .*: 'id, text'"):
        list(read_batches(tmp_path / "x.parquet"))
    with pytest.raises(DataError, match=r"gone\.parquet: No such file"):
        list(read_batches(tmp_path / "gone.parquet"))
