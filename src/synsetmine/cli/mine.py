"""`synsetmine mine`, `evaluate`, `score` and `rank`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    AsJson,
    Device,
    Encoder,
    Model,
    ModelInputOptions,
    Reviews,
    SkipBad,
    Source,
    Tables,
    choose_encoder,
    load_sets,
    load_vectors,
    load_views,
    load_vocabulary,
    open_source,
)
from synsetmine.cli.options import (
    SettingOptions,
    check_not_input,
    option_of,
    out_file,
    place_of,
)
from synsetmine.devices import choose_device
from synsetmine.errors import DataError, shorten
from synsetmine.pipeline.settings import MineSettings, RankSettings, SetLimits, VocabularySettings
from synsetmine.schema import settings_in

if TYPE_CHECKING:
    from synsetmine.models import StoredModel
    from synsetmine.types import SynonymSets, Term
    from synsetmine.views import TermVectors, TermViews


def evaluate(
    predicted: Annotated[Path, typer.Argument(help="Mined sets.")],
    gold: Annotated[Path, typer.Argument(help="True sets.")],
    known: Annotated[
        Path | None,
        typer.Option(
            help="Known sets of other entities; a term of GOLD that joined one is an error."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with scores as fractions.")
    ] = False,
    skip_bad: SkipBad = False,
) -> None:
    """Compare mined sets with true ones: ARI, FMI, NMI, pairs, B-cubed, whole sets.

    Terms in neither a true nor a known set are left out; true terms that were not mined count as
    sets of one. The command reports both numbers.

    Example: `synsetmine evaluate mined.jsonl test.set`
    """
    from synsetmine.metrics import evaluate as compare

    report = compare(
        load_sets(predicted, skip_bad),
        load_sets(gold, skip_bad),
        known=None if known is None else load_sets(known, skip_bad),
    )
    if report.missing_terms:
        console.warn(
            f"{report.missing_terms} terms of the true sets were not mined and count as sets of one"
        )
    values = report.to_dict()
    if as_json:
        console.show_json(values)
        return
    rows = [
        (name, f"{100 * value:.2f} %" if isinstance(value, float) else str(value))
        for name, value in values.items()
    ]
    console.show_table(("measure", "value"), rows)


Members = Annotated[
    list[str], typer.Option("--set", "-s", help="A term of the set; give it once for each term.")
]


def score(
    source: Source,
    terms: Annotated[list[str], typer.Argument(help="Terms to score.")],
    members: Members,
    *,
    inputs: ModelInputOptions,
    as_json: AsJson = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Show the probability f that terms belong to a set; a member is scored by the other members.

    A run folder uses its mined vocabulary, and gives the values of its trace and exports. With a
    model folder, f depends on --vocabulary. A surface suffices for a term if no other term
    has it.

    Example: `synsetmine score run uk italy --set u.k. --set united_kingdom`

    Example: `synsetmine score model uk italy -v vectors.txt --set u.k. --set united_kingdom`
    """
    model = open_source(source, inputs, skip_bad=skip_bad, needs_vocabulary=False)
    judged, own = model.find(terms), model.find(members)
    prepared = model.prepare([*judged, *own], device=device)
    _report_strings(model.tables, [*judged, *own])
    _show(list(zip(map(str, judged), prepared.probabilities(own, judged), strict=True)), as_json)


