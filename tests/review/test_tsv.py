"""The TSV of decisions: exact, the same bytes for the same decisions, fit for git."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.review import Decision, ReviewState
from synsetmine.review.decisions import COLUMNS, read_decisions, write_decisions
from tests.review.test_state import Desk, histories, image
from tests.support.strategies import PIECES, term_lists

HEADER = "\t".join(COLUMNS)
SPLIT = Decision(
    kind="split",
    reviewer="ann",
    set_id="s1",
    members=("a;b", "c||m.01", "tab\there", "back\\slash"),
    terms=("a;b", "tab\there"),
    other="s2",
    note="two\nlines",
    when="2026-03-01T09:30:00.125Z",
    id="0123456789abcdef",
    number=7,
)
LINE = (
    "2026-03-01T09:30:00.125Z\t0123456789abcdef\tann\tsplit\ts1\ta\\;b;tab\\there\ts2\t\t\t\t"
    "two\\nlines\ta\\;b;c||m.01;tab\\there;back\\\\slash\t"
)


def texts(min_size: int = 1) -> st.SearchStrategy[str]:
    piece = st.sampled_from(PIECES) | st.text(min_size=1, max_size=3)
    return st.lists(piece, min_size=min_size, max_size=4).map("".join)


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    members = tuple(str(term) for term in draw(term_lists(5)))
    kind = draw(st.sampled_from(["accept", "judge", "reject", "split", "undo"]))
    if kind == "split" and len(members) == 1:
        kind = "reject"
    several = {"accept": len(members), "judge": 1, "split": len(members) - 1}.get(kind, 0)
    made = Decision(
        kind=kind,  # type: ignore[arg-type]
        reviewer=draw(texts().filter(str.strip)),
        set_id=draw(texts()),
        members=members,
        terms=members[:several],
        other="another set" if kind == "split" else "",
        verdict="unsure" if kind == "judge" else None,
        scope=draw(st.sampled_from([None, "exact", "related"])),
        undoes="ffff" if kind == "undo" else "",
        note=draw(texts(0)),
    )
    moment = draw(st.integers(0, 999))
    return made.stamp(f"2026-03-01T09:30:00.{moment:03}Z")


@pytest.mark.parametrize("first", [*"=+-@", "＝"])
def test_no_cell_is_a_formula_to_a_spreadsheet(tmp_path: Path, first: str) -> None:
    evil = f'{first}HYPERLINK("http://evil.example")'
    made = replace(SPLIT, reviewer=evil, set_id=evil, note=evil, terms=(evil,), members=(evil, "b"))
    path = tmp_path / "reviews.tsv"
    write_decisions(path, [made])
    cells = path.read_text("utf-8").splitlines()[1].split("\t")
    assert not [cell for cell in cells if cell.startswith(first)]
    assert read_decisions(path) == [made]
    made = replace(made, note=f"a;{evil}", terms=("b", evil), members=("b", evil, "c"))
    write_decisions(path, [made])
    line = path.read_text("utf-8").splitlines()[1]
    assert not [cell for cell in re.split("[\t;]", line) if cell.startswith(first)]
    assert read_decisions(path) == [made]


def test_a_line_is_as_documented(tmp_path: Path) -> None:
    path = tmp_path / "reviews.tsv"
    write_decisions(path, [SPLIT])
    assert path.read_bytes().decode() == f"{HEADER}\n{LINE}\n"
    assert read_decisions(path) == [SPLIT]
    write_decisions(path, [])
    assert path.read_text() == f"{HEADER}\n"
    assert read_decisions(path) == []


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(decisions(), max_size=5, unique_by=lambda d: d.id))
def test_any_decisions_come_back(
    tmp_path_factory: pytest.TempPathFactory, made: list[Decision]
) -> None:
    path = tmp_path_factory.mktemp("tsv") / "reviews.tsv"
    write_decisions(path, made)
    written = path.read_bytes()
    assert read_decisions(path) == sorted(made, key=lambda d: d.sort_key)
    assert len(written.decode().split("\n")) == len(written.decode().splitlines()) + 1
    assert b"\0" not in written  # git takes such a file for a binary one
    write_decisions(path, reversed(made))
    assert path.read_bytes() == written


@settings(deadline=None)
@given(histories())
def test_a_replayed_file_gives_the_same_sets(
    tmp_path_factory: pytest.TempPathFactory, history: tuple[Desk, object]
) -> None:
    desk, _ = history
    path = tmp_path_factory.mktemp("tsv") / "reviews.tsv"
    write_decisions(path, desk.made)
    assert image(ReviewState(desk.state._mined, read_decisions(path))) == image(desk.state)


def test_editors_may_change_line_ends_and_leave_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "reviews.tsv"
    path.write_bytes(f"\ufeff{HEADER}\r\n\r\n{LINE}\r\n{LINE}\r\n".encode())
    assert read_decisions(path) == [SPLIT]


def test_a_line_without_an_id_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "reviews.tsv"
    path.write_text(f"{HEADER}\n{LINE.replace(SPLIT.id, '')}\n")
    (found,) = read_decisions(path)
    assert found == replace(SPLIT, id="").stamp(SPLIT.when)
    assert len(found.id) == 16


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x", r"expected 13 columns; got: 1"),
        (LINE.replace("split", "slit"), "kind must be one of accept, .*: 'slit'"),
        (LINE.replace("ann", ""), "a decision needs a reviewer: ''"),
        (LINE.replace(SPLIT.when, ""), "a decision needs its time, in the column: 'when'"),
        (LINE.replace(SPLIT.when, "2026-03-01"), "expected a time such as .*: '2026-03-01'"),
        (LINE.replace("-03-01", "-13-01"), "expected a time such as .*: '2026-13-01T"),
        (LINE.replace("back\\\\", "back\\"), r"unknown escape; .*: '\\\\s'"),
        (LINE.replace("c||m.01;", "c||m.01;;"), "expected terms with ; between them"),
        (LINE.replace("c||m.01;", ""), None),
        (LINE.replace("c||m.01", "a\\;b"), "a term occurs twice: 'a;b'"),
        (LINE.replace("a\\;b;tab\\there\ts2", "d\ts2"), "the set has no such term: 'd'"),
        (LINE.replace("c||m.01", "||x"), "a term needs a surface"),
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: str, problem: str | None) -> None:
    path = tmp_path / "reviews.tsv"
    path.write_text(f"{HEADER}\n\n{line}\n")
    if problem is None:
        assert len(read_decisions(path)) == 1
        return
    with pytest.raises(DataError, match=rf"reviews\.tsv:3: {problem}"):
        read_decisions(path)


def test_two_decisions_with_one_id_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "reviews.tsv"
    path.write_text(f"{HEADER}\n{LINE}\n{LINE.replace('ann', 'bob')}\n")
    with pytest.raises(DataError, match="tsv:3: line 2 is another decision with this id: '0123"):
        read_decisions(path)


@pytest.mark.parametrize("text", ["", "when\tid\n", "<<<<<<< HEAD\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "reviews.tsv"
    path.write_text(text)
    with pytest.raises(
        DataError, match=r"reviews\.tsv.*(the file is empty|expected the columns when)"
    ):
        read_decisions(path)


def test_decisions_without_id_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no id or time yet: 's1'"):
        write_decisions(tmp_path / "reviews.tsv", [replace(SPLIT, id="")])
    assert not (tmp_path / "reviews.tsv").exists()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not at hand")
def test_git_merges_the_work_of_two(tmp_path: Path) -> None:
    """Two branches add decisions; the union of their lines is all of them."""

    def git(*command: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@y", *command],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    def at(second: int, reviewer: str) -> Decision:
        made = replace(SPLIT, reviewer=reviewer, id="", number=0)
        return made.stamp(f"2026-03-01T09:30:{second:02}.000Z")

    path = tmp_path / "reviews.tsv"
    common, ours, theirs = at(1, "ann"), [at(2, "ann"), at(5, "ann")], [at(3, "bob"), at(4, "bob")]
    git("init", "-q", "-b", "main")
    (tmp_path / ".gitattributes").write_text("reviews.tsv merge=union\n")
    write_decisions(path, [common])
    git("add", ".")
    git("commit", "-qm", "common")
    git("switch", "-qc", "bob")
    write_decisions(path, [common, *theirs])
    git("commit", "-qam", "bob's")
    git("switch", "-q", "main")
    write_decisions(path, [common, *ours])
    git("commit", "-qam", "ann's")
    git("merge", "-q", "bob")
    everything = sorted([common, *ours, *theirs], key=lambda d: d.sort_key)
    assert read_decisions(path) == everything
