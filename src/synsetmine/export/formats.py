"""The registry of export formats, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Concatenate, TypeAlias

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.export.changes import (
    kgcl_entity_problem,
    kgcl_problem,
    quickstatements_entity_problem,
    quickstatements_problem,
    robot_entity_problem,
    robot_problem,
    write_kgcl,
    write_quickstatements,
    write_robot,
)
from synsetmine.export.entries import About, new_names, synonym_scope
from synsetmine.export.ontologies import write_obo, write_skos, write_sssom
from synsetmine.export.solr import (
    managed_problem,
    querqy_problem,
    rule_problem,
    write_elasticsearch,
    write_managed,
    write_querqy,
    write_solr,
)
from synsetmine.export.tables import (
    gilda_problem,
    text_problem,
    write_csv,
    write_gilda,
    write_jsonl,
    write_parquet,
    write_patch,
    write_spacy,
    write_ssslm,
)
from synsetmine.kb.obo import obo_problem
from synsetmine.runs import MinedSet, MinedTerm

# write(path, entries, about, **options) writes all entries and returns the paths of the files;
# optional packages are imported when it is called.
Writer: TypeAlias = Callable[Concatenate[Path, Sequence[MinedSet], About, ...], list[Path]]


@dataclass(frozen=True)
class Format:
    """One format: how to write it, and which terms it can hold."""

    name: str
    ending: str  # usual ending of its file names
    help: str  # in one line
    writer: Writer
    takes: frozenset[str] = frozenset()  # options that it uses, also those of `About`
    refuses: Callable[[str], str] | None = None  # why it cannot hold a term; empty if it can
    refuses_entity: Callable[[str | None], str] | None = None  # the same for a set's entity
    exact: bool = False  # whether it holds exact names only
    smallest: int = 1  # fewest different terms of a set
    extra: str = ""  # extra of pyproject.toml with its packages
    new_names: bool = False  # whether it holds only new names of known entities
    sentences: bool = False  # whether it shows a sentence with each name that the miner added
    sources: bool = False  # whether it cites documents as the sources of names

    def write(
        self, path: str | Path, entries: Sequence[MinedSet], about: About, **options: Any
    ) -> list[Path]:
        """Write all of the entries, and return the paths of the files."""
        return self.writer(Path(path), entries, about, **options)

    def writable(self, entries: Sequence[MinedSet], skipped: ErrorCounts) -> list[MinedSet]:
        """Returns the entries that it can hold; `skipped` counts the other terms and sets."""
        kept = (self._drop_refused(entry, skipped) for entry in entries)
        return [entry for entry in kept if entry is not None]

    def _drop_refused(self, entry: MinedSet, skipped: ErrorCounts) -> MinedSet | None:
        if self.refuses_entity and (problem := self.refuses_entity(entry.entity)):
            skipped.append(DataError(problem, value=entry.entity or entry.terms[0].text))
            return None
        written = {term.text for term in (new_names(entry) if self.new_names else entry.terms)}
        terms = []
        for term in entry.terms:
            problem = self._problem(term) if term.text in written else ""
            if problem:
                skipped.append(DataError(problem, value=term.text))
            else:
                terms.append(term)
        if len({term.text for term in terms}) < self.smallest:
            problem = f"a set of which fewer than {self.smallest} terms can be written"
            skipped.append(DataError(problem, value=entry.terms[0].text))
            return None
        return replace(entry, terms=tuple(terms))

    def _problem(self, term: MinedTerm) -> str:
        # A change of a knowledge base needs more certainty than a file for search.
        scope = synonym_scope(term) if self.new_names else term.scope
        if self.exact and scope != "exact":
            return "a name that is broad, narrow or related" + ", or unsure" * self.new_names
        return "" if self.refuses is None else self.refuses(term.text)


_ALL = (
    Format(
        name="solr",
        ending=".txt",
        help="synonyms.txt of Solr, Elasticsearch and OpenSearch",
        writer=write_solr,
        takes=frozenset({"title", "explicit", "limit"}),
        refuses=rule_problem,
        smallest=2,
        exact=True,
    ),
    Format(
        name="elasticsearch",
        ending=".json",
        help="body for Elasticsearch's synonyms API",
        writer=write_elasticsearch,
        takes=frozenset({"explicit", "limit"}),
        refuses=rule_problem,
        smallest=2,
        exact=True,
    ),
    Format(
        name="solr-managed",
        ending=".json",
        help="body for Solr's managed synonyms",
        writer=write_managed,
        takes=frozenset({"explicit"}),
        refuses=managed_problem,
        smallest=2,
        exact=True,
    ),
    Format(
        name="querqy",
        ending=".txt",
        help="weighted rules of Querqy, for Solr, Elasticsearch and OpenSearch",
        writer=write_querqy,
        takes=frozenset({"title", "weights"}),
        refuses=querqy_problem,
        smallest=2,
        exact=True,
    ),
    Format(
        name="skos",
        ending=".ttl",
        help="concepts with their labels, in Turtle",
        writer=write_skos,
        takes=frozenset(
            {"title", "base", "entities", "language", "created", "licence", "document_prefix"}
        ),
        sentences=True,
    ),
    Format(
        name="sssom",
        ending=".sssom.tsv",
        help="new names as mappings to known entities",
        writer=write_sssom,
        takes=frozenset(
            {"title", "base", "entities", "created", "licence", "prefix", "document_prefix"}
        ),
        new_names=True,
        sentences=True,
        sources=True,
    ),
    Format(
        name="obo",
        ending=".obo",
        help="terms with their synonyms, for ontologies",
        writer=write_obo,
        takes=frozenset({"title", "created", "prefix", "document_prefix"}),
        refuses=obo_problem,
        sentences=True,
        sources=True,
    ),
    Format(
        name="ssslm",
        ending=".ssslm.tsv",
        help="literal mappings of SSSLM",
        writer=write_ssslm,
        takes=frozenset({"language", "prefix", "document_prefix"}),
        sentences=True,
        sources=True,
    ),
    Format(
        name="robot",
        ending=".tsv",
        help="template of ROBOT that adds new names to an ontology",
        writer=write_robot,
        takes=frozenset({"entities", "prefix", "document_prefix"}),
        refuses=robot_problem,
        refuses_entity=robot_entity_problem,
        new_names=True,
        sentences=True,
        sources=True,
    ),
    Format(
        name="kgcl",
        ending=".kgcl",
        help="new names as commands of KGCL, for ontologies",
        writer=write_kgcl,
        takes=frozenset({"language", "prefix"}),
        refuses=kgcl_problem,
        refuses_entity=kgcl_entity_problem,
        new_names=True,
    ),
    Format(
        name="quickstatements",
        ending=".txt",
        help="new names as aliases for Wikidata's QuickStatements",
        writer=write_quickstatements,
        takes=frozenset({"language", "document_prefix"}),
        refuses=quickstatements_problem,
        refuses_entity=quickstatements_entity_problem,
        exact=True,
        new_names=True,
        sentences=True,
        sources=True,
    ),
    Format(
        name="gilda",
        ending=".tsv.gz",
        help="terms for the grounder Gilda",
        writer=write_gilda,
        takes=frozenset({"prefix"}),
        refuses=gilda_problem,
        exact=True,
        extra="gilda",
    ),
    Format(
        name="spacy",
        ending=".jsonl",
        help="patterns for spaCy's entity ruler",
        writer=write_spacy,
        refuses=text_problem,
        exact=True,
    ),
    Format(
        name="csv",
        ending=".csv",
        help="one row per term, for spreadsheets",
        writer=write_csv,
        sentences=True,
    ),
    Format(
        name="jsonl",
        ending=".jsonl",
        help="one line per set, with all details",
        writer=write_jsonl,
        sentences=True,
    ),
    Format(
        name="parquet",
        ending=".parquet",
        help="one row per term, with typed columns",
        writer=write_parquet,
        takes=frozenset({"title", "created"}),
        sentences=True,
    ),
    Format(
        name="patch",
        ending=".tsv",
        help="new names for known entities, for a curator and `apply-names`",
        writer=write_patch,
        takes=frozenset({"document_prefix"}),
        new_names=True,
        sentences=True,
    ),
)
FORMATS: Mapping[str, Format] = {format_.name: format_ for format_ in _ALL}
