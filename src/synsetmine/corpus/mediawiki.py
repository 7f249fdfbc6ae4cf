"""Dumps of MediaWiki sites (`…-pages-articles.xml.bz2`), read page by page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from synsetmine.corpus.documents import check_text
from synsetmine.corpus.wikitext import Site, plain_text, read_target
from synsetmine.errors import DataError, raise_or_keep
from synsetmine.io.files import LONGEST, Source
from synsetmine.types import Document

_CHUNK = 2**16
_LONGEST_TAG = 2**20  # bytes: the parser must hold a tag as a whole
_DEEPEST = 100  # nested elements; a dump has six
_MOST_NAMESPACES = 1000
_REDIRECT = re.compile(r"\s*+#\w++\s*+:?+\s*+\[\[([^\[\]|\n]+)")

# The elements of a dump that are read: (parent, element).
_WANTED = frozenset(
    {
        ("siteinfo", "case"),
        ("namespaces", "namespace"),
        ("page", "title"),
        ("page", "ns"),
        ("page", "id"),
        ("revision", "text"),
    }
)


@dataclass(frozen=True)
class Page:
    """A page of a wiki; namespace 0 holds the articles.

    `redirect` is the target of a redirect, "" if it has none, and None for other pages.
    """

    id: str
    title: str
    namespace: int
    redirect: str | None
    wikitext: str
    line: int = 0  # where it starts in the dump
    site: Site = field(default=Site(), repr=False)


def read_pages(source: Source) -> Iterator[Page]:
    """All pages of a dump, those of other namespaces and redirects too.

    A damaged file gives the pages before the damage; its error is raised or kept.
    """
    dump = _Dump(source)
    try:
        with source.open() as stream:
            # read1: when a file breaks off, what came before is there.
            while chunk := stream.read1(_CHUNK):  # type: ignore[attr-defined]
                yield from dump.feed(chunk)
            yield from dump.feed(b"", last=True)
    except DataError as error:
        raise_or_keep(error, source.skipped)


def page_document(page: Page) -> Document:
    """The text of a page with its links as mentions of the articles that they lead to.

    The id is the title, which links and redirects use.
    """
    text, mentions = plain_text(page.wikitext, page.site)
    return Document(page.title, text, mentions)


def read_articles(source: Source) -> Iterator[Document]:
    """The documents of a dump: its articles, without redirects."""
    for page in read_pages(source):
        if page.namespace != 0 or page.redirect is not None:
            continue
        with source.skip_broken(page.line):
            document = page_document(page)
            check_text(document.text)
            yield document


class _Dump:
    """Takes a dump in chunks and gives its pages.

    The parser builds no tree, so nothing stays behind, and it refuses a document type, with which
    a file of a few bytes could blow up to gigabytes, or have other files read.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._fed = 0
        self._open: list[str] = []
        self._pages: list[Page] = []
        self._namespaces: dict[int, str] = {}
        self._namespace = 0
        self._case = ""
        self._site = Site()
        self._parts: dict[str, str] = {}
        self._collected: list[str] | None = None
        self._size = 0
        self._line = 0

    def feed(self, chunk: bytes, *, last: bool = False) -> Iterator[Page]:
        failure: DataError | None = None
        self._fed += len(chunk)
        try:
            self._parser.Parse(chunk, last)
            if self._fed - self._parser.CurrentByteIndex > _LONGEST_TAG and not last:
                raise self._error("a tag or comment is longer than 1 MiB")
        except expat.ExpatError as error:
            failure = self._error("not well-formed XML", expat.ErrorString(error.code))
        except (LookupError, ValueError) as error:  # Python's own, of the encodings it knows
            failure = self._error("unknown encoding", str(error))
        except DataError as error:
            failure = error
        yield from self._pages
        self._pages = []
        if failure is not None:
            raise failure

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._open and name != "mediawiki":
            raise self._error("not a MediaWiki dump; its first element", name)
        if len(self._open) == _DEEPEST:
            raise self._error(f"more than {_DEEPEST} nested elements", name)
        parent = self._open[-1] if self._open else ""
        self._open.append(name)
        if name == "page":
            self._parts = {}
            self._size = 0
            self._line = self._parser.CurrentLineNumber
        elif (parent, name) == ("page", "redirect"):
            self._parts["redirect"] = attributes.get("title", "")
        elif (parent, name) in _WANTED:
            self._collected = []
            if name == "namespace":
                key = attributes.get("key", "")
                self._namespace = int(key) if re.fullmatch(r"-?[0-9]{1,9}", key) else 0

    def _characters(self, data: str) -> None:
        if self._collected is not None and self._size <= LONGEST:
            self._collected.append(data)
            self._size += len(data)

    def _end(self, name: str) -> None:
        self._open.pop()
        if name == "siteinfo":
            first_letter = self._case != "case-sensitive"
            self._site = Site.of(self._namespaces, first_letter=first_letter)
        elif name == "page":
            self._end_page()
        if self._collected is None:
            return
        content = "".join(self._collected)
        self._collected = None
        if name == "namespace":
            self._namespaces[self._namespace] = content
            if len(self._namespaces) > _MOST_NAMESPACES:
                raise self._error(f"more than {_MOST_NAMESPACES} namespaces")
        elif name == "case":
            self._case = content
        else:
            self._parts[name] = content  # of several revisions, the last one stays

    def _end_page(self) -> None:
        parts = self._parts
        if self._size > LONGEST:
            error = DataError("a page is longer than 64 MiB", value=parts.get("title"))
        elif not parts.get("title") or not parts.get("id"):
            error = DataError("a page without title or id", value=parts.get("title"))
        else:
            self._pages.append(self._page(parts))
            return
        self._source.reject(error, self._line)

    def _page(self, parts: dict[str, str]) -> Page:
        title, wikitext = parts["title"], parts.get("text", "")
        return Page(
            id=parts["id"],
            title=title,
            namespace=self._namespace_of(title, parts.get("ns", "")),
            redirect=self._redirect(parts.get("redirect"), wikitext),
            wikitext=wikitext,
            line=self._line,
            site=self._site,
        )

    def _namespace_of(self, title: str, number: str) -> int:
        if re.fullmatch(r"-?[0-9]{1,9}", number):
            return int(number)
        prefix, colon, _ = title.partition(":")  # dumps from before 2010 write no number
        keys = {name: key for key, name in self._namespaces.items()}
        return keys.get(prefix, 0) if colon else 0

    def _redirect(self, marked: str | None, wikitext: str) -> str | None:
        """Where a redirect leads; older dumps only mark it, or not even that."""
        if marked:
            return marked
        if marked is None and not wikitext[:100].lstrip().lower().startswith("#redirect"):
            return None
        written = _REDIRECT.match(wikitext)
        return read_target(written[1], self._site).title if written else ""

    def _refuse_doctype(self, *_: object) -> None:
        raise self._error("a document type declaration is not allowed in a dump")

    def _error(self, problem: str, value: object = None) -> DataError:
        line = self._parser.CurrentLineNumber
        return DataError(problem, path=self._source.path, line=line, value=value)
