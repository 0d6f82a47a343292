"""Where rows are wrong, as text: a grid of layers and rows for the steps at which it shows."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, log10

from ..explain.rows import Forensics, Grid

WIDE, HIGH = 100, 16  # rows and layers that are drawn
LEGEND = ". right, 9 … 1: ten to the -9 … -1, # one and more, ~ less, blank: nothing to compare"


def picture(seen: Forensics) -> str:
    """|K - K*| and |V - V*| of each layer and row, before, at and after the first wrong step."""
    drawn = [grid for grid in seen.grids if grid.step in steps(seen)]
    head = f"{seen.script}: |K - K*| and |V - V*| by layer and row ({LEGEND})"
    return "\n".join([head, *[line for grid in drawn for line in ("", *lines(grid))]])


def steps(seen: Forensics) -> set[int]:
    """The step before the first wrong rows, that one, and the one with the first wrong logits."""
    return {seen.step - 1, seen.step, seen.logits_step, seen.shown}


def lines(grid: Grid) -> Iterator[str]:
    S = max(map(len, (*grid.keys, *grid.values)), default=0)
    ruler = "".join(f"{n:<10}" for n in range(0, min(S, WIDE), 10))[: min(S, WIDE)]
    wide = max(len(ruler), 1)
    yield f"  after step {grid.step:<4} K {'':{wide}}  V"
    yield f"  {'row':>14}   {ruler:{wide}}    {ruler}"
    for layer, (keys, values, right) in enumerate(zip(grid.keys[:HIGH], grid.values, grid.right)):
        k, v = ("".join(mark(x, right) for x in row[:WIDE]) for row in (keys, values))
        yield f"  {f'layer {layer}':>14}   {k:{wide}}    {v}"
    if len(grid.keys) > HIGH:
        yield f"  and {len(grid.keys) - HIGH} more layers"


def mark(x: float | None, right: float) -> str:
    if x is None:
        return " "
    if x <= right:
        return "."
    digits = -floor(log10(x))
    return "#" if digits < 1 else str(digits) if digits <= 9 else "~"
