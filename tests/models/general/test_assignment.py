"""New names are assigned to known sets: a made-up world with one answer for each name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from synsetmine.models.general import load_general
from synsetmine.models.general.assignment import (
    Assignments,
    _draw,
    assign,
)
from synsetmine.models.general.candidate_sets import CandidateView, KnownNames
from synsetmine.models.general.name_table import NameTable
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pair_evidence import Meanings
from synsetmine.models.general.settings import AssignmentSettings
from synsetmine.models.task import joins
from synsetmine.text.kinds import is_abbreviation
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews
from tests.support.nameworlds import NameWorld, evidence_of, name_world, unit_vectors

SETTINGS = AssignmentSettings(fewest_queries=100)


@cache
def world() -> NameWorld:
    return name_world(300)


def assigned(
    terms: Sequence[str], *, threads: int = 1, settings: AssignmentSettings = SETTINGS
) -> Assignments:
    known = KnownNames.of(world().sets)
    tables = [load_general().encoder.encode([*known.names, *terms])]
    result = assign(
        known,
        terms,
        encoding(tables),
        evidence=world().evidence,
        settings=settings,
        threads=threads,
    )
    assert result is not None
    return result


def encoding(tables: Sequence[Floats]) -> Callable[[Sequence[str]], list[Floats]]:
    """An encoder that has these rows for the first names, and knows no other names."""

    def encode(names: Sequence[str]) -> list[Floats]:
        return [np.pad(rows, ((0, len(names) - len(rows)), (0, 0))) for rows in tables]

    return encode


@cache
def assigned_world() -> Assignments:
    return assigned([name for name, _ in world().new])


def best(part: Sequence[tuple[str, int]]) -> list[tuple[int, float, int]]:
    """The best set of each name, its probability, and the number of the true set."""
    number_of = {name: number for number, (name, _) in enumerate(world().new)}
    rows = []
    for name, home in part:
        label, probability, _ = next(assigned_world().of(number_of[name]), (-1, 0.0, -1))
        rows.append((label, probability, home))
    return rows


def test_variants_find_their_sets() -> None:
    rows = best(world().variants)
    assert len(rows) > 50
    assert all(label == home and probability >= 0.9 for label, probability, home in rows)


def test_abbreviations_find_their_sets_by_the_text() -> None:
    rows = best(world().abbreviations)
    right = [label == home and probability >= 0.5 for label, probability, home in rows]
    assert sum(right) >= 0.95 * len(right)


def test_siblings_are_not_proposed() -> None:
    assert max(probability for _, probability, _ in best(world().siblings)) < 0.2


def test_names_of_unknown_entities_stay_out() -> None:
    assert max(probability for _, probability, _ in best(world().strangers)) < 0.05


def test_probabilities_are_calibrated() -> None:
    """Of names that are right in half of the cases none is sure, and means are near the truth."""
    unsure = best(world().unsure)
    assert 0.2 < np.mean([label == home for label, _, home in unsure]) < 0.8
    assert all(0.05 < probability < 0.9 for _, probability, _ in unsure)
    rows = best(world().new)
    right = np.array([label == home for label, _, home in rows])
    probabilities = np.array([probability for _, probability, _ in rows])
    assert abs(probabilities.mean() - right.mean()) < 0.06
    for low, high in ((0, 0.1), (0.9, 1.01)):
        chosen = (low <= probabilities) & (probabilities < high)
        assert chosen.sum() > 50
        assert abs(probabilities[chosen].mean() - right[chosen].mean()) < 0.05


def test_the_rehearsal_foretells_the_result() -> None:
    level = assigned_world().rehearsal.level(0.5)
    assert level.hidden >= SETTINGS.fewest_queries
    assert level.precision >= 0.95
    assert level.recall >= 0.85
    assert assigned_world().rehearsal.joined_without_set(0.5) <= 0.1
    assert assigned_world().rehearsal.calibration_error() <= 0.1


def test_sets_of_a_name_are_sorted_and_name_a_member() -> None:
    known = KnownNames.of(world().sets)
    for number in range(len(world().new)):
        rows = list(assigned_world().of(number))
        probabilities = [probability for _, probability, _ in rows]
        assert probabilities == sorted(probabilities, reverse=True)
        labels = [label for label, _, _ in rows]
        assert len(set(labels)) == len(labels)
        assert all(known.labels[nearest] == label for label, _, nearest in rows)


def columns(result: Assignments) -> list[np.ndarray]:
    return [result.starts, result.sets, result.probabilities, result.nearest]


def test_threads_and_another_run_change_nothing() -> None:
    again = assigned([name for name, _ in world().new], threads=3)
    for one, other in zip(columns(assigned_world()), columns(again), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_seed_decides_which_names_are_hidden() -> None:
    other = assigned(["a name"], settings=replace(SETTINGS, seed=1)).rehearsal
    assert other.hidden.tolist() != assigned_world().rehearsal.hidden.tolist()


def test_too_few_names_are_not_rehearsed() -> None:
    known = KnownNames.of(world().sets[:20])
    tables = [unit_vectors(len(known.names) + 1, 8, 0)]
    assert assign(known, ["a name"], encoding(tables), settings=SETTINGS) is None
    assert assign(KnownNames.of([]), ["a name"], encoding([unit_vectors(1, 8, 0)])) is None


@pytest.mark.parametrize("count", [1, 2])
def test_few_large_sets_teach_nothing(count: int) -> None:
    """With one set all candidates are right; a rehearsal needs both outcomes in both halves."""
    sets = [[f"{part} cell {number}" for number in range(400)] for part in "ab"[:count]]
    known = KnownNames.of(sets)
    tables = [unit_vectors(len(known.names) + 1, 8, 0)]
    result = assign(known, ["d cell 1"], encoding(tables), settings=SETTINGS)
    assert result is None


def test_without_terms_there_is_a_rehearsal() -> None:
    result = assigned([])
    assert result.starts.tolist() == [0]
    assert not len(result.sets)
    assert result.rehearsal.level(0.5).recall > 0.8


def test_vectors_of_the_corpus_join_what_no_string_connects() -> None:
    """Names of a set lie near each other in a corpus; a quarter of the known names is not in it."""
    rng = np.random.default_rng(0)
    words = [
        f"{a}{b}{c}"
        for a in "bdfgk"
        for b in ("ala", "oro", "imu")
        for c in ("bix", "dun", "fet", "gow", "hys", "jap", "kil", "lem", "mor", "nub")
    ]
    count = len(words) // 5 * 5
    shuffled = [words[i] for i in rng.permutation(count)]
    sets = [shuffled[i : i + 4] for i in range(0, count, 5)]
    terms = [shuffled[i + 4] for i in range(0, count, 5)]
    centres = unit_vectors(len(sets), 16, 1)
    labels = np.repeat(np.arange(len(sets)), 4)
    rows = centres[np.concatenate([labels, np.arange(len(sets))])]
    rows = rows + rng.normal(0, 0.05, rows.shape).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[: 4 * len(sets) : 4] = 0
    known = KnownNames.of(sets)
    tables = [load_general().encoder.encode([*known.names, *terms])]
    settings = replace(SETTINGS, fewest_queries=20)
    shares = []
    for contexts in ([], [rows.astype(np.float32)]):
        result = assign(known, terms, encoding(tables), contexts=contexts, settings=settings)
        assert result is not None
        firsts = [next(result.of(number)) for number in range(len(terms))]
        shares.append(np.mean([f[0] == n and f[1] >= 0.5 for n, f in enumerate(firsts)]))
    assert shares[0] < 0.1
    assert shares[1] > 0.8


def test_the_first_name_of_a_set_stays_and_any_other_may_be_hidden() -> None:
    """Also the only one that the corpus has: its set is then absent from the corpus."""
    known = KnownNames.of([[f"name {i}", f"alias {i}", f"synonym {i}"] for i in range(500)])
    seen = np.arange(1500) % 3 == 1
    taught = np.arange(1500) < 1350
    usable = taught & (np.arange(1500) % 7 > 0)
    settings = replace(SETTINGS, removed_share=0.1, unknown_share=0.6)
    rounds = _draw(known, seen, taught, usable, settings)
    assert len(rounds) == settings.rounds
    fold_of: dict[int, int] = {}
    for drawn in rounds:
        assert usable[drawn.queries].all()
        assert taught[drawn.references].all()
        assert not np.intersect1d(drawn.queries, drawn.references).size
        hidden = drawn.queries[drawn.labels >= 0]
        assert (hidden % 3 > 0).all()
        assert np.isin(known.labels[hidden], known.labels[drawn.references]).all()
        assert 0.35 < seen[hidden].mean() < 0.65
        removed = drawn.queries[drawn.labels < 0]
        assert not np.isin(known.labels[removed], known.labels[drawn.references]).any()
        for query, fold in zip(drawn.queries.tolist(), drawn.folds.tolist(), strict=True):
            assert fold_of.setdefault(int(known.labels[query]), fold) == fold
    assert len({tuple(drawn.queries.tolist()) for drawn in rounds}) == len(rounds)
    weights = np.concatenate([drawn.weights for drawn in rounds])
    labels = np.concatenate([drawn.labels for drawn in rounds])
    assert weights[labels < 0].sum() / weights.sum() == pytest.approx(0.6)


def test_held_out_sets_teach_nothing_and_their_names_are_new_without_them() -> None:
    sets = SynonymSets.of([*map(tuple, world().sets)])
    held_out = frozenset(sets.ids[::5])
    taught = sets.pick(n for n, set_id in enumerate(sets.ids) if set_id not in held_out)
    model, views = load_general(), TermViews((), None, evidence=world().evidence)
    term = Term(world().sets[1][0] + "s")
    one = model.assign([term], sets, views, held_out=held_out)
    assert one is not None
    assert one.rehearsal is not None
    every = model.assign([term], sets, views)
    assert every is not None
    assert every.rehearsal is not None
    assert len(one.rehearsal.hidden) < len(every.rehearsal.hidden)
    assert every.without_held_out is None
    without = one.without_held_out
    assert without is not None
    assert without.sets == taught
    hidden = {name for name in sets.terms if name not in taught}
    assert set(without.candidates) == {term, *hidden}
    candidates = [c for own in without.candidates.values() for c in own]
    assert {c.set_id for c in candidates}.isdisjoint(held_out)
    kept = [c.set_id for c in one.candidates[term] if c.set_id not in held_out]
    assert sorted(c.set_id for c in without.candidates[term]) == sorted(kept)
    joined = sum(own[0].probability >= 0.5 for name in hidden if (own := without.candidates[name]))
    assert joined < 0.2 * len(hidden)


def test_an_abbreviation_of_something_else_joins_no_set_by_its_letters() -> None:
    known = KnownNames.of([*world().sets, ["map", "maps", "chart"]])
    encode = encoding([load_general().encoder.encode([*known.names, "MAP"])])
    probabilities = []
    for sentence in ("The map was drawn.", "The mean arterial pressure (MAP) fell."):
        evidence = evidence_of([*world().sentences, sentence])
        result = assign(known, ["MAP"], encode, evidence=evidence, settings=SETTINGS)
        assert result is not None
        values = {label: probability for label, probability, _ in result.of(0)}
        probabilities.append(values.get(len(world().sets), 0.0))
    assert probabilities[0] > 0.9
    assert probabilities[1] == 0


def test_a_new_spelling_of_an_abbreviation_joins_its_set() -> None:
    """Though the set lacks the long form that the corpus has."""
    known = KnownNames.of([*world().sets, ["IL6", "IFNB2", "interferon beta 2"]])
    encode = encoding([load_general().encoder.encode([*known.names, "IL-6"])])
    evidence = evidence_of([*world().sentences, "We measured interleukin-6 (IL-6) twice."])
    result = assign(known, ["IL-6"], encode, evidence=evidence, settings=SETTINGS)
    assert result is not None
    label, probability, _ = next(result.of(0))
    assert label == len(world().sets)
    assert probability > 0.9


def test_terms_whose_only_candidate_is_ruled_out_join_nothing() -> None:
    known = KnownNames.of([*world().sets, ["qqq", "qqqs"]])
    encode = encoding([np.zeros((len(known.names) + 1, 4), np.float32)])
    evidence = evidence_of([*world().sentences, "The quality quotient quota (QQQ) fell."])
    result = assign(known, ["QQQ"], encode, evidence=evidence, settings=SETTINGS)
    assert result is not None
    assert len(known.labels) - 1 not in [known.labels[n] for _, p, n in result.of(0) if p > 0.5]


@pytest.mark.slow
def test_the_order_of_terms_makes_no_difference_to_the_model() -> None:
    large = name_world(500)  # with enough hidden names for the default settings
    sets = SynonymSets.of([[Term(name) for name in members] for members in large.sets])
    terms = [Term(name) for name, _ in large.new]
    views = TermViews(evidence=large.evidence)
    one, other = (load_general().assign(some, sets, views) for some in (terms, terms[::-1]))
    assert one is not None
    assert other is not None
    assert one.candidates == other.candidates
    joined = joins(one, terms, (), 0.5)
    right = [joined[Term(n)].set_id == sets.ids[home] for n, home in large.variants]
    assert all(right)
    assert not any(Term(name) in joined for name, _ in large.siblings)


def test_short_forms_are_those_that_a_check_of_all_pairs_gives() -> None:
    names = [
        *("α-MSH", "alpha-Melanocyte-Stimulating Hormone", "MRIs", "magnetic resonance imaging"),
        *("E. coli", "Escherichia coli", "ECG", "electrocardiogram", "2-ME", "2-mercaptoethanol"),
        *("TNF alpha", "tumour necrosis factor alpha", "HIV", "HIV infection", "II", "WHO"),
        *("the World Health Organization", "IL-2", "interleukin 2", "n.a.", "not available"),
    ]
    known = KnownNames.of([[name] for name in names])
    settings = AssignmentSettings()
    meanings = Meanings(known.names, known.labels, None, settings.same_meaning)
    view = CandidateView(NameTable(names, []), known, [], None, {}, meanings, settings)
    left, right = (grid.ravel() for grid in np.indices((len(names), len(names))))
    is_short = [len(name) <= settings.short_form for name in names]
    expected = [
        is_short[one] != is_short[other] and is_abbreviation(names[one], names[other])
        for one, other in zip(left.tolist(), right.tolist(), strict=True)
    ]
    values = view._abbreviations(left, right)
    assert values.tolist() == expected
    assert 10 < sum(expected) < len(expected) / 4
