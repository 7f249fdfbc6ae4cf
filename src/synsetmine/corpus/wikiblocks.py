"""The running text of a wiki page: its lines, without all that does not belong to them.

Three passes, each of them linear in the length of the page whatever stands in it: comments,
references, formulas and their like go, then what stands in braces (templates, tables), then what
marks lines (headings, lists).
"""

from __future__ import annotations

import re

from synsetmine.corpus.wikilinks import pipe_trick, words

# Elements that go with all that stands in them; of `nowiki`, only the marks go.
RAW = words(
    "ref references math chem ce gallery timeline score source syntaxhighlight pre hiero imagemap "
    "graph mapframe maplink templatedata templatestyles includeonly inputbox categorytree style "
    "script indicator nowiki"
)
_PIPE_TRICK = re.compile(r"(\[\[([^\[\]{}|<>\n]+)\|)\]\]")
_RAW_START = re.compile(rf"<!--|<({'|'.join(sorted(RAW))})\b([^<>]*)>", re.I)
_RAW_END = {name: re.compile(rf"</{name}\s*>", re.I) for name in RAW}
_ESCAPES = {ord(char): f"&#{ord(char)};" for char in "[]{}|'=<>*:_!-"}

# Each pattern begins with a fixed character, which makes it several times as fast to search.
# A table ends with `|}` at the start of a line; in `|}}` the braces belong to a template.
_BRACES = re.compile(r"\{\{+|\}\}+|\n[ \t:]*\{\|[^{}\n]*|\n[ \t]*\|\}(?=(?:\}\})*(?!\}))")
_HOLLOW = re.compile(r"\((?:[\s,;:]*\)|[ \t]*[,;:][\s,;:]*)")
_QUOTES = re.compile("''+")
_ADDRESS = re.compile(r"(?<!\[)\b(?:https?|ftp)://[^\s\[\]<>|]+")


def running_text(wikitext: str) -> str:
    """The text of a page with only those marks that stand within its lines."""
    text = _PIPE_TRICK.sub(_with_label, wikitext)
    text = _without_braces(_without_raw(text))
    text = _HOLLOW.sub(_filled, text)
    return "\n".join(map(_unmarked, text.split("\n")))


def _with_label(link: re.Match[str]) -> str:
    """`[[Pipe (music)|Pipe]]` of `[[Pipe (music)|]]`, before other links lose their anchors."""
    return f"{link[1]}{pipe_trick(link[2])}]]"


def _without_raw(text: str) -> str:
    """Without comments and elements whose content is no wiki text."""
    pieces: list[str] = []
    endless: set[str] = set()  # or each of many open elements would search to the end of the page
    position = 0
    while start := _RAW_START.search(text, position):
        pieces.append(text[position : start.start()])
        position = start.end()
        if start[1] is None:
            end = text.find("-->", position)
            position = len(text) if end < 0 else end + 3
            continue
        name = start[1].lower()
        if start[2].endswith("/"):
            # An empty <nowiki/> parts a link from the letters behind it.
            pieces.append(start[0] if name == "nowiki" else "")
            continue
        close = None if name in endless else _RAW_END[name].search(text, position)
        if close is None:
            endless.add(name)
            continue
        if name == "nowiki":
            pieces.append(text[position : close.start()].translate(_ESCAPES))
        position = close.end()
    pieces.append(text[position:])
    return "".join(pieces)


def _without_braces(text: str) -> str:
    """Without templates and tables; of those that are never closed, only the marks go."""
    pieces: list[str] = []
    opened: list[tuple[str, int]] = []  # kind, and the number of pieces before it
    depth = {"{{": 0, "{|": 0}

    def close(kind: str) -> None:
        if not depth[kind]:
            return
        while True:  # what stands open within is never closed
            inner, before = opened.pop()
            depth[inner] -= 1
            if inner == kind:
                del pieces[before:]
                return

    text = f"\n{text}"
    position = 1
    for match in _BRACES.finditer(text):
        pieces.append(text[position : match.start()])
        position = match.end()
        mark = match[0].lstrip("\n\t :")
        if mark[0] != match[0][0]:
            pieces.append("\n")
        if mark.startswith("}"):
            for _ in range(len(mark) // 2):
                close("{{")
        elif mark.startswith("|"):
            close("{|")
        else:
            kind, count = ("{{", len(mark) // 2) if mark.startswith("{{") else ("{|", 1)
            opened += [(kind, len(pieces))] * count
            depth[kind] += count
    pieces.append(text[position:])
    return "".join(pieces)


def _filled(brackets: re.Match[str]) -> str:
    """Brackets without what a template leaves in them: `Rome (; 753 BC)`, `Rome ()`."""
    if not brackets[0].endswith(")"):
        return "("
    start = brackets.start()
    called = brackets[0] == "()" and not brackets.string[start - 1 : start].isspace()
    return "()" if called else ""  # a pair right behind a word is that of `main()`


def _unmarked(line: str) -> str:
    """A line without the marks of headings, lists and rules."""
    start = line[:1]
    if start in ("|", "!") and "]]" not in line and (start == "|" or line.startswith("! ")):
        return ""  # the row of a table that was never closed
    if start == "=" and line.rstrip().endswith("="):
        return "\n" + line.strip("= \t") + "\n"
    if start in ("*", "#", ":", ";"):
        line = line.lstrip("*#:; \t")
    elif line.startswith("----"):
        line = line.lstrip("-")
    if "://" in line:
        line = _ADDRESS.sub("", line)
    return _with_apostrophe(line) if "'''" in line else line


def _with_apostrophe(line: str) -> str:
    """Keep the apostrophe of `l'''Iliade''`, which is one, followed by the mark of italics.

    MediaWiki's rule: where the marks of bold and of italics are both odd in number, one `'''` is
    an apostrophe and `''`; the first behind a word of one letter, or else behind a longer word.
    """
    runs = list(_QUOTES.finditer(line))
    sizes = [min(len(run[0]), 5) for run in runs]
    bold = sum(size in (3, 4, 5) for size in sizes)
    italic = sum(size in (2, 5) for size in sizes)
    if not (bold % 2 and italic % 2):
        return line
    starts = [run.start() for run in runs if len(run[0]) == 3]
    short = [i for i in starts if i > 1 and line[i - 1] != " " and line[i - 2] == " "]
    long = [i for i in starts if i > 0 and line[i - 1] != " "]
    for place in (short or long or starts)[:1]:
        return f"{line[:place]}&#39;{line[place + 1 :]}"
    return line
