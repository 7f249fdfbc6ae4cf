"""Lists of names and pairs of names, from files of several formats and from Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from synsetmine.corpus.documents import check_unicode
from synsetmine.corpus.records import parquet_columns, table_rows
from synsetmine.errors import DataError, Skipped, shorten
from synsetmine.io.files import STDIN, parse_json, plain_name
from synsetmine.io.source import Source
from synsetmine.io.tables import unescape_formula
from synsetmine.normalization import name_key
from synsetmine.types import SynonymSets

ListFormat: TypeAlias = Literal["text", "csv", "tsv", "jsonl", "parquet"]
LIST_FORMATS: tuple[ListFormat, ...] = get_args(ListFormat)
COLUMNS = ("name", "term", "label", "surface", "title")  # taken where nobody names a column
PAIR_HEADER = ("name", "other")
GROUP_HEADER = ("set_id", "canonical", "name")  # of our own CSV files, whose cells are guarded
NO_LISTS = (".json", ".set", ".tab", ".xls", ".xlsx", ".ods", ".xml", ".html", ".pdf")

_Choice: TypeAlias = Callable[[Sequence[str], int | None], int]  # of a column of a header


def read_names(
    path: str | Path,
    *,
    column: str | None = None,
    format: ListFormat | None = None,
    skipped: list[DataError] | Skipped | None = None,
    on_column: Callable[[str], None] | None = None,
) -> list[str]:
    """The names in a file, in its order; a missing one is an empty string.

    The file extension determines the format: CSV, TSV, JSON lines or Parquet; anything else is
    text with one name per line. `-` is standard input. A table needs a `column`, unless it has
    only one column or one called `name`, `term`, `label`, `surface` or `title`; `on_column` is
    called with the column used. With `skipped`, broken lines are skipped and their errors go there.
    """
    path = STDIN if str(path) == "-" else Path(path)
    if format is None and (ending := Path(plain_name(path)).suffix.lower()) in NO_LISTS:
        problem = f"{ending} is not a format of name lists; convert the file, or name its format"
        raise DataError(f"{problem}: {', '.join(LIST_FORMATS)}", path=path)
    format = format or format_of(path)
    if format not in LIST_FORMATS:
        raise DataError(f"no such format; expected one of {', '.join(LIST_FORMATS)}", value=format)
    if format == "text" and column is not None:
        problem = "plain text has no columns; if this is a table, name its format"
        raise DataError(problem, path=path, value=column)
    if format == "parquet" and path == STDIN:
        raise DataError("Parquet cannot be read from standard input; name a file")

    def choose(headers: Sequence[str], line: int | None = None) -> int:
        try:
            chosen = choose_column(headers, column)
        except DataError as error:
            raise error.at(path, line) from None
        if on_column is not None:
            on_column(headers[chosen])
        return chosen

    source = Source(path, skipped)
    match format:
        case "text":
            return [line for _, line in source.lines()]
        case "csv" | "tsv":
            cells = _table_cells(source, choose, quotes=format == "csv")
        case "jsonl":
            cells = _json_cells(source, choose)
        case "parquet":
            cells = _parquet_cells(source, choose)
    return list(_checked(cells, source))


def format_of(path: Path) -> ListFormat:
    """The format of a file, from its extension."""
    ending = Path(plain_name(path)).suffix.lower().removeprefix(".")
    return next((kind for kind in LIST_FORMATS if kind == ending), "text")


def read_pairs(
    path: str | Path,
    *,
    known: SynonymSets | None = None,
    skipped: list[DataError] | None = None,
) -> list[tuple[str, str]]:
    """Cannot-link pairs: JSON lists in .jsonl, the first two columns in .csv, else between tabs.

    A first row with the cells `name` and `other` is a header. A pair that one of the `known` sets
    has is an error, and so is one of two spellings of one name.
    """
    sets_of: dict[str, set[int]] = {}
    for number, terms in enumerate(known or ()):
        for term in terms:
            sets_of.setdefault(name_key(term.surface), set()).add(number)
    source = Source(Path(path), skipped)
    format = format_of(source.path)
    if format == "parquet":
        problem = "expected pairs of names in .csv, .tsv, .txt or .jsonl"
        raise DataError(problem, path=source.path)
    is_csv = format == "csv"
    rows = _json_rows(source) if format == "jsonl" else table_rows(source, quotes=is_csv)
    pairs: list[tuple[str, str]] = []
    ours = False  # whether it has our header, and so cells that are guarded
    for position, (number, cells) in enumerate(rows):
        if not position and tuple(cell.strip().casefold() for cell in cells[:2]) == PAIR_HEADER:
            ours = is_csv
            continue
        with source.skipping(number):
            pairs.append(_pair([*map(unescape_formula, cells)] if ours else cells, sets_of))
    return pairs


def names_in(names: Any, column: str | None = None) -> Iterator[str]:
    """The names in a Python object; a missing one is an empty string.

    Any iterable of strings: a list, an array, a Series of pandas or polars, a column of Arrow; or a
    table of these with a `column`, which is chosen as in a file. None and NaN are missing.
    """
    if isinstance(names, str | bytes | PathLike):
        problem = "expected several names, not one string; `read_names` reads a file"
        raise DataError(problem, value=names if isinstance(names, str | bytes) else str(names))
    if isinstance(names, Mapping):
        raise DataError("expected a list of names, not a mapping; pass its .values()")
    if hasattr(names, "collect"):
        raise DataError("a LazyFrame has no names yet; pass its .collect()")
    headers = getattr(names, "column_names", getattr(names, "columns", None))
    if headers is not None:
        chosen = choose_column([str(header) for header in headers], column)
        names = names[headers[chosen]]
    elif column is not None:
        raise DataError("only a table has columns", value=column)
    for position, value in enumerate(_values(names)):
        try:
            yield _name(value)
        except DataError as error:
            raise DataError(f"{error.problem} (item {position})", value=error.value) from None


class Row(NamedTuple):
    """A row of a list: a name, with what the list says about it."""

    name: str  # empty if it is missing
    contexts: tuple[str, ...] = ()  # sentences or descriptions
    type: str = ""
    sense: int = 0  # of the names that are equal, which one it is


def rows_in(
    names: Any, column: str | None = None, *, contexts: Any = None, types: Any = None
) -> list[Row]:
    """The names in a Python object, with a context and a type for each.

    `contexts` and `types` are as long as the names, or columns of the table that has the names. A
    context is a string, several strings, or missing.
    """
    listed = list(names_in(names, column))
    headers = getattr(names, "column_names", getattr(names, "columns", None))
    columns: list[list[object]] = []
    for what, values in (("contexts", contexts), ("types", types)):
        if isinstance(values, str):
            if headers is None:
                problem = f"expected {what} as a list, since the names are not a table"
                raise DataError(problem, value=values)
            choose_column([str(header) for header in headers], values)
            values = names[values]
        items: list[object] = [None] * len(listed) if values is None else [*_values(values)]
        if len(items) != len(listed):
            raise DataError(f"{len(items):,} {what} for {len(listed):,} names")
        columns.append(items)
    rows = []
    for position, (name, context, type_) in enumerate(zip(listed, *columns, strict=True)):
        try:
            rows.append(Row(name, contexts_in(context), " ".join(_name(type_).split())))
        except DataError as error:
            raise DataError(f"{error.problem} (item {position})", value=error.value) from None
    return rows


def contexts_in(value: object) -> tuple[str, ...]:
    """The contexts of a name: a string, several, or none."""
    if isinstance(value, str):
        values: Iterable[object] = (value,)
    elif _is_missing(value):
        values = ()
    else:
        values = _values(value)
    texts = []
    for text in values:
        if not isinstance(text, str):
            raise DataError("a context must be a string or a list of strings", value=text)
        check_unicode(text)
        if text.strip():
            texts.append(text)
    return tuple(texts)


def choose_column(headers: Sequence[str], column: str | None = None) -> int:
    """The position of the column with the names."""
    listed = shorten(", ".join(headers), 1000)
    if column is not None:
        column = str(column)  # the names of columns may be numbers
        if (count := list(headers).count(column)) != 1:
            problem = "no column has" if not count else f"{count} columns have"
            raise DataError(f"{problem} this name; the columns are {listed}", value=column)
        return list(headers).index(column)
    if len(headers) == 1:
        return 0
    plain = [header.strip().casefold() for header in headers]
    for usual in COLUMNS:
        if plain.count(usual) == 1:
            return plain.index(usual)
    raise DataError(f"cannot tell which column has the names; name one of {listed}")


def _table_cells(source: Source, choose: _Choice, *, quotes: bool) -> Iterator[tuple[int, object]]:
    chosen: int | None = None
    is_guarded = False
    for number, row in table_rows(source, quotes=quotes):
        if chosen is None:
            chosen = choose(row, number)
            is_guarded = tuple(row[: len(GROUP_HEADER)]) == GROUP_HEADER
        else:
            yield number, unescape_formula(row[chosen]) if is_guarded else row[chosen]


def _json_cells(source: Source, choose: _Choice) -> Iterator[tuple[int, object]]:
    """A string a line, or an object with a field for the name; the first object says which."""
    column: str | None = None
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except DataError as error:
            source.reject(error, number)
            continue
        if isinstance(value, dict):
            if column is None:
                headers = list(value)
                column = headers[choose(headers, number)]
            value = value.get(column)
        yield number, value


def _parquet_cells(source: Source, choose: _Choice) -> Iterator[tuple[int, object]]:
    batches = parquet_columns(source, lambda headers: [headers[choose(headers, None)]])
    return enumerate((value for (column,) in map(dict.values, batches) for value in column), 1)


def _checked(cells: Iterable[tuple[int, object]], source: Source) -> Iterator[str]:
    for number, value in cells:
        try:
            yield _name(value)
        except DataError as error:
            source.reject(error, number)


def _name(value: object) -> str:
    if isinstance(value, str):
        check_unicode(value)
        return str(value)  # numpy has strings of its own
    if _is_missing(value):
        return ""
    raise DataError("a name must be a string", value=value)


def _is_missing(value: object) -> bool:
    """None, NaN of Python and numpy, NA and NaT of pandas: none of them equals itself."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # NA is neither equal nor unequal
        return True
    except ValueError:  # an array of several values
        return False


