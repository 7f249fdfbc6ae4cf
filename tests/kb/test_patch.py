"""New names in the files of knowledge bases: they are there, and all else is untouched."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb import (
    Entity,
    KbFormat,
    KnowledgeBase,
    NewName,
    PatchResult,
    apply_names,
    read_kb,
)
from synsetmine.kb.base import clean_name
from synsetmine.kb.readers import KbFields
from synsetmine.normalization import normal_form
from tests.support.curationentries import surfaces
from tests.support.kbfiles import ALL, OBO, content_of, store

MI = NewName("D1", "heart attack")


def applied(
    kb: Path, *names: NewName, form: KbFormat | None = None
) -> tuple[bytes, dict[str, int]]:
    """The new file and what was refused."""
    refused = ErrorCounts()
    out = kb.with_name(f"new-{kb.name}")
    apply_names(kb, out, names, refused=refused, format=form)
    return out.read_bytes(), dict(refused.counts)


# --- JSON lines -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ('{"id": "D1", "name": "MI", "synonyms": []}', '"synonyms": ["heart attack"]}'),
        ('{"id": "D1", "name": "MI"}', '"name": "MI", "synonyms": ["heart attack"]}'),
        ('{"id":"D1","name":"MI" }', '"name":"MI", "synonyms": ["heart attack"]}'),
        ('{"id":"D1","name":"MI","aliases":null}', '"aliases":["heart attack"]}'),
        (
            '{"synonyms" : [ "x" ,"\\u00e9" ] , "x":1.50,"id":"D1", "name":"MI"}  ',
            '{"synonyms" : [ "x" ,"\\u00e9", "heart attack"] , "x":1.50,"id":"D1", "name":"MI"}  ',
        ),
        (
            '{"id": "D1", "name": "}]", "names": ["]}"], "aliases": ["\\"]"], "z": {"names": []}}',
            '"aliases": ["\\"]", "heart attack"], "z": {"names": []}}',
        ),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_line_of_json_gets_the_name_and_keeps_its_looks(
    tmp_path: Path, line: str, new: str, end: str
) -> None:
    kb = store(tmp_path, f"\ufeff\n{line}{end}", "x.jsonl")
    content, refused = applied(kb, MI)
    assert content.decode().startswith("\ufeff\n")
    assert content.decode().endswith(new + end)
    assert refused == {}
    assert set(read_kb(tmp_path / "new-x.jsonl").names("D1")) >= {"heart attack"}


def test_a_number_is_an_id_too(tmp_path: Path) -> None:
    kb = store(tmp_path, '{"id": 7, "name": "a"}\n{"id": 8, "name": "b"}\n', "x.jsonl")
    content, _ = applied(kb, NewName("7", 'say "é"'))
    assert content.decode() == (
        '{"id": 7, "name": "a", "synonyms": ["say \\"é\\""]}\n{"id": 8, "name": "b"}\n'
    )


def test_what_cannot_be_added_is_counted(tmp_path: Path) -> None:
    lines = (
        '{"id": "D1", "name": "MI", "synonyms": ["Heart-Attack"]}\n{"id": "D2", "name": "usa"}\n'
    )
    kb = store(tmp_path, lines, "x.jsonl")
    refused = ErrorCounts()
    names = [
        MI,
        NewName("D1", "infarct", "broad"),
        NewName("D1", "coronary"),
        NewName("D1", "Coronary"),
        NewName("D1", "++"),
        NewName("D2", "USA"),
        NewName("D3", "x"),
        NewName("D3", "y"),
    ]
    done = apply_names(kb, tmp_path / "y.jsonl", names, refused=refused)
    assert done == PatchResult(names=1, entities=1)
    assert refused.counts == {
        "a name that the entity already has": 3,
        "a name that is not an exact synonym; this format has no others": 1,
        "a name without a letter or digit": 1,
        "a name of an entity that is not in the knowledge base": 2,
    }
    lacking = refused.examples["a name of an entity that is not in the knowledge base"]
    assert [error.value for error in lacking] == ["D3", "D3"]
    assert read_kb(tmp_path / "y.jsonl").names("D1") == ("MI", "Heart-Attack", "coronary")


def test_an_entity_on_two_lines_gets_its_name_on_the_last(tmp_path: Path) -> None:
    lines = '{"id": "D1", "name": "MI"}\n{"id": "D1", "name": "infarct"}\n'
    content, refused = applied(store(tmp_path, lines, "x.jsonl"), MI, NewName("D1", "mi"))
    assert content.decode() == (
        '{"id": "D1", "name": "MI"}\n'
        '{"id": "D1", "name": "infarct", "synonyms": ["heart attack", "mi"]}\n'
    )
    assert refused == {}  # `MI` is written large, so `mi` is another word


def test_a_packed_file_is_read_and_written(tmp_path: Path) -> None:
    line = b'{"id": "D1", "name": "MI"}\n'
    kb = store(tmp_path, gzip.compress(line), "x.jsonl.gz")
    content, _ = applied(kb, MI)
    assert gzip.decompress(content) == line.replace(b"}", b', "synonyms": ["heart attack"]}')
    apply_names(kb, kb, [MI], refused=ErrorCounts())  # in its own place
    assert gzip.decompress(kb.read_bytes()) == gzip.decompress(content)


# --- Tables -----------------------------------------------------------------------------------


def test_a_table_with_a_row_a_name_gets_rows(tmp_path: Path) -> None:
    table = 'id,name,preferred,"more\nthings"\r\nD2,"a, b",yes,1\r\n\r\nD1,MI,no,\r\nD2,c,,\r\n'
    kb = store(tmp_path, table, "x.csv")
    content, refused = applied(kb, MI, NewName("D2", 'say "x"'), NewName("D2", "c"))
    assert content.decode() == (
        'id,name,preferred,"more\nthings"\r\nD2,"a, b",yes,1\r\n\r\nD1,MI,no,\r\n'
        'D1,heart attack,,\r\nD2,c,,\r\nD2,"say ""x""",,\r\n'
    )
    assert refused == {"a name that the entity already has": 1}
    assert content_of(read_kb(tmp_path / "new-x.csv")) == {
        "D2": ("a, b", "c", 'say "x"'),
        "D1": ("MI", "heart attack"),
    }


