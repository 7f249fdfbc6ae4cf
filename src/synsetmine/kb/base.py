"""The knowledge base: entities, their names and ids, and how one is built."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synsetmine.errors import DataError, ErrorCounts, quantity, raise_or_keep, require_type
from synsetmine.kb.columns import Column, Columns, Strings, join, read_columns, write_columns
from synsetmine.normalization import is_unicode, nfc, normal_form, tokens

LONGEST_DEFINITION = 1_000  # characters that are kept
LONGEST_NAME = 10_000  # characters: what is longer is a text, or a file without line ends
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of a knowledge base: its id, its preferred name and further known names."""

    id: str
    name: str
    names: tuple[str, ...] = ()
    definition: str = ""


def clean_name(name: str) -> str:
    """Composed characters (NFC), one blank for any run of blanks and control characters.

    >>> clean_name("  cafe\\u0301\\tau  lait\\n")
    'café au lait'
    """
    if len(name) > LONGEST_NAME:
        raise DataError(f"a name is longer than {LONGEST_NAME:,} characters", value=name)
    if not name.isascii():
        name = nfc(valid_unicode(name))
    elif name.isprintable() and "  " not in name:
        return name.strip(" ")
    return _BLANKS.sub(" ", name).strip(" ")


def check_id(text: str) -> str:
    """An id as it is, if it is one."""
    if not text or text.isspace():
        raise DataError("an entity needs an id", value=text)
    if any(unicodedata.category(char) == "Cc" for char in text) or "||" in f"|{text}":
        problem = "an id must not contain a tab, line break or '||', or start with '|'"
        raise DataError(problem, value=text)
    return valid_unicode(text)


def valid_unicode(text: str) -> str:
    """The text, unless it holds half a character (a JSON escape such as `\\ud800` makes one)."""
    if not is_unicode(text):
        raise DataError("ids and names must be valid Unicode", value=text)
    return text


_OBO = "http://purl.obolibrary.org/obo/"
_PURL = re.compile(rf"{re.escape(_OBO)}([A-Za-z]\w*)_(\w+)", re.ASCII)
_SHORT = re.compile(r"([A-Za-z]\w*):(\w+)", re.ASCII)


def short_id(iri: str) -> str:
    """`DOID:14330` for `http://purl.obolibrary.org/obo/DOID_14330`; other IRIs stay as they are."""
    match = _PURL.fullmatch(iri)
    return f"{match[1]}:{match[2]}" if match else iri


def long_id(text: str) -> str:
    """The inverse of `short_id`."""
    match = _SHORT.fullmatch(text)
    return f"{_OBO}{match[1]}_{match[2]}" if match else text


# Vocabularies whose ids such as `MONDO:0005148` have a page.
_VOCABULARIES = re.compile(
    r"BTO|CHEBI|CL|DOID|DRUGBANK|EFO|ENSEMBL|FMA|GO|HGNC|HP|ICD1[01]|LOINC|MA|MEDDRA|MESH|MONDO|MP|"
    r"NCBIGENE|NCBITAXON|NCIT|OBI|OMIM|ORPHA(NET)?|PATO|PR|RXNORM|SNOMEDCT|SO|UBERON|UMLS|UNIPROT|"
    r"VO|WIKIDATA|ZFA",
    re.IGNORECASE,
)
_BARE_IDS = {
    re.compile(r"Q[1-9]\d*"): "https://www.wikidata.org/wiki/",
    re.compile(r"D\d{6}(\d{3})?|C\d{9}"): "https://meshb.nlm.nih.gov/record/ui?ui=",
    re.compile(r"C\d{7}"): "https://uts.nlm.nih.gov/uts/umls/concept/",
}


def page_of(entity: str) -> str:
    """The address of a page on an entity, from its id; empty if the id shows none.

    >>> page_of("DOID:14330"), page_of("Q11085"), page_of("my id")
    ('https://bioregistry.io/DOID:14330', 'https://www.wikidata.org/wiki/Q11085', '')
    """
    if re.match(r"https?://[^\s/]", entity):
        return entity
    for pattern, address in _BARE_IDS.items():
        if pattern.fullmatch(entity):
            return address + entity
    match = _SHORT.fullmatch(entity)
    is_known = match is not None and _VOCABULARIES.fullmatch(match[1])
    return f"https://bioregistry.io/{entity}" if is_known else ""


def accepts(language: str, tag: str | None) -> bool:
    """Whether a language tag suits: `en` takes `en`, `en-GB` and no tag at all; `*` takes any.

    >>> accepts("en", "en-GB"), accepts("en-GB", "en"), accepts("en", "enm"), accepts("de", None)
    (True, False, False, True)
    """
    if not tag or language == "*":
        return True
    tag, language = tag.lower(), language.lower()
    return tag == language or tag.startswith(f"{language}-")


