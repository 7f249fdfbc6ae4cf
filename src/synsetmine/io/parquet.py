"""Parquet files, with bounds on the memory that a small one may ask for."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synsetmine.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# A dictionary stores a text once for a million rows, and compression shrinks it in addition. What
# a file grows to is an error above both of these.
LARGEST = 2**30  # bytes
LARGEST_RATIO = 100  # times the size of the file
ROW = 100  # bytes that a row takes at least where it becomes a record of Python


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn what the system or the Parquet library says about a file into an error of one line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:
        number = getattr(error, "errno", None)
        if isinstance(error, FileNotFoundError):
            number = errno.ENOENT  # pyarrow leaves it out
        if number is not None:
            raise DataError(os.strerror(number), path=path) from error
        raise DataError("damaged Parquet file", path=path, value=str(error)) from error


class ParquetReader:
    """A Parquet file that is open; its strings are held as dictionaries until their size is known.

    Use it inside `parquet_errors`.
    """

    def __init__(self, path: Path, metadata: pq.FileMetaData | None = None) -> None:
        import pyarrow.parquet as pq

        if path.exists() and not path.is_file():
            raise DataError("not a regular file", path=path)
        metadata = metadata or pq.read_metadata(path)
        self._path = path
        self._limit = max(LARGEST, LARGEST_RATIO * path.stat().st_size)
        self._grown = 0
        self.metadata = metadata
        groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
        self.size: int = sum(group.total_byte_size for group in groups)  # not compressed
        self._grow(self.size)
        self._grow(ROW * metadata.num_rows)
        self._grown = 0
        leaves = map(metadata.schema.column, range(len(metadata.schema)))
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        options = {"metadata": metadata, "buffer_size": 2**16, "pre_buffer": False}
        with pq.ParquetFile(path, **options) as file:
            self.schema = _without_views(file.schema_arrow)
        self._file: Any = pq.ParquetFile(path, read_dictionary=texts, **options)

    def __enter__(self) -> ParquetReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def table(self) -> pa.Table:
        """All rows and columns."""
        return self._decode(self._file.read(use_threads=False))

    def row_group(self, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a group."""
        self._grown = 0
        return self._decode(self._file.read_row_group(number, columns=columns, use_threads=False))

    def batches(self, rows: int, columns: Sequence[str]) -> Iterator[dict[str, list[object]]]:
        """The values of some columns by their names, some rows at a time.

        Equal texts of a batch are one object.
        """
        for batch in self._file.iter_batches(rows, columns=columns, use_threads=False):
            self._grow(sum(map(_decoded_size, batch.columns)))
            yield dict(zip(batch.schema.names, map(_values, batch.columns), strict=True))

    def _decode(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        self._grow(sum(_decoded_size(part) for column in table.columns for part in column.chunks))
        fields = [self.schema.field(name) for name in table.schema.names]
        decoded = table.cast(pa.schema(fields, self.schema.metadata))
        decoded.validate(full=True)  # a damaged text would be reported only when it is used
        return decoded

    def _grow(self, size: int) -> None:
        self._grown += size
        if self._grown > self._limit:
            problem = "this Parquet file grows to more than 1 GiB and 100 times its size"
            hint = "write its rows as CSV or JSON lines if they are really so many or so long"
            raise DataError(problem, path=self._path, hint=hint)


def _without_views(schema: pa.Schema) -> pa.Schema:
    """The schema with plain strings for views of strings, to which Arrow decodes no dictionary."""
    import pyarrow as pa

    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    fields = [field.with_type(plain.get(field.type, field.type)) for field in schema]
    return pa.schema(fields, schema.metadata)


def _decoded_size(array: Any) -> int:
    """The bytes of an array once its dictionaries are decoded."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary).fill_null(0).to_numpy(zero_copy_only=False)
        counts = np.bincount(_indices(array), minlength=len(lengths))
        return int(lengths.astype(np.int64) @ counts) + 4 * len(array)
    if pa.types.is_struct(array.type):
        return sum(map(_decoded_size, array.flatten()))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return 4 * len(array) + _decoded_size(array.flatten())
    return int(array.nbytes)


def _indices(array: Any) -> Any:
    return array.indices.drop_null().to_numpy()


def _values(array: Any) -> list[object]:
    """The values of a column; a string that is not UTF-8 has halves of characters."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        used, places = np.unique(_indices(array), return_inverse=True)
        values = iter(map(_texts(array.dictionary.take(pa.array(used))).__getitem__, places))
        return [next(values) if valid else None for valid in array.is_valid().to_pylist()]
    return _texts(array)


def _texts(array: Any) -> list[object]:
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in array]


def _value(scalar: Any) -> object:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return bytes(scalar.as_buffer()).decode("utf-8", "surrogateescape")
