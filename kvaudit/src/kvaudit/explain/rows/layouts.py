"""Layouts: which axis of a decoder's tensor is which. Found by trying: the numbers decide, not the names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import torch
from torch import Tensor

USUAL = "BHSD"


@dataclass(frozen=True)
class Layout:
    """`axes`: the letters of the tensor's axes in their order; `flat`: how its shape becomes four axes; `paged`: a pool."""

    axes: str
    flat: str = ""  # "last": the last axis is H·D; "first": the first is B·H; "batch": there is no axis for the batch
    paged: bool = False

    @property
    def name(self) -> str:
        letters = list(self.axes)
        if "last" in self.flat:
            letters[-2:] = ["·".join(letters[-2:])]
        if "first" in self.flat:
            letters[:2] = ["·".join(letters[:2])]
        if "batch" in self.flat:
            letters = letters[1:]
        shown = "[" + ", ".join(letters) + "]"
        return f"pools {shown.replace('B', 'blocks').replace('S', 'slots')} and a block table" if self.paged else shown

    def rows(self, x: Tensor, table: Tensor | None, B: int, D: int) -> Tensor:
        """The tensor as `[B, H', S, D]`. Slots of a block that a table does not have (-1) are NaN."""
        if self.paged:
            assert table is not None
            pool = self.four(x, len(x), D).permute([self.axes.index(a) for a in "BSHD"])  # [blocks, slots, H', D]
            rows = pool[table.clamp(min=0)].masked_fill((table < 0)[..., None, None, None], torch.nan)
            return rows.flatten(1, 2).transpose(1, 2)
        return self.four(x, B, D).permute([self.axes.index(a) for a in USUAL])

    def four(self, x: Tensor, B: int, D: int) -> Tensor:
        if "last" in self.flat:
            x = x.reshape(*x.shape[:-1], -1, D)
        if "first" in self.flat:
            x = x.reshape(B, -1, *x.shape[1:])
        return x[None] if "batch" in self.flat else x


def layouts(x: Tensor, B: int, H: int, D: int, paged: bool = False) -> list[Layout]:
    """Layouts that fit a tensor's shape for B rows of a batch, H or a multiple of H heads, and head_dim D; usual ones first."""
    fits = [made for made in candidates(x, B, D, paged) if possible(made, x, B, H, D)]
    return sorted(fits, key=lambda made: made.four(x, B, D).shape[made.axes.index("H")] != H)


def candidates(x: Tensor, B: int, D: int, paged: bool) -> Iterator[Layout]:
    if paged:
        yield from (Layout("BSHD", paged=True), Layout("BHSD", paged=True)) if x.dim() == 4 else ()
        yield from (Layout("BSHD", "last", paged=True),) if x.dim() == 3 else ()
        return
    if x.dim() == 4:
        for axes in (USUAL, "BSHD", "SBHD", "BHDS", *map("".join, permutations(USUAL))):
            yield Layout(axes)
    elif x.dim() == 3:
        yield from (Layout("BSHD", "last"), Layout("SBHD", "last"), Layout("BHSD", "first"), Layout("BHDS", "first"))
        yield from (Layout("BHSD", "batch"), Layout("BSHD", "batch")) if B == 1 else ()
    elif x.dim() == 2 and B == 1:
        yield Layout("BSHD", "batch last")


def possible(made: Layout, x: Tensor, B: int, H: int, D: int) -> bool:
    try:
        shape = dict(zip(made.axes, made.four(x, B, D).shape))
    except RuntimeError:  # does not divide
        return False
    return shape["D"] == D and shape["H"] % H == 0 and shape["H"] > 0 and (made.paged or shape["B"] == B)
