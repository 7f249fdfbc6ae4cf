"""What is known about a term, as vectors."""

from synsetmine.views.encoder import (
    encode_terms,
    find_encoder,
    learned_surfaces,
    packaged_encoder,
)
from synsetmine.views.strings import FEATURES, StringView
from synsetmine.views.vector_files import read_vectors, write_vectors
from synsetmine.views.vectors import TermVectors, TermViews, View, unit_rows

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
