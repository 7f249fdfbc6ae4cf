"""Knowledge bases: entities and the names they are known by."""

from synsetmine.kb.base import Entity, KnowledgeBase, page_of
from synsetmine.kb.obo import Scope
from synsetmine.kb.patch import NewName, PatchResult, apply_names
from synsetmine.kb.readers import kb_files, read_kb
from synsetmine.types import KbFormat

__all__ = [
    "Entity",
    "KbFormat",
    "KnowledgeBase",
    "NewName",
    "PatchResult",
    "Scope",
    "apply_names",
    "kb_files",
    "page_of",
    "read_kb",
]
