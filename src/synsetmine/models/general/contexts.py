"""Names with the texts in which they stand: how far two contexts speak for one meaning.

A context is a sentence, a description, or several of them. To the log-odds that two names are one
thing the contexts add a linear correction:

    log-odds = log-odds of the names + w · features of the contexts + b

Similarities of contexts are standardised by those of random pairs of the list, so that sentences
and long descriptions are alike. Two mentions of one name have a constant in place of the log-odds
of names, and weights of their own. A name that its context defines as short for something else,
"choroideremia (TCD)", is compared by its long form too. A name without a context is judged by the
name alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from synsetmine.models.general.features import (
    NeighbourTable,
    Positions,
    holds_places,
    near_pairs,
    pair_keys,
    unique_pairs,
)
from synsetmine.models.general.linkage import Linkage, SetFunction, sigmoid
from synsetmine.models.general.neighbours import Floats, nearest_sparse_rows
from synsetmine.normalization import name_key, normal_form, tokens
from synsetmine.text.evidence import Evidence, EvidenceTable, connections_in
from synsetmine.text.matcher import Matches, NameMatcher
from synsetmine.text.patterns import SUPPORTING, find_definitions
from synsetmine.text.tokens import FUNCTION_WORDS
from synsetmine.text.word_forms import number_two_things, numbers_a_thing, spelled_words, stem
from synsetmine.types import Progress
from synsetmine.views.strings import StaticEncoder, add_words, string_counts
from synsetmine.views.vectors import unit_rows

NEAR = 10  # nearest contexts, in each table, whose names are candidates
LEVEL = 20  # nearest contexts whose mean similarity is the level of a place
LARGEST = 8.0  # log-odds of names, either way, that are distinguished
CONTEXT_TEXT = 2000  # characters of a context that are compared
MENTIONS = 50  # of a name that are compared with all of its mentions
PAIRS_AT_ONCE = 1 << 18
SEQUENCE = 4  # words; two texts that share more of them than chance allows repeat each other
TABLE_COLUMNS = (0, 3, 4)  # of `TABLE_FEATURES`: `TABLE_SIMILARITIES`, by the five nearest
BACKGROUND = 20_000  # random pairs by whose similarities others are standardised
DEVIATIONS = (-3.0, 8.0)  # of a similarity, at least and at most
TYPICAL = 3.0  # log of 20 words, about those of two sentences

WORD_SIMILARITIES = (
    "cosine of the words",
    "root of the cosine of the words",
    "cosine of the words above the denser neighbourhood",
)
TABLE_SIMILARITIES = ("cosine", "above the denser neighbourhood", "above the sparser neighbourhood")
ALIKE = 5  # of these, the first ones, tell how alike two contexts are
FURTHER_FEATURES = (
    "root of the cosine times the log of the words of the shorter context",
    "log of the words of the shorter context",
    "share of the shorter context's word sequences that the other has",
    "similarity of the words times this share",
    "similarity of the vectors times this share",
    "one context has the other name",
    "a context says that both are one",
    "a context lists both",
    "both are short for something",
    "one is short for something",
)

# The log-odds of pairs of forms: (pairs,)
Compare = Callable[[Positions, Positions], Floats]


@dataclass(frozen=True, eq=False)
class ContextClassifier:
    """What contexts add to the log-odds of names, without or with a sentence encoder's vectors."""

    different: Floats  # weights of the features of two different names; the bias first
    same: Floats  # the same of two mentions of one name, whose log-odds of names are 0

    def log_odds(self, features: Floats, names: Floats, same: npt.NDArray[np.bool_]) -> Floats:
        """From the features of contexts, and the log-odds of the names: (pairs,)"""
        different = names + features @ self.different[1:] + self.different[0]
        one_name = features @ self.same[1:] + self.same[0]
        values: Floats = np.where(same, one_name, different).astype(np.float32)
        return values

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        return {"different": self.different, "same": self.same}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray[Any, Any]]) -> ContextClassifier:
        return cls(arrays["different"], arrays["same"])


class PairsInContext(NamedTuple):
    """The features of pairs: of contexts, of names, and whether both names are equal."""

    features: Floats  # (pairs, width)
    names: Floats  # log-odds of two different names, or of what they are short for: (pairs,)
    same: npt.NDArray[np.bool_]  # (pairs,)


