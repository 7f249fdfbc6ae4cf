"""Methods that group terms into sets, ours and others', under one protocol."""

from synsetmine.baselines.base import Choice, Clusterer, Labels, Lesson, Method, Problem

__all__ = [
    "Choice",
    "Clusterer",
    "Labels",
    "Lesson",
    "Method",
    "Problem",
]
