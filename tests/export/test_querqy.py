"""Querqy's rules: exact text, and what was written is read back by a reader of its grammar."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from synsetmine.errors import ErrorCounts
from synsetmine.export import About
from synsetmine.export.formats import FORMATS
from synsetmine.export.solr import write_querqy
from synsetmine.runs import MinedSet
from tests.support.searchentries import entry, nasty_entries, surfaces, term, writable

ABOUT = About(title="Hearts", tool="a test")


def test_each_term_has_a_rule_with_weights(tmp_path: Path) -> None:
    others = (term("myocardial infarction", 0.87651), term("MI", 0.5), term("MI", 0.9))
    path = tmp_path / "rules.txt"
    assert write_querqy(path, [MinedSet("D1", (term("heart attack"), *others))], ABOUT) == [path]
    assert path.read_text("utf-8") == (
        "# Hearts, by a test; the first rule of a set has its preferred term as input.\n"
        "\n"
        "# 'D1'\n"
        "heart attack =>\n"
        "  SYNONYM(0.8765): myocardial infarction\n"
        "  SYNONYM(0.5): MI\n"
        "myocardial infarction =>\n"
        "  SYNONYM(0.8765): heart attack\n"
        "  SYNONYM(0.5): MI\n"
        "MI =>\n"
        "  SYNONYM(0.5): heart attack\n"
        "  SYNONYM(0.5): myocardial infarction\n"
    )


def test_weights_may_be_left_out(tmp_path: Path) -> None:
    sets = [MinedSet("D1", (term("heart attack"), term("MI", 0.5)))]
    (path,) = write_querqy(tmp_path / "rules.txt", sets, ABOUT, weights="none")
    assert "SYNONYM: MI\n" in path.read_text("utf-8")
    assert "(" not in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("AC\\DC", "a backslash"),
        ("title:heart", "a colon"),
        ("$100", "a dollar sign and a digit"),
        ("@home", "starts with @"),
        ("then =>", "ends with =>"),
        ("a\u2028b", "a line break"),
        ("a\nb", "a line break"),
    ],
)
def test_what_querqy_cannot_express_is_left_out(text: str, problem: str) -> None:
    skipped = ErrorCounts()
    (kept,) = FORMATS["querqy"].writable([entry("c", "a1", text, "b1")], skipped)
    assert surfaces(kept) == ("a1", "b1")
    (found,) = skipped.counts
    assert problem in found


@given(sets=nasty_entries())
def test_what_is_written_is_read_back(sets: list[MinedSet]) -> None:
    kept = writable("querqy", sets)
    with tempfile.TemporaryDirectory() as folder:
        (path,) = write_querqy(Path(folder, "rules.txt"), kept, ABOUT)
        found = read_querqy(path)
    expected = [
        (words(one), [words(other) for other in surfaces(each) if other != one])
        for each in kept
        for one in surfaces(each)
    ]
    assert found == expected


def words(text: str) -> list[str]:
    return re.findall(r"[^ \t\n\x0b\f\r]+", text)


def read_querqy(path: Path) -> list[tuple[list[str], list[list[str]]]]:
    """Inputs with their synonyms, word by word, as Querqy's grammar has it."""
    rules: list[tuple[list[str], list[list[str]]]] = []
    for raw in re.split(r"\r\n|\r|\n", path.read_text("utf-8")):
        comment = re.search(r"(?<!(?<!\\)\\)#", raw)
        line = trimmed(raw[: comment.start()] if comment else raw)
        if line.endswith("=>"):
            assert not line.startswith("@")
            given = trimmed(line.removesuffix("=>"))
            assert not given.startswith('"')  # a boundary
            assert not re.search(r'(?<!\\)("\Z|\*)', given)
            rules.append((list(map(word, words(given))), []))
        elif line:
            found = re.fullmatch(r"SYNONYM(?:\(([\w.-]+)\))?:([^\n\r\x85\u2028\u2029]*)", line)
            assert found, line
            assert 0 <= float(found[1] or 1) <= 1
            rules[-1][1].append(list(map(word, words(found[2]))))
    assert all(synonyms for _, synonyms in rules)
    return rules


def word(text: str) -> str:
    assert ":" not in text  # a field
    assert not re.search(r"\$\d", text)  # a reference to a wildcard
    assert not re.search(r"(?<!\\)\*", text)
    assert not re.search(r'\\[^*#"]', text)
    return re.sub(r"\\(.)", r"\1", text)


def trimmed(text: str) -> str:
    return text.strip("".join(map(chr, range(33))))