def test_a_last_row_without_an_end_stays_without(tmp_path: Path) -> None:
    content, _ = applied(store(tmp_path, "id,name\nD1,MI", "x.csv"), MI, NewName("D1", "y"))
    assert content == b"id,name\nD1,MI\nD1,heart attack\nD1,y"


def test_a_table_with_a_column_of_names_gets_them_there(tmp_path: Path) -> None:
    table = "\ufeffID;Name;Synonyms;x\n\nD1; MI ;a|b;1\nD2;y;;2\n"
    kb = store(tmp_path, table, "x.csv")
    names = [MI, NewName("D2", "p;q"), NewName("D2", "r"), NewName("D2", "s|t")]
    content, refused = applied(kb, *names)
    assert content.decode() == (
        '\ufeffID;Name;Synonyms;x\n\nD1; MI ;a|b|heart attack;1\nD2;y;"p;q|r";2\n'
    )
    assert refused == {"a name with '|', which separates the names here": 1}


def test_a_table_with_columns_of_other_names(tmp_path: Path) -> None:
    fields = KbFields.of(id_field="term", name_field="term", names_field=["also"], separator=";")
    kb = store(tmp_path, "term,also\nMI,a; b\ny,\n", "x.csv")
    names = [NewName("MI", "heart attack"), NewName("y", "s|t"), NewName("y", "u;v")]
    refused = ErrorCounts()
    apply_names(kb, tmp_path / "new.csv", names, refused=refused, fields=fields)
    assert (tmp_path / "new.csv").read_text() == "term,also\nMI,a; b;heart attack\ny,s|t\n"
    assert refused.counts == {"a name with ';', which separates the names here": 1}
    kb = store(tmp_path, '{"key": "D1", "label": "MI", "alt": ["a"]}\n', "x.jsonl")
    fields = KbFields.of(id_field="key", name_field="label", names_field=["alt"])
    apply_names(kb, tmp_path / "new.jsonl", [MI], refused=ErrorCounts(), fields=fields)
    assert '"alt": ["a", "heart attack"]' in (tmp_path / "new.jsonl").read_text()


