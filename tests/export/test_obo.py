"""OBO, read back by fastobo, by pronto and by our own reader."""

from __future__ import annotations

import warnings
from pathlib import Path

import fastobo
import pytest
from hypothesis import given, settings
from pronto.ontology import Ontology

from synsetmine.errors import ErrorCounts
from synsetmine.export import FORMATS, About
from synsetmine.export.entries import evidence_line, names_of, synonym_scope
from synsetmine.export.ontologies import write_obo
from synsetmine.kb import NewName, apply_names, read_kb
from synsetmine.kb.obo import name_clause, obo_problem, synonym_clause
from synsetmine.runs import MinedSet
from tests.support.curationentries import ORCID, entries, explained_set, infarction, nasty, surfaces


def test_the_file_reads_well(tmp_path: Path) -> None:
    path = tmp_path / "x.obo"
    about = About(title="Sets\n!", created="2026-01-31", prefix="MESH", tool="synsetmine 9")
    assert write_obo(path, [infarction(), infarction(None)], about) == [path]
    assert path.read_text("utf-8").partition("\n\n[Term]\nid: synsetmine:s1\n")[0] == (
        "format-version: 1.4\n"
        "data-version: 2026-01-31\n"
        "ontology: synsetmine\n"
        "remark: Sets \\!, by synsetmine 9\n\n"
        "[Term]\n"
        "id: MESH:D009203\n"
        "name: myocardial infarction\n"
        'synonym: "heart attack" EXACT []\n'
        f'synonym: "MI" EXACT [orcid:{ORCID}]\n'
        f'synonym: "infarct" BROAD [orcid:{ORCID}]\n'
        'synonym: "STEMI" NARROW []\n'
        'synonym: "angina" RELATED []\n'
        'synonym: "coronary" RELATED []'
    )


@pytest.mark.parametrize(
    ("entity", "told"),
    [
        ("DOID:14330", "DOID:14330"),
        ("http://www.wikidata.org/entity/Q1", "http://www.wikidata.org/entity/Q1"),
        ("http://example.org/a b", "http://example.org/a%20b"),
        ("D 1!{x}", "kb:D 1!{x}"),
        ("a:b:c", "a:b:c"),
    ],
)
def test_ids_come_back(tmp_path: Path, entity: str, told: str) -> None:
    write_obo(tmp_path / "x.obo", [infarction(entity)], About())
    (frame,) = fastobo.load(str(tmp_path / "x.obo"))
    found = frame.id
    if isinstance(found, fastobo.id.PrefixedIdent):
        assert f"{found.prefix}:{found.local}" == told
    else:
        assert str(found) == told


def test_nasty_terms_come_back(tmp_path: Path) -> None:
    (entry,) = FORMATS["obo"].writable([nasty()], ErrorCounts())
    assert len(entry.terms[1:]) == len(nasty().terms[1:]) - 1  # without the backslash
    write_obo(tmp_path / "x.obo", [entry], About(title='{"} ! \\ title'))
    (frame,) = fastobo.load(str(tmp_path / "x.obo"))
    name, *synonyms = frame
    assert name.name == nasty().terms[0].text
    assert [clause.synonym.desc for clause in synonyms] == [term.text for term in entry.terms[1:]]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unsound encoding", UnicodeWarning)
        ontology = Ontology(str(tmp_path / "x.obo"))
    (term,) = ontology.terms()
    assert (term.id, term.name) == ("kb:D1", nasty().terms[0].text)
    assert {found.description for found in term.synonyms} == {t.text for t in entry.terms[1:]}


@settings(max_examples=80, deadline=None)
@given(sets=entries())
def test_fastobo_reads_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    path = tmp_path_factory.mktemp("obo") / "x.obo"
    sets = FORMATS["obo"].writable(sets, ErrorCounts())
    write_obo(path, sets, About())
    for frame, entry in zip(fastobo.loads(path.read_text("utf-8")), sets, strict=True):
        name, *synonyms = frame
        first, *others = names_of(entry)
        assert name.name == first.text
        assert [(clause.synonym.desc, clause.synonym.scope) for clause in synonyms] == [
            (term.text, synonym_scope(term).upper()) for term in others
        ]


