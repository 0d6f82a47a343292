"""Row by row: which slot of a decoder holds which place of the sequence, and how far it is from the right row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .right import Right

FIRST, NEWEST, BETWEEN, UNPADDED = range(4)  # alignments

Trial = tuple[Tensor, Tensor, float]  # held rows, right rows, the difference that is none


def limit(want: Tensor, unit: float, slack: float = 0.0) -> float:
    """Up to which difference a row is right: half the digits that are computed in, or what the storage format moves."""
    size = float(want.abs().max()) if want.numel() else 0.0
    return max(float(unit**0.5), slack) * size


def alignments(S: int, right: Right, T: int) -> Iterator[Tensor]:
    """Slots `[B, places]` of S held rows, -1 for none; T of the places are new.

    The first place first; the newest last; the T new ones last and the others first; without padding; a ring.
    """
    place = torch.arange(right.S).expand(right.B, -1)
    newest = place + S - right.S
    between = torch.where(place < right.S - T, torch.where(place < S - T, place, -1), newest)
    for slots in (place, newest, between, place - right.pads):
        yield torch.where((slots >= 0) & (slots < S), slots, -1)
    if 0 < S < right.S:
        yield torch.where(place >= right.S - S, place % S, -1)


def gaps(held: Tensor, want: Tensor, slots: Tensor) -> Tensor:
    """|held - right| `[B, H_kv, places]`, the largest over D; NaN where no slot holds the place, inf where it is not finite."""
    index = slots.clamp(min=0)[:, None, :, None].expand(want.shape)
    if not held.shape[2]:
        return torch.full(want.shape[:3], torch.nan, dtype=want.dtype)
    gap = (held.gather(2, index) - want).abs().amax(dim=-1).nan_to_num(nan=torch.inf)
    return gap.masked_fill((slots < 0)[:, None], torch.nan)


def aligned(trials: Sequence[tuple[Trial, Tensor]], right: Right, T: int, order: int | None = None) -> Tensor:
    """The alignment under which most rows are right that are needed (`[B, places]`, with each trial); the first of equals.

    Without padding: only where most rows of the padded sequences are right so. `order`: a number of the alignments, to
    take that one.
    """
    found = list(alignments(trials[0][0][0].shape[2], right, T))
    if order is not None:
        return found[order]

    def good(slots: Tensor) -> int:
        return sum(
            int(((gaps(held, want, slots).amax(1) <= bound) & needed).sum()) for (held, want, bound), needed in trials
        )

    scores = [good(slots) for slots in found]
    padded = sum(int((needed & (right.pads > 0)).sum()) for _, needed in trials)
    if not padded or scores[UNPADDED] <= scores[0] + padded / 2:
        scores[UNPADDED] = -1
    return found[scores.index(max(scores))]


@dataclass
class Laid:
    """One layer and part after one step: held `[B, H, S', D]`, right `want` `[B, H, S, D]`, `gaps` `[B, H, S]`."""

    held: Tensor
    want: Tensor
    limit: float
    slots: Tensor  # [B, S]
    needed: Tensor  # [B, S]
    by: dict[int, int] = field(default_factory=dict)  # row of the batch -> positions by which all its keys are turned

    def __post_init__(self) -> None:
        self.gaps = gaps(self.held, self.want, self.slots)

    @property
    def wrong(self) -> Tensor:
        """Boolean `[B, H, S]`: needed rows that are missing or off."""
        return (self.gaps.isnan() | (self.gaps > self.limit)) & self.needed[:, None]

    @property
    def extra(self) -> list[int]:
        """Slots that hold no place of the sequence, where there are more of them than places."""
        held, S = self.held.shape[2], self.want.shape[2]
        return sorted(set(range(held)) - set(self.slots.flatten().tolist())) if held > S else []

    def at(self, batch: int, row: int) -> Tensor:
        """What is held for a place: `[H, D]`."""
        return self.held[batch, :, int(self.slots[batch, row])]
