"""A review session: the sets, their order, neighbours and sentences."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import Any, NoReturn, get_args

import numpy as np

from synsetmine.corpus.citations import check_prefix
from synsetmine.errors import DataError, SynsetmineError, quantity
from synsetmine.kb import KnowledgeBase
from synsetmine.normalization import tokens
from synsetmine.review import (
    Conflict,
    Decision,
    Kind,
    QueueFilter,
    ReviewedSet,
    ReviewState,
    ReviewStore,
    Status,
)
from synsetmine.runs import Sentence, example_sentences, read_results
from synsetmine.runs.folder import Artefacts
from synsetmine.types import Term
from synsetmine.views import TermVectors, read_vectors, unit_rows
from synsetmine.views.strings import string_counts

COMMON = 500  # a word of more terms than this says little
ALIKE = 0.45  # the least share of words, from 0 to 1
LOOKED_AT = 60  # terms that are near, of each kind


class Neighbours:
    """Finds near terms among all mined terms of a run, by their vectors and their words."""

    def __init__(self, keys: Sequence[str], vectors: Path) -> None:
        self._keys = keys
        self._vectors = vectors
        self._row_of = {key: row for row, key in enumerate(keys)}
        self._words: Any = None  # (terms, words), sparse; rows of length one
        self._table: TermVectors | None = None  # of those that have a vector; rows of length one

    def start(self) -> None:
        Thread(target=self.fill, daemon=True).start()

    def fill(self) -> None:
        self._words = _word_weights(self._keys)
        if self._vectors.exists():
            try:
                self._read_vectors()
            except SynsetmineError as error:  # the page does without
                logging.getLogger(__name__).warning("near sets by words only: %s", error)

    def near(self, keys: Sequence[str]) -> Iterator[str]:
        """Other terms, the nearest first: one by vectors, one by words, and so on."""
        seen = set(keys)
        for pair in zip_longest(self._by_vectors(keys), self._by_words(keys)):
            for key in pair:
                if key is not None and key not in seen:
                    seen.add(key)
                    yield key

    def _read_vectors(self) -> None:
        table = read_vectors(self._vectors).only(map(Term.parse, self._keys))
        self._table = replace(table, matrix=unit_rows(table.matrix))

    def _by_vectors(self, keys: Sequence[str]) -> list[str]:
        table = self._table
        if table is None:
            return []
        rows = table.rows(term for term in map(Term.parse, keys) if term in table)
        if not len(rows):
            return []
        closeness = table.matrix @ table.matrix[rows].mean(axis=0)  # (terms,)
        closeness[rows] = -np.inf
        count = min(LOOKED_AT, len(closeness))
        best = np.argpartition(-closeness, count - 1)[:count]
        return [str(table.terms[row]) for row in best[np.argsort(-closeness[best])]]

    def _by_words(self, keys: Sequence[str]) -> list[str]:
        """Terms that share most words with one of these; rare words count more."""
        rows = [self._row_of[key] for key in keys if key in self._row_of]
        if self._words is None or not rows:
            return []
        likeness = (self._words @ self._words[rows].T).max(axis=1).toarray().ravel()  # (terms,)
        near = np.flatnonzero(likeness > ALIKE)
        best = near[np.argsort(-likeness[near], kind="stable")]
        return [self._keys[row] for row in best[: LOOKED_AT + len(keys)]]


def _word_weights(keys: Sequence[str]) -> Any:
    """The words of each term by their rarity: rows of length one, before common words go."""
    counts, _ = string_counts(map(_words, keys))
    terms_with = np.bincount(counts.indices, minlength=counts.shape[1])
    rarity = np.log(1 + len(keys) / (1 + terms_with))
    weights = counts.multiply(np.sqrt(rarity)).tocsr()
    lengths = np.sqrt(counts @ rarity)
    weights.data /= np.repeat(np.maximum(lengths, 1e-9), np.diff(weights.indptr))
    weights.data[terms_with[weights.indices] > COMMON] = 0
    return weights


def _words(key: str) -> set[str]:
    return set(tokens(Term.parse(key).surface))


PER_TERM = 3  # sentences
KEPT = 64  # sets whose sentences are kept
NEAREST = 6
COMPARED = 200  # terms of a set, to find the nearest others
MATCHES = 12  # sets that a search for one to merge shows
ANY: frozenset[Status] = frozenset(get_args(Status))


TOGETHER = "together with "  # begins the note of decisions that were made in one act


class NotShownError(SynsetmineError):
    """A decision was made on a page that no longer shows the present sets."""


def sentence_finder(
    at: Artefacts | None,
) -> Callable[[tuple[str, ...]], Mapping[str, Sequence[Sentence]]]:
    """Finds where surfaces occur in a run, by their normal forms; nowhere without its corpus."""

    @lru_cache(KEPT)
    def find(surfaces: tuple[str, ...]) -> Mapping[str, Sequence[Sentence]]:
        if at is None or not (at.documents.exists() and at.places.exists()):
            return {}
        try:
            return example_sentences(at, surfaces, PER_TERM)
        except SynsetmineError as error:  # the page does without
            logging.getLogger(__name__).warning("no sentences: %s", error)
            return {}

    return find


class ReviewSession:
    """A run under review. One thread at a time; other processes may write to the same store."""

    def __init__(self, run: Path, *, document_prefix: str = "") -> None:
        at = Artefacts(run)
        if document_prefix:
            check_prefix(document_prefix)
        self.document_prefix = document_prefix
        mined = read_results(run)
        self._store = ReviewStore(at.reviews)
        decisions = self._store.decisions()
        self.state = ReviewState(mined, decisions)
        self._decisions_on: dict[str, list[Decision]] = {}  # by the sets that they touch
        self._decisions_by: dict[str, dict[str, Decision]] = {}  # by reviewer and id; standing ones
        for decision in decisions:
            self._note(decision)
        self._kb = KnowledgeBase.load(at.knowledge)  # mapped into memory
        self._sentences_of = sentence_finder(at)
        keys = [key for reviewed in self.state.sets for key in reviewed.keys]
        self._neighbours = Neighbours(keys, at.vectors)

    def open(self) -> None:
        """Make the first list; begin the search for near terms beside the page."""
        self.state.queue(QueueFilter(), count=0)
        self._neighbours.start()

    def close(self) -> None:
        self._store.close()

    # --- Queries ---

    def sync(self) -> None:
        """Take in what was stored since: our own, and what another process decided meanwhile."""
        self._store.check_in_place()
        new = self._store.decisions(since=self.state.number)
        self.state.apply(*new)
        for decision in new:
            self._note(decision)

    def history(self, set_id: str) -> list[Decision]:
        """What was decided on a set, last first."""
        return self._decisions_on.get(set_id, [])[::-1]

    def stands(self, decision: Decision) -> bool:
        """Whether it was not undone."""
        return decision.id in self._decisions_by.get(decision.reviewer, {})

    def last_of(self, reviewer: str) -> Decision | None:
        """The reviewer's last decision that stands."""
        return next(reversed(self._decisions_by.get(reviewer, {}).values()), None)

    def undoable(self, reviewer: str, set_id: str, made: str = "") -> Decision | None:
        """What undo means on a page: the decision that its message names, or the reviewer's last
        one on the set that it shows. An undo never touches a set that the page does not name."""
        own = self._decisions_by.get(reviewer, {})
        on_set = (own[d.id] for d in self.history(set_id) if d.id in own)
        return own.get(made) or next(on_set, None)

    def is_shown(self, decision: Decision, reviewer: str) -> bool:
        """Whether the reviewer's page may say that this was just decided: it was not undone."""
        is_own = decision.reviewer == reviewer
        return is_own and (decision.kind == "undo" or self.stands(decision))

    def made_with(self, decision: Decision) -> list[Decision]:
        """The standing decisions that were made in one act with this one, itself among them."""
        own = self._decisions_by.get(decision.reviewer, {})
        if not decision.note.startswith(TOGETHER):
            return [decision]
        return [other for other in own.values() if other.note == decision.note]

    def sentences(self, texts: Iterable[str]) -> Mapping[str, Sequence[Sentence]]:
        """Where terms of a set occur, by their normal forms."""
        return self._sentences_of(tuple(texts))

    def definition(self, reviewed: ReviewedSet) -> str:
        """What the knowledge base says of the entity of a set, or nothing."""
        return self._kb.definition(reviewed.mined.entity or "")

    def nearest(self, reviewed: ReviewedSet) -> list[ReviewedSet]:
        """Other sets that share words with this one, or occur in similar contexts."""
        homes = map(self.state.home, self._neighbours.near(reviewed.keys[:COMPARED]))
        near = {home.id: home for home in homes if home is not None and home.id != reviewed.id}
        return list(near.values())[:NEAREST]

    def search(self, text: str, reviewed: ReviewedSet) -> list[ReviewedSet]:
        """Other sets that have a text in them, of any size and status."""
        matching = QueueFilter(status=ANY, text=text, min_size=1)
        page = self.state.queue(matching, count=MATCHES + 1)
        return [other for other in page.sets if other.id != reviewed.id][:MATCHES]

    # --- What is decided ---

    def decide(
        self,
        kind: Kind,
        set_id: str,
        *,
        seen: int,
        shown: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Decision:
        """Record a decision and carry it out; `Conflict` if another reviewer was faster.

        `shown` has the digests of the sets as the reviewer's page showed them, by id. If one of
        them is different now, that is a `NotShownError` and nothing is recorded.
        """
        same = shown is None or (seen <= self.state.number and self._digests(shown) == shown)
        try:
            decision = self.state.decide(kind, set_id, **more)
        except DataError:
            if not same and shown and all(shown.values()):
                self._refuse_stale(shown, seen)
            raise
        if not same:
            self._refuse_stale(shown or {}, seen)
        stored = self._store.add(decision, seen=seen)
        self.sync()
        return stored

    def _digests(self, sets: Iterable[str]) -> dict[str, str]:
        return {name: self.state[name].digest for name in sets if name in self.state}

    def _refuse_stale(self, shown: Iterable[str], seen: int) -> NoReturn:
        """Say why a page is out of date: somebody's decision, or else another run."""
        later = {d.number: d for name in shown for d in self.history(name) if d.number > seen}
        if later and seen <= self.state.number:
            raise Conflict([later[number] for number in sorted(later)])
        raise NotShownError(
            "The set on your page differs from the one on the server: the run was mined again, "
            "or the server was started for another run."
        )

    def accept_all(self, selection: QueueFilter, least: float, *, reviewer: str) -> Decision:
        """Accept the sets of a list that nobody has decided on and in which every term that
        joined has at least this probability; the last decision. `undo` undoes them all."""
        listed = self.state.queue(selection, count=len(self.state)).sets
        ids = [one.id for one in listed if one.status == "open" and (one.mined.least or 0) >= least]
        if not ids:
            problem = "no set of this list has all its terms at this probability or above"
            raise DataError(problem, value=least)
        note = f"{TOGETHER}{quantity(len(ids), 'set')} at {least:g} or above ({token_hex(4)})"
        accepted = (self.state.decide("accept", i, reviewer=reviewer, note=note) for i in ids)
        stored = self._store.add_all(accepted, seen=self.state.number)
        self.sync()
        return stored[-1]

    def undo(
        self,
        reviewer: str,
        target: str | None = None,
        *,
        set_id: str = "",
        shown: str | None = None,
    ) -> Decision:
        """Undo a decision by its id, or what undo means on a page that shows a set.

        `shown` is the id of the decision that the page offers to undo, with those made in one
        act with it; None: the reviewer's last one.
        """
        if target is None and shown is not None:
            taken = self.undoable(reviewer, set_id, shown)
            if (taken.id if taken else "") != shown:
                raise NotShownError(
                    "Your last decision is not the one on your page: you decided on another page, "
                    "or the server was started for another run."
                )
            if taken is not None:
                targets = [decision.id for decision in self.made_with(taken)]
                stored = self._store.undo_all(reviewer, targets)[-1]
                self.sync()
                return stored
            raise DataError("you have decided nothing on this set that could be undone")
        stored = self._store.undo(reviewer, target)
        self.sync()
        return stored

    def _note(self, decision: Decision) -> None:
        for set_id in decision.sets:
            self._decisions_on.setdefault(set_id, []).append(decision)
        if decision.kind != "undo":
            self._decisions_by.setdefault(decision.reviewer, {})[decision.id] = decision
            return
        undone = self.state.decision(decision.undoes)
        if undone is not None:
            self._decisions_by.get(undone.reviewer, {}).pop(undone.id, None)
