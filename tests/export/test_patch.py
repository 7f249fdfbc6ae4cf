"""New names for known entities: the table, how it is read again, and both commands."""

from __future__ import annotations

import csv
import gzip
import json
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

from synsetmine.cli import app
from synsetmine.corpus.documents import write_documents
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.export import FORMATS, About, ontologies, tables
from synsetmine.export.entries import names_of, new_names
from synsetmine.export.tables import (
    GILDA_COLUMNS,
    PATCH_COLUMNS,
    SSSLM_COLUMNS,
    read_patch,
    with_sentences,
    write_patch,
)
from synsetmine.io.sets import Decision, write_sets, write_trace
from synsetmine.io.tables import unescape_formula
from synsetmine.kb import Entity, KnowledgeBase, NewName, read_kb
from synsetmine.kb.base import clean_name
from synsetmine.normalization import normal_form
from synsetmine.runs import MinedSet, Sentence
from synsetmine.runs.folder import FORMAT, Artefacts
from synsetmine.types import Document, SynonymSets, Term
from tests.cli.test_cli import synsetmine
from tests.support.corpusfiles import store_places
from tests.support.curationentries import (
    NASTY,
    ORCID,
    WHEN,
    entries,
    explained_set,
    infarction,
    nasty,
    term,
)

DOCS = Path(__file__).parents[2] / "docs"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", strict=True))


def read(path: Path, *, reviewed: bool = False) -> tuple[list[NewName], dict[str, int]]:
    refused = ErrorCounts()
    return list(read_patch(path, refused=refused, reviewed=reviewed)), dict(refused.counts)


# --- The table --------------------------------------------------------------------------------


