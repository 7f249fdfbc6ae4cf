"""The page on sources: its parts against naive computations, and the whole on tiny sets."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

import synsetmine
from experiments.calibration import Decisions, half_alone
from experiments.sources.__main__ import main
from experiments.sources.measurement import (
    CSLS,
    CSLS_DISTANCES,
    NEIGHBOURS,
    ROWS,
    CslsLinkage,
    SourceScores,
    measure,
)
from experiments.sources.page import DIFFERENCES, differences, transfer
from experiments.sources.source import SET_NAMES, Source, halves, pairs_only, read_sources
from synsetmine.errors import DataError
from synsetmine.models.general import load_general
from synsetmine.rivals.base import ClusteringTask
from synsetmine.rivals.linkage import Link
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews

PLACES = ("Lima", "Oslo", "Cairo", "Delhi", "Quito", "Tunis", "Sofia", "Hanoi", "Accra", "Dakar")
KINDS = {"university": "univ.", "airport": "aerodrome", "harbour": "port", "museum": "museums"}


def entities(places: tuple[str, ...] = PLACES) -> list[list[str]]:
    return [
        [f"{place} {kind}", f"{short} of {place}", f"the {place} {kind}"]
        for place in places
        for kind, short in KINDS.items()
    ]


def source(name: str = "places", places: tuple[str, ...] = PLACES) -> Source:
    sets = SynonymSets.of(
        [Term(surface, str(number)) for surface in names]
        for number, names in enumerate(entities(places))
    )
    return Source(name, sets, is_list=False)


@pytest.fixture(scope="module")
def measured() -> list[SourceScores]:
    sources = [source(), source("few", PLACES[:4])]
    return [measure(one, encoder=None, names=50, seeds=2) for one in sources]


def write_files(folder: Path) -> tuple[Path, Path]:
    """A file of sets, and a folder with a name list."""
    sets, lists = folder / "places.jsonl", folder / "lists"
    lists.mkdir()
    lines = [json.dumps({"id": str(i), "terms": names}) for i, names in enumerate(entities())]
    sets.write_text("\n".join(lines) + "\n", encoding="utf8")
    records = [json.dumps({"names": names}) for names in [*entities(PLACES[:5]), ["Alone"]]]
    (lists / "towns.jsonl.gz").write_bytes(gzip.compress("\n".join(records).encode()))
    return sets, lists


def test_halves_share_no_name_and_keep_within_their_size() -> None:
    sets = source().sets
    training, test = halves(sets, names=30, seed=1)
    assert len(training) == len(test) == 10
    assert len({term.surface for term in (*training.terms, *test.terms)}) == 60
    assert all(tuple(term.sense for term in members) == ("",) * 3 for members in training)
    assert halves(sets, names=30, seed=1) == (training, test)
    assert halves(sets, names=30, seed=2) != (training, test)


def test_halves_cut_large_sets_and_take_a_repeated_name_once() -> None:
    large = [Term(f"name {number}", "a") for number in range(40)]
    repeated = [Term("NAME 1", "b"), Term("other", "b"), Term("third", "b")]
    first, second = halves(SynonymSets.of([large, repeated]), names=50, seed=0)
    assert sorted([*first.sizes, *second.sizes])[-1] == SET_NAMES
    folded = [term.surface.casefold() for term in (*first.terms, *second.terms)]
    assert len(set(folded)) == len(folded)


def test_pairs_only_cuts_each_set_to_two_of_its_terms() -> None:
    sets = SynonymSets.of([map(Term, "abcde"), map(Term, "fg"), map(Term, "hijk")])
    drawn = set()
    for seed in range(20):
        cut = pairs_only(sets, seed=seed)
        assert cut.sizes == (2, 2, 2)
        whole_of = {term: sets.label_of(term) for term in cut.terms}
        assert [len({whole_of[term] for term in members}) for members in cut] == [1, 1, 1]
        drawn |= set(cut.terms)
    assert drawn == set(sets.terms)


@pytest.mark.parametrize("link", ["average", "complete"])
def test_csls_linkage_equals_a_naive_computation(link: Link) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(25, 4)).astype(np.float32)
    terms = tuple(Term(f"t{number:02}") for number in range(25))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    density = [
        fmean(sorted(float(unit[i] @ unit[j]) for j in range(25) if j != i)[-NEIGHBOURS:])
        for i in range(25)
    ]
    naive = [
        max(1 - (float(unit[i] @ unit[j]) - (density[i] + density[j]) / 2), 0.0)
        for i in range(25)
        for j in range(i + 1, 25)
    ]
    tree = linkage(naive, method=link)
    shuffled = random.Random(1).sample(terms, 25)
    method = CslsLinkage(view="vectors", link=link)
    task = ClusteringTask(terms=tuple(shuffled), views=TermViews((TermVectors(terms, rows),)))
    distances = (0.5, 0.7, 0.9, 1.1)
    grouped = method.cluster(task, [{"distance": distance} for distance in distances])
    for distance, labels in zip(distances, grouped, strict=True):
        expected = fcluster(tree, distance, criterion="distance")
        order = [terms.index(term) for term in shuffled]
        assert adjusted_rand_score(expected[order], labels) == 1
        assert 1 <= len(set(labels.tolist())) <= 25


@pytest.mark.slow
def test_a_rival_takes_its_threshold_from_the_training_half(measured: list[SourceScores]) -> None:
    encoder = load_general().encoder

    def aris(sets: SynonymSets) -> list[float]:
        unit = encoder.encode([term.surface for term in sets.terms])
        distances = np.maximum(1 - unit @ unit.T, 0)[np.triu_indices(len(unit), 1)]
        tree = linkage(distances, method="average")
        gold = sets.labels(sets.terms)
        grid = [0.025 * step for step in range(2, 39)]
        return [adjusted_rand_score(gold, fcluster(tree, t, "distance")) for t in grid]

    training, test = halves(source().sets, names=50, seed=0)
    on_training, on_test = aris(training), aris(test)
    best = {round(on_test[i], 6) for i, v in enumerate(on_training) if v == max(on_training)}
    ari = measured[0].scores["strings"][0].ari["average link, cosine"]
    assert round(ari, 6) in best


def test_every_row_is_measured_for_every_seed(measured: list[SourceScores]) -> None:
    for one in measured:
        assert list(one.scores) == ["strings"]
        for scores in one.scores["strings"]:
            assert tuple(scores.ari) == ROWS
            assert all(-1 <= ari <= 1 for ari in scores.ari.values())
            assert scores.ari[CSLS] == scores.csls.ari


def test_same_seeds_same_numbers(measured: list[SourceScores]) -> None:
    again = measure(measured[1].source, encoder=None, names=50, seeds=2)
    assert again.scores == measured[1].scores
    assert again.decisions["strings"].error() == measured[1].decisions["strings"].error()


def test_a_later_first_seed_draws_the_later_halves(measured: list[SourceScores]) -> None:
    later = measure(measured[1].source, encoder=None, names=50, seeds=1, first_seed=1)
    assert later.scores["strings"] == measured[1].scores["strings"][1:]


def test_the_threshold_of_other_sources(measured: list[SourceScores]) -> None:
    first, second = measured
    expected = []
    for ours, theirs in zip(first.scores["strings"], second.scores["strings"], strict=True):
        assert len(theirs.csls.training) == len(CSLS_DISTANCES)
        expected.append(ours.csls.test[theirs.csls.training.index(max(theirs.csls.training))])
    assert transfer(measured, first, "strings") == expected
    assert transfer([first], first, "strings") is None
    rows = differences(measured, "strings")
    assert [len(row) for row in rows] == [len(DIFFERENCES)] * 2
    general = np.mean([scores.ari["general"] for scores in first.scores["strings"]])
    assert rows[0][2] == pytest.approx(100 * (general - np.mean(expected)))


def test_calibration_error_and_vocabularies() -> None:
    decisions = Decisions(np.array([0.95, 0.95, 0.15, 0.1]), np.array([True, False, False, False]))
    assert decisions.error() == pytest.approx(0.5 * 0.45 + 0.5 * 0.125)
    (gold,) = half_alone(source().sets, names=40, seeds=1)
    assert len(gold.terms) == 40
    assert sum(size == 1 for size in gold.sizes) == pytest.approx(20, abs=2)


@pytest.mark.slow
def test_the_page_says_which_sources_the_weights_have_seen(tmp_path: Path) -> None:
    sets, lists = write_files(tmp_path)
    packaged = Path(synsetmine.__file__).parent / "models" / "general" / "weights"
    shutil.copytree(packaged, tmp_path / "left-out" / "0")
    config = tmp_path / "left-out" / "0" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text("utf8")) | {"lists": ["rivers"]}))
    common = [f"--sets=places={sets}", f"--lists={lists}", "--seeds=1", "--names=60"]
    main([*common, f"--out={tmp_path / 'seen'}"])
    page = (tmp_path / "seen" / "sources.md").read_text("utf8")
    assert "**The packaged weights were learned from a part of towns.**" in page
    assert "names in a test half; the weights have seen a part of it." in page
    assert "places: no source of the packaged weights" in page
    assert all(page.count(f"\n| {row} |") == 2 for row in ROWS)
    assert str(tmp_path) not in page
    assert "--sets places=" in page
    assert {path.name for path in (tmp_path / "seen").iterdir()} == {
        "sources.md",
        "sources.json",
        "sources-places.svg",
        "sources-towns.svg",
    }
    main([*common, f"--left-out={tmp_path / 'left-out'}", f"--out={tmp_path / 'left'}"])
    page = (tmp_path / "left" / "sources.md").read_text("utf8")
    assert "The packaged weights were learned from" not in page
    assert "The weights for towns were learned without that list." in page


def test_missing_files_and_wrong_names(tmp_path: Path) -> None:
    sets, lists = write_files(tmp_path)
    for arguments, message in (
        (["--sets", "places=missing.set"], "missing.set: no such file or folder"),
        (["--sets", str(sets)], "expected NAME=PATH"),
        ([], "no sources: give --sets or --lists"),
        (["--lists", str(lists), "--only", "rivers"], "no such name list in this folder: 'rivers'"),
        (["--lists", str(tmp_path / "nowhere")], "no name list"),
        (["--lists", str(lists), "--left-out", str(tmp_path)], "no weights of"),
        (["--lists", str(lists), "--sets", f"towns={sets}"], "two sources have this name: 'towns'"),
    ):
        with pytest.raises(SystemExit, match=r"^error: ") as caught:
            main([*arguments, "--out", str(tmp_path / "out")])
        assert message in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_source_without_sets(tmp_path: Path) -> None:
    alone = tmp_path / "alone.jsonl"
    alone.write_text('{"id": "a", "terms": ["lonely"]}\n', encoding="utf8")
    (one,) = read_sources({"alone": alone}, None, None)
    with pytest.raises(DataError, match="two or more sets of two names: 'alone'"):
        measure(one, encoder=None, names=50, seeds=1)
