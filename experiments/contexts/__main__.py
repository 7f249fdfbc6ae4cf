"""Learn how far contexts of names are to be trusted, and judge it on sources left out.

    python -m experiments.contexts --data DATA --weights WEIGHTS --out OUT --page PAGE

DATA has the folders `ncbi-disease` and `medline`. WEIGHTS are weights of the general model that
have not learned the names of the sources (`python -m experiments.general_model --without …`), so
that names and contexts are trusted as with names that nobody has seen. OUT gets
`contexts-strings.safetensors` and `contexts-encoder.safetensors`, which `load_general` reads beside
the other weights. For the page, each source is judged by a classifier that learned from the others.
`--strings` leaves the sentence encoder out, which takes most of the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from safetensors.numpy import save_file

from experiments.contexts.judgement import SourceScores, judge_source, write_page
from experiments.contexts.learning import Nodes, learn
from experiments.contexts.mentions import SOURCES, Row, draw
from synsetmine.models.general import load_general
from synsetmine.models.general.contexts import ContextClassifier
from synsetmine.models.general.model import GeneralModel
from synsetmine.pipeline.grouping import Encode
from synsetmine.views import encode_terms, find_encoder

DRAWS = 3  # of each source that teach
JUDGED = 2  # other draws of each source that are judged
COUNT = 2000  # rows of a draw
PER_NAME = 20  # mentions of a name in a draw


def main() -> None:
    options = _options()
    rows = {name: read(options.data) for name, read in SOURCES.items()}
    encode: Encode = partial(encode_terms, model=find_encoder("minilm"), cache=options.cache)
    kinds = _kinds(options.weights, encode)[: 1 if options.strings else 2]
    nodes = {kind: _nodes(rows, model, own_encode) for kind, model, own_encode in kinds}
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        for kind, taught in nodes.items():
            classifier = learn(taught)
            save_file(classifier.arrays(), options.out / f"contexts-{kind}.safetensors")
            print(f"{kind}: {len(classifier.same)} weights", flush=True)
    if options.page is not None:
        results: dict[str, list[SourceScores]] = {}
        tests = {name: _draws(own, JUDGED, DRAWS) for name, own in rows.items()}
        for left_out in rows:
            classifiers: dict[str, ContextClassifier] = {
                kind: learn({name: own for name, own in taught.items() if name != left_out})
                for kind, taught in nodes.items()
            }
            models = {kind: replace(model, contexts=classifiers[kind]) for kind, model, _ in kinds}
            results[left_out] = [
                judge_source(t, models, None if options.strings else encode, options.cache)
                for t in tests[left_out]
            ]
            print(left_out, "judged", flush=True)
        write_page(options.page, tests, results)


def _kinds(
    weights: Path | None, encode: Encode
) -> Sequence[tuple[str, GeneralModel, Encode | None]]:
    return [
        ("strings", load_general(folder=weights), None),
        ("encoder", load_general(folder=weights, encoder=True), encode),
    ]


def _nodes(
    rows: dict[str, list[Row]], model: GeneralModel, encode: Encode | None
) -> dict[str, list[Nodes]]:
    return {
        name: [Nodes(one, model, encode, seed) for seed, one in enumerate(_draws(own, DRAWS, 0))]
        for name, own in rows.items()
    }


def _draws(rows: list[Row], count: int, first: int) -> list[list[Row]]:
    seeds = range(first, first + count)
    return [draw(rows, count=COUNT, per_name=PER_NAME, seed=seed) for seed in seeds]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--weights", type=Path, required=True, help="of the general model")
    parser.add_argument("--out", type=Path, help="folder for the weights of contexts")
    parser.add_argument("--page", type=Path, help="page for the figures of sources left out")
    parser.add_argument("--strings", action="store_true", help="without a sentence encoder")
    parser.add_argument("--cache", type=Path, help="folder that keeps the encoder's vectors")
    return parser.parse_args()


if __name__ == "__main__":
    main()
