"""Wiki dumps: their pages, and a real one against a naive reader."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import re
from collections import Counter
from html import unescape
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from synsetmine.corpus import page_document, read_corpus, read_pages
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.io.files import Source

SITE = """<siteinfo><sitename>Wiki</sitename><case>first-letter</case><namespaces>
<namespace key="-2">Medium</namespace><namespace key="0" />
<namespace key="2">Benutzer</namespace><namespace key="6">Datei</namespace>
<namespace key="14">Kategorie</namespace><namespace key="100">Portal</namespace>
</namespaces></siteinfo>"""


def page(title: str, text: str, *, ns: str = "<ns>0</ns>", extra: str = "", number: int = 7) -> str:
    return (
        f"<page><title>{escape(title)}</title>{ns}<id>{number}</id>{extra}"
        f"<revision><id>99</id><contributor><username>U</username><id>5</id></contributor>"
        f'<comment>[[no]]</comment><text xml:space="preserve">{escape(text)}</text></revision>'
        f"</page>\n"
    )


def dump(*pages: str, site: str = SITE, version: str = "0.10") -> str:
    space = f"http://www.mediawiki.org/xml/export-{version}/"
    return (
        f'<mediawiki xmlns="{space}" version="{version}">\n{site}\n{"".join(pages)}</mediawiki>\n'
    )


def stored(folder: Path, content: str | bytes, name: str = "wiki.xml") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- Pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["0.3", "0.10", "0.11"])
def test_pages_are_read_whatever_the_version(tmp_path: Path, version: str) -> None:
    pages = [
        page("Ä & B", "Text <b>&amp;</b>\nline", number=12),
        page("Datei:X.png", "A file", ns="<ns>6</ns>"),
        page("Old", "#REDIRECT [[Ä & B]]", extra='<redirect title="Ä &amp; B" />'),
    ]
    path = stored(tmp_path, dump(*pages, version=version))
    found = [(p.id, p.title, p.namespace, p.redirect, p.wikitext) for p in read_pages(Source(path))]
    assert found == [
        ("12", "Ä & B", 0, None, "Text <b>&amp;</b>\nline"),
        ("7", "Datei:X.png", 6, None, "A file"),
        ("7", "Old", 0, "Ä & B", "#REDIRECT [[Ä & B]]"),
    ]


def test_old_dumps_tell_namespaces_and_redirects_by_the_text_alone(tmp_path: Path) -> None:
    pages = [
        page("Portal:Art", "x", ns=""),
        page("Star Trek: Picard", "x", ns=""),
        page("A", "#REDIRECT [[b_c#d|e]]", ns=""),
        page("B", "#WEITERLEITUNG [[b]]", ns="", extra="<redirect />"),
        page("C", "# first [[b]]", ns=""),
    ]
    found = list(read_pages(Source(stored(tmp_path, dump(*pages)))))
    assert [p.namespace for p in found] == [100, 0, 0, 0, 0]
    assert [p.redirect for p in found] == [None, None, "B c", "B", None]


def test_articles_become_documents_and_nothing_else_does(tmp_path: Path) -> None:
    pages = [
        page("One", "A [[kategorie:x]][[Datei:a.png|thumb|b]][[cat]]."),
        page("Portal:Two", "portal", ns="<ns>100</ns>"),
        page("Three", "#REDIRECT [[One]]", extra='<redirect title="One" />'),
        page("Four", "four"),
    ]
    path = stored(tmp_path, dump(*pages))
    documents = list(read_corpus(path))
    assert [(d.id, d.text) for d in documents] == [("One", "A cat."), ("Four", "four")]
    assert [m.entity for m in documents[0].mentions] == ["Cat"]


def test_an_article_of_which_nothing_stays_is_reported_with_its_line(tmp_path: Path) -> None:
    path = stored(
        tmp_path, dump(page("A", "a"), page("B", "{{only}} <!-- this -->"), page("C", ""))
    )
    lines = path.read_text().split("\n")
    expected = next(i for i, line in enumerate(lines, start=1) if "<title>B" in line)
    with pytest.raises(DataError, match=rf"wiki\.xml:{expected}: the document is empty"):
        list(read_corpus(path))
    skipped = ErrorCounts()
    assert [d.id for d in read_corpus(path, skipped=skipped)] == ["A"]
    assert skipped.counts == {"the document is empty": 2}


def test_of_several_revisions_the_last_one_counts(tmp_path: Path) -> None:
    one = page("A", "old").replace(
        "</page>", "<revision><id>1</id><text>new</text></revision></page>"
    )
    assert [p.wikitext for p in read_pages(Source(stored(tmp_path, dump(one))))] == ["new"]


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress])
def test_packed_dumps_and_their_progress(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    # Wikipedia's multistream dumps: the head, blocks of pages, and the tail are streams each.
    head, *rest = dump(*(page(f"P{i}", f"text {i}") for i in range(50))).split("<page>")
    content = b"".join(pack(part.encode()) for part in [head, *(f"<page>{r}" for r in rest)])
    path = stored(tmp_path, content, "w.xml.bz2" if pack is bz2.compress else "w.xml.gz")
    sizes: list[int] = []
    pages = list(read_pages(Source(path, on_read=sizes.append)))
    assert [p.title for p in pages] == [f"P{i}" for i in range(50)]
    assert sum(sizes) == len(content)


def test_a_dump_that_breaks_off_gives_the_pages_before(tmp_path: Path) -> None:
    whole = dump(*(page(f"P{i}", "text " * 200) for i in range(400)))
    for name, content in {
        "cut.xml": whole[: len(whole) // 2].encode(),
        "cut.xml.bz2": bz2.compress(whole.encode(), 1)[:-40],
        "cut.xml.gz": gzip.compress(whole.encode())[:-40],
    }.items():
        path = stored(tmp_path, content, name)
        skipped = ErrorCounts()
        pages = list(read_pages(Source(path, skipped)))
        assert [p.title for p in pages] == [f"P{i}" for i in range(len(pages))]
        assert len(pages) > 100
        assert len(skipped) == 1
        with pytest.raises(DataError, match=re.escape(str(path))):
            list(read_pages(Source(path)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<rss><page/></rss>", "1: not a MediaWiki dump; its first element: 'rss'"),
        ("", "1: not well-formed XML: 'no element found'"),
        ("no XML", "1: not well-formed XML: 'syntax error'"),
        (
            '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>\n<mediawiki/>',
            "1: a document type declaration is not allowed in a dump",
        ),
        (
            '<!DOCTYPE m SYSTEM "file:///etc/passwd"><mediawiki/>',
            "1: a document type declaration is not allowed in a dump",
        ),
        (
            "<mediawiki>\n" + "<a>" * 1000,
            "2: more than 100 nested elements: 'a'",
        ),
        (
            "<mediawiki><siteinfo><namespaces>\n"
            + "".join(f'<namespace key="{n}">n{n}</namespace>' for n in range(1001)),
            "2: more than 1000 namespaces",
        ),
        ("<mediawiki>\n<page>&b;</page></mediawiki>", "2: not well-formed XML: 'undefined entity'"),
        ("<mediawiki>\n<page><id>1</id></page></mediawiki>", "2: a page without title or id"),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = stored(tmp_path, content)
    with pytest.raises(DataError) as caught:
        list(read_pages(Source(path)))
    assert str(caught.value) == f"{path}:{problem}"


def test_a_page_of_any_size_takes_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synsetmine.corpus.mediawiki.LONGEST", 100_000)
    big = page("Big", "word " * 100_000)
    path = stored(tmp_path, dump(page("A", "a"), big, page("C", "c")))
    skipped = ErrorCounts()
    assert [p.title for p in read_pages(Source(path, skipped))] == ["A", "C"]
    (error,) = skipped.examples["a page is longer than 64 MiB"]
    assert (error.line, error.value) == (8, "Big")
    path = stored(tmp_path, dump(page("A", "a"), f"<page a='{'x' * 3_000_000}'></page>"))
    with pytest.raises(DataError, match="a tag or comment is longer than 1 MiB"):
        list(read_pages(Source(path)))


# --- A real dump ------------------------------------------------------------------------------

SAMPLE = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"


@pytest.fixture(scope="module")
def sample() -> Path:
    """The first articles of the English Wikipedia of 2016, which gensim's tests carry."""
    spec = importlib.util.find_spec("gensim")
    if spec is None or spec.origin is None:
        pytest.skip("gensim is not installed")
    path = Path(spec.origin).parent / "test" / "test_data" / SAMPLE
    if not path.is_file():
        pytest.skip("gensim is installed without its test data")
    return path


