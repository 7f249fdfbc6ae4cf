"""The page of the paper's test sets, on a small benchmark made here."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from experiments.test_sets import main

ADJECTIVES = ("acute", "chronic", "severe", "hepatic", "cardiac", "renal", "neonatal", "spinal")
NOUNS = ("failure", "infection", "tumor", "lesion", "stenosis")


def write_sets(path: Path, nouns: tuple[str, ...]) -> None:
    lines = []
    for number, (one, other) in enumerate(product(ADJECTIVES, nouns)):
        names = (f"{one}_{other}", f"{other}_{one}", f"{one}_{other}s")
        lines.append(f"c{number} {{{', '.join(repr(f'{name}||{number}') for name in names)}}}")
    path.write_text("\n".join(lines) + "\n", encoding="utf8")


def test_the_page_has_all_rows(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "pubmed"
    folder.mkdir(parents=True)
    write_sets(folder / "train-cold.set", NOUNS[:3])
    write_sets(folder / "test.set", NOUNS[3:])
    main(["--data", str(tmp_path / "data"), "--seeds", "2", "--out", str(tmp_path)])
    page = (tmp_path / "test-sets.md").read_text("utf8")
    assert "| untrained | strings | " in page
    assert "| trained | strings | " in page
    assert page.count("| static vectors | ") == 5
    assert str(tmp_path) not in page


def test_a_folder_without_benchmarks(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no folder nyt or pubmed here"):
        main(["--data", str(tmp_path)])
