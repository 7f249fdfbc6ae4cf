"""DataFrames of pandas and polars, which are optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal, TypeAlias

from synsetmine.errors import DataError, SynsetmineError, shorten

ROWS = 20  # of a table in a notebook
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


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first rows as a table of HTML; all text is escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(shorten(cell))}</td>' for cell in row)}</tr>"
        for row in rows[:ROWS]
    )
    more = f"<p>… and {len(rows) - ROWS:,} more</p>" if len(rows) > ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
