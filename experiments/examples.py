"""Tables 5 and 6: example sets, and which terms rank highest for {u.k., britain}.

python -m experiments.examples --data DIR
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from experiments.benchmarkdata import MADE, TITLES, Benchmark, benchmarks
from experiments.options import Options, read_options
from experiments.pages import mean_sd, paper_values, protocol, remarks, table, write_page
from experiments.set_or_pairs import average_pairs
from experiments.trainings import (
    Outcome,
    Training,
    honest_trainings,
    honest_trainings_of,
    random_orders,
    run_trainings,
)
from synsetmine.models import generate_sets, probabilities
from synsetmine.types import SynonymSets, Term

NAME = "examples"
SHOWN = 4  # sets of each kind
TOP = 10
WAYS = {"set_instance": "set-instance classifier", "pairs": "averaged pairs"}
KINDS = {
    "right": "a test set exactly",
    "partly right": "some terms of one test set together, but not exactly that set",
    "wrong": "several terms, no two of one test set",
    "alone": "a single term",
}
T = TypeVar("T")


@dataclass(frozen=True)
class Ranking:
    """All other terms for a set, best first, by one scorer; and how they scored."""

    terms: tuple[Term, ...]
    scores: tuple[float, ...]

    def rank_of(self, term: Term) -> int:
        return 1 + self.terms.index(term)


def trainings(options: Options) -> list[Training]:
    return honest_trainings_of(benchmarks(options, made=MADE), options)


def run(options: Options) -> str:
    done = run_trainings(trainings(options), options)
    parts = [
        "# Tables 5 and 6: examples",
        "The paper shows a few training sets, a few sets that it found, and one ranking; how it "
        f"chose them it does not say. Ours are drawn at random (seed 0, {SHOWN} of each kind) from "
        "what the main scorer of the first seed finds in the first random order.",
        protocol(options, f"{options.seeds} seeds", unit="places of a ranking"),
    ]
    figures: dict[str, Any] = {}
    findings: list[str] = []
    for benchmark in benchmarks(options, made=MADE):
        outcomes = [done[training] for training in honest_trainings(benchmark, options)]
        key = f"{benchmark.name} {benchmark.vectors_name}"
        sets_part, sets_figures = _sets(benchmark, outcomes[0])
        parts += [f"## {benchmark.title}", *sets_part]
        figures[key] = sets_figures
        if benchmark.vectors_name not in MADE:
            ranking_part, figures[key]["ranking"], found = _ranking(benchmark, outcomes)
            parts += ranking_part
            findings.append(found)
    always = (
        "The paper shows a handful of good sets and says neither how many there are nor on which "
        "data it ranks the terms of Table 6, so they do not compare with our random ones."
    )
    parts.append(remarks(options, NAME, always, findings))
    return write_page(options.out, NAME, parts, figures)


def sort_out(mined: SynonymSets, test: SynonymSets) -> dict[str, list[tuple[Term, ...]]]:
    """The sets found by how right they are; `test` has the same terms."""
    kinds: dict[str, list[tuple[Term, ...]]] = {kind: [] for kind in KINDS}
    for members in mined:
        most = max(Counter(test.labels(members)).values())
        if len(members) == 1:
            kind = "alone"
        elif frozenset(members) in test.partition:
            kind = "right"
        else:
            kind = "partly right" if most > 1 else "wrong"
        kinds[kind].append(members)
    return kinds


def _sets(benchmark: Benchmark, outcome: Outcome) -> tuple[list[str], dict[str, Any]]:
    test = benchmark.test.restrict(benchmark.walk)
    walk = random_orders(benchmark.walk, 1)[0]
    mined = generate_sets(outcome.scorer(), benchmark.vectors, walk).sets
    kinds = sort_out(mined, test)
    training = _some(benchmark.training.sets)
    shown = {kind: _some(kinds[kind]) for kind in ("right", "partly right", "wrong")}
    rows = [
        [kind, _show(members), _truth(members, test)]
        for kind, chosen in shown.items()
        for members in chosen
    ]
    counts = "; ".join(f"{kind} ({said}) {len(kinds[kind])}" for kind, said in KINDS.items())
    parts = [
        "Some training sets: " + "; ".join(map(_show, training)) + ".",
        f"{len(mined)} sets were found: {counts}." + (" A random draw:" if rows else ""),
        table(["kind", "found", "the test sets say"], rows) if rows else "",
        _papers_examples(benchmark, mined),
    ]
    figures = {
        "counts": {kind: len(found) for kind, found in kinds.items()},
        "training": _as_strings(training),
        "found": {kind: _as_strings(chosen) for kind, chosen in shown.items()},
    }
    return parts, figures


def _some(found: Sequence[T]) -> list[T]:
    return random.Random(0).sample(list(found), min(SHOWN, len(found)))  # noqa: S311


def _truth(members: Sequence[Term], test: SynonymSets) -> str:
    """What the test sets say of a found set: what it lacks, what is too much."""
    (label, shared), *others = Counter(test.labels(members)).most_common()
    if shared == 1 and others:
        return f"names of {1 + len(others)} entities"
    true = test.sets[label]
    lacks = [term for term in true if term not in members]
    extra = [term for term in members if term not in true]
    said = [f"lacks {_show(lacks)}"] if lacks else []
    said += [f"does not have {_show(extra)}"] if extra else []
    return "; ".join(said) or "the same"


def _papers_examples(benchmark: Benchmark, mined: SynonymSets) -> str:
    """The paper's examples, and what ours has of them."""
    stated = paper_values()["examples"].get(benchmark.name)
    if stated is None:
        return ""
    rows = [
        [part, _in_braces(names), _those_of(names, sets)]
        for part, sets, key in (
            ("training set", benchmark.training, "supervision"),
            ("found set", mined, "discovered"),
        )
        for names in stated[key]
    ]
    columns = ["", "the paper's example", f"ours, {TITLES[benchmark.name]}"]
    return "\n\n".join(
        ["The paper's examples, and our sets with a term of these:", table(columns, rows)]
    )


