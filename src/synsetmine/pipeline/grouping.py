"""Grouping a list of names with the general model: no known sets, no corpus, no training.

Names may come with contexts (sentences or descriptions) and types. A node is what the model
compares: a name, of one type if types are given, in one sense if contexts are. Rows of the list
with the same name and type are one node unless their contexts show several senses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from synsetmine.corpus.name_lists import NameRow, read_pairs, rows_in
from synsetmine.errors import DataError, require_type
from synsetmine.io.sets import read_sets
from synsetmine.models import MiningResult, StoredModel
from synsetmine.normalization import name_key
from synsetmine.notebook import ShowProgress, open_progress
from synsetmine.pipeline.explanation import PairExplainer
from synsetmine.pipeline.name_sets import Grouping, UnsurePair
from synsetmine.pipeline.name_vocabulary import (
    GroupingBuilder,
    KnownSets,
    NameVocabulary,
    known_entities,
)
from synsetmine.pipeline.registry import Registry, known_mentions, known_senses
from synsetmine.pipeline.settings import GroupSettings, JudgeSettings
from synsetmine.types import Progress, SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, encode_terms, find_encoder, unit_rows

if TYPE_CHECKING:
    from synsetmine.pipeline.judge import JudgeReport

ENCODED = 8  # contexts of a name that a sentence encoder reads: more add little
ENCODED_TEXT = 1_000  # characters of each; an encoder cuts longer texts itself
PAIRS_PER_CALL = 10  # near pairs that are looked at for each request to a judge
DEFAULTS = GroupSettings()

Encode: TypeAlias = Callable[[Sequence[Term]], TermVectors]
Pairs: TypeAlias = Iterable[tuple[str, str]] | str | Path


class PreparedNameModel(Protocol):
    """A `PreparedModel` that also knows about which pairs of terms it is least sure."""

    def probabilities(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]: ...

    def generate(
        self,
        *,
        threshold: float = 0.5,
        seeds: SynonymSets | None = None,
        cannot_link: Iterable[tuple[Term, Term]] = (),
        must_link: Iterable[tuple[Term, Term]] = (),
        types: Mapping[Term, str] | None = None,
        progress: Progress | None = None,
    ) -> MiningResult: ...

    def near_pairs(self, threshold: float, *, top: int = 100) -> list[tuple[Term, Term, float]]:
        """The pairs whose probability is nearest to the threshold, nearest first."""
        ...


class NameModel(Protocol):
    """A `SetModel` that judges names by their strings, contexts, and an encoder's vectors."""

    def senses(
        self,
        names: Sequence[str],
        contexts: Sequence[Sequence[str]],
        vectors: TermVectors | None = None,
        *,
        threshold: float = 0.5,
    ) -> list[int]:
        """Which sense of its name each mention has, from 0 on, by the contexts of each."""
        ...

    def prepare(
        self,
        vocabulary: Sequence[Term],
        views: TermViews,
        *,
        progress: Progress | None = None,
    ) -> PreparedNameModel: ...


