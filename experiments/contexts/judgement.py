"""How well mentions of one source are grouped, by each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from experiments.contexts.learning import pair_scores
from experiments.contexts.mentions import Row, entities_of
from experiments.contexts.rivals import (
    THRESHOLDS,
    average_linkage,
    by_jaccard,
    by_wratio,
    equal_names,
)
from synsetmine.models.general.model import GeneralModel
from synsetmine.normalization import name_key
from synsetmine.pipeline.grouping import ENCODED_TEXT, Encode, group
from synsetmine.types import Term
from synsetmine.views import unit_rows

RIVAL_TEXTS = ("MiniLM, names", "MiniLM, contexts", "MiniLM, “name: context”")


class Scores(NamedTuple):
    """Precision, recall and F1 of the pairs of rows."""

    precision: float
    recall: float
    f1: float


class SourceScores(NamedTuple):
    """The scores of each method on one draw, and of average linkage at each threshold."""

    fixed: Mapping[str, Scores]
    linkage: Mapping[str, Mapping[float, Scores]]


def judge_source(
    rows: Sequence[Row],
    models: Mapping[str, GeneralModel],
    encode: Encode | None,
    cache: Path | None = None,
) -> SourceScores:
    """The scores of all methods on the rows of one draw."""
    names = [row.name for row in rows]
    contexts = [row.context for row in rows]
    truth = [row.entity for row in rows]
    labels: dict[str, Sequence[object]] = {
        "exact match": equal_names(names),
        "WRatio ≥ 0.8": by_wratio(names),
        "Jaccard ≥ 0.9": by_jaccard(names),
    }
    for kind, model in models.items():
        encoder = "minilm" if kind == "encoder" else None
        own = {"names": None, "names and contexts": contexts}
        for what, texts in own.items():
            grouped = group(names, contexts=texts, model=model, encoder=encoder, cache=cache)
            labels[f"group, {what}{', MiniLM' if encoder else ''}"] = grouped.ids
    linkage = {} if encode is None else _by_vectors(names, contexts, truth, encode)
    fixed = {method: Scores(*pair_scores(own, truth)) for method, own in labels.items()}
    return SourceScores(fixed, linkage)


def _by_vectors(
    names: Sequence[str], contexts: Sequence[str], truth: Sequence[str], encode: Encode
) -> dict[str, dict[float, Scores]]:
    """Average linkage over vectors of names, of contexts, and of both as one text."""
    short = [context[:ENCODED_TEXT] for context in contexts]
    both = [f"{name}: {context}" for name, context in zip(names, short, strict=True)]
    scores = {}
    for method, texts in zip(RIVAL_TEXTS, (names, short, both), strict=True):
        terms = [Term(text) for text in texts]
        vectors = unit_rows(encode(list(dict.fromkeys(terms))).select(terms))
        sets = average_linkage(vectors)
        scores[method] = {t: Scores(*pair_scores(own, truth)) for t, own in sets.items()}
    return scores


def write_page(
    path: Path,
    tests: Mapping[str, Sequence[Sequence[Row]]],
    results: Mapping[str, Sequence[SourceScores]],
) -> None:
    """The table of all methods and sources."""
    lines = [
        "| source | rows | names | entities | names of several entities |",
        "| --- | --- | --- | --- | --- |",
    ]
    for source, draws in tests.items():
        figures = zip(*(_counts(rows) for rows in draws), strict=True)
        lines.append(f"| {source} | {' | '.join(f'{fmean(f):,.0f}' for f in figures)} |")
    lines += ["", f"| method | {' | '.join(results)} |", "| --- |" + " --- |" * len(results)]
    table = {source: _scores(source, results) for source in results}
    methods = next(iter(table.values()))
    for method in methods:
        cells = [_cell(own[method]) for own in table.values()]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf8")


def _counts(rows: Sequence[Row]) -> tuple[int, int, int, int]:
    entities_with: dict[str, set[str]] = {}
    for row in rows:
        entities_with.setdefault(name_key(row.name), set()).add(row.entity)
    several = sum(len(own) > 1 for own in entities_with.values())
    return len(rows), len(entities_with), len(entities_of(rows)), several


def _scores(source: str, results: Mapping[str, Sequence[SourceScores]]) -> dict[str, list[Scores]]:
    """The scores of each method on the draws of a source, the threshold of linkage from others."""
    own = results[source]
    scores = {method: [draw.fixed[method] for draw in own] for method in own[0].fixed}
    for method in own[0].linkage:
        others = [draw for name, draws in results.items() if name != source for draw in draws]
        best = max(
            map(float, THRESHOLDS), key=lambda t: fmean(d.linkage[method][t].f1 for d in others)
        )
        scores[method] = [draw.linkage[method][best] for draw in own]
    return scores


def _cell(scores: Sequence[Scores]) -> str:
    means = [100 * fmean(column) for column in zip(*scores, strict=True)]
    spread = f" ± {100 * stdev(s.f1 for s in scores):.1f}" if len(scores) > 1 else ""
    return f"**{means[2]:.1f}**{spread} ({means[0]:.0f} / {means[1]:.0f})"
