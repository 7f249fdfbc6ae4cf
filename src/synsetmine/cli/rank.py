"""`synsetmine score` and `synsetmine rank`: one set under the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Device, Encoder, SkipBad, Tables
from synsetmine.cli.sources import Among, Source, open_source

if TYPE_CHECKING:
    from synsetmine.types import Term
    from synsetmine.views import TermVectors

Members = Annotated[
    list[str], typer.Option("--set", "-s", help="A term of the set; give it once for each term.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def score(
    source: Source,
    terms: Annotated[list[str], typer.Argument(help="Terms to judge.", show_default=False)],
    members: Members,
    vectors: Tables = None,
    encoder: Encoder = None,
    vocabulary: Among = None,
    as_json: AsJson = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """The probability f of terms to belong to a set; members are judged by the other members.

    A run answers over its mined vocabulary, with the values of its trace and exports. A bare model
    judges among the terms of --vocabulary. A term may be given by its surface alone where only one
    term has it.

    Example: `synsetmine score run uk italy --set u.k. --set united_kingdom`

    Example: `synsetmine score model uk italy -v vectors.txt --set u.k. --set united_kingdom`
    """
    model = open_source(
        source, vectors, encoder, vocabulary, skip_bad=skip_bad, needs_vocabulary=False
    )
    judged, own = model.find(terms), model.find(members)
    prepared = model.prepare([*judged, *own], device=device)
    _report_strings(model.tables, [*judged, *own])
    _show(list(zip(map(str, judged), prepared.probabilities(own, judged), strict=True)), as_json)


def rank(
    source: Source,
    members: Members,
    vectors: Tables = None,
    encoder: Encoder = None,
    vocabulary: Among = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="How many terms to show.")] = 10,
    as_json: AsJson = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """The best terms of a vocabulary for a set, best first.

    Example: `synsetmine rank run --set u.k. --set united_kingdom --top 5`

    Example: `synsetmine rank model -v vectors.txt --set u.k. --set united_kingdom --top 5`
    """
    model = open_source(source, vectors, encoder, vocabulary, skip_bad=skip_bad)
    own = model.find(members)
    prepared = model.prepare(own, device=device)
    known = frozenset(prepared.terms)
    missing = [term for term in model.vocabulary if term not in known]
    console.report_missing(missing, len(model.vocabulary), "cannot be ranked")
    _report_strings(model.tables, own)
    best = prepared.rank(own, top=top)
    _show([(str(term), probability) for term, probability in best], as_json)


def _report_strings(tables: Sequence[TermVectors], terms: Sequence[Term]) -> None:
    """Report terms without a vector: one of them may be a typing error."""
    missing = [term for term in terms if not any(term in table for table in tables)]
    if tables:
        console.report_missing(missing, len(terms), "are judged by their strings alone")


def _show(rows: list[tuple[str, float]], as_json: bool) -> None:
    if as_json:
        console.show_json([{"term": t, "probability": p} for t, p in rows])
        return
    console.show_table(("term", "probability"), [(t, f"{p:.6f}") for t, p in rows])
