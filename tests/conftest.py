from __future__ import annotations

from pathlib import Path

import pytest
import torch

# Two test processes with two threads each would only wait for each other.
torch.set_num_threads(1)

BENCHMARKS = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def nyt() -> Path:
    """The paper's NYT data, where a copy lies beside the checkout."""
    folder = BENCHMARKS / "nyt"
    if not folder.is_dir():
        pytest.skip("the paper's NYT data is not at hand")
    return folder
