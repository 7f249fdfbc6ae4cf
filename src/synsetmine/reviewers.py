"""Who reviews: a name and perhaps an ORCID, kept in a cookie of the browser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from synsetmine.errors import DataError

LONGEST = 100
_ORCID = re.compile(r"(?<![\w-])\d{4}-\d{4}-\d{4}-\d{3}[\dX](?![\w-])", re.I)
_BEFORE = re.compile(r"https?://orcid\.org/|orcid:", re.I)
_WRITTEN = re.compile(r"(?P<name>.*?)(?: \(orcid:(?P<orcid>[\dX-]{19})\))?", re.S)


@dataclass(frozen=True)
class Reviewer:
    """A person; `str()` is what stands in their decisions."""

    name: str
    orcid: str = ""

    @classmethod
    def of(cls, name: str, orcid: str = "") -> Reviewer:
        """From what a person typed; a wrong ORCID is an error that says so."""
        clean = " ".join(name.split())
        if not clean or len(clean) > LONGEST or not clean.isprintable():
            raise DataError(f"a name has 1 to {LONGEST} characters", value=name)
        if not orcid.strip():
            return cls(clean)
        typed = orcid.strip().upper()
        before = _BEFORE.match(typed)
        number = typed[before.end() :] if before else typed
        if not _ORCID.fullmatch(number) or not _is_checked(number):
            raise DataError("this is no ORCID, such as 0000-0002-1825-0097", value=orcid)
        return cls(clean, number)

    @classmethod
    def from_cookie(cls, value: str) -> Reviewer | None:
        match = _WRITTEN.fullmatch(unquote(value))
        try:
            return None if match is None else cls.of(match["name"], match["orcid"] or "")
        except DataError:
            return None

    @property
    def cookie(self) -> str:
        return quote(str(self), safe="")

    def __str__(self) -> str:
        return f"{self.name} (orcid:{self.orcid})" if self.orcid else self.name


def orcid_of(reviewer: str) -> str | None:
    """The ORCID of a reviewer who gave one, alone or beside a name: `Ada (orcid:0000-…)`."""
    match = _ORCID.search(reviewer)
    return match[0].upper() if match else None


def _is_checked(orcid: str) -> bool:
    """Whether the last digit is that of ISO 7064, mod 11-2."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == orcid[-1]
