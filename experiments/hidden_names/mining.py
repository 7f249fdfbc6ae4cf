"""The pipeline on a knowledge base with hidden names, and what it finds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from experiments.hidden_names.hiding import (
    HiddenName,
    has_other_meaning,
    hide,
    left_names,
    name_group,
    write_reduced,
)
from experiments.hidden_names.measurement import DEFINED, PHRASES
from experiments.hidden_names.ranking import Answer, Answers
from synsetmine.engines import LocalEngine
from synsetmine.io.files import write_text
from synsetmine.io.sets import read_sets, read_vocabulary, write_sets
from synsetmine.kb import KnowledgeBase, read_kb
from synsetmine.linking.supervision import known_sets
from synsetmine.models.general.name_table import stem_key
from synsetmine.models.known import read_candidates
from synsetmine.normalization import normal_form
from synsetmine.pipeline.project import Project
from synsetmine.pipeline.run import run_project
from synsetmine.pipeline.settings import CorpusSettings, KbSettings, VocabularySettings
from synsetmine.runs.folder import Artefacts, StageRecord
from synsetmine.text.counters import count_together
from synsetmine.text.evidence import read_evidence
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.vocabulary import TermCounter, TermTable
from synsetmine.types import SynonymSets

NO_SETS = SynonymSets((), ())
MIN_COUNT = VocabularySettings().min_count
Report = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Task:
    """A knowledge base with hidden names over a corpus; files of the runs lie in `work`.

    A run that is there is taken again if its inputs and settings are the same; after a change of
    the program its folder has to go.
    """

    corpus: Path
    kb_path: Path
    work: Path
    report: Report = field(repr=False)

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base with all its names."""
        return read_kb(self.kb_path)

    @cached_property
    def hidden(self) -> Mapping[str, Sequence[str]]:
        return hide(self.kb)

    @cached_property
    def known(self) -> SynonymSets:
        """All names that are not hidden, by entity; each name belongs to one entity."""
        return known_sets(read_kb(self._project.kb.path), NO_SETS)

    @cached_property
    def names(self) -> list[HiddenName]:
        """The hidden names that the corpus has at least MIN_COUNT times.

        A name is counted where it stands as a whole and not within a longer name of the full
        knowledge base.
        """
        counts = self._counts
        own_terms = read_vocabulary(self._own.vocabulary).terms
        proposed = {normal_form(term.surface) for term in own_terms}
        long_forms: dict[str, list[str]] = {}
        for entry in read_evidence(self._own.abbreviations).abbreviations():
            long_forms.setdefault(normal_form(entry.short), []).append(entry.long)
        names = []
        for entity, hidden in self.hidden.items():
            left = left_names(self.kb, self.hidden, entity)
            home = any(counts[normal_form(name)] >= MIN_COUNT for name in left)
            for name in hidden:
                form = normal_form(name)
                if counts[form] >= MIN_COUNT:
                    kind = name_group(name, left)
                    other = has_other_meaning(name, self.kb.names(entity), long_forms.get(form, ()))
                    names.append(HiddenName(name, entity, kind, home, form in proposed, other))
        return names

    @cached_property
    def unknown_terms(self) -> dict[str, str]:
        """Terms that the run mines and no entity of the full knowledge base has, by normal form."""
        return {f: term for f, term in self._new_terms.items() if f not in self.variants}

    @cached_property
    def variants(self) -> dict[str, frozenset[str]]:
        """Entities that have a term in another ending, order or spelling, by normal form.

        "leech" and Leeches, "anaemia" and Anemia: they have the same stems.
        """
        entities_of: dict[str, set[str]] = {}
        for entity in self.kb:
            for key in map(stem_key, self.kb.names(entity)):
                entities_of.setdefault(key, set()).add(entity)
        keys = {form: stem_key(term) for form, term in self._new_terms.items()}
        return {f: frozenset(entities_of[key]) for f, key in keys.items() if key in entities_of}

    @cached_property
    def _new_terms(self) -> dict[str, str]:
        """Terms that the run mines and that are no name in the full knowledge base."""
        terms = read_vocabulary(self._own.vocabulary).terms
        return {
            normal_form(term.surface): term.surface
            for term in terms
            if not self.kb.entities_named(term.surface)
        }

    @cached_property
    def defined(self) -> frozenset[str]:
        """The forms of abbreviations and of their definitions in the corpus."""
        defined = read_evidence(self._own.abbreviations).abbreviations()
        return frozenset(
            normal_form(form) for entry in defined for form in (entry.short, entry.long)
        )

    @cached_property
    def unknown_forms(self) -> dict[str, list[str]]:
        """The unknown terms by their source."""
        return {
            PHRASES: [form for form in self.unknown_terms if form not in self.defined],
            DEFINED: [form for form in self.unknown_terms if form in self.defined],
        }

    @cached_property
    def _counts(self) -> dict[str, int]:
        self.report("counting the names of the full knowledge base")
        table = TermTable(forms := self.kb.forms.to_pylist())
        matcher = NameMatcher.build(forms)
        for counted in count_together(
            self._own.documents, {"terms": TermCounter()}, matcher=matcher, engine=LocalEngine()
        ):
            table.add(counted.tables["terms"])
        return table.counts

    @cached_property
    def _project(self) -> Project:
        reduced = self.work / "reduced.jsonl"
        write_reduced(reduced, self.kb, self.hidden)
        return Project(
            corpus=CorpusSettings(path=(str(self.corpus),)),
            kb=KbSettings(path=str(reduced)),
            run=str(self.work / "own"),
        )

    @cached_property
    def _own(self) -> Artefacts:
        """The run up to the vocabulary that it finds by itself."""
        run_project(self._project, _Watcher(self.report), until="vocabulary")
        return Artefacts(Path(self._project.run))

    @cached_property
    def _run_to_vectors(self) -> Project:
        """The run up to the vectors, its vocabulary with all hidden names of the corpus."""
        names = self.work / "hidden.txt"
        write_text(names, "".join(f"{hidden.name}\n" for hidden in self.names))
        project = replace(
            self._project,
            vocabulary=VocabularySettings(list=str(names)),
            run=str(self.work / "listed"),
        )
        return self._carry_out(project, after=self._project, until="vectors")

    def mine(self, label: str, weights: Path | None) -> Artefacts:
        """The run up to mining, with these weights of the general model."""
        project = replace(self._run_to_vectors, run=str(self.work / f"run-{label}"))
        if weights is not None:
            project = replace(project, train=project.train.with_changes({"weights": str(weights)}))
        self._carry_out(project, after=self._run_to_vectors, until="mine")
        return Artefacts(Path(project.run))

    def _carry_out(self, project: Project, *, after: Project, until: str) -> Project:
        """Carry out a run that goes on where another one ended."""
        if not Path(project.run).exists():
            shutil.copytree(after.run, project.run)
        run_project(project, _Watcher(self.report), until=until)
        return project

    def mine_with_seeds(self, run: Artefacts, phrases: Sequence[str]) -> Answers:
        """`synsetmine mine --seeds`: all names of the full knowledge base, and these phrases."""
        files = ("seeds.jsonl", "phrases.txt", "seeded.jsonl")
        seeds, vocabulary, out = (self.work / file for file in files)
        write_sets(seeds, known_sets(self.kb, NO_SETS))
        write_text(vocabulary, "".join(f"{phrase}\n" for phrase in phrases))
        command = [sys.executable, "-m", "synsetmine", "mine", str(run.model)]
        options = {"vectors": run.vectors, "vocabulary": vocabulary, "seeds": seeds, "out": out}
        command += [f"--{name}={path}" for name, path in options.items()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        mined = read_sets(out)
        ids = set(self.kb)
        forms = {normal_form(phrase) for phrase in phrases}
        return {
            form: Answer(entity, 1.0)
            for entity, members in zip(mined.ids, mined, strict=True)
            if entity in ids
            for form in forms.intersection(normal_form(term.surface) for term in members)
        }


def best_candidates(run: Artefacts) -> Answers:
    """The most likely entity of each term that was mined."""
    return {
        normal_form(term.surface): Answer(best.set_id, best.probability, best.nearest)
        for term, (best, *_) in read_candidates(run.candidates).items()
    }


class _Watcher:
    """Reports the stages that are done."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def on_start(self, stage: str) -> None: ...

    def progress(self, done: int, total: int, note: str = "") -> None: ...

    def on_finish(self, stage: str, record: StageRecord, *, skipped: bool) -> None:
        self._report(f"{stage}: {'as before' if skipped else record.seconds}")
