"""Readers of files that are one document each: plain text, Markdown, HTML and PDF."""

from __future__ import annotations

import codecs
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Literal

from synsetmine.corpus.documents import LONGEST_BLOCK, read_paragraphs, sound_text
from synsetmine.errors import DataError, import_extra
from synsetmine.io.files import LONGEST, Source, not_utf8, open_binary, read_text
from synsetmine.types import Document

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST_PAGE = 4 * 2**20  # bytes of a page with mark-up
PageFormat = Literal["document", "markdown", "html", "pdf"]


def read_page(source: Source, format: PageFormat) -> Iterator[Document]:
    """A file as one document, whose id is the name of the file.

    A plain text of more than 1 MiB is read by paragraphs, as the format `text` does it.
    """
    try:
        if format == "document" and _is_long(source):
            yield from read_paragraphs(source)
            return
        document = Document(source.name, sound_text(_text_of(source, format)))
    except DataError as error:
        source.reject(error, error.line)
    else:
        yield document


def _is_long(source: Source) -> bool:
    with open_binary(source.path) as stream:
        return len(stream.read(LONGEST_BLOCK + 1)) > LONGEST_BLOCK


def _text_of(source: Source, format: PageFormat) -> str:
    match format:
        case "document":
            return read_text(source.path).strip()
        case "markdown":
            content = _page(source)
            try:
                return markdown_text(content.decode())
            except UnicodeDecodeError as error:
                line = content.count(b"\n", 0, error.start) + 1
                raise not_utf8(source.path, line, content, error.start) from None
        case "html":
            return html_text(_decode(_page(source)))
        case "pdf":
            return _pdf_text(source)


def _page(source: Source) -> bytes:
    with source.open() as stream:
        content = stream.read(LONGEST_PAGE + 1)
    if len(content) > LONGEST_PAGE:
        raise DataError("a page longer than 4 MiB", value=content[:80])
    return content.removeprefix(codecs.BOM_UTF8)


_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n.*?^(?:\1|\.\.\.)[ \t]*$\n?", re.S | re.M)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_ADDRESS = re.compile(r"(?:https?|mailto):\S+")


def markdown_text(page: str) -> str:
    """The text of Markdown, without front matter, code blocks, addresses and mark-up."""
    from markdown_it import MarkdownIt

    page = _FRONT_MATTER.sub("", page.replace("\r\n", "\n"))
    end = page.rfind("-->") + len("-->")  # what is never closed would take quadratic time
    page = _COMMENT.sub("", page[:end]) + page[end:].replace("<!--", "")
    parser = MarkdownIt("commonmark").enable("table")
    return "\n\n".join(filter(None, map(_markdown_block, parser.parse(page))))


def _markdown_block(token: Token) -> str:
    if token.type == "html_block":
        return html_text(token.content)
    return "".join(map(_markdown_text, token.children or ())).strip()


def _markdown_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "html_inline" or (token.level and _ADDRESS.fullmatch(token.content)):
        return ""
    return token.content  # that of an image is its description


_CHARSET = re.compile(rb"""<meta[^<>]{1,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.I)
_ENCODINGS = re.compile(r"utf-?(8|16)|(windows|iso|big|shift|euc|gb|koi|latin|cp|mac)[\w-]*")
_LATIN_1 = {"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"}  # Windows-1252 to browsers


def _decode(content: bytes) -> str:
    """The text of a page in the encoding that it names; UTF-8 if it names none."""
    named = _CHARSET.search(content, 0, 4096)
    encoding = named[1].decode("latin-1").lower() if named else "utf-8"
    if encoding in _LATIN_1:
        encoding = "windows-1252"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        if not _ENCODINGS.fullmatch(encoding):
            raise LookupError
        return content.decode(encoding)
    except LookupError:
        raise DataError("an unknown encoding", value=encoding) from None
    except UnicodeError as error:
        hint = "save the page as UTF-8"
        raise DataError(f"not {encoding}", value=str(error), hint=hint) from None


def html_text(page: str) -> str:
    """The title and the text of HTML, its blocks separated by empty lines."""
    parser = _TextParser()
    parser.feed(_harmless(page))
    parser.close()
    return parser.text


_SECTION = re.compile(r"<!\[[^>]*>")
_LONG_NUMBER = re.compile(r"&#(?:x[0-9a-f]{8}|[0-9]{8})[0-9a-f]*", re.I)


def _harmless(page: str) -> str:
    """The page without what Python's parser refuses, or reads in quadratic time.

    It looks for the end of each comment or tag that never ends anew; to HTML it is the last one.
    """
    for start, end in ((re.compile("<!--"), "-->"), (re.compile("<[a-zA-Z/!?]"), ">")):
        unclosed = start.search(page, page.rfind(end) + 1)
        page = page[: unclosed.start()] if unclosed else page
    return _LONG_NUMBER.sub("\ufffd", _SECTION.sub("", page))


# Elements whose text is no sentence of the page.
_NO_TEXT = {"canvas", "math", "nav", "noscript", "script", "select", "style", "svg", "template"}
_INLINE = re.compile(
    r"a|abbr|acronym|b|bd[io]|big|br|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|q|ruby|s|"
    r"samp|small|span|strike|strong|su[bp]|time|tt|u|var|wbr"
)


class _TextParser(HTMLParser):
    """Collects the text of blocks: an element that is not inline ends the one before."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = []
        self._open: list[str] = []  # the text of the present block
        self._left_out = ""  # the outermost element without text that is open
        self._depth = 0  # of elements of this name

    @property
    def text(self) -> str:
        self._end_block()
        return "\n\n".join(self._blocks)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 (of the library)
        if tag in _NO_TEXT and self._left_out in ("", tag):
            self._left_out = tag
            self._depth += 1
        if tag == "br":
            self.handle_data(" ")
        elif not _INLINE.fullmatch(tag):
            self._end_block()

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == self._left_out:
            self._depth -= 1
            self._left_out = tag if self._depth else ""
        if not _INLINE.fullmatch(tag):
            self._end_block()

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self._open.append(data)

    def _end_block(self) -> None:
        if block := " ".join("".join(self._open).split()):
            self._blocks.append(block)
        self._open.clear()


_HYPHEN = re.compile(r"(?<=[a-zà-ÿ])-\n(?=[a-zà-ÿ])")  # where a line of print ends in a word


def _pdf_text(source: Source) -> str:
    """The text of a PDF, page by page."""
    pypdf = import_extra("pypdf", "reading PDF files", "pdf")
    pages: list[str] = []
    with source.open() as stream, _reading_pdf():
        reader = pypdf.PdfReader(stream)
        if reader.is_encrypted and not reader.decrypt(""):
            raise DataError("an encrypted PDF", hint="save it without a password")
        size = 0
        for page in reader.pages:
            pages.append(page.extract_text().strip())
            size += len(pages[-1])
            if size > LONGEST:
                raise DataError("a PDF with more than 64 MiB of text")
    text = _HYPHEN.sub("", "\n\n".join(filter(None, pages))).replace("\0", " ")
    if not text.strip():
        raise DataError("a PDF without text", hint="scanned pages need OCR first")
    # A font may map characters to halves of characters.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@contextmanager
def _reading_pdf() -> Iterator[None]:
    """Turn what pypdf raises for a broken file, which may be anything, into one error."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)  # it has a line for each oddity
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (DataError, MemoryError):
        raise
    except Exception as error:
        raise DataError("damaged PDF file", value=str(error)) from error
    finally:
        logger.setLevel(before)
