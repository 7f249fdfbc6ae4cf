"""What people decide on mined sets: kept, carried out, exported, learned from."""

from synsetmine.review.decisions import Decision, Kind
from synsetmine.review.reviewed import (
    TO_DO,
    Page,
    Place,
    ReviewedSet,
    Status,
    Wanted,
    key_of,
    page_of,
)
from synsetmine.review.state import ReviewState
from synsetmine.review.store import Conflict, ReviewStore, StoreReplacedError, read_store

__all__ = [
    "TO_DO",
    "Conflict",
    "Decision",
    "Kind",
    "Page",
    "Place",
    "ReviewState",
    "ReviewStore",
    "ReviewedSet",
    "Status",
    "StoreReplacedError",
    "Wanted",
    "key_of",
    "page_of",
    "read_store",
]
