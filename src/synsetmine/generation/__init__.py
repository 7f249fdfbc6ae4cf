"""Set generation: one pass over a vocabulary (the paper's Algorithm 1)."""

from synsetmine.generation.onepass import Decision, Mined, generate_sets

__all__ = ["Decision", "Mined", "generate_sets"]
