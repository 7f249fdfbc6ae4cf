"""Nearest neighbours: all of them where all are compared, most of them where that is too much."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from synsetmine.model.neighbours import (
    _largest,
    nearest_by_products,
    nearest_rows,
    nearest_sparse_rows,
)
from synsetmine.model.stringtable import StringTable
from synsetmine.views import unit_rows
from synsetmine.views.ngrams import ngram_weights
from synsetmine.views.strings import StringView

COUNT = 5


def rows(count: int, seed: int = 0) -> torch.Tensor:
    """Unit rows in some hundred groups."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(max(count // 10, 1), 12))
    noise = 0.5 * chance.normal(size=(count, 12))
    return torch.from_numpy(
        unit_rows((centres[np.arange(count) % len(centres)] + noise).astype(np.float32))
    )


def plain(similarity: np.ndarray, row: int, there: np.ndarray) -> list[int]:
    others = [o for o in np.flatnonzero(there).tolist() if o != row]
    return sorted(others, key=lambda o: -similarity[row, o])[:COUNT]


def test_all_are_compared_with_all() -> None:
    unit = rows(60)
    known = torch.ones(60, dtype=torch.bool)
    unit[[4, 9]], known[[4, 9]] = 0, False
    cosines, places = nearest_rows(unit, known, COUNT)
    similarity = (unit @ unit.T).numpy()
    for row in range(60):
        if not known[row]:
            assert (places[row] == -1).all()
            assert (cosines[row] == -torch.inf).all()
            continue
        assert places[row].tolist() == plain(similarity, row, known.numpy())
        np.testing.assert_allclose(cosines[row], similarity[row, places[row]], atol=1e-6)


def test_fewer_rows_than_neighbours() -> None:
    cosines, places = nearest_rows(rows(3), torch.ones(3, dtype=torch.bool), COUNT)
    assert [sorted(p for p in row if p >= 0) for row in places.tolist()] == [[1, 2], [0, 2], [0, 1]]
    assert (cosines[:, 2:] == -torch.inf).all()
    none = nearest_rows(torch.zeros(2, 4), torch.zeros(2, dtype=torch.bool), COUNT)
    assert (none[1] == -1).all()


def test_cells_miss_few_of_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """None at all where the cells around a cell are all cells."""
    unit, known = rows(3000), torch.ones(3000, dtype=torch.bool)
    exact = nearest_rows(unit, known, COUNT)
    monkeypatch.setattr("synsetmine.model.neighbours.BRUTE", {"cpu": 100})
    monkeypatch.setattr("synsetmine.model.neighbours.CELL", 30)
    near = nearest_rows(unit, known, COUNT)
    shared = [
        len(set(a) & set(b)) for a, b in zip(exact[1].tolist(), near[1].tolist(), strict=True)
    ]
    assert np.mean(shared) > 0.95 * COUNT
    assert all(row not in places for row, places in enumerate(near[1].tolist()))
    monkeypatch.setattr("synsetmine.model.neighbours.AROUND", 1000)
    monkeypatch.setattr("synsetmine.model.neighbours.PROBES", 100)
    every = nearest_rows(unit, known, COUNT)
    torch.testing.assert_close(every[0], exact[0], atol=1e-6, rtol=0)


def test_cells_do_not_hang_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.model.neighbours.BRUTE", {"cpu": 100})
    unit, known = rows(2000, seed=1), torch.ones(2000, dtype=torch.bool)
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(nearest_rows(unit, known, COUNT)[1])
    torch.set_num_threads(before)
    assert torch.equal(*found)


@pytest.mark.parametrize("width", [5, 40, 333, 1000])
def test_the_largest_are_those_of_topk(width: int) -> None:
    values = torch.rand(7, width, generator=torch.Generator().manual_seed(width))
    for laid in (values, values.T.contiguous().T):  # row by row, and column by column
        top, places = _largest(laid, COUNT)
        assert torch.equal(top, values.topk(COUNT, dim=1).values)
        assert torch.equal(values.gather(1, places), top)


def test_few_groups_stand_for_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.model.neighbours.GROUPS", 3 * COUNT)
    test_the_largest_are_those_of_topk(5000)


def names() -> list[str]:
    chance = np.random.default_rng(3)
    words = ["".join(chance.choice(list("abcdefghij"), 6)) for _ in range(80)]
    return [" ".join(chance.choice(words, 2)) for _ in range(400)]


def test_rows_of_strings_are_compared_with_all() -> None:
    matrix = ngram_weights([*names()[:80], "", "zzz"])  # one unknown, one like no other
    cosines, places = nearest_sparse_rows(matrix, COUNT)
    similarity = (matrix @ matrix.T).toarray()
    for row in range(80):
        expected = np.sort(np.delete(similarity[row, :], [row, 80]))[::-1][:COUNT]
        np.testing.assert_allclose(cosines[row], expected, atol=1e-6)
        found = places[row][places[row] >= 0].long()
        np.testing.assert_allclose(similarity[row, found], cosines[row, : len(found)], atol=1e-6)
    assert (places[80:] == -1).all()
    assert (cosines[80] == -torch.inf).all()
    assert (cosines[81] == 0).all()


@pytest.mark.parametrize("count", [82, 3, 1])
def test_products_give_the_same_neighbours(count: int) -> None:
    matrix = ngram_weights([*names()[:80], "", "zzz"][-count:])
    table = StringTable(StringView([*names()[:80], "", "zzz"][-count:]), torch.device("cpu"))
    known = torch.from_numpy(np.diff(matrix.indptr) > 0)
    cosines, places = nearest_by_products(table.ngrams.products, known, COUNT)
    expected, there = nearest_sparse_rows(matrix, COUNT)
    torch.testing.assert_close(cosines, expected, atol=1e-6, rtol=0)
    assert torch.equal(places >= 0, there >= 0)
    similarity = (matrix @ matrix.T).toarray()
    for row in range(count):
        found = places[row][places[row] >= 0].long()
        np.testing.assert_allclose(similarity[row, found], cosines[row, : len(found)], atol=1e-6)


def test_rare_columns_lead_to_most_of_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = ngram_weights(names())
    exact = nearest_sparse_rows(matrix, COUNT)
    monkeypatch.setattr("synsetmine.model.neighbours.BRUTE", {"cpu": 100})
    monkeypatch.setattr("synsetmine.model.neighbours.POSTINGS", 500)
    cosines, places = nearest_sparse_rows(matrix, COUNT)
    similarity = (matrix @ matrix.T).toarray()
    shared = [len(set(a) & set(b)) for a, b in zip(exact[1].tolist(), places.tolist(), strict=True)]
    assert 0.7 * COUNT < np.mean(shared) < 0.999 * COUNT
    for row in range(400):  # what was found has its true cosine, best first
        found = places[row][places[row] >= 0].long()
        np.testing.assert_allclose(cosines[row, : len(found)], similarity[row, found], atol=1e-6)
        assert (np.diff(cosines[row]) <= 1e-7).all()


def test_a_column_that_all_share_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.model.neighbours.BRUTE", {"cpu": 10})
    monkeypatch.setattr("synsetmine.model.neighbours.POSTINGS", 20)
    same = sparse.csr_array(np.ones((50, 1)))
    assert (nearest_sparse_rows(same, COUNT)[1] == -1).all()
