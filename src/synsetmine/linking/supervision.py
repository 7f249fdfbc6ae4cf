"""Mentions of entities in a corpus, the counts of their links, and training sets from these.

Linkers make errors, so a link counts only if its surface is a known name of the entity (the
paper's filter). The remaining surfaces of one entity are a training set, without any labels.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synsetmine.engines import Engine, LocalEngine
from synsetmine.errors import DataError, skip_broken
from synsetmine.io.files import atomic_write, numbered_lines, write_text
from synsetmine.io.parquet import ParquetReader, parquet_errors
from synsetmine.io.sets import parse_count
from synsetmine.kb import KnowledgeBase
from synsetmine.linking.linkers import Linker
from synsetmine.normalization import normal_form
from synsetmine.text.counters import TextBatch, count_together
from synsetmine.types import Ambiguous, Link, SetsLike, SynonymSets, Term

SCHEMA = pa.schema(
    [
        ("document", pa.int64()),  # its number in the corpus, from 0
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("surface", pa.string()),  # as written, runs of blanks as one
        ("entity", pa.string()),
    ]
)
HEADER = "surface\tentity\tcount"


def link_corpus(
    documents: Path,
    linker: Linker,
    out: Path,
    *,
    engine: Engine,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Link a stored corpus and write its mentions as Parquet; the number of mentions.

    `progress` is called with the number of documents done.
    """
    counters = {"mentions": MentionCounter(linker)}
    with open_mentions(out) as write:
        return sum(
            write(batch.tables["mentions"], batch.first)
            for batch in count_together(documents, counters, engine=engine, progress=progress)
        )


@contextmanager
def open_mentions(out: Path) -> Iterator[Callable[[pa.RecordBatch, int], int]]:
    """A function that writes what `MentionCounter` makes of a batch, and returns how many.

    Its second argument is the number of the batch's first document. The file is written whole or
    not at all.
    """
    with atomic_write(out) as temporary, pq.ParquetWriter(temporary, SCHEMA) as writer:

        def write(mentions: pa.RecordBatch, first: int) -> int:
            numbers = pc.add(mentions.column(0), first)
            writer.write_batch(mentions.set_column(0, SCHEMA.field(0), numbers))
            return len(mentions)

        yield write


def resolve_common(mentions: Path) -> int:
    """Give each mention of several entities to the most common one; the number that stays.

    Common is the entity that has most mentions of its own. Where two are equal or none has any,
    the mention goes. The mentions of one place are adjacent in the file.
    """
    prior: Counter[str] = Counter()
    for table in _row_groups(mentions):
        sizes = _place_sizes(table)
        alone = table.filter(pa.array(np.repeat(sizes == 1, sizes)))
        for count in pc.value_counts(alone["entity"].combine_chunks()).to_pylist():
            prior[count["values"]] += count["counts"]
    total = 0
    with atomic_write(mentions) as temporary, pq.ParquetWriter(temporary, SCHEMA) as writer:
        for table in _row_groups(mentions):
            kept = table.filter(pa.array(_is_common(table, prior)))
            writer.write_table(kept)
            total += len(kept)
    return total


def _row_groups(mentions: Path) -> Iterator[pa.Table]:
    with parquet_errors(mentions), ParquetReader(mentions) as file:
        for group in range(file.metadata.num_row_groups):
            yield file.row_group(group)


def _place_sizes(table: pa.Table) -> NDArray[np.int64]:
    """How many mentions each place has."""
    keys = np.stack([table[name].to_numpy() for name in ("document", "start", "end")])
    begins = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(table)]
    return np.diff(np.append(np.flatnonzero(begins), len(table)))


def _is_common(table: pa.Table, prior: Mapping[str, int]) -> NDArray[np.bool_]:
    sizes = _place_sizes(table)
    if not len(sizes):
        return np.zeros(0, np.bool_)
    starts = np.cumsum(sizes) - sizes
    entities = table["entity"].to_pylist()
    count = np.fromiter((prior.get(entity, 0) for entity in entities), np.int64, len(entities))
    is_best = count == np.repeat(np.maximum.reduceat(count, starts), sizes)
    is_only_best = np.repeat(np.add.reduceat(is_best, starts, dtype=np.int64) == 1, sizes)
    is_common = is_best & is_only_best & (count > 0)
    stays: NDArray[np.bool_] = is_common | np.repeat(sizes == 1, sizes)
    return stays


