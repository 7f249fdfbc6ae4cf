"""Targets: sets, vocabularies and links; vectors; knowledge bases as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fuzz.target import Form, Target, both_ways, folder, require
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.io.sets import check_ids, read_sets, read_vocabulary, write_sets
from synsetmine.kb import Entity, KnowledgeBase, NewName, apply_names, read_kb
from synsetmine.linking.supervision import read_links, write_links
from synsetmine.types import KbFormat, Link, SynonymSets, Term
from synsetmine.views import TermVectors, read_vectors, write_vectors

SETS = SynonymSets.of(
    [
        [Term("New York", "Q60"), Term('N.Y.\'s "big" apple')],
        [Term("café"), Term("a|b")],
        [Term("x")],
    ],
    ["c0", "E:1", "s2"],
)
VECTORS = TermVectors(
    (Term("paris"), Term("lutetia", "m.05"), Term("été")),
    np.array([[1, -2.5, 0], [3e-40, 7, 1e30], [0, 0, -0.0]], np.float32),
)


def bytes_of(write: Callable[[Path], object], name: str) -> bytes:
    """What one of the program's writers makes."""
    path = folder("examples") / name
    write(path)
    return path.read_bytes()


# --- Sets, vocabularies, links ---


def _check_sets(path: Path) -> None:
    found: SynonymSets = both_ways(lambda skipped: read_sets(path, skipped=skipped))
    for ending in ("jsonl", "set"):
        other = path.with_name(f"again.{ending}")
        try:
            check_ids(other, found.ids)
        except DataError:
            continue  # blanks in ids, which one of the forms can hold
        write_sets(other, found)
        require(read_sets(other) == found, f"sets that are another when written as .{ending}")


def _check_vocabulary(path: Path) -> None:
    found = both_ways(lambda skipped: read_vocabulary(path, skipped=skipped))
    require(found.counts.keys() <= set(found.terms), "a count without its term")


def _check_links(path: Path) -> None:
    found = read_links(path)
    again = path.with_name("again.tsv")
    write_links(again, found)
    require(read_links(again) == found, "links that are others when they are written")


SET_FILES = Target(
    "sets",
    (
        Form("a.set", _check_sets, lambda: [bytes_of(lambda p: write_sets(p, SETS), "a.set")]),
        Form("a.jsonl", _check_sets, lambda: [bytes_of(lambda p: write_sets(p, SETS), "a.jsonl")]),
        Form("a.tsv", _check_vocabulary, lambda: ["paris\t7\nlutetia||m.05\t2\nété\n".encode()]),
        Form(
            "links.tsv",
            _check_links,
            lambda: [bytes_of(lambda p: write_links(p, [Link("a b", "Q1", 3)]), "links.tsv")],
        ),
    ),
    words=("||", "{'", "', '", '", "', "'}", "\\x41", "\\u0041", "\\N{BULLET}", '"id"', '"terms"'),
)


# --- Vectors ---


def _check_vectors(path: Path) -> None:
    found: TermVectors = both_ways(
        lambda skipped: _Vectors(read_vectors(path, skipped=skipped))  # type: ignore[arg-type]
    ).table
    require(path.suffix == ".safetensors" or bool(np.isfinite(found.matrix).all()), "not finite")
    again = path.with_name("again.safetensors")
    write_vectors(again, found)
    require(
        _Vectors(read_vectors(again)) == _Vectors(found), "vectors that are others when written"
    )


class _Vectors:
    """Vectors that compare by terms and bits."""

    def __init__(self, table: TermVectors) -> None:
        self.table = table

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Vectors)
            and self.table.terms == other.table.terms
            and self.table.matrix.tobytes() == other.table.matrix.tobytes()
        )

    __hash__ = None  # type: ignore[assignment]


def _vector_form(name: str) -> Form:
    return Form(name, _check_vectors, lambda: [bytes_of(lambda p: write_vectors(p, VECTORS), name)])


