"""Set-instance pairs for training, drawn for a whole epoch at once on the device.

The terms of the training vocabulary are numbered set by set. A set is then a run of numbers, and
so are its terms within the list of all terms that hold a given token, if that list is sorted.
Leaving a run out of a uniform draw takes one comparison, so a negative is never a member of the
set it is drawn for, without any drawing again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

import torch
from torch import Tensor

from synsetmine.errors import DataError
from synsetmine.models.paper.settings import Strategy
from synsetmine.normalization import tokens
from synsetmine.types import SynonymSets, Term

LARGEST_SUBSET = 100


@dataclass(frozen=True)
class SetInstancePairs:
    """One epoch's pairs: (S, held-out term) is positive, (S, each negative) is not."""

    members: Tensor  # (sets, widest): numbers of the terms of S, padded
    mask: Tensor  # (sets, widest): 1.0 where there is a term
    candidates: Tensor  # (sets, 1 + K): the held-out term, then K negatives
    fallbacks: Tensor  # (): share-token draws that found no partner and were drawn at random
    share_token_draws: int

    def __len__(self) -> int:
        return len(self.members)


class PairSampler:
    """Draws pairs from training sets.

    Terms of sets of one serve as negatives only. `terms` has the term of each number.
    """

    def __init__(
        self,
        sets: SynonymSets,
        *,
        negatives: int = 20,
        strategy: Strategy = "complete-random",
        device: torch.device | str = "cpu",
    ) -> None:
        usable = [members for members in sets if len(members) > 1]
        if not usable:
            raise DataError("training needs at least one set of two or more terms")
        grouped = [term for members in usable for term in members]
        others = [term for members in sets if len(members) == 1 for term in members]
        self.terms: tuple[Term, ...] = (*grouped, *others)
        self.negatives = negatives
        self.strategy: Strategy = strategy
        self.device = torch.device(device)
        self.sizes = torch.tensor([len(m) for m in usable], device=self.device)  # (sets,)
        self.starts = self.sizes.cumsum(0) - self.sizes  # (sets,)
        if len(self.terms) == len(usable[0]):
            raise DataError("training needs at least two sets: negatives come from the other sets")
        self._owner = torch.arange(len(usable), device=self.device).repeat_interleave(self.sizes)
        if strategy != "complete-random":
            owners = [*self._owner.tolist(), *range(-len(others), 0)]
            self._partners = _Partners(self.terms, owners, self.device)

    def __len__(self) -> int:
        return len(self.sizes)

    def draw(self, seed: int) -> SetInstancePairs:
        """One pair of each kind for each set: sets in random order, the same for the same seed."""
        random = torch.Generator(self.device).manual_seed(seed)
        order = torch.randperm(len(self), generator=random, device=self.device)
        sizes, starts = self.sizes[order], self.starts[order]
        shuffled = self._shuffle_within_sets(random)
        held_out = shuffled[starts]  # (sets,)

        widest = min(int(self.sizes.max()) - 1, LARGEST_SUBSET)
        subset_sizes = 1 + _below((sizes - 1).clamp(max=widest), random)
        positions = torch.arange(widest, device=self.device)  # (widest,)
        mask = positions < subset_sizes.unsqueeze(1)  # (sets, widest)
        members = shuffled[(starts.unsqueeze(1) + 1 + positions).clamp(max=len(shuffled) - 1)]

        random_part = {"complete-random": self.negatives, "share-token": 0}.get(
            self.strategy, (self.negatives + 1) // 2
        )
        negatives = self._complete_random(starts, sizes, random_part, random)
        fallbacks = torch.zeros((), dtype=torch.int64, device=self.device)
        share_draws = self.negatives - random_part
        if share_draws:
            partners, lonely = self._partners.draw(members, mask, share_draws, random)
            spare = self._complete_random(starts, sizes, share_draws, random)
            negatives = torch.cat([negatives, torch.where(lonely, spare, partners)], dim=1)
            fallbacks = lonely.sum() * share_draws
        return SetInstancePairs(
            members=members,
            mask=mask.float(),
            candidates=torch.cat([held_out.unsqueeze(1), negatives], dim=1),
            fallbacks=fallbacks,
            share_token_draws=len(self) * share_draws,
        )

    def _shuffle_within_sets(self, random: torch.Generator) -> Tensor:
        noise = torch.rand(len(self._owner), generator=random, device=self.device).double()
        return torch.argsort(self._owner + noise)

    def _complete_random(
        self, starts: Tensor, sizes: Tensor, k: int, random: torch.Generator
    ) -> Tensor:
        limits = (len(self.terms) - sizes).unsqueeze(1).expand(-1, k)
        return _leave_out(_below(limits, random), starts.unsqueeze(1), sizes.unsqueeze(1))