def count_links(mentions: Path, *, engine: Engine | None = None) -> list[Link]:
    """How often each surface was linked to each entity, most frequent first."""
    query = """
        SELECT surface, entity, count(*) AS n FROM mentions
        GROUP BY surface, entity ORDER BY n DESC, surface, entity
    """
    table = (engine or LocalEngine(1)).sql(query, mentions=mentions)
    return list(map(Link, *(column.to_pylist() for column in table.columns)))


def write_links(path: Path, links: Iterable[Link]) -> None:
    """Write `surface, entity, count`, tab-separated, under a header."""
    lines = (f"{link.surface}\t{link.entity}\t{link.count}\n" for link in links)
    write_text(path, f"{HEADER}\n" + "".join(lines))


def read_links(path: Path) -> list[Link]:
    """Read what `write_links` wrote, or a person in the same format."""
    lines = numbered_lines(path)
    number, first = next(lines, (1, ""))
    if first != HEADER:
        raise DataError(f"expected the header {HEADER!r}", path=path, line=number, value=first)
    links = []
    for number, line in lines:
        with skip_broken(path, number, None):
            match line.split("\t"):
                case [surface, entity, count] if surface and entity:
                    links.append(Link(surface, entity, parse_count(count)))
                case _:
                    raise DataError("expected surface, entity and count", value=line)
    return links


