"""A registry of known entities, which grows by the names that are grouped.

It is a file of JSON lines: an entity a line, with its id and names, and the decisions that two
names are never one thing. Its entities are known sets of the next grouping, so that ids last.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synsetmine.corpus.name_lists import NameRow
from synsetmine.errors import DataError, quantity, skip_broken
from synsetmine.io.files import numbered_lines, parse_json, write_json_lines
from synsetmine.io.sets import new_id
from synsetmine.normalization import is_unicode, name_key
from synsetmine.types import Term

if TYPE_CHECKING:
    from synsetmine.pipeline.name_sets import Grouping

CONTEXTS = 100  # of a name that are kept


@dataclass(frozen=True)
class KnownEntity:
    """An entity with its names; the first one stands for it."""

    id: str
    names: tuple[NameRow, ...]
    ids: tuple[str, ...] = ()  # of its rows in the tables of a graph


@dataclass(frozen=True, repr=False)
class Registry:
    """Known entities and cannot-link pairs; `group(…, known=registry)` takes it."""

    entities: tuple[KnownEntity, ...] = ()
    never: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.entities)

    def __repr__(self) -> str:
        pairs = quantity(len(self.never), "cannot-link pair")
        return f"Registry({quantity(len(self.entities), 'entity')}, {pairs})"

    def grown(self, grouping: Grouping, *, never: Iterable[tuple[str, str]] = ()) -> Registry:
        """The registry with the names of a grouping that it was known to, and with new pairs.

        A name that stands alone is an entity, too. Nothing that the registry has changes or goes.
        """
        if grouping.compared is None:
            raise DataError("this grouping has no names to add; call `group`")
        names: dict[str, list[NameRow]] = {}
        for one, types in zip(grouping.every_set, grouping.compared.types, strict=True):
            names[one.id] = [
                NameRow(
                    member.name,
                    member.type if name_key(member.type) == type_ else type_,
                    member.sense,
                    member.contexts,
                )
                for member, own_types in zip(one.entries, types, strict=True)
                for type_ in own_types
            ]
        entities = [_with_names(entity, names.pop(entity.id, ())) for entity in self.entities]
        entities += [_with_names(KnownEntity(i, ()), new) for i, new in names.items()]
        return replace(self, entities=tuple(entities)).with_never(never)

    def with_never(self, never: Iterable[tuple[str, str]]) -> Registry:
        """The registry with new cannot-link pairs."""
        pairs = {_pair(*pair): pair for pair in (*never, *self.never)}
        added = sorted(pair for key, pair in pairs.items() if pair not in self.never)
        return replace(self, never=(*self.never, *added))

    def with_graph(self, graph: Sequence[KnownEntity]) -> Registry:
        """The registry with the entities of a merged table, and the ids of their rows.

        Their names are those of the table and of the plan, the canonical one first; their ids are
        those of merges, empty for a row that stands alone.
        An entity of the table is the known one with the id of its merge or of one of its rows;
        where the registry has no ids of rows, the one with its name and type.
        """
        entities = {entity.id: entity for entity in self.entities}
        of_row = {row_id: entity.id for entity in self.entities for row_id in entity.ids}
        of_name: dict[tuple[str, str], str] = {}
        senses: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)  # of which entity
        for entity in self.entities:
            for name in entity.names:
                senses[name.key[:2]][name.sense] = entity.id
                if not entity.ids:
                    of_name.setdefault(name.key[:2], entity.id)
        owners = [_owner(one, entities, of_row) for one in graph]
        claimed = {*owners}
        taken = {*owners, *entities}
        for one, owner in zip(graph, owners, strict=True):
            entity_id = owner
            if not owner:
                entity_id = of_name.pop(one.names[0].key[:2], "")
                if not entity_id or entity_id in claimed:
                    entity_id = new_id([Term(one.names[0].name)], taken)
                claimed.add(entity_id)
                taken.add(entity_id)
            entity = entities.get(entity_id, KnownEntity(entity_id, ()))
            entities[entity_id] = _with_rows(entity, one.names, senses)
        return replace(self, entities=tuple(entities.values()))

    def write(self, path: str | Path) -> None:
        """Write JSON lines, whole or not at all."""
        records = [*map(_record, self.entities), *({"never": pair} for pair in self.never)]
        write_json_lines(Path(path), records)


def _pair(one: str, other: str) -> frozenset[str]:
    return frozenset(map(name_key, (one, other)))


def _owner(one: KnownEntity, known: Mapping[str, KnownEntity], of_row: Mapping[str, str]) -> str:
    """The id of a merged entity; empty if it is not known."""
    owners = {of_row[row.id] for row in one.names if row.id in of_row}
    if one.id in known:
        owners.add(one.id)
    if len(owners) > 1:
        names = " / ".join(known[owner].names[0].name for owner in sorted(owners))
        hint = "join their lines in the registry, or delete one of them"
        raise DataError("the plan merges two entities of the registry", value=names, hint=hint)
    return next(iter(owners), one.id)


def _with_rows(
    entity: KnownEntity, rows: Sequence[NameRow], senses: dict[tuple[str, str], dict[int, str]]
) -> KnownEntity:
    """The entity with the names of rows; one that another entity has too is a further sense."""
    names = []
    for row in rows:
        taken = senses[row.key[:2]]
        own = [sense for sense, owner in taken.items() if owner == entity.id]
        sense = min(own) if own else next(sense for sense in count() if sense not in taken)
        taken[sense] = entity.id
        contexts = () if row.id in entity.ids else row.contexts  # a merged row joins those of all
        names.append(row._replace(sense=sense, contexts=contexts, id=""))
    grown = _with_names(entity, names)
    ids = {row.id for row in rows}
    left = dict.fromkeys([*(i for i in entity.ids if i not in ids), rows[0].id])
    canonical = rows[0].name
    return KnownEntity(
        entity.id,
        tuple(sorted(grown.names, key=lambda name: name.name != canonical)),
        tuple(filter(None, left)),
    )


def _with_names(entity: KnownEntity, names: Sequence[NameRow]) -> KnownEntity:
    """The entity with names that it lacks, and with contexts of those that it has."""
    known = {(" ".join(name.name.split()), name.key): name for name in entity.names}
    stored = {(n.key[0], n.sense, text) for n in entity.names for text in n.contexts}
    for new in names:
        old = known.setdefault((new.name, new.key), new._replace(contexts=()))
        more = [t for t in new.contexts if (new.key[0], new.sense, t) not in stored]
        contexts = (*old.contexts, *more)[:CONTEXTS]
        known[new.name, new.key] = old._replace(contexts=contexts)
        stored |= {(new.key[0], new.sense, text) for text in contexts}
    return replace(entity, names=tuple(known.values()))


def _record(entity: KnownEntity) -> dict[str, Any]:
    names = [{field: value for field, value in n._asdict().items() if value} for n in entity.names]
    record = {"id": entity.id, "canonical": entity.names[0].name, "names": names}
    return record | ({"ids": entity.ids} if entity.ids else {})


def read_registry(path: str | Path) -> Registry:
    """Read a registry; a missing file is an empty one."""
    path = Path(path)
    if not path.exists():
        return Registry()
    entities: dict[str, KnownEntity] = {}
    never: dict[frozenset[str], tuple[str, str]] = {}
    line_of: dict[tuple[str, str, int], int] = {}
    row_of: dict[str, str] = {}
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        with skip_broken(path, number, None):
            match parse_json(line):
                case {"never": [str(one), str(other)]} if one.strip() and other.strip():
                    never.setdefault(_pair(one, other), (one, other))
                case {"id": str(entity_id), "names": [_, *_] as names} as record if entity_id:
                    if entity_id in entities:
                        raise DataError("another line has this id", value=entity_id)
                    ids = _parse_ids(record.get("ids", []), row_of, entity_id)
                    entity = KnownEntity(entity_id, tuple(map(_parse_name, names)), ids)
                    for key in {name.key for name in entity.names}:
                        if line_of.setdefault(key, number) != number:
                            problem = f"the entity on line {line_of[key]} has this name"
                            raise DataError(f"{problem}, with this type and sense", value=key[0])
                    entities[entity_id] = entity
                case _:
                    problem = 'expected {"id": "…", "names": [{"name": "…"}, …]} or {"never": […]}'
                    raise DataError(problem, value=line)
    return Registry(tuple(entities.values()), tuple(never.values()))


def _parse_ids(ids: Any, row_of: dict[str, str], entity_id: str) -> tuple[str, ...]:
    """The ids of rows, which no other entity may have."""
    if not isinstance(ids, list) or not all(isinstance(i, str) and i for i in ids):
        raise DataError("expected ids of rows", value=ids)
    for row_id in ids:
        if row_of.setdefault(row_id, entity_id) != entity_id:
            raise DataError("another entity has a row of this id", value=row_id)
    return tuple(ids)


def _parse_name(record: Any) -> NameRow:
    match record:
        case {"name": str(name)} if name.strip() and is_unicode(name):
            type_, sense = record.get("type", ""), record.get("sense", 0)
            contexts = record.get("contexts", [])
            if not isinstance(type_, str) or not is_unicode(type_):
                raise DataError("a type must be a string", value=type_)
            if type(sense) is not int or sense < 0:
                raise DataError("a sense must be a number from 0 on", value=sense)
            if not isinstance(contexts, list) or not all(
                isinstance(text, str) and is_unicode(text) for text in contexts
            ):
                raise DataError("contexts must be a list of strings", value=contexts)
            return NameRow(name, type_, sense, tuple(contexts))
    raise DataError('expected {"name": "…"}', value=json.dumps(record, ensure_ascii=False))


def known_mentions(entities: Sequence[KnownEntity]) -> Iterator[NameRow]:
    """The contexts of known names, as rows of a list."""
    for entity in entities:
        for name in entity.names:
            for text in name.contexts:
                yield name._replace(contexts=(text,))


def known_senses(
    rows: Sequence[NameRow], mentions: Sequence[NameRow], known: Sequence[NameRow]
) -> list[NameRow]:
    """The rows with the senses of known names.

    `rows` and `mentions` have the senses that a model found in both together; `known` are the
    mentions with the senses that they are known to have. A row with a context of a known sense has
    it. Another one has the sense of most mentions that the model takes for the same, or a new one.
    """
    of_context: dict[tuple[str, str], int] = {}
    votes: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    highest: dict[str, int] = {}
    for mention, entry in zip(mentions, known, strict=True):
        name = name_key(entry.name)
        key = name, entry.contexts[0]
        of_context[key] = min(of_context.get(key, entry.sense), entry.sense)
        votes[name, mention.sense][entry.sense] += 1
        highest[name] = max(highest.get(name, 0), entry.sense)
    translated: dict[tuple[str, int], int] = {}
    new: Counter[str] = Counter()
    for name, sense in sorted({(name_key(row.name), row.sense) for row in rows}):
        if name not in highest:
            translated[name, sense] = sense
        elif counts := votes.get((name, sense)):
            translated[name, sense] = min(counts, key=lambda s: (-counts[s], s))
        else:
            new[name] += 1
            translated[name, sense] = highest[name] + new[name]
    return [row._replace(sense=_sense(row, of_context, translated)) for row in rows]


def _sense(
    row: NameRow,
    of_context: Mapping[tuple[str, str], int],
    translated: Mapping[tuple[str, int], int],
) -> int:
    name = name_key(row.name)
    if not row.contexts:
        return 0
    exact = [of_context[name, text] for text in row.contexts if (name, text) in of_context]
    return min(exact) if exact else translated[name, row.sense]
