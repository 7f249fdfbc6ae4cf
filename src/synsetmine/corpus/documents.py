"""Documents: checks of their texts, the Parquet file that a run keeps, and readers of text, JSON
lines, tables and Parquet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from synsetmine.errors import DataError
from synsetmine.io.files import Source, atomic_write, parse_json
from synsetmine.io.parquet import ParquetReader, parquet_errors
from synsetmine.io.tables import Row, rows_in, sheet_rows
from synsetmine.normalization import nfc
from synsetmine.types import Document, Mention

if TYPE_CHECKING:
    import pyarrow as pa

TableFormat = Literal["csv", "tsv", "xlsx"]


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
    with parquet_errors(path), ParquetReader(path) as file:
        _check(file.schema, path)
        for group in range(file.metadata.num_row_groups):
            yield from file.row_group(group).combine_chunks().to_batches()


def documents_at(path: Path, numbers: Iterable[int]) -> Iterator[tuple[int, str, str]]:
    """Number, id and text of some documents, given by distinct numbers from 0 in their order.

    Only the parts of the file that hold them are read.
    """
    ends = list(accumulate(batch_sizes(path)))
    with parquet_errors(path), ParquetReader(path) as file:
        for group, chosen in groupby(numbers, lambda number: bisect_right(ends, number)):
            table = file.row_group(group, ["id", "text"])
            first = ends[group] - table.num_rows
            for number in chosen:
                row = number - first
                yield number, table["id"][row].as_py(), table["text"][row].as_py()


def batch_sizes(path: Path) -> list[int]:
    """How many documents each batch of a stored corpus holds."""
    import pyarrow.parquet as pq

    with parquet_errors(path):
        stored = pq.read_metadata(path)
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


LONGEST_BLOCK = 2**20  # characters: a file without blank lines must not become one document


def read_paragraphs(source: Source) -> Iterator[Document]:
    """Blocks of lines between blank lines, with the ids `name#1`, `name#2`, …

    A large file as one document would not fit into memory, and co-occurrence is counted within
    paragraphs anyway.
    """
    name = source.name
    blocks = _blocks(source.lines())
    for count, (line, block) in enumerate(blocks, start=1):
        with source.skip_broken(line):
            yield Document(f"{name}#{count}", sound_text(block))


def read_lines(source: Source) -> Iterator[Document]:
    """One document per line, with the ids `name:1`, `name:2`, …"""
    name = source.name
    for number, line in source.lines():
        with source.skip_broken(number):
            yield Document(f"{name}:{number}", sound_text(line))


def _blocks(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """(Number of the first line, block) of each block."""
    block: list[str] = []
    first = size = 0
    for number, line in lines:
        blank = not line or line.isspace()
        if block and (blank or size + len(line) > LONGEST_BLOCK):
            yield first, "\n".join(block)
            block = []
        if blank:
            continue
        if not block:
            first, size = number, 0
        block.append(line)
        size += len(line) + 1
    if block:
        yield first, "\n".join(block)


BATCH = 4 * 2**20  # bytes of text that are read from a Parquet file at a time


@dataclass(frozen=True)
class Fields:
    """Where records keep the parts of their text and their id."""

    texts: tuple[str, ...]
    id: str

    @classmethod
    def of(cls, text_field: str, id_field: str) -> Fields:
        texts = tuple(name.strip() for name in text_field.split(","))
        if not all(texts):
            raise DataError("expected names of text fields, as in 'title,text'", value=text_field)
        return cls(texts, id_field)


def read_jsonl(source: Source, fields: Fields) -> Iterator[Document]:
    """One JSON object per line; empty lines are ignored."""
    name = source.name
    for number, line in source.lines():
        if not line or line.isspace():
            continue
        with source.skip_broken(number):
            yield _document(_json_object(line), fields, f"{name}:{number}")


def read_table(source: Source, fields: Fields, format: TableFormat) -> Iterator[Document]:
    """A table with a header.

    In CSV, a field in quotes may hold commas, line ends and doubled quotes. In TSV, a quote is a
    character like any other, as its standard says.
    """
    name = source.name
    header: list[str] | None = None
    for number, row in table_rows(source, format):
        if header is None:
            header = row
            _check_columns(header, fields, source.path)
            continue
        record = dict(zip(header, row, strict=True))
        with source.skip_broken(number):
            yield _document(record, fields, f"{name}:{number}")


def table_rows(source: Source, format: TableFormat) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table with their first lines; each is as long as the first.

    A CSV file whose first line has semicolons and no comma is separated by semicolons.
    """
    header: list[str] | None = None
    rows: Iterable[tuple[int, Row]]
    if format == "xlsx":
        rows = sheet_rows(source)
    else:
        rows = rows_in(source.byte_lines(), quotes=format == "csv")
    for number, row in rows:
        try:
            if isinstance(row, DataError):
                raise row
            if header is not None and len(row) != len(header):
                problem = "number of columns differs from the header"
                raise DataError(problem, value=len(row))
        except DataError as error:
            if header is None:
                raise error.at(source.path, number) from None  # nothing below it can be read
            source.reject(error, number)
            continue
        header = header or row
        yield number, row


