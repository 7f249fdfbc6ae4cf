"""What a large task will take: near what was measured, told first, refused where it cannot end."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from typer.testing import CliRunner

from synsetmine.cli import app
from synsetmine.errors import SynsetmineError
from synsetmine.pipeline import cost
from synsetmine.pipeline.cost import Cost, available_memory


@pytest.mark.parametrize(
    ("names", "contexts", "seconds", "gigabytes"),  # of docs/results/scale.md
    [
        (10_000, False, 2.7, 0.38),
        (100_000, False, 19.6, 0.86),
        (1_000_000, False, 190.7, 4.89),
        (10_000, True, 5.0, 0.75),
        (100_000, True, 38.6, 1.89),
    ],
)
def test_estimates_are_near_the_measurements(
    names: int, contexts: bool, seconds: float, gigabytes: float
) -> None:
    estimate = Cost.of_group(names, contexts=contexts)
    assert estimate.seconds == pytest.approx(seconds, rel=0.3)
    assert estimate.memory == pytest.approx(1e9 * gigabytes, rel=0.1)


def test_a_run_is_judged_by_its_files(tmp_path: Path) -> None:
    corpus, kb = tmp_path / "corpus.jsonl.gz", tmp_path / "mesh.jsonl.gz"
    for path, size in ((corpus, 15_615_629), (kb, 1_053_199)):  # MEDLINE with MeSH
        with path.open("wb") as stream:
            stream.truncate(size)
    estimate = Cost.of_run([corpus], kb)
    assert estimate.seconds == pytest.approx(147, rel=0.2)
    assert estimate.memory == pytest.approx(2.90e9, rel=0.2)
    assert Cost.of_run([tmp_path / "missing"], tmp_path / "missing").is_small


def test_what_does_not_fit_is_refused_with_advice() -> None:
    large = Cost.of_group(3_000_000)
    large.check_memory("group parts", 20 * 10**9)
    refused = r"about 10 min and 14\.2 GB of memory, and only 8\.0"
    with pytest.raises(SynsetmineError, match=refused):
        large.check_memory("group parts", 8 * 10**9)


def test_the_memory_that_is_left_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    here = available_memory()
    assert here is None or 10**7 < here < 10**14
    monkeypatch.setattr(resource, "getrlimit", lambda _: (12_345, 12_345))
    assert available_memory() == 12_345


def group(names: Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["group", str(names)])
    return done.exit_code, done.stderr + str(done.exception or "")


def test_the_command_says_it_first_and_may_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tmp_path / "names.txt"
    names.write_text("heart attack\nheart attacks\n")
    assert "GB of memory" not in group(names)[1]
    monkeypatch.setattr(cost, "SHORT", 0)
    code, stderr = group(names)
    assert code == 0
    assert stderr.startswith("2 names: about 1 s and 0.4 GB of memory\n")
    monkeypatch.setattr(cost, "available_memory", lambda: 10**8)
    code, stderr = group(names)
    assert code == 1
    assert "only 0.1 GB are free; group parts of the list" in stderr