def group(
    names: Any,
    *,
    column: str | None = None,
    contexts: Any = None,
    types: Any = None,
    precision: str | float = DEFAULTS.precision,
    known: KnownSets | str | Path | None = None,
    never: Pairs | None = None,
    always: Pairs | None = None,
    model: NameModel | StoredModel | None = None,
    encoder: str | None = None,
    device: str = "cpu",
    cache: str | Path | None = None,
    unsure: int = DEFAULTS.unsure,
    judge: str | JudgeSettings | None = None,
    progress: ShowProgress = None,
) -> Grouping:
    """Group the names that mean the same thing.

    `names` is any iterable of strings, a Series of pandas or polars, or a DataFrame with a
    `column`. Their order makes no difference. Names that differ only in case, width or whitespace
    are one name. `precision` is "cautious", "balanced" or "bold", or a threshold from 0 to 1. New
    names may join the `known` sets, whose own names stay where they are: sets as `read_sets` reads
    them, the path of such a file, lists of names, a mapping from names to their other names, or a
    `Registry`, whose cannot-link pairs hold too. The two names of a pair in `never` come into
    different sets, those of a pair in `always` into one, unless types, known sets or `never` forbid
    it. Both are lists of pairs, or the path of a file as `read_pairs` reads it.

    `contexts` has for each name a sentence or a description, or a list of them, or None; `types`
    has the type of each name, or None. Both are as long as `names`, or the names of columns if
    `names` is a table. Names of different types never share a set. If the contexts of a name in
    several rows show several meanings, its rows are in different sets: `ids` and `canonical` of
    the result have the answer for each row.

    The name of a set is its most frequent one in the list; ties go to the name with most letters,
    then to one that is not all capitals unless it is as short as `USA`, then to the one with
    fewest other characters (`Heart Failure`, not `Failure, Heart`), then to the first in the
    alphabet. The name of a known set is its first one.

    `model` is the general model by default; one that was adapted to sets judges names without
    their contexts. `encoder` is a sentence encoder, `minilm` or a folder,
    whose vectors of the names and contexts are a further view; the folder `cache` stores them.
    `unsure` is the number of pairs near the threshold to return. `progress` is True for a progress
    bar, or a function that is called with the finished work and the total.

    `judge` is the address of an OpenAI-compatible endpoint, or `JudgeSettings`: a language model
    decides on names whose probability is near the threshold. `judged` of the result says what was
    asked. Without a usable answer the result is as it would be without a judge.
    """
    if isinstance(known, str | Path):
        known = read_sets(known)
    language_model: Judge | None = None
    if judge is not None:
        from synsetmine.pipeline.judge import Judge

        settings = JudgeSettings(url=judge) if isinstance(judge, str) else judge
        require_type(settings, JudgeSettings, "expected the address of a judge, or JudgeSettings")
        language_model = Judge(settings)
    threshold = threshold_of(precision)
    rows = rows_in(names, column, contexts=contexts, types=types)
    model = model_of_names(model, encoder)
    with open_progress(progress, "grouping") as bar:
        encode = open_encoder(encoder, device=device, cache=cache, progress=bar)
        entities = known_entities(known)
        mentions = [*known_mentions(entities)]
        rows = [row if row.name.strip() else NameRow("") for row in rows]
        sensed = _with_senses([*rows, *mentions], model, encode, threshold)
        split = known_senses(sensed[: len(rows)], sensed[len(rows) :], mentions)
        vocabulary = NameVocabulary(split, entities)
        decided = known.never if isinstance(known, Registry) else ()
        never, always = map(_pairs_of, (never, always))
        apart, unused_apart = vocabulary.link_pairs([*never, *decided])
        together, unused_together = vocabulary.link_pairs(always, together=True)
        cannot_link, must_link = [*chain(*apart)], [*chain(*together)]
        seeds = vocabulary.seeds()
        terms = [*vocabulary.new_terms, *seeds.terms]
        result = GroupingBuilder(vocabulary)
        pairs: list[UnsurePair] = []
        unkept = 0
        types = vocabulary.types(terms)
        explainer = PairExplainer(model, terms, vocabulary.contexts_of(terms), types, encode, bar)
        report: JudgeReport | None = None
        if len(terms) > max(len(seeds.terms), 1):
            prepared = explainer.prepared_model
            generate = partial(
                prepared.generate, threshold=threshold, seeds=seeds, types=types, progress=bar
            )
            near = partial(_near_pairs, prepared, threshold, seeds=seeds, types=types)
            mined = generate(cannot_link=cannot_link, must_link=must_link)
            if language_model is not None:
                from synsetmine.pipeline.unsure_names import judge_pairs

                judged = judge_pairs(
                    language_model,
                    near(
                        [*cannot_link, *must_link], PAIRS_PER_CALL * language_model.settings.calls
                    ),
                    mined.sets,
                    prepared,
                    threshold=threshold,
                    describe=vocabulary.describe,
                    cannot_link=cannot_link,
                    must_link=must_link,
                    progress=bar,
                )
                report = judged.report
                if judged.together or judged.apart:
                    cannot_link = [*cannot_link, *judged.apart]
                    must_link = [*must_link, *judged.together]
                    mined = generate(cannot_link=cannot_link, must_link=must_link)
            result.add(mined, prepared, seeds)
            unkept = sum(bool(own) and not _has_any(mined.sets, own) for own in together)
            pairs = [
                UnsurePair(one.surface, other.surface, probability)
                for one, other, probability in near([*cannot_link, *must_link], unsure)
            ]
        grouping = result.grouping(threshold, pairs, explainer)
        unused = unused_apart + unused_together
        counts = replace(grouping.counts, unused_pairs=unused, unkept_pairs=unkept)
        return replace(grouping, counts=counts, judged=report)


def _pairs_of(pairs: Pairs | None) -> Iterable[tuple[str, str]]:
    if isinstance(pairs, str | Path):
        return read_pairs(pairs)
    return pairs or ()


def _has_any(sets: SynonymSets, pairs: Iterable[tuple[Term, Term]]) -> bool:
    """Whether the terms of one of the pairs share a set."""
    return any(one in sets and other in sets.set_of(one) for one, other in pairs)