def _those_of(names: Sequence[str], sets: SynonymSets) -> str:
    wanted = {_plain(name) for name in names}
    held = [members for members in sets if any(_plain(t.surface) in wanted for t in members)]
    return "; ".join(map(_show, held)) or "no such term"


def _ranking(
    benchmark: Benchmark, outcomes: Sequence[Outcome]
) -> tuple[list[str], dict[str, Any], str]:
    """The paper's ranking case: the parts of the page, the figures and a finding."""
    stated = paper_values()["examples"]["ranking"]
    whole = ranking_set(benchmark, stated["set"])
    if whole is None:
        said = f"{_in_braces(stated['set'])} are not terms of one test set here: nothing to rank."
        return [said], {}, ""
    own = [term for term in whole if _plain(term.surface) in stated["set"]]
    true = [term for term in whole if term not in own]
    rankings = [rank_both_ways(benchmark, outcome, own) for outcome in outcomes]
    parts = [
        f"The terms of both files, ranked for S = {_show(own)}; bold are the other terms of its "
        f"test set, {_show(true)}. Ours is the first seed, with its probabilities.",
        _ranking_table(rankings[0], stated, true),
        f"The rank of the paper's terms and of the true ones over {len(outcomes)} seeds; other "
        "entities' names are marked with their id.",
        _ranks_table(benchmark, rankings, stated, true, own),
    ]
    figures = {
        "set": [str(term) for term in own],
        "true": [str(term) for term in true],
        "seeds": [
            {
                way: {
                    "top": [
                        [str(term), score]
                        for term, score in list(zip(found.terms, found.scores, strict=True))[:TOP]
                    ],
                    "true ranks": {str(term): found.rank_of(term) for term in true},
                }
                for way, found in of_seed.items()
            }
            for of_seed in rankings
        ],
    }
    return parts, figures, _finding(benchmark, rankings, true)


def ranking_set(benchmark: Benchmark, surfaces: Sequence[str]) -> tuple[Term, ...] | None:
    """The test set that holds all these surfaces, its terms that have vectors."""
    for members in benchmark.test.restrict(benchmark.walk):
        if {_plain(term.surface) for term in members} >= set(surfaces):
            return members
    return None


