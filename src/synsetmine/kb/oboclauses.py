"""Clauses of OBO files, written: what an ontology would need to escape is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}
_IN_QUOTES = re.compile(r'[\\"\n\r\t\f]')
# `!` starts a remark, `{` qualifiers, and blanks at the start are passed over.
_UNQUOTED = re.compile(r'[\\"\n\r\t\f!{}]|\A\s')
_IN_ADDRESSES = ":/?#@!$&'()*+,;=%"
_IN_IDS = re.compile(r'[\\"\n\r\t\f!{}: ]')


def not_in_obo(name: str) -> str:
    """Why a synonym cannot be written; empty if it can.

    The standard's `"x\\\\"` is what fastobo, and all that is built on it, cannot read.
    """
    return "a term with a backslash at its end" if name.endswith("\\") else ""


def synonym_clause(name: str, scope: str, sources: Sequence[str] = (), *, kind: str = "") -> str:
    """`synonym: "MI" EXACT ABBREVIATION []`; the sources are ids such as `orcid:…`.

    The kind is a synonym type that the file's header declares.
    """
    quoted = f'"{_IN_QUOTES.sub(_escape, name)}"'
    return " ".join(
        filter(None, ("synonym:", quoted, scope.upper(), kind, f"[{', '.join(sources)}]"))
    )


def name_clause(name: str) -> str:
    return f"name: {unquoted(name)}"


def id_clause(prefix: str, rest: str) -> str:
    """An id such as `DOID:14330`, or an address."""
    address = rest.startswith("//")
    local = quote(rest, safe=_IN_ADDRESSES) if address else _IN_IDS.sub(_escape, rest)
    return f"id: {prefix}:{local}"


def unquoted(text: str) -> str:
    """A text that takes the rest of its line."""
    return _UNQUOTED.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    char = found.group()
    return _LETTERS.get(char, f"\\{char}")
