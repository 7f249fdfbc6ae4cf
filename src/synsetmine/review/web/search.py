"""The pages of the server for people: search for a term, and the API with forms to try it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from synsetmine.errors import SynsetmineError
from synsetmine.kb import page_of
from synsetmine.normalization import normal_form
from synsetmine.review.web.answers import Answers, FoundSet, MinedAnswers
from synsetmine.review.web.pages import Row, render
from synsetmine.review.web.schemas import ApiError, ExpandQuestion, TermSource
from synsetmine.review.web.session import KEPT, NEAREST, PER_TERM, Neighbours
from synsetmine.runs import MinedSet, MinedTerm, Sentence, example_sentences
from synsetmine.runs.folder import Artefacts
from synsetmine.types import Term

RANKED = 20  # terms of a model without a run
QUOTED = 50  # names of a set, the most frequent, that come with sentences
LONGEST = 500  # characters of a search, as in a query

Schema = Mapping[str, Any]


class SearchPage:
    """A term's set, names, entity, near terms and sentences."""

    def __init__(self, answers: Answers, run: Path | None = None, *, title: str = "") -> None:
        self._answers = answers
        self._title = title
        self._at = None if run is None else Artefacts(run)
        self._sentences_of = lru_cache(KEPT)(self._find_sentences)
        self._neighbours: Neighbours | None = None
        if answers.mined is not None and self._at is not None:
            keys = [str(term.term) for one in answers.mined.sets.values() for term in one.terms]
            self._neighbours = Neighbours(keys, self._at.vectors)
            self._neighbours.start()

    def render(self, asked: str, root: str) -> str:
        """The page for what a person typed; the empty page for nothing."""
        text = asked.strip()[:LONGEST]
        context: dict[str, Any] = {"found": None, "ranked": None, "problem": None}
        try:
            if text:
                context |= self._lookup(text)
        except ApiError as problem:
            context["problem"] = problem.detail
        return render("search.html", root=root, title=self._title, asked=text, **context)

    def _lookup(self, text: str) -> dict[str, Any]:
        mined = self._answers.mined
        if mined is None:
            return {"ranked": self._answers.answer(ExpandQuestion(text, top=RANKED))}
        found = mined.find(text)
        shown = [term for term in (found.own, *found.synonyms) if term is not None]
        frequent = sorted(shown, key=lambda term: -term.count)[:QUOTED]
        sentences = self._sentences_of(tuple(term.text for term in frequent if term.count))
        entity = found.mined.entity or ""
        return {
            "found": found,
            "called": str(found.term),
            "from_knowledge": found.source is TermSource.knowledge,
            "rows": [
                Row(str(term.term), term, term.quotes(sentences.get(normal_form(term.text), ())))
                for term in shown
            ],
            "definition": mined.kb.definition(entity),
            "page": page_of(entity),
            "nearest": list(islice(self._nearest(mined, found), NEAREST)),
        }

    def _nearest(
        self, mined: MinedAnswers, found: FoundSet
    ) -> Iterator[tuple[MinedTerm, MinedSet]]:
        """Terms of other sets that share words or contexts, one of each set."""
        seen = {found.mined.id}
        keys = [str(term.term) for term in found.mined.terms]
        for key in self._neighbours.near(keys) if self._neighbours is not None else ():
            term = Term.parse(key)
            home = mined.home(term)
            if home is not None and home not in seen:
                seen.add(home)
                other = mined.sets[home]
                yield next(one for one in other.terms if one.term == term), other

    def _find_sentences(self, surfaces: tuple[str, ...]) -> Mapping[str, Sequence[Sentence]]:
        if self._at is None or not (self._at.documents.exists() and self._at.places.exists()):
            return {}
        try:
            return example_sentences(self._at, surfaces, PER_TERM)
        except SynsetmineError as error:  # the page does without
            logging.getLogger(__name__).warning("no sentences: %s", error)
            return {}


def docs_page(document: Schema, root: str) -> str:
    """The operations of an OpenAPI document, each with a form to try it."""
    operations = [
        {"parameters": [], "requestBody": None, "method": method, "path": path, **operation}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return render("docs.html", root=root, operations=operations, info=document["info"])
