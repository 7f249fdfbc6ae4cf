"""From a vocabulary to synonym sets in one pass."""

from synsetmine.generation.onepass import Action, Decision, Mined, generate_sets
from synsetmine.generation.trace import read_trace, write_trace

__all__ = ["Action", "Decision", "Mined", "generate_sets", "read_trace", "write_trace"]
