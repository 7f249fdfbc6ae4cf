"""DataFrames of pandas and polars, which are optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from synsetmine.errors import DataError, SynsetmineError

Library: TypeAlias = Literal["pandas", "polars"]


def frame_of(columns: Mapping[str, Sequence[object]] | Any, library: Library = "pandas") -> Any:
    """A DataFrame of columns, or of a table of Arrow."""
    import pyarrow as pa

    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    try:
        if library == "pandas":
            return table.to_pandas()
        if library == "polars":
            import polars

            return polars.from_arrow(table)
    except ImportError as error:
        raise SynsetmineError(f"to_frame needs {library}: pip install {library}") from error
    raise DataError("expected 'pandas' or 'polars'", value=library)
