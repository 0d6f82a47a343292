"""The rules of a correct cached decoder, one method each: what a hypothesis replaces.

feed      which chunks of tokens a call really feeds
reset     whether a new request starts with an empty list
length    how many tokens it believes to have;  position: where the new ones stand;  turn: rotate queries further
write     what is stored of a new key and value row (rounding, exchanged)
seen      the rows a layer attends over, in order;  mask: which of them each query may see
gather    the key and value rows as attention meets them;  expand: shared heads
keep      the list of rows after the call;  blind: what a query gets that may see nothing
crop, reorder, fork
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..subject.uncached import Uncached
from .attention import ZEROS, tiled

Rules = dict[str, Callable[..., Any]]  # name of a rule -> what stands in its place
Row = tuple[int, int]  # (layer, number of the row)
ZERO = -1  # the number of a row that was never written: zeros
OWN = -1  # the window that the layer is meant to have
HANDING_ON = ("crop", "reorder", "fork")  # rules that are asked in the call of their name only


class Correct:
    """The state that rules read, and each rule as it should be."""

    reference: Uncached
    L: int
    layer: int  # the one that attends right now
    now: list[int]  # numbers of the new rows
    lists: list[list[Row]]  # the rows of each layer
    keys: list[Tensor | None]  # [B, H_kv, rows, D] each, of all rows ever made
    values: list[Tensor | None]
    fed: int  # tokens in the sequence
    pads: Tensor | None  # [B]
    history: Tensor  # [B, T so far]
    windows: list[int | None]
    take: Callable[[list[Row]], tuple[Tensor, Tensor]]  # the key and value rows of a list

    def feed(self, tokens: Tensor, kind: str) -> list[Tensor]:
        return [tokens]

    def reset(self) -> bool:
        return True

    def length(self) -> int:
        return self.fed

    def position(self, T: int) -> Tensor:
        return self.own_position(self.length(), T)

    def own_position(self, start: int, T: int) -> Tensor:
        """start, start + 1, …; counted from each row's first real token where the batch is padded on the left."""
        p = torch.arange(start, start + T)
        return p if self.pads is None else (p[None, :] - self.pads[:, None]).clamp(min=0)  # [T] or [B, T]

    def turn(self, q: Tensor) -> Tensor:
        return q

    def write(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return k, v

    def seen(self, layer: int) -> list[Row]:
        return self.lists[layer] + [(layer, row) for row in self.now]

    def mask(self, T: int, rows: list[Row]) -> Tensor:
        return self.causal(T, len(rows))

    def causal(self, T: int, S: int, window: int | None = OWN) -> Tensor:
        """Boolean `[T, S]` or `[B, 1, T, S]`: the past and itself, inside the window (None: all), without padding."""
        own = self.windows[self.layer]  # a layer that sees everything has no window to get wrong
        size = own if window == OWN or own is None else window
        age = torch.arange(T)[:, None] + (S - T) - torch.arange(S)[None, :]  # 0 for the token itself
        visible = (age >= 0) & (age < (size or S + T))
        if self.pads is None:
            return visible
        return visible[None, None] & self.real(S)[:, None, None]

    def real(self, S: int) -> Tensor:
        """Boolean `[B, S]`: False for the rows that are padding (the first `pads` rows of the padded prompt)."""
        assert self.pads is not None
        return torch.arange(S)[None, :] >= self.pads[:, None]

    def gather(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return k, v

    def expand(self, H: int, H_kv: int) -> Callable[[Tensor], Tensor] | None:
        return tiled(H, H_kv) if self.reference.tiled else None  # None: each repeated in place

    def blind(self) -> str:
        """What a query gets that may see nothing."""
        return ZEROS

    def keep(self, layer: int) -> list[Row]:
        return self.seen(layer)

    def layers(self) -> list[tuple[Tensor, Tensor]]:
        return [self.take(rows) for rows in self.lists]

    def crop(self, length: int) -> None:
        self.lists, self.fed = [rows[:length] for rows in self.lists], length
        self.history = self.history[:, :length]

    def reorder(self, parents: Tensor) -> None:
        self.history = self.history[parents]
        self.keys, self.values = picked(self.keys, parents), picked(self.values, parents)


def picked(rows: list[Tensor | None], parents: Tensor) -> list[Tensor | None]:
    """The rows of each layer, of these entries of the batch."""
    return [None if x is None else x[parents] for x in rows]
