"""Candidate terms: learn the weights of `synsetmine.text.noun_phrases`, and judge what they choose.

    python -m experiments.candidates --corpus corpus.jsonl.gz --kb mesh.jsonl.gz

prints, for abstracts and MeSH and for the demo's Wikipedia articles and their link texts: how many
phrases are candidates before and after, the share of the knowledge base's names that stay when
the classifier has not seen them (5 folds over phrases), and 100 random candidates that are no
known names. `--learn` learns the weights again from both and writes them into the package.

The weights are a logistic regression of three kinds of examples: names of the knowledge base are
names, phrases in `candidate_labels.tsv` are what a reader said, and all others count as no names,
which most of them are. The second kind was drawn at random, from all phrases of the first kind of
run or from those that an earlier state of the classifier took.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import synsetmine
from synsetmine.corpus import read_corpus
from synsetmine.corpus.documents import write_documents
from synsetmine.kb import read_kb
from synsetmine.normalization import normal_form
from synsetmine.pipeline.project import DUMP
from synsetmine.text.noun_phrases import (
    PhraseCounts,
    feature_names,
    name_features,
    name_probabilities,
    threshold_for,
)
from synsetmine.text.phrases import choose_phrases, count_phrases

LABELS = Path(__file__).with_name("candidate_labels.tsv")
WEIGHTS = Path(synsetmine.__file__).parent / "text" / "noun_phrases.json"
FOLDS = 5
# The mass of each kind of example in a corpus, and how strongly the weights are held back.
KNOWN, LABELLED, OTHER, PENALTY = 5_000, 5_000, 10_000, 0.03


@dataclass(frozen=True, eq=False)
class Corpus:
    """The phrases of a corpus that hold together, which are known names, which were read."""

    name: str
    counts: PhraseCounts
    is_known: NDArray[np.bool_]
    label: NDArray[np.int64]  # 1: a name, 0: none, -1: not read
    is_random: NDArray[np.bool_]  # read, and drawn from all phrases


def main() -> None:
    options = _options()
    abstracts = _corpus("medline", options.corpus, options.kb, options.abstracts, min_count=5)
    # The articles are few, so that the weights are learned from rare phrases too.
    training = [abstracts, _corpus("wikipedia", _dump(), _dump(), None, min_count=2)]
    if options.learn:
        _learn(training)
    articles = _corpus("wikipedia", _dump(), _dump(), None, min_count=5)
    for corpus in (abstracts, articles):
        _report(corpus, training, seed=options.seed, sample=options.sample)


def _learn(corpora: Sequence[Corpus]) -> None:
    background = _background(corpora)
    fold = [_folds(corpus) for corpus in corpora]
    bias, weights = _fit([(corpus, None) for corpus in corpora], background)
    scores, names = [], []
    for number in range(FOLDS):
        parts = [(corpus, fold[i] != number) for i, corpus in enumerate(corpora)]
        part_bias, part_weights = _fit(parts, background)
        for i, corpus in enumerate(corpora):
            read = (fold[i] == number) & corpus.is_random
            features = name_features(corpus.counts.take(np.flatnonzero(read)), background)
            scores.append(features @ part_weights + part_bias)
            names.append(corpus.label[read])
    # Platt's calibration, on scores of phrases that were not trained on and drawn from all.
    platt = LogisticRegression(C=1e6).fit(np.concatenate(scores)[:, None], np.concatenate(names))
    slope, shift = float(platt.coef_[0, 0]), float(platt.intercept_[0])
    stored = {
        "bias": round(slope * bias + shift, 5),
        "background": np.round(background, 5).tolist(),
        "weights": {
            name: round(float(weight), 5)
            for name, weight in zip(feature_names(), slope * weights, strict=True)
        },
    }
    WEIGHTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(f"calibration: {slope:.2f} x score + {shift:.2f}")


def _background(corpora: Sequence[Corpus]) -> NDArray[np.float64]:  # (3, 2, classes)
    """The shares of the classes, the mean over the corpora; none is zero."""
    totals = [corpus.counts.contexts.sum(axis=0) + 1.0 for corpus in corpora]
    shares = [total / total.sum(axis=-1, keepdims=True) for total in totals]
    mean: NDArray[np.float64] = np.mean(shares, axis=0)
    return mean


def _fit(
    parts: Sequence[tuple[Corpus, NDArray[np.bool_] | None]], background: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Bias and weights, learned from these phrases of the corpora, or from all."""
    features, is_name, weight = [], [], []
    for corpus, chosen in parts:
        use = np.ones(len(corpus.counts), np.bool_) if chosen is None else chosen
        is_read = corpus.label >= 0
        kinds = [
            (corpus.is_known, KNOWN),
            (is_read & ~corpus.is_known, LABELLED),
            (~is_read & ~corpus.is_known, OTHER),
        ]
        target = np.where(corpus.is_known, 1, np.maximum(corpus.label, 0))
        for kind, mass in kinds:
            rows = np.flatnonzero(kind & use)
            features.append(name_features(corpus.counts.take(rows), background))
            is_name.append(target[rows])
            weight.append(np.full(len(rows), mass / max(len(rows), 1)))
    scaler = StandardScaler()
    scaled = scaler.fit_transform(np.vstack(features))
    model = LogisticRegression(C=PENALTY, max_iter=1000)
    model.fit(scaled, np.concatenate(is_name), sample_weight=np.concatenate(weight))
    weights = model.coef_[0] / scaler.scale_
    return float(model.intercept_[0] - weights @ scaler.mean_), weights


