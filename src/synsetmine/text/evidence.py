"""What the text of a corpus says about pairs of names, with the sentences that say so.

A pair is two normal forms, the alphabetically smaller one first. Each relation of a pair is
counted, and the relations that speak for one meaning keep a few sentences as examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synsetmine.corpus.documents import in_batches
from synsetmine.io.tables import read_table
from synsetmine.normalization import normal_form
from synsetmine.text.counters import TextBatch
from synsetmine.text.matcher import Matches
from synsetmine.text.patterns import (
    SUPPORTING,
    WIDEST,
    Relation,
    Span,
    find_definitions,
    relation_between,
)
from synsetmine.text.tokens import one_space, sentence_around
from synsetmine.types import Document

EXAMPLES = 3  # sentences of a pair and relation, each of another document
SENTENCE = 300  # characters; a longer one is cut around the two names
MOST_PAIRS = 1 << 22  # pairs and relations that are counted at a time; then the rare ones go

_PLACES = ("first_start", "first_end", "second_start", "second_end")
SCHEMA = pa.schema(
    [
        ("first", pa.string()),
        ("second", pa.string()),
        ("relation", pa.string()),
        ("count", pa.int64()),
        ("documents", pa.int64()),
        (
            "examples",
            pa.list_(
                pa.struct(
                    [
                        ("document", pa.string()),
                        ("sentence", pa.string()),
                        *((place, pa.int32()) for place in _PLACES),
                    ]
                )
            ),
        ),
    ]
)


@dataclass(frozen=True, slots=True)
class EvidenceSentence:
    """A sentence in which two names stand in a relation; `first` is the smaller normal form."""

    relation: Relation
    document: str
    text: str
    first: Span
    second: Span


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """A short form that a corpus defines, both as written most often among its examples."""

    short: str
    long: str
    count: int
    documents: int
    example: EvidenceSentence


class Evidence:
    """The relations of pairs of names in a corpus; names are given by their normal forms."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table  # a row for each pair and relation

    def __repr__(self) -> str:
        return f"Evidence({len(self):,} pairs)"

    def __len__(self) -> int:
        return len(self._rows)

    def counts(self, one: str, other: str) -> Mapping[Relation, int]:
        """How often the text has two names in each relation; their order does not matter."""
        return {self._relations[row]: self._counts[row] for row in self._rows_of(one, other)}

    def examples(self, one: str, other: str) -> Sequence[EvidenceSentence]:
        """Sentences that speak for one meaning, abbreviation definitions first."""
        return [
            example
            for row in sorted(self._rows_of(one, other), key=lambda row: self._relations[row])
            for example in self._examples(row)
        ]

    def partners(self, name: str) -> Sequence[str]:
        """The names that some sentence equates with this one, in alphabetical order."""
        return self._partners.get(name, ())

    def pairs(self) -> Iterator[tuple[str, str, Relation, int]]:
        """(first, second, relation, count) of each pair and relation, in the order of names."""
        for (first, second), rows in self._rows.items():
            for row in rows:
                yield first, second, self._relations[row], self._counts[row]

    def abbreviations(self) -> Sequence[Abbreviation]:
        """The abbreviations that the corpus defines, most frequent first."""
        return self._abbreviations

    def _rows_of(self, one: str, other: str) -> Sequence[int]:
        return self._rows.get((min(one, other), max(one, other)), ())

    def _examples(self, row: int) -> list[EvidenceSentence]:
        return [
            EvidenceSentence(
                self._relations[row],
                example["document"],
                example["sentence"],
                (example["first_start"], example["first_end"]),
                (example["second_start"], example["second_end"]),
            )
            for example in self.table["examples"][row].as_py()
        ]

    @cached_property
    def _relations(self) -> list[Relation]:
        relations: list[Relation] = self.table["relation"].to_pylist()
        return relations

    @cached_property
    def _counts(self) -> list[int]:
        counts: list[int] = self.table["count"].to_pylist()
        return counts

    @cached_property
    def _rows(self) -> Mapping[tuple[str, str], Sequence[int]]:
        rows: dict[tuple[str, str], list[int]] = {}
        pairs = zip(*(self.table[name].to_pylist() for name in ("first", "second")), strict=True)
        for row, pair in enumerate(pairs):
            rows.setdefault(pair, []).append(row)
        return rows

    @cached_property
    def _abbreviations(self) -> Sequence[Abbreviation]:
        documents = self.table["documents"].to_pylist()
        rows = [row for row, relation in enumerate(self._relations) if relation == "abbreviation"]
        rows.sort(key=lambda row: (-self._counts[row], -documents[row], row))
        listed = []
        for row in rows:
            examples = self._examples(row)
            spellings = Counter(map(_spellings, examples)).most_common(1)  # the first of equals
            short, long = spellings[0][0]
            listed.append(Abbreviation(short, long, self._counts[row], documents[row], examples[0]))
        return listed

    @cached_property
    def _partners(self) -> Mapping[str, Sequence[str]]:
        partners: dict[str, set[str]] = {}
        for first, second, relation, _ in self.pairs():
            if relation in SUPPORTING:
                partners.setdefault(first, set()).add(second)
                partners.setdefault(second, set()).add(first)
        return {name: sorted(others) for name, others in partners.items()}


def find_abbreviations(documents: Iterable[Document]) -> Sequence[Abbreviation]:
    """The abbreviations that documents define, most frequent first."""
    totals = EvidenceTable()
    for batch in in_batches(documents):
        totals.add(definitions_in([d.id for d in batch], [d.text for d in batch]))
    return Evidence(totals.table()).abbreviations()


