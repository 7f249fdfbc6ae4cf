"""Known sets that new names may join, and how well a rehearsal found hidden names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from synsetmine.errors import DataError
from synsetmine.io.tables import read_table, write_table
from synsetmine.text.kinds import DifferingWords
from synsetmine.types import KNOWN_THRESHOLD as KNOWN_THRESHOLD
from synsetmine.types import SynonymSets, Term

Doubles: TypeAlias = npt.NDArray[np.float64]
Truth: TypeAlias = npt.NDArray[np.bool_]
AmongNew: TypeAlias = "Callable[[Sequence[Term]], list[float]]"  # f(S, t) for a set of new terms

BINS = 10


@dataclass(frozen=True)
class Level:
    """Precision and recall of the names that were assigned with at least this probability."""

    probability: float
    assigned: int
    right: int
    hidden: int

    @property
    def precision(self) -> float:
        return self.right / self.assigned if self.assigned else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.hidden if self.hidden else 0.0


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The names that were looked for: the probability of the best set, and whether it is right.

    `weights` make the shares of names with and without a known set those of the calibration.
    """

    probabilities: Doubles  # (names,); 0 for a name without a candidate
    right: Truth  # (names,)
    hidden: Truth  # (names,); the others belong to sets that were removed
    seen: Truth  # (names,); whether the corpus has the name
    weights: Doubles  # (names,)

    def level(self, probability: float) -> Level:
        """Of the names that the corpus has, or of all if it has too few."""
        names = self._names
        assigned = names & (self.probabilities >= probability)
        return Level(
            probability,
            int((assigned & self.hidden).sum()),
            int((assigned & self.right).sum()),
            int((names & self.hidden).sum()),
        )

    def joined_without_set(self, probability: float) -> float:
        """The share of names of removed sets that were assigned to another set."""
        names = self._names & ~self.hidden
        return float((self.probabilities[names] >= probability).mean()) if names.any() else 0.0

    def calibration_error(self) -> float:
        """The expected calibration error in ten bins."""
        bins, values, right, weights = self._in_bins()
        if not weights.sum():
            return 0.0
        gaps = np.bincount(bins, weights * (values - right), minlength=BINS)
        return float(np.abs(gaps).sum() / weights.sum())

    def reliability(self) -> list[tuple[float, float, int]]:
        """Mean probability, share that is right, and number of names of each bin with names."""
        bins, values, right, weights = self._in_bins()
        rows = []
        for number in np.unique(bins).tolist():
            here = bins == number
            total = weights[here].sum()
            mean = float(weights[here] @ values[here] / total)
            rows.append((mean, float(weights[here] @ right[here] / total), int(here.sum())))
        return rows

    def _in_bins(self) -> tuple[npt.NDArray[np.int64], Doubles, Truth, Doubles]:
        """The bin, the probability, the outcome and the weight of each name."""
        names = self._names
        values = self.probabilities[names]
        bins = np.minimum((values * BINS).astype(np.int64), BINS - 1)
        return bins, values, self.right[names], self.weights[names]

    @property
    def _names(self) -> Truth:
        return self.seen if (self.seen & self.hidden).sum() >= FEWEST else np.ones_like(self.seen)


FEWEST = 100  # hidden names that the corpus has; with fewer all of them are reported


SCHEMA = pa.schema(
    [
        ("term", pa.string()),
        ("set", pa.string()),
        ("probability", pa.float64()),
        ("nearest", pa.string()),
    ]
)
LEAST = 0.01  # probability of a candidate that is kept


class Candidate(NamedTuple):
    """A known set that a term may belong to; `nearest` is the name of it that is most alike."""

    set_id: str
    probability: float
    nearest: str


