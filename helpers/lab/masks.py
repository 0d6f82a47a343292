"""The mask panel of lesson 01: which keys each new token may see, and what the usual mistakes make of it."""

import torch

from ..cache import causal_mask
from ..plots.curves import masks, visible_ranges
from . import svg
from .panel import Choice, Panel, Step, View

CELL = 24
RIGHT = "last rows"


def full(T, S):
    return torch.ones(T, S, dtype=torch.bool)


KINDS = {  # words on the button -> the mask [T, S] for the newest T of S tokens
    RIGHT: causal_mask,
    "top left": lambda T, S: full(T, S).tril(),
    "inverted": lambda T, S: ~causal_mask(T, S),
    "one too low": lambda T, S: full(T, S).tril(S - T - 1),
    "one too high": lambda T, S: full(T, S).tril(S - T + 1),
    "no mask": full,
}


def made(kind, cached, new):
    """The mask `[T, S]` of one of `KINDS` for `new` tokens after `cached` ones. Raises ValueError where there is none."""
    if cached < 0 or new < 1:
        raise ValueError(f"need at least 0 cached and 1 new tokens, not {cached} and {new}")
    return KINDS[kind](new, cached + new)


def count_wrong(kind, cached, new):
    """(entries that show the future, entries that hide what should be seen)."""
    mask, right = made(kind, cached, new), made(RIGHT, cached, new)
    return int((mask & ~right).sum()), int((right & ~mask).sum())


def render_mask(cached, new, kind=RIGHT):
    """The `View` of one mask: the S x S square with the kept rows outlined, and the table of visible ranges."""
    ranges = visible_ranges(made(kind, cached, new))
    return View(sentence(kind, cached, new, ranges), svg.columns(grid(kind, cached, new), table(ranges)) + LEGEND)


def sentence(kind, cached, new, ranges):
    S = cached + new
    made_of = f"{cached} cached + {new} new: the mask is [{new}, {S}]"
    sees = ranges[0][2] if new == 1 else f"{ranges[0][2]} for query 0 and {ranges[-1][2]} for query {new - 1}"
    if kind == RIGHT:
        return f"{made_of}, the last {new} of {S} rows. Keys seen: {sees}."
    leaks, lost = count_wrong(kind, cached, new)
    wrong = f"{leaks + lost} of {new * S} entries are wrong, {leaks} show the future, {lost} hide the past or the token itself"
    return f"{kind}, {made_of}. Keys seen: {sees}. {wrong if leaks + lost else 'It equals the right mask here'}."


def grid(kind, cached, new):
    """All S rows of the triangle, faint; over the last T of them, outlined, the mask that the new queries get."""
    S, left = cached + new, 74
    used, right = made(kind, cached, new), causal_mask(S, S)
    shapes = [svg.text(left + (S * CELL) / 2, 13, "key", size=12)]
    for query in range(S):
        y, row = 36 + query * CELL, query - cached
        label = f"new {row}: {query}" if row >= 0 else f"old: {query}"
        shapes.append(svg.text(left - 6, y + CELL * 0.7, label, anchor="end", size=11))
        shapes.append(svg.text(left + (query + 0.5) * CELL, 29, query, size=11))
        for key in range(S):
            state = cell_state(bool(used[row, key]), bool(right[query, key])) if row >= 0 else ("", "none")
            shapes.append(svg.cell(left + key * CELL, y, CELL, *state))
    y = 36 + cached * CELL
    outline = {"fill": "none", "stroke": svg.INK, "stroke_width": 2.5}
    shapes.append(svg.tag("rect", x=left - 1, y=y - 1, width=S * CELL + 2, height=new * CELL + 2, rx=3, **outline))
    alt = f"{S} by {S} square of queries and keys; the last {new} rows are outlined. " + sentence(
        kind, cached, new, visible_ranges(used)
    )
    return svg.picture(left + S * CELL + 4, 40 + S * CELL, shapes, alt)


def cell_state(visible, should):
    if visible:
        return ("v", svg.BLUE) if should else ("F", svg.ORANGE)
    return ("x", svg.GREEN) if should else ("", "none")


def table(ranges):
    head = "".join(f"<th>{words}</th>" for words in ("query", "position", "keys seen", "keys hidden"))
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in ranges)
    return f'<table style="border-collapse:separate;border-spacing:12px 2px"><tr>{head}</tr>{rows}</table>'


def key_to(letter, fill, words):
    sample = svg.picture(20, 20, [svg.cell(0, 0, 20, letter, fill)], f"mark {letter or 'blank'}")
    return f'<span style="white-space:nowrap;margin-right:16px">{sample} {words}</span>'


MARKS = [
    ("v", svg.BLUE, "visible"),
    ("", "none", "hidden, or not asked in this call"),
    ("F", svg.ORANGE, "visible, but the future"),
    ("x", svg.GREEN, "hidden, but should be seen"),
]
LEGEND = f'<div style="margin-top:8px">{" ".join(key_to(*mark) for mark in MARKS)}</div>'


def mask_panel(kinds=(RIGHT,), cached=6, new=5):
    """Controls for up to `cached` cached and `new` new tokens and, with more than one of `kinds`, for the mask."""
    choice = {"kind": Choice("Mask:", {kind: kind for kind in kinds})} if len(kinds) > 1 else {}
    controls = choice | {"cached": Step("Cached", 0, cached), "new": Step("New", 1, new)}

    def show(cached, new, kind=kinds[0]):
        return render_mask(cached, new, kind)

    def still():
        if not choice:
            return masks({"": causal_mask(7, 7)}, 3, "3 new tokens after 4 cached ones", "").png()
        return masks({kind: made(kind, 3, 2) for kind in kinds}, 0, "2 new tokens after 3 cached ones", "").png()

    return Panel("Break the mask" if choice else "Mask", controls, show, still)
