"""All methods side by side on the same data."""

from synsetmine.comparison.page import Row, summarise, write_comparison
from synsetmine.comparison.plan import Plan, SeedResult
from synsetmine.comparison.running import compare

__all__ = ["Plan", "Row", "SeedResult", "compare", "summarise", "write_comparison"]
