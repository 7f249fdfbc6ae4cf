"""What was decided for each term when sets were generated, and its file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from synsetmine.errors import DataError
from synsetmine.files import numbered_lines, write_text
from synsetmine.text import is_unicode
from synsetmine.types import Term

Action = Literal["joined", "opened", "forced", "no vector"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to one term: the best set at that time, its probability, the action.

    `forced` is a term that joined below the threshold because no more sets were allowed.
    """

    term: Term
    best_set: str | None
    probability: float
    action: Action


def write_trace(path: str | Path, trace: Iterable[Decision]) -> None:
    """Write a JSONL file, one decision a line."""
    write_text(Path(path), "".join(f"{_line(decision)}\n" for decision in trace))


def read_trace(path: str | Path) -> Iterator[Decision]:
    """Read what `write_trace` wrote."""
    for number, line in numbered_lines(Path(path)):
        try:
            yield _decision(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise DataError("not JSON", path=path, line=number, value=line) from error
        except DataError as error:
            raise error.at(path, number) from None


def _line(decision: Decision) -> str:
    record = {
        "term": str(decision.term),
        "best_set": decision.best_set,
        "probability": round(decision.probability, 6),
        "action": decision.action,
    }
    return json.dumps(record, ensure_ascii=False)


def _decision(record: object) -> Decision:
    match record:
        case {
            "term": str(term),
            "best_set": str() | None as best_set,
            "probability": int() | float() as probability,
            "action": str(action),
        } if action in get_args(Action) and _is_sound(best_set, probability):
            return Decision(Term.parse(term), best_set, float(probability), action)  # type: ignore[arg-type]
    raise DataError("not a decision of a trace", value=record)


def _is_sound(best_set: str | None, probability: float) -> bool:
    possible = not isinstance(probability, bool) and 0 <= probability <= 1
    return possible and is_unicode(best_set or "")