def rank_both_ways(
    benchmark: Benchmark, outcome: Outcome, own: Sequence[Term]
) -> dict[str, Ranking]:
    """All other terms with vectors by f(S, t) and by averaged pairs; equals in file order."""
    scorer, vectors = outcome.scorer(), benchmark.vectors
    known = dict.fromkeys([*benchmark.training.terms, *benchmark.test.terms])
    others = [term for term in known if term in vectors and term not in own]
    scored = {
        "set_instance": np.array(probabilities(scorer, vectors, own, others)),
        "pairs": average_pairs(scorer, vectors, [(own, term) for term in others]),
    }
    rankings = {}
    for way, scores in scored.items():
        order = np.argsort(-scores, kind="stable")
        rankings[way] = Ranking(tuple(others[i] for i in order), tuple(scores[order].tolist()))
    return rankings


def _ranking_table(
    first: Mapping[str, Ranking], stated: Mapping[str, list[str]], true: Sequence[Term]
) -> str:
    columns = [f"{title}, {whose}" for title in WAYS.values() for whose in ("paper", "ours")]
    rows = []
    for place in range(TOP):
        row = [str(place + 1)]
        for way in WAYS:
            row.append(stated[way][place] if place < len(stated[way]) else "")
            found = first[way]
            if place < len(found.terms):
                name = _with_id(found.terms[place], true, only=stated["set"])
                row.append(f"{name} {found.scores[place]:.2f}")
        rows.append(row)
    return table(["rank", *columns], rows)


def _ranks_table(
    benchmark: Benchmark,
    rankings: Sequence[Mapping[str, Ranking]],
    stated: Mapping[str, list[str]],
    true: Sequence[Term],
    own: Sequence[Term],
) -> str:
    known = [*benchmark.training.terms, *benchmark.test.terms]
    names = dict.fromkeys(
        [*(_plain(t.surface) for t in true), *(n for w in WAYS for n in stated[w])]
    )
    rows = []
    for name in names:
        terms = [t for t in known if _plain(t.surface) == name and t in benchmark.vectors]
        others: list[Term | None] = [term for term in terms if term not in own]
        for term in others or [None]:
            row = [name if term is None else _with_id(term, true)]
            for way in WAYS:
                row.append(str(1 + stated[way].index(name)) if name in stated[way] else "")
                ranks = [] if term is None else [of[way].rank_of(term) for of in rankings]
                row.append(mean_sd(ranks) if ranks else "no such term")
            rows.append(row)
    columns = [f"{title}, {whose}" for title in WAYS.values() for whose in ("paper", "ours")]
    return table(["term", *columns], rows)


def _finding(
    benchmark: Benchmark, rankings: Sequence[Mapping[str, Ranking]], true: Sequence[Term]
) -> str:
    ranks = {
        way: [float(of[way].rank_of(term)) for of in rankings for term in true] for way in WAYS
    }
    said = " and ".join(f"{mean_sd(found)} by the {WAYS[way]}" for way, found in ranks.items())
    return f"{benchmark.title}: the mean rank of the true synonyms is {said}."


def _with_id(term: Term, true: Sequence[Term], only: Sequence[str] | None = None) -> str:
    """The name of a true synonym; another entity's with its id, or only if it is one of these."""
    name = _plain(term.surface)
    if term in true:
        return f"**{name}**"
    return f"{name} ({term.sense})" if only is None or name in only else name


def _plain(surface: str) -> str:
    return surface.replace("_", " ")


def _show(members: Sequence[Term]) -> str:
    return _in_braces([_plain(term.surface) for term in members])


def _in_braces(names: Sequence[str]) -> str:
    return f"{{{', '.join(names)}}}"


def _as_strings(sets: Sequence[Sequence[Term]]) -> list[list[str]]:
    return [[str(term) for term in members] for members in sets]


if __name__ == "__main__":
    print(run(read_options(__doc__)))
