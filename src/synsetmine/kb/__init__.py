"""Knowledge bases: entities and the names they are known by."""

from synsetmine.kb.base import KnowledgeBase
from synsetmine.kb.names import Entity
from synsetmine.kb.patch import Applied, NewName, apply_names
from synsetmine.kb.readers import Form, Scope, kb_files, read_kb

__all__ = [
    "Applied",
    "Entity",
    "Form",
    "KnowledgeBase",
    "NewName",
    "Scope",
    "apply_names",
    "kb_files",
    "read_kb",
]
