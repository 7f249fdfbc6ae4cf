"""Synonyms for search engines: files of Solr, Elasticsearch and OpenSearch, and Querqy's rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from synsetmine.errors import DataError
from synsetmine.export.entries import About, Entry, names_of
from synsetmine.io.files import compression_of, plain_name, read_whole, writing
from synsetmine.runs import MinedTerm

LIMIT = 10_000  # rules in a set of Elasticsearch's synonyms API

T = TypeVar("T")


def split(rules: Sequence[T], limit: int) -> list[Sequence[T]]:
    """The rules in parts of at most `limit`; 0 is no limit."""
    if limit < 0:
        raise DataError("the limit must be 0 or more", value=limit)
    step = limit or max(len(rules), 1)
    return [rules[start : start + step] for start in range(0, len(rules), step)] or [rules]


def write_parts(path: Path, texts: Sequence[str]) -> list[Path]:
    """Write `x.txt`, `x-2.txt`, … whole or not at all, and return their paths.

    A further part that is there already would be taken for one of these, so it is an error.
    """
    paths = [part_of(path, number) for number in range(1, len(texts) + 1)]
    beyond = part_of(path, len(texts) + 1)
    if beyond.exists():
        raise DataError("a part of an earlier, longer export is in the way", path=beyond)
    for target in paths:
        if target.is_dir():
            raise DataError("a folder is in the way", path=target)
    with ExitStack() as stack:
        # In reverse, since the last to be opened is the first to take its place: `x.txt` is last.
        for target, text in reversed(list(zip(paths, texts, strict=True))):
            stack.enter_context(writing(target)).write(text.encode())
    return paths


def part_of(path: Path, number: int) -> Path:
    """`x.txt`, then `x-2.txt`; of `x.txt.gz` it is `x-2.txt.gz`."""
    if number == 1:
        return path
    plain = Path(plain_name(path))
    compression = path.suffix if compression_of(path) else ""
    return path.with_name(f"{plain.stem}-{number}{plain.suffix}{compression}")


_LINES = re.compile(r"\r\n|\r|\n")  # as Java's readLine has it; no others
_WHITESPACE = "".join(map(chr, range(ord(" ") + 1)))  # as Java's trim has them
_PIECES = {
    separator: re.compile(rf"\\.?|{separator}|[^\\,=]+|.", re.S) for separator in ("=>", ",")
}
_ESCAPE = re.compile(r"\\(.)", re.S)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `outputs` take the place of any of the `inputs`, without them all are equal."""

    line: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] | None = None

    @property
    def terms(self) -> tuple[str, ...]:
        return (*self.inputs, *(self.outputs or ()))


