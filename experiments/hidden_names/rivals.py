"""Plain look-ups of a name among all known names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rapidfuzz import fuzz, process

from experiments.hidden_names.hiding import stem_bag
from experiments.hidden_names.ranking import Answer, Answers
from synsetmine.normalization import normal_form
from synsetmine.types import Progress, SynonymSets, Term
from synsetmine.views import TermVectors, encode_terms, find_encoder

BLOCK = 100  # names that are compared with all known names at once


def same_stems(names: Sequence[str], known: SynonymSets) -> Answers:
    """The entity with a name of the same bag of stems; half as sure where several have one."""
    entities_of: dict[tuple[str, ...], dict[str, str]] = {}
    for entity, members in zip(known.ids, known, strict=True):
        for term in members:
            entities_of.setdefault(stem_bag(term.surface), {}).setdefault(entity, term.surface)
    answers = {}
    for name in names:
        entities = entities_of.get(stem_bag(name))
        if entities:
            entity, nearest = next(iter(entities.items()))
            answers[normal_form(name)] = Answer(entity, 1.0 if len(entities) == 1 else 0.5, nearest)
    return answers


def fuzzy_stems(names: Sequence[str], known: SynonymSets) -> Answers:
    """The entity of the name whose sorted stems have the highest edit similarity."""
    entities = _entity_of(known)
    texts = [" ".join(stem_bag(name)) for name in entities]
    answers: dict[str, Answer] = {}
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        similarity = process.cdist(  # (block, known names)
            [" ".join(stem_bag(name)) for name in block],
            texts,
            scorer=fuzz.ratio,
            dtype=np.float32,
        )
        answers |= _nearest(block, similarity / 100, entities)
    return answers


def nearest_vectors(
    names: Sequence[str],
    known: SynonymSets,
    encoder: str,
    *,
    cache: Path,
    progress: Progress | None = None,
) -> Answers:
    """The entity of the name with the highest cosine of the encoder's vectors."""
    entities = _entity_of(known)
    terms = [Term(name) for name in (*names, *entities)]
    vectors = encode_terms(terms, find_encoder(encoder), cache=cache, progress=progress)
    rows = _unit_rows(vectors, list(entities))
    answers: dict[str, Answer] = {}
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        answers |= _nearest(block, _unit_rows(vectors, block) @ rows.T, entities)
    return answers


def _entity_of(known: SynonymSets) -> dict[str, str]:
    """The entity of each known name."""
    return {
        term.surface: entity
        for entity, members in zip(known.ids, known, strict=True)
        for term in members
    }


def _nearest(
    names: Sequence[str], similarity: np.ndarray, entities: Mapping[str, str]
) -> dict[str, Answer]:
    """The known name of the highest similarity in each row; columns are the known names."""
    known = list(entities)
    answers = {}
    for name, row in zip(names, similarity, strict=True):
        nearest = known[int(row.argmax())]
        answers[normal_form(name)] = Answer(entities[nearest], float(row.max()), nearest)
    return answers


def _unit_rows(vectors: TermVectors, names: Sequence[str]) -> np.ndarray:
    rows = vectors.select([Term(name) for name in names])  # (names, dimension)
    units: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return units