def _report(corpus: Corpus, corpora: Sequence[Corpus], *, seed: int, sample: int) -> None:
    counts, is_known = corpus.counts, corpus.is_known
    started = time.perf_counter()
    shipped = name_probabilities(counts)
    seconds = time.perf_counter() - started
    threshold = threshold_for(shipped, is_known)
    hidden = _probabilities(corpus, corpora)
    taken = hidden >= threshold
    print(f"\n## {corpus.name}: threshold {threshold:.2f}, {seconds:.1f} s to classify")
    print(f"phrases {len(counts):,}, candidates {np.count_nonzero(shipped >= threshold):,}")
    print(
        f"no known names: {np.count_nonzero(~is_known):,}, of those candidates "
        f"{np.count_nonzero((shipped >= threshold) & ~is_known):,}"
    )
    print(f"known names {is_known.sum():,}; kept when hidden {taken[is_known].mean():.1%}")
    for kind, rows in {"drawn from all": corpus.is_random, "read": corpus.label >= 0}.items():
        right = corpus.label[rows & taken] == 1
        print(f"phrases {kind}, not trained on: {np.mean(right):.1%} of {len(right)} names")
    surfaces = sorted(
        phrase.surface
        for phrase in choose_phrases(counts, known=_forms(counts, is_known))
        if phrase.form not in _forms(counts, is_known | (corpus.label >= 0))
    )
    drawn = random.Random(seed).sample(surfaces, min(sample, len(surfaces)))  # noqa: S311
    for start in range(0, len(drawn), 10):
        print(" | ".join(drawn[start : start + 10]))


def _forms(counts: PhraseCounts, chosen: NDArray[np.bool_]) -> frozenset[str]:
    return frozenset(counts.forms[row] for row in np.flatnonzero(chosen).tolist())


def _probabilities(corpus: Corpus, corpora: Sequence[Corpus]) -> NDArray[np.float64]:
    """The probability of each phrase by weights that were learned without it.

    Forms of another corpus that are in the same fold are left out too.
    """
    stored = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    background = np.array(stored["background"])
    shipped = logit(name_probabilities(corpus.counts))
    fold = {other.name: _folds(other) for other in corpora}
    score = np.zeros(len(corpus.counts))
    bias, weights = _fit([(other, None) for other in corpora], background)
    everything = name_features(corpus.counts, background) @ weights + bias
    for number in range(FOLDS):
        parts = [(other, fold[other.name] != number) for other in corpora]
        bias, weights = _fit(parts, background)
        rows = np.flatnonzero(_folds(corpus) == number)
        score[rows] = name_features(corpus.counts.take(rows), background) @ weights + bias
    slope, shift = np.polyfit(everything, shipped, 1)  # the calibration
    hidden: NDArray[np.float64] = expit(slope * score + shift)
    return hidden


def _folds(corpus: Corpus) -> NDArray[np.int64]:
    """By form, so that a name is in the same fold in each corpus."""
    return np.array([crc32(form.encode()) % FOLDS for form in corpus.counts.forms])


def _corpus(name: str, documents: Path, kb: Path, most: int | None, *, min_count: int) -> Corpus:
    base = read_kb(kb, format="mediawiki", anchors=1) if kb == _dump() else read_kb(kb)
    known = frozenset(base.forms.to_pylist())
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "documents.parquet"
        write_documents(stored, islice(read_corpus([str(documents)]), most))
        started = time.perf_counter()
        counts = count_phrases(stored, min_count=min_count)
        print(f"{name}: counted in {time.perf_counter() - started:.1f} s")
    read = {form: (label, drawn) for form, label, drawn in _labels(name)}
    labels = [read.get(form, (-1, "")) for form in counts.forms]
    is_known = np.array([form in known for form in counts.forms])
    label = np.where(is_known, -1, np.array([label for label, _ in labels]))
    is_random = np.array([drawn == "all" for _, drawn in labels]) & ~is_known
    return Corpus(name, counts, is_known, label, is_random)


def _labels(corpus: str) -> Iterator[tuple[str, int, str]]:
    with LABELS.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["corpus"] == corpus:
                yield normal_form(row["phrase"]), int(row["name"]), row["drawn from"]


def _dump() -> Path:
    package = find_spec("gensim")
    if package is None or package.origin is None:
        raise SystemExit("needs the demo's articles: pip install 'synsetmine[demo]'")
    return Path(package.origin).parent / DUMP


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="abstracts, JSONL")
    parser.add_argument("--kb", type=Path, required=True, help="MeSH, JSONL")
    parser.add_argument("--abstracts", type=int, help="only the first so many")
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learn", action="store_true", help="learn the weights again")
    return parser.parse_args()


if __name__ == "__main__":
    main()
