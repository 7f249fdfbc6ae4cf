"""The HTML page of a report: everything in one file, and nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from synsetmine.corpus.citations import document_page
from synsetmine.errors import quantity
from synsetmine.io.files import atomic_stream
from synsetmine.pipeline.report.charts import (
    SERIES,
    reliability_curve,
    size_histogram,
    size_table,
    term_scatter,
    threshold_curve,
    training_curve,
)
from synsetmine.pipeline.report.findings import (
    MEANINGS,
    Epochs,
    Findings,
    Penalties,
    gather_findings,
    percent,
)
from synsetmine.pipeline.settings import ReportSettings
from synsetmine.pipeline.stage_results import ReportResult
from synsetmine.runs import MinedSet, MinedTerm, Sentence
from synsetmine.runs.folder import RunFolder
from synsetmine.runs.results import ACTIONS, description, probability, share
from synsetmine.types import Progress

PLAIN_ROWS = 100  # rows of a table in the page itself, for reading without JavaScript
PLAIN_TERMS = 100  # of a set in such a row
SETS_A_BLOCK = 200  # sentences are read in blocks, when a set of the block is first opened


def write_run_report(
    settings: ReportSettings, folder: RunFolder, out: Path, progress: Progress
) -> ReportResult:
    """Gather the findings of a run and write the HTML file."""
    findings = gather_findings(settings, folder, progress)
    write_report(out, findings)
    return ReportResult(new_names=len(findings.new_names), groups=len(findings.groups))


def write_report(path: Path, findings: Findings) -> None:
    """Write the report of a run as one HTML file, whole or not at all."""
    with atomic_stream(path) as stream:
        for piece in _template().generate(_context(findings)):
            # A half of a surrogate pair cannot be written; the rest of its text can.
            stream.write(piece.encode("utf-8", "replace"))


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {
        "number": lambda value: f"{value:,}",
        "quantity": quantity,
        "score": _score,
        "probability": probability,
        "duration": _duration,
        "share": share,
        "percent": percent,
        "description": description,
        "document_page": document_page,
    }
    return environment.from_string(_resource("report.html"))


def _context(findings: Findings) -> dict[str, Any]:
    style = _resource("palette.css", "runs") + _resource("report.css")
    script = _resource("report.js")
    titles = {mined.id: findings.title_of(mined) for mined in findings.sets}
    sizes = [len(mined.terms) for mined in findings.sets]
    return {
        "f": findings,
        "policy": _policy(style, script),
        "style": Markup(style),  # noqa: S704
        "script": Markup(script),  # noqa: S704
        "when": _when(findings.created),
        "titles": titles,
        "actions": ACTIONS,
        "names": findings.new_names[:PLAIN_ROWS],
        "groups": findings.groups[:PLAIN_ROWS],
        "plain_terms": PLAIN_TERMS,
        "plain": list(islice(findings.shown_first, PLAIN_ROWS)),
        "links": findings.kept.links + sum(t.links for t in findings.dropped.values()),
        "longest_stage": max((stage.seconds for stage in findings.stages), default=0),
        "seconds": sum(stage.seconds for stage in findings.stages),
        "series": SERIES,
        "meanings": MEANINGS,
        "sizes": size_table(sizes),
        "training_curve": training_curve(findings.training),
        "training": _training_table(findings.training),
        "size_histogram": size_histogram(sizes),
        "reliability_curve": reliability_curve(f.reliability if (f := findings.rehearsal) else ()),
        "threshold_curve": threshold_curve(findings.thresholds, findings.threshold),
        "term_map": term_scatter(findings.points, titles),
        "data": _json(_data(findings)),
        "blocks": _sentence_blocks(findings),
    }


def _training_table(training: Epochs | Penalties) -> dict[str, Any]:
    """Caption and table under the training's figure; a row starts with whether it was kept."""
    if isinstance(training, Epochs):
        measure = training.select_by
        return {
            "caption": f"Loss and validation {measure} by epoch. The model is that of the best "
            "epoch.",
            "columns": ("Epoch", "Loss", measure),
            "rows": [
                (epoch == training.best, epoch, [_score(loss, 4), _score(value)])
                for epoch, loss, value in training.history
            ],
        }
    return {
        "caption": "Loss on held-out training sets by penalty. The penalty keeps the model near "
        "the general model; an infinite one leaves it unchanged. A mark shows the penalty chosen.",
        "columns": ("Penalty", "Loss"),
        "rows": [
            (
                penalty == training.chosen,
                "infinite" if penalty is None else f"{penalty:g}",
                [_score(loss, 4)],
            )
            for penalty, loss in training.losses
        ],
    }