class _Texts(NamedTuple):
    """The contexts of each name."""

    words: list[list[str]]  # without function words and words of the name
    long: list[str]  # what the contexts say that the name is short for; empty if nothing
    short: list[str]  # what the contexts say is short for the name


class ContextPairs:
    """Pairs of nodes: names with contexts, some of which may have the same name."""

    def __init__(
        self,
        names: Sequence[str],
        contexts: Sequence[Sequence[str]],  # of each node; may be empty
        encoder: StaticEncoder,
        rows: Floats | None = None,  # a sentence encoder's vectors of names in context
        *,
        threads: int = 1,
    ) -> None:
        self.count = len(names)
        self.known = np.array([bool(texts) for texts in contexts], np.bool_)
        self._contexts = [[text[:CONTEXT_TEXT] for text in texts] for texts in contexts]
        self._texts = _read(names, self._contexts)
        self._threads = threads
        number_of: dict[str, int] = {}
        self.forms: list[str] = []  # distinct names, and what they are short for or the reverse
        self._form_of = np.full((self.count, 3), -1, np.int64)
        columns = (names, self._texts.long, self._texts.short)
        for column, texts in enumerate(columns):
            for node, text in enumerate(texts):
                if text:
                    number = number_of.setdefault(name_key(text), len(self.forms))
                    if number == len(self.forms):
                        self.forms.append(text)
                    self._form_of[node, column] = number
        self._lengths = np.log1p([len(words) for words in self._texts.words]).astype(np.float32)
        self._tables = [NeighbourTable(self._static(encoder), threads=threads)]
        if rows is not None:
            self._tables.append(NeighbourTable(unit_rows(rows), threads=threads))

    def _static(self, encoder: StaticEncoder) -> Floats:
        """The sum of the words' vectors, less the mean of all contexts, as unit rows."""
        counts, words = string_counts(self._texts.words)
        rows, _ = add_words(counts, encoder.encode_words(words))
        filled = np.flatnonzero((rows != 0).any(axis=1))
        rows[filled] -= rows[filled].sum(axis=0) / max(len(filled), 1)
        return unit_rows(rows)

    def candidates(self, left: Positions, right: Positions) -> tuple[Positions, Positions]:
        """The pairs of nodes that have these pairs of forms, the same form, or near contexts."""
        from scipy import sparse

        forms, nodes = _places(self._form_of)
        shape = (len(self.forms), self.count)
        nodes_of = sparse.csr_array((np.ones(len(nodes), np.int8), (forms, nodes)), shape=shape)
        ones = np.ones(len(left) + len(self.forms), np.int8)
        every = np.arange(len(self.forms))
        ends = np.concatenate([left, every]), np.concatenate([right, every])
        near = sparse.csr_array((ones, ends), shape=(len(self.forms), len(self.forms)))
        joined = sparse.coo_array(nodes_of.T.astype(np.int32) @ near.astype(np.int32) @ nodes_of)
        parts = [near_pairs(table.nearest[:, :NEAR]) for table in self._tables]
        return unique_pairs([(joined.row, joined.col), *parts], self.count)

    def log_odds(
        self,
        left: Positions,
        right: Positions,
        compare: Compare,
        classifier: ContextClassifier,
        progress: Progress | None = None,
    ) -> Floats:
        """The log-odds of the pairs left[i], right[i]: (pairs,)"""
        parts = [np.zeros(0, np.float32)]
        for start in range(0, len(left), PAIRS_AT_ONCE):
            ends = left[start : start + PAIRS_AT_ONCE], right[start : start + PAIRS_AT_ONCE]
            best, more, same = self._names(*ends, compare)
            values = np.where(same, LARGEST, best).astype(np.float32)
            both = np.flatnonzero(self.known[ends[0]] & self.known[ends[1]])
            features = self._features(ends[0][both], ends[1][both], more[both])
            odds = classifier.log_odds(features, best[both], same[both])
            conflict = self._conflict(ends[0][both], ends[1][both])
            odds[conflict] = np.minimum(odds[conflict], best[both][conflict])
            values[both] = odds
            parts.append(values)
            if progress is not None:
                progress(min(start + PAIRS_AT_ONCE, len(left)), len(left))
        return np.concatenate(parts)

    def _conflict(self, left: Positions, right: Positions) -> Positions:
        """The pairs whose names number two things: texts about iPhone 12 and 13 are alike."""
        one, other = self._form_of[left, 0], self._form_of[right, 0]
        words = self._numbered
        numbered = np.flatnonzero((one != other) & np.isin([one, other], [*words]).all(axis=0))
        ends = zip(one[numbered].tolist(), other[numbered].tolist(), strict=True)
        keep = [number_two_things(words[a], words[b]) for a, b in ends]
        return numbered[np.array(keep, np.bool_)]

    @cached_property
    def _numbered(self) -> dict[int, Sequence[str]]:
        """The words of forms that may number a thing."""
        words = enumerate(map(spelled_words, self.forms))
        return {form: own for form, own in words if numbers_a_thing(own)}

    def pairs(self, left: Positions, right: Positions, compare: Compare) -> PairsInContext:
        """What a classifier learns from."""
        best, more, same = self._names(left, right, compare)
        return PairsInContext(self._features(left, right, more), best, same)

    @property
    def similarities(self) -> int:
        """How many features come first that tell how alike two contexts are."""
        return len(WORD_SIMILARITIES) + len(TABLE_SIMILARITIES) * len(self._tables) + ALIKE

    def random_features(self, count: int) -> Floats:
        """Features of random pairs of different names: (pairs, width)"""
        left, right = self._random_pairs[0][:count], self._random_pairs[1][:count]
        return self._features(left, right, np.zeros((len(left), 2), np.float32))

    def _features(self, left: Positions, right: Positions, more: Floats) -> Floats:
        """The features of the contexts; `more` is what they say of short names: (pairs, 2)"""
        means, deviations = self._background
        similarities = (self._similarities(left, right) - means) / deviations
        np.clip(similarities, *DEVIATIONS, out=similarities)
        words = np.minimum(self._lengths[left], self._lengths[right]) - TYPICAL
        forms = self._form_of[left, 0], self._form_of[right, 0]
        mentioned = holds_places(self._mentions, left, forms[1])
        mentioned |= holds_places(self._mentions, right, forms[0])
        supporting, opposing = (holds_places(matrix, *forms) for matrix in self._statements)
        share = self._shared_sequences(left, right)
        further = (
            similarities[:, 1] * words,
            words,
            share,
            similarities[:, 2] * share,
            similarities[:, len(WORD_SIMILARITIES) + 1] * share,
            mentioned & (forms[0] != forms[1]),
            supporting,
            opposing,
        )
        return np.concatenate([similarities, np.stack(further, axis=1), more], axis=1).astype(
            np.float32
        )

    def _similarities(self, left: Positions, right: Positions) -> Floats:
        """`WORD_SIMILARITIES`, and `TABLE_SIMILARITIES` of each table."""
        cosine = np.asarray(self._words[left].multiply(self._words[right]).sum(axis=1)).ravel()
        denser = cosine - np.maximum(self._levels[left], self._levels[right])
        words = np.stack([cosine, np.sqrt(np.maximum(cosine, 0)), denser], axis=1)
        tables = [table.features(left, right)[:, TABLE_COLUMNS] for table in self._tables]
        return np.concatenate([words, *tables], axis=1).astype(np.float32)

    @cached_property
    def _background(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the similarities of random pairs with contexts."""
        left, right = self._random_pairs
        if not len(left):
            return np.zeros(1, np.float32), np.ones(1, np.float32)
        values = self._similarities(left, right)
        return values.mean(axis=0), values.std(axis=0) + 1e-3

    @cached_property
    def _random_pairs(self) -> tuple[Positions, Positions]:
        """Nodes with contexts that have different names, or all have one name."""
        nodes = np.flatnonzero(self.known)
        if len(nodes) < 2:
            return nodes[:0], nodes[:0]
        left, right = nodes[np.random.default_rng(0).integers(len(nodes), size=(2, BACKGROUND))]
        other = self._form_of[left, 0] != self._form_of[right, 0]
        if not other.any():
            other = left != right
        return left[other], right[other]

    def _names(
        self, left: Positions, right: Positions, compare: Compare
    ) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        """Log-odds by the names or what they are short for, which are short, and equal names.

        The last of `FURTHER_FEATURES` are the second: (pairs, 2).
        """
        one, other = self._form_of[left], self._form_of[right]  # (pairs, 3)
        same = one[:, 0] == other[:, 0]
        odds = self._compare(one[:, 0], other[:, 0], compare)
        odds[same] = 0
        best = odds.copy()
        has_more = np.flatnonzero((one[:, 1:] >= 0).any(axis=1) | (other[:, 1:] >= 0).any(axis=1))
        for a in range(3):
            for b in range(3):
                if a or b:
                    ends = one[has_more, a], other[has_more, b]
                    best[has_more] = np.maximum(best[has_more], self._compare(*ends, compare))
        is_short, other_short = one[:, 1] >= 0, other[:, 1] >= 0
        both = is_short & other_short
        best[both] = self._compare(one[both, 1], other[both, 1], compare)
        best[same & ~both] = 0
        more = np.stack([both, is_short ^ other_short], axis=1).astype(np.float32)
        return best, more, same

    def _compare(self, left: Positions, right: Positions, compare: Compare) -> Floats:
        """The log-odds of pairs of forms; `LARGEST` for one form, -`LARGEST` where one is none."""
        values = np.where(left == right, LARGEST, -LARGEST).astype(np.float32)
        values[np.minimum(left, right) < 0] = -LARGEST
        some = np.flatnonzero((left != right) & (np.minimum(left, right) >= 0))
        keys, inverse = np.unique(
            pair_keys(left[some], right[some], len(self.forms)), return_inverse=True
        )
        ends = np.divmod(keys, max(len(self.forms), 1))
        if len(some):
            values[some] = np.clip(compare(*ends), -LARGEST, LARGEST)[inverse]
        return values

    def _shared_sequences(self, left: Positions, right: Positions) -> Floats:
        """How much of the shorter context the other repeats: names that stand in one text."""
        shared = np.asarray(self._sequences[left].multiply(self._sequences[right]).sum(axis=1))
        sizes = np.diff(self._sequences.indptr)
        fewer = np.maximum(np.minimum(sizes[left], sizes[right]), 1)
        share: Floats = (shared.ravel() / fewer).astype(np.float32)
        return share

    @cached_property
    def _sequences(self) -> Any:
        """Which sequences of words each node's contexts have: scipy.sparse.csr_array"""
        counts, _ = string_counts(
            [
                " ".join(words[start : start + SEQUENCE])
                for words in map(tokens, texts)
                for start in range(len(words) - SEQUENCE + 1)
            ]
            for texts in self._contexts
        )
        counts.data = np.ones_like(counts.data)
        return counts

    @cached_property
    def _words(self) -> Any:
        """tf-idf of the stems of each context, as unit rows: scipy.sparse.csr_array"""
        stems: dict[str, str] = {}
        for words in self._texts.words:
            for word in words:
                if word not in stems:
                    stems[word] = stem(word)
        counts, _ = string_counts([stems[word] for word in words] for words in self._texts.words)
        shared = np.bincount(counts.indices, minlength=counts.shape[1])
        weights = np.log((self.count + 1) / (shared + 1))
        counts.data = ((1 + np.log(counts.data)) * weights[counts.indices]).astype(np.float32)
        lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        counts.data /= np.repeat(np.maximum(lengths, 1e-9), np.diff(counts.indptr))
        return counts

    @cached_property
    def _levels(self) -> Floats:
        """The mean cosine of the words with those of the nearest contexts: (nodes,)"""
        _, cosines = nearest_sparse_rows(self._words, LEVEL, threads=self._threads)
        levels: Floats = cosines.mean(axis=1)
        return levels

    @cached_property
    def _mentions(self) -> Any:
        """Which forms the contexts of each node mention, as names of their own."""
        from scipy import sparse

        distinct, matches, _, node = self._matches
        shape = (self.count, len(distinct) + 1)
        cells = node[matches.text], matches.form
        mentions = sparse.csr_array((np.ones(len(matches), np.bool_), cells), shape=shape)
        return sparse.csr_array(mentions[:, self._columns])

    @cached_property
    def _statements(self) -> tuple[Any, Any]:
        """Which pairs of forms some context says to be one, and which it lists: (forms, forms)"""
        from scipy import sparse

        distinct, matches, texts, _ = self._matches
        table = EvidenceTable()
        table.add(connections_in([""] * len(texts), texts, matches, distinct))
        number = {form: column for column, form in enumerate(distinct)}
        ends: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for first, second, relation, _ in Evidence(table.table()).pairs():
            pair = number[first], number[second]
            ends[relation not in SUPPORTING].extend((pair, pair[::-1]))
        matrices = []
        for pairs in ends:
            rows, columns = np.array(pairs or np.empty((0, 2)), np.int64).T
            shape = (len(distinct) + 1, len(distinct) + 1)
            matrix = sparse.csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=shape)
            matrices.append(sparse.csr_array(matrix[self._columns][:, self._columns]))
        return matrices[0], matrices[1]

    @cached_property
    def _matches(self) -> tuple[list[str], Matches, list[str], Positions]:
        """The normal forms, where all contexts have them, and the contexts with their nodes."""
        distinct = [form for form in dict.fromkeys(map(normal_form, self.forms)) if form]
        texts = [text for texts in self._contexts for text in texts]
        node = np.repeat(np.arange(self.count), [len(texts) for texts in self._contexts])
        return distinct, NameMatcher.build(distinct).find(texts), texts, node

    @cached_property
    def _columns(self) -> list[int]:
        """The position of each form among the normal forms; the last of one without letters."""
        distinct = self._matches[0]
        position = {form: column for column, form in enumerate(distinct)}
        return [position.get(normal_form(form), len(distinct)) for form in self.forms]


