"""The general model: f(S, t) for names, usable without training.

A static name encoder and strings, and a sentence encoder's vectors if there are any, give the
features of a pair of names. The pair classifier turns them into log-odds, and the set function
turns the log-odds between a set and a term into a probability. All three were learned from public
name lists (`python -m experiments.general_model`) and come with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.engines.workers import cores, in_threads
from synsetmine.errors import DataError, ModelError
from synsetmine.models.base import Arrays
from synsetmine.models.general.assignment import Assignments, assign
from synsetmine.models.general.candidate_sets import KnownNames
from synsetmine.models.general.contexts import ContextClassifier, ContextPairs, split_senses
from synsetmine.models.general.features import NameFeatures, Positions, WordWeights
from synsetmine.models.general.linkage import (
    SetFunction,
    pair_graph,
)
from synsetmine.models.general.nearest_sets import nearest_sets
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pair_evidence import Meanings, Statements, rule_out_opposites
from synsetmine.models.general.pairs import Adaptation, PairClassifier, PairFeatures
from synsetmine.models.general.prepared_names import PreparedNames
from synsetmine.models.general.settings import AssignmentSettings
from synsetmine.models.known import Candidate, KnownSets
from synsetmine.text.kinds import DifferingWords
from synsetmine.types import (
    Progress,
    SynonymSets,
    Term,
    TermLike,
    terms_of,
)
from synsetmine.views import TermVectors, TermViews, View, unit_rows
from synsetmine.views.strings import StaticEncoder

PAIRS_AT_ONCE = 1 << 14
Judge: TypeAlias = Callable[[Positions, Positions, Floats], Floats]  # corrects log-odds of pairs


@dataclass(frozen=True, eq=False, repr=False)
class GeneralModel:
    """The parts that were learned. With `uses_encoder` it takes a sentence encoder's view.

    An adaptation corrects it by sets and views of the user; without one it is the model of the
    package, and takes no tables of vectors.
    """

    encoder: StaticEncoder
    word_weights: WordWeights
    classifier: PairClassifier
    function: SetFunction
    uses_encoder: bool = False
    adaptation: Adaptation | None = None
    contexts: ContextClassifier | None = None  # without it contexts are not looked at

    def __repr__(self) -> str:
        adapted = "" if self.adaptation is None else "adapted, "
        return f"GeneralModel({adapted}views: {', '.join(self.views)})"

    @property
    def kind(self) -> str:
        return "general"

    @property
    def uses_torch(self) -> bool:
        return False

    @property
    def views(self) -> tuple[View, ...]:
        available: dict[View, bool] = {
            "vectors": self.adaptation is not None and bool(self.adaptation.tables),
            "strings": self._strings,
            "encoder": self.uses_encoder,
        }
        return tuple(view for view, is_used in available.items() if is_used)

    @property
    def _strings(self) -> bool:
        return self.adaptation is None or self.adaptation.strings

    def check(self, views: TermViews) -> None:
        for view in self.views:
            if not views.has(view):
                raise DataError(
                    "the model was trained with this view, which is missing", value=view
                )
        if self.adaptation is None or not self.adaptation.tables:
            return  # tables of vectors are not looked at
        dimensions = self.adaptation.tables
        if len(views.vectors) != len(dimensions):
            problem = f"the model was trained with {len(dimensions)} tables of vectors; got"
            raise DataError(problem, value=len(views.vectors))
        for table, dimension in zip(views.vectors, dimensions, strict=True):
            if table.dimension != dimension:
                problem = f"the model was trained on vectors of {dimension} dimensions, these have"
                raise DataError(problem, path=table.source, value=table.dimension)

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        """All terms where it looks at their strings, else those with a vector."""
        if self._strings:
            return list(terms)
        return [term for term in terms if any(term in table for table in views.vectors)]

    def assign(
        self,
        terms: Sequence[Term],
        sets: SynonymSets,
        views: TermViews,
        *,
        held_out: Container[str] = (),
        progress: Progress | None = None,
    ) -> KnownSets:
        """The known sets that terms may belong to, also without those held out; see `assignment`.

        Without a rehearsal, or where strings are not looked at, f(S, t) decides: `nearest_sets`.
        """
        left_out = {label for label, set_id in enumerate(sets.ids) if set_id in held_out}
        others = sets
        if left_out:
            others = sets.pick(label for label in range(len(sets)) if label not in left_out)
        if not self._strings:
            return self._nearest_sets(terms, sets, others, views)
        known = [term for members in sets for term in members]
        new = sorted(terms)

        def encode(names: Sequence[str]) -> list[Floats]:
            if not self.uses_encoder:
                return []
            return [_rows(views.table("encoder"), [*map(Term, names)])]

        assignments = assign(
            KnownNames.of([[_name(term) for term in members] for members in sets]),
            [_name(term) for term in new],
            encode,
            encoder=self.encoder,
            contexts=[_rows(table, [*known, *new]) for table in views.vectors],
            evidence=views.evidence,
            held_out=left_out,
            threads=cores(),
            progress=progress,
        )
        if assignments is None:
            return self._nearest_sets(terms, sets, others, views)
        everyone = [*known, *new]

        def candidates_of(some: Assignments) -> dict[Term, list[Candidate]]:
            return {
                everyone[name]: [
                    Candidate(sets.ids[label], probability, known[nearest].surface)
                    for label, probability, nearest in some.of(number)
                ]
                for number, name in enumerate(some.names.tolist())
            }

        without = None
        if assignments.without_held_out is not None:
            without = KnownSets(others, candidates_of(assignments.without_held_out))
        return KnownSets(sets, candidates_of(assignments), assignments.rehearsal, without)

    def _nearest_sets(
        self, terms: Sequence[Term], sets: SynonymSets, others: SynonymSets, views: TermViews
    ) -> KnownSets:
        """The known sets near terms; and among `others`, without those that are held out."""
        known = KnownSets(sets, self._near_candidates(terms, sets, views))
        if len(others) == len(sets):
            return known
        new = [*terms, *(term for term in sets.terms if term not in others)]
        without = KnownSets(others, self._near_candidates(new, others, views))
        return replace(known, without_held_out=without)

    def _near_candidates(
        self, terms: Sequence[Term], sets: SynonymSets, views: TermViews
    ) -> dict[Term, list[Candidate]]:
        self.check(views)
        labelled = [(label, term) for label, members in enumerate(sets) for term in members]
        judged = {*self.known([term for _, term in labelled], views)}
        labelled = [(label, term) for label, term in labelled if term in judged]
        labels = np.array([label for label, _ in labelled], np.int64)
        everyone = [*(term for _, term in labelled), *sorted(self.known(terms, views))]
        names = [_name(term) for term in everyone]
        same_meaning = AssignmentSettings().same_meaning
        pairs, judge, statements = self._judged_pairs(everyone, views, KnownSets(sets, {}))
        near = nearest_sets(
            names,
            labels,
            pairs.candidates(),
            partial(self._compare, pairs, judge, progress=None),
            self.function,
            Meanings(names[: len(labels)], labels, views.evidence, same_meaning),
            statements,
        )
        candidates: dict[Term, list[Candidate]] = {}
        for new, label, probability, nearest in near:
            candidate = Candidate(sets.ids[label], probability, everyone[nearest].surface)
            candidates.setdefault(everyone[new], []).append(candidate)
        return candidates

    def _judged_pairs(
        self, terms: Sequence[Term], views: TermViews, known: KnownSets | None
    ) -> tuple[PairFeatures, Judge, Statements | None]:
        """The pairs of terms, and what corrects their log-odds: names alone, or the corpus too."""
        tables = views.vectors if "vectors" in self.views else ()
        pairs = self.pairs(terms, views, tables=tables, strings=self._strings)
        if self.adaptation is not None and self.adaptation.width != pairs.width:
            problem = f"the adaptation takes {self.adaptation.width} features of a pair"
            raise ModelError(f"{problem}; the views have {pairs.width}")
        names = [_name(term) for term in terms]
        if views.evidence is None:
            return pairs, partial(rule_out_opposites, names), None
        words = DifferingWords.learn([]) if known is None else known.words
        statements = Statements(names, views.evidence, words)
        return pairs, statements.judge, statements

    def prepare(
        self,
        vocabulary: Iterable[TermLike],
        views: TermVectors | TermViews,
        *,
        known: KnownSets | None = None,
        device: str | None = None,  # noqa: ARG002
        progress: Progress | None = None,
    ) -> PreparedNames:
        """The vocabulary counts as a set: its order makes no difference."""
        views = TermViews.of(views)
        self.check(views)
        new = dict.fromkeys(t for t in terms_of(vocabulary) if known is None or t not in known.sets)
        terms = tuple(sorted(self.known(tuple(new), views)))
        if self.contexts is not None and views.contexts and self.adaptation is None:
            return self._prepare_in_context(terms, views, self.contexts, progress)
        pairs, judge, statements = self._judged_pairs(terms, views, known)
        compare = partial(self._compare, pairs, judge)
        graph = pair_graph(pairs.count, *pairs.candidates(), compare, progress)
        ruled_out = statements.ruled_out if statements is not None else ()
        two_things = [(terms[one], terms[other]) for one, other in ruled_out]
        return PreparedNames(tuple(new), terms, graph, self.function, known, two_things)

    def _prepare_in_context(
        self,
        terms: tuple[Term, ...],
        views: TermViews,
        classifier: ContextClassifier,
        progress: Progress | None,
    ) -> PreparedNames:
        nodes = self._in_context(terms, views.contexts or {}, views.in_context)
        term_of = {form: Term(form) for form in nodes.forms}
        term_of |= {name: term for term in terms if (name := _name(term)) in term_of}
        forms = self.pairs([term_of[form] for form in nodes.forms], views, tables=())
        judge = partial(rule_out_opposites, nodes.forms)
        compare = partial(self._compare, forms, judge, progress=None)

        def log_odds(left: Positions, right: Positions, progress: Progress | None) -> Floats:
            return nodes.log_odds(left, right, compare, classifier, progress)

        candidates = nodes.candidates(*forms.candidates())
        graph = pair_graph(nodes.count, *candidates, log_odds, progress)
        return PreparedNames(terms, terms, graph, self.function)

    def senses(
        self,
        names: Sequence[str],
        contexts: Sequence[Sequence[str]],
        vectors: TermVectors | None = None,
        *,
        threshold: float = 0.5,
    ) -> list[int]:
        """Which sense of its name each mention has, from 0 on, by the contexts of each.

        `vectors` has the rows of a sentence encoder for `Term(name, str(position))`.
        """
        if self.contexts is None or len(set(names)) == len(names):
            return [0] * len(names)
        mentions = [Term(name, str(position)) for position, name in enumerate(names)]
        nodes = self._in_context(mentions, dict(zip(mentions, contexts, strict=True)), vectors)
        views = TermViews()
        if vectors is not None:  # names alone have no vectors here
            views = TermViews(encoder=TermVectors((), vectors.matrix[:0]))
        forms = self.pairs([Term(form) for form in nodes.forms], views, tables=())
        compare = partial(self._compare, forms, None, progress=None)
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        nodes_of_names = [numbers[name] for name in names]
        return split_senses(nodes_of_names, nodes, compare, self.contexts, self.function, threshold)

    def _in_context(
        self,
        terms: Sequence[Term],
        contexts: Mapping[Term, Sequence[str]],
        vectors: TermVectors | None,
    ) -> ContextPairs:
        return ContextPairs(
            [_name(term) for term in terms],
            [contexts.get(term, ()) for term in terms],
            self.encoder,
            _rows(vectors, terms) if self.uses_encoder and vectors is not None else None,
            threads=cores(),
        )

    def pairs(
        self,
        terms: Sequence[Term],
        views: TermViews,
        *,
        tables: Sequence[TermVectors],
        strings: bool = True,
    ) -> PairFeatures:
        """The pairs of terms in the views of the general model and in tables of vectors."""
        names = None
        if strings:
            names = NameFeatures(
                [_name(term) for term in terms],
                self.encoder,
                self.word_weights,
                [_rows(views.table("encoder"), terms)] if self.uses_encoder else [],
                threads=cores(),
            )
        return PairFeatures(
            len(terms),
            names,
            self.classifier,
            [_rows(table, terms) for table in tables],
        )

    def _compare(
        self,
        pairs: PairFeatures,
        judge: Judge | None,
        left: Positions,
        right: Positions,
        progress: Progress | None,
    ) -> npt.NDArray[np.float32]:
        """The log-odds of pairs: (pairs,)"""
        from threadpoolctl import threadpool_limits

        values = np.empty(len(left), np.float32)

        def fill(start: int) -> int:
            part = slice(start, start + PAIRS_AT_ONCE)
            values[part] = pairs.log_odds(left[part], right[part], self.adaptation)
            return min(part.stop, len(left))

        with threadpool_limits(1, "blas"):  # the threads here do more than products
            for done in in_threads(fill, range(0, len(left), PAIRS_AT_ONCE), cores()):
                if progress is not None:
                    progress(done, len(left))
        return values if judge is None else judge(left, right, values)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        description: dict[str, Any] = {
            "set_function": asdict(self.function),
            "uses_encoder": self.uses_encoder,
            "adaptation": None,
        }
        pieces = "\n".join(self.encoder.pieces).encode()
        arrays: Arrays = {
            "pieces": np.frombuffer(pieces, np.uint8),
            "table": self.encoder.table,
            "scales": self.encoder.scales,
            "word_weights": self.word_weights.values,
            **self.classifier.arrays(),
        }
        if self.adaptation is not None:
            description["adaptation"], weights = self.adaptation.state()
            arrays |= weights
        return description, arrays

    @classmethod
    def from_state(cls, description: Mapping[str, Any], arrays: Arrays) -> GeneralModel:
        pieces = arrays["pieces"].tobytes().decode().split("\n")
        encoder = StaticEncoder(tuple(pieces), arrays["table"], arrays["scales"].astype(np.float32))
        if not isinstance(description["uses_encoder"], bool):
            raise ModelError("`uses_encoder` must be true or false")
        adaptation = description["adaptation"]
        return cls(
            encoder,
            WordWeights(arrays["word_weights"].astype(np.float32)),
            PairClassifier.from_arrays(arrays),
            SetFunction(**{name: float(v) for name, v in description["set_function"].items()}),
            description["uses_encoder"],
            None if adaptation is None else Adaptation.from_state(adaptation, arrays),
        )


def _name(term: Term) -> str:
    return term.surface.replace("_", " ")


def _rows(table: TermVectors, terms: Sequence[Term]) -> npt.NDArray[np.float32]:
    """The unit vectors of the terms; zeros where there is none."""
    known = np.array([term in table for term in terms], np.bool_)
    rows = np.zeros((len(terms), table.dimension), np.float32)
    rows[known] = unit_rows(
        table.select([term for term, is_known in zip(terms, known, strict=True) if is_known])
    )
    return rows