def read_rules(path: str | Path) -> list[Rule]:
    """The rules of a file; what Lucene refuses is a DataError."""
    path = Path(path)
    rules = []
    for number, line in read_lines(path):
        try:
            rules.append(parse_rule(line, number))
        except DataError as error:
            raise error.at(path, number) from None
    return [rule for rule in rules if rule is not None]


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers; Lucene leaves a byte order mark as it is."""
    content = read_whole(path)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        line = len(_LINES.findall(before)) + 1
        raise DataError("not UTF-8", path=path, line=line, value=content[error.start :]) from None
    yield from enumerate(_LINES.split(text), start=1)


def parse_rule(line: str, number: int = 0) -> Rule | None:
    """The rule of a line; None for an empty line and a comment."""
    if not line or line.startswith("#"):
        return None
    sides = _split(line, "=>")
    if len(sides) > 2:
        raise DataError("more than one => in a rule", value=line)
    if len(sides) == 2:
        return Rule(number, _terms(sides[0], line), _terms(sides[1], line))
    return Rule(number, _terms(line, line))


def has_arrow(line: str) -> bool:
    """Whether there is an arrow that no backslash escapes, with two sides or with one."""
    return any(match.group() == "=>" for match in _PIECES["=>"].finditer(line))


def _terms(side: str, line: str) -> tuple[str, ...]:
    terms = tuple(_ESCAPE.sub(r"\1", piece).strip(_WHITESPACE) for piece in _split(side, ","))
    if not all(terms):
        raise DataError("an empty term", value=line)
    return terms


def _split(text: str, separator: str) -> list[str]:
    """The pieces between separators that no backslash escapes; empty ones do not count."""
    pieces: list[list[str]] = [[]]
    for match in _PIECES[separator].finditer(text):
        if match.group() == separator:
            pieces.append([])
        else:
            pieces[-1].append(match.group())
    return ["".join(piece) for piece in pieces if piece]


_LINE_END = re.compile(r"[\r\n]")
# A # after whitespace needs no escape, but looks like a comment to a person (and to `lint`).
_SPECIAL = re.compile(r"[\\,]|=(?=>)|(?<!\S)#")
_MANAGED = frozenset({"initArgs", "managedList", "managedMap"})  # keys that mean something else


def write_solr(
    path: Path,
    entries: Sequence[Entry],
    about: About,
    *,
    explicit: bool = False,
    limit: int = LIMIT,
) -> list[Path]:
    """One rule a line: `preferred, other, other`, or explicit: `other, other => preferred`."""
    parts = split([rule(entry, explicit=explicit) for entry in entries], limit)
    preferred = "the right side" if explicit else "the first term"
    head = f"# {about.in_words}; {preferred} of a rule is the preferred term.\n"
    return write_parts(path, [head + "".join(f"{line}\n" for line in part) for part in parts])


def write_elasticsearch(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (JSON without a place for it)
    *,
    explicit: bool = False,
    limit: int = LIMIT,
) -> list[Path]:
    """The body of `PUT _synonyms/NAME`: rules as in `synonyms.txt`, under the ids of the sets."""
    rules = [{"id": entry.id, "synonyms": rule(entry, explicit=explicit)} for entry in entries]
    return write_parts(path, [_json({"synonyms_set": part}) for part in split(rules, limit)])


def write_managed(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (JSON without a place for it)
    *,
    explicit: bool = False,
) -> list[Path]:
    """The body of `PUT schema/analysis/synonyms/NAME`: each term with what takes its place.

    A term that is not among its own synonyms is gone from the query, so it is repeated there,
    unless the rules are to be explicit.
    """
    mapping: dict[str, list[str]] = {}
    for entry in entries:
        first, *others = surfaces(entry)
        for term in others if explicit else (first, *others):
            known = mapping.setdefault(term, [])  # another set may have the term too
            synonyms = (first,) if explicit else (first, *others)
            known.extend(other for other in synonyms if other not in known)
    return write_parts(path, [_json(mapping)])


def rule(entry: Entry, *, explicit: bool) -> str:
    first, *others = map(escape, surfaces(entry))
    return f"{', '.join(others)} => {first}" if explicit else ", ".join([first, *others])


def surfaces(entry: Entry) -> list[str]:
    """The terms, preferred first; two senses of a surface are one term to a search engine."""
    return [term.text for term in names_of(entry)]


def escape(term: str) -> str:
    """The term as it is written in a rule, also as the first one of its line."""
    return _SPECIAL.sub(lambda match: f"\\{match.group()}", term)


def rule_problem(term: str) -> str:
    """Why no rule can hold the term; empty if one can."""
    if _LINE_END.search(term):
        return "a term with a line break"
    if "\0" in term:
        return "a term with a NUL, which Lucene uses between words"
    if term[0] <= " " or term[-1] <= " ":  # what Java's trim takes away, escaped or not
        return "a term with whitespace at its start or end"
    return ""


def managed_problem(term: str) -> str:
    """Why Solr's map cannot hold the term; empty if it can."""
    if term in _MANAGED:
        return "a term that is a reserved word of Solr's managed resources"
    return rule_problem(term)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


# --- Querqy's Common Rules Rewriter ---

Weights = Literal["probability", "none"]

_QUERQY_SPECIAL = re.compile(r'[*#"]')
# What has a meaning and no escape (or, the backslash, one that Querqy's comments get wrong).
_UNWRITABLE = {
    "a term with a line break": re.compile(r"[\x85\u2028\u2029]"),
    "a term with a backslash": re.compile(r"\\"),
    "a term with a colon, which ends the name of a field in Querqy": re.compile(":"),
    "a term with a dollar sign and a digit, which refer to a wildcard": re.compile(r"\$\d"),
    "a term that starts with @, like the properties of a rule": re.compile(r"\A@"),
    "a term that ends with =>, like the input of a rule": re.compile(r"=>\Z"),
}


def write_querqy(
    path: Path, entries: Sequence[Entry], about: About, *, weights: Weights = "probability"
) -> list[Path]:
    """A rule for each term, with the other terms of its set as synonyms, the preferred one first.

    Two terms are synonyms with the probability of the less certain one.
    """
    lines = [f"# {about.in_words}; the first rule of a set has its preferred term as input."]
    for entry in entries:
        lines += ["", f"# {entry.id!r}"]
        terms = names_of(entry)
        for term in terms:
            lines.append(f"{escape_querqy(term.text)} =>")
            lines += [_synonym(term, other, weights) for other in terms if other is not term]
    return write_parts(path, ["".join(f"{line}\n" for line in lines)])


def escape_querqy(term: str) -> str:
    return _QUERQY_SPECIAL.sub(lambda match: f"\\{match.group()}", term)


def querqy_problem(term: str) -> str:
    """Why no rule can hold the term; empty if one can."""
    problems = (problem for problem, sign in _UNWRITABLE.items() if sign.search(term))
    return rule_problem(term) or next(problems, "")


def _synonym(term: MinedTerm, other: MinedTerm, weights: Weights) -> str:
    weight = f"{min(term.certainty, other.certainty):.4f}".rstrip("0").rstrip(".")
    shown = "" if weights == "none" or weight == "1" else f"({weight})"
    return f"  SYNONYM{shown}: {escape_querqy(other.text)}"