def rank(
    source: Source,
    members: Members,
    *,
    inputs: ModelInputOptions,
    settings: Annotated[RankSettings, SettingOptions()],
    as_json: AsJson = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Rank the terms of a vocabulary by how well they fit a set.

    Example: `synsetmine rank run --set u.k. --set united_kingdom --top 5`

    Example: `synsetmine rank model -v vectors.txt --set u.k. --set united_kingdom --top 5`
    """
    model = open_source(source, inputs, skip_bad=skip_bad)
    own = model.find(members)
    prepared = model.prepare(own, device=device)
    known = frozenset(prepared.terms)
    missing = [term for term in model.vocabulary if term not in known]
    console.report_missing(missing, len(model.vocabulary), "cannot be ranked")
    _report_strings(model.tables, own)
    best = prepared.rank(own, top=settings.top)
    _show([(str(term), probability) for term, probability in best], as_json)


def _report_strings(tables: Sequence[TermVectors], terms: Sequence[Term]) -> None:
    """Report terms without a vector: one of them may be a typing error."""
    missing = [term for term in terms if not any(term in table for table in tables)]
    if tables:
        console.report_missing(missing, len(terms), "are compared by their strings alone")


def _show(rows: list[tuple[str, float]], as_json: bool) -> None:
    if as_json:
        console.show_json([{"term": t, "probability": p} for t, p in rows])
        return
    console.show_table(("term", "probability"), [(t, f"{p:.6f}") for t, p in rows])


def mine(
    model: Model,
    out: Annotated[Path, out_file("File for the sets, .jsonl or .set.", stdout=".jsonl")],
    vectors: Tables = None,
    encoder: Encoder = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="Terms to mine, one per line, optionally a tab and a count; or a file of sets, "
            "whose terms are taken; or a table: .csv, .xlsx or .parquet. Default: all terms that "
            "have vectors."
        ),
    ] = None,
    name_column: Annotated[
        str | None, option_of(settings_in(VocabularySettings)["name_column"])
    ] = None,
    *,
    settings: Annotated[MineSettings, SettingOptions(leave_out=("known", "reviews"))],
    limits: Annotated[SetLimits, SettingOptions()],
    seeds: Annotated[
        Path | None,
        typer.Option(
            help="Known sets that new terms may join: .set, .jsonl, or Solr's synonyms.txt."
        ),
    ] = None,
    reviews: Reviews = None,
    ids: Annotated[
        Path | None,
        typer.Option(help="Sets of an earlier run; sets that match one of them keep its id."),
    ] = None,
    trace: Annotated[
        Path | None,
        out_file("JSONL file: for each term its best set, probability and decision.", "--trace"),
    ] = None,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Mine synonym sets from a vocabulary.

    With --seeds, terms may join known sets. A rehearsal, which hides known names and assigns
    them again, calibrates the probability. The trace gives the kind of each new name and its likely
    relation.

    With --reviews, terms that reviewers judged correct in one set also form a known set, and
    terms that they separated are cannot-link pairs.

    Example: `synsetmine mine model --vectors vectors.txt --vocabulary terms.txt --out mined.jsonl`
    """
    read = (vocabulary, seeds, reviews, *(vectors or ()))
    check_not_input(out, trace, *read)
    if trace is not None:
        check_not_input(trace, ids, *read)
    from synsetmine.io.sets import check_ids, write_sets, write_trace
    from synsetmine.models import load_model
    from synsetmine.pipeline.mining import (
        NO_SETS,
        MineResult,
        accepted_names,
        mine_terms,
        order_vocabulary,
    )
    from synsetmine.pipeline.model_stages import read_constraints
    from synsetmine.review.feedback import seed_sets

    stored = load_model(model)
    tables = [load_vectors(path, skip_bad) for path in vectors or ()]
    listed = load_vocabulary(vocabulary, tables[0] if tables else None, skip_bad, name_column)
    constraints = read_constraints(reviews)
    ordered = order_vocabulary(listed, settings)
    terms = [term for term in ordered if term not in constraints.not_names]
    listed_seeds = NO_SETS if seeds is None else load_sets(seeds, skip_bad)
    informed = seed_sets(listed_seeds, constraints)
    known = informed.sets
    console.report_reviews(informed.counts)
    check_ids(out, known.ids)
    named = choose_encoder(encoder, stored)
    views = load_views(tables, named, (*terms, *known.terms), device=device)
    _check_known(stored, views, terms, known)
    earlier = None if ids is None else load_sets(ids, skip_bad)
    with console.progress_bar("mining") as bar:
        mined = mine_terms(
            stored,
            views,
            terms,
            settings,
            seeds=known,
            accepted=accepted_names(known, listed_seeds),
            cannot_link=constraints.cannot_link,
            max_sets=limits.max_sets,
            earlier=earlier,
            device=choose_device(device, uses_torch=stored.uses_torch),
            progress=bar.update,
        )
    sets = mined.sets.pick(i for i, size in enumerate(mined.sets.sizes) if size >= limits.min_size)
    write_sets(out, sets)
    if trace is not None:
        write_trace(trace, mined.trace)
    result = MineResult.of(mined, known)
    console.report_missing(mined.without_vector, len(terms), "stand alone")
    for note in result.notes:
        console.warn(note)
    several = sum(size > 1 for size in sets.sizes)
    console.say(
        f"{len(terms)} terms: {len(mined.sets)} sets, {several} of two or more terms; "
        f"{len(sets)} written to {place_of(out)}"
    )
    for sentence in result.summary if known else ():
        console.say(sentence)


def _check_known(
    model: StoredModel, views: TermViews, terms: Sequence[Term], seeds: SynonymSets
) -> None:
    """Refuse views that do not fit the model, and report terms of seeds that it cannot judge."""
    model.check(views)
    if terms and not model.known(terms, views):
        first = shorten(str(terms[0]), 60)
        raise DataError(
            "none of the terms of the vocabulary has a vector; the first is", value=first
        )
    judged = set(model.known(seeds.terms, views))
    missing = [term for term in seeds.terms if term not in judged]
    console.report_missing(missing, len(seeds.terms), "are ignored in seeds")
