"""Sets as rules of Querqy's Common Rules Rewriter, each synonym with its weight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from synsetmine.export.entries import About, Entry, names_of
from synsetmine.export.solr import rule_problem, write_parts
from synsetmine.runs import MinedTerm

Weights = Literal["probability", "none"]

_ESCAPED = re.compile(r'[*#"]')
# What has a meaning and no escape (or, the backslash, one that Querqy's comments get wrong).
_UNWRITABLE = {
    "a term with a line end in it": re.compile(r"[\x85\u2028\u2029]"),
    "a term with a backslash in it": re.compile(r"\\"),
    "a term with a colon in it, which Querqy has after names of fields": re.compile(":"),
    "a term with a dollar and a digit, which refer to a wildcard": re.compile(r"\$\d"),
    "a term that starts with @, as properties of rules do": re.compile(r"\A@"),
    "a term that ends with =>, as inputs of rules do": re.compile(r"=>\Z"),
}


def write_querqy(
    path: Path, entries: Sequence[Entry], about: About, *, weights: Weights = "probability"
) -> list[Path]:
    """A rule for each term, with the other terms of its set as synonyms, the preferred one first.

    Two terms are synonyms with the probability of the less certain one.
    """
    lines = [f"# {about.in_words}; the first rule of a set is that of its preferred term."]
    for entry in entries:
        lines += ["", f"# {entry.id!r}"]
        terms = names_of(entry)
        for term in terms:
            lines.append(f"{escape(term.text)} =>")
            lines += [_synonym(term, other, weights) for other in terms if other is not term]
    return write_parts(path, ["".join(f"{line}\n" for line in lines)])


def escape(term: str) -> str:
    return _ESCAPED.sub(lambda match: f"\\{match.group()}", term)


def querqy_problem(term: str) -> str:
    """Why no rule can hold the term; empty if one can."""
    problems = (problem for problem, sign in _UNWRITABLE.items() if sign.search(term))
    return rule_problem(term) or next(problems, "")


def _synonym(term: MinedTerm, other: MinedTerm, weights: Weights) -> str:
    weight = f"{min(_certainty(term), _certainty(other)):.4f}".rstrip("0").rstrip(".")
    shown = "" if weights == "none" or weight == "1" else f"({weight})"
    return f"  SYNONYM{shown}: {escape(other.text)}"


def _certainty(term: MinedTerm) -> float:
    """Terms that no decision put into the set were known to be in it."""
    return 1.0 if term.probability is None else min(max(term.probability, 0.0), 1.0)