class _Partners:
    """For each term, the terms outside its own set that share a token with it."""

    def __init__(self, terms: Sequence[Term], owners: Sequence[int], device: torch.device) -> None:
        postings: dict[str, list[int]] = {}
        for number, term in enumerate(terms):
            for token in dict.fromkeys(tokens(term.surface)):
                postings.setdefault(token, []).append(number)
        spans: list[list[tuple[int, int, int, int]]] = [[] for _ in terms]
        flat: list[int] = []
        for holders in postings.values():
            sizes = [len([*run]) for _, run in groupby(holders, key=owners.__getitem__)]
            for run_start, run_size in zip(accumulate(sizes, initial=0), sizes, strict=False):
                partners = len(holders) - run_size
                if partners:
                    for number in holders[run_start : run_start + run_size]:
                        spans[number].append((partners, len(flat), run_start, run_size))
            flat += holders
        # (spans,): how many partners, where the posting starts, and the run of the own set in it.
        self._weights, self._at, self._run_start, self._run_size = torch.tensor(
            [span for of_term in spans for span in of_term] or [(0, 0, 0, 0)], device=device
        ).T
        self._flat = torch.tensor(flat or [0], device=device)
        self._ends = self._weights.cumsum(0)
        before = torch.cat([torch.zeros_like(self._ends[:1]), self._ends])  # (spans + 1,)
        counts = torch.tensor([len(of_term) for of_term in spans], device=device)
        last = counts.cumsum(0)
        self._base = before[last - counts]  # (terms,)
        self._total = before[last] - self._base  # (terms,)

    def draw(
        self, members: Tensor, mask: Tensor, k: int, random: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """k partners of each set, and which sets have none: (sets, k), (sets, 1)."""
        weights = self._total[members] * mask  # (sets, widest)
        ends = weights.cumsum(1)
        lonely = ends[:, -1:] == 0
        pick = _below(ends[:, -1:].clamp(min=1).expand(-1, k), random)  # (sets, k)
        column = torch.searchsorted(ends, pick, right=True).clamp(max=ends.shape[1] - 1)
        offset = pick - (ends - weights).gather(1, column)
        position = self._base[members.gather(1, column)] + offset
        span = torch.searchsorted(self._ends, position, right=True).clamp(max=len(self._ends) - 1)
        within = position - (self._ends[span] - self._weights[span])
        offset = _leave_out(within, self._run_start[span], self._run_size[span])
        return self._flat[(self._at[span] + offset).clamp(max=len(self._flat) - 1)], lonely


def _below(limits: Tensor, random: torch.Generator) -> Tensor:
    """Uniform whole numbers in [0, limit), one for each limit."""
    noise = torch.rand(limits.shape, generator=random, device=limits.device, dtype=torch.float64)
    return (noise * limits).long().clamp(max=limits - 1)


def _leave_out(draws: Tensor, start: Tensor, size: Tensor) -> Tensor:
    """Map draws from a range that is `size` too short onto the range without the run at `start`."""
    shifted: Tensor = draws + torch.where(draws >= start, size, 0)
    return shifted
