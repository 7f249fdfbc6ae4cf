"""Ids of sets from run to run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from synsetmine.io.sets import lasting_ids, new_id
from synsetmine.types import SynonymSets, Term


def sets(*texts: str, ids: list[str] | None = None) -> SynonymSets:
    return SynonymSets.of([[Term(t) for t in text.split()] for text in texts], ids)


def test_the_same_set_has_the_same_id_everywhere() -> None:
    first, second = sets("a b", "c"), sets("c", "b a", "d")
    here, there = lasting_ids(first), lasting_ids(second)
    assert here["c0"] == there["c1"]
    assert here["c1"] == there["c0"]
    assert len(set(there.values())) == 3


def test_a_set_that_changed_a_little_keeps_its_id() -> None:
    earlier = sets("a b c", "d e", ids=["one", "two"])
    now = lasting_ids(sets("a b x", "d y", "c e"), earlier=earlier)
    assert now["c0"] == "one"
    assert "two" not in now.values()  # each has one term of it, and half is not more than half


def test_known_entities_keep_theirs_whatever_they_hold() -> None:
    earlier = sets("a b", ids=["D01"])
    names = lasting_ids(sets("c d", "a b", ids=["D01", "c1"]), fixed=["D01"], earlier=earlier)
    assert names["D01"] == "D01"
    assert names["c1"] != "D01"


def test_ids_that_drifted_are_not_given_twice() -> None:
    """An id from a hash may be carried to other terms, and the old terms come back."""
    first = sets("a b")
    name = lasting_ids(first)["c0"]
    drifted = sets("x y z", "q r", ids=[name, "other"])
    names = lasting_ids(sets("x y", "a b"), earlier=drifted)
    assert names["c0"] == name
    assert names["c1"] == f"{name}-2"


partitions = st.lists(st.integers(0, 5), min_size=1, max_size=20).map(
    lambda labels: SynonymSets.from_labels([Term(f"t{i}") for i in range(len(labels))], labels)
)


@given(partitions, partitions)
def test_ids_are_unique_and_follow_the_majority(old: SynonymSets, new: SynonymSets) -> None:
    before = lasting_ids(old)
    earlier = SynonymSets(old.sets, tuple(before[i] for i in old.ids))
    names = lasting_ids(new, earlier=earlier)
    assert set(names) == set(new.ids)
    assert len(set(names.values())) == len(names)
    for set_id, members in zip(new.ids, new, strict=True):
        for name, known in zip(earlier.ids, earlier, strict=True):
            shared = len(set(members) & set(known))
            if 2 * shared > max(len(members), len(known)):
                assert names[set_id] == name


def test_many_equal_sets_have_ids_of_their_own_in_linear_time() -> None:
    taken: dict[str, None] = {}
    looked_up = 0

    class Taken:
        def __contains__(self, name: object) -> bool:
            nonlocal looked_up
            looked_up += 1
            return name in taken

    for _ in range(1000):
        taken[new_id([Term("a")], Taken())] = None
    first = next(iter(taken))
    assert list(taken) == [first, *(f"{first}-{number}" for number in range(2, 1001))]
    assert looked_up < 25 * len(taken)
