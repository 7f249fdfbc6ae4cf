"""Answers of the HTTP API."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET
from rapidfuzz import fuzz, process

from synsetmine import __version__
from synsetmine.errors import DataError
from synsetmine.normalization import normal_form
from synsetmine.review import ReviewState
from synsetmine.review.feedback import find_decisions
from synsetmine.review.web.schemas import (
    Answer,
    ApiError,
    Evidence,
    Expand,
    ExpandQuestion,
    Health,
    ModelSize,
    Question,
    Rank,
    RankQuestion,
    Score,
    ScoredTerm,
    ScoreQuestion,
    SetCounts,
    SetOfRun,
    Synonym,
)
from synsetmine.runs import MinedSet, MinedTerm, read_results
from synsetmine.runs.folder import Artefacts
from synsetmine.types import Term

if TYPE_CHECKING:
    from synsetmine.models import PreparedModel


MAX_NEAR = 5
MIN_SIMILARITY = 75  # of 100


class TermIndex:
    """Finds terms by their exact text, their surface, or their normal form."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._terms = dict.fromkeys(terms)
        self._by_surface: dict[str, list[Term]] = {}
        self._by_form: dict[str, list[Term]] = {}
        for term in self._terms:
            self._by_surface.setdefault(term.surface, []).append(term)
            self._by_form.setdefault(normal_form(term.surface), []).append(term)

    def __contains__(self, term: object) -> bool:
        return term in self._terms

    def find(self, text: str) -> Term:
        """The only term that a text can mean; an `ApiError` if there are none or several."""
        try:
            term = Term.parse(text)
        except DataError as error:
            raise ApiError(400, "wrong_value", str(error), term=text) from None
        if term in self._terms:
            return term
        matches: list[Term] = []
        if not term.sense:
            matches = self._by_surface.get(text) or self._by_form.get(normal_form(text)) or []
        if len(matches) == 1:
            return matches[0]
        if matches:
            near = sorted(map(str, matches))[:MAX_NEAR]
            message = f"{text!r} matches {len(matches)} terms: {', '.join(near)}"
            raise ApiError(409, "ambiguous_term", message, term=text, near=near)
        near = self._near(text)
        hint = f"; similar: {', '.join(near)}" if near else ""
        message = f"unknown term {text!r}{hint}"
        raise ApiError(404, "unknown_term", message, term=text, near=near)

    def _near(self, text: str) -> list[str]:
        """Terms with a similar spelling."""
        similar = process.extract(
            normal_form(text),
            list(self._by_form),
            scorer=fuzz.ratio,
            limit=MAX_NEAR,
            score_cutoff=MIN_SIMILARITY,
        )
        return [str(self._by_form[match][0]) for match, _, _ in similar]


@dataclass(frozen=True)
class Answers:
    """Answers questions from mined sets, a model with its terms, or both."""

    mined: MinedAnswers | None = None
    model: ModelAnswers | None = None

    @property
    def health(self) -> Health:
        return Health(
            status="ok",
            version=__version__,
            mined=None if self.mined is None else self.mined.size,
            model=None if self.model is None else self.model.size,
        )

    def is_quick(self, question: Question) -> bool:
        """Whether the mined sets hold the answer; the model needs some time."""
        return isinstance(question, ExpandQuestion) and self.mined is not None

    def answer(self, question: Question) -> Answer:
        """The answer, or an `ApiError`."""
        if isinstance(question, ExpandQuestion) and self.mined is not None:
            return self.mined.expand(question)
        if self.model is None:
            message = "this server has no model: it answers from mined sets only"
            raise ApiError(501, "no_model", message)
        match question:
            case ExpandQuestion():
                return self.model.expand(question)
            case RankQuestion():
                return self.model.rank(question)
            case ScoreQuestion():
                return self.model.score(question)


class MinedAnswers:
    """Synonyms are the other terms of the same set, except those that reviewers rejected."""

    def __init__(self, sets: Sequence[MinedSet], rejected: Container[str] = ()) -> None:
        self._count = len(sets)
        self._rejected = rejected
        self._members = {term.term: (mined, term) for mined in sets for term in mined.terms}
        self._index = TermIndex(self._members)

    @classmethod
    def of_run(cls, run: Path) -> MinedAnswers:
        """The sets of a run after its reviews."""
        decisions = find_decisions(run) if Artefacts(run).reviews.exists() else ()
        sets = ReviewState(read_results(run), decisions).sets
        rejected = frozenset(reviewed.id for reviewed in sets if reviewed.status == "rejected")
        return cls([reviewed.mined for reviewed in sets], rejected)

    @property
    def size(self) -> SetCounts:
        return SetCounts(self._count, len(self._members))

    def expand(self, question: ExpandQuestion) -> Expand:
        mined, own = self._members[self._index.find(question.term)]
        least = 0.0 if question.least is UNSET else question.least
        synonyms: list[MinedTerm] = []
        if mined.id not in self._rejected and own.verdict != "incorrect":
            synonyms = [
                term
                for term in mined.terms
                if term is not own and term.verdict != "incorrect" and term.certainty >= least
            ]
        synonyms.sort(key=lambda term: (-term.certainty, -term.count, term.text))
        return Expand(
            term=str(own.term),
            set=SetOfRun(mined.id, mined.entity, mined.name or None),
            synonyms=list(map(_synonym, synonyms[: question.top])),
        )


class ModelAnswers:
    """Answers with the probabilities of a model, and its threshold."""

    def __init__(self, model: PreparedModel, threshold: float) -> None:
        self._model = model
        self._threshold = threshold
        self._index = TermIndex(model.terms)

    def __contains__(self, term: object) -> bool:
        return term in self._index

    @property
    def size(self) -> ModelSize:
        return ModelSize(len(self._model.terms), self._threshold)

    def expand(self, question: ExpandQuestion) -> Expand:
        """The terms that fit a set of this one alone."""
        term = self._index.find(question.term)
        least = self._threshold if question.least is UNSET else question.least
        ranked = self._model.rank([term], top=question.top)
        synonyms = [Synonym(str(other), score) for other, score in ranked if score >= least]
        return Expand(str(term), None, synonyms)

    def rank(self, question: RankQuestion) -> Rank:
        members = list(map(self._index.find, question.set))
        return Rank(
            list(map(str, members)), _scored_terms(self._model.rank(members, top=question.top))
        )

    def score(self, question: ScoreQuestion) -> Score:
        members = list(map(self._index.find, question.set))
        terms = list(map(self._index.find, question.terms))
        scores = self._model.probabilities(members, terms)
        return Score(
            list(map(str, members)), _scored_terms(zip(terms, scores, strict=True)), self._threshold
        )


def _synonym(term: MinedTerm) -> Synonym:
    """A term of a mined set; kind, relation and evidence if the trace of the run has them."""
    evidence = [Evidence(quote.relation, quote.document, quote.text) for quote in term.evidence]
    return Synonym(
        term=str(term.term),
        probability=term.probability,
        count=term.count,
        known=term.known,
        kind=term.kind or UNSET,
        relation=term.relation or UNSET,
        nearest=term.nearest or UNSET,
        evidence=evidence or UNSET,
    )


def _scored_terms(ranked: Iterable[tuple[Term, float]]) -> list[ScoredTerm]:
    return [ScoredTerm(str(term), probability) for term, probability in ranked]
