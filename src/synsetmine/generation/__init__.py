"""From a vocabulary to synonym sets."""

from synsetmine.generation.generate import generate_sets, known_terms
from synsetmine.generation.mined import Action, Decision, Mined
from synsetmine.generation.trace import read_trace, write_trace

__all__ = [
    "Action",
    "Decision",
    "Mined",
    "generate_sets",
    "known_terms",
    "read_trace",
    "write_trace",
]