def test_a_table_with_tabs(tmp_path: Path) -> None:
    kb = store(tmp_path, 'id\tname\tnames\nD1\t"M ""I"""\ta "b" c\n\nD2\tx\t\n', "x.tsv")
    content, _ = applied(kb, MI, NewName("D2", "y"))
    assert content.decode().endswith("\n\nD2\tx\ty\n")
    assert content_of(read_kb(tmp_path / "new-x.tsv")) == {
        "D1": ('M "I"', 'a "b" c', "heart attack"),
        "D2": ("x", "y"),
    }


# --- OBO --------------------------------------------------------------------------------------


def test_a_term_gets_synonyms_of_every_scope(tmp_path: Path) -> None:
    kb = store(tmp_path, OBO, "x.obo")
    names = [
        NewName("DOID:14330", 'say "é" \\ x', "broad", ("orcid:0000-0002-1825-0097",)),
        NewName("DOID:14330", "shaking palsy"),
        NewName("DOID:14330", "pd", "narrow"),
        NewName("DOID:14330", "backslash\\"),
    ]
    content, refused = applied(kb, *names)
    added = (
        'synonym: "say \\"é\\" \\\\ x" BROAD [orcid:0000-0002-1825-0097]\n'
        'synonym: "shaking palsy" EXACT []\n'
        'synonym: "pd" NARROW []\n'
    )
    assert content.decode().replace(added, "") == OBO
    assert refused == {"a term with a backslash at its end": 1}
    lines = content.decode().splitlines()
    place = lines.index('synonym: "shaking palsy" EXACT []')
    assert "synonym:" in lines[place - 2]
    assert not lines[place + 2].startswith("synonym")
    exact = read_kb(tmp_path / "new-x.obo").names("DOID:14330")
    assert exact == (*read_kb(kb).names("DOID:14330"), "shaking palsy")


def test_a_term_without_synonyms_gets_them_where_the_format_has_them(tmp_path: Path) -> None:
    frames = (
        '[Term]\r\nid: http://purl.obolibrary.org/obo/X_1\r\nname: a\r\ndef: "d" []\r\n'
        "is_a: X:2\r\n\r\n[Typedef]\r\nid: X:2\r\n\r\n[Term]\r\nid: X:3\r\nname: b"
    )
    kb = store(tmp_path, frames, "x.obo")
    content, refused = applied(
        kb, NewName("X:1", "new"), NewName("X:2", "of no term"), NewName("X:3", "c")
    )
    assert content.decode() == frames.replace(
        'def: "d" []\r\n', 'def: "d" []\r\nsynonym: "new" EXACT []\r\n'
    ) + ('\r\nsynonym: "c" EXACT []\r\n')
    assert refused == {"a name of an entity that is not in the knowledge base": 1}


def test_an_obsolete_term_is_no_entity(tmp_path: Path) -> None:
    frames = "[Term]\nid: X:1\nname: a\nis_obsolete: true\n"
    content, refused = applied(store(tmp_path, frames, "x.obo"), NewName("X:1", "new"))
    assert content.decode() == frames
    assert refused == {"a name of an entity that is not in the knowledge base": 1}


# --- All of them ------------------------------------------------------------------------------


def as_jsonl(entities: list[Entity]) -> str:
    records = ({"id": e.id, "name": e.name, "synonyms": e.names} for e in entities)
    return "".join(json.dumps(record) + "\n" for record in records)


def as_rows(entities: list[Entity]) -> str:
    stream = io.StringIO()
    rows = ((e.id, name) for e in entities for name in (e.name, *e.names))
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("id", "name"), *rows])
    return stream.getvalue()


def as_column(entities: list[Entity]) -> str:
    stream = io.StringIO()
    rows = ((e.id, e.name, "|".join(e.names)) for e in entities)
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("id", "name", "synonyms"), *rows])
    return stream.getvalue()


def as_obo(entities: list[Entity]) -> str:
    frames = (
        f"[Term]\nid: X:{e.id}\nname: {e.name}\n"
        + "".join(f'synonym: "{name}" EXACT []\n' for name in e.names)
        for e in entities
    )
    return "format-version: 1.4\n\n" + "\n".join(frames)


words = st.text("abcde ", min_size=1, max_size=6).filter(lambda text: normal_form(text) != "")
knowledge = st.lists(
    st.builds(Entity, st.sampled_from("123456"), words, st.lists(words, max_size=3).map(tuple)),
    min_size=1,
    max_size=6,
    unique_by=lambda entity: entity.id,
)
new_names = st.lists(st.tuples(st.sampled_from("12345678"), surfaces() | words), max_size=8)


