"""Ontologies of the package cellxgene-ontology-guide as knowledge bases, for `hidden_names`.

python -m experiments.hidden_names.ontologies --out FOLDER MONDO UBERON
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.name_lists.biomedicine import cellxgene_terms, term_names


def write_ontology(path: Path, names_of: Mapping[str, Sequence[str]]) -> None:
    """Write the entities as JSON lines; those without a name are left out."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for identifier, names in names_of.items():
            first, *others = dict.fromkeys(names) or [""]
            if first:
                record = {"id": identifier, "name": first, "synonyms": others}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ontologies", nargs="+", help="prefixes of ids, such as MONDO")
    parser.add_argument("--out", type=Path, required=True, help="folder for the files")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for ontology in options.ontologies:
        names_of = term_names(cellxgene_terms(ontology), (f"{ontology}:",))
        write_ontology(options.out / f"{ontology.lower()}.jsonl.gz", names_of)


if __name__ == "__main__":
    main()
