"""Synonyms for search engines: files of Solr, Elasticsearch and OpenSearch with their linter, and
Querqy's rules.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from synsetmine.errors import DataError, shorten
from synsetmine.export.entries import About, names_of
from synsetmine.io.files import atomic_stream, compression_of, plain_name
from synsetmine.io.rules import Rule, has_arrow, parse_rule, read_lines
from synsetmine.runs import MinedSet, MinedTerm

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
            stack.enter_context(atomic_stream(target)).write(text.encode())
    return paths


def part_of(path: Path, number: int) -> Path:
    """`x.txt`, then `x-2.txt`; of `x.txt.gz` it is `x-2.txt.gz`."""
    if number == 1:
        return path
    plain = Path(plain_name(path))
    compression = path.suffix if compression_of(path) else ""
    return path.with_name(f"{plain.stem}-{number}{plain.suffix}{compression}")


_LINE_END = re.compile(r"[\r\n]")
# A # after whitespace needs no escape, but looks like a comment to a person (and to `lint`).
_SPECIAL = re.compile(r"[\\,]|=(?=>)|(?<!\S)#")
_MANAGED = frozenset({"initArgs", "managedList", "managedMap"})  # keys that mean something else


def write_solr(
    path: Path,
    entries: Sequence[MinedSet],
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
    entries: Sequence[MinedSet],
    _about: About,
    *,
    explicit: bool = False,
    limit: int = LIMIT,
) -> list[Path]:
    """The body of `PUT _synonyms/NAME`: rules as in `synonyms.txt`, under the ids of the sets."""
    rules = [{"id": entry.id, "synonyms": rule(entry, explicit=explicit)} for entry in entries]
    return write_parts(path, [_json({"synonyms_set": part}) for part in split(rules, limit)])


def write_managed(
    path: Path, entries: Sequence[MinedSet], _about: About, *, explicit: bool = False
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


def rule(entry: MinedSet, *, explicit: bool) -> str:
    first, *others = map(escape, surfaces(entry))
    return f"{', '.join(others)} => {first}" if explicit else ", ".join([first, *others])


def surfaces(entry: MinedSet) -> list[str]:
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
    path: Path, entries: Sequence[MinedSet], about: About, *, weights: Weights = "probability"
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


Severity = Literal["error", "warning", "note"]

_DANGLING = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_COMMENT = re.compile(r"\s#")
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem or a note, with its line."""

    line: int
    severity: Severity
    check: str  # a short name
    message: str


@dataclass(frozen=True)
class Lint:
    """The findings of a file, in the order of its lines."""

    rules: int
    terms: int  # different ones
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)


def lint_file(path: str | Path, *, limit: int = LIMIT) -> Lint:
    """Check a file; `limit` is how many rules the engine takes, 0 for any number."""
    rules: list[Rule] = []
    findings: list[Finding] = []
    for number, line in read_lines(Path(path)):
        findings += _of_line(line, number)
        try:
            rule = parse_rule(line, number)
        except DataError as error:
            problem = f"{error.problem}; engines reject the whole file"
            findings.append(Finding(number, "error", "refused", problem))
            continue
        if rule is not None:
            findings += _of_rule(rule, line)
            rules.append(rule)
    findings += _of_file(rules, limit)
    findings.sort(key=lambda finding: finding.line)
    terms = {term for one in rules for term in one.terms}
    return Lint(len(rules), len(terms), tuple(findings))


# --- One line ---


def _of_line(line: str, number: int) -> Iterator[Finding]:
    """Checks of the raw line."""
    if number == 1 and line.startswith("\ufeff"):
        problem = "a byte order mark; it becomes a part of the first term"
        yield Finding(number, "error", "byte-order-mark", problem)
    if not line or line.startswith("#"):
        return
    if _DANGLING.search(line):
        problem = "a backslash at the end of the line, where it escapes nothing"
        yield Finding(number, "error", "dangling-escape", problem)
    if _COMMENT.search(line):
        problem = "a # within a rule starts no comment; write \\# if it belongs to a term"
        yield Finding(number, "warning", "comment", problem)