def _with_senses(
    rows: Sequence[NameRow], model: NameModel, encode: Encode | None, threshold: float
) -> Sequence[NameRow]:
    """The rows with the senses that the contexts of a name show, the most frequent one first.

    A row without a context has the most frequent sense. A high threshold asks for certain merges
    of different names; it does not split one name into more senses than the balanced one.
    """
    from synsetmine.models.general import PRECISION

    threshold = min(threshold, PRECISION["balanced"])
    mentions = Counter((name_key(row.name), row.contexts) for row in rows if row.contexts)
    per_name = Counter(name for name, _ in mentions)
    several = sorted(mention for mention in mentions if per_name[mention[0]] > 1)
    if not several:
        return rows
    names = [name for name, _ in several]
    terms = [Term(name, str(position)) for position, name in enumerate(names)]
    texts = {term: contexts for term, (_, contexts) in zip(terms, several, strict=True)}
    senses = model.senses(
        names, [*texts.values()], vectors_in_context(texts, encode), threshold=threshold
    )
    counts: dict[str, Counter[int]] = {}
    for mention, sense in zip(several, senses, strict=True):
        counts.setdefault(mention[0], Counter())[sense] += mentions[mention]
    ranked = {
        name: sorted(own, key=lambda sense: (-own[sense], sense)) for name, own in counts.items()
    }
    sense_of = {
        mention: ranked[mention[0]].index(sense)
        for mention, sense in zip(several, senses, strict=True)
    }
    return [row._replace(sense=sense_of.get((name_key(row.name), row.contexts), 0)) for row in rows]


def vectors_in_context(
    contexts: Mapping[Term, Sequence[str]], encode: Encode | None
) -> TermVectors | None:
    """The mean of a sentence encoder's vectors of a term with each of its contexts."""
    if encode is None or not contexts:
        return None
    texts = {
        term: [Term(f"{term.surface}: {text[:ENCODED_TEXT]}") for text in own[:ENCODED]]
        for term, own in contexts.items()
    }
    table = encode([text for own in texts.values() for text in own])
    rows = [unit_rows(table.select(own)).mean(axis=0) for own in texts.values()]
    return TermVectors(tuple(texts), np.array(rows, np.float32))


def threshold_of(precision: str | float) -> float:
    """The threshold of a level of precision; a number is the threshold itself."""
    from synsetmine.models.general import PRECISION

    if isinstance(precision, str) and precision in PRECISION:
        return PRECISION[precision]
    try:
        threshold = float(precision)
    except (TypeError, ValueError):
        threshold = -1.0
    if not 0 <= threshold <= 1:
        allowed = f"{', '.join(PRECISION)} or a number from 0 to 1"
        raise DataError(f"the precision must be {allowed}", value=precision)
    return threshold


def model_of_names(model: NameModel | StoredModel | None, encoder: str | None) -> NameModel:
    """The model, by default that of the package, which may take a sentence encoder's view."""
    from synsetmine.models.general import load_general

    if model is None:
        return load_general(encoder=encoder is not None)
    named: Any = model.model if isinstance(model, StoredModel) else model
    if not hasattr(named, "senses"):
        raise DataError("expected a model of names; None is the general model", value=model)
    return named  # type: ignore[no-any-return]


def open_encoder(
    encoder: str | None,
    *,
    device: str = "cpu",
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Encode | None:
    """What encodes terms with a sentence encoder; None without one."""
    if encoder is None:
        return None
    name = find_encoder(encoder)
    return partial(encode_terms, model=name, cache=cache, device=device, progress=progress)


def name_views(
    terms: Sequence[Term], contexts: Mapping[Term, Sequence[str]], encode: Encode | None
) -> TermViews:
    """The views of terms, some of which have contexts."""
    return TermViews(
        encoder=None if encode is None else encode(terms),
        contexts=contexts or None,
        in_context=vectors_in_context(contexts, encode),
    )


def _near_pairs(
    prepared: PreparedNameModel,
    threshold: float,
    linked: Sequence[tuple[Term, Term]],
    top: int,
    *,
    seeds: SynonymSets,
    types: Mapping[Term, str],
) -> list[tuple[Term, Term, float]]:
    """Pairs near the threshold, without those that known sets, types or linked pairs decide."""
    decided = {frozenset(pair) for pair in linked}
    looked_at = top
    while top > 0:
        near = prepared.near_pairs(threshold, top=looked_at)
        undecided = [
            (one, other, probability)
            for one, other, probability in near
            if frozenset((one, other)) not in decided
            and not (one in seeds and other in seeds)
            and len({types.get(one), types.get(other)} - {None}) < 2
        ]
        if len(undecided) >= top or len(near) < looked_at:
            return undecided[:top]
        looked_at *= 4
    return []
