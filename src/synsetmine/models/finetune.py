"""Tunes a sentence encoder on synonym sets: synonyms become closer than all other terms.

The sets of a batch are near each other in the present vectors, since far ones teach little. An
encoder memorises its training sets, so some sets are withheld from it: the folder of a tuned
encoder lists its training sets, and the training of the scorer uses the other sets only.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.sets import write_sets
from synsetmine.types import Progress, SynonymSets
from synsetmine.views import unit_rows
from synsetmine.views.encoder import LEARNED, learned_surfaces, load_encoder, quiet

SETS_AT_ONCE = 256  # in a batch: a quarter drawn, the others near them
NEAR = 10  # sets that each set's companions are drawn from
TEMPERATURE = 0.05
RATE = 1e-4
WARM = 0.1  # share of the steps in which the rate rises
LENGTH = 32  # tokens of a surface that are read
FEWEST = 10  # sets to learn from, and to keep

Numbers: TypeAlias = npt.NDArray[np.int64]


def tune_encoder(
    sets: SynonymSets,
    model: str,
    out: Path,
    *,
    epochs: int,
    held_out: float,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress | None = None,
) -> SynonymSets:
    """Tune the encoder and write its folder completely or not at all; returns its training sets.

    A share `held_out` of the sets of two or more terms is withheld from it.
    """
    out = out.absolute()
    check_free(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    if learned_surfaces(model):
        raise SynsetmineError(f"{model} is already tuned; start from the original encoder")
    several = sets.pick(n for n, size in enumerate(sets.sizes) if size > 1)
    order = np.random.default_rng(seed).permutation(len(several))
    kept = round(held_out * len(several))
    if min(kept, len(several) - kept) < FEWEST:
        problem = f"too few sets to tune on {len(several) - kept} and withhold {kept}"
        raise DataError(f"{problem}, at least {FEWEST} each needed", hint="add sets")
    learned = several.pick(sorted(order[kept:].tolist()))
    encoder = load_encoder(model, device)
    if not callable(encoder.tokenizer):
        raise SynsetmineError(f"the encoder {model!r} cannot be tuned: it is not a transformer")
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(seed)  # dropout
        _train(encoder, learned, epochs, seed, device, progress)
        _save(encoder, learned, out)
    return learned


def _train(
    encoder: Any,
    sets: SynonymSets,
    epochs: int,
    seed: int,
    device: str,
    progress: Progress | None,
) -> None:
    chance = np.random.default_rng(seed)
    names = [[term.surface for term in members] for members in sets]
    drawn = SETS_AT_ONCE // 4
    steps = epochs * -(-len(names) // drawn)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=RATE, weight_decay=0.01)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (WARM * steps), 1) * (1 - step / steps)
    )
    done = 0
    for _ in range(epochs):
        near = _near_sets(encoder, names)
        order = chance.permutation(len(names))
        for start in range(0, len(order), drawn):
            batch = _companions(order[start : start + drawn], near, chance)
            drawn_of = {n: chance.choice(len(names[n]), 2, replace=False) for n in batch}
            pairs = [[names[n][i] for i in two] for n, two in drawn_of.items()]
            optimizer.zero_grad()
            _loss(encoder, pairs, device).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            rate.step()
            done += 1
            if progress:
                progress(done, steps)
    encoder.eval()


def _loss(encoder: Any, pairs: list[list[str]], device: str) -> Tensor:
    """The contrast of two names of each set."""
    encoder.train()
    texts = [one for one, _ in pairs] + [other for _, other in pairs]
    read = encoder.tokenizer(
        texts, padding=True, truncation=True, max_length=LENGTH, return_tensors="pt"
    ).to(device)
    with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
        rows = encoder(dict(read))["sentence_embedding"]
    labels = torch.arange(len(pairs), device=rows.device).repeat(2)
    return info_nce(functional.normalize(rows.float(), dim=1), labels, TEMPERATURE)


def info_nce(rows: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """The loss of a batch of unit rows (terms, width): equal labels are synonyms.

    For each term, the negative log of the share that its synonyms have in a softmax over its
    similarities to all others (InfoNCE). Terms without a synonym serve as negatives only.
    """
    similarity = (rows @ rows.T / temperature).fill_diagonal_(-torch.inf)
    same = labels[:, None] == labels[None]
    same.fill_diagonal_(False)
    synonyms = same.sum(dim=1)
    log_share = similarity - similarity.logsumexp(dim=1, keepdim=True)
    own = log_share.where(same, 0.0).sum(dim=1)
    return -(own / synonyms.clamp(min=1)).sum() / (synonyms > 0).sum().clamp(min=1)


@torch.no_grad()
def _near_sets(encoder: Any, names: list[list[str]]) -> Numbers:
    """The nearest other sets of each, by the mean of their names: (sets, NEAR)."""
    encoder.eval()
    texts = [name for members in names for name in members]
    rows = unit_rows(np.asarray(encoder.encode(texts, batch_size=512, show_progress_bar=False)))
    ends = np.cumsum([len(members) for members in names])[:-1]
    means = torch.from_numpy(
        unit_rows(np.stack([part.mean(axis=0) for part in np.split(rows, ends)]))
    )
    most = min(NEAR, len(names) - 1)
    nearest = []
    for start in range(0, len(means), 1024):
        alike = means[start : start + 1024] @ means.T
        alike[torch.arange(len(alike)), torch.arange(start, start + len(alike))] = -torch.inf
        nearest.append(alike.topk(most, dim=1).indices.numpy())
    return np.concatenate(nearest)


def _companions(drawn: Numbers, near: Numbers, chance: np.random.Generator) -> list[int]:
    """The sets drawn and some of those near them, each once."""
    count = min(3, near.shape[1])
    batch = (
        number
        for one in drawn.tolist()
        for number in (one, *chance.choice(near[one], count, replace=False).tolist())
    )
    return list(dict.fromkeys(batch))


def check_free(out: Path) -> None:
    """Raise an error if the path of the encoder's folder is taken."""
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise SynsetmineError(f"{out} exists already; name a new folder for the encoder")


def _save(encoder: Any, learned: SynonymSets, out: Path) -> None:
    temporary = out.with_name(f".{out.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    if temporary.is_symlink():
        raise SynsetmineError(f"{temporary} is a symbolic link, which is not followed; delete it")
    try:
        encoder.save(str(temporary), create_model_card=False)
        write_sets(temporary / LEARNED, learned)
        temporary.rename(out)  # an empty folder may be there
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
