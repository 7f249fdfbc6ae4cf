"""What every engine does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import pyarrow as pa

# Pure and picklable. It travels once to each worker process, so it may carry a large table.
BatchFunction: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]


class Engine(Protocol):
    """Where the work on a corpus is done; the results are the same on every engine."""

    def map_batches(
        self, function: BatchFunction, source: Path, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """What the function makes of each row group of a Parquet file, in the order of the file.

        It sees these columns, or all. Only a few batches and results are held at a time. An
        error of the function that is not one for people names the document it stumbled over.
        """
        ...

    def sql(self, query: str, **tables: Path) -> pa.Table:
        """The answer to a query over Parquet files, each under a name.

        The query must be SQL for DuckDB and Spark alike, and must order its rows in full.
        """
        ...
