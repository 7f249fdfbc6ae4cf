"""Linkers: by the names of a knowledge base, by PubTator's ids, and by the links of a wiki.

A PubTator field has one id (`D003110`, `MESH:D003110`, `OMIM:215600`, `672(Tax:9606)`), several
(`D003110|D009369`, `672;675`), a sequence variant (`p|SUB|V|600|E`), or none (`-1`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError, shorten
from synsetmine.kb import KnowledgeBase
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import Document, Link, Mention

IntArray = NDArray[np.int64]


class Linker(Protocol):
    """Finds where documents name entities."""

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        """The mentions in each document, in the order of the text.

        The same documents give the same mentions, however they are divided into batches.
        """
        ...


class MarkedLinker:
    """Takes the mentions that the documents carry.

    The corpus reader puts them there: from a MediaWiki dump the links that authors set. PubTator
    files have fields of ids instead, which `PubtatorLinker` reads.

    With a knowledge base, an id that it has replaced (a merged record, a redirect) becomes the
    one in use. Ids that it does not know stay as they are, so that supervision can count them.
    """

    def __init__(self, kb: KnowledgeBase | None = None) -> None:
        self._kb = kb

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        return [tuple(_resolve(document.mentions, self._current)) for document in documents]

    def _current(self, entity: str) -> str:
        current = self._kb.current(entity) if self._kb is not None else None
        return entity if current is None else current


def _resolve(
    mentions: Iterable[Mention], entity_of: Callable[[str], str | None]
) -> Iterator[Mention]:
    """The mentions of entities, in the order of their text, not of their file."""
    for mention in sorted(mentions, key=lambda m: (m.start, m.end)):
        if (entity := entity_of(mention.entity)) is not None:
            yield Mention(mention.start, mention.end, entity)


class DictionaryLinker:
    """Links names, the leftmost first and of those the longest, to the entities that have them.

    A name that several entities have is left out (`skip`) or linked to each of them (`senses`);
    `resolve_common` then keeps the most common one.

    Names of a single character, whitespace not counted, and names without a letter (`1984`,
    `3 4`) are never linked: in running text they hardly ever mean the entity. Whatever is left
    out still takes its place in the text: no shorter name is linked within it.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        *,
        ambiguous: Literal["skip", "senses"] = "skip",
        compounds: bool = False,
        matcher: NameMatcher | None = None,
    ) -> None:
        if matcher is None:
            matcher = NameMatcher.build(kb.forms)
        elif not matcher.is_built_from(kb.forms):
            raise DataError("this matcher was built from the names of another knowledge base")
        self._kb, self._matcher, self._ambiguous = kb, matcher, ambiguous
        self._compounds = compounds
        self._files: tuple[Path, Path] | None = None
        self._starts, self._rows = self._targets()

    @classmethod
    def open(
        cls,
        knowledge: Path,
        names: Path,
        *,
        ambiguous: Literal["skip", "senses"] = "skip",
        compounds: bool = False,
    ) -> DictionaryLinker:
        """Open a saved knowledge base and the matcher of its names, which worker processes share.

        The matcher is built and saved if there is none yet, or one of other names. To a worker
        process only the two paths travel.
        """
        kb = KnowledgeBase.load(knowledge)
        matcher = NameMatcher.load(names) if names.exists() else None
        if matcher is None or not matcher.is_built_from(kb.forms):
            matcher = NameMatcher.build(kb.forms)
            matcher.save(names)
        linker = cls(kb, ambiguous=ambiguous, compounds=compounds, matcher=matcher)
        linker._files = (knowledge.absolute(), names.absolute())
        return linker

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        texts = [document.text for document in documents]
        matches = self._matcher.find(texts, compounds=self._compounds)
        first, end = self._starts[matches.form], self._starts[matches.form + 1]
        match = np.repeat(np.arange(len(matches)), end - first)  # (mentions,)
        # Counted from the last mention of its match, for which this is `end - 1`.
        target = end[match] + np.arange(len(match)) - np.cumsum(end - first)[match]
        rows, which = np.unique(self._rows[target], return_inverse=True)
        ids = self._kb.ids.take(rows).to_pylist()
        mentions = list(
            map(
                Mention,
                matches.start[match].tolist(),
                matches.end[match].tolist(),
                map(ids.__getitem__, which.tolist()),
            )
        )
        borders = np.searchsorted(matches.text[match], np.arange(len(documents) + 1)).tolist()
        return [tuple(mentions[start:end]) for start, end in pairwise(borders)]

    def _targets(self) -> tuple[IntArray, NDArray[np.int32]]:
        """Which entities each form links to: form f to rows[starts[f] : starts[f + 1]]."""
        starts, rows = self._kb.form_starts, self._kb.form_entities
        sizes = np.diff(starts)
        form = np.repeat(np.arange(len(sizes)), sizes)  # (rows,)
        kept = _linkable(self._kb.forms)[form]
        if self._ambiguous == "skip":
            kept &= (sizes == 1)[form]
        ends = np.cumsum(np.bincount(form[kept], minlength=len(sizes)))
        return np.append(0, ends), rows[kept]

    def __reduce__(self) -> tuple[object, ...]:
        options: dict[str, Any] = {"ambiguous": self._ambiguous, "compounds": self._compounds}
        if self._files is not None:
            return partial(DictionaryLinker.open, **options), self._files
        return partial(DictionaryLinker, matcher=self._matcher, **options), (self._kb,)


def _linkable(forms: Any) -> NDArray[np.bool_]:
    """Which forms are long enough and have a letter."""
    length = pc.utf8_length(pc.replace_substring(forms, " ", ""))
    has_letter: NDArray[np.bool_] = _numpy(pc.match_substring_regex(forms, "[A-Za-z]"))
    others = np.flatnonzero(~has_letter)  # few where names are in Latin letters
    for number, form in zip(others.tolist(), forms.take(others).to_pylist(), strict=True):
        has_letter[number] = any(map(str.isalpha, form))
    return has_letter & (_numpy(length) > 1)


def _numpy(array: Any) -> NDArray[Any]:
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


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
        return [tuple(_resolve(document.mentions, self._entity)) for document in documents]

    def _entity(self, field: str) -> str | None:
        return read_id_field(field, self._kb).entity


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
    """How often each id field occurs in a stored corpus, with its most frequent surface."""
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
