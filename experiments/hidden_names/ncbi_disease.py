"""Gold links of a PubTator corpus to sets: the mentions by concept, before and after a change.

    python -m experiments.hidden_names.ncbi_disease --corpus NCBIdisease_TrainDev.PubTator \\
        --kb mesh.jsonl.gz --source OTHER_CHECKOUT/src

The run takes the gold links (`linker = "pubtator"`), once with all other settings at their defaults
and once with names that occur once. Each mention with one concept of the knowledge base is a point:
its true cluster is the concept, its mined cluster the set with its surface; a surface in no set is
a cluster of its own. `--source` is the `src` folder of another version, which is measured too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sklearn.metrics import adjusted_rand_score

from synsetmine.corpus import read_corpus
from synsetmine.errors import ErrorCounts, SynsetmineError
from synsetmine.io.files import write_text
from synsetmine.io.sets import read_sets
from synsetmine.kb import KnowledgeBase, read_kb
from synsetmine.normalization import normal_form

WORK = Path(__file__).parents[2] / ".hidden-names" / "ncbi-disease"
SETTINGS = {
    "defaults": (),
    "min_count 1": ("supervise.min_count = 1", "vocabulary.min_count = 1"),
}


class Point(NamedTuple):
    """A mention: the normal form of its surface, and its concept."""

    form: str
    concept: str
    is_name: bool  # whether the surface is a name of the concept


def run(corpus: Path, kb: Path, folder: Path, source: Path, settings: Sequence[str]) -> Path | None:
    """Carry out a run with the program in `source`; returns its file of sets, None if it fails."""
    project = folder / "synsetmine.toml"
    paths = {"corpus": corpus, "kb": kb}
    lines = [f"{name}.path = {json.dumps(str(path.resolve()))}" for name, path in paths.items()]
    write_text(project, "\n".join([*lines, 'link.linker = "pubtator"', *settings, ""]))
    command = [sys.executable, "-m", "synsetmine", "run", str(project), "--until", "mine"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, env=environment, stdout=sys.stderr)  # noqa: S603
    return None if done.returncode else folder / "run" / "mined.jsonl"


def points(corpus: Path, kb: KnowledgeBase) -> Iterator[Point]:
    """The mentions with exactly one concept, which the knowledge base has."""
    for document in read_corpus([str(corpus)], skipped=ErrorCounts()):
        for mention in document.mentions:
            concept = kb.current(mention.entity.removeprefix("MESH:"))
            surface = document.text[mention.start : mention.end]
            form = normal_form(surface)
            if concept is not None and form:
                yield Point(form, concept, kb.knows(concept, surface))


def score(mined: Path, mentions: Sequence[Point]) -> dict[str, float]:
    """ARI of the mentions by concept, and what became of those that are new names."""
    sets = read_sets(mined)
    set_of = {
        normal_form(term.surface): set_id
        for set_id, members in zip(sets.ids, sets, strict=True)
        for term in members
    }

    def ari(chosen: Sequence[Point]) -> float:
        clusters = [set_of.get(point.form, f" {point.form}") for point in chosen]
        return float(adjusted_rand_score([point.concept for point in chosen], clusters))

    concepts = {point.concept for point in mentions}
    new = [point for point in mentions if not point.is_name]
    joined = [point for point in new if set_of.get(point.form) in concepts]
    right = sum(set_of[point.form] == point.concept for point in joined)
    return {
        "mentions": len(mentions),
        "ARI": ari(mentions),
        "mentions by a name that MeSH lacks": len(new),
        "ARI of these": ari(new),
        "of these joined to a concept": len(joined),
        "of these joined to the right concept": right,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--kb", type=Path, required=True)
    parser.add_argument("--source", type=Path, help="`src` of another version, measured before")
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    options = parser.parse_args(arguments)
    versions = {"after": Path(__file__).parents[2] / "src"}
    if options.source:
        versions = {"before": options.source, **versions}
    try:
        mentions = list(points(options.corpus, read_kb(options.kb)))
        figures = {}
        for version, source in versions.items():
            for label, settings in SETTINGS.items():
                folder = options.work / f"{version}-{label}"
                mined = run(options.corpus, options.kb, folder, source, settings)
                figures[f"{version}, {label}"] = score(mined, mentions) if mined else None
    except SynsetmineError as error:
        sys.exit(f"error: {error}")
    text = json.dumps(figures, indent=1) + "\n"
    if options.out:
        write_text(options.out, text)
    print(text, end="")


if __name__ == "__main__":
    main()
