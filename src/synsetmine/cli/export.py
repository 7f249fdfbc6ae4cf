"""`synsetmine export`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Reviews, SkipBad, load_sets
from synsetmine.cli.options import (
    SettingOptions,
    check_not_input,
    out_file,
    place_of,
)
from synsetmine.errors import DataError, SynsetmineError, quantity
from synsetmine.pipeline.settings import ExportSettings
from synsetmine.schema import setting

if TYPE_CHECKING:
    from synsetmine.export import About, Format
    from synsetmine.runs import MinedSet
    from synsetmine.types import NameKind


OF_ABOUT = (
    *("title", "base", "entities", "language", "created", "licence", "prefix"),
    "document_prefix",
)
ENGINES = "Search engines"
GRAPHS = "Knowledge graphs"


def _check_format(name: str) -> str:
    from synsetmine.export import FORMATS

    if name not in FORMATS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, FORMATS))}.")
    return name


def _list_formats(show: bool) -> None:
    if not show:
        return
    from synsetmine.export import FORMATS

    rows = [(each.name, each.ending, each.help, each.extra) for each in FORMATS.values()]
    console.show_table(("format", "ending", "content", "extra"), rows)
    raise typer.Exit


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """What some formats take; each has its own defaults."""

    title: str | None = setting(None, help="title of the file; `Synonym sets` by default")
    explicit: bool | None = setting(
        None,
        help="rules that replace the other terms by the preferred one",
        option="--explicit",
        panel=ENGINES,
    )
    limit: int | None = setting(
        None,
        ge=0,
        help="maximum number of rules in a file, 10000 by default; further rules go into "
        "FILE-2, …; 0: no limit",
        panel=ENGINES,
    )
    weights: Literal["probability", "none"] | None = setting(
        None, help="weights of Querqy's synonyms; probability by default", panel=ENGINES
    )
    base: str | None = setting(
        None, help="URI prefix of the ids of sets; urn:synsetmine: by default", panel=GRAPHS
    )
    entities: str | None = setting(
        None,
        help="URI prefix of the knowledge base's ids, such as http://id.nlm.nih.gov/mesh/; by "
        "default OBO's for ids such as DOID:14330, else --base",
        panel=GRAPHS,
    )
    prefix: str | None = setting(
        None,
        help="prefix for ids of the knowledge base that have none, such as MESH; kb by default",
        panel=GRAPHS,
    )
    document_prefix: str | None = setting(
        None,
        help="prefix for ids of documents that are no CURIEs, DOIs or URLs, such as PMID for "
        "MEDLINE; by default such ids are no sources of names",
        panel=GRAPHS,
    )
    language: str | None = setting(
        None, help="language tag of the terms, such as en; none by default", panel=GRAPHS
    )
    created: str | None = setting(
        None, help="date of the file, such as 2026-01-31; none by default", panel=GRAPHS
    )
    licence: str | None = setting(None, help="URL of the licence; none by default", panel=GRAPHS)


def export(
    source: Annotated[
        Path, typer.Argument(help="A run folder, or a file of sets: .jsonl, .set or synonyms.txt.")
    ],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            callback=_check_format,
            metavar="FORMAT",
            help="The format to write; --formats lists them.",
        ),
    ],
    out: Annotated[Path, out_file("The file to write.", stdout="")],
    *,
    settings: Annotated[ExportSettings, SettingOptions()],
    counts: Annotated[
        Path | None, typer.Option(help="For a file of sets: a TSV file of its terms and counts.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="For a file of sets: the trace with its probabilities.")
    ] = None,
    kb: Annotated[
        Path | None,
        typer.Option(help="For a file of sets: a knowledge base as `knowledge` writes it."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Keep only the first known term of each set and its terms of this kind: spelling, "
            "inflection, word-order, abbreviation or other-words. May be given several times.",
            show_default=False,
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Leave out terms of this kind; may be given several times.",
            show_default=False,
        ),
    ] = None,
    reviews: Reviews = None,
    accepted: Annotated[
        bool, typer.Option("--accepted", help="Export only sets that a reviewer has accepted.")
    ] = False,
    known_only: Annotated[
        bool,
        typer.Option(
            "--known-only", help="Leave out sets without an entity of the knowledge base."
        ),
    ] = False,
    options: Annotated[dict[str, Any], SettingOptions(changes=FormatOptions)],
    skip_bad: SkipBad = False,
    formats: Annotated[
        bool,
        typer.Option(
            "--formats", callback=_list_formats, is_eager=True, help="List the formats and exit."
        ),
    ] = False,
) -> None:
    """Write mined sets in a format that other tools read.

    A file of synonyms for Elasticsearch, OpenSearch or Solr:

    Example: `synsetmine export run --format solr --out synonyms.txt --threshold 0.8`

    The body for Elasticsearch's synonyms API:

    Example: `synsetmine export run --format elasticsearch --out synonyms.json`

    Concepts with labels in SKOS, matched to those of the knowledge base:

    Example: `synsetmine export run -f skos -o sets.ttl --entities http://id.nlm.nih.gov/mesh/`

    A file without variants that an analyzer handles:

    Example: `synsetmine export run -f solr -o s.txt --without spelling --without inflection`

    New names for an ontology, with the articles that have them as sources:

    Example: `synsetmine export run -f robot -o names.tsv --document-prefix PMID`

    New names for known entities, to check and apply:

    Example: `synsetmine export run --format patch --out new-names.tsv`

    Only sets that reviewers have accepted:

    Example: `synsetmine export run --accepted --format obo --out synonyms.obo`

    Known entities with their names, without the groups of unknown terms:

    Example: `synsetmine export run --known-only --format obo --out entities.obo`

    Sets of a file, with frequencies that select the preferred term:

    Example: `synsetmine export mined.jsonl --counts vocabulary.tsv -f solr -o synonyms.txt`
    """
    del formats
    check_not_input(out, source, counts, trace, kb, reviews)
    from synsetmine.errors import ErrorCounts
    from synsetmine.export import FORMATS, About, choose_entries

    chosen = FORMATS[format]
    _check_taken(options, chosen)
    about = About(**{name: options.pop(name) for name in OF_ABOUT if name in options})
    kinds = _kinds(only or (), without or ())
    sets = _read(source, counts, trace, kb, skip_bad=skip_bad)
    sets = _apply_reviews(sets, source, reviews, accepted=accepted)
    if known_only:
        sets = _known_sets(sets)
    skipped = ErrorCounts()
    above = choose_entries(sets, threshold=settings.threshold, min_size=1)
    entries = choose_entries(
        sets,
        threshold=settings.threshold,
        min_size=settings.min_size,
        preferred=settings.preferred,
        kinds=kinds,
        skipped=skipped,
    )
    written = chosen.writable(entries, skipped)
    if below := sum(len(mined.terms) for mined in sets) - _terms(above):
        console.say(f"left out: {quantity(below, 'term')} below the threshold or judged incorrect")
    if small := len(sets) - len(entries):
        too_small = f"of fewer than {settings.min_size} terms"
        console.say(f"left out: {quantity(small, 'set')} {too_small}")
    console.report_left_out(skipped)
    if not written:
        raise SynsetmineError(f"no set of {source} is left to export; {out} is not written")
    if chosen.sentences and source.is_dir():
        written = _with_sentences(written, source)
    files = chosen.write(out, written, about, **options)
    if chosen.sources and source.is_dir():
        _report_sources(written, about)
    console.say(
        f"{_describe_content(chosen, written)} written to {', '.join(map(place_of, files))}"
    )


def _check_taken(options: Mapping[str, Any], chosen: Format) -> None:
    """An option that does not apply to the format is an error."""
    from synsetmine.export import FORMATS

    for name in options:
        if name not in chosen.takes:
            others = " and ".join(other.name for other in FORMATS.values() if name in other.takes)
            option = name.replace("_", "-")
            raise SynsetmineError(f"--{option} does not apply to {chosen.name}, only to {others}")


def _kinds(only: Sequence[str], without: Sequence[str]) -> Sequence[NameKind]:
    """The kinds of names to export."""
    from synsetmine.text.kinds import KINDS

    if only and without:
        raise SynsetmineError("--only and --without cannot be combined; give one of them")
    for option, values in (("only", only), ("without", without)):
        for value in values:
            if value not in KINDS:
                raise DataError(f"--{option} must be one of {', '.join(KINDS)}", value=value)
    return [kind for kind in KINDS if (kind in only if only else kind not in without)]


def _read(
    source: Path, counts: Path | None, trace: Path | None, kb: Path | None, *, skip_bad: bool
) -> Sequence[MinedSet]:
    """The sets of a run folder, or of a file, with details of its terms from other files."""
    from synsetmine.io.sets import is_rule_file, is_set_file, read_trace, read_vocabulary
    from synsetmine.kb import KnowledgeBase
    from synsetmine.runs import describe_sets, read_results
    from synsetmine.runs.folder import no_run

    if source.is_dir():
        if counts or trace or kb:
            problem = "--counts, --trace and --kb go with a file of sets; a run folder has its own"
            raise DataError(problem, value=str(source))
        return read_results(source)
    if not is_set_file(source) and not is_rule_file(source):
        if not source.exists():
            raise no_run(source)
        problem = "neither a run folder nor sets in .jsonl, .set or .txt"
        raise DataError(problem, path=source, hint="`synsetmine run` writes a run folder")
    sets = describe_sets(
        load_sets(source, skip_bad),
        kb=None if kb is None else KnowledgeBase.load(kb),
        trace=None if trace is None else {step.term: step for step in read_trace(trace)},
        counts=None if counts is None else read_vocabulary(counts).counts,
    )
    if is_rule_file(source) and counts is None and kb is None:  # `a => b` replaces a by b
        sets = [replace(one, preferred=one.terms[0].text) for one in sets]
    return sets


def _apply_reviews(
    sets: Sequence[MinedSet], source: Path, reviews: Path | None, *, accepted: bool
) -> Sequence[MinedSet]:
    """The sets after review; a run folder's own reviews are used by default."""
    from synsetmine.review.feedback import find_decisions, reviewed_sets
    from synsetmine.runs.folder import Artefacts

    if reviews is None and source.is_dir() and Artefacts(source).reviews.exists():
        reviews = source
    if reviews is None:
        if accepted:
            raise SynsetmineError(f"--accepted needs reviews, and {source} has none")
        return sets
    decisions = find_decisions(reviews)
    left = reviewed_sets(sets, decisions, accepted_only=accepted)
    reviewed = f"{quantity(len(decisions), 'decision')} of reviewers"
    console.say(f"{reviewed}; {len(left):,} of {quantity(len(sets), 'set')} left")
    return left


