"""From a vocabulary to synonym sets."""

from synsetmine.generation.generate import generate_sets, known_terms
from synsetmine.generation.mined import Mined

__all__ = [
    "Mined",
    "generate_sets",
    "known_terms",
]