def _resource(name: str, package: str = "pipeline.report") -> str:
    return resources.files(f"synsetmine.{package}").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Only our own script and style may run; nothing may be loaded or sent."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(findings: Findings) -> dict[str, Any]:
    """What the script lists, searches and sorts; names and groups by the number of their set."""
    number_of = {mined.id: number for number, mined in enumerate(findings.sets)}
    place_of = {id(term): n for mined in findings.sets for n, term in enumerate(mined.terms)}
    return {
        "names": [[number_of[mined.id], place_of[id(term)]] for mined, term in findings.new_names],
        "groups": [
            [number_of[mined.id], int(mined.differs_in_form_only)] for mined in findings.groups
        ],
        "threshold": _finite(findings.threshold),
        "actions": ACTIONS,
        "block": SETS_A_BLOCK,
        "sets": [_set_record(mined, findings) for mined in findings.sets],
    }


def _set_record(mined: MinedSet, findings: Findings) -> dict[str, Any]:
    """A set without its sentences; what is empty or false is left out."""
    record: dict[str, Any] = {"id": mined.id}
    if mined.entity is not None:
        record |= {"entity": mined.entity, "name": findings.name_of(mined.entity)}
    return record | {"terms": [_term_record(term) for term in mined.terms]}


def _term_record(term: MinedTerm) -> dict[str, Any]:
    record: dict[str, Any] = {"text": term.text, "count": term.count, "action": term.action}
    if term.sense:
        record["sense"] = term.sense
    if term.known:
        record["known"] = True
    probability = _finite(term.probability)
    if probability is not None:
        record["probability"] = round(probability, 6)
    if term.kind:
        record["kind"] = term.kind
    if about := description(term):
        record["about"] = about
    return record


def _sentence_blocks(findings: Findings) -> Iterator[Markup]:
    """The sentences of `SETS_A_BLOCK` sets at a time: set, term, sentence.

    A sentence is (document, before, term, after), since JavaScript counts characters otherwise;
    evidence comes first, and has its relation behind these. Last comes the page of the document.
    """
    for start in range(0, len(findings.sets), SETS_A_BLOCK):
        yield _json(
            [
                [
                    [
                        _quote(sentence, findings.document_prefix)
                        for sentence in term.quotes(term.sentences)
                    ]
                    for term in mined.terms
                ]
                for mined in findings.sets[start : start + SETS_A_BLOCK]
            ]
        )


def _quote(sentence: Sentence, prefix: str) -> list[str]:
    text, start, end = sentence.text, sentence.start, sentence.end
    quote = [sentence.document, text[:start], text[start:end], text[end:]]
    if page := document_page(sentence.document, prefix):
        return [*quote, sentence.relation, page]
    return [*quote, sentence.relation] if sentence.relation else quote


def _json(value: object) -> Markup:
    """JSON that no HTML parser can take for the end of its element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _when(created: str) -> str:
    """An ISO time as people write it; anything else as it is."""
    try:
        time = datetime.fromisoformat(created)
    except ValueError:
        return created
    zone = f" {time.tzname()}" if time.tzinfo else ""
    return f"{time.day} {time:%B %Y, %H:%M}{zone}"


def _score(value: float | None, digits: int = 3) -> str:
    finite = _finite(value)
    return "–" if finite is None else f"{finite:.{digits}f}"


def _duration(seconds: float) -> str:
    finite = _finite(seconds)
    if finite is None:
        return "–"
    if finite < 60:
        return f"{finite:.1f} s"
    minutes, rest = divmod(round(finite), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