@pytest.mark.parametrize(
    ("write", "ending", "before"),
    [(as_jsonl, "jsonl", ""), (as_rows, "csv", ""), (as_column, "csv", ""), (as_obo, "obo", "X:")],
)
@settings(max_examples=40, deadline=None)
@given(entities=knowledge, wanted=new_names)
def test_the_new_names_are_there_and_nothing_else_is_new(
    tmp_path_factory: pytest.TempPathFactory,
    write: object,
    ending: str,
    before: str,
    entities: list[Entity],
    wanted: list[tuple[str, str]],
) -> None:
    assert callable(write)
    folder = tmp_path_factory.mktemp("kb")
    kb, out = store(folder, write(entities), f"x.{ending}"), folder / f"y.{ending}"
    names = [NewName(before + entity, name) for entity, name in wanted]
    refused = ErrorCounts()
    done = apply_names(kb, out, names, refused=refused)
    old, new = read_kb(kb), read_kb(out)
    assert list(new) == list(old)
    added = {entity: set(new.names(entity)) - set(old.names(entity)) for entity in old}
    for entity in old:
        assert new.name(entity) == old.name(entity)
        assert set(new.names(entity)) >= set(old.names(entity))
        assert added[entity] <= {clean_name(n.name) for n in names if n.entity == entity}
    assert sum(map(len, added.values())) == done.names == len(names) - len(refused)
    for name in names:
        if name.entity in new and _can_be_held(name.name, write):
            clean = clean_name(name.name)
            assert new.knows(name.entity, clean) or not normal_form(clean)
    again = ErrorCounts()
    assert apply_names(out, folder / "z", names, refused=again, format=_form(ending)).names == 0
    assert (folder / "z").read_bytes() == out.read_bytes()
    assert apply_names(kb, folder / "w", [], refused=again, format=_form(ending)).names == 0
    assert (folder / "w").read_bytes() == kb.read_bytes()


def _can_be_held(name: str, write: object) -> bool:
    if write is as_column and "|" in name:
        return False
    return write is not as_obo or not clean_name(name).endswith("\\")


def _form(ending: str) -> KbFormat:
    forms: dict[str, KbFormat] = {"jsonl": "jsonl", "csv": "csv", "obo": "obo"}
    return forms[ending]


def test_other_forms_and_broken_files_are_reported(tmp_path: Path) -> None:
    KnowledgeBase.of([Entity("a", "b")]).save(tmp_path / "kb.arrow")
    with pytest.raises(DataError, match="of the formats jsonl, csv, tsv, obo; this is saved"):
        applied(tmp_path / "kb.arrow", MI)
    for name, content, problem in (
        ("x.jsonl", b'{"id": "D1", "name": "x"}\n{"id"', ":2: not JSON"),
        ("x.jsonl", b'{"id": "D1", "name": "\xff"}', ":1: not UTF-8"),
        ("x.jsonl", b'{"id": "D1", "name": "\\ud800"}', ":1: ids and names must be valid Unicode"),
        ("x.csv", b"x,y\n1,2\n", ":1: expected a header with the columns 'id' and 'name'"),
        ("x.csv", b'id,name\nD1,"a"b\n', ":2: malformed row"),
        ("x.tsv", b"id\tname\nD1\n", ":2: a row with more or fewer fields than the header"),
        ("x.obo", b'[Term]\nid: X:1\nname: a\nsynonym: "b EXACT []\n', ":4: not OBO"),
    ):
        kb = store(tmp_path, content, name)
        with pytest.raises(DataError) as caught:
            applied(kb, MI)
        assert str(caught.value).startswith(f"{kb}{problem}"), caught.value
        assert not (tmp_path / f"new-{name}").exists()


def test_all_scopes_of_an_ontology_count_as_known(tmp_path: Path) -> None:
    kb = store(tmp_path, OBO, "x.obo")
    every = read_kb(kb, scopes=ALL).names("DOID:14330")
    content, refused = applied(kb, *(NewName("DOID:14330", name) for name in every))
    assert content.decode() == OBO
    assert refused == {"a name that the entity already has": len(every)}
