"""Linking by PubTator's annotations: which entity of a knowledge base an id field means.

A field has one id (`D003110`, `MESH:D003110`, `OMIM:215600`, `672(Tax:9606)`), several
(`D003110|D009369`, `672;675`), a sequence variant (`p|SUB|V|600|E`), or none (`-1`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow.compute as pc

from synsetmine.engines import LocalEngine
from synsetmine.errors import shorten
from synsetmine.types import Document, Link, Mention

if TYPE_CHECKING:
    from synsetmine.kb import KnowledgeBase


Kind = Literal["known", "replaced", "unknown", "several", "variant", "none"]

EXAMPLES = 5
WIDTH = 60  # characters of an id field or surface that are shown

_NO_ID = frozenset({"", "-", "-1", "none", "null", "nil", "cui-less", "cuiless"})
_VARIANT = re.compile(r"(tmVar|HGVS):|[cgmnpr](\|[A-Za-z]+\||\.[0-9A-Z(*?_+-])", re.ASCII)
_SEPARATOR = re.compile(r"[|+,;]")
_TAXON = re.compile(r"\(Tax:[0-9]+\)")  # after the id of a gene
_MESH = re.compile(r"\AMESH:\s*", re.IGNORECASE)
_FAMILY = re.compile(r"([A-Za-z][\w.-]*:)(?!//)|([A-Za-z]*)[0-9]+", re.ASCII)


class PubtatorLinker:
    """Links the mentions that PubTator files mark with one id.

    Mentions with several ids (composite mentions such as "colon and other cancers"), with a
    sequence variant or without an id name no single entity: they are not linked. Ids that the
    knowledge base lacks stay, so that supervision counts them and keeps their surfaces as
    candidates. `id_notes` counts all of these.
    """

    def __init__(self, kb: KnowledgeBase | None = None) -> None:
        self._kb = kb

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        """The mentions of each document, in the order of its text, whatever that of its file."""
        return [tuple(self._linked(document.mentions)) for document in documents]

    def _linked(self, mentions: Iterable[Mention]) -> Iterable[Mention]:
        for mention in sorted(mentions, key=lambda m: (m.start, m.end)):
            entity = read_id_field(mention.entity, self._kb).entity
            if entity is not None:
                yield Mention(mention.start, mention.end, entity)


@dataclass(frozen=True, slots=True)
class IdField:
    """What an id field means; the entity is None if it names no single one."""

    kind: Kind
    entity: str | None = None


def read_id_field(field: str, kb: KnowledgeBase | None = None) -> IdField:
    """What a field means: an entity in use, or the single id that the knowledge base lacks.

    Several ids of one entity, as after records were merged, mean that entity. Without a knowledge
    base every single id is unknown.
    """
    field = field.strip()
    if (known := _find(field, kb)) is not None:
        return known
    if _VARIANT.match(field):
        return IdField("variant")
    ids = [_id(part) for part in _SEPARATOR.split(field)]
    fields = [
        _find(one, kb) or IdField("unknown", one) for one in ids if one.casefold() not in _NO_ID
    ]
    if len({one.entity for one in fields}) > 1:
        return IdField("several")
    return fields[0] if fields else IdField("none")


def id_notes(documents: Path, kb: KnowledgeBase) -> list[str]:
    """Sentences on the id fields of a stored corpus that are not plain ids of `kb`."""
    by_kind: dict[Kind, list[Link]] = {}
    for link in _count_fields(documents):
        kind = read_id_field(link.entity, kb).kind
        by_kind.setdefault(kind, []).append(link)
    notes = _unknown_notes(by_kind.get("unknown", []), kb)
    for kind, sentence in _SENTENCES.items():
        if links := by_kind.get(kind):
            notes.append(_note(links, sentence))
    return notes


_SENTENCES: dict[Kind, str] = {
    "replaced": "ids that were replaced; they are linked to the present ones",
    "several": "several ids; such composite mentions are not linked",
    "variant": "a sequence variant instead of an id; they are not linked",
    "none": "no id; they are not linked",
}


def _id(part: str) -> str:
    """A single id without the prefix `MESH:`, which many files leave out, and without a taxon."""
    return _MESH.sub("", _TAXON.sub("", part.strip())).strip()


def _find(identifier: str, kb: KnowledgeBase | None) -> IdField | None:
    """The entity with this id, with or without the prefix of MeSH, or the one that replaced it."""
    if kb is None:
        return None
    bare = _id(identifier)
    for spelling in dict.fromkeys((identifier, bare, f"MESH:{bare}")):
        if spelling and (entity := kb.current(spelling)) is not None:
            return IdField("known" if entity == spelling else "replaced", entity)
    return None


def _count_fields(documents: Path) -> list[Link]:
    """How often each id field stands in a stored corpus, with its most frequent surface."""
    query = """
        SELECT m.entity AS field, substring(text, m.start + 1, m.end - m.start) AS surface,
            count(*) AS n
        FROM (SELECT text, unnest(mentions) AS m FROM documents)
        GROUP BY field, surface ORDER BY n DESC, surface
    """
    table = LocalEngine(1).sql(query, documents=documents)
    surfaces: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for field, surface, count in zip(*(c.to_pylist() for c in table.columns), strict=True):
        surfaces.setdefault(field, " ".join(surface.split()))
        counts[field] += count
    return [Link(surfaces[field], field, n) for field, n in counts.most_common()]


def _unknown_notes(links: Sequence[Link], kb: KnowledgeBase) -> list[str]:
    """A sentence for each family of ids that the knowledge base lacks, the most frequent first."""
    families: dict[str, list[Link]] = {}
    for link in links:
        families.setdefault(_family(_id(link.entity)), []).append(link)
    mentions = Counter({name: sum(link.count for link in of) for name, of in families.items()})
    return [
        _note(families[name], _unknown_sentence(name, kb)) for name, _ in mentions.most_common()
    ]


def _family(identifier: str) -> str:
    """What ids of one vocabulary share: `OMIM:`, or the letters before a number."""
    match = _FAMILY.match(identifier)
    if match is None:
        return ""
    return match[1] or f"{match[2]}0"


def _unknown_sentence(family: str, kb: KnowledgeBase) -> str:
    letters = re.escape(family.removesuffix("0"))
    pattern = f"^{letters}[0-9]" if family.endswith("0") else f"^{letters}"
    if not family or pc.any(pc.match_substring_regex(kb.ids, pattern)).as_py():
        return "ids that the knowledge base lacks; their surfaces are candidates"
    if family.endswith(":"):
        name = family.removesuffix(":")
        return f"ids of another vocabulary, {name}; their surfaces are candidates"
    return "ids of another format than the knowledge base's; their surfaces are candidates"


def _note(links: Sequence[Link], sentence: str) -> str:
    count = sum(link.count for link in links)
    examples = ", ".join(
        f"{shorten(link.entity, WIDTH) or 'nothing'} ({shorten(link.surface, WIDTH)})"
        for link in links[:EXAMPLES]
    )
    verb = "mention carries" if count == 1 else "mentions carry"
    return f"{count:,} {verb} {sentence}: {examples}"
