"""A view scorer as arrays and a description, and back: what `storage` writes and reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, get_args

import numpy as np

from synsetmine.errors import ModelError
from synsetmine.model.comparer import Comparer
from synsetmine.model.scene import SIGNALS
from synsetmine.model.termmaps import LinearMap, NgramMap
from synsetmine.model.viewscorer import Bar, ViewScorer
from synsetmine.views import FEATURES, View

Arrays = Mapping[str, np.ndarray[Any, Any]]

TEXT = "ngrams/text"  # the n-grams, UTF-8, one a line


def describe(scorer: ViewScorer) -> dict[str, Any]:
    return {
        "kind": "views",
        "views": list(scorer.views),
        "tables": len(scorer.maps),
        "bar": asdict(scorer.bar),
    }


def to_arrays(scorer: ViewScorer) -> dict[str, np.ndarray[Any, Any]]:
    found: dict[str, np.ndarray[Any, Any]] = {}
    for number, linear in enumerate(scorer.maps):
        found[f"maps/{number}/shift"] = linear.shift
        found[f"maps/{number}/matrix"] = linear.matrix
    if scorer.ngrams is not None:
        text = "\n".join(scorer.ngrams.ngrams).encode()
        found[TEXT] = np.frombuffer(text, np.uint8)
        found["ngrams/idf"] = scorer.ngrams.idf
        found["ngrams/weights"] = scorer.ngrams.weights
    for field in fields(Comparer):
        found[f"comparer/{field.name}"] = getattr(scorer.comparer, field.name)
    return found


def from_arrays(described: Mapping[str, Any], arrays: Arrays) -> ViewScorer:
    """What `describe` and `to_arrays` gave; anything else is an error of the model."""
    views = tuple(described["views"])
    if not views or not set(views) <= set(get_args(View)):
        raise ModelError(f"views are some of {', '.join(get_args(View))}, not {views!r}")
    maps = tuple(
        LinearMap(arrays[f"maps/{number}/shift"], arrays[f"maps/{number}/matrix"])
        for number in range(int(described["tables"]))
    )
    ngrams = None
    if "strings" in views:
        text = bytes(arrays[TEXT]).decode()
        known = tuple(text.split("\n")) if text else ()
        ngrams = NgramMap(known, arrays["ngrams/idf"], arrays["ngrams/weights"])
    comparer = Comparer(*(arrays[f"comparer/{field.name}"] for field in fields(Comparer)))
    # Each map gives a table beside its own, the strings two; string features come on top.
    expected = SIGNALS * 2 * (len(maps) + (ngrams is not None))
    expected += len(FEATURES) if ngrams is not None else 0
    if len(comparer.mean) != expected:
        raise ModelError(f"the comparer takes {len(comparer.mean)} signals, not {expected}")
    bar = Bar(**{name: float(value) for name, value in described["bar"].items()})
    if not all(map(math.isfinite, asdict(bar).values())):
        raise ModelError(f"a bar that is not finite: {bar}")
    return ViewScorer(views, maps, ngrams, comparer, bar)
