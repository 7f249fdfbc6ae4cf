"""Why two names are one thing, or not: what each view says, their kind, and a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from synsetmine.corpus.name_lists import contexts_in, names_in, type_text
from synsetmine.errors import DataError
from synsetmine.normalization import name_key, tokens
from synsetmine.text.kinds import KINDS, pair_kind, relation_of
from synsetmine.text.patterns import SUPPORTING, Relation, Span, find_definitions, relation_between
from synsetmine.text.tokens import FUNCTION_WORDS, one_space, sentence_around, sentence_ends
from synsetmine.text.word_forms import stem
from synsetmine.types import NameKind, Progress, Scope, Term

if TYPE_CHECKING:
    from synsetmine.models import StoredModel
    from synsetmine.pipeline.grouping import NameModel, PreparedNameModel
    from synsetmine.views import TermVectors, TermViews

WORDS = 8  # shared words that are shown
SENTENCE = 300  # characters of a sentence that are shown
CONTEXTS = 8  # of a name that are searched for a sentence
CONTEXT_TEXT = 4000  # characters of each
SPANS = 20  # of a name in a context that are looked at
SENTENCES = 20  # of a context that are compared


@dataclass(frozen=True)
class Explanation:
    """What speaks for and against two names being one thing."""

    name: str
    other: str
    probability: float  # that they are one thing; 0 if their types differ
    names_probability: float  # by the names alone, without contexts
    context_log_odds: float | None  # that the contexts add; None if one of the names has none
    encoder_similarity: float | None  # cosine of the sentence encoder's vectors of the names
    kind: NameKind
    relation: Scope  # of the name to the other: "narrow" if it means less
    types: tuple[str, str] = ("", "")
    shared_words: tuple[str, ...] = ()  # of their contexts, the rarest first
    statement: Relation | None = None  # what the sentence says of the two names
    sentence: str = ""  # has both names, or is the one of the name's contexts most alike
    other_sentence: str = ""  # of the other's contexts; empty if the first has both names
    pair_alone: bool = False  # no other names were compared: the probability is often too high

    def __repr__(self) -> str:
        alone = " of the pair alone" if self.pair_alone else ""
        pair = f"{self.name!r}, {self.other!r}, {self.kind}"
        return f"Explanation({pair}, {self.probability:.2f}{alone})"


def explain(
    name: str,
    other: str,
    *,
    contexts: str | Iterable[str] | None = None,
    other_contexts: str | Iterable[str] | None = None,
    types: Sequence[str | None] = ("", ""),
    among: Iterable[str] = (),
    model: NameModel | StoredModel | None = None,
    encoder: str | None = None,
    device: str = "cpu",
    cache: str | Path | None = None,
) -> Explanation:
    """Explain whether two names mean the same thing.

    `contexts` and `other_contexts` are a sentence or description of each name, or several; `types`
    are the types of both. The probability is that of the pair alone, which is often too high: pass
    the other names of the list as `among`, for a model that knows them sees what tells the two
    apart. `model`, `encoder`, `device` and `cache` are those of `group`.
    """
    from synsetmine.pipeline.grouping import model_of_names, open_encoder
    from synsetmine.pipeline.name_vocabulary import LONGEST_NAME

    names = [" ".join(text.split()) for text in names_in([name, other])]
    for text in names:
        if not text or len(text) > LONGEST_NAME:
            problem = f"expected a name of 1 to {LONGEST_NAME:,} characters"
            raise DataError(problem, value=text)
    if isinstance(types, str) or len(types) != len(names):
        raise DataError("expected two types, one for each name", value=types)
    kinds = [*map(type_text, types)]
    one, two = Term(names[0]), Term(names[1], "2" if names[0] == names[1] else "")
    texts = {one: contexts_in(contexts), two: contexts_in(other_contexts)}
    keys = set(map(name_key, names))
    more = {text: None for text in map(str.strip, names_in(among)) if text}
    explainer = PairExplainer(
        model_of_names(model, encoder),
        [one, two, *(Term(text) for text in more if name_key(text) not in keys)],
        {term: own for term, own in texts.items() if own},
        {term: kind for term, kind in zip((one, two), kinds, strict=True) if kind},
        open_encoder(encoder, device=device, cache=cache),
    )
    return replace(explainer.explain(one, two), pair_alone=len(explainer.terms) == 2)


class PairExplainer:
    """The pairs of a vocabulary: their probabilities with and without contexts, and evidence."""

    def __init__(
        self,
        model: NameModel,
        terms: Sequence[Term],
        contexts: Mapping[Term, Sequence[str]],
        types: Mapping[Term, str],
        encode: Callable[[Sequence[Term]], TermVectors] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._model = model
        self._encode = encode
        self._progress = progress
        self._chances: dict[tuple[bool, frozenset[Term]], float] = {}  # with contexts, or without
        self.terms = dict.fromkeys(terms)
        self.contexts = contexts
        self.types = types

    def __contains__(self, term: Term) -> bool:
        return term in self.terms

    @cached_property
    def prepared_model(self) -> PreparedNameModel:
        """The model over the names with their contexts."""
        return self._model.prepare([*self.terms], self._views, progress=self._progress)

    @cached_property
    def _views(self) -> TermViews:
        from synsetmine.pipeline.grouping import name_views

        return name_views([*self.terms], self.contexts, self._encode)

    @cached_property
    def _names_alone(self) -> PreparedNameModel:
        from synsetmine.views import TermViews

        if not self.contexts:
            return self.prepared_model
        return self._model.prepare([*self.terms], TermViews(encoder=self._views.encoder))

    def nearest(self, term: Term, others: Sequence[Term]) -> Term:
        """The most probable of other terms; among equals the one most alike by its kind."""
        if len(others) == 1:
            return others[0]
        chances = self.prepared_model.probabilities([term], others)
        for other, chance in zip(others, chances, strict=True):
            self._chances[True, frozenset((term, other))] = chance
        ranks = [
            (-round(chance, 9), KINDS.index(pair_kind(term.surface, other.surface)), other)
            for other, chance in zip(others, chances, strict=True)
        ]
        return min(ranks)[-1]

    def explain(self, term: Term, other: Term) -> Explanation:
        """What the views and the contexts say about two terms of the vocabulary."""
        texts = self.contexts.get(term, ()), self.contexts.get(other, ())
        types = self.types.get(term, ""), self.types.get(other, "")
        in_contexts = all(texts)
        names_probability = 1.0  # of spellings of one name
        if name_key(term.surface) != name_key(other.surface):
            names_probability = self._probability(term, other, in_contexts=False)
        probability = names_probability
        if in_contexts:
            probability = self._probability(term, other, in_contexts=True)
        evidence = find_evidence(term.surface, other.surface, *texts, counts=self._counts)
        scope = relation_of(term.surface, [other.surface], probability)
        differ = all(types) and name_key(types[0]) != name_key(types[1])
        added = log_odds(probability) - log_odds(names_probability)
        return Explanation(
            term.surface,
            other.surface,
            0.0 if differ else probability,
            names_probability,
            added if in_contexts else None,
            self._similarity(term, other),
            pair_kind(term.surface, other.surface),
            scope,
            types,
            shared_words(term.surface, other.surface, *texts, counts=self._counts)[:WORDS],
            *evidence,
        )

    def _probability(self, term: Term, other: Term, *, in_contexts: bool) -> float:
        """f({other}, term), which is the same the other way round."""
        key = in_contexts or not self.contexts, frozenset((term, other))
        if key not in self._chances:
            prepared_model = self.prepared_model if key[0] else self._names_alone
            (self._chances[key],) = prepared_model.probabilities([other], [term])
        return self._chances[key]

    def _similarity(self, term: Term, other: Term) -> float | None:
        from synsetmine.views import unit_rows

        if self._encode is None or self._views.encoder is None:
            return None
        rows = unit_rows(self._views.encoder.select([term, other]))
        return float(np.clip(rows[0] @ rows[1], -1, 1))

    @cached_property
    def _counts(self) -> Counter[str]:
        """In the contexts of how many terms each stem occurs."""
        counts: Counter[str] = Counter()
        for texts in self.contexts.values():
            counts.update({stem(word) for text in texts for word in _words(text)})
        return counts


def log_odds(probability: float) -> float:
    """log p / (1 - p), for probabilities from 0.0001 to 0.9999."""
    kept = min(max(probability, 1e-4), 1 - 1e-4)
    return float(np.log(kept / (1 - kept)))


def shared_words(
    name: str,
    other: str,
    contexts: Sequence[str],
    other_contexts: Sequence[str],
    *,
    counts: Mapping[str, int] | None = None,  # of stems: how many names have it in a context
) -> tuple[str, ...]:
    """Words of both names' contexts that are in neither name, the rarest first."""
    own_stems = {stem(word) for text in (name, other) for word in tokens(text)}
    stems = {stem(word) for text in other_contexts for word in _words(text)} - own_stems
    shared: dict[str, str] = {}
    for text in contexts:
        for word in _words(text):
            if (key := stem(word)) in stems:
                shared.setdefault(key, word)
    known = counts or {}
    return tuple(shared[key] for key in sorted(shared, key=lambda key: (known.get(key, 0), key)))


