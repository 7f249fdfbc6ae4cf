"""The result of grouping a list of names: its sets, what becomes of each row, and its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from synsetmine.corpus.name_lists import PAIR_HEADER
from synsetmine.errors import DataError, ErrorCounts, quantity
from synsetmine.io.files import atomic_write, plain_name, write_json_lines, write_text
from synsetmine.io.sets import new_id
from synsetmine.io.tables import cell_of, escape_formula, rows_of
from synsetmine.normalization import name_key
from synsetmine.notebook import Library, ShowProgress, frame_of, html_table
from synsetmine.pipeline.explanation import PairExplainer
from synsetmine.types import SynonymSets, Term

if TYPE_CHECKING:
    from synsetmine.pipeline.judge import JudgeReport
    from synsetmine.pipeline.plan import Plan
    from synsetmine.pipeline.registry import KnownEntity
    from synsetmine.runs import MinedSet


COLUMNS = {
    "set_id": "string",
    "canonical": "string",
    "name": "string",
    "count": "int64",
    "probability": "double",
    "known": "bool",
}


@dataclass(frozen=True, slots=True, repr=False)
class Member:
    """A name in its set."""

    name: str
    count: int  # how often the list has it; 0 for a name that only the known sets have
    # f(S, t) for the other names of the set; None for known and single names, and spellings.
    probability: float | None
    known: bool  # whether a known set has it
    type: str = ""  # as the list has it most often; empty if unknown
    contexts: tuple[str, ...] = ()  # of this name in this set
    sense: int = 0  # of the names that are equal, which one it is

    def __repr__(self) -> str:
        sure = "" if self.probability is None else f", probability={self.probability:.2f}"
        return f"Member({self.name!r}, count={self.count}{sure})"


class UnsurePair(NamedTuple):
    """Two names whose probability is close to the threshold."""

    name: str
    other: str
    probability: float


@dataclass(frozen=True)
class NameSet:
    """Names of one thing; `name` is the canonical one and the first of the members."""

    id: str
    entries: tuple[Member, ...]

    @property
    def name(self) -> str:
        return self.entries[0].name

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.entries)

    @property
    def type(self) -> str:
        """The type of the members; empty if none of them has one."""
        return next((member.type for member in self.entries if member.type), "")

    @property
    def probability(self) -> float | None:
        """The lowest probability of a member; None for spellings of one name or known names."""
        return min((m.probability for m in self.entries if m.probability is not None), default=None)

    def __repr__(self) -> str:
        sure = "" if self.probability is None else f", probability={self.probability:.2f}"
        return f"NameSet({', '.join(map(repr, self.members))}{sure})"


@dataclass(frozen=True)
class NameCounts:
    """Counts of the names of a list."""

    names: int = 0  # entries that are not missing
    duplicates: int = 0  # entries that repeat another one
    variants: int = 0  # entries that differ from another only in case, width or whitespace
    missing: int = 0  # None, NaN or nothing but whitespace
    too_long: int = 0  # names that were not compared: longer than 10,000 characters
    ambiguous: int = 0  # names that were not compared: in several known sets
    unused_pairs: int = 0  # linked pairs with a name that is neither listed nor known
    unkept_pairs: int = 0  # must-link pairs that types, known sets or cannot-link pairs forbid


class ComparedTerms(NamedTuple):
    """What a plan needs of a grouping."""

    explainer: PairExplainer
    terms: tuple[tuple[Term, ...], ...]  # of the members of each set, as the explainer has them
    # The types of the rows of each node; behind the sets, of the names alone.
    types: tuple[tuple[tuple[str, ...], ...], ...]
    members: tuple[int | None, ...]  # of each row of the list: its position in its set
    known: tuple[KnownEntity, ...] = ()  # also those that the list does not mention


@dataclass(frozen=True, repr=False)
class Grouping:
    """The sets of two or more names, and the set of each name of the list."""

    sets: tuple[NameSet, ...]  # by their names
    alone: tuple[Member, ...]  # names without a set
    # Of each entry of the list to the name of its set, or to itself; of a name in several sets to
    # the one where it is most frequent.
    mapping: Mapping[str, str]
    unsure: tuple[UnsurePair, ...]  # pairs near the threshold, nearest first
    threshold: float
    counts: NameCounts = field(default_factory=NameCounts)
    judged: JudgeReport | None = None  # what a language model was asked
    # Of each row of the list: the position of its set, or of its name alone after all sets.
    rows: tuple[int | None, ...] = field(default=(), compare=False)
    make_compared: Callable[[], ComparedTerms] | None = field(default=None, compare=False)
    known_ids: Mapping[int, str] = field(default_factory=dict)  # of known names that stand alone
    taken_ids: frozenset[str] = frozenset()  # of all known sets

    @cached_property
    def compared(self) -> ComparedTerms | None:
        """What a plan needs; for a million names it takes seconds."""
        return None if self.make_compared is None else self.make_compared()

    @cached_property
    def every_set(self) -> tuple[NameSet, ...]:
        """The sets, and behind them each name that stands alone as a set."""
        taken = {*self.taken_ids, *(s.id for s in self.sets)}
        single = []
        for place, member in enumerate(self.alone):
            known = self.known_ids.get(place)
            set_id = new_id([Term(member.name)], taken) if known is None else known
            single.append(NameSet(set_id, (member,)))
            taken.add(set_id)
        return (*self.sets, *single)

    @property
    def canonical(self) -> tuple[str | None, ...]:
        """For each row of the list the name of its set, or its own; None for a missing name."""
        return tuple(None if row is None else self.every_set[row].name for row in self.rows)

    @property
    def ids(self) -> tuple[str | None, ...]:
        """For each row of the list the id of its set; a name that stands alone has an id too."""
        return tuple(None if row is None else self.every_set[row].id for row in self.rows)

    @property
    def summary(self) -> str:
        """The numbers of names and sets on one line."""
        counts = self.counts
        distinct = counts.names - counts.duplicates
        in_sets = distinct - self._entries_alone
        parts = [
            f"{quantity(counts.names, 'name')}: {quantity(len(self.sets), 'set')} with "
            f"{quantity(in_sets, 'name')}",
            f"{self._entries_alone:,} {'stands' if self._entries_alone == 1 else 'stand'} alone",
        ]
        more = {
            "duplicate": counts.duplicates,
            "spelling variant": counts.variants,
            "missing value": counts.missing,
        }
        return "; ".join(parts + [quantity(count, what) for what, count in more.items() if count])

    @property
    def _entries_alone(self) -> int:
        names = {member.name for member in self.alone}
        return sum(name in names for name in self.mapping.values())

    def to_arrow(self, *, alone: bool = True) -> Any:
        """A pyarrow table, one row per name: set_id, canonical, name, count, probability, known."""
        import pyarrow as pa

        header = _header(self)
        kinds = {name: pa.type_for_alias(kind) for name, kind in COLUMNS.items()}
        kinds |= {"type": pa.string(), "contexts": pa.list_(pa.string())}
        columns = list(zip(*_rows(self, header, alone=alone), strict=True)) or [()] * len(header)
        schema = pa.schema([(name, kinds[name]) for name in header])
        return pa.table(dict(zip(header, columns, strict=True)), schema=schema)

    def to_frame(self, library: Library = "pandas") -> Any:
        """The same rows as a DataFrame of pandas or polars, which must be installed."""
        return frame_of(self.to_arrow(), library)

    def write(
        self,
        path: str | Path,
        *,
        alone: bool = False,
        skipped: ErrorCounts | None = None,
    ) -> None:
        """Write .jsonl, .csv, .parquet, or .txt for Solr's and Elasticsearch's `synonyms.txt`.

        `alone` adds names without a set. Names that the format cannot represent go to `skipped`.
        """
        write = _WRITERS[check_ending(Path(path), alone=alone)]
        write(Path(path), self, alone, ErrorCounts() if skipped is None else skipped)

    def plan(self, *, ids: Any = None, progress: ShowProgress = None) -> Plan:
        """What would be merged, and why; `ids` has those of the rows: strings or whole numbers.

        With ids each row is an entity, and rows of one name that are one thing are merged too.
        """
        from synsetmine.pipeline.plan import plan_of

        return plan_of(self, ids, progress=progress)

    def write_plan(self, path: str | Path, *, ids: Any = None) -> None:
        """Write the plan as JSON lines, which `apply_plan` maps tables by."""
        self.plan(ids=ids).write(path)

    @cached_property
    def synonym_sets(self) -> SynonymSets:
        """The sets, and each single name as one, as `evaluate` and `write_sets` take them.

        A name of several sets has the id of each as its sense there.
        """
        return SynonymSets.of(_terms(self.every_set), (one.id for one in self.every_set))

    def __repr__(self) -> str:
        return f"Grouping({self.summary})"

    def _repr_html_(self) -> str:
        """The first sets as a table, which notebooks show."""
        rows = [
            (s.name, ", ".join(s.members[1:]), f"{s.probability:.2f}" if s.probability else "")
            for s in self.sets
        ]
        table = html_table(("name", "other names", "probability"), rows)
        return f"<p>{self.summary}</p>{table}"


def check_ending(path: Path, *, alone: bool = False) -> str:
    """The ending of a file that can be written; another is an error."""
    ending = Path(plain_name(path)).suffix.lower()
    if ending not in _WRITERS or (ending == ".parquet" and plain_name(path) != path.name):
        known = f"{', '.join(_WRITERS)}; all but .parquet also with .gz, .bz2 or .zst"
        raise DataError(f"unknown file extension; expected {known}", value=str(path))
    if alone and ending == ".txt":
        raise DataError("a rule needs two names, so sets of one name cannot be written", path=path)
    return ending


def check_suffix(path: Path, suffix: str, what: str) -> None:
    """Refuse a file whose name does not say the format that its readers expect."""
    if Path(plain_name(path)).suffix.lower() != suffix:
        raise DataError(f"unknown file extension for {what}; expected {suffix}", value=str(path))


def write_pairs(path: Path, pairs: Iterator[UnsurePair] | tuple[UnsurePair, ...]) -> None:
    """Write pairs with their probabilities as CSV, which `read_pairs` reads."""
    header = (*PAIR_HEADER, "probability")
    rows = (
        (escape_formula(one), escape_formula(other), str(round(p, 6))) for one, other, p in pairs
    )
    write_text(path, rows_of((header, *rows), ","))


def _header(grouping: Grouping) -> list[str]:
    """The columns: type and contexts only if the list has any."""
    members = [*grouping.alone, *(m for name_set in grouping.sets for m in name_set.entries)]
    more = {"type": any(m.type for m in members), "contexts": any(m.contexts for m in members)}
    return [*COLUMNS, *(name for name, used in more.items() if used)]


def _rows(grouping: Grouping, header: Sequence[str], *, alone: bool) -> Iterator[list[Any]]:
    sets = [(one.id, one.entries) for one in grouping.sets]
    for set_id, entries in [*sets, *((None, (m,)) for m in grouping.alone if alone)]:
        for m in entries:
            row = [set_id, entries[0].name, m.name, m.count, m.probability, m.known]
            more = {"type": m.type or None, "contexts": list(m.contexts)}
            yield [*row, *(more[name] for name in header[len(COLUMNS) :])]


def _terms(sets: Sequence[NameSet]) -> list[list[Term]]:
    """The names of each set as terms; a name of several sets has the id of its set as sense."""
    counts = Counter(name for one in sets for name in set(one.members))
    return [
        [Term(name, one.id if counts[name] > 1 else "") for name in dict.fromkeys(one.members)]
        for one in sets
    ]


def _write_csv(path: Path, grouping: Grouping, alone: bool, skipped: ErrorCounts) -> None:
    """What looks like a formula has an apostrophe in front, since spreadsheets run formulas."""
    del skipped  # a cell holds any name
    header = _header(grouping)
    rows = ([*map(_cell, row)] for row in _rows(grouping, header, alone=alone))
    write_text(path, rows_of((header, *rows), ","))


def _cell(value: object) -> str:
    if isinstance(value, list):
        value = " | ".join(value)
    return cell_of(round(value, 6) if isinstance(value, float) else value)


def _write_parquet(path: Path, grouping: Grouping, alone: bool, skipped: ErrorCounts) -> None:
    del skipped
    import pyarrow.parquet as pq

    with atomic_write(path) as temporary:
        pq.write_table(grouping.to_arrow(alone=alone), temporary)


def _write_jsonl(path: Path, grouping: Grouping, alone: bool, skipped: ErrorCounts) -> None:
    """One set per line, as in files of sets; a single name gets an id like any set."""
    del skipped
    sets = grouping.every_set if alone else grouping.sets
    records = (
        {
            "id": one.id,
            "terms": [*map(str, terms)],
            "canonical": one.name,
            "details": [*map(_details, one.entries)],
        }
        for one, terms in zip(sets, _terms(sets), strict=True)
    )
    write_json_lines(path, records)


def _details(member: Member) -> dict[str, Any]:
    details: dict[str, Any] = {
        "name": member.name,
        "count": member.count,
        "probability": None if member.probability is None else round(member.probability, 6),
        "known": member.known,
    }
    if member.type:
        details["type"] = member.type
    if member.contexts:
        details["contexts"] = member.contexts
    return details


def _write_solr(path: Path, grouping: Grouping, alone: bool, skipped: ErrorCounts) -> None:
    """One rule a set; spellings that a search engine takes for one are written once."""
    del alone
    from synsetmine.export import FORMATS, About

    several = [s for s in grouping.sets if len({name_key(name) for name in s.members}) > 1]
    entries = FORMATS["solr"].writable([_entry(name_set) for name_set in several], skipped)
    FORMATS["solr"].write(path, entries, About(), limit=0)


def _entry(name_set: NameSet) -> MinedSet:
    from synsetmine.runs import MinedSet, MinedTerm

    spelled: dict[str, Member] = {}
    for member in name_set.entries:
        spelled.setdefault(name_key(member.name), member)
    first, *others = (
        MinedTerm(m.name, m.count, "", m.known, m.probability) for m in spelled.values()
    )
    return MinedSet(name_set.id, (first, *others))


_WRITERS: Mapping[str, Callable[[Path, Grouping, bool, ErrorCounts], None]] = {
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".txt": _write_solr,
}