def test_new_names_stand_there_the_surest_first(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    sentence = Sentence("d1", "A heart attack, they said.", 2, 14)
    shown = with_sentences([infarction(), infarction(None)], {"heart attack": [sentence]})
    assert write_patch(path, shown, About()) == [path]
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "\t".join(PATCH_COLUMNS)
    entity = "D009203\tMyocardial Infarction\t"
    assert lines[1:] == [
        f"{entity}heart attack\t\t\t\texact\t0.97\t40\tyes\t\t\t\t\td1\tA heart attack, they said.",
        f"{entity}STEMI\t\t\t\tnarrow\t0.9\t1\tno\tcorrect\tBo | Co\t{WHEN}\t\t\t",
        f"{entity}MI\t\t\t\texact\t0.8\t1\tno\tcorrect\thttps://orcid.org/{ORCID}\t{WHEN}\t\t\t",
        f"{entity}infarct\t\t\t\tbroad\t0.6\t1\tno\tcorrect\t{ORCID}\t{WHEN}\t\t\t",
        f"{entity}angina\t\t\t\trelated\t0.55\t1\tno\tcorrect\tAnn\t{WHEN}\t\t\t",
        f"{entity}coronary\t\t\t\texact\t0.512346\t1\tno\tunsure\tAnn\t{WHEN}\t\t\t",
    ]
    assert [found.text for found in new_names(shown[0])] == [
        *("heart attack", "MI", "infarct", "STEMI", "angina", "coronary"),
    ]


def test_kind_relation_and_the_evidence_before_an_example(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    example = Sentence("d9", "An MI and an infarction.", 3, 5)
    shown = with_sentences([explained_set()], {"MI": [example], "infarction": [example]})
    write_patch(path, shown, About())
    rows = {row["new_name"]: row for row in rows_of(path)}
    found = rows["MI"]
    assert (found["kind"], found["relation"], found["scope"]) == ("abbreviation", "exact", "exact")
    assert (found["nearest"], found["evidence"]) == ("Infarction, Myocardial", "abbreviation")
    assert found["document"] == "399296"
    assert found["sentence"].startswith("Acute myocardial infarction (AMI) is common; ")
    found = rows["infarction"]
    assert (found["relation"], found["scope"], found["evidence"]) == ("broad", "broad", "")
    assert (found["document"], found["sentence"]) == ("d9", example.text)
    found = rows["cerebral infarction"]
    assert (found["relation"], found["scope"]) == ("broad", "related")  # a person's word counts

    names, refused = read(path)
    assert not refused
    assert {name.name: (name.kind, name.scope) for name in names} == {
        "MI": ("abbreviation", "exact"),
        "Myocardial Infarctions": ("inflection", "exact"),
        "heart attack": ("other-words", "exact"),
        "acute myocardial infarction": ("other-words", "narrow"),
        "infarction": ("other-words", "broad"),
        "cerebral infarction": ("other-words", "related"),
    }
    path.write_text("entity\tnew_name\tkind\nD1\tMI\tacronym\n")
    with pytest.raises(DataError, match=r"x\.tsv:2: expected one of spelling, .*'acronym'"):
        read(path)


def test_sets_without_an_entity_have_nothing_to_patch(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to patch"):
        write_patch(tmp_path / "x.tsv", [infarction(None)], About())


def test_without_a_trace_a_name_is_new_if_the_knowledge_base_lacks_it(tmp_path: Path) -> None:
    others = (term("new", action=""), term("old", action="", known=True))
    entry = MinedSet("D1", (term("a", action="", known=True), *others), "D1")
    write_patch(tmp_path / "x.tsv", [entry], About())
    assert [row["new_name"] for row in rows_of(tmp_path / "x.tsv")] == ["new"]


def test_no_spreadsheet_runs_a_cell_and_nothing_is_lost(tmp_path: Path) -> None:
    write_patch(tmp_path / "x.tsv", [nasty()], About())
    cells = [cell for row in rows_of(tmp_path / "x.tsv") for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    found, refused = read(tmp_path / "x.tsv")
    wanted = [clean_name(text) for text in NASTY]
    assert [name.name for name in found] == [text for text in wanted if normal_form(text)]
    assert refused == {}


@settings(max_examples=60, deadline=None)
@given(sets=entries())
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    # Ids of a knowledge base hold no line ends.
    sets = [
        MinedSet(
            e.id, (e.terms[0], *e.terms[1:]), clean_name(e.id) or None if e.entity else None, "x"
        )
        for e in sets
    ]
    if all(entry.entity is None for entry in sets):
        return
    path = tmp_path_factory.mktemp("patch") / "x.tsv"
    write_patch(path, sets, About())
    rows = rows_of(path)
    new = [
        (entry, found)
        for entry in sets
        for found in names_of(entry)
        if entry.entity and normal_form(found.text) and found.action != "seed"
        if found.action or not found.known
    ]
    assert sorted(
        (unescape_formula(row["entity"]), unescape_formula(row["new_name"])) for row in rows
    ) == sorted((entry.entity or "", clean_name(found.text)) for entry, found in new)
    wanted = {
        (entry.entity, clean_name(found.text), found.scope)
        for entry, found in new
        if found.judgement is None or found.judgement.verdict == "correct"
    }
    found, _ = read(path)
    assert {(name.entity, name.name, name.scope) for name in found} == wanted


# --- Reading it again -------------------------------------------------------------------------


def test_verdicts_decide_what_is_applied(tmp_path: Path) -> None:
    write_patch(tmp_path / "x.tsv", [infarction()], About())
    found, refused = read(tmp_path / "x.tsv")
    assert NewName("D009203", "MI", "exact", (f"orcid:{ORCID}",)) in found
    assert NewName("D009203", "STEMI", "narrow") in found
    assert len(found) == 5
    assert refused == {"a name that a reviewer did not call correct": 1}
    found, refused = read(tmp_path / "x.tsv", reviewed=True)
    assert [name.name for name in found] == ["STEMI", "MI", "infarct", "angina"]
    assert refused["a name that nobody judged"] == 1


def test_a_curators_own_table_will_do(tmp_path: Path) -> None:
    table = '\ufeffNew_Name\tentity\tVerdict\tscope\r\n"say ""x"""\tD1\t Correct\r\n\r\ny\tD2\r\n'
    (tmp_path / "x.tsv").write_text(table, newline="")
    assert read(tmp_path / "x.tsv")[0] == [NewName("D1", 'say "x"'), NewName("D2", "y")]


def test_a_broken_table_is_reported_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    head = "entity\tnew_name\tscope\tverdict\n"
    for content, problem in (
        ("entity,new_name\n", ":1: expected a header with the columns entity and new_name; found"),
        (f"{head}D1\tx\tvague\n", ":2: expected one of exact, broad, narrow, related: 'vague'"),
        (
            f"{head}D1\tx\t\tgood\n",
            ":2: expected one of correct, incorrect, not-a-name, unsure: 'good'",
        ),
        (f"{head}D1\t\n", ":2: a row needs an entity and a new name"),
        (f"{head}D1\n", ":2: a row needs an entity and a new name"),
        (f"{head}D1\tx\t\t\tmore\n", ":2: a row with more cells than the header"),
        ("", ": no header in this file"),
    ):
        path.write_text(content)
        with pytest.raises(DataError) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}{problem}"), caught.value


# --- The commands -----------------------------------------------------------------------------

KB = (
    '{"id": "D009203", "name": "Myocardial Infarction", "synonyms": ["heart attack"], "x": 1.0}\n'
    '{"id": "D1", "name": "Aspirin"}\n'
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a knowledge base and a run that found names which it lacks."""
    (tmp_path / "kb.jsonl").write_text(KB)
    run = tmp_path / "run"
    run.mkdir()
    at = Artefacts(run)
    stage = {"inputs": [], "counts": {}, "outputs": {}, "seconds": 0}
    manifest = {"format": FORMAT, "stages": {"mine": stage}}
    (run / "manifest.json").write_text(json.dumps(manifest))
    read_kb(tmp_path / "kb.jsonl").save(at.knowledge)
    members = [Term("heart attack"), Term("cardiac infarct"), Term("=cmd()")]
    sets = [members, [Term("hot dog"), Term("wiener")]]
    write_sets(at.mined, SynonymSets.of(sets, ["D009203", "s1"]))
    joined = zip(members[1:], (0.9, 0.6), strict=True)
    write_trace(at.trace, [Decision(found, "D009203", p, "joined") for found, p in joined])
    at.vocabulary.write_text("cardiac infarct\t5\n")
    at.names.write_text("heart attack\t20\n")
    text = "Nothing here. A cardiac\ninfarct was seen. The end."
    write_documents(at.documents, [Document("d1", text)])
    store_places(at.documents, at.places, ["cardiac infarct", "heart attack"])
    return tmp_path


def test_from_a_run_to_a_richer_knowledge_base(place: Path) -> None:
    done = synsetmine("export", "run", "-f", "patch", "-o", "new.tsv", cwd=place)
    assert done.stderr.splitlines()[-1] == "2 new names written to new.tsv"
    first, second = rows_of(place / "new.tsv")
    assert first["sentence"] == "A cardiac infarct was seen."
    assert (first["count"], second["new_name"], second["sentence"]) == ("5", "'=cmd()", "")
    with (place / "new.tsv").open("a") as stream:
        stream.write("D9\tx\ty\nD009203\t\tHeart Attack\n")
    done = synsetmine("apply-names", "new.tsv", "kb.jsonl", "--out", "more.jsonl.gz", cwd=place)
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "synsetmine: warning: left out 1: a name that the entity already has, such as "
        "'D009203: Heart Attack'",
        "synsetmine: warning: left out 1: a name of an entity that is not in the knowledge base, "
        "such as 'D9'",
        "2 names added to 1 entity, written to more.jsonl.gz",
    ]
    assert gzip.decompress((place / "more.jsonl.gz").read_bytes()).decode() == KB.replace(
        '"heart attack"', '"heart attack", "cardiac infarct", "=cmd()"'
    )
    done = synsetmine("apply-names", "new.tsv", "kb.jsonl", "-o", "x", "--reviewed", cwd=place)
    assert done.stderr.splitlines()[-1] == "0 names added to 0 entities, written to x"
    assert (place / "x").read_text() == KB


def test_what_is_wrong_is_one_line(place: Path) -> None:
    KnowledgeBase.of([Entity("a", "b")]).save(place / "kb.arrow")
    (place / "new.tsv").write_text("entity\tnew_name\nD1\tx\n")
    done = synsetmine("apply-names", "new.tsv", "kb.arrow", "-o", "x", cwd=place, code=1)
    assert done.stderr == (
        "synsetmine: error: kb.arrow: names can be added to files of the formats "
        "jsonl, csv, tsv, obo; this is saved\n"
    )
    done = synsetmine("export", "run", "-f", "skos", "-o", "x", "--base", "me", cwd=place, code=1)
    assert done.stderr == "synsetmine: error: expected an address such as `https://…`: 'me'\n"
    done = synsetmine("export", "run", "-f", "csv", "-o", "x", "--base", "u:", cwd=place, code=1)
    assert (
        done.stderr == "synsetmine: error: --base does not apply to csv, only to skos and sssom\n"
    )


def test_the_reference_names_every_form_and_column() -> None:
    pages = [DOCS / "reference" / f"{name}.md" for name in ("exports", "curation-formats")]
    text = "".join(page.read_text("utf-8") for page in pages)
    columns = [
        tables.PATCH_COLUMNS,
        tables.COLUMNS,
        ontologies.SSSOM_COLUMNS,
        SSSLM_COLUMNS,
        GILDA_COLUMNS,
    ]
    for name in (*FORMATS, *chain(*columns)):
        assert f"`{name}`" in text, name


def test_every_form_for_curators_is_written_by_the_command(place: Path) -> None:
    for name, ending, options in (
        ("skos", "ttl", ("--language", "en", "--entities", "http://id.nlm.nih.gov/mesh/")),
        ("sssom", "tsv", ("--prefix", "MESH", "--created", "2026-01-31")),
        ("obo", "obo", ("--title", "Mine")),
        ("ssslm", "tsv", ()),
        ("gilda", "tsv.gz", ()),
        ("spacy", "jsonl", ()),
        ("csv", "csv", ()),
        ("jsonl", "jsonl", ()),
        ("parquet", "parquet", ()),
    ):
        out = place / f"{name}.{ending}"
        command = ["export", str(place / "run"), "-f", name, "-o", str(out), *options]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
        held = "2 new names" if name == "sssom" else "2 sets of 5 terms"
        assert done.stderr.splitlines()[-1] == f"{held} written to {out}"
        assert out.stat().st_size > 0
