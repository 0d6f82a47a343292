"""What comparing rows gives: plain dataclasses, from the least (whose row is it) to the whole (`Forensics`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = {  # kind of a wrong row -> what it says of it
    "missing": "there is no such row",
    "extra": "a row too many",
    "not finite": "NaN or infinity",
    "zeros": "all zeros",
    "other": "another right row: `of` says whose",
    "rotated": "the right key, turned to another position",
    "scaled": "the right row times a number",
    "heads": "the right row with its heads exchanged",
    "order": "the right numbers in another order",
    "fed": "what layer 0 makes of another token, or at another position",
    "rounded": "the right row in fewer bits",
    "unknown": "no right row that is known",
}


@dataclass(frozen=True)
class Of:
    """Whose right row it is, as far as that differs: a layer, "K" or "V", a row of the batch, a place in the sequence.

    `batch` and `row` are "+1" (the next one), "-1" or "=3" (number 3 in all). `when`: "" for the same moment, else
    "rejected" (a draft's), "request" (the one before), "reorder" (before it), "fork" (another one's).
    """

    layer: int | None = None
    part: str | None = None
    batch: str = ""
    row: str = ""
    when: str = ""

    @property
    def cost(self) -> float:
        """How far-fetched it is."""
        here = 2.0 * (self.layer is not None) + 3.0 * (self.part is not None) + 1.5 * bool(self.batch)
        return (
            here
            + bool(self.row)
            + 0.1 * self.row.startswith("=")
            + 0.1 * self.batch.startswith("=")
            + 2 * bool(self.when)
        )


@dataclass(frozen=True)
class Wrong:
    """Rows of one layer that are wrong in one way. `detail`: which rotation, factor, format, token, order of heads."""

    layer: int
    part: str  # "K" or "V"
    batch: tuple[int, ...]
    heads: tuple[int, ...]
    rows: tuple[int, ...]  # places in the sequence, padding counted; of "extra" ones, places in the cache
    kind: str  # see KINDS
    of: Of = Of()
    detail: str = ""
    old: bool = False  # rows that were right one step before


@dataclass(frozen=True)
class Grid:
    """|K - K*| and |V - V*| after one step, `[layer][row]`: the largest over batch, heads and head_dim.

    None: there is nothing to compare (outside a window, padding, a form that is not known). A row that is missing or not
    finite counts as large as the right one. Up to `right[layer]` a difference is none.
    """

    step: int
    keys: list[list[float | None]]
    values: list[list[float | None]]
    right: list[float]

    @property
    def wrong(self) -> bool:
        rows = (*zip(self.keys, self.right), *zip(self.values, self.right))
        return any(x is not None and x > limit for row, limit in rows for x in row)


@dataclass(frozen=True)
class Forensics:
    """What the rows of one script say.

    `step`: after which rows are wrong first, or, where none is, the first one with wrong logits. `wrong` is empty where
    every row is right; then `attention` is the layer whose result is wrong although its rows are right. `shown`: the step
    at which `wrong` is told (what is said of positions is clearer after some more). `residual`:
    attention over the rows as they are, right in everything else, gives the decoder's logits to that; None where it does
    not, or where that could not be tried. `turned`: all keys stand so many positions further, which alone harms nobody.
    """

    script: str
    step: int
    logits_step: int
    shown: int
    layout: str
    shapes: tuple[int, int, int]  # batch, heads, layers
    wrong: tuple[Wrong, ...] = ()
    attention: int | None = None
    residual: float | None = None
    ahead: bool = False  # of several new tokens, only the last one's rows are right: the others see what follows them
    behind: int = 0  # rows of a buffer after the written ones
    turned: int = 0
    grids: list[Grid] = field(default_factory=list)
    words: str = ""
    also: tuple[Forensics, ...] = ()  # other scripts, where they say something else

    @property
    def says(self) -> frozenset[tuple[object, ...]]:
        """What kind of thing it says, whichever rows it says it of."""
        if not self.wrong:
            return frozenset({("attention", self.attention)})
        return frozenset((w.kind, w.part, w.of.part, w.of.layer, bool(w.of.batch), w.of.when) for w in self.wrong)

    @property
    def first(self) -> tuple[int, int, int, int, str] | None:
        """(step, layer, head, row, "K" or "V") of the first wrong row."""
        found = [(w.layer, w.rows[0], w.heads[0], w.part) for w in self.wrong]
        layer, row, head, part = min(found, default=(0, 0, 0, ""))
        return (self.step, layer, head, row, part) if found else None

    @property
    def rounded(self) -> bool:
        """Whether everything that is wrong is rounding."""
        return bool(self.wrong) and all(w.kind == "rounded" for w in self.wrong)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "first": self.first}
