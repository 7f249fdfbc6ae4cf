"""Which settings of corpus vectors bring synonyms together? MEDLINE abstracts and MeSH names.

Names of MeSH that stand in the corpus at least five times are the terms; those of one entity are
a set. Names of several entities are left out. The entities are split by a hash of their ids: 70 %
are the development part, by which the defaults are chosen. The vectors of others are not scored.

    python experiments/medline_vectors.py --workers 2
    python experiments/medline_vectors.py --quick            # two settings, a tenth of the corpus

A setting that is done is not done again: its figures lie beside the page, in `vectors/`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, fowlkes_mallows_score

from synsetmine.corpus import write_documents
from synsetmine.engines import LocalEngine
from synsetmine.errors import in_one_line
from synsetmine.io.files import numbered_lines, write_text
from synsetmine.normalization import normal_form
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.phrases import choose_phrases, count_phrases
from synsetmine.text.vocabulary import UnitCounter, count_forms
from synsetmine.types import Document, Term
from synsetmine.views import TermVectors
from synsetmine.views.cooccurrence import train_cooccurrence
from synsetmine.views.skipgram import train_skipgram

HERE = Path(__file__).parent
MEDLINE = HERE.parents[1] / "shared" / "data" / "medline"
RESULTS = HERE.parent / "docs" / "results"
MIN_COUNT = 5
TOP = (500, 1000, 2000, 5000, 10_000)

# What is not said is the default of the code.
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "cooccurrence": {
        "default": {},
        "window 5": {"window": 5},
        "window 20": {"window": 20},
        "without texts": {"text_weight": 0.0},
        "without texts, window 5": {"text_weight": 0.0, "window": 5},
        "texts weigh 1": {"text_weight": 1.0},
        "texts weigh 2": {"text_weight": 2.0},
        "dimension 50": {"dimension": 50},
        "dimension 100": {"dimension": 100},
        "dimension 200": {"dimension": 200},
        "contexts 10,000": {"contexts": 10_000},
        "seed 1": {"seed": 1},
    },
    "skipgram": {
        "default": {},
        "5 epochs": {"epochs": 5},
    },
}
Link = Literal["average", "complete"]

# Written after the runs; to be read again where the figures change.
CHOICE = (
    "What counts: the texts as columns (P@1 .36 without, .46 with them) and the dimension (.34 at "
    "50, .41 at 100, .45 at 200, .46 at 300). Another seed alone moves P@1, MRR and ARI by .004 to "
    ".013, so with texts the windows from 5 to 20 can't be told apart. Nor could sides of a "
    "window, sentences, other powers of S, a shift of the log and a smoothed p(c), which the code "
    "no longer has. The weight 1.4 of the texts is only just better than 1 and 2. Without texts a "
    "wider window is better (.30 at 5, .36 at 10), and sides, which are said to be good for "
    "synonyms, were worse (.27): a name that is seen a few times has too few neighbours. Contexts "
    "beyond the 10,000 most frequent are worth .02.",
    "",
    "Some sixty settings were compared on the development part, with thresholds that are the best "
    "for it, so its figures flatter a little. The part set aside has not been scored.",
    "",
    "Skip-gram (50 dimensions, as in the paper) was run with two settings only. It still gains "
    "much from 5 to 15 epochs and may not be at its best; other windows, sampling and dimensions "
    "were not tried. At 50 dimensions PPMI and SVD reach P@1 .34.",
)
PHRASE_CHOICE = (
    "The order, cohesion x log(1 + count outside of the longer phrase), was found with all names "
    "of MeSH in view, also those set aside; so these shares are no held-out figures. On the names "
    "of the development part alone the choice is the same: among the first 2,000 it has 36 %, the "
    "count 23 %, cohesion 22 %, and cohesion x square root of the count 34 %. The least cohesion "
    "matters only for the end of the list. Taking phrases out as fragments at .5 rather than .8 "
    "changes less than one point."
)
QUICK = {"cooccurrence": ("default",), "skipgram": ("default",)}


def main() -> None:
    options = _options()
    settings = SETTINGS
    if options.quick:
        settings = {m: {n: SETTINGS[m][n] for n in names} for m, names in QUICK.items()}
    name = "vectors-quick" if options.quick else "vectors"
    folder: Path = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    data = Data(folder / "documents.parquet", options.workers)
    if not data.documents.exists():
        write_documents(data.documents, _abstracts(options.corpus, tenth=options.quick))
    development = folder / "development.json"
    if not development.exists():
        write_text(development, json.dumps(_development(data, options.kb)) + "\n")
    for method, variants in settings.items():
        for variant, given in variants.items():
            path = _result_file(folder, method, variant)
            if not path.exists():
                result = _alone(run, data, development, method, given)
                write_text(path, json.dumps({"setting": given, **result}, indent=1) + "\n")
                print(method, variant, result, flush=True)
    path = folder / "phrases.json"
    if not path.exists():
        write_text(path, json.dumps(_alone(run_phrases, data, development), indent=1) + "\n")
    page = _page(folder, settings)
    write_text(options.out / f"{name}.md", page)
    print(page)


@dataclass(frozen=True)
class Data:
    """The stored corpus, and how many processes work on it."""

    documents: Path
    workers: int


def _abstracts(path: Path, *, tenth: bool) -> Iterator[Document]:
    for number, line in numbered_lines(path):
        if not tenth or number % 10 == 0:
            yield Document(str(number), json.loads(line)["text"])


def _development(data: Data, kb: Path) -> dict[str, Any]:
    """The terms, and the entity of each that belongs to the development part."""
    entities: dict[str, set[str]] = {}
    for _, line in numbered_lines(kb):
        record = json.loads(line)
        for name in (record["name"], *record["synonyms"]):
            if form := normal_form(name):
                entities.setdefault(form, set()).add(record["id"])
    names = sorted(entities)
    counts = count_forms(
        data.documents,
        UnitCounter(names),
        matcher=NameMatcher.build(names),
        engine=LocalEngine(data.workers),
    )
    forms = [form for form in names if counts.get(form, 0) >= MIN_COUNT]
    owners = {form: min(entities[form]) for form in forms if len(entities[form]) == 1}
    return {
        "terms": forms,
        "entity": {form: owner for form, owner in owners.items() if not is_kept_aside(owner)},
    }


def is_kept_aside(entity: str) -> bool:
    """By a hash of the id, for 30 % of the entities; settings are chosen on the others."""
    return int(hashlib.sha256(entity.encode()).hexdigest()[:8], 16) % 10 < 3


def _alone(function: Any, *arguments: Any) -> Any:
    """In a process of its own, whose memory can be told."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def run(data: Data, development: Path, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Train with one setting and score it on the development part."""
    known = json.loads(development.read_text())
    train = train_skipgram if method == "skipgram" else train_cooccurrence
    started, used = time.perf_counter(), _cpu()
    vectors = train(
        data.documents,
        [Term(form) for form in known["terms"]],
        engine=LocalEngine(data.workers),
        **given,
    )
    cost = {
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(_cpu() - used, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    return {**score(vectors, known["entity"]), **cost}


def _cpu() -> float:
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in every)


def score(vectors: TermVectors, entity: Mapping[str, str]) -> dict[str, Any]:
    """Nearest neighbours of terms in sets among all terms; clusters of the terms in sets."""
    terms = [term for term in vectors.terms if term.surface in entity]
    _, label = np.unique([entity[term.surface] for term in terms], return_inverse=True)
    rows = vectors.select(terms)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)  # (terms, dimension)
    asked = np.flatnonzero(np.bincount(label)[label] > 1)
    near = unit[asked] @ unit.T  # (asked, terms)
    same = label[asked][:, None] == label
    here = np.arange(len(asked))
    near[here, asked] = -2
    same[here, asked] = False
    rank = 1 + (near > np.where(same, near, -3).max(axis=1)[:, None]).sum(axis=1)
    upper = np.triu_indices(len(asked), 1)
    pair, is_pair = near[:, asked][upper], same[:, asked][upper]
    return {
        "terms": len(terms),
        "terms_in_sets": len(asked),
        "sets": len(set(label[asked].tolist())),
        "p1": float((rank == 1).mean()),
        "mrr": float((1 / rank).mean()),
        "recall10": float((rank <= 10).mean()),
        "auc": _auc(pair, is_pair),
        "average": _clusters(pair, label[asked], "average"),
        "complete": _clusters(pair, label[asked], "complete"),
    }


