"""The static name encoder: a table that learns from name lists and from a sentence encoder.

The teacher is MiniLM. The loss of the table is

    InfoNCE + a · KL(neighbourhoods of the teacher ‖ its own) + b · mean (cos − teacher's cos)²

where InfoNCE tells the second of two names of an entity from those of the other entities in the
batch, with the first one given, and the other way round.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from experiments.general_model.lists import Lists, generator
from experiments.general_model.settings import GeneralSettings
from synsetmine.errors import DataError
from synsetmine.text.tokens import name_words
from synsetmine.views.strings import StaticEncoder, word_rows

Floats: TypeAlias = npt.NDArray[np.float32]
Places: TypeAlias = npt.NDArray[np.int64]
Encode: TypeAlias = Callable[[Sequence[str]], Floats]


class Teacher(Protocol):
    """A sentence encoder; its word pieces become rows of the table."""

    @property
    def pieces(self) -> tuple[str, ...]: ...

    def __call__(self, names: Sequence[str]) -> Floats:
        """Unit vectors: (names, dimension)."""
        ...


def learn_encoder(
    lists: Lists,
    phrases: Sequence[str],
    teacher: Teacher,
    settings: GeneralSettings,
    seed: int,
    *,
    device: str,
) -> StaticEncoder:
    """A static encoder of the lists, in int8 as it is stored.

    `phrases` are learned from the teacher alone: they bring words that are in no list.
    """
    draws = ListPairs(usable(lists, settings), phrases, settings)
    targets = teacher(draws.names)
    pieces = teacher.pieces
    start = _pca(targets, teacher([p.removeprefix("##") for p in pieces]), settings, seed)
    rows = NameRows(draws.names, pieces, settings)
    with deterministic(device):
        table = StaticTable(start, rows, settings, seed).to(device)
        goals = torch.tensor(targets, device=device)
        _train(table, rows, goals, draws, settings, seed)
    values, scales = quantize(table.rows())
    return StaticEncoder(pieces, values, scales)


def usable(lists: Lists, settings: GeneralSettings) -> Lists:
    """The lists with enough entities of several names."""
    enough = {
        name: entities
        for name, entities in lists.items()
        if sum(len(names) > 1 for names in entities) >= settings.least_sets
    }
    if not enough:
        raise DataError(f"no list has {settings.least_sets} entities with several names")
    return enough


class ListPairs:
    """Draws pairs of names of one entity; a list is drawn by the power of its number of sets."""

    def __init__(self, lists: Lists, phrases: Sequence[str], settings: GeneralSettings) -> None:
        number_of: dict[str, int] = {}
        numbered = [
            [[number_of.setdefault(name, len(number_of)) for name in names] for names in entities]
            for entities in lists.values()
        ]
        self._phrases = np.array(
            [number_of.setdefault(phrase, len(number_of)) for phrase in phrases], np.int64
        )
        self.names = list(number_of)
        self._places = [np.unique(np.array([*chain(*entities)])) for entities in numbered]
        several = [[entity for entity in entities if len(entity) > 1] for entities in numbered]
        self._sizes = [np.array([len(entity) for entity in sets]) for sets in several]
        self._starts = [np.cumsum(sizes) - sizes for sizes in self._sizes]
        self._members = [np.array([*chain(*sets)], np.int64) for sets in several]
        weights = np.array([len(sizes) for sizes in self._sizes], np.float64)
        weights **= settings.list_exponent
        self._shares = weights / weights.sum()

    def counts(self, rng: np.random.Generator, batch: int, one_list: float) -> Places:
        """How many pairs of a batch come from each list: with chance `one_list` all from one."""
        if rng.random() < one_list:
            counts = np.zeros(len(self._shares), np.int64)
            counts[rng.choice(len(counts), p=self._shares)] = batch
            return counts
        return rng.multinomial(batch, self._shares)

    def pairs(self, rng: np.random.Generator, counts: Places) -> tuple[Places, Places]:
        """Two names of each of random entities: two arrays of (batch,)."""
        firsts, seconds = [], []
        for number, count in enumerate(counts.tolist()):
            entities = rng.integers(len(self._sizes[number]), size=count)
            sizes, starts = self._sizes[number][entities], self._starts[number][entities]
            first, second = rng.integers(sizes), rng.integers(sizes - 1)
            second += second >= first
            firsts.append(self._members[number][starts + first])
            seconds.append(self._members[number][starts + second])
        return np.concatenate(firsts), np.concatenate(seconds)

    def draw_names(self, rng: np.random.Generator, counts: Places, phrases: int) -> Places:
        """Random names of the lists in these numbers, and random phrases."""
        pools = [*zip(self._places, counts.tolist(), strict=True)]
        if len(self._phrases):
            pools.append((self._phrases, phrases))
        return np.concatenate([pool[rng.integers(len(pool), size=count)] for pool, count in pools])


class NameRows:
    """The rows of the table that names consist of, those of all names one after the other."""

    def __init__(
        self, names: Sequence[str], pieces: Sequence[str], settings: GeneralSettings
    ) -> None:
        words = [name_words(name) for name in names]
        number_of = {word: 0 for some in words for word in some}
        numbers = {piece: row for row, piece in enumerate(pieces)}
        bags = word_rows(list(number_of), numbers, settings.buckets)
        parts = np.split(bags.indices, bags.indptr[1:-1]) if number_of else []
        rows_of = dict(zip(number_of, parts, strict=True))
        of_names = [
            [row for word in some for row in rows_of[word].tolist()][: settings.name_rows]
            for some in words
        ]
        self.rows = np.fromiter(chain(*of_names), np.int64)
        self._ends = np.cumsum([0, *map(len, of_names)])

    def of(self, places: Places) -> tuple[Places, Places]:
        """The rows of some names, and where those of each begin."""
        lengths = self._ends[places + 1] - self._ends[places]
        starts = np.cumsum(lengths) - lengths
        within = np.arange(lengths.sum()) - np.repeat(starts, lengths)
        return self.rows[np.repeat(self._ends[places], lengths) + within], starts


class StaticTable(torch.nn.Module):
    """Rows of word pieces and n-grams, and the logarithm of each row's weight."""

    def __init__(self, start: Floats, rows: NameRows, settings: GeneralSettings, seed: int) -> None:
        super().__init__()
        shape = settings.buckets, start.shape[1]
        random = generator(seed, "table").standard_normal(shape, np.float32)
        table = np.concatenate([start, settings.bucket_scale * random])
        frequency = np.bincount(rows.rows, minlength=len(table))
        rarity = np.log(frequency.max() / (frequency + 1.0))
        weights = np.log(np.maximum(rarity / rarity.mean(), settings.least_weight))
        self.table = torch.nn.Parameter(torch.tensor(table))
        self.weights = torch.nn.Parameter(torch.tensor(weights[:, None], dtype=torch.float32))

    def rows(self) -> Floats:
        """The table with its weights: (rows, dimension)."""
        rows: Floats = (self.table * self.weights.exp()).detach().cpu().numpy()
        return rows

    def forward(self, rows: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        """Unit vectors of names, given by `NameRows.of`: (names, dimension)."""
        used, places = rows.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        weighted = functional.embedding(used, self.table, sparse=True)
        weighted = weighted * functional.embedding(used, self.weights, sparse=True).exp()
        return functional.normalize(
            functional.embedding_bag(places, weighted, starts, mode="sum"), dim=1
        )


def _train(
    table: StaticTable,
    rows: NameRows,
    targets: torch.Tensor,  # the teacher's unit vectors of all names
    draws: ListPairs,
    settings: GeneralSettings,
    seed: int,
) -> None:
    """Adam on the rows of each batch: most rows of the table are in none of its names."""
    rng = generator(seed, "static")
    device = targets.device

    optimizer = torch.optim.SparseAdam(list(table.parameters()), lr=settings.rate)
    for step in range(settings.steps):
        warmup = min(1.0, (step + 1) / settings.warmup)
        optimizer.param_groups[0]["lr"] = (
            settings.rate * warmup * _cosine_decay(step / settings.steps)
        )
        counts = draws.counts(rng, settings.batch, settings.one_list)
        first, second = draws.pairs(rng, counts)
        drawn = draws.draw_names(
            rng, -(-counts * settings.distilled // settings.batch), settings.distilled_phrases
        )
        names, starts = rows.of(np.concatenate([first, second, drawn]))
        vectors = table(_on(names, device), _on(starts, device))
        one, other, own = vectors.split([len(first), len(second), len(drawn)])
        goal = targets[_on(drawn, device)]
        loss = info_nce(one, other, first, second, settings.temperature)
        loss = loss + _distillation(own @ own.T, goal @ goal.T, settings)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()  # type: ignore[no-untyped-call]


def _on(places: Places, device: torch.device) -> torch.Tensor:
    return torch.tensor(places, device=device)


def _cosine_decay(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * done))


def info_nce(
    one: torch.Tensor, other: torch.Tensor, first: Places, second: Places, temperature: float
) -> torch.Tensor:
    """Symmetric InfoNCE of the pairs one[i], other[i]; a name is no negative of itself."""
    a, b = (torch.tensor(side, device=one.device) for side in (first, second))
    same = (a[:, None] == b) | (b[:, None] == b) | (a[:, None] == a)  # (batch, batch)
    same.fill_diagonal_(False)
    scores = (one @ other.T / temperature).masked_fill(same, -1e4)
    # The diagonal by itself: torch has no deterministic NLLLoss on a GPU.
    log_shares = [functional.log_softmax(scores, dim).diagonal() for dim in (1, 0)]
    return -torch.stack(log_shares).mean()


def _distillation(own: torch.Tensor, goal: torch.Tensor, settings: GeneralSettings) -> torch.Tensor:
    """KL divergence of who is near whom, and squared error of cosines; both (names, names)."""
    itself = torch.eye(len(own), dtype=torch.bool, device=own.device)
    logits = [(c / settings.temperature).masked_fill(itself, -1e4) for c in (own, goal)]
    log_shares, shares = functional.log_softmax(logits[0], 1), functional.softmax(logits[1], 1)
    divergence = functional.kl_div(log_shares, shares, reduction="batchmean")
    error = ((own - goal) ** 2).mean()
    return settings.neighbourhood_weight * divergence + settings.cosine_weight * error


def _pca(vectors: Floats, pieces: Floats, settings: GeneralSettings, seed: int) -> Floats:
    """The word pieces along the main directions of the names: (pieces, settings.dimension)."""
    drawn = generator(seed, "pca").permutation(len(vectors))[: settings.pca_names]
    mean = vectors[drawn].mean(axis=0)
    directions = np.linalg.svd(vectors[drawn] - mean, full_matrices=False)[2]
    start: Floats = ((pieces - mean) @ directions[: settings.dimension].T).astype(np.float32)
    return start


def quantize(table: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Rows in int8 and their scales, rounded to float16 as they are stored."""
    scales = (np.abs(table).max(axis=1) / 127).astype(np.float16).astype(np.float32)
    safe = np.where(scales > 0, scales, 1)[:, None]
    values = np.where(scales[:, None] > 0, table / safe, 0)
    return np.clip(np.round(values), -127, 127).astype(np.int8), scales


@contextmanager
def deterministic(device: str) -> Iterator[None]:
    """Only algorithms of torch that give the same bits each time."""
    if device != "cpu":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    precision = torch.get_float32_matmul_precision()
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision(precision if device == "cpu" else "high")
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.set_float32_matmul_precision(precision)
