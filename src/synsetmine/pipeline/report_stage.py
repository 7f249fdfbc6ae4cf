"""What a run folder holds, gathered for its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synsetmine import __version__
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.files import read_json
from synsetmine.io.sets import read_sets
from synsetmine.io.traces import read_trace
from synsetmine.kb import KnowledgeBase
from synsetmine.linking.supervision import Tally
from synsetmine.models import StoredModel, load_model
from synsetmine.pipeline.report import (
    Epochs,
    Findings,
    Penalties,
    RehearsalFindings,
    RehearsalLevel,
    Score,
    Stage,
    write_report,
)
from synsetmine.pipeline.report.term_map import term_map
from synsetmine.pipeline.settings import ReportSettings
from synsetmine.runs import MinedSet, describe_sets, example_sentences, read_counts
from synsetmine.runs.folder import STAGES, Artefacts, RunFolder, StageRecord, StageResult
from synsetmine.types import Link, Progress, SynonymSets, Term
from synsetmine.views import read_vectors

SCORES = {
    "ari": "ARI",
    "fmi": "FMI",
    "pair_precision": "pair precision",
    "pair_recall": "pair recall",
    "pair_f1": "pair F1",
    "nmi": "NMI",
}


def write_run_report(
    settings: ReportSettings,
    folder: RunFolder,
    out: Path,
    progress: Progress,
) -> StageResult:
    """Gather everything and write the HTML file."""
    unfinished = [stage for stage in STAGES[:-1] if stage not in folder.stages]
    if unfinished:
        problem = f"{folder.path} is not the folder of a finished run"
        raise SynsetmineError(f"{problem}; not done yet: {', '.join(unfinished)}")
    at = Artefacts(folder.path)
    kb = KnowledgeBase.load(at.knowledge)
    mined = read_sets(at.mined)
    trace = {decision.term: decision for decision in read_trace(at.trace)}
    surfaces = [term.surface for members in mined if len(members) > 1 for term in members]
    examples = example_sentences(at, surfaces, settings.sentences, progress)
    counts = read_counts(at)
    sets = describe_sets(mined, kb=kb, trace=trace, counts=counts, examples=examples)
    model = load_model(at.model)
    with _as_written(at.supervision) as record:
        kept, dropped = _tallies(record)
    with _as_written(at.scores) as scores:
        shown, threshold = _scores(scores), float(scores["threshold"])
        thresholds = [(θ, ari, fmi, f1) for θ, ari, fmi, f1 in scores.get("thresholds", [])]
    with _as_written(at.rehearsal) as record:
        rehearsal = _rehearsal(record)
    findings = Findings(
        title=settings.title,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        inputs=[
            ("corpus", _named(folder.stages["read"])),
            ("knowledge base", _named(folder.stages["knowledge"])),
        ],
        stages=[
            Stage(name, record.seconds, str(record.result))
            for name, record in folder.stages.items()
        ],
        skipped=[
            (found.problem, found.count, found.examples[0])
            for result in folder.results.values()
            for found in result.skipped
        ],
        kept=kept,
        dropped=dropped,
        entity_names=_entity_names(kb, sets, [kept, *dropped.values()]),
        training=_training(model),
        scores=shown,
        thresholds=thresholds,
        threshold=threshold,
        sets=sets,
        points=_points(at, mined, counts, settings.map_terms, model),
        notes=[(name, note) for name, result in folder.results.items() for note in result.notes],
        summary=folder.summary,
        rehearsal=rehearsal,
    )
    write_report(out, findings)
    return StageResult(
        {"new names": len(findings.new_names), "groups of unknown terms": len(findings.groups)}
    )


def _training(model: StoredModel) -> Epochs | Penalties:
    """The curve that the model's training record has: over epochs, or over penalties."""
    record = model.training
    if "history" in record:
        history = [(e["number"], e["loss"], e["score"]) for e in record["history"]]
        return Epochs(history, record["best_epoch"], SCORES[record["settings"]["select_by"]])
    return Penalties([(penalty, loss) for penalty, loss in record["losses"]], record["ridge"])


@contextmanager
def _as_written(path: Path) -> Iterator[Any]:
    """A JSON file of the run, for a block that takes it to pieces."""
    record = read_json(path)
    try:
        yield record
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError("not a valid file of a run; start the run again", path=path) from error


def _tallies(record: Mapping[str, Any]) -> tuple[Tally, dict[str, Tally]]:
    tallies = {
        reason: Tally(
            found["links"], found["mentions"], tuple(Link(*link) for link in found["examples"])
        )
        for reason, found in record.items()
    }
    return tallies.pop("kept"), tallies


def _rehearsal(record: Mapping[str, Any]) -> RehearsalFindings | None:
    """The figures of the rehearsal; None if there were too few known names for one."""
    if "levels" not in record:
        return None
    return RehearsalFindings(
        hidden=record["hidden names"],
        levels=[
            RehearsalLevel(
                probability=level["probability"],
                new_names=level["new names"],
                expected_right=level["expected right"],
                precision=level["precision"],
                recall=level["recall"],
                without_entity=level["names without an entity that joined one"],
            )
            for level in record["levels"]
        ],
        reliability=[(mean, right, count) for mean, right, count in record["reliability"]],
        calibration_error=record["calibration error"],
    )


def _named(record: StageRecord) -> str:
    """The files that a stage read, and how much it found in them."""
    names = record.inputs
    more = f" and {len(names) - 3} more files" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}: {record.result}"


def _entity_names(
    kb: KnowledgeBase, sets: Sequence[MinedSet], tallies: Sequence[Tally]
) -> dict[str, str]:
    wanted = {mined.entity for mined in sets if mined.entity}
    wanted |= {link.entity for tally in tallies for link in tally.examples}
    return {entity: kb.name(entity) for entity in sorted(wanted) if entity in kb}


def _scores(scores: Mapping[str, Any]) -> list[Score]:
    """The scores to show; none if no entity could be held out."""
    if not scores["test sets"]:
        return []
    among, alone = scores["among all terms"], scores["on their own"]
    strayed = f"{among['strayed_terms']} of {scores['test terms']} terms joined another entity"
    notes = {"pair_precision": f"among all terms: {strayed}"}
    return [
        *(
            Score(label, among[key], None, notes.get(key, "among all terms"))
            for key, label in SCORES.items()
        ),
        *(
            Score(label, alone[key][0], alone[key][1], "on their own")
            for key, label in SCORES.items()
        ),
    ]


def _points(
    at: Artefacts,
    mined: SynonymSets,
    counts: Mapping[Term, int],
    most: int,
    model: StoredModel,
) -> list[tuple[str, float, float, str]]:
    """Where the most frequent terms of sets of two or more stand."""
    vectors = model.apply_to(read_vectors(at.vectors))
    several = [term for members in mined if len(members) > 1 for term in members]
    shown = sorted((t for t in several if t in vectors), key=lambda t: -counts.get(t, 0))[:most]
    set_of = {t: i for i, members in zip(mined.ids, mined, strict=True) for t in members}
    return [(str(t), x, y, set_of[t]) for t, x, y in term_map(vectors, shown, seed=0, most=most)]
