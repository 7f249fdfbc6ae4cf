"""The answers of the serving API: from the mined sets of a run, and from a model."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synsetmine import __version__
from synsetmine.results import MinedSet, MinedTerm, read_results
from synsetmine.review import ReviewState
from synsetmine.review.feedback import find_decisions
from synsetmine.runfolder import Artefacts
from synsetmine.types import Term
from synsetmine.web.meaning import Meanings
from synsetmine.web.questions import Expand, Problem, Question, Rank, Score

if TYPE_CHECKING:
    from synsetmine.models import PreparedModel


@dataclass(frozen=True)
class Answers:
    """What is known: mined sets, a model with its terms, or both."""

    mined: MinedAnswers | None = None
    model: ModelAnswers | None = None

    @property
    def health(self) -> dict[str, Any]:
        return {
            "status": "ok",
            "version": __version__,
            "mined": None if self.mined is None else self.mined.size,
            "model": None if self.model is None else self.model.size,
        }

    def is_quick(self, question: Question) -> bool:
        """Whether a table has the answer; the model needs some time."""
        return isinstance(question, Expand) and self.mined is not None

    def answer(self, question: Question) -> dict[str, Any]:
        """The answer, or a `Problem`."""
        if isinstance(question, Expand) and self.mined is not None:
            return self.mined.expand(question)
        if self.model is None:
            message = "this server has no model: it answers from mined sets only"
            raise Problem(501, "no_model", message)
        match question:
            case Expand():
                return self.model.expand(question)
            case Rank():
                return self.model.rank(question)
            case Score():
                return self.model.score(question)


class MinedAnswers:
    """Synonyms are the other terms of the same set, as far as reviewers let them stand."""

    def __init__(self, sets: Sequence[MinedSet], rejected: Container[str] = ()) -> None:
        self._count = len(sets)
        self._rejected = rejected
        self._place_of = {
            term.term: (mined, place) for mined in sets for place, term in enumerate(mined.terms)
        }
        self._meanings = Meanings(self._place_of)

    @classmethod
    def of_run(cls, run: Path) -> MinedAnswers:
        """The sets of a run, with what people decided on them."""
        decisions = find_decisions(run) if Artefacts(run).reviews.exists() else ()
        found = ReviewState(read_results(run), decisions).sets
        rejected = frozenset(reviewed.id for reviewed in found if reviewed.status == "rejected")
        return cls([reviewed.mined for reviewed in found], rejected)

    @property
    def size(self) -> dict[str, int]:
        return {"sets": self._count, "terms": len(self._place_of)}

    def expand(self, question: Expand) -> dict[str, Any]:
        mined, place = self._place_of[self._meanings.find(question.term)]
        others = [
            term
            for number, term in enumerate(mined.terms)
            if number != place and _certainty(term) >= (question.least or 0.0)
        ]
        if mined.id in self._rejected or not _is_right(mined.terms[place]):
            others = []
        others = sorted(filter(_is_right, others), key=lambda t: (-_certainty(t), -t.count, t.text))
        return {
            "term": str(mined.terms[place].term),
            "set": {"id": mined.id, "entity": mined.entity, "name": mined.name or None},
            "synonyms": [_synonym(term) for term in others[: question.top]],
        }


class ModelAnswers:
    """Probabilities of the model; the threshold is the one that it was made for."""

    def __init__(self, model: PreparedModel, threshold: float) -> None:
        self._model = model
        self._threshold = threshold
        self._meanings = Meanings(model.terms)

    def __contains__(self, term: object) -> bool:
        return term in self._meanings

    @property
    def size(self) -> dict[str, float]:
        return {"terms": len(self._model.terms), "threshold": self._threshold}

    def expand(self, question: Expand) -> dict[str, Any]:
        """The terms that fit a set of this one alone."""
        term = self._meanings.find(question.term)
        least = self._threshold if question.least is None else question.least
        ranked = self._model.rank([term], top=question.top)
        return {
            "term": str(term),
            "set": None,
            "synonyms": _scored((other, found) for other, found in ranked if found >= least),
        }

    def rank(self, question: Rank) -> dict[str, Any]:
        members = list(map(self._meanings.find, question.set))
        ranked = self._model.rank(members, top=question.top)
        return {"set": list(map(str, members)), "terms": _scored(ranked)}

    def score(self, question: Score) -> dict[str, Any]:
        members = list(map(self._meanings.find, question.set))
        terms = list(map(self._meanings.find, question.terms))
        found = self._model.probabilities(members, terms)
        return {
            "set": list(map(str, members)),
            "terms": _scored(zip(terms, found, strict=True)),
            "threshold": self._threshold,
        }


def _synonym(term: MinedTerm) -> dict[str, Any]:
    """A term of a mined set; kind, relation and evidence where the trace of the run has them."""
    evidence = [
        {"relation": sentence.relation, "document": sentence.document, "text": sentence.text}
        for sentence in term.evidence
    ]
    optional = {
        "kind": term.kind,
        "relation": term.relation,
        "nearest": term.nearest,
        "evidence": evidence,
    }
    return {
        "term": str(term.term),
        "probability": term.probability,
        "count": term.count,
        "known": term.known,
    } | {name: value for name, value in optional.items() if value}


def _certainty(term: MinedTerm) -> float:
    """The probability with which a term joined; those that were there before are certain."""
    return 1.0 if term.probability is None else term.probability


def _is_right(term: MinedTerm) -> bool:
    return term.judgement is None or term.judgement.verdict != "incorrect"


def _scored(found: Iterable[tuple[Term, float]]) -> list[dict[str, Any]]:
    return [{"term": str(term), "probability": probability} for term, probability in found]
