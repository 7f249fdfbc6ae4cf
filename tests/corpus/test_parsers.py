"""Every reader, over anything: bytes, pieces of its own form, and names as nasty as they come.

Sets, vectors, tables, records, decisions, Spotlight's answers and wiki markup have their round
trips beside their other tests; here are those of the other readers.
"""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from pathlib import Path
from typing import get_args
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.runner import TARGET_NAMES
from fuzz.target import FIRST
from fuzz.targets import TARGETS
from synsetmine.corpus import read_corpus, read_pages
from synsetmine.errors import ErrorCounts
from synsetmine.export.solr import lint_file
from synsetmine.io.files import Source
from synsetmine.io.sets import Decision, Quote, Vocabulary, read_trace, read_vocabulary, write_trace
from synsetmine.kb import read_kb
from synsetmine.kb.base import clean_name
from synsetmine.kb.obo import obo_problem, synonym_clause
from synsetmine.linking.supervision import read_links, write_links
from synsetmine.normalization import normal_form
from synsetmine.pipeline.project import read_project
from synsetmine.types import Link, Mention, NameKind, Scope
from tests.support.kbfiles import atom, content_of, item, store
from tests.support.strategies import PIECES, terms

shared_folder = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# What a line of a file can hold; surrogates are no text.
lines = st.lists(st.sampled_from(PIECES) | st.text(min_size=1, max_size=4), max_size=6).map(
    lambda pieces: "".join(pieces).replace("\n", "").replace("\r", "").replace("\0", "")
)
names = lines.filter(lambda text: normal_form(clean_name(text)))


# --- Anything ---


@pytest.mark.parametrize("name", TARGET_NAMES)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_bytes_are_read_or_refused(name: str, data: st.DataObject) -> None:
    target = TARGETS[name]
    form = data.draw(st.integers(0, len(target.forms) - 1))
    target.run(bytes([FIRST + form]) + data.draw(st.binary(max_size=200)))


