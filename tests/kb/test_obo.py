"""Knowledge bases in OBO, on files in their true form."""

from __future__ import annotations

from pathlib import Path

import fastobo
import pytest

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb import read_kb
from synsetmine.kb.base import long_id, short_id
from tests.support.kbfiles import ALL, OBO, check_broken, content_of, store


def test_obo_is_read(tmp_path: Path) -> None:
    for name in ("x.obo", "strange.txt"):
        kb = read_kb(store(tmp_path, OBO.replace("\n", "\r\n"), name))
        assert content_of(kb) == {
            "DOID:14330": (
                "Parkinson's disease",
                "paralysis agitans",
                'a "quoted" one',
                "old exact",
            ),
            "FOO_BAR:1": ("braces {in} a name",),
        }
        old = ("DOID:9999", "DOID:9998", "DOID:1", "DOID:2")
        assert {kb.current(i) for i in old} == {"DOID:14330"}
        assert kb.current("DOID:3") is None


def test_scopes_of_obo_synonyms(tmp_path: Path) -> None:
    path = store(tmp_path, OBO, "x.obo")
    everything = read_kb(path, scopes=ALL).names("DOID:14330")
    assert everything[-4:] == ("PD", "shaky, broadly", "old exact", "no scope")
    assert "PD" in read_kb(path, scopes=("RELATED",)).names("DOID:14330")
    assert "paralysis agitans" not in read_kb(path, scopes=("RELATED",)).names("DOID:14330")
    kb = read_kb(path, short_ids=False)
    assert list(kb) == ["DOID:14330", "http://purl.obolibrary.org/obo/FOO_BAR_1"]
    for wrong in ("EXACT", ("exact",)):
        with pytest.raises(DataError, match="scopes must be among EXACT, BROAD, NARROW, RELATED"):
            read_kb(path, scopes=wrong)  # type: ignore[arg-type]


def test_what_fastobo_writes_is_read(tmp_path: Path) -> None:
    nasty = ['a "b" \\ c', "x {y} [z]", "!bang", "tab\there", "naïve, 漢字", "a: b"]
    frames = []
    for number, name in enumerate(nasty):
        ident = fastobo.id.PrefixedIdent("X", f"{number:07}")
        synonym = fastobo.syn.Synonym(f"syn {name}", "EXACT")
        clauses = [fastobo.term.NameClause(name), fastobo.term.SynonymClause(synonym)]
        frames.append(fastobo.term.TermFrame(ident, clauses))
    text = str(fastobo.doc.OboDoc(entities=frames))
    kb = read_kb(store(tmp_path, text, "x.obo"))
    written = [
        (term[0].name, term[1].synonym.desc) for term in fastobo.loads(text)
    ]  # its own reading, which has its own mind about blanks
    assert [kb.names(entity) for entity in kb] == [
        tuple(" ".join(name.split()) for name in pair) for pair in written
    ]
    assert len(kb) == len(nasty)


@pytest.mark.parametrize(
    ("clause", "line"),
    [("name", None), ("synonym: never quoted", 7), ('synonym: "open', 7), ("name: x {y", 7)],
)
def test_broken_obo_terms_are_reported(tmp_path: Path, clause: str, line: int | None) -> None:
    text = f"[Term]\nid: X:1\nname: a\n\n[Term]\nid: X:2\n{clause}\n\n[Term]\nid: X:3\nname: c\n"
    path = store(tmp_path, text, "x.obo")
    rest = {"X:1": ("a",), "X:3": ("c",)}
    if line is not None:
        check_broken(path, line, f"not OBO: {clause!r}", rest)
    skipped = ErrorCounts()
    assert content_of(read_kb(path, skipped=skipped)) == rest
    assert len(skipped) == 1


def test_a_term_without_an_id_is_reported(tmp_path: Path) -> None:
    path = store(tmp_path, "[Term]\nname: a\n\n[Term]\nid: X:3\nname: c\n", "x.obo")
    check_broken(path, 2, "not OBO: 'name: a'", {"X:3": ("c",)})


def test_many_obo_terms_with_a_broken_one_among_them(tmp_path: Path) -> None:
    terms = [f'[Term]\nid: X:{i}\nname: n {i}\nsynonym: "s {i}" EXACT []\n\n' for i in range(2500)]
    terms[1700] = "[Term]\nid: X:1700\nsynonym: oops\n\n\n"
    path = store(tmp_path, "".join(terms), "x.obo")
    with pytest.raises(DataError, match=f"x.obo:{1700 * 5 + 3}: not OBO: 'synonym: oops'"):
        read_kb(path)
    assert len(read_kb(path, skipped=ErrorCounts())) == 2499


def test_short_ids_of_obo() -> None:
    obo = "http://purl.obolibrary.org/obo/"
    assert short_id(f"{obo}DOID_14330") == "DOID:14330"
    assert short_id(f"{obo}NCBITaxon_Union_0000023") == "NCBITaxon_Union:0000023"
    for other in (f"{obo}go#part_of", f"{obo}doid.owl", "http://x/DOID_1", f"{obo}DOID_1/x", "a:b"):
        assert short_id(other) == other
    assert long_id("DOID:14330") == f"{obo}DOID_14330"
    assert long_id("http://x/y") == "http://x/y"
