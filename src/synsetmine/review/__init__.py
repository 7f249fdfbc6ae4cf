"""Reviewers' decisions on mined sets: storage, effects, export, and use in training."""

from synsetmine.review.changes import QueueOrder, QueuePosition, ReviewedSet, Status
from synsetmine.review.decisions import Decision, Kind
from synsetmine.review.state import TO_DO, QueueFilter, QueuePage, ReviewState
from synsetmine.review.store import Conflict, ReviewStore, StoreReplacedError, read_store

__all__ = [
    "TO_DO",
    "Conflict",
    "Decision",
    "Kind",
    "QueueFilter",
    "QueueOrder",
    "QueuePage",
    "QueuePosition",
    "ReviewState",
    "ReviewStore",
    "ReviewedSet",
    "Status",
    "StoreReplacedError",
    "read_store",
]