def read_parquet(source: Source, fields: Fields) -> Iterator[Document]:
    """The rows of a Parquet file; only the needed columns are read."""
    name = source.name
    number = 0
    batches = parquet_columns(source, lambda names: _check_columns(names, fields, source.path))
    for columns in batches:
        for values in zip(*columns.values(), strict=True):
            number += 1
            with source.skip_broken(number):
                record = dict(zip(columns, values, strict=True))
                yield _document(record, fields, f"{name}:{number}")


def parquet_columns(
    source: Source, choose: Callable[[list[str]], list[str]]
) -> Iterator[dict[str, list[object]]]:
    """The values of the columns that are chosen by their names, a batch of rows at a time."""
    number = 0
    path = source.path
    with parquet_errors(path), ParquetReader(path) as file:
        columns = choose(file.schema.names)
        total = file.metadata.num_rows
        share = path.stat().st_size / max(total, 1)
        rows = max(1, min(1000, BATCH * total // max(file.size, 1)))  # a few megabytes
        for batch in file.batches(rows, columns):
            yield batch
            before, number = number, number + len(next(iter(batch.values()), []))
            if source.on_read is not None:
                source.on_read(int(number * share) - int(before * share))


def _document(record: Mapping[str, object], fields: Fields, place: str) -> Document:
    parts: list[str] = []
    for name in fields.texts:
        value = record.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise DataError("the text is not a string", value=_start(value))
        parts.append(value)
    if not parts:
        raise DataError("the record has no text field", value=", ".join(fields.texts))
    text = "\n".join(part for part in parts if part and not part.isspace())
    return Document(_id(record.get(fields.id), place), sound_text(text))


def _id(value: object, place: str) -> str:
    """The id of a record as a string; its place in the file where it has none."""
    if value is None or value == "":
        return place
    if isinstance(value, str):
        check_unicode(value)
        return value
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"  # tools that know no missing whole numbers write 12 as 12.0
    if isinstance(value, bool | float) or not isinstance(value, int):
        raise DataError("the id is neither a string nor a whole number", value=_start(value))
    return str(value)


def _json_object(line: str) -> Mapping[str, object]:
    record = parse_json(line)
    if not isinstance(record, dict):
        raise DataError("expected a JSON object", value=line)
    return record


def _check_columns(header: list[str], fields: Fields, path: Path) -> list[str]:
    """The columns to read; all text columns must be there."""
    for name in fields.texts:
        if name not in header:
            listed = f"{name} is not among {', '.join(header)}"
            hint = "name it with --text-field, in a project as text_field of [corpus]"
            problem = "a text column is missing"
            raise DataError(problem, path=path, value=listed[:1000], hint=hint)
    return [name for name in dict.fromkeys((*fields.texts, fields.id)) if name in header]


def _start(value: object) -> object:
    """Enough of a value to know it by; an error must not hold on to megabytes."""
    return value if isinstance(value, bool | int | float) else str(value)[:80]
