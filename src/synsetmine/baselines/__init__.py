"""Methods that group terms into sets, ours and others', under one protocol."""

from synsetmine.baselines.base import (
    Choice,
    Clusterer,
    Labels,
    Lesson,
    Method,
    Problem,
    TermViews,
    View,
)

__all__ = [
    "Choice",
    "Clusterer",
    "Labels",
    "Lesson",
    "Method",
    "Problem",
    "TermViews",
    "View",
]
