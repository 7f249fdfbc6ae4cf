"""What is known about a term, as vectors."""

from synsetmine.views.vectorfiles import read_vectors, write_vectors
from synsetmine.views.vectors import TermVectors

__all__ = ["TermVectors", "read_vectors", "write_vectors"]