@settings(max_examples=80, deadline=None)
@given(sets=entries())
def test_evidence_is_the_comment_of_a_synonym(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    path = tmp_path_factory.mktemp("obo") / "x.obo"
    sets = FORMATS["obo"].writable(sets, ErrorCounts())
    write_obo(path, sets, About())
    fastobo.loads(text := path.read_text("utf-8"))
    lines = [line for line in text.split("\n") if line.startswith("synonym:")]
    others = [term for entry in sets for term in names_of(entry)[1:]]
    for line, term in zip(lines, others, strict=True):
        evidence = evidence_line(term, About())
        clause = synonym_clause("", "", comment=evidence)
        assert line.endswith(clause.removeprefix('synonym: "" ['))


def test_abbreviations_have_their_type(tmp_path: Path) -> None:
    write_obo(tmp_path / "x.obo", [explained_set()], About())
    document = fastobo.load(str(tmp_path / "x.obo"))
    declared = [c for c in document.header if isinstance(c, fastobo.header.SynonymTypedefClause)]
    assert [(str(c.typedef), c.description) for c in declared] == [("ABBREVIATION", "abbreviation")]
    _, *synonyms = document[0]
    assert [(c.synonym.desc, c.synonym.scope) for c in synonyms] == [
        ("MI", "EXACT"),
        ("Myocardial Infarctions", "EXACT"),
        ("heart attack", "EXACT"),
        ("acute myocardial infarction", "NARROW"),
        ("infarction", "BROAD"),
        ("cerebral infarction", "RELATED"),
    ]
    typed = [c.synonym for c in synonyms if c.synonym.type is not None]
    assert [(s.desc, str(s.type)) for s in typed] == [("MI", "ABBREVIATION")]
    (term,) = Ontology(str(tmp_path / "x.obo")).terms()
    stated = 'synonym: "MI" EXACT ABBREVIATION [] {comment="abbreviation in 399296: Acute '
    assert stated in (tmp_path / "x.obo").read_text("utf-8")
    types = {s.description: s.type.id for s in term.synonyms if s.type is not None}
    assert types == {"MI": "ABBREVIATION"}
    assert "MI" in read_kb(tmp_path / "x.obo").names("kb:D009203")


@pytest.mark.parametrize("declared", ["ABBREVIATION", "abbreviation", "OMO:0003000", ""])
def test_added_abbreviations_have_the_type_that_the_file_declares(
    tmp_path: Path, declared: str
) -> None:
    head = f'synonymtypedef: {declared} "abbreviation" EXACT\n' if declared else ""
    kb = tmp_path / "kb.obo"
    kb.write_text(f"format-version: 1.4\n{head}\n[Term]\nid: X:1\nname: a\n")
    names = [NewName("X:1", "MI", kind="abbreviation"), NewName("X:1", "heart attack")]
    apply_names(kb, tmp_path / "new.obo", names, refused=ErrorCounts())
    (frame,) = fastobo.load(str(tmp_path / "new.obo"))
    types = [c.synonym.type for c in list(frame)[1:]]
    assert [str(kind or "") for kind in types] == [declared, ""]


@given(text=surfaces().filter(lambda text: not obo_problem(text)))
def test_clauses_say_what_fastobo_would_say(text: str) -> None:
    frame = f"[Term]\nid: X:1\n{name_clause(text)}\n{synonym_clause(text, 'exact')}\n"
    (term,) = fastobo.loads(frame)
    assert term[0] == fastobo.term.NameClause(text)
    assert term[1] == fastobo.term.SynonymClause(fastobo.syn.Synonym(text, "EXACT"))


def test_our_own_reader_takes_the_scopes(tmp_path: Path) -> None:
    write_obo(tmp_path / "x.obo", [infarction("DOID:5844")], About())
    exact = ("myocardial infarction", "heart attack", "MI")
    assert read_kb(tmp_path / "x.obo").names("DOID:5844") == exact
    broad = read_kb(tmp_path / "x.obo", scopes=("EXACT", "BROAD")).names("DOID:5844")
    assert broad == (*exact, "infarct")
