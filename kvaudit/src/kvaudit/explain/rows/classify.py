"""The wrong rows of one step, sorted by what they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from ...plan import Script
from ...subject import Uncached
from .beside import Beside
from .compare import Laid
from .described import Wrong
from .fed import fed
from .kinds import MOST, PARTS, Cells, moved, numbers, others, plainly, rotations
from .right import Group, groups
from .telling import agreed, told
from .views import View

KNOWN = ("other", "fed", "rotated", "zeros")  # kinds that are no coincidence


def classified(
    script: Script, now: Beside, views: dict[int, View], reference: Uncached, tail: bool, layers: Sequence[int]
) -> list[Wrong]:
    """All wrong rows of these layers, but those that follow from what is wrong in a layer below. `tail`: of a buffer."""
    right_rows = list(groups(now.step, script))
    old = now.right.S - now.step.T  # rows that were there before the step
    found: list[Wrong] = []
    for layer in layers:
        laid = {part: x for (at, part), x in now.laid.items() if at == layer}
        made = [some for part, x in laid.items() for some in cells(layer, part, x, views[part], now.right.B, tail)]
        for some in made:
            look_into(some, laid[some.part], now, right_rows, reference)
        for alike in (False, True):
            agreed(some for some in made if (some.want is None) is alike)
        found += [w for part, x in laid.items() for w in missing(layer, part, x)]
        found += [replace(w, old=max(w.rows) < old and w.kind != "extra") for some in made for w in told(some)]
    return [w for w in found if not follows(w, found)]


def look_into(some: Cells, x: Laid, now: Beside, right_rows: Sequence[Group], reference: Uncached) -> None:
    """Note on every row all that can be said of it."""
    plainly(some)
    others(some, right_rows, reference, now.right.positions)
    rotations(some, reference, now.right)
    fed(some, reference, now.right)
    if reference.rotary:
        others(some, right_rows, reference, now.right.positions, unturned=True)
        moved(some, right_rows, reference, now.right)
    numbers(some, whole(some, x))


def follows(w: Wrong, found: Sequence[Wrong]) -> bool:
    """Whether unknown rows are what a wrong layer below makes: new ones, or such as are wrong there too."""
    below = {row for other in found if other.layer < w.layer for row in other.rows}
    unknown = w.kind == "unknown" or (w.kind == "extra" and w.detail == "unknown")
    return unknown and bool(below) and (not w.old or set(w.rows) <= below)


def whole(some: Cells, x: Laid) -> torch.Tensor | None:
    """The right rows in all heads, `[M, H, D]`."""
    return None if some.want is None else torch.stack([x.want[b, :, row] for b, row in zip(some.batch, some.rows)])


def missing(layer: int, part: int, x: Laid) -> Iterator[Wrong]:
    """Places that no slot holds."""
    gone = x.gaps.isnan().all(dim=1) & x.needed  # [B, S]
    if bool(gone.any()):
        batch, rows = (tuple(sorted(set(y.tolist()))) for y in gone.nonzero().T)
        yield Wrong(layer, PARTS[part], batch, tuple(range(x.want.shape[1])), rows, "missing")


def cells(layer: int, part: int, x: Laid, view: View, B: int, tail: bool) -> Iterator[Cells]:
    """Rows that are held and wrong, those together that are wrong in the same heads; then rows too many."""
    wrong = x.wrong & ~x.gaps.isnan()
    by_heads: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for b, row in wrong.any(dim=1).nonzero().tolist():
        by_heads.setdefault(tuple(wrong[b, :, row].nonzero().flatten().tolist()), []).append((b, row))
    for heads, places in sorted(by_heads.items()):
        batch, rows = ([place[i] for place in some(places)] for i in (0, 1))
        held = torch.stack([x.at(b, row) for b, row in zip(batch, rows)])[:, list(heads)]
        want = torch.stack([x.want[b, :, row] for b, row in zip(batch, rows)])[:, list(heads)]
        yield Cells(layer, part, batch, rows, heads, held, want, x.limit, view, B)
    slots = [] if tail else unwritten(x)
    if slots:
        batch, rows = ([place[i] for place in some([(b, s) for s in slots for b in range(B)])] for i in (0, 1))
        held = torch.stack([x.held[b, :, slot] for b, slot in zip(batch, rows)])
        yield Cells(layer, part, batch, rows, tuple(range(held.shape[1])), held, None, x.limit, view, B)


def some(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """At most MOST of the places: the first and the last."""
    return places if len(places) <= MOST else places[: MOST // 2] + places[-(MOST - MOST // 2) :]


def unwritten(x: Laid) -> list[int]:
    """Slots too many that hold something."""
    return [slot for slot in x.extra if bool((x.held[:, :, slot] != 0).any())]


def known(script: Script, now: Beside, view: View, part: int, reference: Uncached) -> float:
    """The part of layer 0's rows that are right or another right row, under a view that need not be the decoder's."""
    x = now.laid.get((0, part))
    if x is None:
        return 0.0
    right_rows, told = list(groups(now.step, script)), 0
    for some in cells(0, part, x, view, now.right.B, tail=True):
        look_into(some, x, now, right_rows, reference)
        told += sum(any(kind in KNOWN for kind, _, _ in signs) for signs in some.signs)
    return (int(x.needed.sum()) - int(x.wrong.any(dim=1).sum()) + told) / max(int(x.needed.sum()), 1)
