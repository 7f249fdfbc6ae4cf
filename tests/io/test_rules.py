"""Rules of `synonyms.txt`, as Lucene reads them, and as sets."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.export import About
from synsetmine.export.solr import write_solr
from synsetmine.io.rules import Rule, read_rules
from synsetmine.io.sets import read_entities, read_sets, write_sets
from synsetmine.runs import MinedSet
from synsetmine.types import SynonymSets
from tests.support.searchentries import nasty_entries, surfaces, writable


def sets_in(folder: Path, text: str, name: str = "synonyms.txt") -> list[list[str]]:
    path = folder / name
    path.write_bytes(text.encode())
    return [list(map(str, members)) for members in read_sets(path)]


# --- Rules ---


def test_a_byte_order_mark_is_a_part_of_the_first_term(tmp_path: Path) -> None:
    (tmp_path / "synonyms.txt").write_text("\ufeffab, cd\n", encoding="utf-8")
    assert read_rules(tmp_path / "synonyms.txt") == [Rule(1, ("\ufeffab", "cd"))]


def test_lines_end_as_java_ends_them(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes("ab, cd\rx1, y1\r\nnew\u2028line, z\x85\x0b1\n".encode())
    assert read_rules(path) == [
        Rule(1, ("ab", "cd")),
        Rule(2, ("x1", "y1")),
        Rule(3, ("new\u2028line", "z\x85\x0b1")),
    ]


def test_a_broken_rule_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text("ab, cd\n\nab, , cd\n")
    with pytest.raises(DataError, match=r"s\.txt:3: an empty term: 'ab, , cd'"):
        read_rules(path)


# --- Rules as sets ---


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("tv, telly,television\n", [["tv", "telly", "television"]]),
        ("# one, two\n\n \nab, cd\r\n", [["ab", "cd"]]),
        ("\ufeffab, cd", [["ab", "cd"]]),
        (r"MI\, acute, heart attack", [["MI, acute", "heart attack"]]),
        (r"a \=> b, \#1", [["a => b", "#1"]]),
        ("ipod, i-pod => iPod touch", [["iPod touch", "ipod", "i-pod"]]),
        ("ipod, i-pod => ipod, i-pod", [["ipod", "i-pod"]]),
        ("ab, cd, ab", [["ab", "cd"]]),
        ("alone", [["alone"]]),
        ("u.k.||m.07ssc, britain||m.07ssc", [["u.k.||m.07ssc", "britain||m.07ssc"]]),
        # Rules with one right side are one set.
        ("ipod => iPod\nab, cd\ni-pod => iPod\n", [["iPod", "ipod", "i-pod"], ["ab", "cd"]]),
        ("ab => x1, y1\ncd => y1, x1\nab => x1, y1", [["x1", "y1", "ab", "cd"]]),
    ],
)
def test_a_rule_is_a_set(text: str, sets: list[list[str]], tmp_path: Path) -> None:
    assert sets_in(tmp_path, text) == sets


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ab, cd\nxy, ab\n", "2: the rule on line 1 already has this term: 'ab'; join the two"),
        ("ab => cd\n\ncd => ef\n", "3: the rule on line 1 already has this term: 'cd'"),
        ("cd, ef\nab => cd\n", "2: the rule on line 1 already has this term: 'cd'"),
        ("ab => cd\nab => ef\n", "2: the rule on line 1 already has this term: 'ab'"),
        ("ab => cd\nxy, zz\nxy => cd\n", "3: the rule on line 2 already has this term: 'xy'"),
        ("ab => cd => ef\n", "1: more than one => in a rule"),
        ("ab, , cd\n", "1: an empty term"),
        ("ab =>\n", "1: a rule without terms on one side: 'ab =>'"),
        ("=> ab\n", "1: a rule without terms on one side"),
        ("ab =>,\n", "1: a rule without terms on one side"),
        (",\n", "1: a rule without terms on one side"),
        ("# nothing\n", " no synonym sets in this file"),
        ("", " no synonym sets in this file"),
    ],
)
def test_a_rule_that_is_no_set_is_an_error(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        sets_in(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/synonyms.txt:{problem}")


def test_broken_rules_are_skipped_on_request(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    path.write_bytes(b"ab, cd\nab, ef\na, , b\nna\xefve, x\ngh, ef\n")
    skipped: list[DataError] = []
    sets = read_sets(path, skipped=skipped)
    assert [list(map(str, members)) for members in sets] == [["ab", "cd"], ["gh", "ef"]]
    assert [error.line for error in skipped] == [2, 3, 4]


def test_a_rule_that_shares_a_term_keeps_the_others_on_request(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    path.write_text("infarct, MI\nheart attack, MI, coronary\nx1, y1 => MI\nz1 => MI\nMI, q1\n")
    skipped: list[DataError] = []
    sets = read_sets(path, skipped=skipped)
    assert [list(map(str, members)) for members in sets] == [
        ["infarct", "MI"],
        ["heart attack", "coronary"],
        ["x1", "y1", "z1"],
    ]
    assert [str(error).partition("; ")[2] for error in skipped] == [
        "only this term is left out, not heart attack, coronary",
        "only this term is left out, not x1, y1",
        "only this term is left out, not z1",
        "join the two rules, or remove the term from one of them",
    ]


def test_a_term_may_be_in_several_entities(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    path.write_text("MI, infarct\nMI, heart attack, coronary\ninfarct, MI\nMI, coronary\n")
    entities = read_entities(path)
    assert [list(map(str, terms)) for terms in entities.values()] == [
        ["MI", "infarct"],
        ["heart attack", "coronary", "MI"],  # a shared name is not preferred by both
    ]
    (tmp_path / "s.set").write_text("c0 {'a', 'b'}\nc1 {'a', 'c'}\n")
    assert [*read_entities(tmp_path / "s.set")] == ["c0", "c1"]


@given(sets=st.lists(st.sets(st.sampled_from("abcdefgh"), min_size=1)))
def test_entities_expand_a_term_as_the_rules_do(
    tmp_path_factory: pytest.TempPathFactory, sets: list[set[str]]
) -> None:
    path = tmp_path_factory.mktemp("rules") / "s.txt"
    path.write_text("".join(f"{', '.join(sorted(one))}\n" for one in sets))
    entities = [{str(term) for term in terms} for terms in read_entities(path).values()]
    assert not any(one < other for one in entities for other in entities)
    for term in "abcdefgh":
        by_rules = {name for one in sets if term in one for name in one}
        assert {name for one in entities if term in one for name in one} == by_rules


def test_the_id_of_a_set_depends_on_its_terms_alone(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("ab, cd\nxy, zz\n")
    (tmp_path / "other.txt").write_text("# new\nnew, newer\nzz, xy\nab => cd\n")
    one, other = read_sets(tmp_path / "one.txt"), read_sets(tmp_path / "other.txt")
    assert one.ids == (other.ids[2], other.ids[1])
    assert not any(name.strip() != name or " " in name for name in one.ids)


def test_a_file_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "s.txt.gz").write_bytes(gzip.compress(b"ab, cd\n"))
    assert [list(map(str, one)) for one in read_sets(tmp_path / "s.txt.gz")] == [["ab", "cd"]]


def test_the_papers_sets_may_be_in_a_txt_file(tmp_path: Path) -> None:
    sets = SynonymSets.of([["a||1", "it's"], ["c"]], ["c0", "c1"])
    write_sets(tmp_path / "x.txt", sets)
    assert read_sets(tmp_path / "x.txt") == sets


@given(sets=nasty_entries())
def test_what_export_writes_is_read_as_sets(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    kept = [one for one in writable("solr", sets) if "||" not in "".join(surfaces(one))]
    names = [name for one in kept for name in surfaces(one)]
    if len(set(names)) < len(names) or not names or any("\r" in name for name in names):
        return
    for explicit in (False, True):
        path = tmp_path_factory.mktemp("rules") / "s.txt"
        write_solr(path, kept, About(title="t", tool="t"), explicit=explicit)
        written = [tuple(map(str, members)) for members in read_sets(path)]
        assert written == [surfaces(one) for one in kept]