IntArray = NDArray[np.int64]


class KnowledgeBuilder:
    """Collects names in any order; it needs the memory of the strings and a few bytes per name.

    A source may have the names of an entity in several records (lines of a table, triples of a
    graph): names with the same id belong together. Names without a letter or digit, and entities
    without any other name, are left out and counted in `skipped`.
    """

    def __init__(self, *, path: Path | None = None, skipped: ErrorCounts | None = None) -> None:
        self.path = path
        self.skipped = skipped
        self._ids = Column()  # one a call of `add`, unless it repeats the one before
        self._last: str | None = None
        self._names, self._forms = Column(), Column()
        self._runs, self._ranks = array("i"), array("b")  # of each name
        self._left_out: set[str] = set()
        self._old, self._new = Column(), Column()
        self._defined, self._definitions = Column(), Column()

    def add(
        self, entity: str, names: Iterable[str], *, rank: int = 0, line: int | None = None
    ) -> None:
        """Note names of an entity; the one with the least rank, then the first, is preferred.

        The first of these names has the given rank, the others one more. If any of them is
        broken, nothing is noted.
        """
        if entity != self._last:
            check_id(entity)
        cleaned = [clean_name(name) for name in names]
        if entity != self._last:
            self._ids.append(entity)
            self._last = entity
        for number, name in enumerate(cleaned):
            if form := normal_form(name):
                self._names.append(name)
                self._forms.append(form)
                self._runs.append(len(self._ids) - 1)
                self._ranks.append(rank + (number > 0))
            else:
                self._skip("a name without a letter or digit", line, name)

    def define(self, entity: str, definition: str) -> None:
        """Note the definition of an entity; the first one stays."""
        text = _BLANKS.sub(" ", definition[: 2 * LONGEST_DEFINITION]).strip()
        if text and is_unicode(text):
            self._defined.append(entity)
            self._definitions.append(text[:LONGEST_DEFINITION])

    def leave_out(self, entity: str) -> None:
        """Drop an entity, with its earlier and later names."""
        self._left_out.add(entity)

    def replace(self, old: str, new: str) -> None:
        """Note that an id now goes by another one; chains are followed."""
        pair = check_id(old), check_id(new)  # both before either is noted
        self._old.append(pair[0])
        self._new.append(pair[1])

    def columns(self, *, merge: bool = False) -> Columns:
        """Build the columns; the builder cannot be used afterwards.

        With `merge`, names of an id that is replaced go to the replacing entity. Otherwise an id
        that has names of its own is an entity, whatever is said to replace it.
        """
        encoded = self._ids.take_all().dictionary_encode()
        ids = encoded.dictionary  # each id once, in the order in which they came
        entity = _numbers(encoded.indices)[np.frombuffer(self._runs, np.int32)]  # (names,)
        alive = self._alive(ids)
        named = alive & _mask(entity, len(ids))
        every, old, step = self._steps(ids, named, merge=merge)
        final = self._follow(every, step)
        if merge:
            entity = np.where(final[entity] < len(ids), final[entity], entity)
        for number in np.flatnonzero(alive & ~named & (step[: len(ids)] == np.arange(len(ids)))):
            self._skip("an entity without a usable name", None, ids[int(number)].as_py())
        usable = alive & _mask(entity, len(ids))
        rows = np.append(np.cumsum(usable) - 1, -1)  # the number of an entity among the usable
        known = np.append(usable, np.zeros(len(every) - len(ids) + 1, np.bool_))  # [-1] is a loop
        old = old[~known[old] & known[final[old]]]
        kept = ids.filter(pa.array(usable))
        return self._sort(
            np.where(known[entity], rows[entity], -1),
            ids=Strings.of(kept),
            definitions=self._by_row(kept),
            replaced=Strings.of(every.take(pa.array(old))),
            replaced_rows=rows[final[old]].astype(np.int32),
        )

    def _by_row(self, ids: Any) -> tuple[NDArray[np.int32], Any]:
        """The rows of the entities with a definition, and their definitions."""
        row = pc.index_in(self._defined.take_all(), value_set=ids)
        rows, first = np.unique(row.fill_null(-1).to_numpy(), return_index=True)
        first = first[rows >= 0]
        return rows[rows >= 0].astype(np.int32), self._definitions.take_all().take(pa.array(first))

    def _alive(self, ids: Any) -> NDArray[np.bool_]:
        left_out = pa.array(sorted(self._left_out), pa.large_string())
        is_out: NDArray[np.bool_] = pc.is_in(ids, value_set=left_out).to_numpy(zero_copy_only=False)
        return ~is_out

    def _steps(
        self, ids: Any, named: NDArray[np.bool_], *, merge: bool
    ) -> tuple[Any, IntArray, IntArray]:
        """All ids, `ids` first; the numbers of the replaced ones; what each is replaced by."""
        encoded = join([ids, self._old.take_all(), self._new.take_all()]).dictionary_encode()
        old, new = np.split(_numbers(encoded.indices)[len(ids) :], 2)
        step = np.arange(len(encoded.dictionary))
        step[old[::-1]] = new[::-1]  # of two replacements of one id the first counts
        if not merge:
            fixed = np.flatnonzero(named)
            step[fixed] = fixed
        replaced = np.zeros(len(step), np.bool_)
        replaced[old] = True
        return encoded.dictionary, np.flatnonzero(replaced), step

    def _follow(self, every: Any, step: IntArray) -> IntArray:
        """Where each id ends up; -1 for those that lead into a loop."""
        final = step
        for _ in range(len(step).bit_length()):  # twice as far in every round
            further = final[final]
            if np.array_equal(further, final):
                break
            final = further
        looping = step[final] != final
        for number in np.flatnonzero(looping).tolist():
            self._skip("replaced ids that form a cycle", None, every[number].as_py())
        return np.where(looping, -1, final)

    def _sort(
        self,
        entity: IntArray,
        *,
        ids: Strings,
        replaced: Strings,
        replaced_rows: NDArray[np.int32],
        definitions: tuple[NDArray[np.int32], Any],
    ) -> Columns:
        """The columns, once the row of each name's entity is known (-1: the name goes)."""
        encoded = self._forms.take_all().dictionary_encode()
        form, forms = _numbers(encoded.indices), encoded.dictionary
        order = np.lexsort((np.frombuffer(self._ranks, np.int8), entity))
        order = order[np.searchsorted(entity[order], 0) :]
        # Of an entity's names with the same normal form the first stays.
        _, first = np.unique(entity[order] * len(forms) + form[order], return_index=True)
        order = order[np.sort(first)]
        entity = entity[order]
        used, form = np.unique(form[order], return_inverse=True)
        name_starts = _starts(entity, len(ids))
        preferred = np.zeros(len(order), np.bool_)
        preferred[name_starts[:-1]] = True
        by_form = np.lexsort((~preferred, form))
        names = self._names.take_all().take(pa.array(order))
        pa.default_memory_pool().release_unused()  # it would keep what the sorting took
        return Columns(
            ids=ids,
            name_starts=name_starts,
            names=names,
            forms=Strings.of(forms.take(pa.array(used))),
            form_starts=_starts(form, len(used)),
            form_entities=entity[by_form].astype(np.int32),
            preferred_forms=form[preferred].astype(np.int32),
            replaced=replaced,
            replaced_rows=replaced_rows,
            defined_rows=definitions[0],
            definitions=definitions[1],
        )

    def _skip(self, problem: str, line: int | None, value: object) -> None:
        if self.skipped is not None:
            self.skipped.append(DataError(problem, path=self.path, line=line, value=value))