def test_the_links_of_a_real_dump_are_those_of_a_naive_reader(sample: Path) -> None:
    pages = list(read_pages(Source(sample)))
    redirects = [page for page in pages if page.redirect is not None]
    assert (len(pages), len(redirects)) == (206, 100)
    assert redirects[0].redirect == "Computer accessibility"
    articles = [p for p in pages if p.redirect is None and p.namespace == 0]
    documents = [page_document(page) for page in articles]
    assert len(documents) == 106
    assert sum(len(read.mentions) for read in documents) == 22_595
    differing: Counter[str] = Counter()
    for article, read in zip(articles, documents, strict=True):
        found = Counter(mention.entity for mention in read.mentions)
        naive = naive_links(article.wikitext)
        differing += (found - naive) + (naive - found)
    assert differing == {"ß": 1, "SS": 1}  # a letter that has no upper case in titles


def test_the_text_of_a_real_dump_is_clean(sample: Path) -> None:
    texts = {read.id: read.text for read in read_corpus(sample)}
    assert len(texts) == 106
    assert texts["Anarchism"].startswith(
        "Anarchism is a political philosophy that advocates self-governed societies based on "
        "voluntary institutions. These are often described as stateless societies, although"
    )
    for mark in (
        r"\[\[",
        r"\]\]",
        r"\{\{",
        r"\}\}",
        "''",
        "&nbsp;",
        "==",
        "http",
        "<ref",
        r"\( ?[,;]",
    ):
        assert not [name for name, text in texts.items() if re.search(mark, text)]
    assert sum(map(len, texts.values())) > 2_900_000


