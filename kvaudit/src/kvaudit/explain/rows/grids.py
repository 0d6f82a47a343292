"""The differences of a step's rows as a grid of numbers, layer by row."""

from __future__ import annotations

import torch

from .beside import Beside
from .compare import Laid
from .described import Grid


def grid(state: Beside, layers: int) -> Grid:
    return Grid(
        state.step.number,
        [cells(state.laid.get((layer, 0)), state.right.S) for layer in range(layers)],
        [cells(state.laid.get((layer, 1)), state.right.S) for layer in range(layers)],
        [max((x.limit for (at, _), x in state.laid.items() if at == layer), default=0.0) for layer in range(layers)],
    )


def cells(x: Laid | None, S: int) -> list[float | None]:
    """The largest difference of each place, None where nothing is compared."""
    if x is None:
        return [None] * S
    size = x.want.abs().amax(dim=(0, 1, 3))  # [S]: what a missing row counts as
    gone = x.gaps.isnan() | x.gaps.isinf()
    worst = torch.where(gone, size.expand(x.gaps.shape), x.gaps).masked_fill(~x.needed[:, None], 0).amax(dim=(0, 1))
    return [float(gap) if bool(need) else None for gap, need in zip(worst, x.needed.any(dim=0))]
