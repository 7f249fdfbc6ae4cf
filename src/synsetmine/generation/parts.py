"""Set generation on a graph of odds, part by part.

A term joins a set, and two sets become one, only if the mean of the odds between them is above
the bar; so one of these odds is. Terms that no path of such edges connects never come together:
each part of the graph is a task of its own, and the tasks may go to several processes. What
comes out is the same as for the whole graph at once, whatever the number of processes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.generation.graphsets import GraphSets
from synsetmine.workers import WorkerPool

EDGES = 1 << 17  # of a task, about; fewer are done sooner than they travel

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """Some parts of a graph: terms are numbered anew, those to be placed come first."""

    graph: Any  # scipy.sparse.csr_array
    count: int  # of terms to be placed
    seeds: Sequence[Sequence[int]]
    bar: float
    apart: Sequence[tuple[int, int]] = ()  # pairs of terms that must not come together
    max_sets: float = math.inf


def mine_graph(
    graph: Any,  # scipy.sparse.csr_array of odds (terms, terms), symmetric, no diagonal
    count: int,
    bar: float,
    *,
    seeds: Sequence[Sequence[int]] = (),
    apart: Sequence[tuple[int, int]] = (),
    max_sets: float = math.inf,
    pool: WorkerPool | None = None,
) -> Numbers:
    """The number of each term's set; the first `count` are placed, the others are those of seeds.

    Seeds are the first sets, in their order; the others are numbered by their first term. Pairs
    of terms that are `apart` are never in one set, unless a seed has both.
    """
    if max_sets < len(seeds) + count:  # then sets may be joined that have nothing to do
        whole = Task(graph, count, seeds, bar, apart, max_sets)
        return _numbered(mine_task(whole), graph.shape[0], seeds)
    part_of = _parts(graph, bar, seeds)
    found = np.arange(graph.shape[0])  # a set is named after one of its terms
    for terms in seeds:
        found[terms] = terms[0]
    tasks = list(_tasks(graph, part_of, count, bar, seeds, apart))
    pool = pool or WorkerPool()
    for (rows, _), labels in zip(
        tasks, pool.map(mine_task, [task for _, task in tasks]), strict=True
    ):
        found[rows] = rows[labels]
    return _numbered(found, graph.shape[0], seeds)


def mine_task(task: Task) -> Numbers:
    """The set of each term of a task, named by its first term."""
    sets = GraphSets(
        task.graph,
        range(task.count),
        task.bar,
        seeds=task.seeds,
        apart=task.apart,
        max_sets=task.max_sets,
    )
    sets.settle()
    labels = np.arange(task.graph.shape[0])
    for members in sets.members.values():
        labels[members] = min(members)
    return labels


def _parts(graph: Any, bar: float, seeds: Sequence[Sequence[int]]) -> Numbers:
    """The number of the part that each term is in."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    least = np.float64(math.exp(min(bar, 700.0)))  # which the graph's float32 could not hold
    strong = graph.data > least
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))[strong]
    columns = graph.indices[strong]
    firsts = [terms[0] for terms in seeds for _ in terms]  # a set is together whatever its odds
    members = [term for terms in seeds for term in terms]
    ends = np.concatenate([rows, firsts]), np.concatenate([columns, members])
    links = sparse.coo_array((np.ones(len(ends[0]), np.bool_), ends), shape=graph.shape)
    _, part_of = connected_components(links, directed=False)
    return np.asarray(part_of, np.int64)


def _tasks(
    graph: Any,
    part_of: Numbers,
    count: int,
    bar: float,
    seeds: Sequence[Sequence[int]],
    apart: Sequence[tuple[int, int]],
) -> Iterator[tuple[Numbers, Task]]:
    """(rows of the graph, task) of the parts in which anything can happen, some parts at a time."""
    from scipy import sparse

    rows = np.repeat(np.arange(len(part_of)), np.diff(graph.indptr))
    within = part_of[rows] == part_of[graph.indices]
    starts, ends, odds = rows[within], graph.indices[within], graph.data[within]
    edges = np.bincount(part_of[starts], minlength=part_of.max(initial=-1) + 1)
    new = np.bincount(part_of[:count], minlength=len(edges))
    task_of_part = np.where((edges > 0) & (new > 0), np.cumsum(edges) // EDGES, -1)
    order = np.argsort(task_of_part[part_of], kind="stable")  # by task, then as they were
    task_of = task_of_part[part_of[order]]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    whole = sparse.csr_array((odds, (place[starts], place[ends])), shape=graph.shape)
    seeds_of: dict[int, list[Sequence[int]]] = {}
    for terms in seeds:
        seeds_of.setdefault(int(task_of_part[part_of[terms[0]]]), []).append(terms)
    apart_of: dict[int, list[tuple[int, int]]] = {}
    for one, other in apart:
        if part_of[one] == part_of[other]:  # others never come together anyway
            pair = int(place[one]), int(place[other])
            apart_of.setdefault(int(task_of_part[part_of[one]]), []).append(pair)
    bounds = np.flatnonzero(np.diff(task_of, prepend=-2, append=task_of.max(initial=-1) + 1))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        number = int(task_of[first])
        if number < 0:
            continue
        members = order[first:last]
        known = [[int(place[t]) - first for t in terms] for terms in seeds_of.get(number, ())]
        kept_apart = [(one - first, other - first) for one, other in apart_of.get(number, ())]
        part = whole[first:last, first:last]
        yield members, Task(part, int((members < count).sum()), known, bar, kept_apart)


def _numbered(found: Numbers, count: int, seeds: Sequence[Sequence[int]]) -> Numbers:
    """The same sets with numbers: seeds first, then by their first term."""
    first = np.full(count, count, np.int64)  # that a set is sorted by
    np.minimum.at(first, found, np.arange(count))
    for number, terms in enumerate(seeds):
        first[found[terms[0]]] = number - len(seeds)
    return np.unique(first[found], return_inverse=True)[1].reshape(-1)
