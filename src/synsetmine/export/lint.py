"""Finds rules of a `synonyms.txt` that a search engine would reject or misread."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from synsetmine.errors import DataError, shorten
from synsetmine.export.solr import LIMIT, Rule, has_arrow, parse_rule, read_lines

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
        problem = "a # that looks like a comment but belongs to a term; write \\# if it does"
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
