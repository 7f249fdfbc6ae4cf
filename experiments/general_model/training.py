"""The whole training: from name lists to a folder of weights, and a table of ARI."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from experiments.general_model.encoder import Encode, Teacher, learn_encoder
from experiments.general_model.lists import (
    Lists,
    Parts,
    cap,
    deal,
    forms_of,
    generator,
    leave_out,
    split,
)
from experiments.general_model.pair_classifier import (
    KINDS,
    Kind,
    VocabularyPairs,
    candidate_pairs,
    learn_classifier,
    learn_function,
)
from experiments.general_model.settings import GeneralSettings
from experiments.general_model.vocabularies import (
    group_vocabularies,
    list_vocabularies,
    sample,
    sample_vocabulary,
)
from experiments.general_model.words import learn_word_weights
from synsetmine.errors import DataError
from synsetmine.metrics import evaluate
from synsetmine.models.general import load_general
from synsetmine.models.general.features import WordWeights
from synsetmine.models.general.linkage import SetFunction
from synsetmine.models.general.pairs import PairClassifier
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews
from synsetmine.views.strings import StaticEncoder

Report = Callable[[str], None]
Tables = tuple[StaticEncoder, WordWeights]


@dataclass(frozen=True, eq=False)
class Weights:
    """All that a folder of weights holds."""

    encoder: StaticEncoder
    word_weights: WordWeights
    classifiers: dict[Kind, PairClassifier]
    functions: dict[Kind, SetFunction]
    lists: tuple[str, ...]  # that it was learned from


@dataclass(frozen=True)
class ListScore:
    """The ARI of both models on entities of a list that no stage has learned."""

    source: str
    names: int
    strings: float
    encoder: float
    left_out: bool  # the whole list


def learn(
    lists: Lists,
    out: Path,
    teacher: Teacher,
    *,
    phrases: Sequence[str] = (),
    left_out: Path | None = None,
    settings: GeneralSettings | None = None,
    without: Collection[str] = (),
    seed: int = 0,
    device: str = "cpu",
    report: Report = lambda _: None,
) -> list[ListScore]:
    """Learn the general model from name lists and write its weights into the new folder `out`.

    Of the lists in `without` nothing is learned, nor of entities that share a name with them.
    `phrases` teach the static encoder words that are in no list. The scores are those of the
    written weights. The new folder `left_out` takes one folder of
    weights for each group of lists, learned without that group: by them the lists can be judged.
    """
    settings = settings or GeneralSettings()
    for source in sorted(set(without) - set(lists)):
        raise DataError(f"no list to leave out; there are {', '.join(lists)}", value=source)
    for folder in (out, left_out):
        if folder is not None:
            check_folder(folder)
    used = leave_out(lists, without, lists, settings.excluded_letters)
    used = cap(used, settings, seed)
    parts = split(used, settings, seed)
    report(f"{len(used)} lists, {sum(map(len, used.values())):,} entities")
    tables = learn_tables(parts.encoder, phrases, parts, teacher, settings, seed, device)
    report("learned the encoder and the weights of words")
    pairs = [
        candidate_pairs(vocabulary, *tables, teacher)
        for vocabulary in list_vocabularies(parts.classifier, tables[0], settings, seed)
    ]
    groups = deal(used, settings.groups)
    group_tables = []
    for number, group in enumerate(groups):
        known = leave_out(parts.encoder, group, used, settings.excluded_letters)
        encoder, words = learn_tables(known, phrases, parts, teacher, settings, seed, device)
        group_tables.append((encoder, words))
        own = {source: parts.classifier[source] for source in group}
        pairs += [
            candidate_pairs(vocabulary, encoder, words, teacher)
            for vocabulary in group_vocabularies(own, number, encoder, settings, seed)
        ]
        report(f"learned an encoder without {', '.join(group)}")
    pairs = [one for one in pairs if len(one.left)]
    report(f"{len(pairs)} vocabularies, {sum(len(one.left) for one in pairs):,} pairs")
    write_weights(_learn(tables, list(used), pairs, settings, seed), out)
    report("learned the classifiers and set functions")
    if left_out is not None:
        for number, group in enumerate(groups):
            others = [source for source in used if source not in group]
            of_others = [one for one in pairs if one.vocabulary.source in others]
            learned = _learn(group_tables[number], others, of_others, settings, seed)
            write_weights(learned, left_out / str(number))
            report(f"learned the classifiers and set functions without {', '.join(group)}")
    unseen = cap({source: lists[source] for source in without}, settings, seed)
    return [
        *_scores(out, parts.test, teacher, settings, seed, left_out=False),
        *_scores(out, unseen, teacher, settings, seed, left_out=True),
    ]


def learn_tables(
    known: Lists,
    phrases: Sequence[str],
    parts: Parts,
    teacher: Teacher,
    settings: GeneralSettings,
    seed: int,
    device: str,
) -> Tables:
    """An encoder and word weights of some lists, without the entities of the later stages."""
    later = [*parts.classifier.values(), *parts.test.values()]
    held = forms_of(names for entities in later for names in entities)
    encoder = learn_encoder(known, phrases, teacher, settings, seed, device=device)
    return encoder, learn_word_weights(known, held, encoder, settings, seed)


def _learn(
    tables: Tables,
    lists: Sequence[str],
    pairs: Sequence[VocabularyPairs],
    settings: GeneralSettings,
    seed: int,
) -> Weights:
    """The tables with classifiers and set functions from the pairs of these lists."""
    classifiers = {kind: learn_classifier(pairs, kind, settings, seed) for kind in KINDS}
    functions = {
        kind: learn_function(pairs, classifiers[kind], kind, settings, seed) for kind in KINDS
    }
    return Weights(*tables, classifiers, functions, tuple(lists))


def check_folder(out: Path) -> None:
    """Refuse to write over anything, before any work is done."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError("exists already; name a new folder for the weights", path=out)


