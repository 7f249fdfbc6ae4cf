"""Lists of names and pairs of names, from files of several formats and from Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from synsetmine.corpus.documents import TableFormat, check_unicode, parquet_columns, table_rows
from synsetmine.errors import DataError, ErrorCounts, choose_among, shorten, skip_broken
from synsetmine.io.files import AS_XLSX, OTHER_SHEETS, STDIN, Source, parse_json, plain_name
from synsetmine.io.sets import Vocabulary, read_vocabulary
from synsetmine.io.tables import unescape_formula
from synsetmine.normalization import name_key
from synsetmine.types import SynonymSets, Term

ListFormat: TypeAlias = Literal["text", "csv", "tsv", "xlsx", "jsonl", "parquet"]
LIST_FORMATS: tuple[ListFormat, ...] = get_args(ListFormat)
COLUMNS = ("name", "term", "label", "surface", "title")  # taken where nobody names a column
PAIR_HEADER = ("name", "other")
GROUP_HEADER = ("set_id", "canonical", "name")  # of our own CSV files, whose cells are guarded
NO_CONTEXT = "a context must be a string or a list of strings"
NO_LISTS = {".json", ".set", ".tab", ".xml", ".html", ".pdf", *OTHER_SHEETS}

_Values: TypeAlias = Sequence[object]  # name, context, type, id


class NameRow(NamedTuple):
    """A name in a list, a table or a registry, with what tells it from equal names there."""

    name: str  # empty if it is missing
    type: str = ""
    sense: int = 0  # of the names that are equal, which one it is
    contexts: tuple[str, ...] = ()  # sentences or descriptions
    id: str = ""  # of the row in its table

    @property
    def key(self) -> tuple[str, str, int]:
        """What makes it one name of a list."""
        return name_key(self.name), name_key(self.type), self.sense


def read_names(
    path: str | Path,
    *,
    column: str | None = None,
    format: ListFormat | None = None,
    skipped: list[DataError] | ErrorCounts | None = None,
    on_column: Callable[[str], None] | None = None,
) -> list[str]:
    """The names in a file, in its order; a missing one is an empty string.

    The file extension determines the format: CSV, TSV, XLSX (extra `xlsx`), JSON lines or Parquet;
    anything else is text with one name per line. `-` is standard input. A table needs a `column`,
    unless it has only one column or one called `name`, `term`, `label`, `surface` or `title`;
    `on_column` is called with the column used. With `skipped`, broken lines are skipped and their
    errors go there.
    """
    rows = read_rows(path, column=column, format=format, skipped=skipped, on_column=on_column)
    return [row.name for row in rows]


def read_terms(
    path: str | Path,
    *,
    column: str | None = None,
    skipped: list[DataError] | ErrorCounts | None = None,
) -> Vocabulary:
    """The terms of a vocabulary, or those in a column of a table (.csv, .xlsx or .parquet).

    With a `column`, .tsv and .jsonl are tables too.
    """
    path = Path(path)
    if column is None and format_of(path) in ("text", "tsv", "jsonl"):
        return read_vocabulary(path, skipped=skipped)
    terms: dict[Term, None] = {}
    for name in read_names(path, column=column, skipped=skipped):
        if name.strip():
            with skip_broken(path, None, skipped):
                terms[Term.parse(" ".join(name.split()))] = None
    if not terms:
        raise DataError("no terms in this file", path=path)
    return Vocabulary(tuple(terms), {})


def read_rows(
    path: str | Path,
    *,
    column: str | None = None,
    context_column: str | None = None,
    type_column: str | None = None,
    id_column: str | None = None,
    format: ListFormat | None = None,
    skipped: list[DataError] | ErrorCounts | None = None,
    on_column: Callable[[str], None] | None = None,
) -> list[NameRow]:
    """The rows of a list: names as `read_names` reads them, with what other columns have.

    A context is a string; in JSON lines and Parquet it may be a list of strings, too.
    """
    path = STDIN if str(path) == "-" else Path(path)
    if format is None and (ending := Path(plain_name(path)).suffix.lower()) in NO_LISTS:
        other = f"convert the file, or name its format: {', '.join(LIST_FORMATS)}"
        hint = AS_XLSX if ending in OTHER_SHEETS else other
        raise DataError(f"{ending} is not a format of name lists", path=path, hint=hint)
    format = format or format_of(path)
    if format not in LIST_FORMATS:
        raise DataError("no such format", value=format, hint=choose_among(format, LIST_FORMATS))
    columns = _Columns(column, (context_column, type_column, id_column), on_column)
    if format == "text" and (named := columns.first_named) is not None:
        problem = (
            f"plain text has no columns such as {named!r}; if this is a table, name its format"
        )
        raise DataError(f"{problem}: csv, tsv, xlsx, jsonl or parquet", path=path)
    if format in ("parquet", "xlsx") and path == STDIN:
        raise DataError(f"{format} cannot be read from standard input; name a file")
    source = Source(path, skipped)
    match format:
        case "text":
            return [NameRow(line) for _, line in source.lines()]
        case "csv" | "tsv" | "xlsx":
            values = _table_values(source, columns, format)
        case "jsonl":
            values = _json_values(source, columns)
        case "parquet":
            values = _parquet_values(source, columns)
    rows = []
    for number, (name, context, type_, row_id) in values:
        with source.skip_broken(number):
            texts = contexts_in(context)
            row = NameRow(name_text(name), type_text(type_), contexts=texts, id=id_text(row_id))
            rows.append(row)
    return rows


@dataclass(frozen=True)
class _Columns:
    """The columns that a person names: of the name, and of its context, type and id."""

    name: str | None
    others: tuple[str | None, str | None, str | None]
    on_name: Callable[[str], None] | None

    @property
    def first_named(self) -> str | None:
        return next((name for name in (self.name, *self.others) if name is not None), None)

    def name_in(self, headers: Sequence[str], path: Path, line: int | None = None) -> str:
        """The column with the names."""
        with skip_broken(path, line, None):
            chosen = headers[choose_column(headers, self.name)]
        if self.on_name is not None:
            self.on_name(chosen)
        return chosen

    def positions(
        self, headers: Sequence[str], path: Path, line: int | None = None
    ) -> list[int | None]:
        """Where a table has the name, the context, the type and the id."""
        name = self.name_in(headers, path, line)
        with skip_broken(path, line, None):
            others = [None if o is None else choose_column(headers, o) for o in self.others]
        return [list(headers).index(name), *others]


def format_of(path: Path) -> ListFormat:
    """The format of a file, from its extension."""
    ending = Path(plain_name(path)).suffix.lower().removeprefix(".")
    ending = "xlsx" if ending == "xlsm" else ending
    return next((kind for kind in LIST_FORMATS if kind == ending), "text")


def read_pairs(
    path: str | Path,
    *,
    known: SynonymSets | None = None,
    together: bool = False,
    skipped: list[DataError] | None = None,
) -> list[tuple[str, str]]:
    """Cannot-link pairs: JSON lists in .jsonl, the first two columns in .csv and .xlsx, else tabs.

    A first row with the cells `name` and `other` is a header. A pair that one of the `known` sets
    has is an error, and so is one of two spellings of one name. With `together` they are must-link
    pairs; one with names of two known sets is an error.
    """
    sets_of: dict[str, set[int]] = {}
    for number, terms in enumerate(known or ()):
        for term in terms:
            sets_of.setdefault(name_key(term.surface), set()).add(number)
    source = Source(Path(path), skipped)
    format = format_of(source.path)
    table: TableFormat = format if format in ("csv", "xlsx") else "tsv"
    if format == "parquet":
        problem = "expected pairs of names in .csv, .tsv, .xlsx, .txt or .jsonl"
        raise DataError(problem, path=source.path)
    rows = _json_rows(source) if format == "jsonl" else table_rows(source, table)
    pairs: list[tuple[str, str]] = []
    ours = False  # whether it has our header, and so cells that are guarded
    for position, (number, cells) in enumerate(rows):
        if not position and tuple(cell.strip().casefold() for cell in cells[:2]) == PAIR_HEADER:
            ours = table == "csv"
            continue
        with source.skip_broken(number):
            names = [*map(unescape_formula, cells)] if ours else cells
            pairs.append(_pair(names, sets_of, together=together))
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
    headers = _headers(names)
    if headers is not None:
        chosen = choose_column([str(header) for header in headers], column)
        names = names[headers[chosen]]
    elif column is not None:
        raise DataError("only a table has columns", value=column)
    for position, value in enumerate(_values(names)):
        try:
            yield name_text(value)
        except DataError as error:
            raise DataError(f"{error.problem} (item {position})", value=error.value) from None


def rows_in(
    names: Any, column: str | None = None, *, contexts: Any = None, types: Any = None
) -> list[NameRow]:
    """The names in a Python object, with a context and a type for each.

    `contexts` and `types` are as long as the names, or columns of the table that has the names. A
    context is a string, several strings, or missing.
    """
    listed = list(names_in(names, column))
    columns: list[list[object]] = []
    for what, values in (("contexts", contexts), ("types", types)):
        items: list[object] = [None] * len(listed)
        if values is not None:
            items = [*_beside(names, values, what)]
        if len(items) != len(listed):
            raise DataError(f"{len(items):,} {what} for {len(listed):,} names")
        columns.append(items)
    rows = []
    for position, (name, context, type_) in enumerate(zip(listed, *columns, strict=True)):
        try:
            rows.append(NameRow(name, type_text(type_), contexts=contexts_in(context)))
        except DataError as error:
            raise DataError(f"{error.problem} (item {position})", value=error.value) from None
    return rows


def _beside(names: Any, values: Any, what: str) -> Iterable[object]:
    """The contexts or types of names, which may be a column of the same table."""
    for listed in (names, values):
        if isinstance(listed, Mapping):
            problem = f"expected {what} as a list: pass [{what}.get(name) for name in names]"
            raise DataError(problem)
        if isinstance(listed, Set):
            raise DataError(f"expected names and {what} as lists in one order, not as sets")
    headers = _headers(names)
    if isinstance(values, str | int):
        if headers is None:
            problem = f"expected {what} as a list, since the names are not a table"
            raise DataError(problem, value=values)
        return _values(names[headers[choose_column([str(header) for header in headers], values)]])
    if hasattr(values, "collect") or _headers(values) is not None:
        raise DataError(f"expected {what} as a column or a list, not a table")
    # The index of pandas; lists have a method of this name.
    indexes: list[Any] = [getattr(one, "index", None) for one in (names, values)]
    if all(hasattr(index, "equals") for index in indexes) and not indexes[0].equals(indexes[1]):
        problem = f"the index of the {what} is not that of the names"
        raise DataError(f"{problem}; sort both alike and pass .to_list()")
    return _values(values, what)


def _headers(table: Any) -> Any:
    """The names of the columns of a table; None for other objects."""
    return getattr(table, "column_names", getattr(table, "columns", None))


def contexts_in(value: object) -> tuple[str, ...]:
    """The contexts of a name: a string, several, or none."""
    if isinstance(value, str):
        values: Iterable[object] = (value,)
    elif _is_missing(value):
        values = ()
    elif isinstance(value, bytes | Mapping):
        raise DataError(NO_CONTEXT, value=value)
    else:
        values = _values(value, "sentences")
    texts = []
    for text in values:
        if _is_missing(text):
            continue
        if not isinstance(text, str):
            raise DataError(NO_CONTEXT, value=text)
        check_unicode(text)
        if text.strip():
            texts.append(text)
    return tuple(texts)


_HOW_TO_CHOOSE = "use --name-column, in a project name_column of [vocabulary], in Python `column`"


def choose_column(headers: Sequence[str], column: str | int | None = None) -> int:
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
    problem = f"cannot tell which column has the names; name one of {listed}"
    raise DataError(problem, hint=_HOW_TO_CHOOSE)


def _table_values(
    source: Source, columns: _Columns, format: TableFormat
) -> Iterator[tuple[int, _Values]]:
    positions: list[int | None] | None = None
    is_guarded = False
    for number, row in table_rows(source, format):
        if positions is None:
            positions = columns.positions(row, source.path, number)
            is_guarded = tuple(row[: len(GROUP_HEADER)]) == GROUP_HEADER
            continue
        cells = [*map(unescape_formula, row)] if is_guarded else row
        yield number, [None if place is None else cells[place] for place in positions]


def _json_values(source: Source, columns: _Columns) -> Iterator[tuple[int, _Values]]:
    """A string a line, or an object with a field for the name; the first object says which.

    An object may lack the other fields, but not all objects may.
    """
    name: str | None = None
    headers: dict[str, None] = {}  # of all objects
    is_empty = True
    for number, line in source.lines():
        if not line.strip():
            continue
        is_empty = False
        try:
            value = parse_json(line)
        except DataError as error:
            source.reject(error, number)
            continue
        if not isinstance(value, dict):
            yield number, [value, None, None, None]
            continue
        if name is None:
            name = columns.name_in(list(value), source.path, number)
        headers.update(dict.fromkeys(value))
        others = (None if other is None else value.get(other) for other in columns.others)
        yield number, [value.get(name), *others]
    for other in columns.others:
        if other is not None and other not in headers and not is_empty:
            listed = shorten(", ".join(headers), 1000) or "none"
            problem = f"no object has this field; the fields are {listed}"
            raise DataError(problem, path=source.path, value=other)


def _parquet_values(source: Source, columns: _Columns) -> Iterator[tuple[int, _Values]]:
    chosen: list[str | None] = []

    def choose(headers: list[str]) -> list[str]:
        places = columns.positions(headers, source.path)
        chosen.extend(None if place is None else headers[place] for place in places)
        return list(dict.fromkeys(header for header in chosen if header is not None))

    number = 0
    for batch in parquet_columns(source, choose):
        size = len(next(iter(batch.values())))
        empty: list[object] = [None] * size
        values = [empty if header is None else batch[header] for header in chosen]
        yield from enumerate(zip(*values, strict=True), start=number + 1)
        number += size


def type_text(value: object) -> str:
    if isinstance(value, str) or _is_missing(value):
        return " ".join(name_text(value).split())
    raise DataError("a type must be a string", value=value)


def ids_in(ids: Any) -> list[str]:
    """The ids of rows in a Python object; a missing one is an empty string."""
    if isinstance(ids, str):
        raise DataError("expected ids as a list, one for each row", value=ids)
    return [id_text(value) for value in _values(ids, "ids")]


def id_text(value: object) -> str:
    """The id of a row as a string: a string or a whole number; empty if it is missing."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # tools that know no missing whole numbers write 12 as 12.0
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) or _is_missing(value):
        return name_text(value)
    raise DataError("an id must be a string or a whole number", value=value)


