"""The review page with many sets, and with many reviewers at once."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from threading import Barrier

import pytest

from synsetmine.review import read_store
from synsetmine.review.decisions import read_decisions
from synsetmine.review.web.routes import reviewing_app
from synsetmine.review.web.server import AccessPolicy
from synsetmine.review.web.session import ReviewSession
from tests.cli.test_project import synsetmine
from tests.support.webserver import (
    Sets,
    Visitor,
    serve,
    start_server,
    write_near_vectors,
    write_run,
)

SETS = 100_000
REVIEWERS = [f"Reviewer {n}" for n in range(8)]


@dataclass
class Told:
    """What the server told one reviewer."""

    recorded: list[tuple[str, str, str]] = field(default_factory=list)  # reviewer, kind, set
    conflicts: list[str] = field(default_factory=list)  # who was faster


def review_all(address: str, name: str, together: Barrier) -> Told:
    """Decide on what the queue shows until nothing is left; take every fourth back again."""
    told = Told()
    act = "accept" if REVIEWERS.index(name) % 2 else "reject"
    with closing(Visitor(address, name)) as visitor:
        visitor.open()
        together.wait(60)  # the first set is open before all eyes
        while set_id := visitor.page.text.partition('data-set="')[2].partition('"')[0]:
            answer = visitor.decide(act, set_id)
            if answer.status_code == 409:
                assert f"Your decision ({act}) was not recorded." in answer.text
                faster = re.search(r'role="alert">\s*<p><strong><bdi>(.*?)</bdi> ', answer.text)
                assert faster, answer.text
                told.conflicts.append(faster[1])
                visitor.open()
                continue
            assert answer.status_code == 200, answer.text
            told.recorded.append((name, act, set_id))
            if len(told.recorded) % 5 == 4:  # with the undo itself
                assert visitor.send("/undo").status_code == 200
                told.recorded.append((name, "undo", set_id))
                visitor.open()
        assert "All sets are reviewed" in visitor.page.text
    return told


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
def test_eight_reviewers_of_one_queue(tmp_path: Path, servers: int) -> None:
    """What each was told is in the exported file, no more and no less, and each set stands once."""
    sets: Sets = {f"s{i}": {f"one {i}": None, f"other {i}": 0.5 + i / 100} for i in range(16)}
    run = write_run(tmp_path / "run", sets, {})
    together = Barrier(len(REVIEWERS), timeout=60)
    with ExitStack() as stack:
        review = "review", str(run), "--no-open"
        addresses = [stack.enter_context(start_server(*review)) for _ in range(servers)]
        with ThreadPoolExecutor(len(REVIEWERS)) as threads:
            everyone = [
                threads.submit(review_all, addresses[n % servers], name, together)
                for n, name in enumerate(REVIEWERS)
            ]
            told = [one.result() for one in everyone]
    synsetmine(tmp_path, "export-reviews", "run", "-o", "reviews.tsv")
    stored = read_decisions(tmp_path / "reviews.tsv")
    recorded = Counter(entry for one in told for entry in one.recorded)
    assert Counter((d.reviewer, d.kind, d.set_id) for d in stored) == recorded
    gone = {d.undoes for d in stored if d.kind == "undo"}
    standing = Counter(d.set_id for d in stored if d.kind != "undo" and d.id not in gone)
    assert standing == Counter(sets.keys())
    assert recorded.total() == len(sets) + 2 * len(gone)
    for name, one in zip(REVIEWERS, told, strict=True):
        assert name not in one.conflicts
    assert sum(len(one.conflicts) for one in told) >= len(REVIEWERS) - 1  # of the first set


def test_a_set_of_twenty_thousand_terms_is_shown_in_pages(tmp_path: Path) -> None:
    terms: dict[str, float | None] = {f"name {i}": 0.9 for i in range(20_000)}
    run = write_run(tmp_path / "run", {"s1": terms, "s2": {"fever": None}}, {}, texts=["name 7"])
    session = ReviewSession(run)
    with serve(reviewing_app(session, AccessPolicy(), title="run")) as address:
        ada = Visitor(address)
        assert ada.open().count('<li class="term') == 200
        assert len(ada.page.text) < 1_000_000
        assert "page 1 of 100; Accept, Reject and Unsure are for all 20,000 terms" in ada.page.text
        assert "Previous terms" not in ada.page.text
        last = ada.open(set="s1", terms="100")
        assert ">name 19800</bdi>" in last
        assert "More terms" not in last
        for text in ("0", "x", "-1", "101", "9" * 99):  # the first page, or the last
            assert 'class="term' in ada.open(set="s1", terms=text)
        page = ada.decide("incorrect", "s1", term="name 19800", terms="100")
        assert 'aria-label="name 19800, incorrect"' in page.text
        for _ in range(60):
            ada.decide("correct", "s1", term="name 0")
        assert "11 older decisions: <code>synsetmine export-reviews</code>" in ada.page.text
        ada.decide("accept", "s1")
        ada.close()
    assert {len(d.terms) for d in read_store(run / "reviews.sqlite")} == {1, 19_999}


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
    with start_server("review", str(run), "--no-open") as address:
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
