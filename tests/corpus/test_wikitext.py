"""Wiki pages: markup to plain text, and links as mentions."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.corpus import Page, page_document
from synsetmine.corpus.wikitext import Site, read_target
from synsetmine.types import Document

quick = settings(max_examples=200, deadline=None)


def document(wikitext: str, site: Site | None = None) -> Document:
    return page_document(Page("1", "Title", 0, None, wikitext, site=site or Site()))


def text_of(wikitext: str) -> str:
    return document(wikitext).text


def links_of(wikitext: str, site: Site | None = None) -> list[tuple[str, str]]:
    """(Surface, target) of each link."""
    read = document(wikitext, site)
    return [(read.text[m.start : m.end], m.entity) for m in read.mentions]


# --- Links ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wikitext", "text", "links"),
    [
        ("a [[new York]] b", "a new York b", [("new York", "New York")]),
        ("[[New York|the city]].", "the city.", [("the city", "New York")]),
        ("[[cat]]s, [[dog|hound]]ish", "cats, houndish", [("cats", "Cat"), ("houndish", "Dog")]),
        ("[[Bus]]Stop", "BusStop", [("Bus", "Bus")]),
        ("[[Straße]]nbahn [[ß]]", "Straßenbahn ß", [("Straßenbahn", "Straße"), ("ß", "ß")]),
        ("[[中国]]人", "中国人", [("中国", "中国")]),
        ("[[cat]]<nowiki/>s", "cats", [("cat", "Cat")]),
        ("[[a_b#c|d]] [[e#f]]", "d e", [("d", "A b"), ("e", "E")]),
        ("[[#below|see]] [[/sub|x]]", "see x", []),
        ("[[ a  b | c ]] d", "c d", [("c", "A b")]),
        ("x[[a| b]]", "x b", [("b", "A")]),
        ("[[Pipe (music)|]]", "Pipe", [("Pipe", "Pipe (music)")]),
        ("[[Boston, Texas|]]", "Boston", [("Boston", "Boston, Texas")]),
        ("[[AT&amp;T]] [[a%20b]]", "AT&T a b", [("AT&T", "AT&T"), ("a b", "A b")]),
        ("[[a&nbsp;b|x]]", "x", [("x", "A b")]),
        ("[[H2O|H<sub>2</sub>O]]", "H2O", [("H2O", "H2O")]),
        ("[[a|'''b''' {{x|y}}''c'']]", "b c", [("b c", "A")]),
        ("[[a|b|c]]", "b|c", [("b|c", "A")]),
        ("[[a|{{flag}}]]b", "b", []),
        ("[[a| ]] b", "b", []),
        ("[[2001: A Space Odyssey]]", "2001: A Space Odyssey", [("2001: A Space Odyssey",) * 2]),
        ("[[CSI: Miami|it]]", "it", [("it", "CSI: Miami")]),
        ("x [[de:Haus]] [[ZH-min-nan:A]] y", "x y", []),
        ("[[:de:Haus]] [[wikt:house|h]]", "de:Haus h", []),
        ("x [[Category:A|b]] [[image:a.png]] y", "x y", []),
        ("[[:Category:A]] [[Help:A|b]]", "Category:A b", []),
        ("[[File:a.png|thumb|left|A [[cat]] in [[Rome|it]] {{x}}]]\nText", "Text", []),
        ("[[a|b [[c]] d]]", "b c d", [("c", "C")]),
        ("[[a|[[File:x.png]]]] b", "b", []),
        ("[[[a]]]", "[a]", [("a", "A")]),
        ("[[a [b] c]] [[d]]", "a [b] c d", [("d", "D")]),
        ("[[a|b\n\n[[c]]", "b\n\nc", [("c", "C")]),
        ("]] [[a", "a", []),
        ("[[]] [[|a]] [[ ]]", "a", []),
        (f"[[{'x' * 300}|a]]", "a", []),
    ],
)  # fmt: skip
def test_links(wikitext: str, text: str, links: list[tuple[str, str]]) -> None:
    assert text_of(wikitext) == text
    assert links_of(wikitext) == links


def test_the_dump_tells_what_its_namespaces_are_called() -> None:
    site = Site.of({0: "", 6: "Datei", 14: "Kategorie", 2: "Benutzer_Diskussion", 99: "Rezept"})
    wikitext = "[[Datei:a|b]][[KATEGORIE:c]][[File:d]][[Benutzer Diskussion:e|f]] [[rezept:g|h]]"
    assert document(wikitext, site).text == "f h"
    assert links_of(wikitext, site) == []
    assert links_of("[[Rezept:g|h]]") == [("h", "Rezept:g")]


def test_some_wikis_tell_small_first_letters_apart() -> None:
    assert read_target("cat", Site.of({}, first_letter=False)).title == "cat"
    assert read_target("cat", Site.of({})).title == "Cat"


# --- Text -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("'''Bold''' ''and'' '''''both'''''", "Bold and both"),
        ("it''''s''' 'so'", "it's 'so'"),
        ("'''Homère''' a écrit l'''Iliade''", "Homère a écrit l'Iliade"),
        ("dell'''Iliade''", "dell'Iliade"),
        ("== Head ==\nText\n=== Sub=== \nmore", "Head\n\nText\n\nSub\n\nmore"),
        ("a = b == c", "a = b == c"),
        ("* one\n** two\n# three\n; four: five\n:six", "one\ntwo\nthree\nfour: five\nsix"),
        ("a\n----\nb -- c", "a\n\nb -- c"),
        ("a{{b|{{c}}|d={{{1|}}}}}e {{{x}}} f", "ae f"),
        ("a {{b\n|c\n|}} d", "a d"),
        ("a {{ b } c } d }} e", "a e"),
        ("open {{ never closed\n| x = y\nText [[a]]", "open never closed\n\nText a"),
        ("closed }} never |} opened", "closed never |} opened"),
        ("a\n{| class=x\n| b\n|-\n| {{c|\n{|\n| d\n|}\n}}\n|}\ne", "a\n\ne"),
        ("a\n :{| x\n|}\nb", "a\n\nb"),
        ("{| class=x\n! h\n| b\n\nText", "Text"),
        ("{{x|\n{| a\n| b\n|}}}c", "c"),
        ("a<ref>b</ref>c<ref name=x/>d<REF name='y'>e</Ref >f", "acdf"),
        ("a<ref>b\nc", "ab\nc"),
        ("a <math>\\frac{{a}{b}}</math> b", "a b"),
        ("a<!-- {{ [[ -->b <!-- open", "ab"),
        ("<nowiki>[[a]] {{b}} ''c'' <ref> &lt;</nowiki>", "[[a]] {{b}} ''c'' <ref> <"),
        ("<gallery>\nFile:a.png|b\n</gallery>x", "x"),
        ("a<br/>b<div class='x'>c</div>d<span>e</span>", "a\nb\nc\nde"),
        ("<foo@bar.org> a<b <unknown> x", "<foo@bar.org> a<b <unknown> x"),
        ("[http://x.org/a?b=1 the ''label''] [https://y.org] [//z.org z]", "the label z"),
        ("see http://x.org/a, or [not] [mailto:a@b.c me]", "see or [not] me"),
        ("&lt;a&gt; &amp; 5&nbsp;&ndash;&#32;6 &unknown; R&D", "<a> & 5 – 6 &unknown; R&D"),
        ("__NOTOC__ __init__ __A__", "__init__ __A__"),
        ("Rome ({{lang|la}}; {{x}}, 753 BC) is ({{x}}) old", "Rome (753 BC) is old"),
        ("call main()", "call main()"),
        ("a  b\t c\xa0d \n e\n\n\n\nf  ", "a b c d\ne\n\nf"),
        ("", ""),
    ],
)  # fmt: skip
def test_markup_goes_and_text_stays(wikitext: str, text: str) -> None:
    assert text_of(wikitext) == text


def test_text_and_titles_are_normal_unicode() -> None:
    read = document("x&#769; e\u0301 [[cafe\u0301|Cafe\u0301s]] e\u0301 [[u\u0308]]n")
    assert unicodedata.is_normalized("NFC", read.text)
    assert read.text == "x\u0301 é Cafés é ün"
    surfaces = [(read.text[m.start : m.end], m.entity) for m in read.mentions]
    assert surfaces == [("Cafés", "Café"), ("ün", "Ü")]


words = st.text("abcXYZäß漢7", min_size=1, max_size=6)
silent = st.sampled_from(
    ["{{x|[[no]]|{{y}}}}", "<!-- [[no]] -->", "<ref>[[no]]</ref>", "[[File:a|b [[no]] c]]",
     "[[Category:a]]", "<math>a</math>", "__TOC__", "[[fr:a]]", "\n{|\n| [[no]]\n|}\n", "<b></b>"]
)  # fmt: skip


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, str, str]:
    """(Markup, what is to be read, the title linked to or "")."""
    word = draw(words)
    match draw(st.integers(0, 6)):
        case 0:
            return word, word, ""
        case 1:
            return f"'''{word}'''", word, ""
        case 2:
            return f"<i>{word}</i>", word, ""
        case 3:
            target = draw(words)
            return f"[[{target}|{draw(silent)}''{word}'']]", word, target
        case 4:
            return f"[[{word}#x]]", word, word
        case 5:
            return f"[http://a.b {word}]", word, ""
        case _:
            return f"{draw(silent)}{word}", word, ""


@given(st.lists(pieces(), max_size=20))
@quick
def test_a_page_reads_as_its_pieces_do(made: list[tuple[str, str, str]]) -> None:
    read = document(" , ".join(markup for markup, _, _ in made))
    assert read.text.replace("\n", " ").replace("  ", " ") == " , ".join(w for _, w, _ in made)
    expected = [(w, _first_upper(t)) for _, w, t in made if t]
    assert [(read.text[m.start : m.end], m.entity) for m in read.mentions] == expected


def _first_upper(title: str) -> str:
    return title if title[0] == "ß" else title[0].upper() + title[1:]


MARKS = tuple(
    chunk
    for line in (
        "{{ }} {{{ }}} {| |} [[ ]] [ ] | || '' ''' ''''' <ref> </ref> <ref/> <nowiki> </nowiki>",
        "<!-- --> == = * : ; # & &amp; &#769; __TOC__ http:// [http://a File: Category: de:",
        "( ) , a B é 漢 <br> <b> </b> < > [[a| [[File:a| [[a]]",
    )
    for chunk in line.split()
)
soup = st.lists(st.sampled_from([*MARKS, " ", "\n", "\n{|", "\n|}", "e\u0301"]), max_size=40)


@given(soup)
@example(["[[a|", "[[", "<b>", "[[a]]", "]]", "]]"])
@example(["[[a|", "[[File:a|", "[[a]]", "]]", "B", "]]"])
@settings(max_examples=1000, deadline=None)
def test_any_markup_gives_sound_mentions(marks: list[str]) -> None:
    read = document("".join(marks))
    end = 0
    for mention in read.mentions:
        assert end <= mention.start < mention.end <= len(read.text)
        surface = read.text[mention.start : mention.end]
        assert surface == surface.strip() != ""
        assert mention.entity == mention.entity.strip() != ""
        end = mention.end
    assert read.text == read.text.strip()
    assert not re.search(r"[^\S\n ]|  | \n|\n |\n{3}", read.text)


@pytest.mark.parametrize(
    "mark", [*MARKS, " ", "\n", "\n{|", "\n|", "(,", "[[a|b", "'''a", "<ref a"]
)
def test_no_mark_makes_reading_slow(mark: str) -> None:
    """Each of these would take minutes, were the time to grow with the square of the length."""
    document(mark * 40_000)
    document(f"{mark * 20_000}{'}}' * 20_000}{']]' * 20_000}")