def naive_links(wikitext: str) -> Counter[str]:
    """Links to articles outside of all that is dropped, by taking away the innermost again."""
    text = re.sub(r"<!--.*?-->|<ref[^<>]*/>", "", wikitext, flags=re.S | re.I)
    dropped = r"<(ref|math|gallery|timeline|pre|source|syntaxhighlight|references)\b[^<>]*>.*?</\1>"
    text = re.sub(dropped, "", text, flags=re.S | re.I)
    before = ""
    while before != text:
        before = text
        text = re.sub(r"\{\{(?:(?!\{\{|\}\}).)*\}\}", "", text, flags=re.S)
    before = ""
    while before != text:
        before = text
        text = re.sub(r"\n[ :]*\{\|(?:(?!\n *\{\||\n *\|\}).)*\n *\|\}", "\n", text, flags=re.S)
    link = r"\[\[(?!File:|Image:)[^\[\]]*\]\]"
    file = rf"\[\[(?:File|Image):(?:[^\[\]]|{link}|\[[^\[\]]*\])*\]\]"
    text = re.sub(file, "", text, flags=re.I)
    elsewhere = re.compile(
        r":|(File|Image|Category|Wikipedia|Portal|Help|User|Template|Talk|Special|WP|wikt|"
        r"wiktionary|wikisource|[a-z]{2}|be-x-old|simple|species|commons|hdl|s|m|v|w)\s*:",
        re.I,
    )
    titles = (
        " ".join(unescape(match[1]).partition("#")[0].replace("_", " ").split())
        for match in re.finditer(r"\[\[([^\[\]{}|<>\n]+)(?:\|\s*[^\s\[\]][^\[\]]*)?\]\]", text)
    )
    return Counter(t[0].upper() + t[1:] for t in titles if t and not elsewhere.match(t))