def write_weights(learned: Weights, out: Path) -> None:
    """Write the files that `load_general` reads; the folder appears when it is complete."""
    encoder: dict[str, np.ndarray[Any, Any]] = {
        "table": learned.encoder.table,
        "scales": learned.encoder.scales.astype(np.float16),
        "word_weights": learned.word_weights.values.astype(np.float16),
    }
    config = {
        "lists": list(learned.lists),
        "set_function": {kind: asdict(learned.functions[kind]) for kind in KINDS},
    }
    with _new_folder(out) as folder:
        save_file(encoder, folder / "encoder.safetensors")
        (folder / "pieces.txt").write_text("\n".join(learned.encoder.pieces) + "\n", "utf8")
        for kind in KINDS:
            save_file(learned.classifiers[kind].arrays(), folder / f"comparer-{kind}.safetensors")
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", "utf8")


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """A folder beside `out` that takes its place on success."""
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        yield folder
        folder.chmod(0o755)
        folder.replace(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _scores(
    folder: Path,
    lists: Lists,
    encode: Encode,
    settings: GeneralSettings,
    seed: int,
    *,
    left_out: bool,
) -> Iterator[ListScore]:
    models = {kind: load_general(encoder=kind == "encoder", folder=folder) for kind in KINDS}
    for source, entities in lists.items():
        vocabulary = sample_vocabulary(
            source,
            sample(source, entities, settings, seed),
            settings.vocabulary_names,
            settings.test_share,
            settings,
            generator(seed, "test", source),
        )
        if len(vocabulary.names) < settings.least_names:
            continue
        terms = [Term(name) for name in vocabulary.names]
        gold = SynonymSets.from_labels(terms, vocabulary.entities.tolist())
        vectors = TermVectors(tuple(terms), encode(vocabulary.names))
        ari = {
            kind: evaluate(
                model.prepare(terms, TermViews(encoder=vectors if model.uses_encoder else None))
                .generate(threshold=settings.threshold)
                .sets,
                gold,
            ).ari
            for kind, model in models.items()
        }
        yield ListScore(source, len(terms), ari["strings"], ari["encoder"], left_out)
