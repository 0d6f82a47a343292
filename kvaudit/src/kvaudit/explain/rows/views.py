"""How a decoder keeps rows: which layout, which heads, keys before or after their rotation, times a factor, in which bits.

A view is fitted where the rows must be right: in states from which the decoder went on with right logits. Where there is
no such state, the view under which most rows are right is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from ...subject import Uncached
from .compare import Laid, limit
from .formats import recognise
from .layouts import Layout, layouts
from .order import aligned
from .record import Step
from .right import Right, right_at
from .turns import evenly_turned, turn_on, turned

NOISE = 100  # steps of the arithmetic: what is off by less is not rounded to fewer bits


@dataclass(frozen=True)
class View:
    """`heads`: the decoder's head for each right one; `turned`: keys after their rotation; `bits`, `slack`: of a storage format."""

    layout: Layout
    heads: tuple[int, ...]
    turned: bool = True
    factor: float = 1.0
    bits: str = ""
    slack: float = 0.0  # what the format moves, as a part of the largest number

    @property
    def plain(self) -> bool:
        """Whether attention could be done over these rows as they are."""
        return self.turned and self.factor == 1.0

    def held(self, x: Tensor, table: Tensor | None, B: int, D: int) -> Tensor:
        """The decoder's rows as `[B, H_kv, S, D]`. Raises where the tensor has another form."""
        return self.layout.rows(x, table, B, D)[:, list(self.heads)].double()

    def right(self, rows: Tensor, positions: Tensor, reference: Uncached) -> Tensor:
        """Right rows `[B, H_kv, N, D]` at `positions` `[B, N]` as this decoder would keep them."""
        return (rows if self.turned else turned(reference, rows, -positions)) * self.factor


def fitted(steps: Sequence[Step], part: int, reference: Uncached) -> View | None:
    """The view under which most rows of these steps are right: None unless half of them are in a layer."""
    samples = [(step, right_at(step)) for step in steps]
    best, most = None, 0.0
    for view in proposals(*samples[0], part, reference):
        score = share(view, samples, part, reference)
        if score > most:
            best, most = view, score
        if most == 1.0:
            break
    return within_rounding(best, *samples[0], part, reference) if best is not None and most >= 0.5 else None


def within_rounding(view: View, step: Step, right: Right, part: int, reference: Uncached) -> View:
    """The view with its storage format, where that moves less than what counts as a difference."""
    pair = None if view.bits else beside(view, step, right, part, reference)
    if pair is None or float((pair[0] - pair[1]).abs().max()) <= NOISE * limit(pair[1], reference.unit**2):
        return view
    bits, slack = recognise(*pair)
    return replace(view, bits=bits, slack=slack) if bits else view


def plain(step: Step, part: int) -> list[View]:
    """Views that fit the shapes of layer 0."""
    right = right_at(step)
    x, (B, H, _, D) = step.layers[0][part], right.layers[0][part].shape
    return [
        View(layout, heads)
        for layout in layouts(x, B, H, D, step.table is not None)
        for heads in shares(layout.rows(x, step.table, B, D).shape[1], H)
    ]


def proposals(step: Step, right: Right, part: int, reference: Uncached) -> Iterator[View]:
    """Views that fit the shapes; then with a factor, and with fewer bits, as the numbers of layer 0 suggest."""
    ways = (True, False) if part == 0 and reference.rotary else (True,)
    simple = [replace(view, turned=turned) for view in plain(step, part) for turned in ways]
    yield from simple
    for view in simple:
        pair = beside(view, step, right, part, reference)
        if pair is not None:
            factor = float((pair[0] / pair[1]).nanmedian())
            if abs(factor) > 1e-6 and abs(factor - 1) > 1e-6:
                yield replace(view, factor=factor)
            bits, slack = recognise(*pair)
            if bits:
                yield replace(view, bits=bits, slack=slack)


def shares(held: int, H: int) -> Iterator[tuple[int, ...]]:
    """The decoder's head for each of H right ones, where it keeps as many, or each one for all queries that share it."""
    yield tuple(range(0, held, held // H))
    if held > H:
        yield tuple(range(H))  # tiled: 0 1 0 1


def beside(view: View, step: Step, right: Right, part: int, reference: Uncached) -> tuple[Tensor, Tensor] | None:
    """(held, right) rows of layer 0, `[B, H_kv, S, D]` each, those that are held in order from the first."""
    want = view.right(right.layers[0][part], right.positions, reference)
    held = view.held(step.layers[0][part], step.table, right.B, want.shape[3])
    S = min(held.shape[2], want.shape[2])
    return (held[:, :, :S], want[:, :, :S]) if S and not bool(right.pads.any()) else None


def share(view: View, samples: Iterable[tuple[Step, Right]], part: int, reference: Uncached) -> float:
    """The part of the needed rows that is right under a view, in the layer where most are."""
    found: dict[int, list[float]] = {}
    for step, right in samples:
        for layer, pair in enumerate(right.layers):
            try:
                held = view.held(step.layers[layer][part], step.table, right.B, pair[part].shape[3])
            except (RuntimeError, IndexError, ValueError):
                return 0.0
            want = view.right(pair[part], right.positions, reference)
            if (held.shape[1], held.shape[3]) != (want.shape[1], want.shape[3]):
                return 0.0
            bound = limit(want, reference.unit, view.slack)
            needed = right.needed(layer)
            slots = aligned([(held, want, bound, needed)], right, step.T)
            laid = Laid(held, want, bound, slots, needed)
            if part == 0 and reference.rotary and view.turned:
                laid = turn_on(laid, evenly_turned(laid, reference), reference)
            wrong = int(laid.wrong.any(dim=1).sum())
            found.setdefault(layer, []).append(1 - wrong / max(int(needed.sum()), 1))
    return max((sum(row) / len(row) for row in found.values()), default=0.0)
