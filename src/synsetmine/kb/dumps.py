"""The dumps of Wikidata and of MediaWiki wikis, and the Metathesaurus of the UMLS."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from synsetmine.corpus.mediawiki import Page, page_document, read_pages
from synsetmine.corpus.wikitext import read_target
from synsetmine.errors import DataError
from synsetmine.io.files import Source, plain_name
from synsetmine.kb.base import KnowledgeBuilder, accepts
from synsetmine.normalization import normal_form

_NEEDED = frozenset({"type", "id", "labels", "aliases"})
_ALL_LANGUAGES = "mul"  # a label or alias for every language


def add_wikidata(source: Source, builder: KnowledgeBuilder, *, language: str) -> None:
    """Read labels and aliases of items in a language; `mul` stands in for what it lacks.

    Only the fields up to the aliases are parsed, not the claims and links after them.
    """
    ranks = _Ranks(language)
    for number, line in source.lines():
        text = line.strip().removeprefix("[").removesuffix("]").removesuffix(",").strip()
        if not text:
            continue
        with source.skip_broken(number):
            _add_item(_fields(text), builder, ranks, number)


class _Ranks(dict[str, int]):
    """The language before `mul` and that before variants of the language; -1 for all others."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __missing__(self, tag: str) -> int:
        if tag == self._language:
            rank = 0
        elif tag == _ALL_LANGUAGES:
            rank = 1
        else:
            rank = 2 if accepts(self._language, tag) else -1
        return self.setdefault(tag, rank)


def _add_item(item: Mapping[str, Any], builder: KnowledgeBuilder, ranks: _Ranks, line: int) -> None:
    match item:
        case {"redirects": {"from": str(old), "to": str(new)}} | {
            "entity": str(old),
            "redirect": str(new),
        }:
            builder.replace(old, new)
            return
        case {"type": str(kind)} if kind != "item":
            return
        case {"type": "item", "id": str(entity)}:
            pass
        case _:
            raise DataError("expected an item with its id", value=dict(item))
    ranked = sorted(_names(item, ranks), key=lambda pair: pair[0])
    if ranked:
        builder.add(entity, [name for _, name in ranked], line=line)
        builder.define(entity, _description(item, ranks))


def _names(item: Mapping[str, Any], ranks: _Ranks) -> Iterator[tuple[int, str]]:
    """Names with their ranks: labels before aliases."""
    for base, field in ((0, "labels"), (3, "aliases")):
        by_language = item.get(field) or {}  # an empty object may be written as an empty array
        if not isinstance(by_language, dict):
            raise DataError("expected an object with languages as keys", value=by_language)
        for tag, values in by_language.items():
            rank = ranks[tag]
            if rank < 0:
                continue
            for value in values if isinstance(values, list) else [values]:
                name = value.get("value") if isinstance(value, dict) else None
                if not isinstance(name, str):
                    raise DataError("expected a value in a language", value=value)
                yield base + rank, name


def _description(item: Mapping[str, Any], ranks: _Ranks) -> str:
    """The description in the best language, if there is one."""
    by_language = item.get("descriptions")
    tags = by_language if isinstance(by_language, dict) else {}
    match tags.get(
        min((tag for tag in tags if ranks[tag] >= 0), key=lambda tag: ranks[tag], default="")
    ):
        case {"value": str(text)}:
            return text
    return ""


def _fields(text: str) -> dict[str, Any]:
    """The fields of a JSON object until all that are needed have been seen."""
    item: dict[str, Any] = {}
    if not text.startswith("{") or not text.endswith("}"):
        raise DataError("expected one JSON object per line", value=text)
    try:
        for name, value, _, _ in json_fields(text):
            item[name] = value
            if item.keys() >= _NEEDED or item.get("type", "item") != "item":
                break
    except (ValueError, IndexError, RecursionError) as error:
        raise DataError("not JSON", value=text) from error
    return item


_DECODE = json.JSONDecoder().raw_decode
_WHITESPACE = re.compile(r"[ \t\r\n]*")


def json_fields(text: str) -> Iterator[tuple[str, object, int, int]]:
    """Name, value, start and end of the fields of a JSON object, each parsed when it is asked for.

    A ValueError or IndexError if the object is broken up to there.
    """
    position = _after(text, 0, "{")
    while text[position] != "}":
        name, position = _DECODE(text, position)
        if not isinstance(name, str):
            raise ValueError("the name of a field must be a string")
        start = _after(text, position, ":")
        value, end = _DECODE(text, start)
        yield name, value, start, end
        position = _skip(text, end)
        if text[position] != "}":
            position = _after(text, position, ",")
            if text[position] == "}":
                raise ValueError("a comma without a field")