def _values(names: Any) -> Iterable[object]:
    """The values of a column in a list where it can make one, which is faster than iterating."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(names, method):
            values = getattr(names, method)()
            return values if isinstance(values, list) else [values]
    if not isinstance(names, Iterable):
        raise DataError("expected a list of names", value=names)
    return names


def _json_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    for number, line in source.lines():
        if not line.strip():
            continue
        with source.skipping(number):
            yield number, _cells(line)


def _cells(line: str) -> list[str]:
    with suppress(DataError):
        value = parse_json(line)
        if isinstance(value, list) and all(isinstance(cell, str) for cell in value):
            return value
    raise DataError('expected ["name", "other name"]', value=line)


def _pair(cells: Sequence[str], sets_of: Mapping[str, set[int]]) -> tuple[str, str]:
    if len(cells) < 2 or not cells[0].strip() or not cells[1].strip():
        raise DataError("expected two names", value="\t".join(cells))
    one, other = cells[:2]
    for name in (one, other):
        check_unicode(name)
    check_pair(one, other, sets_of)
    return one, other


def check_pair(
    one: str, other: str, sets_of: Mapping[str, set[int]], *, together: bool = False
) -> None:
    """Reject a pair that contradicts known sets; `sets_of` has the known sets of a key.

    The names of a cannot-link pair may not be one name or share a known set; those of a must-link
    pair, which are `together`, may not be in two known sets.
    """
    keys = name_key(one), name_key(other)
    if together:
        sets = [sets_of.get(key, set()) for key in keys]
        if all(sets) and sets[0].isdisjoint(sets[1]):
            problem = "the names of this must-link pair are in two known sets"
            raise DataError(problem, value=f"{one} / {other}")
        return
    if keys[0] == keys[1]:
        raise DataError("two spellings of one name cannot be separated", value=f"{one} / {other}")
    if not sets_of.get(keys[0], set()).isdisjoint(sets_of.get(keys[1], ())):
        problem = "both names of this cannot-link pair are in one known set"
        raise DataError(problem, value=f"{one} / {other}")
