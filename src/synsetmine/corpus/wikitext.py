"""MediaWiki markup to plain text with links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from urllib.parse import unquote

from synsetmine.normalization import nfc
from synsetmine.types import Mention


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A link with one of these before its colon leads to the same article in another language.
LANGUAGES = words(
    """
    aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az
    azb ba ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br
    bs btm bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de
    dga din diq dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr
    frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he
    hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv
    ka kaa kab kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad
    lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi
    min mk ml mn mni mnw mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nb nds nds-nl ne new ng
    nia nl nn no nov nqo nr nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm pdc pdt pfl pi
    pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc
    scn sco sd se sg sgs sh shi shn si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw
    szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm
    ug uk ur uz ve vec vep vi vls vo vro war wa wo wuu xal xh xmf yi yo yue za zea zgh zh
    zh-classical zh-min-nan zh-yue zu
    """
)

# Sister projects and other places of the web that wikis have short names for.
ELSEWHERE = words(
    """
    b bugzilla c commons d doi foundation hdl imdbname imdbtitle incubator m mail mailarchive
    mediawikiwiki meta metawikipedia mw n outreach phab q rfc s species sourceforge toollabs
    v voy w wikibooks wikidata wikimedia wikinews wikipedia wikiquote wikisource wikispecies
    wikiversity wikivoyage wikt wiktionary wmf wp
    """
)

# English names serve in every wiki; files also have names from before 2008, which live on.
FILES = words(
    """
    file image media datei bild fichier archivo imagen ficheiro imagem immagine bestand afbeelding
    plik grafika файл изображение ファイル 画像
    """
)
OTHERS = words("special talk user project mediawiki template help portal draft module")
_FILE_KEYS = frozenset({-2, 6})
_CATEGORY_KEY = 14

# Characters that `%7C` and `&lt;` may encode, but no title can have.
_IN_NO_TITLE = re.compile("[\x00-\x1f\x7f-\x9f\ufffd<>\\[\\]{}|]")
LONGEST_TITLE = 255  # bytes, as in MediaWiki


@dataclass(frozen=True)
class Site:
    """The names of a wiki's namespaces other than that of articles, in lower case."""

    hidden: frozenset[str] = FILES | {"category"}  # a link to them shows nothing in the text
    others: frozenset[str] = OTHERS
    first_letter: bool = True  # whether the first letter of a title is always upper case

    @classmethod
    def of(cls, namespaces: Mapping[int, str], *, first_letter: bool = True) -> Site:
        """The site of a dump that lists its namespaces by number."""
        names = {key: name.replace("_", " ").lower() for key, name in namespaces.items() if name}
        hidden = {names[key] for key in names if key in _FILE_KEYS or key == _CATEGORY_KEY}
        return cls(
            hidden=cls.hidden | hidden,
            others=(cls.others | set(names.values())) - hidden,
            first_letter=first_letter,
        )


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a link; `title` is "" if it is no article."""

    title: str
    hidden: bool = False  # whether the link shows something outside of the running text


def read_target(written: str, site: Site) -> Target:
    """Read the part of a link before its `|`.

    >>> read_target("new_York#History", Site()).title
    'New York'
    >>> read_target("File:Map.png", Site()).hidden, read_target(":de:Haus", Site()).hidden
    (True, False)
    """
    plain = _plain(written)
    shown = plain.startswith(":")  # [[:Category:X]] is a link to see, [[Category:X]] is none
    plain = plain.removeprefix(":").lstrip()
    prefix, colon, _ = plain.partition(":")
    if colon:
        space = prefix.rstrip().lower()
        if space in site.hidden or space in LANGUAGES:
            return Target("", hidden=not shown)
        if space in site.others or space in ELSEWHERE:
            return Target("")
    return Target(_title(plain, site))


def label_of(written: str) -> str:
    """The text that a link without an anchor shows."""
    plain = _plain(written).removeprefix(":").lstrip()
    page, _, section = plain.partition("#")
    return page.strip() or section.strip()


def pipe_trick(written: str) -> str:
    """What `[[target|]]` shows: no namespace, nothing in brackets, nothing after a comma.

    >>> pipe_trick("Boston, Massachusetts"), pipe_trick("Help:Pipe (computing)")
    ('Boston', 'Pipe')
    """
    label = label_of(written)
    label = label.partition(":")[2].strip() or label
    if label.endswith(")") and " (" in label:
        return label[: label.rindex(" (")].rstrip()
    return label.partition(", ")[0]


def unescape_html(text: str) -> str:
    """Without HTML's names and numbers of characters.

    >>> unescaped("AT&amp;T"), unescaped("&#65;")
    ('AT&T', 'A')
    """
    try:
        return unescape(text)
    except ValueError:  # Python reads no number of more than 4300 digits
        return text


def _plain(written: str) -> str:
    if "%" in written:
        written = unquote(written)
    if "&" in written:
        written = unescape_html(written)
    return " ".join(written.replace("_", " ").split())


def _title(plain: str, site: Site) -> str:
    title = nfc(plain.partition("#")[0].rstrip())
    if not title or title.startswith(("/", "../")) or _IN_NO_TITLE.search(title):
        return ""
    if len(title.encode()) > LONGEST_TITLE:
        return ""
    first = title[0].upper()
    return first + title[1:] if site.first_letter and len(first) == 1 else title


# Elements that are removed with their content; of `nowiki`, only the tags are removed.
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


def inline_text(wikitext: str) -> str:
    """The text of a page with only the markup that is within its lines."""
    text = _PIPE_TRICK.sub(_with_label, wikitext)
    text = _without_braces(_without_raw(text))
    text = _HOLLOW.sub(_drop_if_empty, text)
    return "\n".join(map(_strip_marks, text.split("\n")))


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
        while True:  # an element opened within is never closed
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


def _drop_if_empty(brackets: re.Match[str]) -> str:
    """Brackets without what a template leaves in them: `Rome (; 753 BC)`, `Rome ()`."""
    if not brackets[0].endswith(")"):
        return "("
    start = brackets.start()
    called = brackets[0] == "()" and not brackets.string[start - 1 : start].isspace()
    return "()" if called else ""  # a pair right behind a word is that of `main()`


def _strip_marks(line: str) -> str:
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
    for position in (short or long or starts)[:1]:
        return f"{line[:position]}&#39;{line[position + 1 :]}"
    return line


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
    _write_inline(inline_text(wikitext), site, writer)
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
        self.gap = _collapse(text[end:]) if end < len(text) else ""
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
            self.gap = _collapse(self.gap + blanks)


def _write_inline(text: str, site: Site, writer: _Writer) -> None:
    """Write the text without its marks; links become mentions."""
    links: list[_Link] = []
    outside = 0  # links out of the wiki that are open
    position = 0
    while match := _MARKS.search(text, position):
        mark = match[0]
        if match.start() > position:
            writer.write(text[position : match.start()])
        position = match.end()
        if mark == "[[":
            position = _open_link(text, position, site, writer, links)
        elif mark == "]]":
            position = _close_link(text, position, writer, links)
        elif mark[0] == "'":
            writer.write("'" if len(mark) == 4 else "'" * (len(mark) - 5))
        elif mark[0] == "<":
            writer.write(_tag_text(mark, match[1].lower()))
        elif mark[0] == "&":
            writer.write(unescape(mark))
        elif mark[0] == "[":
            outside += 1
        elif mark == "]" and outside:
            outside -= 1
        elif mark == "]":
            writer.write(mark)
    writer.write(text[position:])


def _tag_text(tag: str, name: str) -> str:
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
        links[-1].title = ""  # links are never nested: the inner one counts
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
    return _collapse(blanks[0])


def _collapse(blanks: str) -> str:
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
