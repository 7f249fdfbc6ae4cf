"""The page: goals first, then the figures of each knowledge base, half and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.hidden_names.hiding import ALTOGETHER, FEWEST, SHARE, Half
from experiments.hidden_names.measurement import (
    KINDS,
    LEVELS,
    PHRASES,
    PRECISION_OF,
    SHARES,
    MethodAnswers,
)
from experiments.hidden_names.mining import MIN_COUNT
from experiments.pages import table, write_page
from synsetmine.models.known import Level

NAME = "hidden-names"
Results = Mapping[str, Mapping[Half, Sequence[MethodAnswers]]]  # by knowledge base
Linked = Mapping[str, Mapping[str, float] | None]  # by run; None of a run that refused


def write(out: Path, results: Results, *, command: str, linked: Linked | None) -> str:
    """Write hidden-names.md and its figures as JSON; returns the page.

    `linked` are the figures of `ncbi_disease`.
    """
    parts = [
        "# Hidden names",
        f"```sh\n{command}\n```",
        _protocol(),
        *(
            part
            for kb, halves in results.items()
            for half, measured in halves.items()
            for part in _section(f"{kb}, half *{half}*", measured)
        ),
        *(_with_kinds_of_the_first(results) if len(results) > 1 else ()),
        *(_link_table(linked) if linked else ()),
    ]
    figures: dict[str, Any] = {
        kb: {half: {m.method: m.to_dict() for m in measured} for half, measured in halves.items()}
        for kb, halves in results.items()
    }
    if linked:
        figures["NCBI Disease"] = linked
    return write_page(out, NAME, parts, figures)


def _protocol() -> str:
    return f"""How well are new names found, and how far can the probabilities be trusted? Of each
entity with {FEWEST} or more names, {SHARE:.0%} of the names are hidden, never the preferred one and
none that another entity has too. The pipeline runs with the rest of the knowledge base and default
settings. The hidden names that occur in the corpus are then looked for: a name should join its own
entity.

- A hidden name takes part if it stands in the corpus {MIN_COUNT} times or more as a whole, not
  within a longer name of the full knowledge base. A list adds these names to the vocabulary, since
  the pipeline itself proposes only phrases and abbreviations; the share that it proposes without
  the list is stated.
- An abbreviation that the corpus defines, and only as something that is not similar to any name of
  the entity, is no name of the entity in this corpus, and is left out ("PVA", polyvinyl alcohol,
  for *pulmonary valve agenesis*). The model rules such entities out by nearly the same rule, so a
  name that the rule leaves out wrongly is missing here too.
- *Phrases of no entity*, and abbreviations and their definitions of no entity, are terms that the
  pipeline proposes without the list and that have not even the stems of a name in the full
  knowledge base. Those that have them, such as plurals and British spellings, are *variants of
  known names*, and counted apart.
- Entities are split in two halves by a hash of their id, phrases by a hash of themselves. Choices
  were made on one half (*develop*); the other one is for this page.
- *Model that has not seen the names*: its static encoder was learned without MeSH, without
  biomedical lists and ontologies that share its entities, and without Wikipedia; new names are
  assigned by no other part of the weights. *Shipped model*: the weights
  of the package have seen a part of the names, so that these figures say what a user of this very
  knowledge base can expect, and not how well other names are found.
- Rivals look a name up among all names that are not hidden: *equal bags of stems* (Snowball), the
  *nearest bag of stems* (edit similarity of sorted stems), the *nearest name* by a sentence
  encoder.
- The calibration error is that of ten bins, of the hidden names and of phrases of no entity, for
  which no answer is right, since a run meets both. All hidden names have an entity: of these alone
  probabilities are too low if those of all terms are right.
- Recall at a precision: the answers are sorted by their probability or similarity, and cut where
  the precision is still reached; for a kind of name, among the names of this kind.
