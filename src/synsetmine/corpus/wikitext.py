"""Wiki markup to plain text, with the links to other articles as mentions.

The last of the passes over a page: what marks words within the lines. Like those before, it takes
time that is linear in the length of the page, whatever stands in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape

from synsetmine.corpus.wikiblocks import RAW, running_text
from synsetmine.corpus.wikilinks import Site, label_of, read_target, words
from synsetmine.text import nfc
from synsetmine.types import Mention

# Each pattern begins with a fixed character, which makes it several times as fast to search.
_MARKS = re.compile(
    r"""
      \[\[(?!\[) | \]\]
    | \[(?:(?:https?|ftp|irc|news|mailto|gopher|git|svn|tel|sip):|//)[^\s\[\]<>]*
    | \]
    | ''+
    | </?([A-Za-z][A-Za-z0-9]*)\b[^<>]*>
    | &\#?[A-Za-z0-9]{1,31};
    | __[A-Z]{3,30}__
    """,
    re.X,
)
_TARGET = re.compile(r"[^\[\]{}|<>\n]*")
_BREAKS = words(
    "br p div li ul ol dl dd dt tr td th table caption blockquote center poem hr h1 h2 h3 h4 h5 h6"
)
_TAGS = words(
    "abbr b bdi bdo big cite code data del dfn em font i ins kbd mark noinclude onlyinclude q rb "
    "rp rt rtc ruby s samp section small span strike strong sub sup tbody thead tfoot colgroup "
    "col time translate tt u var wbr"
)
_SPACES = re.compile(r"\s{2,}|[^\S ]")


def plain_text(wikitext: str, site: Site) -> tuple[str, tuple[Mention, ...]]:
    """The text of a page, and where it links to articles; the entity is the article's title."""
    writer = _Writer()
    _write_inline(running_text(wikitext), site, writer)
    return _normal("".join(writer.pieces), writer.mentions)


@dataclass(slots=True)
class _Link:
    """A link that is open, and how far the text was written before it."""

    title: str
    hidden: bool
    pieces: int
    length: int
    gap: str
    mentions: int


class _Writer:
    """Text in pieces, with single blanks and line ends between words."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.mentions: list[Mention] = []
        self.length = 0
        self.gap = ""  # blanks that are written only when something follows

    def write(self, text: str) -> None:
        body = text.strip()
        if not body:
            self._widen(text)
            return
        start = text.index(body[0])
        if start:
            self._widen(text[:start])
        if self.gap and self.length:
            self._put(self.gap)
        end = start + len(body)
        self.gap = _one(text[end:]) if end < len(text) else ""
        self._put(_SPACES.sub(_single, body) if "\n" in body else " ".join(body.split()))

    def open_link(self, title: str, hidden: bool) -> _Link:
        before = (len(self.pieces), self.length, self.gap, len(self.mentions))
        return _Link(title, hidden, *before)

    def close_link(self, link: _Link) -> None:
        if link.hidden:
            del self.pieces[link.pieces :]
            del self.mentions[link.mentions :]
            self.length, self.gap = link.length, link.gap
        elif link.title:
            anchor = "".join(self.pieces[link.pieces :])
            start = self.length - len(anchor.lstrip())
            if start < self.length:
                self.mentions.append(Mention(start, self.length, link.title))

    def _put(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)

    def _widen(self, blanks: str) -> None:
        if blanks:
            self.gap = _one(self.gap + blanks)


def _write_inline(text: str, site: Site, writer: _Writer) -> None:
    """Write the text without its marks; links become mentions."""
    links: list[_Link] = []
    outside = 0  # links out of the wiki that are open
    position = 0
    while found := _MARKS.search(text, position):
        mark = found[0]
        if found.start() > position:
            writer.write(text[position : found.start()])
        position = found.end()
        if mark == "[[":
            position = _open_link(text, position, site, writer, links)
        elif mark == "]]":
            position = _close_link(text, position, writer, links)
        elif mark[0] == "'":
            writer.write("'" if len(mark) == 4 else "'" * (len(mark) - 5))
        elif mark[0] == "<":
            writer.write(_shown(mark, found[1].lower()))
        elif mark[0] == "&":
            writer.write(unescape(mark))
        elif mark[0] == "[":
            outside += 1
        elif mark == "]" and outside:
            outside -= 1
        elif mark == "]":
            writer.write(mark)
    writer.write(text[position:])


def _shown(tag: str, name: str) -> str:
    """What a tag leaves in the text; what only looks like a tag stays as it is."""
    if name in _BREAKS:
        return "\n"
    return "" if name in _TAGS or name in RAW else tag


def _open_link(text: str, position: int, site: Site, writer: _Writer, links: list[_Link]) -> int:
    """Read the target of a link; the position behind it."""
    written = _TARGET.match(text, position)
    end = written.end() if written else position
    target = read_target(text[position:end], site)
    anchored = text.startswith("|", end)
    is_link = anchored or text.startswith("]]", end)
    if links and not (is_link and target.hidden):
        links[-1].title = ""  # links do not stand in links: the inner one holds
    if not is_link:
        links.append(writer.open_link("", hidden=False))  # no link, but its end may come
        return position
    links.append(writer.open_link(target.title, target.hidden))
    if not anchored:
        writer.write(label_of(text[position:end]))
        return end
    return end + 1


def _close_link(text: str, position: int, writer: _Writer, links: list[_Link]) -> int:
    """End the innermost link; the position behind the letters that belong to it.

    The small letters behind a link are part of it: the `s` of `[[cat]]s`. Scripts without
    capitals have none, so a link within Chinese text takes nothing with it.
    """
    if not links:
        return position
    link = links.pop()
    if link.length == writer.length:
        link.title = ""  # all of its anchor was a template or a picture
    end = position
    while not link.hidden and end < len(text) and text[end].islower():
        end += 1
    writer.write(text[position:end])
    writer.close_link(link)
    return end


def _single(blanks: re.Match[str]) -> str:
    return _one(blanks[0])


def _one(blanks: str) -> str:
    lines = blanks.count("\n")
    return "\n\n" if lines > 1 else "\n" if lines else " "


def _normal(text: str, mentions: list[Mention]) -> tuple[str, tuple[Mention, ...]]:
    """Text in form NFC, with mentions that fit it."""
    if nfc(text) == text:
        return text, tuple(mentions)
    pieces: list[str] = []
    moved: list[Mention] = []
    length = position = 0
    for mention in mentions:
        before = nfc(text[position : mention.start])
        anchor = nfc(text[mention.start : mention.end])
        start = length + len(before)
        length = start + len(anchor)
        moved.append(Mention(start, length, mention.entity))
        pieces += [before, anchor]
        position = mention.end
    return "".join([*pieces, nfc(text[position:])]), tuple(moved)