class EvidenceSentences(NamedTuple):
    """A sentence with both names, and what it says of them; or one sentence of each name."""

    statement: Relation | None = None
    sentence: str = ""
    other_sentence: str = ""


def find_evidence(
    name: str,
    other: str,
    contexts: Sequence[str],
    other_contexts: Sequence[str],
    *,
    counts: Mapping[str, int] | None = None,
) -> EvidenceSentences:
    """The sentence that says most about two names.

    First comes one that defines one name as the other's abbreviation or alias, then one that says
    something else of both, then the two sentences with the most, and rarest, words in common.
    """
    own, theirs = (
        [text[:CONTEXT_TEXT] for text in texts[:CONTEXTS]] for texts in (contexts, other_contexts)
    )
    best: EvidenceSentences | None = None
    for text in dict.fromkeys((*own, *theirs)):
        for statement, span in _statements(name, other, text):
            if best is None or statement in SUPPORTING:
                sentence = sentence_around("", text, *span, SENTENCE).text
                best = EvidenceSentences(statement, sentence)
            if statement in SUPPORTING:
                return best
    return best or _most_similar(name, other, own, theirs, counts or {})


def _statements(name: str, other: str, text: str) -> Iterator[tuple[Relation, Span]]:
    """What a text says of two names, and where."""
    keys = {name_key(name), name_key(other)}
    for definition in find_definitions(text):
        if {name_key(text[slice(*span)]) for span in definition} == keys and len(keys) == 2:
            ends = (*definition.short, *definition.long)
            yield "abbreviation", (min(ends), max(ends))
    spans = [[*islice(_spans(own, text), SPANS)] for own in (name, other)]
    for one, two in product(*spans):
        first, second = sorted((one, two))
        relation = relation_between(text, first, second)
        if relation is not None:
            yield relation, (first[0], second[1])


