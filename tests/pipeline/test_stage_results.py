"""One definition of a result gives the printed line, the manifest entry and the report row."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from synsetmine.cli.run import report_result
from synsetmine.linking.supervision import Tally
from synsetmine.pipeline.stage_results import (
    HeldOutScores,
    LinkResult,
    SuperviseResult,
    VectorsResult,
    VocabularyResult,
    parse_tallies,
    write_tallies,
)
from synsetmine.runs.folder import SkippedRecords, StageResult
from synsetmine.schema import from_record, to_record
from synsetmine.types import Link

TALLIES = {
    "kept": Tally(3, 1200, (Link("fever", "D1", 900), Link("pyrexia", "D1", 200))),
    "seen too seldom": Tally(1, 1, (Link("ague", "D1", 1),)),
}


def test_a_result_reads_the_same_from_the_manifest() -> None:
    skipped = [SkippedRecords("not UTF-8", 2, ["a.txt:1: not UTF-8"])]
    result = LinkResult(mentions=1234, links=5, skipped=skipped, notes=["few links"])
    assert str(result) == "1,234 mentions, 5 links"
    recorded = StageResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert str(recorded) == str(result)
    assert recorded.counts == {"mentions": 1234, "links": 5} == result.counts
    assert (recorded.skipped, recorded.notes, recorded.summary) == (skipped, ["few links"], ())


def test_figures_follow_the_counts_and_nothing_stands_for_none() -> None:
    assert str(VocabularyResult(terms=7, figures={"known": 5})) == "7 terms, 5 known"
    assert str(VectorsResult(vectors=2, dimension=10)) == "2 vectors, 10 dimensions"
    assert str(StageResult()) == ""


@pytest.mark.parametrize(
    ("label", "one"),
    [
        ("documents", "1 document"),
        ("entities with new names", "1 entity with new names"),
        ("groups of unknown terms", "1 group of unknown terms"),
        ("unknown terms that stand alone", "1 unknown term that stands alone"),
        ("terms without a vector", "1 term without a vector"),
        ("known", "1 known"),
        ("of the test sets found exactly", "1 of the test sets found exactly"),
    ],
)
def test_one_is_singular(label: str, one: str) -> None:
    assert str(StageResult(figures={label: 1})) == one
    assert str(StageResult(figures={label: 2000})) == f"2,000 {label}"


def test_the_links_of_supervision_are_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = SuperviseResult(
        training_sets=1, test_sets=0, known_terms=2, rejected=0, tallies=TALLIES
    )
    assert result.table[1] == [
        ("kept", "3", "1,200", "fever → D1; pyrexia → D1"),
        ("dropped: seen too seldom", "1", "1", "ague → D1"),
    ]
    assert "tallies" not in result.to_dict()
    write_tallies(tmp_path / "supervision.json", TALLIES)
    record = json.loads((tmp_path / "supervision.json").read_text())
    assert parse_tallies(record) == TALLIES
    report_result(result, "written to sets")
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1] == "kept\t3\t1,200\tfever → D1; pyrexia → D1"
    assert printed.err.startswith("1 training set, 0 test sets, 2 known terms")
    assert printed.err.endswith("; written to sets\n")


def test_scores_say_what_the_stage_reports() -> None:
    scores = HeldOutScores(
        test_sets=2,
        test_terms=5,
        threshold=0.3,
        rare=0,
        tuned_on=0,
        among={"ari": 0.81234, "pair_precision": 1.0, "strayed_terms": 1},
        exact=[["fever", "pyrexia"]],
        alone={"ari": [0.9, 0.01]},
        curve=[[0.1, 0.5, 0.5, 0.5]],
    )
    assert from_record(HeldOutScores, json.loads(json.dumps(to_record(scores)))) == scores
    assert scores.result.counts == {
        "ARI among all terms": 0.8123,
        "pair precision among all terms": 1.0,
        "ARI on their own": 0.9,
        "of the test sets found exactly": 1,
        "of the test terms joined to another entity": 1,
    }
    assert scores.result.notes == [
        "only 2 entities were held out: too few to tell how good the mined sets are"
    ]
    one = replace(scores, test_sets=1).result.notes
    assert one == ["only 1 entity was held out: too few to tell how good the mined sets are"]
    assert not replace(scores, test_sets=10).result.notes
    none = HeldOutScores(test_sets=0, test_terms=0, threshold=0.3)
    assert to_record(none) == {"test sets": 0, "test terms": 0, "threshold": 0.3}
    assert none.result.counts == {"test sets": 0}