def _known_sets(sets: Sequence[MinedSet]) -> list[MinedSet]:
    """The sets of entities of the knowledge base."""
    known = [mined for mined in sets if mined.entity is not None]
    if not known:
        problem = "--known-only leaves no set: none has an entity of a knowledge base"
        raise SynsetmineError(f"{problem}; for a file of sets, give --kb")
    if unknown := len(sets) - len(known):
        console.say(f"left out: {quantity(unknown, 'set')} without an entity")
    return known


def _with_sentences(entries: Sequence[MinedSet], run: Path) -> list[MinedSet]:
    """The entries with a sentence of the run's corpus for each name that the miner added."""
    from synsetmine.export.entries import is_mined, names_of
    from synsetmine.export.tables import with_sentences
    from synsetmine.runs import example_sentences
    from synsetmine.runs.folder import Artefacts

    if not Artefacts(run).places.exists():
        console.say(f"{run} has no corpus to take example sentences from")
        return list(entries)
    with console.progress_bar("looking for sentences") as bar:
        names = [term.text for entry in entries for term in names_of(entry) if is_mined(term)]
        sentences = example_sentences(Artefacts(run), names, 1, bar.update)
    return with_sentences(entries, sentences)


def _report_sources(entries: Sequence[MinedSet], about: About) -> None:
    """Count the names without a document to cite, so that a curator can look for one."""
    from synsetmine.export.entries import is_mined, names_of, sources_of

    mined = [term for entry in entries for term in names_of(entry) if is_mined(term)]
    bare = [term for term in mined if not sources_of(term, about)]
    if bare:
        message = f"{len(bare):,} of {quantity(len(mined), 'name')} without a document to cite"
        ids = [one.document for term in bare for one in (*term.evidence, *term.sentences)]
        if ids and not about.document_prefix:
            message += f"; --document-prefix makes a source of ids such as {ids[0]!r}"
        console.say(message)


def _describe_content(chosen: Format, entries: Sequence[MinedSet]) -> str:
    """What a file holds, in words."""
    from synsetmine.export.entries import new_names

    if chosen.new_names:
        names = [term for entry in entries for term in new_names(entry)]
        known = sum(term.known for term in names)
        note = f" ({known:,} of them already in the knowledge base, mostly for other entities)"
        return quantity(len(names), "new name") + (note if known else "")
    return f"{quantity(len(entries), 'set')} of {quantity(_terms(entries), 'term')}"


def _terms(entries: Sequence[MinedSet]) -> int:
    return sum(len(entry.terms) for entry in entries)
