"""A knowledge base from the dump of a wiki: its articles, and the titles that redirect to them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from synsetmine.corpus.mediawiki import Page, page_document, read_pages
from synsetmine.corpus.wikitext import read_target
from synsetmine.io.source import Source
from synsetmine.kb.base import KnowledgeBuilder
from synsetmine.normalization import normal_form

# Ranks of names: what an article is called, what others call it.
_TITLE, _TARGET, _REDIRECT, _ANCHOR = range(4)

_BRACKETS = re.compile(r"(.*\S)\s+\([^()]+\)")
_TO_SECTION = re.compile(r"\s*+#\w++\s*+:?+\s*+\[\[[^\[\]|\n]*#")
_DISAMBIGUATION = re.compile(
    r"\{\{\s*+(?:disambig\w*|\w[\w ]* disambiguation|dab|hndis|geodis|begriffsklärung|homonymie"
    r"|desambiguaci[oó]n|disambigua|doorverwijspagina|desambiguação)\s*[|}]|__DISAMBIG__",
    re.IGNORECASE,
)


def add_mediawiki(source: Source, builder: KnowledgeBuilder, *, anchors: int) -> None:
    """Read the articles; `builder.columns(merge=True)` then follows redirects to redirects.

    An article's id is its title, its preferred name the title without brackets at its end. The
    titles of redirects to it are further names, and lead to it as ids. A redirect to a section
    gives no name, since a section tells of something else. Pages that only list what a word may
    mean are left out.

    With `anchors` above 0, the words of a link become a name of the article that they lead to in
    at least so many links and in at least half of all links with these words.
    """
    links = _Links() if anchors > 0 else None
    for page in read_pages(source):
        if page.namespace == 0:
            with source.skipping(page.line):
                _add_page(page, builder, links)
    if links is not None:
        for target in links.targets():
            builder.add(target, (plain_title(target),), rank=_TARGET)
        for target, anchor in links.names(anchors):
            builder.add(target, (anchor,), rank=_ANCHOR)


def plain_title(title: str) -> str:
    """A title without the brackets that tell it from others.

    >>> plain_title("Mercury (planet)"), plain_title("(What's the Story) Morning Glory?")
    ('Mercury', "(What's the Story) Morning Glory?")
    """
    match = _BRACKETS.fullmatch(title)
    return match[1] if match else title


def _add_page(page: Page, builder: KnowledgeBuilder, links: _Links | None) -> None:
    if page.redirect is not None:
        _add_redirect(page, builder, links)
    elif _is_disambiguation(page):
        builder.leave_out(page.title)
    else:
        builder.add(page.title, (plain_title(page.title),), rank=_TITLE, line=page.line)
        if links is not None:
            links.count(page)


def _add_redirect(page: Page, builder: KnowledgeBuilder, links: _Links | None) -> None:
    target = read_target(page.redirect or "", page.site).title
    if not target or target == page.title:
        return
    builder.replace(page.title, target)
    builder.add(target, (plain_title(target),), rank=_TARGET, line=page.line)
    if not _TO_SECTION.match(page.wikitext):
        builder.add(target, (plain_title(page.title),), rank=_REDIRECT, line=page.line)
    if links is not None:
        links.redirects[page.title] = target


def _is_disambiguation(page: Page) -> bool:
    return page.title.lower().endswith("(disambiguation)") or bool(
        _DISAMBIGUATION.search(page.wikitext)
    )


class _Links:
    """How often the words of links lead where."""

    def __init__(self) -> None:
        self.redirects: dict[str, str] = {}
        self._counts: Counter[tuple[str, str]] = Counter()  # (target, words)

    def count(self, page: Page) -> None:
        document = page_document(page)
        for mention in document.mentions:
            self._counts[mention.entity, document.text[mention.start : mention.end]] += 1

    def targets(self) -> Iterator[str]:
        return iter(dict.fromkeys(self._final(target) for target, _ in self._counts))

    def names(self, least: int) -> Iterator[tuple[str, str]]:
        """(target, words) of the links that are names, each in its most frequent spelling."""
        uses: Counter[str] = Counter()  # of a normal form
        spellings: dict[tuple[str, str], Counter[str]] = {}
        for (target, words), count in self._counts.items():
            form = normal_form(words)
            uses[form] += count
            spellings.setdefault((self._final(target), form), Counter())[words] += count
        for (target, form), words_of in spellings.items():
            total = words_of.total()
            if form and total >= least and 2 * total >= uses[form]:
                yield target, words_of.most_common(1)[0][0]

    def _final(self, title: str) -> str:
        seen = {title}
        while (title := self.redirects.get(title, title)) not in seen:
            seen.add(title)
        return title
