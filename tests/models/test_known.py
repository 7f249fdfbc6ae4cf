"""Known sets with candidates: probabilities, the file, joins, and the result with groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.io.sets import Decision
from synsetmine.models import generate_sets
from synsetmine.models.known import (
    LEAST,
    Candidate,
    KnownSets,
    read_candidates,
    write_candidates,
)
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.task import MiningResult, joins, with_known
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors
from tests.support.strategies import known_sets

HEART, LUNG = ("heart failure", "cardiac failure"), ("lung cancer",)
SETS = SynonymSets.of([map(Term, HEART), map(Term, LUNG)], ["H", "L"])
A, B, C, D = map(Term, "ABCD")


def known(**candidates: list[tuple[str, float]]) -> KnownSets:
    return KnownSets(
        SETS,
        {
            Term(name): [Candidate(set_id, chance, f"nearest of {set_id}") for set_id, chance in of]
            for name, of in candidates.items()
        },
    )


@given(known_sets())
def test_probabilities_are_those_of_the_candidates(sets: KnownSets) -> None:
    for term, candidates in sets.candidates.items():
        by_id = {candidate.set_id: candidate.probability for candidate in candidates}
        for set_id, members in zip(sets.sets.ids, sets.sets, strict=True):
            assert sets.ids_of(members) == [set_id]
            assert sets.probability(term, [set_id]) == by_id.get(set_id, 0)
    for set_id, members in zip(sets.sets.ids, sets.sets, strict=True):
        others = [other for other in sets.sets.ids if other != set_id]
        for term in members:
            assert sets.probability(term, [set_id]) == 1
            assert not others or sets.probability(term, others) == 0


def test_of_several_sets_the_mean_counts() -> None:
    assert known(A=[("H", 0.8), ("L", 0.1)]).probability(A, ["H", "L"]) == pytest.approx(0.45)
    assert known().ids_of([Term("cardiac failure"), A, Term("lung cancer")]) == ["H", "L"]


@given(known_sets())
@settings(max_examples=30, deadline=None)
def test_candidates_survive_their_file(sets: KnownSets) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "candidates.parquet"
        write_candidates(path, sets)
        kept = read_candidates(path)
    expected = {
        term: [candidate for candidate in candidates if candidate.probability >= LEAST]
        for term, candidates in sets.candidates.items()
    }
    assert kept == {term: candidates for term, candidates in expected.items() if candidates}


def test_without_known_sets_the_file_is_empty(tmp_path: Path) -> None:
    write_candidates(tmp_path / "candidates.parquet", None)
    assert read_candidates(tmp_path / "candidates.parquet") == {}


def test_bad_files_of_candidates(tmp_path: Path) -> None:
    path = tmp_path / "candidates.parquet"
    with pytest.raises(DataError, match="No such file"):
        read_candidates(path)
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(DataError, match=r"candidates\.parquet: damaged Parquet file"):
        read_candidates(path)
    pq.write_table(pa.table({"term": ["a"], "set": ["b"]}), path)
    with pytest.raises(DataError, match=r"not a table of candidates; its columns.*term, set"):
        read_candidates(path)
    row: dict[str, Any] = {"term": "a", "set": "b", "probability": 0.5, "nearest": "c"}
    for change, problem in (
        ({"probability": "high"}, "not a table of candidates"),
        ({"set": None}, "not a table of candidates"),
        ({"probability": math.nan}, "between 0 and 1.*nan"),
        ({"probability": 1.5}, r"between 0 and 1.*1\.5"),
        ({"term": ""}, "parquet: a term"),
    ):
        pq.write_table(pa.Table.from_pylist([row | change]), path)
        with pytest.raises(DataError, match=problem):
            read_candidates(path)


def naive_joins(
    sets: KnownSets, terms: list[Term], cannot_link: set[frozenset[Term]], threshold: float
) -> dict[Term, str]:
    """Again and again the surest term that is left takes its best allowed set."""
    members = {i: set(names) for i, names in zip(sets.sets.ids, sets.sets, strict=True)}
    joined: dict[Term, str] = {}
    left = {term for term in terms if sets.candidates.get(term)}
    while left:
        term = min(left, key=lambda term: (-sets.candidates[term][0].probability, term))
        left.remove(term)
        for set_id, probability, _ in sets.candidates[term]:
            apart = any(frozenset((term, other)) in cannot_link for other in members[set_id])
            if probability >= threshold and not apart:
                joined[term] = set_id
                members[set_id].add(term)
                break
    return joined


@pytest.mark.slow
@given(known_sets(), st.floats(0, 1), st.data())
def test_joins_are_those_of_the_naive_loop(
    sets: KnownSets, threshold: float, data: st.DataObject
) -> None:
    terms = [*sets.candidates]
    everyone = st.sampled_from([*terms, *sets.sets.terms])
    pairs = data.draw(st.sets(st.tuples(everyone, everyone).map(frozenset)))
    pairs = {pair for pair in pairs if len(pair) == 2}
    order = data.draw(st.permutations(terms))
    joined = joins(sets, order, pairs, threshold)
    assert {t: c.set_id for t, c in joined.items()} == naive_joins(sets, terms, pairs, threshold)
    mined = with_known(_alone([t for t in order if t not in joined]), sets, joined, order)
    for pair in pairs:
        if not pair <= {*sets.sets.terms}:
            one, other = pair
            assert mined.sets.label_of(one) != mined.sets.label_of(other)


def test_a_term_takes_the_next_set_that_it_may_join() -> None:
    sets = known(A=[("H", 0.9), ("L", 0.6)], B=[("H", 0.8), ("L", 0.3)])
    apart = {frozenset((A, Term("cardiac failure")))}
    assert {t: c.set_id for t, c in joins(sets, [B, A], apart, 0.5).items()} == {A: "L", B: "H"}
    apart = {frozenset((A, B))}  # the surer one is first
    assert {t: c.set_id for t, c in joins(sets, [B, A], apart, 0.5).items()} == {A: "H"}
    assert joins(sets, [A, B, C], set(), 0.85) == {A: Candidate("H", 0.9, "nearest of H")}
    assert {*joins(sets, [A, B], set(), 0.8)} == {A, B}  # from the threshold on
    for threshold in (-0.1, 1.1):
        with pytest.raises(DataError, match=f"between 0 and 1.*{threshold}"):
            joins(sets, [A], set(), threshold)


def _alone(terms: list[Term]) -> MiningResult:
    ids = [f"s{number}" for number in range(len(terms))]
    trace = tuple(Decision(term, None, 0.0, "opened") for term in terms)
    return MiningResult(SynonymSets.of([[t] for t in terms], ids), trace, ())


def test_groups_stand_after_the_known_sets_under_fresh_ids() -> None:
    sets = KnownSets(
        SynonymSets.of([map(Term, HEART), map(Term, LUNG)], ["s0", "L"]),
        {A: [Candidate("L", 0.7, "lung cancer")], D: [Candidate("L", 0.2, "lung cancer")]},
    )
    groups = MiningResult(
        SynonymSets.of([[B, C], [D]], ["s0", "s1"]),
        (
            Decision(B, "s0", 0.6, "joined"),
            Decision(C, "s0", 0.6, "joined"),
            Decision(D, "s0", 0.1, "opened"),
        ),
        (),
    )
    joined = joins(sets, [A, B, C, D], set(), 0.5)
    mined = with_known(groups, sets, joined, [D, A, C, B])
    assert mined.sets.ids == ("s0", "L", "s1", "s2")  # "s0" is a known set
    assert mined.sets.sets == (
        tuple(map(Term, HEART)),
        (Term("lung cancer"), A),
        (B, C),
        (D,),
    )
    assert [(d.term, d.best_set, d.probability, d.action, d.nearest) for d in mined.trace] == [
        (D, "L", 0.2, "opened", "lung cancer"),  # nearer to a known set than to the group
        (A, "L", 0.7, "joined", "lung cancer"),
        (C, "s1", 0.6, "joined", ""),
        (B, "s1", 0.6, "joined", ""),
    ]
    assert mined.known is sets


def test_a_term_nearer_to_a_group_keeps_that_decision() -> None:
    sets = known(D=[("H", 0.05)])
    groups = MiningResult(
        SynonymSets.of([[B, C], [D]], ["s0", "s1"]),
        (Decision(B, "s0", 0.6, "joined"), Decision(D, "s0", 0.1, "opened")),
        (),
    )
    (decision,) = with_known(groups, sets, {}, [D]).trace
    assert (decision.best_set, decision.probability) == ("s0", 0.1)


def test_new_terms_are_judged_as_the_set_that_they_join() -> None:
    """Of two new terms that only share letters, one of which joined a known set."""
    sets = known(A=[("H", 0.9), ("L", 0.2)], B=[("L", 0.3)], C=[("H", 0.5)])

    def among_new(terms: Sequence[Term]) -> list[float]:
        return [0.7] * len(terms)

    heart, cardiac, lung = map(Term, (*HEART, *LUNG))
    assert sets.home([A]) == (["H"], 0.9)
    assert sets.home([heart, A]) == (["H"], 1.0)
    assert sets.home([B]) == ([], 0.0)
    scored = sets.probabilities([A], [heart, lung, C, B, A], among_new)
    assert scored == pytest.approx([0.9, 0, 0.45, 0, 0])
    assert sets.near_terms([A]) == [heart, cardiac, C]
    assert sets.near_terms([heart]) == [cardiac, A, C]
    assert sets.probabilities([B], [lung, heart, C], among_new) == pytest.approx([0.3, 0, 0.7])
    assert sets.near_terms([B]) == [lung]
    assert sets.probabilities([B, D], [lung], among_new) == pytest.approx([0.15])


def test_the_papers_model_refuses_assigned_terms() -> None:
    """It would leave the known sets out."""
    vectors = TermVectors((A, B), np.eye(2, dtype=np.float32))
    with pytest.raises(DataError, match="takes known sets as they are"):
        generate_sets(SetScorer(dimension=2), vectors, [A, B], seeds=known(A=[("H", 0.9)]))
