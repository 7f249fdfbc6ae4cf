"""Short and long forms of the ids of OBO ontologies."""

from __future__ import annotations

import re

_OBO = "http://purl.obolibrary.org/obo/"
_PURL = re.compile(rf"{re.escape(_OBO)}([A-Za-z]\w*)_(\w+)", re.ASCII)
_SHORT = re.compile(r"([A-Za-z]\w*):(\w+)", re.ASCII)


def short_id(iri: str) -> str:
    """`DOID:14330` for `http://purl.obolibrary.org/obo/DOID_14330`; other IRIs stay as they are."""
    match = _PURL.fullmatch(iri)
    return f"{match[1]}:{match[2]}" if match else iri


def long_id(text: str) -> str:
    """The inverse of `short_id`."""
    match = _SHORT.fullmatch(text)
    return f"{_OBO}{match[1]}_{match[2]}" if match else text
