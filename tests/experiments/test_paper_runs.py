"""The pages of the paper's tables and figures, made as a user makes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from statistics import fmean

import pytest

from experiments import architecture, examples, pages, set_or_pairs, threshold
from experiments.benchmarkdata import benchmarks
from experiments.options import Options
from experiments.paper import EXPERIMENTS
from experiments.trainings import honest_trainings, run_trainings
from synsetmine.models import probabilities
from tests.experiments.test_paper import write_benchmark

ROOT = Path(__file__).parents[2]
# The comparison starts a process for each method and seed: too slow for a smoke run here.
NAMES = [experiment.NAME for experiment in EXPERIMENTS]
PAGES = [f"{name}-nyt" if name in ("comparison", "efficiency") else name for name in NAMES]


def test_the_ranking_case_agrees_with_a_plain_ranking(tmp_path: Path) -> None:
    write_benchmark(tmp_path / "nyt", tables=["word2vec"], british=True)
    options = Options(
        data=tmp_path, work=tmp_path / "work", out=tmp_path, seeds=1, orders=1, quick=True
    )
    page = examples.run(options)
    assert "S = {u.k., britain}" in page
    (benchmark,) = benchmarks(options)
    (training,) = honest_trainings(benchmark, options)
    scorer = run_trainings([training], options)[training].scorer()
    known = [*benchmark.training.terms, *benchmark.test.terms]
    own = [t for t in benchmark.test.terms if t.surface in ("u.k.", "britain")]
    others = [t for t in known if t not in own]
    scored = dict(zip(others, probabilities(scorer, benchmark.vectors, own, others), strict=True))
    best = sorted(others, key=lambda term: -scored[term])
    (seed,) = json.loads((tmp_path / "examples.json").read_text())["nyt word2vec"]["ranking"][
        "seeds"
    ]
    assert [term for term, _ in seed["set_instance"]["top"]] == [str(t) for t in best[:10]]
    ranks = seed["set_instance"]["true ranks"]
    assert {name.partition("||")[0] for name in ranks} >= {"uk", "united_kingdom"}
    assert ranks == {name: 1 + [str(t) for t in best].index(name) for name in ranks}
    uk = next(rank for name, rank in ranks.items() if name.startswith("uk||"))
    assert f"| **uk** | 1 | {uk}.00 ± 0.00 | 1 |" in page
    assert "| indie |  | no such term | 2 | no such term |" in page


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """A smoke run of the pages, as a user starts it."""
    folder = tmp_path_factory.mktemp("paper")
    write_benchmark(folder / "data" / "nyt", tables=["word2vec", "fasttext-no-subword"])
    options = Options(
        data=folder / "data",
        work=folder / "work",
        out=folder / "out",
        seeds=1,
        orders=2,
        quick=True,
    )
    said = drive(options)
    assert f"page {len(NAMES)}/{len(NAMES)}: {NAMES[-1]}, " in said
    return options


def drive(options: Options, *more: str) -> str:
    places = [f"--{name}={getattr(options, name)}" for name in ("data", "work", "out")]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.paper", "--quick", *places, *more],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_page_is_there_with_its_figures_and_plots(smoke: Options) -> None:
    index = (smoke.out / "README.md").read_text("utf-8")
    assert len(NAMES) == 8
    for name in PAGES:
        assert f"({name}.md)" in index
        page = (smoke.out / f"{name}.md").read_text("utf-8")
        assert page.startswith("# ")
        assert json.loads((smoke.out / f"{name}.json").read_text("utf-8"))
        for plot in smoke.out.glob(f"{name}-*.svg"):
            assert f"({plot.name})" in page
    plots = list(smoke.out.glob("*.svg"))
    assert len(plots) >= 11
    for plot in plots:
        assert ET.parse(plot).getroot().tag.endswith("svg")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("data-statistics", "| documents | 118,664 |  | 1,554,433 |"),
        ("data-statistics", "| test sets | 117 | 30 |"),
        ("data-statistics", "| NYT | word2vec | the authors' file, 10-d | 100.0 % | 100.0 % |"),
        ("data-statistics", "training sets 120 instead of 1,273"),
        ("data-statistics", "Not at hand, so not counted: PubMed, Wiki."),
        ("comparison-nyt", "| Louvain | "),
        ("comparison-nyt", " | 21.83 ± 0.00 | 30.58 ± 0.00 | 90.13 ± 0.00 |"),
        ("comparison-nyt", "## NYT, 2 tables of vectors"),
        ("comparison-nyt", "the paper states 44.91 ± 2.16/46.37 ± 1.92/90.62 ± 1.53"),
        ("efficiency-nyt", "| SynSetMine | "),
        ("efficiency-nyt", " | 37 | 5.8 |"),
        ("architecture", "| no-pt | 0.82 | "),
        ("architecture", "| both-250-500 | 48.89 | "),
        ("architecture", "A smoke run on few sets: its figures mean nothing."),
        ("set-or-pairs", "| averaged pairs | "),
        ("negatives", "| share-token | "),
        ("threshold", "| 0.9 | "),
        ("examples", "{u.k., britain} are not terms of one test set here: nothing to rank."),
        ("examples", "| found set | {chief executive officier, ceo} | no such term |"),
    ],
)
def test_pages_hold_the_papers_values_beside_ours(smoke: Options, name: str, said: str) -> None:
    assert said in (smoke.out / f"{name}.md").read_text("utf-8")


@pytest.mark.slow
def test_the_figures_are_of_each_seed_and_order(smoke: Options) -> None:
    tables = ["nyt word2vec", "nyt fasttext-no-subword"]
    figures = json.loads((smoke.out / "architecture.json").read_text("utf-8"))
    assert list(figures) == tables
    assert list(figures[tables[0]]) == list(architecture.ARCHITECTURES)
    (record,) = figures[tables[0]]["no-et"]
    assert record["settings"]["embed_sizes"] == []
    assert len(record["reports"]) == 2
    page = (smoke.out / "architecture.md").read_text("utf-8")
    ours = pages.mean_sd([report["ari"] for report in record["reports"]])
    assert f"| no-et | 39.86 | {ours} |" in page
    of_theta = json.loads((smoke.out / "threshold.json").read_text("utf-8"))[tables[0]][0]
    assert list(of_theta) == [str(theta) for theta in threshold.THRESHOLDS]
    assert all(len(reports) == 2 for reports in of_theta.values())
    counts = [fmean(report["sets"] for report in reports) for reports in of_theta.values()]
    assert counts == sorted(counts)  # the higher θ, the more sets
    asked = json.loads((smoke.out / "set-or-pairs.json").read_text("utf-8"))
    sizes = [len(benchmark.walk) for benchmark in benchmarks(smoke)]
    assert [asked[key][0]["questions"] for key in tables] == sizes
    assert sizes[1] == sizes[0] - 1  # the second table lacks a term


@pytest.mark.slow
def test_a_second_run_trains_and_mines_nothing_anew(
    smoke: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = drive(smoke, "--trainings-only")
    assert ", 0 of them to do" in said
    assert "page" not in said
    page = (smoke.out / "threshold.md").read_text("utf-8")
    monkeypatch.delattr(threshold, "generate_sets")
    monkeypatch.delattr(set_or_pairs, "questions")
    assert threshold.run(smoke) == page
    assert set_or_pairs.run(smoke) == (smoke.out / "set-or-pairs.md").read_text("utf-8")
