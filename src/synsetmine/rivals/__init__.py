"""Methods that group terms into sets, ours and others', under one protocol."""

from synsetmine.rivals.base import Choice, Clusterer, Labels, Method, Task, TrainingData

__all__ = [
    "Choice",
    "Clusterer",
    "Labels",
    "Method",
    "Task",
    "TrainingData",
]
