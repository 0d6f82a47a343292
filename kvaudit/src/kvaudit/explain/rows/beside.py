"""A decoder's rows laid beside the right ones: every layer and part of one step, with what is wrong in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ...subject import Uncached
from .compare import Laid, limit
from .order import Trial, aligned
from .record import Step
from .right import Right, right_at
from .turns import evenly_turned, turn_on
from .views import View


@dataclass
class Beside:
    """One step: `laid[layer, part]` of all that can be read."""

    step: Step
    right: Right
    laid: dict[tuple[int, int], Laid]

    @property
    def right_rows(self) -> int:
        return sum(int((x.needed & ~x.wrong.any(dim=1)).sum()) for x in self.laid.values())


def lay(step: Step, views: Mapping[int, View], reference: Uncached, order: int | None = None) -> Beside:
    """Lay a step's rows beside the right ones, as far as their form is the one of the views, in the best `order`."""
    right = right_at(step)
    found = trials(step, right, views, reference)
    laid: dict[tuple[int, int], Laid] = {}
    by: dict[int, int] | None = None
    slots: dict[int, Tensor] = {}  # as many rows are kept in one order in all layers
    for at, (held, want, bound, needed) in found.items():
        S = held.shape[2]
        if S not in slots:
            slots[S] = aligned([t for t in found.values() if t[0].shape[2] == S], right, step.T, order)
        slots_here = slots[S] if step.table is None else in_blocks(slots[S], held)
        laid[at] = Laid(held, want, bound, slots_here, needed)
        if reference.rotary and at[1] == 0 and views[0].turned:
            if by is None:  # of the lowest layer: positions are those of all
                by = evenly_turned(laid[at], reference)
            laid[at] = turn_on(laid[at], by, reference)
    return Beside(step, right, laid)


def trials(step: Step, right: Right, views: Mapping[int, View], reference: Uncached) -> dict[tuple[int, int], Trial]:
    """By layer and part, what is to be compared; what has another form is left out."""
    slack = max((view.slack for view in views.values()), default=0.0)  # rows of later layers are made of both parts
    found = {}
    for layer, pair in enumerate(right.layers):
        for part, view in views.items():
            try:
                held = view.held(step.layers[layer][part], step.table, right.B, pair[part].shape[3])
            except (RuntimeError, IndexError, ValueError):
                continue
            want = view.right(pair[part], right.positions, reference)
            bound = limit(want, reference.unit, slack if layer else view.slack)
            if (held.shape[1], held.shape[3]) == (want.shape[1], want.shape[3]):
                found[layer, part] = held, want, bound, right.needed(layer)
    return found


def in_blocks(slots: Tensor, held: Tensor) -> Tensor:
    """Slots `[B, S]`, without those for which a block table has no block."""
    there = ~held.isnan().all(dim=3).all(dim=1)  # [B, S']
    return torch.where(there.gather(1, slots.clamp(min=0)) & (slots >= 0), slots, -1)
