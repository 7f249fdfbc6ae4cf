"""Strings on a device against `StringView`, which leaves them to rapidfuzz and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from synsetmine.model.stringtable import StringTable, _Rows
from synsetmine.views.strings import FEATURES, StringView
from tests.devices import DEVICES

SURFACES = st.lists(
    st.text("abcä é-3.", max_size=12)
    | st.sampled_from(
        ["martha", "marhta", "dwayne", "duane", "x" * 63, "x" * 64, "ab " * 40, "日本語"]
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("device", DEVICES)
@given(surfaces=SURFACES)
@settings(deadline=None)
def test_it_gives_what_the_view_gives(device: str, surfaces: list[str]) -> None:
    view = StringView(surfaces)
    table = StringTable(view, torch.device(device))
    rows = torch.arange(len(surfaces), device=device)
    block = table.block(rows, rows).cpu().numpy()
    expected = view.block(rows.cpu().numpy())
    for place, name in enumerate(FEATURES):
        np.testing.assert_allclose(block[..., place], expected[..., place], atol=1e-5, err_msg=name)
    left, right = (side.reshape(-1) for side in torch.meshgrid(rows, rows, indexing="ij"))
    pairs = table.pairs(left, right).cpu().numpy()
    np.testing.assert_allclose(pairs, expected.reshape(pairs.shape), atol=1e-5)


def test_letters_beyond_the_most_frequent_are_left_to_the_view() -> None:
    surfaces = [chr(0x4E00 + i) * 2 + "ab" for i in range(300)]
    view = StringView(surfaces)
    table = StringTable(view, torch.device("cpu"))
    assert 0 < int(table.fits.sum()) < 300
    rows = np.arange(0, 300, 7)
    found = table.block(torch.from_numpy(rows), torch.arange(300))
    np.testing.assert_allclose(found, view.block(rows), atol=1e-5)


def test_parts_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    view = StringView([f"name {i} of {i % 5}" for i in range(40)])
    table = StringTable(view, torch.device("cpu"))
    left, right = torch.arange(39), torch.arange(1, 40)
    whole = table.pairs(left, right)
    monkeypatch.setattr("synsetmine.model.stringtable.CHUNK", 16)
    torch.testing.assert_close(table.pairs(left, right), whole)


def test_products_do_not_depend_on_the_order_of_addition() -> None:
    """A GPU adds in another order each time; here the columns are turned round."""
    matrix = StringView([f"name {i} of the {i % 7} {i % 5}th" for i in range(60)]).ngrams
    turned = csr_array(matrix.toarray()[:, ::-1])
    rows = torch.arange(60)
    one, two = (_Rows.of(m, torch.device("cpu")).products(rows) for m in (matrix, turned))
    assert torch.equal(one, two)
    np.testing.assert_allclose(one, (matrix @ matrix.T).toarray(), atol=1e-6)
