"""ROBOT templates, KGCL commands and QuickStatements, read as their documentation tells to.

The readers are independent of the writers: ROBOT is a program in Java that no package index has.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import fastobo
import pytest
from hypothesis import given, settings

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.export import FORMATS, About
from synsetmine.export.entries import new_names, synonym_scope
from synsetmine.kb.base import clean_name
from synsetmine.runs import MinedSet, Sentence
from tests.support.curationentries import ORCID, entries, explained_set, infarction, nasty, term

MESH = About(prefix="MESH", document_prefix="PMID", language="en")
OBO_IN_OWL = "oboInOwl:has{}Synonym"


@dataclass(frozen=True)
class Axiom:
    """An annotation of an entity, with its own annotations."""

    entity: str
    prop: str
    value: str
    annotations: frozenset[tuple[str, str]]


def read_template(path: Path) -> Iterator[Axiom]:
    """What a ROBOT template asserts: `A` annotates the entity, `>A` and `>AI` that annotation."""
    with path.open(encoding="utf-8", newline="") as stream:
        _, templates, *rows = csv.reader(stream, delimiter="\t", strict=True)
    for row in rows:
        (entity,) = (
            cell for cell, template in zip(row, templates, strict=True) if template == "ID"
        )
        column = 0
        while column < len(row):
            match = re.fullmatch(r"A (\S+)", templates[column])
            start, column = column, column + 1
            annotations = set()
            while column < len(row) and templates[column].startswith(">"):
                parsed = re.fullmatch(r">AI? (\S+)(?: SPLIT=(\S+))?", templates[column])
                assert parsed is not None
                prop, separator = parsed.groups()
                values = row[column].split(separator) if separator else [row[column]]
                annotations |= {(prop, value) for value in values if value}
                column += 1
            if match and row[start]:
                yield Axiom(entity, match[1], row[start], frozenset(annotations))
            else:
                assert not annotations


def read_kgcl(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Scope, synonym, language and entity of each command, by the rules of KGCL's grammar."""
    command = re.compile(
        r"create (exact|narrow|broad|related) synonym '([^']*)'"
        r"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*))? for ([A-Za-z0-9_]+:[A-Za-z0-9_]+)"
    )
    for line in text.splitlines():
        match = command.fullmatch(line)
        assert match is not None, line
        yield match[1], match[2], match[3] or "", match[4]


