"""The result of grouping a list of names: its sets, and what becomes of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from synsetmine.errors import Skipped, counted
from synsetmine.frames import Library, frame_of, html_table
from synsetmine.io.sets import new_id
from synsetmine.pipeline.explanation import PairExplainer
from synsetmine.progress import ShowProgress
from synsetmine.types import SynonymSets, Term

if TYPE_CHECKING:
    from synsetmine.pipeline.judge import JudgeReport
    from synsetmine.pipeline.plan import Plan


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
    compared: ComparedTerms | None = field(default=None, compare=False)
    known_ids: Mapping[int, str] = field(default_factory=dict)  # of known names that stand alone
    taken_ids: frozenset[str] = frozenset()  # of all known sets

    @property
    def canonical(self) -> tuple[str | None, ...]:
        """For each row of the list the name of its set, or its own; None for a missing name."""
        names = [s.name for s in self.sets] + [member.name for member in self.alone]
        return tuple(None if row is None else names[row] for row in self.rows)

    @property
    def ids(self) -> tuple[str | None, ...]:
        """For each row of the list the id of its set; a name that stands alone has an id too."""
        ids = [s.id for s in self.sets] + list(self.ids_alone)
        return tuple(None if row is None else ids[row] for row in self.rows)

    @cached_property
    def ids_alone(self) -> tuple[str, ...]:
        """The ids of the names that stand alone."""
        taken = {*self.taken_ids, *(s.id for s in self.sets)}
        ids = []
        for place, member in enumerate(self.alone):
            known = self.known_ids.get(place)
            ids.append(new_id([Term(member.name)], taken) if known is None else known)
            taken.add(ids[-1])
        return tuple(ids)

    @property
    def summary(self) -> str:
        """The numbers of names and sets on one line."""
        counts = self.counts
        distinct = counts.names - counts.duplicates
        in_sets = distinct - self._entries_alone
        parts = [
            f"{counted(counts.names, 'name')}: {counted(len(self.sets), 'set')} with "
            f"{counted(in_sets, 'name')}",
            f"{self._entries_alone:,} {'stands' if self._entries_alone == 1 else 'stand'} alone",
        ]
        more = {
            "duplicate": counts.duplicates,
            "spelling variant": counts.variants,
            "missing value": counts.missing,
        }
        return "; ".join(parts + [counted(count, what) for what, count in more.items() if count])

    @property
    def _entries_alone(self) -> int:
        names = {member.name for member in self.alone}
        return sum(name in names for name in self.mapping.values())

    def to_arrow(self, *, alone: bool = True) -> Any:
        """A pyarrow table, one row per name: set_id, canonical, name, count, probability, known."""
        from synsetmine.pipeline.group_files import as_table

        return as_table(self, alone=alone)

    def to_frame(self, library: Library = "pandas") -> Any:
        """The same rows as a DataFrame of pandas or polars, which must be installed."""
        return frame_of(self.to_arrow(), library)

    def write(
        self,
        path: str | Path,
        *,
        alone: bool = False,
        skipped: Skipped | None = None,
    ) -> None:
        """Write .jsonl, .csv, .parquet, or .txt for Solr's and Elasticsearch's `synonyms.txt`.

        `alone` adds names without a set. Names that the format cannot represent go to `skipped`.
        """
        from synsetmine.pipeline.group_files import write_grouping

        write_grouping(Path(path), self, alone=alone, skipped=skipped)

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
        sets = [(one.id, one.members) for one in self.sets]
        sets += [(i, (one.name,)) for i, one in zip(self.ids_alone, self.alone, strict=True)]
        counts = Counter(name for _, names in sets for name in names)
        terms = [[Term(n, i if counts[n] > 1 else "") for n in names] for i, names in sets]
        return SynonymSets.of(terms, (set_id for set_id, _ in sets))

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