def _after(text: str, position: int, mark: str) -> int:
    """The place of what follows a mark, with whitespace on both sides."""
    position = _skip(text, position)
    if text[position] != mark:
        raise ValueError(f"expected {mark!r}")
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    match = _WHITESPACE.match(text, position)
    return position if match is None else match.end()


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
    gives no name, since a section is about something else. Pages that only list what a word may
    mean are left out.

    With `anchors` above 0, the words of a link become a name of the article that they lead to in
    at least so many links and in at least half of all links with these words.
    """
    links = _Links() if anchors > 0 else None
    for page in read_pages(source):
        if page.namespace == 0:
            with source.skip_broken(page.line):
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


# ISO 639-1 -> the code in the column LAT.
_LANGUAGES = {
    "ar": "ARA", "cs": "CZE", "da": "DAN", "de": "GER", "el": "GRE", "en": "ENG", "es": "SPA",
    "et": "EST", "eu": "BAQ", "fi": "FIN", "fr": "FRE", "he": "HEB", "hr": "SCR", "hu": "HUN",
    "it": "ITA", "ja": "JPN", "ko": "KOR", "lv": "LAV", "nl": "DUT", "no": "NOR", "pl": "POL",
    "pt": "POR", "ru": "RUS", "sv": "SWE", "tr": "TUR", "uk": "UKR", "zh": "CHI",
}  # fmt: skip

_WIDTH = 19  # 18 columns, each followed by a bar
_RETIRED_WIDTH = 8
_DEFINITION_WIDTH = 9
_BESIDE = ("MRCUI", "MRDEF")


def add_umls(
    source: Source,
    builder: KnowledgeBuilder,
    *,
    language: str,
    sources: Collection[str],
    keep_suppressed: bool,
) -> None:
    """Read the names of concepts; their preferred names are those of the Metathesaurus.

    `sources` keeps only names of these vocabularies (`MSH`, `SNOMEDCT_US`, …). Names that are
    marked as obsolete or suppressible go unless `keep_suppressed`. A `MRCUI.RRF` in the same
    folder lists the concepts that were merged into others, a `MRDEF.RRF` has definitions, of which
    those of sources with a name are kept.
    """
    code = umls_language(language)
    named: set[str] = set()  # sources
    for number, line in source.lines():
        fields = line.split("|")
        if len(fields) != _WIDTH or fields[-1] or not fields[0]:
            if line.strip():
                problem = "expected the 18 columns of MRCONSO.RRF, each followed by '|'"
                source.reject(DataError(problem, value=line), number)
            continue
        is_wanted = (code is None or fields[1] == code) and (not sources or fields[11] in sources)
        if is_wanted and (fields[16] == "N" or keep_suppressed):
            with source.skip_broken(number):
                builder.add(fields[0], (fields[14],), rank=_rank(fields), line=number)
                named.add(fields[11])
    for merged, number, fields in _rows_beside(source, "MRCUI", _RETIRED_WIDTH):
        if fields[2] == "SY" and fields[0] and fields[5]:  # others are only related, or deleted
            with merged.skip_broken(number):
                builder.replace(fields[0], fields[5])
    for _, _, fields in _rows_beside(source, "MRDEF", _DEFINITION_WIDTH):
        if fields[4] in named and (fields[6] == "N" or keep_suppressed):
            builder.define(fields[0], fields[5])


def umls_language(language: str) -> str | None:
    """The code of the Metathesaurus for a language, or None for all (`*`)."""
    if language == "*":
        return None
    if len(language) == 3 and language.isupper():
        return language
    code = _LANGUAGES.get(language.partition("-")[0].lower())
    if code is None:
        problem = (
            f"the language must be '*', a code such as 'ENG', or one of {', '.join(_LANGUAGES)}"
        )
        raise DataError(problem, value=language)
    return code


def _rank(fields: list[str]) -> int:
    """0 for the preferred name; the term status counts most, then its form, then the atom.

    Suppressed names come after all others.
    """
    term, form, atom = fields[2] != "P", fields[4] != "PF", fields[6] != "Y"
    return 8 * (fields[16] != "N") + 4 * term + 2 * form + atom


def umls_files(path: Path) -> dict[str, Path]:
    """The files next to MRCONSO.RRF: of merged concepts (MRCUI) and of definitions (MRDEF)."""
    if plain_name(path) != "MRCONSO.RRF":
        return {}
    files = {name: path.with_name(path.name.replace("MRCONSO", name)) for name in _BESIDE}
    return {name: other for name, other in files.items() if other.is_file()}


def _rows_beside(source: Source, name: str, width: int) -> Iterator[tuple[Source, int, list[str]]]:
    """The rows of a file next to MRCONSO.RRF, with the file and their numbers."""
    other = umls_files(source.path).get(name)
    if other is None:
        return
    source = Source(other, source.skipped)
    for number, line in source.lines():
        fields = line.split("|")
        if len(fields) == width:
            yield source, number, fields
        else:
            problem = f"expected the {width - 1} columns of {name}.RRF, each followed by '|'"
            source.reject(DataError(problem, value=line), number)