@dataclass(frozen=True)
class DefinitionCounter:
    """The abbreviations that a batch of texts defines."""

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        return definitions_in(batch.ids, batch.texts)


@dataclass(frozen=True)
class ConnectionCounter:
    """The relations between neighbouring names of a batch; these are the matcher's forms."""

    forms: Sequence[str]

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        return connections_in(batch.ids, batch.texts, batch.matches, self.forms)


def definitions_in(ids: Sequence[str], texts: Sequence[str]) -> pa.RecordBatch:
    """The abbreviations that some texts define, be their forms names of a vocabulary or not."""
    pairs = _Pairs(ids, texts)
    for number, text in enumerate(texts):
        for short, long in find_definitions(text):
            forms = normal_form(text[slice(*short)]), normal_form(text[slice(*long)])
            if len(forms[0]) < len(forms[1]):
                pairs.add("abbreviation", number, forms, (short, long))
    return _as_batch(pairs.entries)


def connections_in(
    ids: Sequence[str], texts: Sequence[str], matches: Matches, forms: Sequence[str]
) -> pa.RecordBatch:
    """The relations between neighbouring names of some texts, by what stands between them.

    The numbers of the matches are positions among the forms.
    """
    pairs = _Pairs(ids, texts)
    gap = matches.start[1:] - matches.end[:-1]
    near = (matches.text[1:] == matches.text[:-1]) & (gap > 0) & (gap <= WIDEST)
    near &= matches.form[1:] != matches.form[:-1]
    for left in np.flatnonzero(near).tolist():
        number = int(matches.text[left])
        one, other = (
            (int(matches.start[match]), int(matches.end[match])) for match in (left, left + 1)
        )
        relation = relation_between(texts[number], one, other)
        if relation is not None:
            names = forms[matches.form[left]], forms[matches.form[left + 1]]
            pairs.add(relation, number, names, (one, other))
    return _as_batch(pairs.entries)


class EvidenceTable:
    """Adds up the evidence of batches of texts, in their order and in bounded memory.

    Of more than `most` pairs and relations the rarest are dropped, so that rare ones of a very
    large corpus may be missed or counted too low.
    """

    def __init__(self, most: int = MOST_PAIRS) -> None:
        self._most = most
        self._entries: dict[_Key, _Entry] = {}

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Add evidence of other documents than before."""
        columns = (batch.column(name).to_pylist() for name in SCHEMA.names)
        for first, second, relation, count, documents, examples in zip(*columns, strict=True):
            entry = self._entries.setdefault((first, second, relation), _Entry())
            entry.count += count
            entry.documents += documents
            entry.examples += examples[: EXAMPLES - len(entry.examples)]
        floor = 2
        while len(self._entries) > self._most:
            self._entries = {k: e for k, e in self._entries.items() if e.count >= floor}
            floor *= 2

    def table(self) -> pa.Table:
        """What was added, a row for each pair and relation, sorted."""
        return pa.Table.from_batches([_as_batch(dict(sorted(self._entries.items())))])


def read_evidence(path: Path) -> Evidence:
    """Read a table of evidence that `write_table` wrote."""
    return Evidence(read_table(path, SCHEMA, "evidence"))


_Key = tuple[str, str, Relation]


@dataclass(slots=True)
class _Entry:
    count: int = 0
    documents: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)
    last: int = -1  # the number of the last document


class _Pairs:
    """The evidence of one batch of texts."""

    def __init__(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        self._ids, self._texts = ids, texts
        self.entries: dict[_Key, _Entry] = {}

    def add(
        self, relation: Relation, number: int, forms: tuple[str, str], spans: tuple[Span, Span]
    ) -> None:
        """Count a relation in the text of this number; texts come in their order."""
        first, second = sorted(zip(forms, spans, strict=True))
        if not first[0] or first[0] == second[0]:
            return
        entry = self.entries.setdefault((first[0], second[0], relation), _Entry())
        entry.count += 1
        if entry.last != number:
            entry.documents += 1
            entry.last = number
            if relation in SUPPORTING and len(entry.examples) < EXAMPLES:
                entry.examples.append(self._example(number, first[1], second[1]))

    def _example(self, number: int, first: Span, second: Span) -> dict[str, Any]:
        text = self._texts[number]
        start, end = min(first[0], second[0]), max(first[1], second[1])
        sentence = sentence_around(self._ids[number], text, start, end, SENTENCE)

        def place(offset: int) -> int:
            return sentence.start + len(one_space(text[start:offset]))

        offsets = (place(offset) for offset in (*first, *second))
        return {
            "document": sentence.document,
            "sentence": sentence.text,
            **dict(zip(_PLACES, offsets, strict=True)),
        }


def _as_batch(entries: Mapping[_Key, _Entry]) -> pa.RecordBatch:
    keys = list(zip(*entries, strict=True)) or [(), (), ()]
    values = [[getattr(entry, name) for entry in entries.values()] for name in SCHEMA.names[3:]]
    columns = [*map(list, keys), *values]
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, SCHEMA, strict=True)]
    return pa.record_batch(arrays, schema=SCHEMA)


def _spellings(example: EvidenceSentence) -> tuple[str, str]:
    """The short form and the long form as a sentence writes them."""
    first, second = example.text[slice(*example.first)], example.text[slice(*example.second)]
    return (first, second) if len(first) < len(second) else (second, first)
