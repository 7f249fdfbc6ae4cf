"""`synsetmine score` and `synsetmine rank`: one set under the classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    Device,
    Model,
    SkipBad,
    Vectors,
    find_terms,
    load_stored_model,
    load_vectors,
    load_vocabulary,
)

Members = Annotated[
    list[str], typer.Option("--set", "-s", help="A term of the set; give it once for each term.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def score(
    model: Model,
    terms: Annotated[list[str], typer.Argument(help="Terms to judge.", show_default=False)],
    vectors: Vectors,
    members: Members,
    as_json: AsJson = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """The probability of terms to belong to a set.

    A term may be given by its surface alone where only one term has it.

    Example: `synsetmine score model uk italy -v vectors.txt --set u.k. --set united_kingdom`
    """
    from synsetmine.model import probabilities

    stored = load_stored_model(model, device)
    table = stored.apply_to(load_vectors(vectors, skip_bad))
    judged = find_terms(terms, table)
    found = probabilities(stored.scorer, table, find_terms(members, table), judged)
    _show(list(zip(map(str, judged), found, strict=True)), as_json)


def rank(
    model: Model,
    vectors: Vectors,
    members: Members,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Terms to rank. Default: all terms that have vectors.")
    ] = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="How many terms to show.")] = 10,
    as_json: AsJson = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """The best terms of a vocabulary for a set, best first.

    Example: `synsetmine rank model -v vectors.txt --set u.k. --set united_kingdom --top 5`
    """
    from synsetmine.model import rank as best_terms

    stored = load_stored_model(model, device)
    table = stored.apply_to(load_vectors(vectors, skip_bad))
    terms = load_vocabulary(vocabulary, table, skip_bad).terms
    missing = table.missing(terms)
    console.report_missing(missing, len(terms), "cannot be ranked")
    known = [term for term in terms if term in table] if missing else terms
    found = best_terms(stored.scorer, table, find_terms(members, table), known, top=top)
    _show([(str(term), probability) for term, probability in found], as_json)


def _show(found: list[tuple[str, float]], as_json: bool) -> None:
    if as_json:
        console.show_json([{"term": t, "probability": p} for t, p in found])
        return
    console.show_table(("term", "probability"), [(t, f"{p:.6f}") for t, p in found])
