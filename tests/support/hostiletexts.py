"""Texts that are slow to read by design, and all that reads texts of others.

`python -m tests.support.hostiletexts NAME FOLDER` reads them all in one way, with a limit of
processor time that only work of more than linear order can reach.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import escape

from synsetmine.corpus import read_corpus
from synsetmine.corpus.documents import write_documents
from synsetmine.corpus.pages import html_text, markdown_text
from synsetmine.corpus.wikitext import Site, label_of, pipe_trick, plain_text, read_target
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.export.formats import FORMATS
from synsetmine.export.solr import lint_file
from synsetmine.io.sets import read_sets, read_vocabulary
from synsetmine.kb import read_kb
from synsetmine.kb.base import clean_name
from synsetmine.linking.spotlight import pieces
from synsetmine.normalization import normal_form, tokens
from synsetmine.review.web.pages import Reviewer
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.patterns import find_definitions
from synsetmine.text.phrases import choose_phrases, count_phrases
from synsetmine.text.tokens import sentence_around
from synsetmine.types import Document
from tests.support.searchentries import entry

SECONDS = 40  # of processor time; what is linear takes a few of them
SIZE = 100_000
STARTS = ("", "#redirect", "#redirect [[", "{{", "[[", "a", "\n")
UNITS = (
    *("[", "[[", "[[a|", "[[a|b]] ", "[[File:x|", "]]", "{{", "{{ ", "}}", "{|\n", "\n{|", "\n|}"),
    *("|", "||", " ", "\n", "\t", " \n", "\r", "\x85", "\u2028", "1", "-", "--", "\n----", "_"),
    *("<", "<ref>", "<ref", "</ref", "<!--", "<nowiki>", "<a", "<a ", "</a", "<b>", "'", "'''"),
    *("&", "&#9", "&#", "&amp", "(", "(,", "( ", "(a", "a(", "a", "a ", "a_", "A", "=", "\n="),
    *("*", "\n*", ":", ";", "!", "\n!", "#", "__A", "1.", "1,", "1.1a", "\\", "\\'", '"', "'a',"),
    *("{", "}", "http://", "[http://a ", "[//", "e\u0301", "\u0301\u0316", "\u0f73\u0301", "+"),
    *("a+", "a+b", "@", "%", "%41", "\u3042", ".", "?!", ". ", "a.", "\\,", "=>", "a=>b", ","),
    *(" disambiguation", "disambig", "&#x", "\u1100", "\U0001f600", "\ufdfa", "\x1b["),
)


def texts(size: int = SIZE, starts: Sequence[str] = ("", "a")) -> Iterator[str]:
    for start in starts:
        for unit in UNITS:
            yield start + unit * (size // len(unit))
    yield f"&#{'9' * size};"


def lines(size: int = SIZE) -> list[str]:
    return [" ".join(text.splitlines()) for text in texts(size) if text.strip()]


def read_wiki(folder: Path) -> None:
    """A dump: as articles, as redirects, and for the names in it."""
    dump = folder / "dump.xml"
    with dump.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("<mediawiki>")
        for number, text in enumerate(texts(SIZE // 2, STARTS)):
            if "\x1b" not in text:  # XML has no such character
                title = f"T{number} {' '.join(text[:200].replace('|', '').split())}"
                written = f"<title>{escape(title)}</title><ns>0</ns><id>{number}</id>"
                stream.write(f"<page>{written}<revision><text>{escape(text)}</text></revision>")
                stream.write("</page>\n")
        stream.write("</mediawiki>")
    for _ in read_corpus([dump], skipped=ErrorCounts()):
        pass
    read_kb(dump, format="mediawiki", anchors=1)


def read_links(_: Path) -> None:
    for text in texts():
        for read in (lambda text: read_target(text, Site()), label_of, pipe_trick):
            read(text)


def read_markup(_: Path) -> None:
    for unit in UNITS:  # nested to the end, closed to the end
        plain_text(f"[[a|{unit}" * 4000 + "]]" * 4000, Site())
        plain_text(f"{{{{{unit}" * 4000 + "}}" * 4000, Site())


def read_tokens(_: Path) -> None:
    for text in texts():
        tokens(text)
        normal_form(text)


def read_names(_: Path) -> None:
    for text in texts():
        with suppress(DataError):
            clean_name(text)
        Reviewer.from_cookie(text[:60_000])
        with suppress(DataError):
            Reviewer.of(text, text)


def find_names(_: Path) -> None:
    """Names that are beginnings and ends of each other, in a text of nothing else."""
    names = [" ".join(["a"] * size) for size in range(1, 200)]
    names += [f"{name} b" for name in names] + [f"b {name}" for name in names]
    matcher = NameMatcher.build(names)
    matcher.find(["a " * SIZE, "a b " * SIZE, "b a a " * SIZE, *texts(SIZE // 10)])


def find_phrases(folder: Path) -> None:
    documents = (Document(str(n), text) for n, text in enumerate(texts(SIZE // 4)) if text.strip())
    write_documents(folder / "documents.parquet", documents)
    choose_phrases(count_phrases(folder / "documents.parquet"))


def find_sentences(_folder: Path) -> None:
    for unit in UNITS:
        window = (unit * 3000)[:3000]
        sentence_around("d", f"{window}dog{window}", 3000, 3003, 1500)


def find_abbreviations(_folder: Path) -> None:
    texts_with_brackets = ["a b (AB) " * SIZE, "ab (" * SIZE, "(ab, " * SIZE, "a" * SIZE + " (AA)"]
    for text in (*texts(), *texts_with_brackets):
        list(find_definitions(text))


def read_set_files(folder: Path) -> None:
    marks = "a" + "\u0301\u0316" * (2 * SIZE)  # a name, if this were Python
    for text in (marks, *lines(SIZE // 10)):
        (folder / "a.set").write_text(f"c0 {{{text}\nc1 {{'a', '{text}\nc2 {{'b'}}\n")
        read_sets(folder / "a.set", skipped=[])
        (folder / "a.jsonl").write_text(f'{{"id": "{text}\n{{"id": "c2", "terms": ["b"]}}\n')
        read_sets(folder / "a.jsonl", skipped=[])
        (folder / "a.tsv").write_text(f"{text}\t{text}\nb\n")
        read_vocabulary(folder / "a.tsv", skipped=[])


def read_thesauri(folder: Path) -> None:
    for text in lines(SIZE // 10):
        obo = f'[Term]\nid: X:1\nname: b\nsynonym: "{text}\nsynonym: "a" {text}\n{text}\n'
        csv = f"id,name,names\n1,b,{text}\n"
        umls = f"C0000001|ENG|P|L1|PF|S1|Y|A1||||MSH|PT|1|{text}|0|N||\n"
        ttl = f'<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "b", "{text}" .\n'
        for name, content in (("a.obo", obo), ("a.csv", csv), ("a.RRF", umls), ("a.ttl", ttl)):
            (folder / name).write_text(content)
            with suppress(DataError):
                read_kb(
                    folder / name, format="umls" if name == "a.RRF" else None, skipped=ErrorCounts()
                )


def read_texts(folder: Path) -> None:
    for text in lines(SIZE // 4):
        (folder / "a.pubtator").write_text(f"1|t|{text}\n1|a|{text}\n1\t0\t1\t{text}\t{text}\t-\n")
        (folder / "a.txt").write_text(f"{text}\n")
        (folder / "a.jsonl").write_text(f'{{"id": "1", "text": "{text}"}}\n')
        for path in sorted(folder.glob("a.*")):
            with suppress(DataError):
                list(read_corpus([path], skipped=ErrorCounts()))
        list(pieces(text))


def read_pages(_folder: Path) -> None:
    for text in texts(starts=("", "<p>", "<script>")):
        html_text(f"{text}>-->]]>")
    for text in texts(SIZE // 5):
        markdown_text(f"{text}>-->]]>")


def write_exports(folder: Path) -> None:
    entries = [entry(f"c{n}", f"a{n}", text) for n, text in enumerate(lines(SIZE // 20))]
    for form in FORMATS.values():
        form.writable(entries, ErrorCounts())
    (folder / "synonyms.txt").write_text("\n".join(lines(SIZE // 4)), "utf-8")
    lint_file(folder / "synonyms.txt")


READERS: dict[str, Callable[[Path], None]] = {
    read.__name__: read
    for read in (
        *(read_wiki, read_links, read_markup, read_tokens, read_names, find_names, find_phrases),
        *(find_sentences, find_abbreviations, read_set_files, read_thesauri, read_texts),
        *(read_pages, write_exports),
    )
}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    READERS[sys.argv[1]](Path(sys.argv[2]))
