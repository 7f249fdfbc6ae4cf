"""`synsetmine mine`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    Device,
    Encoder,
    Model,
    Reviews,
    SkipBad,
    Tables,
    choose_encoder,
    load_reviews,
    load_sets,
    load_vectors,
    load_views,
    load_vocabulary,
)
from synsetmine.cli.places import a_file, check_apart
from synsetmine.devices import choose_device
from synsetmine.errors import DataError, shorten
from synsetmine.types import Order


def mine(
    model: Model,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=a_file, help="File for the sets, .jsonl or .set."),
    ],
    vectors: Tables = None,
    encoder: Encoder = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="Terms to mine, one a line, optionally a tab and a count; or a file of sets, "
            "whose terms are taken. Default: all terms that have vectors."
        ),
    ] = None,
    order: Annotated[
        Order,
        typer.Option(
            help="given (terms of a file of sets: as in the vector file), frequent (first, by "
            "the vocabulary's counts) or random; the result of the paper's model depends on it."
        ),
    ] = "given",
    seed: Annotated[int, typer.Option(help="For --order random.")] = 0,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="θ: join a set above this probability. Default: the model's."
        ),
    ] = None,
    known_threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Join a known set (--seeds) from this probability on, where the seeds are enough "
            "for a rehearsal. Default: 0.5, an even chance.",
        ),
    ] = None,
    max_sets: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Open no more sets than this, seeds included; terms without vectors come on top.",
        ),
    ] = None,
    seeds: Annotated[
        Path | None, typer.Option(help="Known sets that new terms may join, .set or .jsonl.")
    ] = None,
    reviews: Reviews = None,
    ids: Annotated[
        Path | None,
        typer.Option(help="Sets of an earlier run; those that are the same sets keep their ids."),
    ] = None,
    min_size: Annotated[
        int, typer.Option(min=1, help="Write only sets of at least this many terms.")
    ] = 1,
    trace: Annotated[
        Path | None,
        typer.Option(
            callback=a_file,
            help="JSONL file: for each term its best set, probability and decision.",
        ),
    ] = None,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Mine synonym sets from a vocabulary.

    With --seeds, terms join known sets by a probability that a rehearsal calibrates: known names
    are hidden and looked for. The trace tells the kind of each new name and its likely relation.

    With --reviews, terms that people called correct in one set are a known set too, and terms
    that they separated cannot be linked again.

    Example: `synsetmine mine model --vectors vectors.txt --vocabulary terms.txt --out mined.jsonl`
    """
    read = (vocabulary, seeds, reviews, *(vectors or ()))
    check_apart(out, trace, *read)
    if trace is not None:
        check_apart(trace, ids, *read)
    from synsetmine.models import generate_sets, load_model
    from synsetmine.models.description import describe_joins
    from synsetmine.models.known import KNOWN_THRESHOLD
    from synsetmine.pipeline.new_names import NewNames
    from synsetmine.review.feedback import seed_sets
    from synsetmine.setfiles import check_ids, write_sets
    from synsetmine.setids import lasting_ids
    from synsetmine.trace import write_trace
    from synsetmine.types import SynonymSets, order_terms

    stored = load_model(model)
    tables = [load_vectors(path, skip_bad) for path in vectors or ()]
    wanted = load_vocabulary(vocabulary, tables[0] if tables else None, skip_bad)
    walk = order_terms(wanted.terms, order, seed=seed, counts=wanted.counts or None)
    said = load_reviews(reviews)
    informed = seed_sets(SynonymSets((), ()) if seeds is None else load_sets(seeds, skip_bad), said)
    console.report_reviews(informed.counts)
    known = informed.sets
    check_ids(out, known.ids)
    named = choose_encoder(encoder, stored)
    everyone = (*walk, *known.terms)
    views = load_views(tables, named, everyone, device=device)
    stored.check(views)
    if walk and not stored.known(walk, views):
        first = shorten(str(walk[0]), 60)
        raise DataError("no term of the vocabulary has a vector, neither the first", value=first)
    judged = set(stored.known(known.terms, views))
    missing = [term for term in known.terms if term not in judged]
    console.report_missing(missing, len(known.terms), "have no say in seeds")
    with console.progress_bar("mining") as bar:
        mined = generate_sets(
            stored,
            views,
            walk,
            threshold=stored.threshold if threshold is None else threshold,
            known_threshold=KNOWN_THRESHOLD if known_threshold is None else known_threshold,
            max_sets=max_sets,
            seeds=known,
            cannot_link=said.apart,
            device=choose_device(device, uses_torch=stored.uses_torch),
            progress=bar.update,
        )
    mined = describe_joins(mined, views.evidence)
    earlier = None if ids is None else load_sets(ids, skip_bad)
    mined = mined.renamed(lasting_ids(mined.sets, fixed=known.ids, earlier=earlier))
    kept = [i for i, size in enumerate(mined.sets.sizes) if size >= min_size]
    sets = SynonymSets.of([mined.sets.sets[i] for i in kept], [mined.sets.ids[i] for i in kept])
    write_sets(out, sets)
    if trace is not None:
        write_trace(trace, mined.trace)
    console.report_missing(mined.without_vector, len(walk), "stand alone")
    console.report_giant(mined.giant)
    several = sum(size > 1 for size in sets.sizes)
    console.say(
        f"{len(walk)} terms: {len(mined.sets)} sets, {several} of two or more terms; "
        f"{len(sets)} written to {out}"
    )
    if known:
        for sentence in NewNames.of(mined, known).sentences:
            console.say(sentence)
