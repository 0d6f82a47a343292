"""Rotations: rows turned on by some positions; and sequences all of whose keys stand the same number of positions further."""

from __future__ import annotations

import torch
from torch import Tensor

from ...subject import Uncached
from .compare import Laid


def turned(reference: Uncached, rows: Tensor, by: Tensor) -> Tensor:
    """Rows `[B, H, N, D]` rotated further by so many positions, `[B, N]`."""
    return torch.cat([rotated(reference, row[None], n) for row, n in zip(rows, by)])


def rotated(reference: Uncached, rows: Tensor, by: Tensor) -> Tensor:
    """Rows `[B, H, N, D]` rotated further by so many positions, `[N]`."""
    x = rows.to(reference.device, reference.dtype)
    return reference.rotate(x, by.to(reference.device)).double().cpu()


def evenly_turned(keys: Laid, reference: Uncached) -> dict[int, int]:
    """{row of the batch: positions by which all its keys are turned}: that harms nobody where queries are turned as well."""
    found = {}
    for b in range(len(keys.needed)):
        rows = keys.needed[b].nonzero().flatten()
        if not len(rows) or not bool(keys.wrong[b].any(dim=0)[rows].all()) or bool((keys.slots[b, rows] < 0).any()):
            continue
        by = shift(keys, b, int(rows[-1]), reference)
        if by is not None and bool((even(keys, b, by, reference).amax(dim=0)[rows] <= keys.limit).all()):
            found[b] = by
    return found


def shift(keys: Laid, batch: int, row: int, reference: Uncached) -> int | None:
    """By how many positions one key is turned; None where it is another one."""
    by = torch.arange(-reference.block_size, reference.block_size + 1)
    want = keys.want[batch, :, row][None, :, None].expand(-1, -1, len(by), -1)
    off = (rotated(reference, want, by)[0] - keys.at(batch, row)[:, None]).abs().amax(dim=(0, 2))
    best = int(off.argmin())
    return int(by[best]) if float(off[best]) <= keys.limit else None


def even(keys: Laid, batch: int, by: int, reference: Uncached) -> Tensor:
    """What is left `[H, S]` of one sequence's differences where its right keys are turned on."""
    moved = rotated(reference, keys.want[batch : batch + 1], torch.full((keys.want.shape[2],), by))[0]
    return (keys.held[batch, :, keys.slots[batch].clamp(min=0)] - moved).abs().amax(dim=2)


def turn_on(keys: Laid, by: dict[int, int], reference: Uncached) -> Laid:
    """The same, beside right keys that are turned by as many positions."""
    if not by:
        return keys
    steps = torch.tensor([by.get(b, 0) for b in range(len(keys.want))])[:, None].expand(-1, keys.want.shape[2])
    return Laid(keys.held, turned(reference, keys.want, steps), keys.limit, keys.slots, keys.needed, by)
