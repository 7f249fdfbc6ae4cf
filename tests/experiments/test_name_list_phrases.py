"""Words and phrases of general English, which the static encoder learns from its teacher."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.general_model.lists import read_phrases
from experiments.name_lists import name_hash, phrases
from experiments.name_lists.phrases import frequent_words, gloss_spans
from synsetmine.errors import DataError


def test_phrases_are_frequent_words_and_spans_of_definitions() -> None:
    assert frequent_words(["the", ",", "of", "house", "u.s.", "tree", "river"], 3) == [
        "the",
        "house",
        "tree",
    ]
    line = '00001740 03 n 01 entity 0 | that which is perceived to have its own existence; "an A"'
    spans = list(gloss_spans([line] * 20))
    words = line.partition(" | ")[2].replace(";", "").replace('"', "").split()
    assert len(spans) == 20 * 3  # two of the nine words before the semicolon, one behind it
    assert all(" ".join(words).find(span) >= 0 and len(span.split()) <= 5 for span in spans)
    assert list(gloss_spans([line] * 20)) == spans
    assert list(gloss_spans(["no definition", "an empty one | "])) == []


def test_phrases_have_no_held_out_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases, "_glove_words", lambda: ["house", "secret", "tree"])
    monkeypatch.setattr(phrases, "_gloss_lines", lambda: ["1 | ..."])
    heldout = tmp_path / "heldout.txt"
    heldout.write_text(name_hash("Secret") + "\n")
    assert phrases.write_phrases(tmp_path / "lists", heldout) == 2
    assert read_phrases(tmp_path / "lists") == ["house", "tree"]
    with pytest.raises(DataError, match=r"experiments\.name_lists"):
        read_phrases(tmp_path)
