"""The Metathesaurus of the UMLS: `MRCONSO.RRF`, one name a line."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from synsetmine.errors import DataError
from synsetmine.io.files import plain_name
from synsetmine.io.source import Source
from synsetmine.kb.base import KnowledgeBuilder

# ISO 639-1 -> the code in the column LAT.
_LANGUAGES = {
    "ar": "ARA", "cs": "CZE", "da": "DAN", "de": "GER", "el": "GRE", "en": "ENG", "es": "SPA",
    "et": "EST", "eu": "BAQ", "fi": "FIN", "fr": "FRE", "he": "HEB", "hr": "SCR", "hu": "HUN",
    "it": "ITA", "ja": "JPN", "ko": "KOR", "lv": "LAV", "nl": "DUT", "no": "NOR", "pl": "POL",
    "pt": "POR", "ru": "RUS", "sv": "SWE", "tr": "TUR", "uk": "UKR", "zh": "CHI",
}  # fmt: skip

_WIDTH = 19  # 18 columns, each followed by a bar
_RETIRED_WIDTH = 8


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
    folder tells which concepts were merged into others.
    """
    wanted = umls_language(language)
    for number, line in source.lines():
        fields = line.split("|")
        if len(fields) != _WIDTH or fields[-1] or not fields[0]:
            if line.strip():
                problem = "expected the 18 columns of MRCONSO.RRF, each followed by '|'"
                source.reject(DataError(problem, value=line), number)
            continue
        if wanted is not None and fields[1] != wanted:
            continue
        if sources and fields[11] not in sources:
            continue
        if fields[16] != "N" and not keep_suppressed:
            continue
        with source.skipping(number):
            builder.add(fields[0], (fields[14],), rank=_rank(fields), line=number)
    _add_merged(source, builder)


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


def merged_file(path: Path) -> Path | None:
    """The file of merged concepts beside one of names, if there is one."""
    other = path.with_name(path.name.replace("MRCONSO", "MRCUI"))
    return other if plain_name(path) == "MRCONSO.RRF" and other.is_file() else None


def _add_merged(source: Source, builder: KnowledgeBuilder) -> None:
    other = merged_file(source.path)
    if other is None:
        return
    source = Source(other, source.skipped)
    for number, line in source.lines():
        fields = line.split("|")
        if len(fields) != _RETIRED_WIDTH:
            problem = "expected the 7 columns of MRCUI.RRF, each followed by '|'"
            source.reject(DataError(problem, value=line), number)
        elif fields[2] == "SY" and fields[0] and fields[5]:  # others are only related, or deleted
            with source.skipping(number):
                builder.replace(fields[0], fields[5])
