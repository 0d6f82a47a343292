"""Row by row: how far what a decoder holds is from the right rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


def limit(want: Tensor, unit: float, slack: float = 0.0) -> float:
    """Up to which difference a row is right: half the digits that are computed in, or what the storage format moves."""
    size = float(want.abs().max()) if want.numel() else 0.0
    return max(float(unit**0.5), slack) * size


def gaps(held: Tensor, want: Tensor, slots: Tensor) -> Tensor:
    """|held - right| `[B, H_kv, places]`, the largest over D; NaN where no slot holds the place, inf where it is not finite."""
    index = slots.clamp(min=0)[:, None, :, None].expand(want.shape)
    if not held.shape[2]:
        return torch.full(want.shape[:3], torch.nan, dtype=want.dtype)
    gap = (held.gather(2, index) - want).abs().amax(dim=-1).nan_to_num(nan=torch.inf)
    return gap.masked_fill((slots < 0)[:, None], torch.nan)


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