def _numbers(indices: Any) -> IntArray:
    numbers: IntArray = indices.to_numpy().astype(np.int64)
    return numbers


def _mask(numbers: IntArray, size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    mask[numbers[numbers >= 0]] = True
    return mask


def _starts(numbers: IntArray, size: int) -> IntArray:
    counts = np.bincount(numbers, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


_NONE: Mapping[str, str] = {}


class KnowledgeBase:
    """Entities with their preferred and other known names, in Arrow and numpy arrays.

    Two names with the same normal form are one name. Entities have rows and normal forms have
    numbers, so a linker can map a form in a text to entities without string operations: the
    entities with a name of form number f are in rows
    `form_entities[form_starts[f] : form_starts[f + 1]]`, those that prefer such a name first.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.ids = columns.ids.array  # of entities by row: a pyarrow array
        self.forms = columns.forms.array  # distinct normal forms by number: a pyarrow array
        self.form_starts = columns.form_starts
        self.form_entities = columns.form_entities
        self.preferred_forms = columns.preferred_forms  # by row: the form of the preferred name

    @classmethod
    def of(
        cls,
        entities: Iterable[Entity],
        *,
        replacements: Mapping[str, str] = _NONE,
        skipped: ErrorCounts | None = None,
    ) -> KnowledgeBase:
        """Build from entities; `replacements` maps retired ids to current ones.

        Entities with the same id are merged; the first preferred name stays. Names without a
        letter or digit are left out, and so are entities without other names; `skipped` counts
        them, and entities with a broken id or name, which otherwise raise a DataError.
        """
        builder = KnowledgeBuilder(skipped=skipped)
        for entity in entities:
            require_type(entity, Entity, "expected entities: Entity(id, name, names)")
            try:
                builder.add(entity.id, (entity.name, *entity.names))
                builder.define(entity.id, entity.definition)
            except DataError as error:
                raise_or_keep(error, skipped)
        for old, new in replacements.items():
            builder.replace(old, new)
        return cls(builder.columns())

    @classmethod
    def load(cls, path: str | Path) -> KnowledgeBase:
        """Open a file of `save`; the arrays are memory-mapped."""
        return cls(read_columns(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write one file, whole or not at all."""
        write_columns(Path(path), self._columns)

    # --- Entities ---

    def __len__(self) -> int:
        return len(self._columns.ids)

    def __repr__(self) -> str:
        size = f"{quantity(len(self), 'entity')}, {quantity(self.name_count, 'name')}"
        return f"KnowledgeBase({size})"

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, str) and self.row(entity) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.ids)

    @property
    def name_count(self) -> int:
        return len(self._columns.names)

    def name(self, entity: str) -> str:
        """The preferred name."""
        name: str = self._columns.names[self._columns.name_starts[self._known_row(entity)]].as_py()
        return name

    def names(self, entity: str) -> tuple[str, ...]:
        """All known names, the preferred one first; no two have the same normal form."""
        start, end = self._columns.name_starts[(row := self._known_row(entity)) : row + 2].tolist()
        return tuple(self._columns.names[start:end].to_pylist())

    def definition(self, entity: str) -> str:
        """What an entity is, in a sentence or two; empty if the source does not say it."""
        row, rows = self.row(entity), self._columns.defined_rows
        place = len(rows) if row is None else int(np.searchsorted(rows, row))
        if place == len(rows) or rows[place] != row:
            return ""
        text: str = self._columns.definitions[place].as_py()
        return text

    def knows(self, entity: str, surface: str) -> bool:
        """Whether a surface is a known name of an entity: the paper's filter of links."""
        return self.known_form(entity, surface) is not None

    def known_form(self, entity: str, surface: str) -> str | None:
        """The normal form under which an entity has this surface as a name, or None.

        A name known as `usa` may be written `USA`, as in the dictionary linker.
        """
        row = self.row(entity)
        for form in (normal_form(surface), " ".join(tokens(surface))):
            number = self.form_number(form)
            if number is not None and row in self._rows(number):
                return form
        return None

    def current(self, entity: str) -> str | None:
        """The id itself if it is known, the id that replaced it, or None."""
        if self.row(entity) is not None:
            return entity
        number = self._columns.replaced.find(entity)
        if number is None:
            return None
        return self._columns.ids[int(self._columns.replaced_rows[number])]

    def retired_ids(self) -> Iterator[tuple[str, str]]:
        """Retired ids, each with the id that replaced it."""
        rows = self._columns.replaced_rows.tolist()
        for old, row in zip(self._columns.replaced, rows, strict=True):
            yield old, self._columns.ids[row]

    # --- Names ---

    def entities_named(self, surface: str) -> tuple[str, ...]:
        """The entities with a name of the same normal form, those that prefer it first."""
        number = self.form_number(normal_form(surface))
        return () if number is None else self.entities_of_form(number)

    # --- Rows and form numbers ---

    def row(self, entity: str) -> int | None:
        """The position of an entity, or None."""
        return self._columns.ids.find(entity)

    def form_number(self, form: str) -> int | None:
        """The position of a normal form in `forms`, or None."""
        return self._columns.forms.find(form)

    def entities_of_form(self, number: int) -> tuple[str, ...]:
        return tuple(self._columns.ids[row] for row in self._rows(number))

    @cached_property
    def ambiguous_forms(self) -> NDArray[np.int64]:
        """The numbers of the forms that more than one entity has."""
        return np.flatnonzero(np.diff(self.form_starts) > 1)

    def _rows(self, number: int) -> list[int]:
        if not 0 <= number < len(self.forms):
            raise IndexError(number)
        start, end = self.form_starts[number : number + 2].tolist()
        rows: list[int] = self.form_entities[start:end].tolist()
        return rows

    def _known_row(self, entity: str) -> int:
        row = self.row(entity)
        if row is None:
            raise DataError("the knowledge base has no such entity", value=entity)
        return row
