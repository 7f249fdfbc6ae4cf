"""Documents as sources to cite: their ids as CURIEs, and the pages that these lead to."""

from __future__ import annotations

import re
from urllib.parse import quote

from synsetmine.errors import DataError

_PREFIX = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_WEB = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?([/?#]\S*)?")
_LOCAL = re.compile(r"[\w./()+-]+", re.ASCII)  # the part of a CURIE after its prefix
_CURIE = re.compile(rf"[A-Za-z]\w*:(?!//){_LOCAL.pattern}", re.ASCII)
_DOI = re.compile(rf"10\.[0-9]{{4,9}}/{_LOCAL.pattern}", re.ASCII)
_PUBMED = "https://pubmed.ncbi.nlm.nih.gov/"
_PAGES = {"PMID": _PUBMED, "PUBMED": _PUBMED, "DOI": "https://doi.org/"}
_NUMBERED = ("PMID", "PUBMED")  # prefixes of ids that are numbers


def is_prefix(text: str) -> bool:
    """Whether a text can be the prefix of a CURIE."""
    return _PREFIX.fullmatch(text) is not None


def check_prefix(prefix: str) -> None:
    """Refuse what cannot be the prefix of a CURIE."""
    if not is_prefix(prefix):
        raise DataError("expected a prefix such as `MESH`", value=prefix)


def source_id(document: str, prefix: str = "") -> str:
    """The id of a document as a CURIE or an address, to cite it; empty if it is neither.

    A bare id gets the prefix. A bare DOI needs none, and only a number can be a PMID.

    >>> source_id("399296", "PMID"), source_id("10.1000/x"), source_id("d 1", "PMID")
    ('PMID:399296', 'DOI:10.1000/x', '')
    """
    if _WEB.fullmatch(document):
        return quote(document, safe=":/?#@$&'()*+;=%~")
    if _CURIE.fullmatch(document):
        return document
    if _DOI.fullmatch(document):
        return f"DOI:{document}"
    is_local = _LOCAL.fullmatch(document) and (
        prefix.upper() not in _NUMBERED or document.isdecimal()
    )
    return f"{prefix}:{document}" if prefix and is_local else ""


def source_address(source: str) -> str:
    """The address of a source; a CURIE with an unknown prefix stays.

    >>> source_address("PMID:399296")
    'https://pubmed.ncbi.nlm.nih.gov/399296'
    """
    prefix, _, local = source.partition(":")
    space = _PAGES.get(prefix.upper())
    return source if space is None else space + local


def document_page(document: str, prefix: str = "") -> str:
    """The page of a document, safe as the target of a link; empty if its id leads to none.

    >>> document_page("399296", "PMID"), document_page("javascript:alert(1)")
    ('https://pubmed.ncbi.nlm.nih.gov/399296', '')
    """
    address = source_address(source_id(document, prefix))
    return address if _WEB.fullmatch(address) else ""
