"""An encoder by its name, where the hub that may have it cannot be reached."""

from __future__ import annotations

import time
from types import SimpleNamespace

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
    # Threads of other tests may sleep, so only the hub's module gets another clock.
    clock = SimpleNamespace(**{**vars(time), "sleep": waits.append})
    monkeypatch.setattr("huggingface_hub.utils._http.time", clock)
    with pytest.raises(SynsetmineError, match=r"'nosuch'.* does not answer$"):
        load_encoder("nosuch", "cpu")
    assert not waits
