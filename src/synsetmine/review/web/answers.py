"""Answers to questions: from mined sets, from the knowledge base of a run, and by a model."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET
from rapidfuzz import fuzz, process

from synsetmine import __version__
from synsetmine.errors import DataError
from synsetmine.kb import KnowledgeBase
from synsetmine.normalization import SHORT, normal_form, tokens
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
    TermSource,
)
from synsetmine.runs import MinedSet, MinedTerm, read_results
from synsetmine.runs.folder import Artefacts
from synsetmine.text.kinds import pair_kind
from synsetmine.text.word_forms import spelled_words, stem
from synsetmine.types import Term

if TYPE_CHECKING:
    from synsetmine.models import PreparedModel
    from synsetmine.models.known import KnownSets

MAX_NEAR = 5
MIN_SIMILARITY = 75  # of 100
_NUMBERS = (("ies", "y"), ("es", ""), ("s", ""), ("y", "ies"), ("", "s"), ("", "es"))


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name of the knowledge base that is no term of the run."""

    entity: str
    text: str

    def __str__(self) -> str:
        return self.text


def written_forms(text: str) -> Iterator[str]:
    """The normal form of a text; then other ways to write it, for a text that is not found.

    Capitals may be missing or too many, and the letters of an abbreviation may have periods.

    >>> list(written_forms("u.k."))
    ['u k', 'uk', 'UK']
    """
    words = tokens(text)
    joined = "".join(words)
    forms = [normal_form(text), " ".join(words)]
    if len(words) > 1 and all(len(word) == 1 for word in words):
        forms += [joined, joined.upper()]
    elif len(words) == 1 and len(joined) <= SHORT:
        forms += [joined.upper(), " ".join(joined)]
    yield from dict.fromkeys(filter(None, forms))


def other_numbers(text: str) -> Iterator[str]:
    """The singular or the plural of a text, whose last word changes.

    >>> list(other_numbers("heart attacks")), list(other_numbers("body"))
    (['heart attack'], ['bodies', 'bodys'])
    """
    *words, last = spelled_words(text) or [""]
    texts = [" ".join([*words, stem(last)])]
    texts += [text.removesuffix(old) + new for old, new in _NUMBERS if text.endswith(old)]
    for other in dict.fromkeys(map(str.strip, texts)):
        if other and pair_kind(text, other) == "inflection":
            yield other


class TermFinder:
    """Finds terms by their text or its normal form, then names of a knowledge base.

    A text that is neither finds its singular or plural.
    """

    def __init__(self, terms: Iterable[Term], kb: KnowledgeBase | None = None) -> None:
        self._terms = frozenset(terms)
        self._kb = kb or KnowledgeBase.of(())
        self._by_form: dict[str, list[Term]] = {}
        for term in self._terms:
            self._by_form.setdefault(normal_form(term.surface), []).append(term)

    def __contains__(self, term: object) -> bool:
        return term in self._terms

    def find(self, text: str) -> Term | KnownName:
        """The only term that a text can mean; an `ApiError` if there are none or several."""
        try:
            term = Term.parse(text)
        except DataError as error:
            raise ApiError(400, "wrong_value", str(error), term=text) from None
        if term in self._terms:
            return term
        if term.sense and self._kb.knows(term.sense, term.surface):
            return KnownName(term.sense, term.surface)
        matches = () if term.sense else self._as_written(text) or self._inflections(text)
        if len(matches) == 1:
            return matches[0]
        if matches:
            near = sorted(map(_whole_name, matches))[:MAX_NEAR]
            message = f"{text!r} matches {len(matches)} terms: {', '.join(near)}"
            raise ApiError(409, "ambiguous_term", message, term=text, near=near)
        near = self._near(text)
        hint = f"; similar: {', '.join(near)}" if near else ""
        message = f"unknown term {text!r}{hint}"
        raise ApiError(404, "unknown_term", message, term=text, near=near)

    def _as_written(self, text: str) -> Sequence[Term | KnownName]:
        """The terms of the first form of a text that there is."""
        return next(filter(None, (self._matches(text, form) for form in written_forms(text))), ())

    def _inflections(self, text: str) -> Sequence[Term | KnownName]:
        others = ((other, normal_form(other)) for other in other_numbers(text))
        return list(dict.fromkeys(term for other in others for term in self._matches(*other)))

    def _matches(self, text: str, form: str) -> Sequence[Term | KnownName]:
        """The terms of a form, those with this very surface first; else the known names."""
        matches = self._by_form.get(form, [])
        if matches:
            return [term for term in matches if term.surface == text] or matches
        number = self._kb.form_number(form)
        if number is None:
            return []
        entities = self._kb.entities_of_form(number)
        if self._prefers(entities[0], number):
            entities = entities[:1]
        return [KnownName(entity, self._name_in_kb(entity, form)) for entity in entities]

    def _prefers(self, entity: str, form: int) -> bool:
        row = self._kb.row(entity)
        return row is not None and int(self._kb.preferred_forms[row]) == form

    def _name_in_kb(self, entity: str, form: str) -> str:
        """The name of an entity with a normal form."""
        return next(name for name in self._kb.names(entity) if normal_form(name) == form)

    def _near(self, text: str) -> list[str]:
        """Terms with a similar spelling."""
        similar = process.extract(
            normal_form(text),
            self._by_form.keys(),
            scorer=fuzz.ratio,
            limit=MAX_NEAR,
            score_cutoff=MIN_SIMILARITY,
        )
        return [str(min(self._by_form[match[0]])) for match in similar]


