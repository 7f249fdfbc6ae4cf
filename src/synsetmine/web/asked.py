"""What the address of a page asks for: which sets, from where on, and which of them to show."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import get_args
from urllib.parse import urlencode

from synsetmine.review import TO_DO, Place, Status, Wanted

SHOWN: Mapping[str, tuple[str, frozenset[Status]]] = {
    "todo": ("To review", TO_DO),
    "accepted": ("Accepted", frozenset({"accepted"})),
    "rejected": ("Rejected", frozenset({"rejected"})),
    "unsure": ("Unsure", frozenset({"unsure"})),
    "changed": ("Begun", frozenset({"changed"})),
    "all": ("All sets", frozenset(get_args(Status))),
}


@dataclass(frozen=True)
class Asked:
    """The values of an address, as texts; what is not there is empty."""

    show: str = ""
    q: str = ""  # a text that the sets have
    new: str = ""  # only sets with a new name
    seeded: str = ""  # only sets of a known entity
    after: str = ""  # the list begins behind this place
    set: str = ""  # the set that is open
    at: str = ""  # its place when it was opened (a set moves when it loses a term); alone: the
    # set behind this place is open
    find: str = ""  # a text for sets to merge with the open one

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Asked:
        asked = cls(**{field.name: given.get(field.name, "") for field in fields(cls)})
        return asked if asked.show in SHOWN else replace(asked, show="todo")

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            status=SHOWN[self.show][1],
            text=self.q.strip(),
            new_names=bool(self.new),
            seeded=bool(self.seeded),
            min_size=1 if self.show == "all" else 2,
        )

    @property
    def is_filtered(self) -> bool:
        """Whether some sets that are to be reviewed are not in the list."""
        return self.show != "todo" or bool(self.q or self.new or self.seeded)

    def opened(self, set_id: str) -> Asked:
        """The same list with another set open."""
        return replace(self, set=set_id, at="", find="")

    def behind(self, place: Place) -> Asked:
        """The same list, with the set open that comes after a place."""
        return replace(self, set="", at=written_place(place), find="")

    def address(self, **changes: str) -> str:
        """The address of a page that differs in some values; what is usual is left out."""
        then = replace(self, **changes)
        values = {field.name: getattr(then, field.name) for field in fields(then)}
        if values["show"] == "todo":
            del values["show"]
        query = urlencode({name: value for name, value in values.items() if value})
        return f"/?{query}" if query else "/"


def written_place(place: Place | None) -> str:
    """A place for an address; its probability is not for the eye, which may want to be blind."""
    return "" if place is None else f"{struct.pack('>d', place[0]).hex()}{place[1]}"


def read_place(text: str) -> Place | None:
    """The place that was written so; anything else is none."""
    try:
        (least,) = struct.unpack(">d", bytes.fromhex(text[:16]))
    except (ValueError, struct.error):
        return None
    return None if math.isnan(least) else (least, text[16:])
