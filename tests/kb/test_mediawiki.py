"""Knowledge bases from dumps of wikis: titles, redirects and the words of links."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
from pathlib import Path

import pytest

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb import read_kb
from synsetmine.kb.dumps import plain_title
from tests.support.kbfiles import content_of, store


def page(title: str, text: str = "", *, redirect: str | None = None, ns: int = 0) -> str:
    mark = "" if redirect is None else f'<redirect title="{redirect}" />'
    if redirect is not None and not text:
        text = f"#REDIRECT [[{redirect}]]"
    return (
        f"  <page>\n    <title>{title}</title>\n    <ns>{ns}</ns>\n    <id>7</id>\n    {mark}\n"
        f"    <revision>\n      <id>8</id>\n      <text xml:space='preserve'>{text}</text>\n"
        "    </revision>\n  </page>\n"
    )


def dump(*pages: str) -> str:
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">\n'
        "  <siteinfo><sitename>Wiki</sitename><case>first-letter</case><namespaces>\n"
        '    <namespace key="0" case="first-letter" />\n'
        '    <namespace key="10" case="first-letter">Template</namespace>\n'
        '    <namespace key="14" case="first-letter">Category</namespace>\n'
        "  </namespaces></siteinfo>\n" + "".join(pages) + "</mediawiki>\n"
    )


WIKI = dump(
    page("UK", redirect="United Kingdom"),
    page("Great Britain (state)", redirect="UK"),
    page("United Kingdom", "The '''United Kingdom''' (see [[mercury (planet)|Mercury]])."),
    page("Mercury (planet)", "A planet, not [[Mercury (element)|the metal]]."),
    page("Mercury (disambiguation)", "* [[Mercury (planet)]]"),
    page("Merkur", "May mean:\n* [[Mercury (planet)]]\n{{Disambig}}"),
    page("Hydrargyrum", redirect="Mercury (element)"),
    page("Queen of the UK", "#REDIRECT [[United Kingdom#Queen]]", redirect="United Kingdom"),
    page("A loop", redirect="B loop"),
    page("B loop", redirect="A loop"),
    page("Help me", redirect="Category:Help"),
    page("Template:UK", "{{x}}", ns=10),
    page("AT&amp;T", "A company"),
)


def test_titles_and_redirects_of_a_wiki_are_read(tmp_path: Path) -> None:
    for name, content in (
        ("x.xml", WIKI.encode()),
        ("pages.xml.bz2", bz2.compress(WIKI.encode())),
        ("x.xml-p1p7.gz", gzip.compress(WIKI.encode())),
    ):
        skipped = ErrorCounts()
        told: list[tuple[int, int]] = []
        kb = read_kb(
            store(tmp_path, content, name),
            skipped=skipped,
            progress=lambda done, total, told=told: told.append((done, total)),  # type: ignore[misc]
        )
        assert content_of(kb) == {
            "United Kingdom": ("United Kingdom", "UK", "Great Britain"),
            "Mercury (planet)": ("Mercury",),
            "Mercury (element)": ("Mercury", "Hydrargyrum"),
            "AT&T": ("AT&T",),
        }
        assert dict(kb.retired_ids()) == {
            "UK": "United Kingdom",
            "Great Britain (state)": "United Kingdom",
            "Hydrargyrum": "Mercury (element)",
            "Queen of the UK": "United Kingdom",
        }
        assert skipped.counts == {"replaced ids that form a cycle": 2}
        assert told[-1] == (len(content), len(content))


def test_words_of_links_become_names(tmp_path: Path) -> None:
    text = dump(
        page(
            "Home", "[[Heart attack|MI]], [[myocardial infarction|heart-attack]] [[Heart attack]]"
        ),
        page("Heart attack", redirect="Myocardial infarction"),
        page(
            "More", "[[Michigan|MI]] [[Michigan|MI]] [[Michigan|MI]] [[Heart attack|MI]] [[Home|…]]"
        ),
        page(
            "Last", "[[Myocardial_infarction|infarct]] [[Heart attack|Heart Attack]] [[Home|Hut]]"
        ),
    )
    path = store(tmp_path, text, "x.xml")
    assert set(read_kb(path)) == {"Home", "Myocardial infarction", "More", "Last"}
    kb = read_kb(path, anchors=2)
    assert content_of(kb) == {
        "Home": ("Home",),
        "Myocardial infarction": ("Myocardial infarction", "Heart attack"),
        "More": ("More",),
        "Last": ("Last",),
        "Michigan": ("Michigan", "MI"),
    }
    once = read_kb(path, anchors=1)
    assert once.names("Home") == ("Home", "Hut")
    assert once.names("Myocardial infarction")[2:] == ("infarct",)
    with pytest.raises(DataError, match="anchors must be 0 or more: -1"):
        read_kb(path, anchors=-1)


def test_brackets_are_taken_off_titles() -> None:
    for title, name in (
        ("Mercury (planet)", "Mercury"),
        ("(500) Days of Summer", "(500) Days of Summer"),
        ("Foo (a) (b)", "Foo (a)"),
        ("(x)", "(x)"),
        ("f(x)", "f(x)"),
        ("A ()", "A ()"),
    ):
        assert plain_title(title) == name


def test_a_real_dump_is_read() -> None:
    spec = importlib.util.find_spec("gensim")
    if spec is None or spec.origin is None:
        pytest.skip("gensim, which brings a sample of Wikipedia, is not installed")
    data = Path(spec.origin).parent / "test" / "test_data"
    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    kb = read_kb(data / name)
    assert len(kb) > 100
    assert kb.name("Anarchism") == "Anarchism"
    assert kb.current("AccessibleComputing") == "Computer accessibility"
    assert kb.knows("Computer accessibility", "AccessibleComputing")
