"""The review page with a hundred thousand sets: the first page, decisions, search."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import pytest

from tests.test_cli_web import started
from tests.webserver import Sets, Visitor, write_near_vectors, write_run

SETS = 100_000


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


@pytest.mark.slow
def test_a_hundred_thousand_sets(tmp_path: Path) -> None:
    many: Sets = {
        f"s{i:06}": {
            f"syndrome {i}": None,
            f"disease of type {i}": 0.5 + (i * 7919 % SETS) / 2.1 / SETS,
            f"disorder {i}": 0.98,
        }
        for i in range(SETS)
    }
    run = write_run(tmp_path / "run", many, {}, texts=["A syndrome 7 here."] * 100)
    write_near_vectors(run, [list(terms)[:2] for terms in many.values()])
    begin = time.perf_counter()
    with started("review", str(run), "--no-open") as address:
        print(f"\nstarted in {time.perf_counter() - begin:.1f} s")
        begin = time.perf_counter()
        ada = Visitor(address)  # asks for the name, gives it, is led to the first set
        first = time.perf_counter() - begin
        time.sleep(8)  # the tables of near terms are filled meanwhile
        page = [timed(ada.open) for _ in range(20)]
        decisions = []
        for _ in range(40):
            found = ada.page.text.partition('data-set="')[2].partition('"')[0]
            decisions.append(timed(partial(ada.decide, "accept", found)))
        search = timed(partial(ada.open, q="disorder 9999"))
        ada.close()
    print(
        f"first page {1000 * first:.0f} ms, then {1000 * median(page):.0f} ms; a decision with "
        f"the page after it {1000 * median(decisions):.0f} ms (at most "
        f"{1000 * max(decisions):.0f}); a search {1000 * search:.0f} ms"
    )
    assert "<b>40</b> of 100,000 sets reviewed" in ada.page.text