def _auc(pair: npt.NDArray[Any], is_pair: npt.NDArray[np.bool_]) -> float:
    place = np.empty(len(pair))
    place[np.argsort(pair, kind="stable")] = np.arange(len(pair))
    hits = int(is_pair.sum())
    misses = len(pair) - hits
    return float((place[is_pair].sum() - hits * (hits - 1) / 2) / (hits * misses))


def _clusters(pair: npt.NDArray[Any], label: npt.NDArray[Any], link: Link) -> dict[str, float]:
    """ARI and FMI of agglomerative clusters at the threshold with the best ARI."""
    tree = linkage(np.maximum(1 - pair.astype(np.float64), 0), link)
    best = {"ari": 0.0, "fmi": 0.0, "threshold": 0.0}
    for threshold in np.arange(0.04, 0.9, 0.02):
        found = fcluster(tree, threshold, "distance")
        ari = float(adjusted_rand_score(label, found))
        if ari > best["ari"]:
            fmi = float(fowlkes_mallows_score(label, found))
            best = {"ari": ari, "fmi": fmi, "threshold": round(float(threshold), 2)}
    return best


def run_phrases(data: Data, development: Path) -> dict[str, Any]:
    """How many of the first phrases are names of the development part."""
    known = json.loads(development.read_text())
    names = {form for form in known["entity"] if " " in form}
    hidden = set(known["terms"]) - set(known["entity"])
    started, used = time.perf_counter(), _cpu()
    counts = count_phrases(data.documents, engine=LocalEngine(data.workers))
    phrases = choose_phrases(counts, threshold=0)
    cost = {
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(_cpu() - used, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    forms = [phrase.form for phrase in phrases if phrase.form not in hidden]
    return {
        "phrases": len(phrases),
        "names": len(names),
        "names_found": len(names.intersection(forms)),
        "share": {n: sum(form in names for form in forms[:n]) / n for n in TOP},
        "examples": {n: [p.surface for p in phrases[n : n + 12]] for n in (0, *TOP[:4])},
        **cost,
    }


def _result_file(folder: Path, method: str, variant: str) -> Path:
    return folder / f"{method}-{variant.replace(', ', '-').replace(' ', '-').replace(',', '')}.json"


def _page(folder: Path, settings: Mapping[str, Mapping[str, Any]]) -> str:
    results = {
        method: {v: json.loads(_result_file(folder, method, v).read_text()) for v in variants}
        for method, variants in settings.items()
    }
    first = results["cooccurrence"]["default"]
    phrases = json.loads((folder / "phrases.json").read_text())
    lines = [
        "# Corpus vectors and phrases on MEDLINE",
        "",
        "`python experiments/medline_vectors.py`: 33,277 abstracts (44M characters) and the names "
        f"of MeSH. Terms are the names that stand in the corpus at least {MIN_COUNT} times; names "
        "of several entities are left out. By a hash of their ids 30 % of the entities are set "
        "aside, and none of their vectors is scored. In the development part there remain "
        f"{first['terms']:,} terms, {first['terms_in_sets']:,} of them in {first['sets']:,} sets "
        "of two or more. The settings of the vectors are chosen on these.",
        "",
        "P@1, MRR and recall@10 ask for a synonym among the nearest neighbours (cosine) of each "
        "term in a set, out of all terms. AUC is the area under the ROC curve of all pairs of "
        "terms in sets. ARI and FMI are those of agglomerative clusters of these terms at the "
        "best threshold, by average and by complete link. Seconds are CPU seconds of all "
        "processes, on two cores that had other work too; the memory is the peak of the main "
        "process.",
        "",
        *CHOICE,
    ]
    for method, title in (("cooccurrence", "PPMI and SVD"), ("skipgram", "Skip-gram")):
        lines += ["", f"## {title}", "", *_table(results[method])]
    lines += ["", "## Phrases", "", *_phrase_lines(phrases), "", PHRASE_CHOICE]
    return "\n".join(lines) + "\n"


def _table(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    head = (
        "setting | P@1 | MRR | recall@10 | AUC | ARI, FMI average | ARI, FMI complete | CPU, s | MB"
    )
    rows = sorted(results.items(), key=lambda item: -item[1]["mrr"])
    return [
        f"| {head} |",
        f"|{' --- |' * (head.count('|') + 1)}",
        *(
            f"| {name} | {r['p1']:.3f} | {r['mrr']:.3f} | {r['recall10']:.3f} | {r['auc']:.4f} "
            f"| {r['average']['ari']:.3f}, {r['average']['fmi']:.3f} "
            f"| {r['complete']['ari']:.3f}, {r['complete']['fmi']:.3f} "
            f"| {r['cpu_seconds']:.0f} | {r['peak_mb']:,} |"
            for name, r in rows
        ),
    ]


def _phrase_lines(phrases: Mapping[str, Any]) -> list[str]:
    shares = ", ".join(
        f"{share:.0%} of the first {int(n):,}" for n, share in phrases["share"].items()
    )
    return [
        f"`count_phrases` finds {phrases['phrases']:,} phrases in {phrases['cpu_seconds']:.0f} CPU "
        f"seconds ({phrases['peak_mb']:,} MB). Of the {phrases['names']:,} names of two words or "
        f"more in the development part it finds {phrases['names_found']:,}. Such names are "
        f"{shares} (phrases that are names of entities set aside, or of several, do not count).",
        "",
        *(
            f"- from place {int(place) + 1:,} on: {', '.join(surfaces)}"
            for place, surfaces in phrases["examples"].items()
        ),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, default=MEDLINE / "corpus.jsonl.gz")
    parser.add_argument("--kb", type=Path, default=MEDLINE / "mesh.jsonl.gz")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="two settings, a tenth of the corpus")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