def name_text(value: object) -> str:
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


def _values(names: Any, what: str = "names") -> Iterable[object]:
    """The values of a column in a list where it can make one, which is faster than iterating."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(names, method):
            values = getattr(names, method)()
            return values if isinstance(values, list) else [values]
    if not isinstance(names, Iterable):
        raise DataError(f"expected a list of {what}", value=names)
    return names


def _json_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    for number, line in source.lines():
        if not line.strip():
            continue
        with source.skip_broken(number):
            yield number, _cells(line)


def _cells(line: str) -> list[str]:
    with suppress(DataError):
        value = parse_json(line)
        if isinstance(value, list) and all(isinstance(cell, str) for cell in value):
            return value
    raise DataError('expected ["name", "other name"]', value=line)


def _pair(
    cells: Sequence[str], sets_of: Mapping[str, set[int]], *, together: bool
) -> tuple[str, str]:
    if len(cells) < 2 or not cells[0].strip() or not cells[1].strip():
        raise DataError("expected two names", value="\t".join(cells))
    one, other = cells[:2]
    for name in (one, other):
        check_unicode(name)
    check_pair(one, other, sets_of, together=together)
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
        hint = "move one of them to a set of its own, on a line with another id"
        raise DataError(problem, value=f"{one} / {other}", hint=hint)
