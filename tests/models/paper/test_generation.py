"""Set generation equals the plain algorithm, whatever the block size and the order of scoring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from synsetmine.errors import DataError
from synsetmine.io.sets import read_sets
from synsetmine.models import MiningResult, generate_sets
from synsetmine.models.paper.network import SetPool, SetScorer
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, read_vectors
from tests.support.reference import logit, one_pass, q


def table(matrix: npt.NDArray[np.float32]) -> TermVectors:
    return TermVectors(tuple(Term(f"t{i}") for i in range(len(matrix))), matrix)


def in_blocks(
    scorer: SetScorer,
    vectors: TermVectors,
    vocabulary: Sequence[Term],
    block_size: int,
    *,
    seeds: SynonymSets | None = None,
    **options: Any,
) -> MiningResult:
    """`generate_sets` with another block size."""
    known = () if seeds is None else seeds.terms
    prepared = scorer.prepare([*vocabulary, *known], TermViews((vectors,)))
    return prepared.generate(seeds=seeds, block_size=block_size, **options)


def as_numbers(sets: SynonymSets) -> list[list[int]]:
    return [[int(term.surface[1:]) for term in members] for members in sets]


def make_scorer(seed: int, embed: tuple[int, ...], post: tuple[int, ...]) -> SetScorer:
    """Random weights with biases, spread so that joins and openings both happen."""
    scorer = SetScorer(dimension=3, embed_sizes=embed, post_sizes=post, seed=seed)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in scorer.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.normal_(generator=random)
    return scorer


def make_integer_scorer(seed: int) -> SetScorer:
    """Small whole weights: all arithmetic is exact, so equal scores are truly equal."""
    scorer = make_scorer(seed, (4,), (5, 3))
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in scorer.parameters():
            whole = torch.randint(-2, 3, parameter.shape, generator=random)
            parameter.copy_(whole.float())
    return scorer


architectures = st.sampled_from(
    [((4, 6), (8, 6)), ((), (5, 4)), ((4, 6), ()), ((3,), (4,)), ((3,), (4, 4, 4))]
)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sizes=architectures,
    count=st.integers(1, 30),
    threshold=st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
    block_size=st.integers(1, 40),
    max_sets=st.one_of(st.none(), st.integers(1, 6)),
    # Biases do not count beside much larger vectors: rounding alone decides some terms there.
    scale=st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_equals_the_plain_algorithm(
    seed: int,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    count: int,
    threshold: float,
    block_size: int,
    max_sets: int | None,
    scale: float,
) -> None:
    scorer = make_scorer(seed, *sizes)
    matrix = (scale * np.random.default_rng(seed).normal(size=(count, 3))).astype(np.float32)
    bar = {0.0: -math.inf, 1.0: math.inf}.get(threshold) or math.log(threshold / (1 - threshold))
    vectors = table(matrix)
    mined = in_blocks(
        scorer, vectors, vectors.terms, block_size, threshold=threshold, max_sets=max_sets
    )
    assert as_numbers(mined.sets) == one_pass(scorer, matrix, bar=bar, max_sets=max_sets)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rows=st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=25),
    block_size=st.integers(1, 30),
)
def test_among_truly_equal_sets_the_first_wins(
    seed: int, rows: list[tuple[int, int, int]], block_size: int
) -> None:
    scorer = make_integer_scorer(seed)
    matrix = np.array(rows, dtype=np.float32)
    vectors = table(matrix)
    mined = in_blocks(scorer, vectors, vectors.terms, block_size)
    assert as_numbers(mined.sets) == one_pass(scorer, matrix)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rows=st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=25),
    threshold=st.sampled_from([0.2, 0.5, 0.8]),
    exponent=st.integers(110, 126),
)
def test_scores_beyond_float32_are_compared(
    seed: int, rows: list[tuple[int, int, int]], threshold: float, exponent: int
) -> None:
    """Whole numbers times a power of two, without biases: float64 is exact at any scale."""
    scorer = make_integer_scorer(seed)
    with torch.no_grad():
        for module in scorer.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.zero_()
    matrix = np.ldexp(np.array(rows, dtype=np.float32), exponent)
    vectors = table(matrix)
    mined = in_blocks(scorer, vectors, vectors.terms, 4, threshold=threshold)
    bar = math.log(threshold / (1 - threshold))
    assert as_numbers(mined.sets) == one_pass(scorer, matrix, bar=bar)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), seeds=st.integers(1, 8), block_size=st.integers(1, 20))
def test_seeded_pass_equals_the_plain_algorithm(seed: int, seeds: int, block_size: int) -> None:
    scorer = make_scorer(seed, (4, 6), (8, 6))
    matrix = np.random.default_rng(seed).normal(size=(24, 3)).astype(np.float32)
    vectors = table(matrix)
    new, known = 24 - 2 * seeds, [[24 - 2 * i - 2, 24 - 2 * i - 1] for i in range(seeds)]
    seed_sets = SynonymSets.of(
        [[vectors.terms[t] for t in members] for members in known],
        [f"KB:{i}" for i in range(seeds)],
    )
    mined = in_blocks(scorer, vectors, vectors.terms[:new], block_size, seeds=seed_sets)
    expected = one_pass(scorer, matrix, seeds=known, skip=2 * seeds)
    assert as_numbers(mined.sets) == expected
    assert mined.sets.ids[:seeds] == seed_sets.ids


def test_scores_are_those_of_the_formula() -> None:
    scorer = make_scorer(5, (4, 6), (8, 6))
    matrix = np.random.default_rng(5).normal(size=(6, 3)).astype(np.float32)
    rows = matrix.astype(np.float64)
    pool = SetPool(scorer, matrix, block_size=1)
    with torch.inference_mode():
        for members in ([0, 1], [2], [3, 4, 1]):
            pool.open(members, slice(0, 0))
        joined = pool.block(slice(5, 6))[0]
    expected = [logit(scorer, list(rows[m]), rows[5]) for m in pool.members]
    assert joined - pool.scores == pytest.approx(expected, abs=1e-12)
    assert pool.scores == pytest.approx([q(scorer, list(rows[m])) for m in pool.members], abs=1e-12)


def test_trace_tells_each_decision() -> None:
    scorer = make_scorer(1, (4, 6), (8, 6))
    matrix = np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32)
    vectors = table(matrix)
    mined = generate_sets(scorer, vectors, vectors.terms)
    assert [decision.term for decision in mined.trace] == list(vectors.terms)
    assert mined.trace[0].action == "opened"
    assert mined.trace[0].best_set is None
    assert {decision.action for decision in mined.trace} == {"opened", "joined"}
    for decision in mined.trace[1:]:
        assert (decision.probability > 0.5) == (decision.action == "joined")
        if decision.action == "joined":
            home = mined.sets.ids[mined.sets.label_of(decision.term)]
            assert decision.best_set == home


def test_a_term_without_vector_stands_alone_and_is_listed() -> None:
    scorer = make_scorer(1, (4, 6), (8, 6))
    vectors = table(np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32))
    lost = Term("lost")
    mined = generate_sets(scorer, vectors, [*vectors.terms[:2], lost, *vectors.terms[2:]])
    assert mined.without_vector == (lost,)
    assert mined.sets.set_of(lost) == (lost,)
    assert len(mined.sets.terms) == 6
    assert mined.trace[2].action == "no vector"


def test_seed_sets_keep_members_without_vectors() -> None:
    scorer = make_scorer(1, (4, 6), (8, 6))
    vectors = table(np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32))
    seeds = SynonymSets.of([[Term("x"), vectors.terms[3]], [Term("y")]], ["A", "s0"])
    mined = generate_sets(scorer, vectors, vectors.terms, seeds=seeds)
    assert Term("x") in mined.sets.set_of(vectors.terms[3])
    assert mined.sets.set_of(Term("y")) == (Term("y"),)
    assert mined.sets.ids[:2] == ("A", "s0")
    assert len(mined.sets.terms) == 6


def test_seeds_without_vectors_count_towards_the_cap() -> None:
    scorer = make_scorer(1, (4, 6), (8, 6))
    vectors = table(np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32))
    seeds = SynonymSets.of([[vectors.terms[5]], [Term("y")]], ["A", "B"])
    mined = generate_sets(scorer, vectors, vectors.terms, seeds=seeds, max_sets=2, threshold=1.0)
    assert mined.sets.ids == ("A", "B")
    assert mined.sets.set_of(Term("y")) == (Term("y"),)


@pytest.mark.parametrize(
    ("sizes", "block_size"), [((2, 40_000), 3), ((30_000, 1), 3), ((4, 8), 9000)]
)
def test_any_width_and_block_size_fits(sizes: tuple[int, int], block_size: int) -> None:
    scorer = make_scorer(1, (4, 6), sizes)
    vectors = table(np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32))
    mined = in_blocks(scorer, vectors, vectors.terms, block_size)
    assert len(mined.sets.terms) == 12


def test_the_cap_on_sets_is_kept_and_forced_joins_are_marked() -> None:
    scorer = make_scorer(2, (4, 6), (8, 6))
    vectors = table(np.random.default_rng(2).normal(size=(30, 3)).astype(np.float32))
    mined = generate_sets(scorer, vectors, vectors.terms, threshold=1.0, max_sets=3)
    assert len(mined.sets) == 3
    assert sum(decision.action == "forced" for decision in mined.trace) == 27


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan])
def test_a_threshold_outside_0_to_1_is_refused(threshold: float) -> None:
    vectors = table(np.zeros((1, 3), dtype=np.float32))
    with pytest.raises(DataError, match="threshold must be between 0 and 1"):
        generate_sets(make_scorer(0, (), ()), vectors, vectors.terms, threshold=threshold)


def test_vectors_of_another_dimension_are_refused() -> None:
    vectors = table(np.zeros((1, 4), dtype=np.float32))
    with pytest.raises(DataError, match="3 dimensions"):
        generate_sets(make_scorer(0, (), ()), vectors, vectors.terms)


def test_an_empty_vocabulary_gives_no_sets() -> None:
    vectors = table(np.zeros((1, 3), dtype=np.float32))
    assert len(generate_sets(make_scorer(0, (), ()), vectors, []).sets) == 0


def test_block_size_and_threads_leave_nyt_unchanged(nyt: Path) -> None:
    test, vectors = read_sets(nyt / "test.set"), read_vectors(nyt / "combined.embed")
    terms = [term for term in vectors.terms if term in test]
    scorer = SetScorer(dimension=50, seed=7)
    first = in_blocks(scorer, vectors, terms, 1)
    other = in_blocks(scorer, vectors, terms, 64)
    assert other.sets == first.sets
    for one, two in zip(first.trace, other.trace, strict=True):
        assert (one.term, one.best_set, one.action) == (two.term, two.best_set, two.action)
        assert one.probability == pytest.approx(two.probability, abs=1e-5)
    torch.set_num_threads(2)
    try:
        assert in_blocks(scorer, vectors, terms, 17).sets == first.sets
    finally:
        torch.set_num_threads(1)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_gpu_and_cpu_give_the_same_sets() -> None:
    matrix = np.random.default_rng(0).normal(size=(6000, 20)).astype(np.float32)
    scorer = SetScorer(dimension=20, embed_sizes=(20, 40), post_sizes=(80, 40))
    vectors = table(matrix)
    on_cpu = generate_sets(scorer, vectors, vectors.terms)
    assert generate_sets(scorer.to("cuda"), vectors, vectors.terms).sets == on_cpu.sets