def read_quickstatements(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Item, language, alias and summary of each command of version 1."""
    for line in text.replace("||", "\n").split("\n")[:-1]:
        command, _, summary = line.partition(" /*")
        item, what, alias = command.replace("|", "\t").split("\t")
        assert re.fullmatch(r"Q[1-9]\d*", item)
        assert what[0] == "A"
        assert re.fullmatch(r'"[^"]+"', alias)
        yield item, what[1:], alias[1:-1], summary.removesuffix("*/").strip()


def written(
    name: str, sets: list[MinedSet], folder: Path, about: About = MESH
) -> tuple[Path, ErrorCounts]:
    skipped = ErrorCounts()
    path = folder / f"x{FORMATS[name].ending}"
    FORMATS[name].write(path, FORMATS[name].writable(sets, skipped), about)
    return path, skipped


def test_a_template_reads_well(tmp_path: Path) -> None:
    path, _ = written("robot", [explained_set()], tmp_path)
    header, templates, first, second, *_ = path.read_text("utf-8").splitlines()
    assert header.split("\t")[:6] == [
        *("ID", "label", "exact synonym", "exact source", "exact type", "exact sentence")
    ]
    assert templates.split("\t")[:6] == [
        *("ID", "", "A oboInOwl:hasExactSynonym", ">A oboInOwl:hasDbXref SPLIT=|"),
        *(">AI oboInOwl:hasSynonymType", ">A rdfs:comment"),
    ]
    assert first.split("\t")[:6] == [
        *("MESH:D009203", "Myocardial Infarction", "MI", "PMID:399296"),
        "http://purl.obolibrary.org/obo/OMO_0003000",
        "abbreviation in PMID:399296: Acute myocardial infarction (AMI) is common; myocardial "
        "infarction (MI) too.",
    ]
    assert second.split("\t")[:3] == [
        *("MESH:D009203", "Myocardial Infarction", "Myocardial Infarctions")
    ]


def test_a_template_says_what_the_obo_export_says(tmp_path: Path) -> None:
    sets = [explained_set(), replace(infarction(), id="D1", entity="D1")]
    path, _ = written("robot", sets, tmp_path)
    obo, _ = written("obo", sets, tmp_path)
    axioms = {
        (axiom.entity, axiom.prop, axiom.value, frozenset(xrefs(axiom)))
        for axiom in read_template(path)
    }
    new = {(f"MESH:{entry.entity}", name.text) for entry in sets for name in new_names(entry)}
    expected = {
        (
            str(frame.id),
            OBO_IN_OWL.format(clause.synonym.scope.capitalize()),
            clause.synonym.desc,
            frozenset(str(xref.id) for xref in clause.synonym.xrefs),
        )
        for frame in fastobo.load(str(obo))
        for clause in list(frame)[1:]
        if (str(frame.id), clause.synonym.desc) in new
    }
    assert axioms == expected
    assert len(axioms) == len(new) == 12
    assert {f"orcid:{ORCID}", "PMID:399296"} <= {xref for *_, ids in axioms for xref in ids}


def xrefs(axiom: Axiom) -> set[str]:
    return {value for prop, value in axiom.annotations if prop == "oboInOwl:hasDbXref"}


def test_entities_may_have_addresses(tmp_path: Path) -> None:
    about = About(entities="http://id.nlm.nih.gov/mesh/")
    path, _ = written("robot", [explained_set()], tmp_path, about)
    assert {axiom.entity for axiom in read_template(path)} == {"http://id.nlm.nih.gov/mesh/D009203"}


def test_robot_tells_tables_by_their_ending(tmp_path: Path) -> None:
    for name in ("x.csv", "x.txt", "x.tsv.gz"):
        with pytest.raises(DataError, match=r"ROBOT reads a table with tabs from \.tsv or \.tab"):
            FORMATS["robot"].write(tmp_path / name, [explained_set()], MESH)
        assert not (tmp_path / name).exists()


def test_commands_read_well(tmp_path: Path) -> None:
    path, _ = written("kgcl", [explained_set()], tmp_path, About(prefix="MESH"))
    assert path.read_text("utf-8").splitlines()[:4] == [
        "create exact synonym 'MI' for MESH:D009203",
        "create exact synonym 'Myocardial Infarctions' for MESH:D009203",
        "create exact synonym 'heart attack' for MESH:D009203",
        "create narrow synonym 'acute myocardial infarction' for MESH:D009203",
    ]


def test_what_kgcl_cannot_say_is_counted(tmp_path: Path) -> None:
    quoted = MinedSet("D1", (term("a"), term("Crohn's", 0.9), term("b", 0.9)), "D1", "a")
    address = replace(quoted, id="x", entity="http://example.org/D1")
    known = MinedSet("D2", (term("Down's"), term("c", 0.9)), "D2", "c")
    path, skipped = written("kgcl", [quoted, address, known], tmp_path, About(prefix="MESH"))
    assert path.read_text("utf-8") == (
        "create exact synonym 'b' for MESH:D1\ncreate exact synonym 'c' for MESH:D2\n"
    )
    assert dict(skipped.counts) == {
        "a term with an apostrophe or a backslash, which KGCL cannot quote": 1,
        "an entity whose id makes no CURIE of letters and digits": 1,
    }
    with pytest.raises(DataError, match=r"KGCL needs a prefix of letters and digits: 'a\.b'"):
        FORMATS["kgcl"].write(tmp_path / "y", [known], About(prefix="a.b"))


def test_aliases_of_wikidata(tmp_path: Path) -> None:
    sets = [
        replace(explained_set(), id="1", entity="Q12152"),
        replace(infarction(), id="2", entity="http://www.wikidata.org/entity/Q7"),
        replace(infarction(), id="3", entity="wd:Q8"),
        infarction(),
        infarction(None),
    ]
    path, skipped = written("quickstatements", sets, tmp_path)
    assert path.read_text("utf-8").splitlines()[:4] == [
        'Q12152\tAen\t"MI" /* PMID:399296 */',
        'Q12152\tAen\t"Myocardial Infarctions"',
        'Q12152\tAen\t"heart attack"',
        'Q7\tAen\t"heart attack"',
    ]
    items = [item for item, *_ in read_quickstatements(path.read_text("utf-8"))]
    assert items == ["Q12152"] * 3 + ["Q7"] * 2 + ["Q8"] * 2
    assert dict(skipped.counts) == {
        "a name that is broad, narrow or related, or unsure": 3 + 4 + 4,
        "a set without an id of Wikidata such as Q12152": 2,
    }


def test_quickstatements_need_a_language(tmp_path: Path) -> None:
    entry = replace(explained_set(), entity="Q12152")
    with pytest.raises(DataError, match="need the language of the aliases; give --language"):
        FORMATS["quickstatements"].write(tmp_path / "x", [entry], About())
    about = About(language="pt-BR")
    FORMATS["quickstatements"].write(tmp_path / "x", [entry], about)
    languages = {what for _, what, *_ in read_quickstatements((tmp_path / "x").read_text("utf-8"))}
    assert languages == {"pt-br"}


@pytest.mark.parametrize("name", ["robot", "kgcl", "quickstatements"])
def test_sets_without_new_names_make_no_file(name: str, tmp_path: Path) -> None:
    known = MinedSet("Q1", (term("a"), term("b")), "Q1", "a")
    with pytest.raises(DataError, match="no new names of known entities in these sets"):
        written(name, [known], tmp_path)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=80, deadline=None)
@given(sets=entries())
def test_every_name_comes_back(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    folder = tmp_path_factory.mktemp("changes")
    numbered = [
        replace(entry, entity=None if entry.entity is None else f"Q{number}")
        for number, entry in enumerate((*sets, nasty(), explained_set()), start=1)
    ]
    for name in ("robot", "kgcl", "quickstatements"):
        path, skipped = written(name, numbered, folder)
        kept = FORMATS[name].writable(numbered, ErrorCounts())
        expected = {
            (entry.entity, synonym_scope(one), clean_name(one.text))
            for entry in kept
            for one in new_names(entry)
        }
        assert read_back(name, path) == expected
        count = sum(len(new_names(entry)) for entry in numbered)
        lost = sum(n for problem, n in skipped.counts.items() if "a set" not in problem)
        assert sum(len(new_names(entry)) for entry in kept) <= count
        assert lost or sum(len(new_names(entry)) for entry in kept) == count


def read_back(name: str, path: Path) -> set[tuple[str | None, str, str]]:
    text = path.read_bytes().decode()
    if name == "kgcl":
        rows = ((entity, scope, synonym) for scope, synonym, _, entity in read_kgcl(text))
        return {(entity.removeprefix("MESH:"), scope, synonym) for entity, scope, synonym in rows}
    if name == "quickstatements":
        return {(item, "exact", alias) for item, _, alias, _ in read_quickstatements(text)}
    scope_of = {OBO_IN_OWL.format(scope.capitalize()): scope for scope in SCOPES}
    return {
        (axiom.entity.removeprefix("MESH:"), scope_of[axiom.prop], axiom.value)
        for axiom in read_template(path)
    }


SCOPES = ("exact", "broad", "narrow", "related")


def test_sources_cannot_break_a_command(tmp_path: Path) -> None:
    evil = Sentence("https://x.org/a*/|b", "t", 0, 0, "alias")
    one = replace(term("b", 0.9), evidence=(evil,))
    path, _ = written("quickstatements", [MinedSet("Q1", (term("a"), one), "Q1", "a")], tmp_path)
    ((_, _, alias, summary),) = read_quickstatements(path.read_text("utf-8"))
    assert (alias, summary) == ("b", "https://x.org/a*%2F%7Cb")
    path, _ = written("robot", [MinedSet("Q1", (term("a"), one), "Q1", "a")], tmp_path)
    (axiom,) = read_template(path)
    assert xrefs(axiom) == {"https://x.org/a*/%7Cb"}
