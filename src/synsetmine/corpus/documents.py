"""Documents: checks of their texts, and the Parquet file that a run keeps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synsetmine.errors import DataError
from synsetmine.io.files import atomic_write, parquet_error
from synsetmine.normalization import nfc
from synsetmine.types import Document, Mention

if TYPE_CHECKING:
    import pyarrow as pa


def sound_text(text: str) -> str:
    """The text after a check, in Unicode NFC."""
    check_text(text)
    return nfc(text)


def check_text(text: str) -> None:
    """Raise a DataError for an empty text, or one that cannot be stored."""
    if not text or text.isspace():
        raise DataError("the document is empty")
    if "\0" in text:
        raise DataError("the text contains a NUL character", value=_around(text, text.index("\0")))
    check_unicode(text)


def check_unicode(text: str) -> None:
    """Refuse halves of characters, which JSON can write (`\\ud800`) but no file can hold."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError("not valid Unicode", value=_around(text, error.start)) from None


def _around(text: str, offset: int) -> str:
    return text[max(offset - 40, 0) : offset + 40]


BATCH_DOCUMENTS = 1000
BATCH_CHARACTERS = 4 * 2**20


def write_documents(path: Path, documents: Iterable[Document]) -> int:
    """Write a corpus completely or not at all; returns the number of documents."""
    import pyarrow.parquet as pq

    count = 0
    with (
        atomic_write(path) as temporary,
        pq.ParquetWriter(temporary, document_schema(), compression="zstd") as writer,
    ):
        for batch in in_batches(documents):
            writer.write_batch(batch_of(batch), row_group_size=len(batch))
            count += len(batch)
    return count


def read_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a stored corpus, one at a time: up to 1,000 documents, or about 4 MB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            _check(file.schema_arrow, path)
            for group in range(file.num_row_groups):
                table = file.read_row_group(group).combine_chunks()
                table.validate(full=True)  # a damaged text would be reported only when it is used
                yield from table.to_batches()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise parquet_error(error, path) from error


def documents_at(path: Path, numbers: Iterable[int]) -> Iterator[tuple[int, str, str]]:
    """Number, id and text of some documents, given by distinct numbers from 0 in their order.

    Only the parts of the file that hold them are read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    ends = list(accumulate(batch_sizes(path)))
    try:
        with pq.ParquetFile(path) as file:
            for group, chosen in groupby(numbers, lambda number: bisect_right(ends, number)):
                table = file.read_row_group(group, columns=["id", "text"])
                first = ends[group] - table.num_rows
                for number in chosen:
                    row = number - first
                    yield number, table["id"][row].as_py(), table["text"][row].as_py()
    except (pa.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:
        raise parquet_error(error, path) from error


def batch_sizes(path: Path) -> list[int]:
    """How many documents each batch of a stored corpus holds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        stored = pq.read_metadata(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise parquet_error(error, path) from error
    _check(stored.schema.to_arrow_schema(), path)
    return [stored.row_group(group).num_rows for group in range(stored.num_row_groups)]


def batch_of(documents: Sequence[Document]) -> pa.RecordBatch:
    """Documents as an Arrow batch; the inverse of `documents_of`."""
    import pyarrow as pa

    mentions = [mention for document in documents for mention in document.mentions]
    ends = [0]
    for document in documents:
        ends.append(ends[-1] + len(document.mentions))
    schema = document_schema()
    columns = [
        pa.array([document.id for document in documents], pa.string()),
        pa.array([document.text for document in documents], pa.string()),
        pa.ListArray.from_arrays(
            pa.array(ends, pa.int32()),
            pa.StructArray.from_arrays(
                [
                    pa.array([mention.start for mention in mentions], pa.int32()),
                    pa.array([mention.end for mention in mentions], pa.int32()),
                    pa.array([mention.entity for mention in mentions], pa.string()),
                ],
                fields=list(_mention_type()),
            ),
            type=schema.field("mentions").type,
        ),
    ]
    return pa.record_batch(columns, schema=schema)


def documents_of(batch: pa.RecordBatch) -> list[Document]:
    """The documents of a batch, also of a slice of one."""
    column = batch.column("mentions")
    starts, ends, entities = (column.values.field(i).to_pylist() for i in range(3))
    mentions = list(map(Mention, starts, ends, entities))
    bounds = column.offsets.to_pylist()
    return [
        Document(name, text, tuple(mentions[first:last]))
        for name, text, first, last in zip(
            batch.column("id").to_pylist(),
            batch.column("text").to_pylist(),
            bounds[:-1],
            bounds[1:],
            strict=True,
        )
    ]


def texts_of(batch: pa.RecordBatch) -> list[str]:
    """The texts of a batch."""
    texts: list[str] = batch.column("text").to_pylist()
    return texts


def document_schema() -> pa.Schema:
    """The columns of a batch: id, text, and the mentions as a list of (start, end, entity)."""
    import pyarrow as pa

    return pa.schema(
        [("id", pa.string()), ("text", pa.string()), ("mentions", pa.list_(_mention_type()))]
    )


def _check(schema: pa.Schema, path: Path) -> None:
    if not schema.equals(document_schema()):
        names = ", ".join(schema.names)
        raise DataError("not a file of documents; its columns", path=path, value=names)


def _mention_type() -> Any:
    import pyarrow as pa

    return pa.struct([("start", pa.int32()), ("end", pa.int32()), ("entity", pa.string())])


def in_batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in lists of up to 1,000, or about 4 MB."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if len(batch) >= BATCH_DOCUMENTS or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