- Kinds are those of [new names](../reference/kinds.md) against the names that are left. *Other
  words altogether* share no Snowball stem with any of them, and abbreviate none."""


def _section(title: str, measured: Sequence[MethodAnswers]) -> list[str]:
    first = measured[0]
    names, unknown = first.names, first.unknown.items()
    proposed = sum(name.proposed for name in names)
    return [
        f"## {title}",
        f"{len(names):,} hidden names; the pipeline proposes {proposed / len(names):.0%} of them "
        f"without the list. {len(first.homeless.names):,} belong to an entity that has no other "
        f"name in the corpus. {len(first.other_meaning):,} hidden abbreviations of something else "
        f"are left out. "
        + " ".join(f"{len(forms):,} {source} are of no entity." for source, forms in unknown)
        + f" {len(first.variants):,} terms that the pipeline proposes are variants of known names.",
        _goals(first),
        _recalls(measured),
        _levels(measured),
        _kinds(measured),
        _strays(measured),
        _joined_phrases(first),
        _reliability(first),
    ]


def _goals(one: MethodAnswers) -> str:
    """The figures that have a goal, of the first method."""
    ranking = one.ranking
    abbreviation, altogether = (
        one.kind(kind).with_precision(PRECISION_OF[kind]) for kind in ("abbreviation", ALTOGETHER)
    )
    rows = [
        ["recall at precision 90", _recall(ranking.with_precision(0.9)), "88"],
        ["abbreviations: recall at precision 90", _recall(abbreviation), "70"],
        ["other words altogether: recall at precision 80", _recall(altogether), "35"],
        [
            "no other name in the corpus: joined to a wrong entity at 0.5",
            _percent(one.homeless.wrong_share(0.5)),
            "at most 5",
        ],
        [
            "phrases of no entity that join at 0.9",
            _percent(one.join_share(PHRASES, 0.9)),
            "at most 3",
        ],
        [
            "calibration error of hidden names and phrases together",
            f"{one.mixed_calibration_error:.3f}",
            "at most 0.05",
        ],
        ["the same, of hidden names alone", f"{ranking.calibration_error():.3f}", ""],
    ]
    if one.seeded is not None:
        share = _percent(one.joined_with_seeds)
        rows.append(["phrases of no entity that join, `mine --seeds`", share, "at most 5"])
    return f"The {one.method}, in percent:\n\n{table(['', 'here', 'goal'], rows)}"


def _recalls(measured: Sequence[MethodAnswers]) -> str:
    rows = [
        [one.method, *(_recall(one.ranking.with_precision(share)) for share in SHARES)]
        for one in measured
    ]
    columns = ["method", *(f"recall at precision {share:.0%}" for share in SHARES)]
    return table(columns, rows)


def _levels(measured: Sequence[MethodAnswers]) -> str:
    rows = [
        [one.method, *(_precision_and_recall(one.ranking.at(score)) for score in LEVELS)]
        for one in measured
        if one.is_probability
    ]
    columns = ["precision / recall", *(f"from {score} on" for score in LEVELS)]
    return table(columns, rows)


def _kinds(measured: Sequence[MethodAnswers]) -> str:
    rows = [
        [
            f"{kind} (at {PRECISION_OF[kind]:.0%})",
            str(len(measured[0].kind(kind).names)),
            *(_recall(one.kind(kind).with_precision(PRECISION_OF[kind])) for one in measured),
        ]
        for kind in KINDS
    ]
    columns = ["kind", "names", *(one.method for one in measured)]
    return f"Recall by kind of name, at a precision of 90 or 80:\n\n{table(columns, rows)}"


def _strays(measured: Sequence[MethodAnswers]) -> str:
    """What should not have joined: at probabilities, and where a ranking has precision 90."""
    columns = ["", *(f"from {score} on" for score in LEVELS), "at precision 90"]
    rows = []
    for one in measured:
        scores: list[float | None] = [*(LEVELS if one.is_probability else [None] * len(LEVELS))]
        scores.append(one.cut())
        homeless = one.homeless.wrong_share
        shares = {"no other name in the corpus, joined to a wrong entity": homeless}
        shares |= {
            f"{what} of no entity that join": partial(one.join_share, what) for what in one.unknown
        }
        shares |= {
            "variants that join an entity with such a name": partial(one.variant_share, right=True),
            "variants that join another entity": partial(one.variant_share, right=False),
        }
        for label, share in shares.items():
            cells = ["" if score is None else _percent(share(score)) for score in scores]
            rows.append([f"{one.method}: {label}", *cells])
    return "In percent:\n\n" + table(columns, rows)


def _joined_phrases(one: MethodAnswers) -> str:
    """The phrases that join at the highest level, for a reader to judge."""
    joined = [
        f"{form} → {one.answers[form].nearest}"
        for form in one.unknown[PHRASES]
        if form in one.answers and one.answers[form].score >= LEVELS[-1]
    ]
    return (
        f"Phrases of no entity that join from {LEVELS[-1]} on ({one.method}), each with the "
        "nearest known name; the knowledge base may just lack the phrase: "
        f"{'; '.join(joined) or 'none'}."
    )


def _reliability(one: MethodAnswers) -> str:
    ranking = one.ranking
    rows = [
        [f"{probability:.2f}", f"{right:.2f}", f"{share:.0%}"]
        for probability, right, share in ranking.decisions.reliability()
    ]
    return (
        f"Calibration error of the {one.method} in ten bins: {ranking.calibration_error():.3f} of "
        f"all hidden names, {ranking.calibration_error(0.5):.3f} of those that joined, and "
        f"{one.mixed_calibration_error:.3f} of hidden names and phrases together, where every "
        "answer to a phrase counts as wrong, though some are right.\n\n"
        + table(["mean probability", "right", "of the names"], rows)
    )


def _with_kinds_of_the_first(results: Results) -> list[str]:
    """Recall if every knowledge base had the kinds of names of the first one in the same shares."""
    (first, halves), *_ = results.items()
    rows = []
    for kb, of_kb in results.items():
        for half, (one, *_) in of_kb.items():
            whole = one.ranking.with_precision(SHARES[0])
            rows.append([kb, half, _recall(whole), _percent(_mean_recall(one, halves[half][0]))])
    return [
        "## Knowledge bases of other kinds",
        f"Recall of the {one.method} at precision {SHARES[0]:.0%}, and the mean of its recalls by "
        f"kind of name, each weighted by the share of the kind in the hidden names of {first}. "
        "Each kind is cut at its own precision, as in the tables above; a kind that never reaches "
        "it counts as 0, and kinds that a knowledge base does not have are left out.",
        table(["knowledge base", "half", "recall", f"with the kinds of {first}"], rows),
    ]


def _mean_recall(one: MethodAnswers, weights: MethodAnswers) -> float:
    kinds = [(one.kind(kind), PRECISION_OF[kind], weights.kind(kind)) for kind in KINDS]
    present = [(ranking, at, len(other.names)) for ranking, at, other in kinds if ranking.names]
    levels = [(ranking.with_precision(at), weight) for ranking, at, weight in present]
    recalled = sum(weight * level.recall for level, weight in levels if level is not None)
    return recalled / max(sum(weight for _, weight in levels), 1)


def _link_table(figures: Linked) -> list[str]:
    labels = next(list(one) for one in figures.values() if one)
    columns = [
        [_figure(one[label]) if one else "refused" for label in labels] for one in figures.values()
    ]
    rows = [[label, *cells] for label, *cells in zip(labels, *columns, strict=True)]
    return [
        "## NCBI Disease, gold links",
        "The training and development part of the NCBI Disease corpus with its own links "
        '(`linker = "pubtator"`) and MeSH as the knowledge base '
        "(`python -m experiments.hidden_names.ncbi_disease`), with default settings, and with "
        "names that occur once (`min_count = 1`). Each mention that has one concept, "
        "which MeSH has, is a point; its true cluster is the concept, its mined cluster the set "
        "that has its surface. A surface in no set is a cluster of its own.",
        table(["", *figures], rows),
    ]


def _figure(value: float) -> str:
    return f"{100 * value:.1f}" if isinstance(value, float) else f"{value:,}"


def _recall(level: Level | None) -> str:
    return "never" if level is None else _percent(level.recall)


def _precision_and_recall(level: Level) -> str:
    return f"{_percent(level.precision)} / {_percent(level.recall)}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
