"""Entities for tests of the knowledge base: two that share a name, and any others."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

from synsetmine.kb import Entity
from tests.support.strategies import PIECES

HEART = Entity("D006333", "Heart Failure", ("Cardiac Failure", "heart-failure", "HF"))
HAFNIUM = Entity("C001", "Hafnium", ("Hf", "HF"))


pieces = st.sampled_from([p for p in PIECES if p.isprintable() or p.isspace()])
names = st.lists(pieces | st.text(max_size=3), min_size=1, max_size=4).map("".join)
ids = st.sampled_from(["a", "b", "c", "d", "Q1", "DOID:1", "http://x/é", "plumless", "buckeroo"])
entities = st.builds(Entity, ids, names, st.lists(names, max_size=4).map(tuple))


def tidy(name: str) -> str:
    composed = unicodedata.normalize("NFC", name)
    plain = [" " if unicodedata.category(c) == "Cc" or c.isspace() else c for c in composed]
    return " ".join(word for word in "".join(plain).split(" ") if word)
