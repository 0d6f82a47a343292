"""The attention panel of lesson 02: what the usual mistakes do to the output, and to what each token depends on."""

from functools import cache

import torch

from ..faults.mistakes import MISTAKES, small
from ..figures import approx
from ..plots.curves import masks
from . import svg
from .leaks import influence
from .masks import cell_state, key_to
from .panel import Choice, Panel, Step, View

B, H, D, LONGEST = 2, 3, 4, 6
CELL = 26
MARKS = [
    ("v", svg.BLUE, "row moves with the token, as it may"),
    ("F", svg.ORANGE, "row moves with a later token: a leak"),
    ("x", svg.GREEN, "row should move and does not"),
    ("", "none", "row does not move"),
]
LEGEND = f'<div style="margin-top:8px">{" ".join(key_to(*mark) for mark in MARKS)}</div>'


def some_x(T):
    """x `[B, T, C]`."""
    return torch.randn(B, T, H * D, generator=torch.Generator().manual_seed(T), dtype=torch.float64)


@cache
def distance(kind, T):
    """Largest difference from the correct attention on one x of T tokens."""
    return float((small(kind, H, D)(some_x(T)) - small("correct", H, D)(some_x(T))).abs().max())


@cache
def moved(kind, T):
    """Boolean `[T, T]`: whether row i of y moves when token j of x changes."""
    return influence(small(kind, H, D), T, H * D)


def count_leaks(kind, T):
    return int(moved(kind, T).triu(1).sum())


def render_attention(kind, T):
    """The `View` of one mistake: shape and difference in words, and which row of y moves with which token of x."""
    return View(sentence(kind, T), grid(kind, T) + LEGEND)


def sentence(kind, T):
    shape = f"y has shape {list(small(kind, H, D)(some_x(T)).shape)}, as it should"
    pairs, found = T * (T - 1) // 2, count_leaks(kind, T)
    leak = f"{found or 'none'} of {pairs} pairs leak" if pairs else "with one token nothing can leak"
    far = distance(kind, T)
    return f"{kind}, {T} token{'s' * (T > 1)}: {shape}; largest difference from the correct one {approx(far)}; {leak}."


def grid(kind, T):
    left, top = 110, 40
    shapes = [svg.text(left, 14, "token of x that changes", anchor="start")]
    for row, cells in enumerate(moved(kind, T).tolist()):
        shapes.append(svg.text(left + (row + 0.5) * CELL, 32, row, size=11))
        shapes.append(svg.text(left - 8, top + (row + 0.7) * CELL, f"row {row} of y", anchor="end", size=11))
        for j, moves in enumerate(cells):
            state = cell_state(moves, j <= row)
            shapes.append(svg.cell(left + j * CELL, top + row * CELL, CELL, *state))
    return svg.picture(left + max(T, LONGEST) * CELL + 4, top + T * CELL + 4, shapes, sentence(kind, T))


def attention_panel(kinds=tuple(MISTAKES)):
    """Toggles for the mistake, a slider for the number of tokens."""
    controls = {"kind": Choice("Attention:", {kind: kind for kind in kinds}), "T": Step("Tokens", 1, LONGEST)}
    return Panel("Break attention", controls, render_attention, lambda: dependences(kinds).png())


def dependences(kinds, T=5):
    """Which row of y moves with which token of x, for several mistakes side by side: a square where it moves."""
    counts = {kind: count_leaks(kind, T) for kind in kinds}
    leaky = sum(count > 0 for count in counts.values())
    title = f"{leaky} of {len(kinds)} attentions let a token read later ones; all give the right shape"
    alt = f"Squares in the upper triangle, right of the diagonal, are leaks, {T * (T - 1) // 2} at most."
    plot = masks({kind.replace(" ", "\n", 1): moved(kind, T) for kind in kinds}, 0, title, alt)
    for axis in plot.figure.axes:
        axis.set_xlabel("token changed")
    plot.figure.axes[0].set_ylabel("row of y")
    plot.header, plot.rows = ["attention", "leaks"], [[kind, str(count)] for kind, count in counts.items()]
    return plot
