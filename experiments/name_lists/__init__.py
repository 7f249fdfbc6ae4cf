"""Public name lists, read from installed packages, for training the general model."""

from experiments.name_lists.base import MissingDataError, NameList
from experiments.name_lists.heldout import held_out, name_hash, read_heldout, without_heldout
from experiments.name_lists.registry import NAME_LISTS
from experiments.name_lists.writing import ListCounts, write_name_lists

__all__ = [
    "NAME_LISTS",
    "ListCounts",
    "MissingDataError",
    "NameList",
    "held_out",
    "name_hash",
    "read_heldout",
    "without_heldout",
    "write_name_lists",
]
