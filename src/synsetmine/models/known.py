"""Known sets, and the known sets that new terms may belong to, with a probability for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from synsetmine.errors import DataError
from synsetmine.files import atomic_write, parquet_error
from synsetmine.models.rehearsal import Rehearsal
from synsetmine.types import SynonymSets, Term

SCHEMA = pa.schema(
    [
        ("term", pa.string()),
        ("set", pa.string()),
        ("probability", pa.float64()),
        ("nearest", pa.string()),
    ]
)
KNOWN_THRESHOLD = 0.5  # from here on a new name of a known set is rather right than wrong
LEAST = 0.01  # probability of a candidate that is kept


class Candidate(NamedTuple):
    """A known set that a term may belong to; `nearest` is the name of it that is most alike."""

    set_id: str
    probability: float
    nearest: str


@dataclass(frozen=True, eq=False)
class KnownSets:
    """Known sets, and the candidate sets of new terms, the most likely first."""

    sets: SynonymSets
    candidates: Mapping[Term, Sequence[Candidate]]
    rehearsal: Rehearsal | None = field(default=None, repr=False)

    def ids_of(self, terms: Iterable[Term]) -> list[str]:
        """The ids of the known sets that any of these terms is in."""
        labels = {self.sets.label_of(term) for term in terms if term in self.sets}
        return [self.sets.ids[label] for label in sorted(labels)]

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
    with atomic_write(path) as temporary:
        pq.write_table(pa.table(arrays, schema=SCHEMA), temporary)


def read_candidates(path: Path) -> dict[Term, list[Candidate]]:
    """Read what `write_candidates` wrote."""
    try:
        table = pq.read_table(path)
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise parquet_error(error, path) from error
    if not table.schema.equals(SCHEMA) or any(column.null_count for column in table.columns):
        columns = ", ".join(table.column_names)
        raise DataError("not a table of candidates; its columns", path=path, value=columns)
    candidates: dict[Term, list[Candidate]] = {}
    for text, *values in zip(*(column.to_pylist() for column in table.columns), strict=True):
        candidate = Candidate(*values)
        if not 0 <= candidate.probability <= 1:
            problem = "the probability of a candidate must lie between 0 and 1"
            raise DataError(problem, path=path, value=candidate.probability)
        try:
            candidates.setdefault(Term.parse(text), []).append(candidate)
        except DataError as error:
            raise error.at(path) from None
    return candidates