def _spans(name: str, text: str) -> Iterator[Span]:
    pattern = r"\s+".join(map(re.escape, name.split()))
    for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE):
        yield match.span()


def _most_similar(
    name: str,
    other: str,
    contexts: Sequence[str],
    other_contexts: Sequence[str],
    counts: Mapping[str, int],
) -> EvidenceSentences:
    sentences = [*_sentences(contexts)], [*_sentences(other_contexts)]
    own_stems = {stem(word) for text in (name, other) for word in tokens(text)}
    stems = [
        [{stem(word) for word in _words(text)} - own_stems for text in own] for own in sentences
    ]

    def alike(pair: tuple[int, int]) -> float:
        shared = stems[0][pair[0]] & stems[1][pair[1]]
        return sum(1 / (1 + counts.get(key, 0)) for key in sorted(shared))

    pairs = [*product(range(len(stems[0])), range(len(stems[1])))]
    if not pairs:
        first, second = ("".join(own[:1]) for own in sentences)
    else:
        one, two = max(pairs, key=lambda pair: (alike(pair), -pair[0], -pair[1]))
        first, second = sentences[0][one], sentences[1][two]
    return EvidenceSentences(None, first, "" if first == second else second)


def _sentences(contexts: Sequence[str]) -> Iterator[str]:
    for text in contexts:
        start = 0
        for end in (*islice(sentence_ends(text, 0, len(text)), SENTENCES - 1), len(text)):
            sentence = one_space(text[start:end]).strip()
            start = end
            if sentence:
                yield sentence if len(sentence) <= SENTENCE else f"{sentence[: SENTENCE - 1]}…"


def _words(text: str) -> Iterator[str]:
    for word in tokens(text[:CONTEXT_TEXT]):
        if len(word) > 1 and word not in FUNCTION_WORDS:
            yield word