VECTOR_FILES = Target(
    "vectors",
    (
        _vector_form("a.txt"),
        _vector_form("a.bin"),
        _vector_form("a.safetensors"),
        Form("glove.txt", _check_vectors, lambda: [b"the 0.1 -2 3\nnew york 1 2 3e-5\n"]),
    ),
    words=("1e999", "nan", "inf", "3 3\n", '"F32"', '"shape":[3,3]', '"data_offsets":[0,0]', "1_0"),
)


# --- Knowledge bases as tables ---

Content = tuple[dict[str, tuple[str, ...]], list[tuple[str, str]]]


def kb_content(kb: KnowledgeBase) -> Content:
    """All that a knowledge base says, by its questions and back."""
    names = {entity: kb.names(entity) for entity in kb}
    for entity, own in names.items():
        require(kb.name(entity) == own[0], "a preferred name that is not the first")
        require(all(entity in kb.entities_named(name) for name in own), "a name that is not found")
    replaced = sorted(kb.retired_ids())
    require(all(kb.current(old) == new for old, new in replaced), "a replaced id that is not found")
    return names, replaced


def kb_check(path: Path, form: KbFormat | None = None, **options: object) -> Content:
    """Read a knowledge base of any form; what is saved of it loads the same."""

    def read(skipped: ErrorCounts | None) -> Content:
        kb = read_kb(path, format=form, skipped=skipped, **options)  # type: ignore[arg-type]
        found = kb_content(kb)
        if skipped is not None:
            saved = path.with_name("saved.arrow")
            kb.save(saved)
            require(kb_content(KnowledgeBase.load(saved)) == found, "another when it is saved")
        return found

    return both_ways(read)


def check_new_names(path: Path, form: KbFormat) -> None:
    """Names go into a copy of the file, in which all else stays."""
    names, replaced = kb_check(path, form)
    read_kb(path, format=form)  # names are put into sound files only
    wanted = [NewName(entity, f"zq{number}") for number, entity in enumerate(names)][:3]
    refused, out = ErrorCounts(), path.with_name(f"new-{path.name}")
    applied = apply_names(path, out, wanted, refused=refused, format=form)
    require(applied.names + len(refused) == len(wanted), "a name that is neither in nor refused")
    after, still = kb_content(read_kb(out, format=form))
    require(still == replaced and after.keys() == names.keys(), "other entities")
    added = {name for own in after.values() for name in own} - {
        name for own in names.values() for name in own
    }
    require(len(added) == applied.names, "names that were not added, or others")
    require(all(set(names[e]) <= set(after[e]) for e in names), "a name is lost")


_ENTITIES = (
    {"id": "D1", "name": "Parkinson disease", "synonyms": ["PD", "shaking palsy"]},
    {"id": 2, "name": "café", "aliases": None, "names": []},
)


def _jsonl() -> Sequence[bytes]:
    return ["".join(json.dumps(entity) + "\n" for entity in _ENTITIES).encode()]


TABLES = Target(
    "kb-tables",
    (
        Form("a.jsonl", lambda p: check_new_names(p, "jsonl"), _jsonl),
        Form(
            "a.csv",
            lambda p: check_new_names(p, "csv"),
            lambda: [
                b'id,name,synonyms\nD1,"Parkinson, J.",PD|shaking palsy\nD2,b,\n',
                b"id;name;preferred\r\nD1;PD;no\r\nD1;Parkinson;yes\r\n",
            ],
        ),
        Form(
            "a.tsv",
            lambda p: check_new_names(p, "tsv"),
            lambda: [b'id\tname\tsynonyms\nD1\tPD\t"shaking"|palsy\n', b"id\tname\nD1\ta\nD1\tb\n"],
        ),
        Form(
            "saved.kb",
            lambda p: require(bool(kb_check(p, "saved")), "empty"),
            lambda: [bytes_of(KnowledgeBase.of([Entity("D1", "a", ("b",))]).save, "saved.kb")],
        ),
    ),
    words=('"id"', '"name"', '"synonyms"', "id,name\n", "preferred", "yes", '""', '"\n', "\\ud800"),
)