@dataclass(frozen=True)
class KnownSets:
    """Known sets, and the candidate sets of new terms, the most likely first."""

    sets: SynonymSets
    candidates: Mapping[Term, Sequence[Candidate]] = field(hash=False)
    rehearsal: Rehearsal | None = field(default=None, repr=False, compare=False)
    # The same without the sets held out: their names are new terms, and no term has one of them
    # as a candidate. What the other terms have is not looked for again.
    without_held_out: KnownSets | None = field(default=None, repr=False, compare=False)

    @cached_property
    def words(self) -> DifferingWords:
        """What the known sets say of words by which names differ."""
        return DifferingWords.learn(
            [term.surface.replace("_", " ") for term in members] for members in self.sets
        )

    @property
    def synonym_sets(self) -> SynonymSets:
        """The known sets, without new terms."""
        return self.sets

    def ids_of(self, terms: Iterable[Term]) -> list[str]:
        """The ids of the known sets that any of these terms is in."""
        labels = {self.sets.label_of(term) for term in terms if term in self.sets}
        return [self.sets.ids[label] for label in sorted(labels)]

    def home(self, members: Iterable[Term]) -> tuple[list[str], float]:
        """The known sets of a set of terms, with the probability that it belongs there.

        They are the sets of its known names. Without a known name it is the set that a term joins.
        """
        if ids := self.ids_of(members := list(members)):
            return ids, 1.0
        best = max(
            (candidate for term in members for candidate in self.candidates.get(term, ())),
            key=lambda candidate: candidate.probability,
            default=None,
        )
        if best is None or best.probability < KNOWN_THRESHOLD:
            return [], 0.0
        return [best.set_id], best.probability

    def probabilities(
        self, members: Sequence[Term], terms: Sequence[Term], among_new: AmongNew
    ) -> list[float]:
        """f(S, t) of each term t; `among_new` compares new terms with a set of new terms.

        Whether a known name belongs to new terms is whether they belong to its set: the mean.
        """
        ids, certainty = self.home(members)
        if ids:
            alone = {*members} if certainty < 1 and len({*members}) == 1 else set()
            return [0.0 if t in alone else certainty * self.probability(t, ids) for t in terms]
        new = [term for term in terms if term not in self.sets]
        values = dict(zip(new, among_new(new), strict=True))
        known = {term: self.ids_of([term]) for term in terms if term not in values}
        for term, own in known.items():
            values[term] = sum(self.probability(m, own) for m in members) / len(members)
        return [values[term] for term in terms]

    def near_terms(self, members: Sequence[Term]) -> list[Term]:
        """The known names of the sets that these terms may belong to, and other candidates.

        The other terms have no known set in common with these.
        """
        ids, _ = self.home(members)
        if ids:
            near = self.candidates_of(ids)
        else:
            ids = [c.set_id for term in members for c in self.candidates.get(term, ())]
            near = [name for set_id in ids for name in self.names_of(set_id)]
        own = {*members}
        return [term for term in dict.fromkeys(near) if term not in own]

    def candidates_of(self, set_ids: Sequence[str]) -> list[Term]:
        """The known names of sets, and the new terms that may belong to one."""
        names = [name for set_id in set_ids for name in self.names_of(set_id)]
        return [*names, *(term for set_id in set_ids for term in self._near.get(set_id, ()))]

    def names_of(self, set_id: str) -> tuple[Term, ...]:
        """The known names of a set; none of an unknown one."""
        return self._members.get(set_id, ())

    @cached_property
    def _members(self) -> Mapping[str, tuple[Term, ...]]:
        return dict(zip(self.sets.ids, self.sets, strict=True))

    @cached_property
    def _near(self) -> Mapping[str, Sequence[Term]]:
        """The new terms with a candidate, by its id."""
        near: dict[str, list[Term]] = {}
        for term, candidates in self.candidates.items():
            for candidate in candidates:
                near.setdefault(candidate.set_id, []).append(term)
        return near

    def probability(self, term: Term, set_ids: Sequence[str]) -> float:
        """f of the known set; of several sets together the mean.

        A known name belongs to its own set, and to no other.
        """
        if term in self.sets:
            return float(self.sets.ids[self.sets.label_of(term)] in set_ids)
        values = {c.set_id: c.probability for c in self.candidates.get(term, ())}
        return sum(values.get(set_id, 0.0) for set_id in set_ids) / len(set_ids)


def write_candidates(path: Path, known: KnownSets | None) -> None:
    """Write the candidates as Parquet; the table has no rows without known sets."""
    rows = [
        (str(term), *candidate)
        for term, candidates in (known.candidates if known else {}).items()
        for candidate in candidates
        if candidate.probability >= LEAST
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    write_table(path, pa.table(arrays, schema=SCHEMA))


def read_candidates(path: Path) -> dict[Term, list[Candidate]]:
    """Read what `write_candidates` wrote."""
    table = read_table(path, SCHEMA, "candidates")
    if any(column.null_count for column in table.columns):
        raise DataError("a table of candidates with empty cells", path=path)
    candidates: dict[Term, list[Candidate]] = {}
    for text, *values in zip(*(column.to_pylist() for column in table.columns), strict=True):
        candidate = Candidate(*values)
        if not 0 <= candidate.probability <= 1:
            problem = "the probability of a candidate must be between 0 and 1"
            raise DataError(problem, path=path, value=candidate.probability)
        try:
            candidates.setdefault(Term.parse(text), []).append(candidate)
        except DataError as error:
            raise error.at(path) from None
    return candidates
