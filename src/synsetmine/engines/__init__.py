"""Where the corpus work runs."""

from synsetmine.engines.local import LocalEngine

__all__ = ["LocalEngine"]