def _is_inflection(text: str, term: Term | KnownName) -> bool:
    """Whether a text found this term as its singular or plural."""
    query = Term.parse(text)
    name = term.surface if isinstance(term, Term) else term.text
    is_written = name == query.surface or normal_form(name) in written_forms(text)
    return not query.sense and not is_written


def _whole_name(term: Term | KnownName) -> str:
    """A term with its sense; a known name has its entity in that place."""
    return str(term if isinstance(term, Term) else Term(term.text, term.entity))


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


@dataclass(frozen=True)
class FoundSet:
    """The set of a term: a mined one, or the names of an entity that the run lacks."""

    term: Term | KnownName
    mined: MinedSet
    source: TermSource
    is_rejected: bool = False
    by_inflection: bool = False

    @property
    def own(self) -> MinedTerm | None:
        """The term in its set; None for a name that the set lacks."""
        return next((term for term in self.mined.terms if term.term == self.term), None)

    @property
    def synonyms(self) -> list[MinedTerm]:
        """The other names, without those that reviewers rejected; the most certain first."""
        own = self.own
        if self.is_rejected or (own is not None and own.is_wrong):
            return []
        form = normal_form(self.term.text) if isinstance(self.term, KnownName) else None
        others = [
            term
            for term in self.mined.terms
            if term is not own and not term.is_wrong and normal_form(term.text) != form
        ]
        return sorted(others, key=lambda term: (-term.certainty, -term.count, term.text))


class MinedAnswers:
    """Synonyms are the other terms of the same set, except those that reviewers rejected.

    A name of the knowledge base that the run lacks has the set of its entity, or the entity's
    names alone.
    """

    def __init__(
        self,
        sets: Iterable[MinedSet],
        rejected: Container[str] = (),
        kb: KnowledgeBase | None = None,
    ) -> None:
        self.sets: Mapping[str, MinedSet] = {mined.id: mined for mined in sets}
        self.kb = kb or KnowledgeBase.of(())
        self._rejected = rejected
        self._home = {term.term: mined.id for mined in self.sets.values() for term in mined.terms}
        self._index = TermFinder(self._home, kb)

    @classmethod
    def of_run(cls, run: Path) -> MinedAnswers:
        """The sets of a run after its reviews."""
        at = Artefacts(run)
        decisions = find_decisions(run) if at.reviews.exists() else ()
        sets = ReviewState(read_results(run), decisions).sets
        rejected = frozenset(reviewed.id for reviewed in sets if reviewed.is_void)
        kb = KnowledgeBase.load(at.knowledge)  # mapped into memory
        return cls([reviewed.mined for reviewed in sets], rejected, kb)

    @property
    def size(self) -> SetCounts:
        return SetCounts(len(self.sets), len(self._home))

    def find(self, text: str) -> FoundSet:
        """The set of a term; an `ApiError` for an unknown one."""
        term = self._index.find(text)
        if isinstance(term, Term):
            name, source = self._home[term], TermSource.run
        else:
            name = term.entity
            source = TermSource.run if name in self.sets else TermSource.knowledge
        mined = self.sets.get(name) or self._entity(name)
        return FoundSet(term, mined, source, name in self._rejected, _is_inflection(text, term))

    def _entity(self, entity: str) -> MinedSet:
        names = [MinedTerm(name, 0, "", known=True) for name in self.kb.names(entity)]
        return MinedSet(entity, tuple(names), entity, self.kb.name(entity))

    def home(self, term: Term) -> str | None:
        """The id of the set of a term."""
        return self._home.get(term)

    def expand(self, question: ExpandQuestion) -> Expand:
        result = self.find(question.term)
        mined, least = result.mined, 0.0 if question.least is UNSET else question.least
        synonyms = [term for term in result.synonyms if term.certainty >= least]
        return Expand(
            term=str(result.term),
            set=SetOfRun(mined.id, mined.entity, mined.name or None),
            synonyms=list(map(_synonym, synonyms[: question.top])),
            source=result.source,
            by_inflection=result.by_inflection,
        )