@dataclass(frozen=True)
class MentionCounter:
    """A batch of documents to the table of its mentions, where documents are numbered from 0."""

    linker: Linker

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        documents = batch.documents
        rows = [
            (i, m.start, m.end, " ".join(document.text[m.start : m.end].split()), m.entity)
            for i, (document, mentions) in enumerate(
                zip(documents, self.linker.link(documents), strict=True)
            )
            for m in mentions
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
        return pa.record_batch(list(map(list, columns)), schema=SCHEMA)


NO_WORD = "no letter or digit in the surface"
UNKNOWN_ENTITY = "the entity is not in the knowledge base"
UNKNOWN_NAME = "not a known name of its entity"
RARE = "seen too seldom"
SEVERAL = "names several entities"
LOST = "more often a name of another entity"
ALONE = "the only name of its entity that was seen"

EXAMPLES = 5


class EntityNames(Protocol):
    """What supervision asks of a knowledge base."""

    def __contains__(self, entity: object) -> bool: ...

    def known_form(self, entity: str, surface: str) -> str | None: ...


@dataclass(frozen=True)
class Tally:
    """The number of links and mentions with one outcome, with the most frequent links."""

    links: int
    mentions: int
    examples: tuple[Link, ...]


@dataclass(frozen=True, repr=False)
class Supervision:
    """Training sets, one per entity with its id, and the counts of kept and dropped links."""

    sets: SynonymSets  # of `min_terms` or more terms, each set's most frequent first
    alone: SynonymSets  # known names of the other entities: known, but no use for training
    counts: Mapping[Term, int]  # of every known name that was seen, also the only one of an entity
    rejected: Mapping[Term, int]  # surfaces that lost all their links: candidates all the same
    kept: Tally
    dropped: Mapping[str, Tally]  # by reason

    def __repr__(self) -> str:
        dropped = sum(tally.links for tally in self.dropped.values())
        return f"Supervision({self.sets!r}, {self.kept.links:,} links kept, {dropped:,} dropped)"


def supervise(
    links: Iterable[Link | tuple[str, str, int]],
    kb: EntityNames,
    *,
    min_count: int = 5,
    min_terms: int = 2,
    ambiguous: Ambiguous = "common",
) -> Supervision:
    """Filter links by known names and group what stays by entity.

    Surfaces of one normal form are one term, in its most frequent spelling. A term of several
    entities belongs to the most frequent one, or to none if two are equally frequent (`common`),
    to none (`skip`), or to each as a sense (`senses`). Terms with fewer than `min_count`
    occurrences are left out, and so are sets of fewer than `min_terms` terms.
    """
    if ambiguous not in get_args(Ambiguous):
        raise DataError(f"ambiguous must be one of {get_args(Ambiguous)}", value=ambiguous)
    if not hasattr(kb, "known_form"):
        raise DataError("expected a knowledge base; read_kb(path) reads one", value=kb)
    fate: dict[Link, str] = {}  # why each link that goes is dropped
    form_of: dict[Link, str] = {}
    entities_of: dict[str, Counter[str]] = {}  # form -> how often it names each entity
    written: dict[str, Counter[str]] = {}  # form -> how often it is written so
    for link in _merge(links):
        known = kb.known_form(link.entity, link.surface) if link.entity in kb else None
        form = form_of[link] = known or normal_form(link.surface)
        written.setdefault(form, Counter())[link.surface] += link.count
        if known is None:
            fate[link] = _mistake(link, form, kb)
        else:
            entities_of.setdefault(form, Counter())[link.entity] += link.count

    dropped_of = {
        form: _reasons_to_drop(seen, ambiguous, min_count) for form, seen in entities_of.items()
    }
    members: dict[str, dict[Term, int]] = {}  # entity -> its terms and how often each was seen
    for link, form in form_of.items():
        if link in fate:
            continue
        dropped = dropped_of[form]
        if link.entity in dropped:
            fate[link] = dropped[link.entity]
            continue
        several = len(entities_of[form]) - len(dropped) > 1
        term = Term(_most_written(written[form]), link.entity if several else "")
        members.setdefault(link.entity, {})[term] = entities_of[form][link.entity]

    for link in form_of:
        if link not in fate and len(members[link.entity]) < min_terms:
            fate[link] = ALONE
    taken = {form_of[link] for link in form_of if fate.get(link, ALONE) is ALONE}
    rejected = {form: seen for form, seen in written.items() if form and form not in taken}
    return Supervision(
        sets=_sets_of(members, lambda size: size >= min_terms),
        alone=_sets_of(members, lambda size: size < min_terms),
        counts=_sort_counts({term: n for terms in members.values() for term, n in terms.items()}),
        rejected=_sort_counts(
            {Term(_most_written(seen)): seen.total() for seen in rejected.values()}
        ),
        kept=_tally(link for link in form_of if link not in fate),
        dropped={
            reason: _tally(link for link in fate if fate[link] == reason)
            for reason in _reasons(fate)
        },
    )


def known_sets(
    kb: KnowledgeBase,
    seen: SynonymSets,
    *,
    vocabulary: Iterable[Term] = (),
    without: Container[str] = (),
) -> SynonymSets:
    """All names of all entities as sets; those that the corpus has are written as there.

    `seen` are the sets of names in the corpus, by entity: a name in it belongs to its set alone,
    as linking has decided. Of the other names, one of several entities goes to the first that
    prefers it, or to none; a name that a term of the `vocabulary` writes in another way stands as
    this term, so that no name is known and new at once. Entities in `without` are left out. The
    preferred name of an entity comes first in its set, then the other names that the corpus has.
    """
    written = {normal_form(term.surface): term for term in vocabulary if not term.sense}
    taken = {normal_form(term.surface) for term in seen.terms}
    terms_of = dict(zip(seen.ids, seen, strict=True))
    forms, preferred = kb.forms, kb.preferred_forms
    ambiguous = {forms[int(number)].as_py() for number in kb.ambiguous_forms}
    members: dict[str, list[Term]] = {}
    for row, entity in enumerate(kb):
        if entity in without:
            continue
        own = members.setdefault(entity, list(terms_of.get(entity, ())))
        first = forms[int(preferred[row])].as_py()
        for name in kb.names(entity):
            form = normal_form(name)
            is_own = form not in ambiguous or form == first
            if form not in taken and is_own:
                taken.add(form)
                own.append(written.get(form, Term(name)))
        own.sort(key=lambda term: normal_form(term.surface) != first)
    kept = {entity: terms for entity, terms in members.items() if terms}
    return SynonymSets.of(kept.values(), kept.keys())


def split_entities(
    sets: SetsLike, fraction: float, *, seed: int
) -> tuple[SynonymSets, SynonymSets]:
    """Split by entity into (training, test) that share no surface, about `fraction` for testing.

    Entities that share a surface, as senses do, are in the same part. The test part is empty if
    no entity can be held out: with fewer than two entities, or if all share surfaces.
    """
    if not 0 < fraction < 1:
        raise DataError("the held-out fraction must be between 0 and 1", value=fraction)
    sets = SynonymSets.of(sets)
    groups = _linked_by_surface(sets) if len(sets) else []
    random.Random(seed).shuffle(groups)  # noqa: S311
    target = fraction * len(sets)
    test: set[int] = set()
    for group in groups:
        if len(test) + len(group) / 2 <= max(target, 1) and len(test) + len(group) < len(sets):
            test.update(group)
    return sets.pick(i for i in range(len(sets)) if i not in test), sets.pick(sorted(test))


def _merge(links: Iterable[Link | tuple[str, str, int]]) -> list[Link]:
    """Links with the same surface and entity as one."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in links:
        if not isinstance(row, Link) and (not isinstance(row, tuple) or len(row) != 3):
            raise DataError("expected links: Link(surface, entity, count)", value=row)
        link = row if isinstance(row, Link) else Link(*row)
        counts[link.surface, link.entity] += link.count
    return [Link(surface, entity, count) for (surface, entity), count in counts.items()]


def _mistake(link: Link, form: str, kb: EntityNames) -> str:
    """Why a link cannot be right."""
    if not form:
        return NO_WORD
    return UNKNOWN_NAME if link.entity in kb else UNKNOWN_ENTITY


def _reasons_to_drop(seen: Counter[str], ambiguous: Ambiguous, min_count: int) -> dict[str, str]:
    """Why a form may not name some of the entities that it was seen with."""
    dropped = {entity: RARE for entity, count in seen.items() if count < min_count}
    often = [entity for entity in seen if entity not in dropped]
    if len(seen) > 1 and ambiguous == "skip":
        dropped = dict.fromkeys(seen, SEVERAL)
    elif len(often) > 1 and ambiguous == "common":
        (first, most), (_, next_most) = seen.most_common(2)
        dropped |= dict.fromkeys(often, SEVERAL if most == next_most else LOST)
        if most > next_most:
            del dropped[first]
    return dropped


def _most_written(written: Counter[str]) -> str:
    return min(written, key=lambda surface: (-written[surface], surface))


def _sets_of(
    members: Mapping[str, Mapping[Term, int]], is_size: Callable[[int], bool]
) -> SynonymSets:
    """The entities with a wanted number of terms, in the order of their ids."""
    kept = [entity for entity in sorted(members) if is_size(len(members[entity]))]
    return SynonymSets.of([_sort_counts(members[entity]) for entity in kept], kept)


def _sort_counts(counts: Mapping[Term, int]) -> dict[Term, int]:
    """Most frequent first; equal counts by the alphabet, whatever the order of the links."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _tally(links: Iterable[Link]) -> Tally:
    most_frequent_first = sorted(links, key=lambda link: (-link.count, link.surface, link.entity))
    return Tally(
        links=len(most_frequent_first),
        mentions=sum(link.count for link in most_frequent_first),
        examples=tuple(most_frequent_first[:EXAMPLES]),
    )


def _reasons(fate: Mapping[Link, str]) -> list[str]:
    reasons = set(fate.values())
    order = (NO_WORD, UNKNOWN_ENTITY, UNKNOWN_NAME, RARE, SEVERAL, LOST, ALONE)
    return [reason for reason in order if reason in reasons]


def _linked_by_surface(sets: SynonymSets) -> list[list[int]]:
    """Groups of sets, by number, of which no two share a surface."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first_with: dict[str, int] = {}
    shared = [
        (number, first_with.setdefault(term.surface, number))
        for number, members in enumerate(sets)
        for term in members
    ]
    graph = coo_array((np.ones(len(shared)), np.transpose(shared)), shape=(len(sets), len(sets)))
    groups: dict[int, list[int]] = {}
    for number, label in enumerate(connected_components(graph, directed=False)[1].tolist()):
        groups.setdefault(label, []).append(number)
    return list(groups.values())
