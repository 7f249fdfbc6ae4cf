"""`synsetmine score` and `synsetmine rank`: one set under the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    Device,
    Encoder,
    Model,
    SkipBad,
    Tables,
    choose_encoder,
    find_terms,
    load_stored_model,
    load_vectors,
    load_views,
    load_vocabulary,
)
from synsetmine.errors import SynsetmineError

if TYPE_CHECKING:
    from synsetmine.model import StoredModel
    from synsetmine.types import Term
    from synsetmine.views import TermVectors, TermViews

Members = Annotated[
    list[str], typer.Option("--set", "-s", help="A term of the set; give it once for each term.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def score(
    model: Model,
    terms: Annotated[list[str], typer.Argument(help="Terms to judge.", show_default=False)],
    members: Members,
    vectors: Tables = None,
    encoder: Encoder = None,
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
    tables = [load_vectors(path, skip_bad) for path in vectors or ()]
    judged, own = _meant(terms, stored, tables), _meant(members, stored, tables)
    views = _see(stored, tables, encoder, [*judged, *own], device)
    _report_strings(tables, [*judged, *own])
    found = probabilities(stored.scorer, views, own, judged)
    _show(list(zip(map(str, judged), found, strict=True)), as_json)


def rank(
    model: Model,
    members: Members,
    vectors: Tables = None,
    encoder: Encoder = None,
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
    from synsetmine.generation import known_terms
    from synsetmine.model import rank as best_terms

    stored = load_stored_model(model, device)
    tables = [load_vectors(path, skip_bad) for path in vectors or ()]
    terms = load_vocabulary(vocabulary, tables[0] if tables else None, skip_bad).terms
    own = _meant(members, stored, tables, terms)
    views = _see(stored, tables, encoder, [*own, *terms], device)
    known = known_terms(stored.scorer, views, terms)
    there = set(known)
    missing = [term for term in terms if term not in there]
    console.report_missing(missing, len(terms), "cannot be ranked")
    _report_strings(tables, own)
    found = best_terms(stored.scorer, views, own, known, top=top)
    _show([(str(term), probability) for term, probability in found], as_json)


def _meant(
    texts: Sequence[str],
    stored: StoredModel,
    tables: Sequence[TermVectors],
    others: Sequence[Term] = (),
) -> list[Term]:
    """The terms of these texts; a model that looks at strings knows any."""
    from synsetmine.model import ViewScorer

    if isinstance(stored.scorer, ViewScorer) and "strings" in stored.scorer.views:
        known = [*others, *(term for table in tables for term in table.terms)]
        return find_terms(texts, known, any_string=True)
    if not tables:
        raise SynsetmineError("this model needs --vectors")
    return find_terms(texts, tables[0].terms, any_string=False)


def _report_strings(tables: Sequence[TermVectors], terms: Sequence[Term]) -> None:
    """A typing error is a term too, which no table knows."""
    missing = [term for term in terms if not any(term in table for table in tables)]
    if tables:
        console.report_missing(missing, len(terms), "are judged by their strings alone")


def _see(
    stored: StoredModel,
    tables: Sequence[TermVectors],
    encoder: str | None,
    terms: Sequence[Term],
    device: str,
) -> TermViews:
    named = choose_encoder(encoder, stored)
    return stored.see(load_views(tables, named, terms, device=device))


def _show(found: list[tuple[str, float]], as_json: bool) -> None:
    if as_json:
        console.show_json([{"term": t, "probability": p} for t, p in found])
        return
    console.show_table(("term", "probability"), [(t, f"{p:.6f}") for t, p in found])
