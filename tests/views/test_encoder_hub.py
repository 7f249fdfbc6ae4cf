"""An encoder by its name, where the hub that may have it cannot be reached."""

from __future__ import annotations

import pytest

from synsetmine.errors import SynsetmineError
from synsetmine.views.encoder import load_encoder

constants = pytest.importorskip("huggingface_hub.constants")


@pytest.fixture(autouse=True)
def closed_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")


def test_without_the_hub_a_name_is_refused_after_one_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", waits.append)
    with pytest.raises(SynsetmineError, match=r"'nosuch'.* does not answer$"):
        load_encoder("nosuch", "cpu")
    assert not waits
