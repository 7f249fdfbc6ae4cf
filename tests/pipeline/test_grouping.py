"""Grouping a list of names: what becomes of each entry, whatever the model says."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synsetmine
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.normalization import name_key
from synsetmine.pipeline.grouping import group
from synsetmine.pipeline.name_sets import Grouping
from synsetmine.pipeline.name_vocabulary import LONGEST_NAME
from synsetmine.types import SynonymSets, Term
from tests.support.namemodels import WordModel
from tests.support.strategies import PIECES

WORDS = ("heart", "Heart", "failure", "lung", "LUNG", "of", "ﬁbrosis", "fibrosis", "漢字", "=1+1")
HEART_PAIR = ("failure, heart", "heart failure")
HEARTS = ["heart failure", "Heart Failure", "failure, heart", "lung", "heart failure"]


def names() -> st.SearchStrategy[list[str]]:
    """Lists with synonyms of the word model, duplicates, case variants, and hostile texts."""
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
    hostile = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
    return st.lists(words | hostile | st.just(" heart  failure "), max_size=12)


def grouped(listed: Any, **options: Any) -> Grouping:
    return group(listed, model=WordModel(), **options)


def as_sets(result: Grouping) -> set[frozenset[str]]:
    return {frozenset(name_set.members) for name_set in result.sets}


@settings(deadline=None)
@given(listed=names(), random=st.randoms(use_true_random=False))
def test_the_order_of_the_list_makes_no_difference(listed: list[str], random: Any) -> None:
    shuffled = list(listed)
    random.shuffle(shuffled)
    one, other = grouped(listed), grouped(shuffled)
    assert one == other
    assert list(one.mapping.items()) == list(other.mapping.items())


@settings(deadline=None)
@given(listed=names())
def test_each_entry_is_mapped_to_a_name_of_its_own_set(listed: list[str]) -> None:
    result = grouped(listed)
    assert set(result.mapping) == {entry for entry in listed if entry.strip()}
    members = {name: s.name for s in result.sets for name in s.members}
    assert len(members) == sum(len(s.members) for s in result.sets)  # no name in two sets
    for name_set in result.sets:
        assert name_set.name == name_set.members[0]
        assert len(name_set.members) > 1
    for entry, canonical in result.mapping.items():
        tidy = " ".join(entry.split())
        assert canonical == members.get(tidy, tidy)
        assert canonical in {member.name for member in result.alone} or canonical in members


@settings(deadline=None)
@given(listed=names())
def test_everything_is_counted(listed: list[str]) -> None:
    result = grouped(listed)
    counts = result.counts
    assert counts.names + counts.missing == len(listed)
    assert counts.names - counts.duplicates == len(result.mapping)
    keys = {name_key(entry) for entry in result.mapping}
    assert counts.variants == len(result.mapping) - len(keys)
    shown = Counter({m.name: m.count for s in result.sets for m in s.entries})
    shown.update({member.name: member.count for member in result.alone})
    assert shown == Counter(" ".join(entry.split()) for entry in listed if entry.strip())


@settings(deadline=None)
@given(listed=names())
def test_duplicates_change_counts_alone(listed: list[str]) -> None:
    once, twice = grouped(listed), grouped(listed * 2)
    assert once.mapping == twice.mapping
    assert as_sets(once) == as_sets(twice)
    assert twice.counts.duplicates == once.counts.duplicates + once.counts.names


@settings(deadline=None)
@given(listed=names())
def test_the_names_of_sets_are_their_own_sets(listed: list[str]) -> None:
    """Grouping the result again changes nothing, but for a model that is of two minds."""
    result = grouped(listed, precision=1.0)  # nothing joins but spellings
    again = grouped(result.mapping.values(), precision=1.0)
    assert all(name == canonical for name, canonical in again.mapping.items())


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(listed=names(), random=st.randoms(use_true_random=False))
def test_the_general_model_takes_any_list(listed: list[str], random: Any) -> None:
    shuffled = list(listed)
    random.shuffle(shuffled)
    result = group(listed)
    assert result == group(shuffled)
    assert set(result.mapping) == {entry for entry in listed if entry.strip()}
    for name_set in result.sets:
        assert name_set.probability is None or name_set.probability > 0


def test_the_general_model_takes_hostile_names() -> None:
    listed = [
        "a" * 9_999,
        "a " * 4_999,
        "😀" * 500,
        "\u202e" * 300,
        "e" + "\u0301" * 2_000,
        "\0",
        "—",
    ]
    listed += [
        "Москва",
        "東京都",
        "القاهرة",
        "東京",
        "1",
        "2",
        "3.5",
        "#",
        "(",
        "((",
        "_",
        "a_b",
        "a b",
    ]
    result = group(listed)
    assert set(result.mapping) == set(listed)
    assert result == group(reversed(listed))


def test_spellings_are_one_name_and_frequency_decides() -> None:
    result = grouped(HEARTS)
    (name_set,) = result.sets
    assert name_set.members == ("heart failure", "Heart Failure", "failure, heart")
    assert name_set.probability == 1.0
    assert [member.count for member in name_set.entries] == [2, 1, 1]
    assert result.mapping["Heart Failure"] == "heart failure"
    assert result.mapping["lung"] == "lung"
    assert repr(result) == (
        "Grouping(5 names: 1 set with 3 names; 1 stands alone; 1 duplicate; 1 spelling variant)"
    )


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        (["a b", "B, A", "b a", "b a"], "b a"),  # the most frequent
        (["a bb", "bb, a", "bb a x"], "bb a x"),  # most letters
        (["HEART A", "a heart"], "a heart"),  # not all capitals
        (["usa", "USA", "Usa"], "USA"),  # unless it is short
        (["failure, heart", "heart failure"], "heart failure"),  # fewest other characters
        (["b a", "a b"], "a b"),  # the alphabet
        (["Y heart", "y  heart", "a heart y", "a heart y"], "a heart y"),
        (["Y heart", "y  heart", "Y HEART", "heart y", "heart y"], "Y heart"),  # three and two
    ],
)
def test_the_name_of_a_set(listed: list[str], name: str) -> None:
    (name_set,) = grouped(listed).sets
    assert name_set.name == name


def test_spellings_of_one_name_are_a_set_without_a_probability() -> None:
    result = group(["ＣＯ₂", "co2", "CO2"], model=None)  # no model is needed
    assert [s.members for s in result.sets] == [("CO2", "co2", "ＣＯ₂")]
    assert result.sets[0].probability is None


def test_the_model_gets_each_name_once_in_the_order_of_names() -> None:
    model = WordModel()
    group([*HEARTS, None, "", "a"], model=model)
    assert model.vocabularies == [
        (Term("a"), Term("failure, heart"), Term("heart failure"), Term("lung"))
    ]


def test_probabilities_are_those_of_the_whole_set() -> None:
    """The model judged `a b c` before the others came."""
    (name_set,) = grouped(["a b c", "a b c d", "a b c e"]).sets
    by_name = {member.name: member.probability for member in name_set.entries}
    assert by_name["a b c"] == pytest.approx(0.75)
    assert name_set.probability == pytest.approx((0.75 + 0.6) / 2)


# --- Known sets and cannot-link pairs ------------------------------------------------------------


def test_new_names_join_known_sets() -> None:
    known = {"Big Apple": ["New York City"], "Gotham": ["Bat City"], "Paris": ["City of Light"]}
    result = grouped(
        ["york new city", "NEW YORK CITY", "Paris", "lung"], known=known, precision=0.4
    )
    assert [(s.id, s.name) for s in result.sets] == [("Big Apple", "Big Apple"), ("Paris", "Paris")]
    apple = result.sets[0]
    assert apple.members == ("Big Apple", "New York City", "NEW YORK CITY", "york new city")
    assert [m.known for m in apple.entries] == [True, True, False, False]
    assert [m.count for m in apple.entries] == [0, 0, 1, 1]
    assert [m.probability for m in apple.entries] == [None, None, None, pytest.approx(0.5)]
    assert result.mapping["york new city"] == "Big Apple"
    assert result.mapping["Paris"] == "Paris"


@pytest.mark.parametrize(
    "known",
    [
        SynonymSets.of([[Term("a b", "m.1"), Term("x")], [Term("c")]], ["E1", "E2"]),
        [["a b", "x"], ["c"]],
        (names for names in (("a b", "x"), ("c",))),
    ],
)
def test_known_sets_of_all_kinds(known: Any) -> None:
    result = grouped(["b a"], known=known, precision=0.4)
    assert [s.members for s in result.sets] == [("a b", "x", "b a")]


def test_a_name_of_two_known_things_stands_alone() -> None:
    known = [["Mercury", "quicksilver"], ["mercury", "first planet"]]
    result = grouped(["MERCURY", "planet first"], known=known)
    assert result.mapping == {"MERCURY": "MERCURY", "planet first": "first planet"}
    assert result.counts.ambiguous == 1


def test_known_names_alone_need_no_model() -> None:
    result = group(["a", "B"], known=[["a", "b"]])
    assert [s.members for s in result.sets] == [("a", "b", "B")]


@pytest.mark.parametrize("known", ["ab", ["ab"], [[]], [["a", " "]], 3, [["a", 1]]])
def test_bad_known_sets(known: Any) -> None:
    with pytest.raises(DataError):
        grouped(["a"], known=known)


def test_never_separates() -> None:
    never = [("Failure, HEART", "heart failure"), ("lung", "nothing")]
    result = grouped(HEARTS, never=never)
    assert result.mapping["failure, heart"] == "failure, heart"
    assert result.counts.unused_pairs == 1
    assert not any({p.name, p.other} == {"failure, heart", "heart failure"} for p in result.unsure)


@pytest.mark.parametrize(
    "options",
    [
        {"never": [("lung", "HEART failure")]},
        {"types": ["disease", "disease", "organ"]},
        {"known": [["heart failure", "x"]], "never": [("x", "lung")]},
    ],
)
def test_pairs_that_must_share_a_set_and_cannot_are_counted(options: dict[str, Any]) -> None:
    names, always = ["heart failure", "failure, heart", "lung"], [("lung", "heart failure")]
    result = group(names, always=always, **options)
    assert result.mapping["lung"] == "lung"
    assert result.counts.unkept_pairs == 1
    kept = group([*names, "y"], always=[*always, ("y", "lung")])
    assert kept.mapping["lung"] == kept.mapping["heart failure"] == kept.mapping["y"]
    assert kept.counts.unkept_pairs == 0


def test_pairs_may_be_files(tmp_path: Path) -> None:
    (tmp_path / "never.csv").write_text('name,other\n"failure, heart",heart failure\n')
    for path in (tmp_path / "never.csv", str(tmp_path / "never.csv")):
        assert group(HEARTS, never=path) == group(HEARTS, never=[HEART_PAIR])
        assert group(HEARTS, always=path) == group(HEARTS, always=[HEART_PAIR])


def test_never_separates_new_names_from_known_sets() -> None:
    result = grouped(["b a", "a, b"], known=[["a b"]], never=[("b a", "A B")])
    assert result.mapping == {"b a": "b a", "a, b": "a b"}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("US", "us"), "two spellings of one name cannot be separated: 'US / us'"),
        (("x", "Y"), "both names of this cannot-link pair are in one known set: 'x / Y'"),
        (("x",), "expected pairs of names"),
        ("xy", "expected pairs of names"),
    ],
)
def test_pairs_that_cannot_hold(pair: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        grouped(["US", "z"], known=[["x", "y"]], never=[pair])


# --- Thresholds ----------------------------------------------------------------------------------


def test_unsure_pairs_are_nearest_to_the_threshold() -> None:
    result = grouped(["a b", "a b c", "a b c d", "z"], precision=0.7)
    assert [p.probability for p in result.unsure[:2]] == [pytest.approx(2 / 3), 0.75]
    assert len(grouped(["a b", "a b c", "z"], unsure=1).unsure) == 1
    assert grouped(["a b", "a b c", "z"], unsure=0).unsure == ()


def test_precision_is_a_level_or_a_threshold() -> None:
    thresholds = [grouped(["a"], precision=p).threshold for p in ("bold", "balanced", "cautious")]
    assert thresholds == sorted(thresholds)
    assert grouped(["a"], precision=0.3).threshold == grouped(["a"], precision="0.3").threshold
    wrong: Any
    for wrong in ("careful", 1.5, -0.1, float("nan"), None, []):
        with pytest.raises(DataError, match="the precision must be cautious, balanced, bold or a"):
            grouped(["a"], precision=wrong)


# --- Strange lists -------------------------------------------------------------------------------


def test_an_empty_list_and_one_name() -> None:
    assert repr(group([])) == "Grouping(0 names: 0 sets with 0 names; 0 stand alone)"
    assert group([None, " "]).counts.missing == 2
    assert group(["a"]).mapping == {"a": "a"}
    assert len(group([]).to_arrow()) == 0


def test_a_text_of_a_megabyte_stands_alone() -> None:
    long = "heart failure " * 80_000
    marks = "e" + "\u0301\u0323" * 500_000
    result = grouped([long, long.upper(), marks, "heart failure"])
    assert result.counts.too_long == 2
    assert len(result.sets) == 1  # two spellings of the long one
    assert result.mapping["heart failure"] == "heart failure"
    assert all(len(m.name) > LONGEST_NAME for m in result.sets[0].entries)


def test_mixed_scripts() -> None:
    listed = [
        "Москва",
        "МОСКВА",
        "東京",
        "Tokyo",
        "القاهرة",
        "Αθήνα",
        "ΑΘΉΝΑ",
        "😀",
        "|| x",
        "a||b",
    ]
    result = grouped(listed)
    assert as_sets(result) == {frozenset({"Москва", "МОСКВА"}), frozenset({"Αθήνα", "ΑΘΉΝΑ"})}
    assert set(result.mapping) == set(listed)


# --- What Python programs hold -------------------------------------------------------------------


def _generator() -> Iterator[str | None]:
    yield from [*HEARTS, None]


@pytest.mark.parametrize(
    "listed",
    [
        [*HEARTS, None],
        (*HEARTS, float("nan")),
        _generator(),
        np.array([*HEARTS, ""]),
        np.array([*HEARTS, None], dtype=object),
        pa.array([*HEARTS, None]),
        pa.table({"id": range(6), "name": [*HEARTS, None]}),
        [*map(np.str_, HEARTS), np.float64("nan")],
    ],
    ids=lambda listed: type(listed).__name__,
)
def test_lists_of_all_kinds(listed: Any) -> None:
    result = grouped(listed)
    assert result.mapping == grouped(HEARTS).mapping
    assert result.counts.missing == 1
    assert all(type(name) is str for name in result.mapping)


def test_series_and_frames_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    expected = grouped(HEARTS).mapping
    for listed in ([*HEARTS, None], [*HEARTS, pandas.NA], [*HEARTS, float("nan")]):
        frame = pandas.DataFrame({"id": range(6), "Title": listed})
        assert grouped(frame["Title"]).mapping == expected
        assert grouped(frame).mapping == expected
        assert grouped(frame, column="Title").mapping == expected
        assert grouped(frame.rename(columns={"Title": "n"}), column="n").counts.missing == 1
    assert grouped(pandas.Series(HEARTS, dtype="category")).mapping == expected
    mapped = pandas.Series(HEARTS).map(grouped(HEARTS).mapping)
    assert mapped.tolist() == ["heart failure"] * 3 + ["lung", "heart failure"]
    with pytest.raises(
        DataError, match=r"cannot tell which column has the names; name one of a, b"
    ):
        grouped(pandas.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(DataError, match=r"a name must be a string \(item 0\): 1"):
        grouped(pandas.Series([1, 2]))


def test_series_and_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    expected = grouped(HEARTS).mapping
    frame = polars.DataFrame({"id": range(6), "label": [*HEARTS, None]})
    for listed in (frame, frame["label"]):
        assert grouped(listed).mapping == expected
        assert grouped(listed).counts.missing == 1
    assert grouped(frame, column="label").mapping == expected


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("names.txt", "expected several names, not one string; `read_names` reads a file"),
        (Path("names.txt"), "expected several names, not one string"),
        (b"names", "expected several names"),
        (3, "expected a list of names: 3"),
        (["a", 3], r"a name must be a string \(item 1\): 3"),
        (["a", b"b"], r"a name must be a string \(item 1\): b'b'"),
        (["a", "\ud800"], r"not valid Unicode \(item 1\)"),
        (np.zeros((2, 2)), "a name must be a string"),
        ([["a"], ["b"]], "a name must be a string"),
        (
            pa.table({"name": ["a"], "x": ["b"]}),
            "no column has this name; the columns are name, x: 'y'",
        ),
    ],
)
def test_what_is_no_list_of_names(listed: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        grouped(listed, column="y" if isinstance(listed, pa.Table) else None)


def test_only_tables_have_columns() -> None:
    with pytest.raises(DataError, match="only a table has columns"):
        grouped(["a"], column="name")


# --- Frames --------------------------------------------------------------------------------------


def test_frames_have_a_row_a_name() -> None:
    result = grouped(HEARTS)
    rows = result.to_arrow().to_pylist()
    assert [row["name"] for row in rows] == [
        "heart failure",
        "Heart Failure",
        "failure, heart",
        "lung",
    ]
    assert {row["canonical"] for row in rows} == {"heart failure", "lung"}
    assert rows[-1] == {
        "set_id": None,
        "canonical": "lung",
        "name": "lung",
        "count": 1,
        "probability": None,
        "known": False,
    }
    assert len(result.to_arrow(alone=False)) == 3


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_pandas_and_polars(library: Any) -> None:
    pytest.importorskip(library)
    frame = grouped(HEARTS).to_frame(library)
    assert type(frame).__module__.startswith(library)
    assert list(frame["name"]) == ["heart failure", "Heart Failure", "failure, heart", "lung"]


def test_a_frame_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(SynsetmineError, match="to_frame needs polars: pip install polars"):
        grouped(HEARTS).to_frame("polars")
    with pytest.raises(DataError, match="expected 'pandas' or 'polars': 'arrow'"):
        grouped(HEARTS).to_frame("arrow")  # type: ignore[arg-type]


def test_grouping_needs_neither_torch_nor_a_network() -> None:
    code = (
        "import sys, socket\n"
        "socket.socket.connect = None\n"
        "import synsetmine\n"
        "result = synsetmine.group(['heart failure', 'Heart Failure', 'lung', 'lungs'])\n"
        "assert result.sets, result\n"
        "heavy = {'torch', 'pandas', 'polars', 'sentence_transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_has_the_names() -> None:
    assert synsetmine.group is group
    assert synsetmine.Grouping is Grouping


def test_unsure_pairs_are_looked_for_beyond_those_of_known_sets() -> None:
    known = [[f"heart w{n}", f"heart v{n}"] for n in range(30)]  # pairs at the threshold
    new = ["lung fibrosis", "lung failure"]
    unsure = grouped(new, known=known, unsure=5, precision=1 / 3).unsure
    assert set(unsure[0][:2]) == set(new)
    assert len(unsure) == 5


def test_a_set_keeps_its_own_id_beside_known_names_that_are_not_compared() -> None:
    known = SynonymSets.of([[Term("x", "1")], [Term("x", "2")]], ["s0", "s1"])
    (name_set,) = grouped(HEARTS, known=known).sets
    assert name_set.id not in known.ids
    assert name_set.name == "heart failure"