class ModelAnswers:
    """Answers with the probabilities of a model, and its threshold.

    With the known sets of a run and its knowledge base it also answers for names that the run
    lacks: a known name belongs to its own entity only.
    """

    def __init__(
        self,
        model: PreparedModel,
        threshold: float,
        known: KnownSets | None = None,
        kb: KnowledgeBase | None = None,
    ) -> None:
        self._model = model
        self._threshold = threshold
        self._kb = kb if kb is not None and known is not None else KnowledgeBase.of(())
        self._of_run = known
        self._index = TermFinder(model.terms, self._kb)

    def __contains__(self, term: object) -> bool:
        return term in self._index

    @property
    def _known(self) -> KnownSets:
        """The known sets of the run: without them no name of a knowledge base is found."""
        if self._of_run is None:
            raise ApiError(501, "no_model", "this model has no known sets")
        return self._of_run

    @property
    def size(self) -> ModelSize:
        return ModelSize(len(self._model.terms), self._threshold)

    def expand(self, question: ExpandQuestion) -> Expand:
        """The terms that fit a set of this one alone."""
        least = self._threshold if question.least is UNSET else question.least
        ranked = self.rank(RankQuestion((question.term,), question.top))
        synonyms = [Synonym(r.term, r.probability) for r in ranked.terms if r.probability >= least]
        by_inflection = bool(ranked.by_inflection)
        return Expand(ranked.set[0], None, synonyms, TermSource.model, by_inflection)

    def rank(self, question: RankQuestion) -> Rank:
        members = list(map(self._find, question.set))
        lacking = [member for member in members if isinstance(member, KnownName)]
        if not lacking:
            terms = [member for member in members if isinstance(member, Term)]
            ranked: list[tuple[Term | KnownName, float]] = [
                *self._model.rank(terms, top=question.top)
            ]
        else:
            own = {str(member) for member in members}
            listed = [term for term in self._related_names(members) if str(term) not in own]
            ranked = [*zip(listed, self._probabilities(members, listed), strict=True)]
            ranked = sorted((pair for pair in ranked if pair[1] > 0), key=lambda pair: -pair[1])
        return Rank(
            list(map(str, members)),
            _scored_terms(ranked[: question.top]),
            _without_vector(members),
            self._by_inflection(question.set),
        )

    def score(self, question: ScoreQuestion) -> Score:
        members = list(map(self._find, question.set))
        terms = list(map(self._find, question.terms))
        scores = self._probabilities(members, terms)
        return Score(
            list(map(str, members)),
            _scored_terms(zip(terms, scores, strict=True)),
            self._threshold,
            _without_vector([*members, *terms]),
            self._by_inflection([*question.set, *question.terms]),
        )

    def _by_inflection(self, texts: Iterable[str]) -> list[str]:
        """The texts that name a term in the singular or plural only."""
        return [text for text in texts if _is_inflection(text, self._index.find(text))]

    def _find(self, text: str) -> Term | KnownName:
        """A term; for a name that the run lacks another name of its entity, if the run has one."""
        result = self._index.find(text)
        if isinstance(result, Term):
            return result
        return next(iter(self._known.names_of(result.entity)), result)

    def _related_names(self, members: Sequence[Term | KnownName]) -> list[Term | KnownName]:
        """The names of the entities of a set, and the new terms that may be one."""
        entities = {member.entity for member in members if isinstance(member, KnownName)}
        names = [KnownName(entity, text) for entity in entities for text in self._kb.names(entity)]
        return [*names, *dict.fromkeys(self._known.candidates_of(self._entities(members)))]

    def _entities(self, members: Sequence[Term | KnownName]) -> list[str]:
        entities = {member.entity for member in members if isinstance(member, KnownName)}
        terms = [member for member in members if isinstance(member, Term)]
        return [*sorted(entities), *(self._known.home(terms)[0] if terms else ())]

    def _probabilities(
        self, members: Sequence[Term | KnownName], terms: Sequence[Term | KnownName]
    ) -> list[float]:
        """f(S, t) of each term t."""
        own = [member for member in members if isinstance(member, Term)]
        judged = [term for term in terms if isinstance(term, Term)]
        if len(own) == len(members):
            values = dict(zip(judged, self._model.probabilities(own, judged), strict=True))
        else:
            ids = self._entities(members)
            values = {term: self._known.probability(term, ids) for term in judged}
        return [
            values[term] if isinstance(term, Term) else self._of_entity(members, term.entity)
            for term in terms
        ]

    def _of_entity(self, members: Sequence[Term | KnownName], entity: str) -> float:
        """The probability that a set has the names of an entity that the run lacks."""
        terms = [member for member in members if isinstance(member, Term)]
        if len(terms) < len(members) or self._known.home(terms)[0]:
            return float(entity in self._entities(members))
        return sum(self._known.probability(term, [entity]) for term in terms) / len(terms)


def _without_vector(terms: Iterable[Term | KnownName]) -> list[str]:
    return [str(term) for term in terms if isinstance(term, KnownName)]


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


def _scored_terms(ranked: Iterable[tuple[Term | KnownName, float]]) -> list[ScoredTerm]:
    return [ScoredTerm(str(term), probability) for term, probability in ranked]