def split_senses(
    names: Sequence[int],
    pairs: ContextPairs,
    compare: Compare,
    classifier: ContextClassifier,
    function: SetFunction,
    threshold: float,
) -> list[int]:
    """The sense of each mention, from 0 for each name on; `names` are the numbers of their names.

    The mentions of a name are merged by average linkage. Of more than `MENTIONS` the first are
    compared with all others, and the others with them alone.
    """
    from scipy import sparse

    left, right = _pairs_of_names(np.asarray(names))
    chances = sigmoid(pairs.log_odds(left, right, compare, classifier))
    cells = np.concatenate([left, right]), np.concatenate([right, left])
    graph = sparse.csr_array(
        (np.concatenate([chances, chances]), cells), shape=(len(names), len(names))
    )
    linkage = Linkage(graph, function)
    linkage.merge(float(np.log(threshold / (1 - threshold))) if 0 < threshold < 1 else 0.0)
    senses: list[int] = []
    number_of: dict[int, dict[int, int]] = {}
    for name, label in zip(names, linkage.set_of.tolist(), strict=True):
        own = number_of.setdefault(name, {})
        senses.append(own.setdefault(label, len(own)))
    return senses


def _pairs_of_names(names: Positions) -> tuple[Positions, Positions]:
    order = np.argsort(names, kind="stable")
    starts = np.flatnonzero(np.diff(names[order], prepend=-1))
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for members in np.split(order, starts[1:]):
        if len(members) > 1:
            one, other = np.triu_indices(len(members), 1)
            kept = one < MENTIONS
            left.append(members[one[kept]])
            right.append(members[other[kept]])
    return np.concatenate(left), np.concatenate(right)


def _read(names: Sequence[str], contexts: Sequence[Sequence[str]]) -> _Texts:
    read = _Texts([], [], [])
    for name, texts in zip(names, contexts, strict=True):
        own = frozenset(tokens(name))
        read.words.append(
            [
                word
                for text in texts
                for word in tokens(text)
                if len(word) > 1 and word not in own and word not in FUNCTION_WORDS
            ]
        )
        long, short = _find_definition(name_key(name), texts)
        read.long.append(long)
        read.short.append(short)
    return read


def _find_definition(name: str, contexts: Sequence[str]) -> tuple[str, str]:
    """What the contexts say that the name is short for, and what is short for it."""
    long = short = ""
    for text in contexts:
        if "(" not in text and "[" not in text:
            continue
        for definition in find_definitions(text):
            forms = text[slice(*definition.short)], text[slice(*definition.long)]
            keys = [name_key(form) for form in forms]
            if keys[0] == name:
                long = long or forms[1]
            elif keys[1] == name:
                short = short or forms[0]
    return long, short


def _places(form_of: Positions) -> tuple[Positions, Positions]:
    """The forms and the nodes that have them."""
    nodes, columns = np.nonzero(form_of >= 0)
    return form_of[nodes, columns], nodes.astype(np.int64)
