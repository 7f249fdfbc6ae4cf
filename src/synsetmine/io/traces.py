"""What was decided for each term when sets were generated, and its file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from synsetmine.errors import DataError
from synsetmine.io.files import numbered_lines, parse_json, write_text
from synsetmine.normalization import is_unicode
from synsetmine.types import NameKind, Scope, Term

Action = Literal["joined", "opened", "forced", "no vector"]


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of the corpus that relates a term to a name of its set."""

    relation: str  # how: abbreviation, alias, …
    document: str
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to one term: the best set at that time, its probability, the action.

    `forced` is a term that joined below the threshold because no more sets were allowed. The other
    fields are of terms that joined, where the run has them: see `kinds`.
    """

    term: Term
    best_set: str | None
    probability: float
    action: Action
    kind: NameKind | None = None
    relation: Scope | None = None
    nearest: str = ""  # the known name of the set that the term is nearest to
    evidence: tuple[Quote, ...] = ()  # the best first


def write_trace(path: str | Path, trace: Iterable[Decision]) -> None:
    """Write a JSONL file, one decision a line."""
    write_text(Path(path), "".join(f"{_line(decision)}\n" for decision in trace))


def read_trace(path: str | Path) -> Iterator[Decision]:
    """Read what `write_trace` wrote."""
    for number, line in numbered_lines(Path(path)):
        try:
            yield _decision(parse_json(line))
        except DataError as error:
            raise error.at(path, number) from None


def _line(decision: Decision) -> str:
    record: dict[str, Any] = {
        "term": str(decision.term),
        "best_set": decision.best_set,
        "probability": round(decision.probability, 6),
        "action": decision.action,
    }
    optional = {
        "kind": decision.kind,
        "relation": decision.relation,
        "nearest": decision.nearest,
        "evidence": [asdict(sentence) for sentence in decision.evidence],
    }
    record |= {name: value for name, value in optional.items() if value}
    return json.dumps(record, ensure_ascii=False)


def _decision(record: object) -> Decision:
    match record:
        case {
            "term": str(term),
            "best_set": str() | None as best_set,
            "probability": int() | float() as probability,
            "action": str(action),
            **optional,
        } if action in get_args(Action) and _is_sound(best_set, probability):
            return Decision(
                Term.parse(term),
                best_set,
                float(probability),
                action,  # type: ignore[arg-type]
                kind=_one_of(NameKind, optional.get("kind"), "kind"),
                relation=_one_of(Scope, optional.get("relation"), "relation"),
                nearest=_text(optional.get("nearest", ""), "nearest"),
                evidence=_evidence(optional.get("evidence", [])),
            )
    raise DataError("not a trace record", value=record)


def _is_sound(best_set: str | None, probability: float) -> bool:
    possible = not isinstance(probability, bool) and 0 <= probability <= 1
    return possible and is_unicode(best_set or "")


def _one_of(allowed: object, value: object, name: str) -> Any:
    if value is not None and value not in get_args(allowed):
        raise DataError(f"{name} must be one of {', '.join(get_args(allowed))}", value=value)
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not is_unicode(value):
        raise DataError(f"{name} must be a string", value=value)
    return value


def _evidence(value: object) -> tuple[Quote, ...]:
    if not isinstance(value, list) or not all(isinstance(sentence, dict) for sentence in value):
        raise DataError("evidence must be a list of objects", value=value)
    fields = ("relation", "document", "text")
    return tuple(
        Quote(*(_text(sentence.get(name), f"{name} of evidence") for name in fields))
        for sentence in value
    )
