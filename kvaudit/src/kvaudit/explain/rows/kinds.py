"""What wrong rows are: every way in which a row could have come about is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ...subject import Uncached
from .described import Of
from .formats import recognise
from .right import Group, Right
from .turns import rotated, turned
from .views import View

PARTS = "KV"
MOST = 120  # wrong rows of one layer that are looked into: the first and the last

Sign = tuple[str, Of, str]  # kind, whose, detail
Found = list[set[Sign]]


@dataclass
class Cells:
    """Wrong rows of one layer and part: held `x` and right `want` `[M, H, D]`, and which these are. `want`: None for extra ones."""

    layer: int
    part: int
    batch: list[int]
    rows: list[int]
    heads: tuple[int, ...]
    x: Tensor
    want: Tensor | None
    limit: float
    view: View
    B: int
    signs: Found = field(default_factory=list)

    def __post_init__(self) -> None:
        self.signs = [set() for _ in self.batch]

    def note(self, hit: Tensor, sign: Sign | Callable[[int], Sign]) -> None:
        """Boolean `[M]`: which rows this could be said of."""
        for i in hit.nonzero().flatten().tolist():
            self.signs[i].add(sign(i) if callable(sign) else sign)

    def near(self, rows: Tensor) -> Tensor:
        """Boolean `[M]`: which rows equal these `[M, H, D]`."""
        return (self.x - rows).abs().flatten(1).amax(dim=1) <= self.limit

    @property
    def open(self) -> Tensor:
        """Numbers of the rows of which nothing is known."""
        return torch.tensor([i for i, signs in enumerate(self.signs) if not signs], dtype=torch.int64)


def plainly(cells: Cells) -> None:
    """Not finite, or all zeros."""
    flat = cells.x.flatten(1)
    cells.note(~flat.isfinite().all(dim=1), ("not finite", Of(), ""))
    cells.note((flat == 0).all(dim=1), ("zeros", Of(), ""))


def others(
    cells: Cells, groups: Iterable[Group], reference: Uncached, positions: Tensor, unturned: bool = False
) -> None:
    """Another right row: of another place, layer, part, row of the batch, or moment. `unturned`: keys before their rotation."""
    index = cells.open if unturned else torch.arange(len(cells.batch))
    if not len(index):
        return
    x = cells.x[index].flatten(1).nan_to_num(nan=torch.inf)
    for g in groups:
        if g.rows.shape[1] <= max(cells.heads) or g.rows.shape[3] != cells.x.shape[2] or (unturned and g.part):
            continue
        rows = g.rows[:, list(cells.heads)]  # [B, H, N, D]
        if g.part == cells.part:
            places = positions[:, : rows.shape[2]] if g.when == "" else torch.tensor(g.places).expand(len(rows), -1)
            rows = cells.view.right(rows, places, reference)
        elif unturned:
            rows = turned(reference, rows, -torch.tensor(g.places).expand(len(rows), -1))
        B, _, N, _ = rows.shape
        flat = rows.transpose(1, 2).flatten(0, 1).flatten(1)  # [B·N, H·D]
        close = torch.cdist(x, flat, p=torch.inf) <= cells.limit  # [M, B·N]
        for m, at in close.nonzero().tolist():
            i = int(index[m])
            for of in relations(cells, i, g, at // N, g.places[at % N]):
                if of != Of():  # the right row itself is none that is wrong
                    cells.signs[i].add(("other", of, "before its rotation" if unturned else ""))


def relations(cells: Cells, i: int, g: Group, batch: int, place: int) -> Iterator[Of]:
    """Ways to say whose row it is: by difference, or by number."""
    layer = g.layer if g.layer != cells.layer else None
    part = PARTS[g.part] if g.part != cells.part else None
    aside, on = (batch - cells.batch[i]) % cells.B, place - cells.rows[i]
    aside -= cells.B if aside > cells.B / 2 else 0
    for b in {f"{aside:+d}", f"={batch}"} if aside else {""}:
        for row in {f"{on:+d}", f"={place}"} if on else {""}:
            yield Of(layer, part, b, row, g.when)


def rotations(cells: Cells, reference: Uncached, right: Right) -> None:
    """The right key, turned on, back, twice or not at all."""
    if cells.part or cells.want is None or not reference.rotary:
        return
    reach = min(2 * right.S + 8, reference.block_size)
    by = torch.cat([torch.arange(-reach, 0), torch.arange(1, reach + 1)])
    x = cells.want[:, :, None].expand(-1, -1, len(by), -1)  # [M, H, N, D]
    close = (rotated(reference, x, by) - cells.x[:, :, None]).abs().amax(dim=(1, 3)) <= cells.limit
    for i, n in close.nonzero().tolist():
        place, step = int(right.positions[cells.batch[i], cells.rows[i]]), int(by[n])
        known = {place: "again", -place: "not"}.get(step)
        names = [f"{step:+d}", f"={place + step}", *([known] if known else [])]
        cells.signs[i] |= {("rotated", Of(), name) for name in names}


def moved(cells: Cells, groups: Iterable[Group], reference: Uncached, right: Right) -> None:
    """Another key of the layer, turned to the place of this one."""
    index = cells.open
    if cells.part or cells.want is None or not reference.rotary or not cells.view.turned:
        return
    for g in groups:
        if (g.layer, g.part, g.when) != (cells.layer, 0, ""):
            continue
        for i in index.tolist():
            batch, place = cells.batch[i], cells.rows[i]
            by = right.positions[batch, place] - right.positions[batch]
            rows = turned(reference, g.rows[batch : batch + 1, list(cells.heads)], by[None])[0] * cells.view.factor
            close = (rows - cells.x[i][:, None]).abs().amax(dim=(0, 2)) <= cells.limit
            for n in close.nonzero().flatten().tolist():
                cells.signs[i] |= {("other", of, "at this place") for of in relations(cells, i, g, batch, n)}


def numbers(cells: Cells, whole: Tensor | None) -> None:
    """The right row with its heads exchanged, times a number, or with its numbers in another order. `whole`: all heads."""
    want, index = cells.want, cells.open
    if want is None or whole is None or not len(index):
        return
    close = (cells.x[:, :, None] - whole[:, None]).abs().amax(dim=3) <= cells.limit  # [M, heads, all heads]
    taken = close.int().argmax(dim=2)
    x, w = cells.x.flatten(1), want.flatten(1)
    factor = (x * w).sum(1) / w.square().sum(1).clamp(min=1e-300)
    off = (x - factor[:, None] * w).abs().amax(dim=1)
    ordered = (x.sort(dim=1).values - w.sort(dim=1).values).abs().amax(dim=1) <= cells.limit
    for i in index.tolist():
        bits, _ = recognise(cells.x[i][None, :, None], want[i][None, :, None])
        if bits and not bits.startswith("multiples"):
            cells.signs[i].add(("rounded", Of(), bits))
        elif bool(close[i].any(dim=1).all()):
            cells.signs[i].add(("heads", Of(), " ".join(map(str, taken[i].tolist()))))
        elif (
            abs(float(factor[i]) - 1) > 0.02
            and float(factor[i].abs()) > 1e-3
            and float(off[i]) <= cells.limit * max(1.0, float(factor[i].abs()))
        ):
            cells.signs[i].add(("scaled", Of(), f"{float(factor[i]):.4g}"))
        elif bool(ordered[i]):
            cells.signs[i].add(("order", Of(), ""))