# --- One rule ---


def _of_rule(rule: Rule, line: str) -> Iterator[Finding]:
    def finding(severity: Severity, check: str, message: str) -> Finding:
        return Finding(rule.line, severity, check, message)

    if rule.outputs is None and has_arrow(line):
        problem = "=> without a left or right side; it is read as a part of the term"
        yield finding("error", "empty-side", problem)
    elif not rule.inputs or rule.outputs == ():
        yield finding("error", "empty-side", "a side without terms; the rule has no effect")
    elif rule.outputs is None and len(set(rule.inputs)) == 1:
        yield finding("warning", "one-term", "a rule of one term; it has no effect")
    for side in (rule.inputs, rule.outputs or ()):
        yield from _find_repeats(side, rule.line)
    for term in dict.fromkeys(rule.terms):
        if not _WORD.search(term):
            problem = f"no letter or digit in {_show(term)}; many analyzers drop it, and engines"
            yield finding("warning", "no-word", f"{problem} then reject the whole file")
        elif len(term) == 1 and unicodedata.category(term) != "Lo":  # one Chinese sign is a word
            yield finding("warning", "one-letter", f"a term of one letter: {_show(term)}")


def _find_repeats(side: Sequence[str], line: int) -> Iterator[Finding]:
    """Terms that occur twice on a side, or become equal when they are analysed."""
    for term, count in Counter(side).items():
        if count > 1:
            problem = f"{_show(term)} occurs {count} times in the rule"
            yield Finding(line, "warning", "twice", problem)
    first_of: dict[str, str] = {}
    for term in dict.fromkeys(side):
        first = first_of.setdefault(_analyze(term), term)
        if first != term:
            problem = f"{_show(first)} and {_show(term)} are the same in lower case"
            yield Finding(line, "warning", "same-words", problem)


# --- The whole file ---


def _of_file(rules: Sequence[Rule], limit: int) -> Iterator[Finding]:
    first_of: dict[str, Rule] = {}  # the first rule with each term on its left
    for rule in rules:
        for term in rule.inputs:
            first_of.setdefault(_analyze(term), rule)
    yield from _ambiguous(rules, first_of)
    yield from _chains(rules, first_of)
    yield from _several_words(rules)
    if limit and len(rules) > limit:
        problem = f"{len(rules)} rules; this is the first beyond {limit}, the maximum of"
        line = rules[limit].line
        yield Finding(line, "warning", "limit", f"{problem} Elasticsearch's synonyms API")


def _ambiguous(rules: Sequence[Rule], first_of: Mapping[str, Rule]) -> Iterator[Finding]:
    """A term on the left of two rules, or in two sets of equivalent terms."""
    for rule in rules:
        for term in dict.fromkeys(rule.inputs):
            first = first_of[_analyze(term)]
            if first is not rule:
                problem = f"{_show(term)} has a rule on line {first.line} too; both are applied"
                yield Finding(rule.line, "warning", "ambiguous", problem)


def _chains(rules: Sequence[Rule], first_of: Mapping[str, Rule]) -> Iterator[Finding]:
    """Terms that a rule inserts and that have a rule themselves, which is not applied to them."""
    for rule in rules:
        for term in rule.outputs or ():
            following = first_of.get(_analyze(term), rule)
            if following is not rule:
                problem = f"{_show(term)} has a rule on line {following.line}, which is not applied"
                yield Finding(rule.line, "warning", "chain", f"{problem} after this one")


def _several_words(rules: Sequence[Rule]) -> Iterator[Finding]:
    line_of = {
        term: rule.line for rule in reversed(rules) for term in rule.terms if len(term.split()) > 1
    }
    if line_of:
        problem = f"{len(line_of)} terms have several words, and this is the first; they need"
        message = f"{problem} `synonym_graph` at query time"
        yield Finding(min(line_of.values()), "note", "several-words", message)


def _analyze(term: str) -> str:
    """The term as most analyzers see it: words in lower case."""
    return " ".join(term.lower().split())


def _show(term: str) -> str:
    return shorten(repr(term), 60)
