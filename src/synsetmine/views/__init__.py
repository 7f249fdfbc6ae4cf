"""The views of a term, as vectors."""

from synsetmine.views.encoder import (
    encode_terms,
    find_encoder,
    learned_surfaces,
    packaged_encoder,
)
from synsetmine.views.strings import FEATURES, StringView
from synsetmine.views.vectors import (
    TermVectors,
    TermViews,
    View,
    read_vectors,
    unit_rows,
    write_vectors,
)

__all__ = [
    "FEATURES",
    "StringView",
    "TermVectors",
    "TermViews",
    "View",
    "encode_terms",
    "find_encoder",
    "learned_surfaces",
    "packaged_encoder",
    "read_vectors",
    "unit_rows",
    "write_vectors",
]
