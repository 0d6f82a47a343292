"""The witness: a decoder written as rules over an explicit list of rows, so that any cache bug is one changed rule.

It shares no code with any cache. It keeps every key and value row that was ever computed, in every layer, and attends
over a *list of row numbers* per layer. What a real cache does by slicing and concatenating is here a rule:

    feed      which chunks of tokens a call really feeds
    reset     whether a new request starts with an empty list
    length    how many tokens it believes to have;  position: where the new ones stand;  turn: rotate queries further
    write     what is stored of a new key and value row (rounding, exchanged)
    seen      the rows a layer attends over, in order;  mask: which of them each query may see
    gather    the key and value rows as attention meets them;  expand: shared heads
    keep      the list of rows after the call
    crop, reorder, fork

With no rule changed it is a correct cached decoder. With one changed rule it *is* the decoder that has this bug: a
hypothesis reproduces somebody's logits or it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..subject.uncached import Uncached
from .attention import attend, tiled

Rules = dict[str, Callable[..., Any]]  # name of a rule -> what stands in its place
Row = tuple[int, int]  # (layer, number of the row)
OWN = -1  # the window that the layer is meant to have


class Witness:
    """A duck-typed decoder over a reference's tapped forward. `rules`: name -> function(witness, …), replacing a method."""

    def __init__(self, reference: Uncached, rules: Rules | None = None) -> None:
        self.reference, self.rules = reference, rules or {}
        for name, rule in self.rules.items():
            setattr(self, name, rule.__get__(self))
        self.L, self.layer = reference.n_layers, 0  # layer: the one that attends right now
        self.windows, self.softcap, self.capacity = reference.windows, reference.softcap, reference.capacity
        self.lists: list[list[Row]] = [[] for _ in range(self.L)]
        self.keys: list[Tensor | None] = [None] * self.L  # [B, H_kv, rows, D] each, of all rows ever made
        self.values: list[Tensor | None] = [None] * self.L
        self.born: list[int] = []  # the call that made each row
        self.count = self.fed = self.prompt = self.base = 0  # rows computed; tokens in the sequence; of the prefill
        self.pads: Tensor | None = None  # [B]
        self.history = torch.empty(0, 0, dtype=torch.int64)  # [B, T so far]
        self.calls: list[tuple[str, int]] = []  # (kind, tokens) since the request began
        self.kind = ""  # of the call that runs
        self.tail: tuple[int, list[list[Row]]] = (0, [[] for _ in range(self.L)])  # rows that a rollback left behind

    # -- calls of a decoder -------------------------------------------------------------------------------------------
    def prefill(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        if self.reset():
            self.lists, self.fed, self.count = [[] for _ in range(self.L)], 0, 0
            self.keys, self.values, self.born = [None] * self.L, [None] * self.L, []
        self.calls = []
        self.pads = None if lengths is None else tokens.shape[1] - lengths.cpu()  # [B]
        self.prompt, self.history = tokens.shape[1], tokens
        return self.run(tokens, "prefill")

    def decode(self, token: Tensor) -> Tensor:
        self.history = torch.cat([self.history, token[:, None]], dim=1)
        return self.run(token[:, None], "decode")

    def extend(self, tokens: Tensor) -> Tensor:
        self.history = torch.cat([self.history, tokens], dim=1)
        return self.run(tokens, "extend")

    def run(self, tokens: Tensor, kind: str) -> Tensor:
        self.kind = kind
        return [self.step(chunk, kind) for chunk in self.feed(tokens, kind)][-1]

    def step(self, tokens: Tensor, kind: str) -> Tensor:  # [B, T] -> [B, V]
        T = tokens.shape[1]
        self.calls.append((kind, T))
        self.now = list(range(self.count, self.count + T))  # numbers of the new rows
        positions = self.position(T)
        self.count += T
        self.born += [len(self.calls)] * T
        logits = self.reference.forward(tokens, positions, self.attend)
        self.lists = [self.keep(layer) for layer in range(self.L)]
        self.fed += T
        if kind != "decode":
            self.base = self.fed  # where single steps begin: after the prompt, or after the last chunk
        return logits[:, -1]

    # -- attention ----------------------------------------------------------------------------------------------------
    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        self.layer = layer
        k, v = self.write(k, v)
        self.put(layer, k, v)
        rows = self.seen(layer)  # [(layer, row), …], S of them
        k, v = self.gather(layer, *self.take(rows))
        visible = self.mask(q.shape[2], rows)[..., : k.shape[2]]
        if visible.shape[-1] < k.shape[2]:  # rows beyond the list (an unwritten tail) are seen by all
            visible = torch.nn.functional.pad(visible, (0, k.shape[2] - visible.shape[-1]), value=True)
        expand = self.expand(q.shape[1], k.shape[1])
        return attend(self.turn(q), k, v, scale, visible.to(q.device), expand, self.softcap)

    def put(self, layer: int, k: Tensor, v: Tensor) -> None:
        for kept, new in ((self.keys, k), (self.values, v)):
            old = kept[layer]
            kept[layer] = new if old is None else torch.cat([old, new], dim=2)

    def take(self, rows: list[Row]) -> tuple[Tensor, Tensor]:
        layers = {layer for layer, _ in rows}
        if len(layers) == 1:
            layer, index = layers.pop(), torch.tensor([row for _, row in rows], device=self.reference.device)
            return tuple(x[layer].index_select(2, index) for x in (self.keys, self.values))  # type: ignore
        return tuple(torch.stack([x[at][:, :, row] for at, row in rows], dim=2) for x in (self.keys, self.values))  # type: ignore

    # -- the rules ----------------------------------------------------------------------------------------------------
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

    def fork(self) -> Witness:
        return self.copied(self.rules)

    def copied(self, rules: Rules) -> Witness:
        """Another witness in the same state, under these rules."""
        twin = type(self)(self.reference, rules)
        for name, value in vars(self).items():
            if name != "rules" and name not in self.rules:
                setattr(twin, name, list(value) if isinstance(value, list) else value)
        return twin


def picked(rows: list[Tensor | None], parents: Tensor) -> list[Tensor | None]:
    """The rows of each layer, of these entries of the batch."""
    return [None if x is None else x[parents] for x in rows]
