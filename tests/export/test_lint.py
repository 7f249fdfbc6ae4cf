"""The linter of synonyms.txt: every finding with its line, and silence on what is good."""

from __future__ import annotations

from pathlib import Path

import pytest

from synsetmine.errors import DataError
from synsetmine.export.solr import Finding, lint_file


def lint(folder: Path, text: str, *, limit: int = 10_000) -> list[tuple[int, str, str]]:
    path = folder / "synonyms.txt"
    path.write_bytes(text.encode())
    found = lint_file(path, limit=limit).findings
    return [(finding.line, finding.severity, finding.check) for finding in found]


def test_a_good_file_has_nothing_to_mend(tmp_path: Path) -> None:
    text = "# equal\nTV, television\n\n# explicit\nipod, i-pod => iPod touch\n\\#1, C#, \\=> x\n"
    assert lint(tmp_path, text) == [(5, "note", "several-words")]
    assert lint_file(tmp_path / "synonyms.txt").rules == 3
    assert lint_file(tmp_path / "synonyms.txt").terms == 8


@pytest.mark.parametrize(
    ("line", "severity", "check"),
    [
        ("ab => cd => ef", "error", "refused"),
        ("ab, , cd", "error", "refused"),
        ("ab => ", "error", "refused"),
        (" => ab", "error", "refused"),
        ("   ", "error", "refused"),
        ("\t", "error", "refused"),
        (r"ab, \ ", "error", "refused"),
        ("=> ab", "error", "empty-side"),
        ("ab =>", "error", "empty-side"),
        ("=>", "error", "empty-side"),
        ("ab =>,", "error", "empty-side"),
        (",=> ab", "error", "empty-side"),
        (",", "error", "empty-side"),
        ("ab, cd\\", "error", "dangling-escape"),
        ("ab, cd\\\\\\", "error", "dangling-escape"),
        (" # ab, cd", "warning", "comment"),
        ("ab, cd # not xy", "warning", "comment"),
        ("ab", "warning", "one-term"),
        ("ab,", "warning", "one-term"),
        ("ab, cd, ab", "warning", "twice"),
        ("ab => cd, cd", "warning", "twice"),
        ("TV, tv", "warning", "same-words"),
        ("hot  dog, Hot dog", "warning", "same-words"),
        ("vitamin c, c", "warning", "one-letter"),
        ("plus, +", "warning", "no-word"),
        ("smile => 😀", "warning", "no-word"),
    ],
)
def test_what_is_wrong_with_a_line_is_found(
    line: str, severity: str, check: str, tmp_path: Path
) -> None:
    assert (2, severity, check) in lint(tmp_path, f"okay, fine\n{line}\nhouse, home\n")


@pytest.mark.parametrize(
    "line",
    ["ab, cd", "ab,, cd", r"ab, cd\\", r"ab, cd \#1", "ab, cd#1", "ab =>=> cd", r"ab\=>, cd"],
)
def test_what_is_right_in_a_line_is_left_alone(line: str, tmp_path: Path) -> None:
    found = lint(tmp_path, f"okay, fine\n{line}\n")
    assert [finding for finding in found if finding[1] != "note"] == []


def test_a_term_of_two_rules_is_named_with_both_lines(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("georgia, sakartvelo\nab => cd\nGeorgia, peach state\n")
    found = lint_file(tmp_path / "s.txt").findings
    assert found[0] == Finding(
        3, "warning", "ambiguous", "'Georgia' has a rule on line 1 too; both are applied"
    )
    assert lint(tmp_path, "ab => cd\nab => ef\n") == [(2, "warning", "ambiguous")]
    assert lint(tmp_path, "ab => ef\ncd => ef\n") == []  # two ways to one term


def test_a_chain_is_found_where_it_starts(tmp_path: Path) -> None:
    assert lint(tmp_path, "ab => cd\ncd => ef\n") == [(1, "warning", "chain")]
    assert lint(tmp_path, "cd, ef\nab => cd\n") == [(2, "warning", "chain")]
    assert lint(tmp_path, "ab, cd => ab, cd\n") == []  # expands, by hand
    (tmp_path / "s.txt").write_text("ab => cd\ncd => ef\n")
    (chain,) = lint_file(tmp_path / "s.txt").findings
    assert chain.message == "'cd' has a rule on line 2, which is not applied after this one"


def test_terms_of_several_words_are_reported_of_once(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("tv, telly\nhot dog, wiener\nice cream => hot dog\n")
    notes = [note for note in lint_file(tmp_path / "s.txt").findings if note.severity == "note"]
    assert [(note.line, note.message.split(",")[0]) for note in notes] == [
        (2, "2 terms have several words")
    ]


def test_rules_beyond_the_limit_are_reported_of_once(tmp_path: Path) -> None:
    text = "# three\n" + "".join(f"a{i}, b{i}\n" for i in range(3))
    assert lint(tmp_path, text, limit=2) == [(4, "warning", "limit")]
    assert lint(tmp_path, text, limit=3) == []
    assert lint(tmp_path, text, limit=0) == []


def test_a_byte_order_mark_is_an_error(tmp_path: Path) -> None:
    assert lint(tmp_path, "\ufeffab, cd\n") == [(1, "error", "byte-order-mark")]


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes(b"ab, cd\r\nna\xefve, x\n")
    with pytest.raises(DataError, match=r"s\.txt:2: not UTF-8"):
        lint_file(path)
    with pytest.raises(DataError, match="No such file"):
        lint_file(tmp_path / "missing.txt")