@pytest.mark.parametrize("name", TARGET_NAMES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_pieces_of_a_form_are_read_or_refused(name: str, data: st.DataObject) -> None:
    """Lines of a sound file in any order and number, with strange words between them."""
    target = TARGETS[name]
    form = data.draw(st.integers(0, len(target.forms) - 1))
    sound = _sound_pieces(name, form)
    strange = [piece.encode() for piece in (*PIECES, *target.words)]
    piece = st.sampled_from(sound) | st.sampled_from(strange)
    target.run(bytes([FIRST + form]) + b"".join(data.draw(st.lists(piece, max_size=20))))


@cache
def _sound_pieces(name: str, form: int) -> list[bytes]:
    """Made once, since office files have the time in them, and draws must not depend on it."""
    examples = TARGETS[name].forms[form].examples()
    return [piece for example in examples for piece in _cut(example)]


def _cut(example: bytes) -> list[bytes]:
    return [piece for line in example.splitlines(keepends=True) for piece in (line, line[:7])]


# --- Corpora ---


@shared_folder
@given(title=lines, abstract=lines, data=st.data())
def test_pubtator(tmp_path: Path, title: str, abstract: str, data: st.DataObject) -> None:
    title = f"{title}."
    text = f"{title}\n{abstract}" if abstract else title
    spans = st.tuples(st.integers(0, len(text) - 1), st.integers(1, 5))
    chosen = data.draw(st.lists(spans, max_size=4, unique=True))
    found = [(start, min(start + size, len(text))) for start, size in chosen]
    found = [(a, b) for a, b in found if not {"\t", "\n"} & set(text[a:b])]
    marks = "".join(f"7\t{a}\t{b}\t{text[a:b]}\tX\tMESH:D{a}\n" for a, b in found)
    path = store(tmp_path, f"7|t|{title}\n7|a|{abstract}\n{marks}\n", "a.pubtator")
    (document,) = read_corpus(path)
    assert (document.id, document.text) == ("7", text)
    assert document.mentions == tuple(Mention(a, b, f"MESH:D{a}") for a, b in found)


@shared_folder
@given(st.lists(lines, min_size=1, max_size=6))
def test_plain_lines(tmp_path: Path, texts: list[str]) -> None:
    """A byte order mark at the start of a file is none of its text."""
    path = store(tmp_path, "".join(f"{text}\n" for text in ("first", *texts)), "a.txt")
    kept = [text for text in texts if text and not text.isspace()]
    expected = ["first", *(unicodedata.normalize("NFC", text) for text in kept)]
    skipped = ErrorCounts()
    found = [document.text for document in read_corpus(path, format="lines", skipped=skipped)]
    assert found == expected
    assert len(skipped) == len(texts) - len(kept)


_XML = st.characters(
    codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"
)


@shared_folder
@given(st.lists(st.tuples(st.text(_XML, min_size=1), st.text(_XML)), min_size=1, max_size=4))
def test_dumps_of_wikis(tmp_path: Path, pages: list[tuple[str, str]]) -> None:
    body = "".join(
        f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id>"
        f"<revision><text>{escape(text)}</text></revision></page>"
        for number, (title, text) in enumerate(pages)
    )
    path = store(tmp_path, f"<mediawiki>{body}</mediawiki>", "wiki.xml")
    assert [(page.title, page.wikitext) for page in read_pages(Source(path))] == pages


# --- Knowledge bases ---


def _distinct(found: list[str]) -> tuple[str, ...]:
    """Of names with the same normal form the first stays."""
    first: dict[str, str] = {}
    for name in map(clean_name, found):
        first.setdefault(normal_form(name), name)
    return tuple(first.values())


listed = st.lists(names, min_size=1, max_size=4)


@shared_folder
@given(listed)
def test_wikidata(tmp_path: Path, found: list[str]) -> None:
    content = f"[\n{item('Q1', {'en': found[0]}, {'en': found[1:]})},\n]\n"
    kb = read_kb(store(tmp_path, content, "dump.json"), format="wikidata")
    assert content_of(kb) == {"Q1": _distinct(found)}


@shared_folder
@given(listed)
def test_umls(tmp_path: Path, found: list[str]) -> None:
    plain = [name.replace("|", "/") for name in found]
    ranked = [("P", "PF", "Y"), *[("S", "VO", "N")] * len(plain)]
    content = "".join(
        atom("C0000001", name, status=status, form=form, preferred=preferred)
        for name, (status, form, preferred) in zip(plain, ranked, strict=False)
    )
    assert content_of(read_kb(store(tmp_path, content, "MRCONSO.RRF"))) == {
        "C0000001": _distinct(plain)
    }


@shared_folder
@given(listed, st.sampled_from(["nt", "ttl", "rdf", "trig"]))
def test_rdf(tmp_path: Path, found: list[str], ending: str) -> None:
    """As another program writes it."""
    import pyoxigraph as ox

    if ending == "rdf":  # XML has no way to write most control characters
        found = ["".join(c for c in name if c.isprintable()) for name in found]
    skos = "http://www.w3.org/2004/02/skos/core#"
    subject = ox.NamedNode("http://example.org/1")
    properties = ["prefLabel", *["altLabel"] * len(found)]
    triples = [
        ox.Triple(subject, ox.NamedNode(skos + label), ox.Literal(name, language="en"))
        for label, name in zip(properties, found, strict=False)
    ]
    path = tmp_path / f"a.{ending}"
    ox.serialize(triples, str(path), format=ox.RdfFormat.from_extension(ending))
    assert content_of(read_kb(path)) == {"http://example.org/1": _distinct(found)}


@shared_folder
@given(listed)
def test_obo(tmp_path: Path, found: list[str]) -> None:
    """What the format cannot hold, our own writer refuses."""
    writable = [clean_name(name) for name in found if not obo_problem(clean_name(name))]
    synonyms = "".join(f"{synonym_clause(name, 'exact', ())}\n" for name in writable)
    path = store(tmp_path, f"[Term]\nid: X:1\nname: first\n{synonyms}", "a.obo")
    assert content_of(read_kb(path)) == {"X:1": _distinct(["first", *writable])}


# --- What a run keeps ---

decisions = st.builds(
    Decision,
    term=terms(),
    best_set=st.none() | lines,
    probability=st.floats(0, 1).map(lambda p: round(p, 6)),
    action=st.sampled_from(["joined", "opened", "forced", "no vector", "accepted"]),
    kind=st.none() | st.sampled_from(get_args(NameKind)),
    relation=st.none() | st.sampled_from(get_args(Scope)),
    nearest=st.just("") | lines,
    evidence=st.lists(st.builds(Quote, lines, lines, lines), max_size=3).map(tuple),
)


@shared_folder
@given(st.lists(decisions, max_size=5))
def test_traces(tmp_path: Path, trace: list[Decision]) -> None:
    write_trace(tmp_path / "trace.jsonl", trace)
    assert list(read_trace(tmp_path / "trace.jsonl")) == trace


cells = lines.map(lambda text: text.replace("\t", "") or "x")


@shared_folder
@given(st.lists(st.builds(Link, cells, cells, st.integers(0, 10**18 - 1)), max_size=5))
def test_links(tmp_path: Path, links: list[Link]) -> None:
    write_links(tmp_path / "links.tsv", links)
    assert read_links(tmp_path / "links.tsv") == links


@shared_folder
@given(st.lists(st.tuples(terms(), st.none() | st.integers(0, 10**18 - 1)), max_size=5))
def test_vocabularies(tmp_path: Path, rows: list[tuple[object, int | None]]) -> None:
    kept = {
        term: count
        for term, count in rows
        if str(term).strip() and not {"\n", "\r", "\t"} & set(str(term))
    }
    body = "".join(f"{t}\n" if n is None else f"{t}\t{n}\n" for t, n in kept.items())
    found = read_vocabulary(store(tmp_path, f"first\t1\n{body}", "terms.tsv"))
    assert isinstance(found, Vocabulary)
    assert {str(t): found.counts.get(t) for t in found.terms} == {"first": 1} | {
        str(t): n for t, n in kept.items()
    }


@shared_folder
@given(title=lines, field=lines, threshold=st.floats(0, 1), anchors=st.integers(0, 2**63 - 1))
def test_projects(tmp_path: Path, title: str, field: str, threshold: float, anchors: int) -> None:
    def written(text: str) -> str:  # JSON's strings are TOML's, but for a delete
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

    content = (
        f"[corpus]\npath = 'a'\ntext_field = {written(field)}\n"
        f"[kb]\npath = 'b'\nanchors = {anchors}\n"
        f"[mine]\nthreshold = {threshold!r}\n[report]\ntitle = {written(title)}"
    )
    path = store(tmp_path, content, "synsetmine.toml")
    project = read_project(path)
    assert (project.report.title, project.corpus.text_field) == (title, field)
    assert (project.mine.threshold, project.kb.anchors) == (threshold, anchors)


@shared_folder
@given(st.lists(lines, max_size=6))
def test_synonyms_of_any_kind_are_linted(tmp_path: Path, rules: list[str]) -> None:
    path = store(tmp_path, "\n".join(rules), "synonyms.txt")
    lint = lint_file(path, limit=1)
    numbers = [finding.line for finding in lint.findings]
    assert numbers == sorted(numbers)
    assert all(1 <= number <= len(rules) + 1 for number in numbers)
    refused = sum(finding.check == "refused" for finding in lint.findings)
    assert lint.rules + refused <= len(rules)
