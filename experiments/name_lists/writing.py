"""Writes name lists as JSON lines, without held-out entities."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.name_lists.base import NameList, Names
from experiments.name_lists.heldout import read_heldout, without_heldout
from experiments.name_lists.registry import NAME_LISTS


@dataclass(frozen=True)
class ListCounts:
    """What a written list holds."""

    name: str
    entities: int
    synonym_sets: int  # entities with at least two names
    names: int
    left_out: int  # entities with a held-out name

    @classmethod
    def of(cls, name: str, entities: Sequence[Names], left_out: int) -> ListCounts:
        return cls(
            name=name,
            entities=len(entities),
            synonym_sets=sum(len(names) > 1 for names in entities),
            names=sum(map(len, entities)),
            left_out=left_out,
        )


def write_name_lists(
    folder: Path, heldout: Path | None = None, *, lists: Iterable[NameList] = NAME_LISTS
) -> list[ListCounts]:
    """Write `NAME.jsonl.gz` with `{"names": […]}` a line for each list, and `counts.json`.

    `heldout` is a file of hashes; entities with such a name are left out. The counts of lists
    that were written into the folder before stay in `counts.json`.
    """
    hashes = read_heldout(heldout) if heldout else frozenset[str]()
    folder.mkdir(parents=True, exist_ok=True)
    written = [_write(name_list, folder, hashes) for name_list in lists]
    counts = folder / "counts.json"
    records = json.loads(counts.read_text(encoding="utf-8")) if counts.exists() else {}
    records |= {count.name: asdict(count) for count in written}
    counts.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    return written


def _write(name_list: NameList, folder: Path, hashes: frozenset[str]) -> ListCounts:
    loaded = name_list.load()
    entities = without_heldout(loaded, hashes)
    lines = "".join(json.dumps({"names": names}, ensure_ascii=False) + "\n" for names in entities)
    # Without the time in its header, equal lists are equal files.
    packed = gzip.compress(lines.encode(), mtime=0)
    (folder / f"{name_list.name}.jsonl.gz").write_bytes(packed)
    return ListCounts.of(name_list.name, entities, len(loaded) - len(entities))
