"""Knowledge bases: entities and the names they are known by."""

from synsetmine.kb.base import KnowledgeBase
from synsetmine.kb.names import Entity
from synsetmine.kb.newnames import Applied, apply_names
from synsetmine.kb.readers import Form, Scope, kb_files, read_kb
from synsetmine.kb.records import NewName

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
