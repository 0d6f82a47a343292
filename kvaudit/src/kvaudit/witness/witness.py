"""The witness: a decoder written as rules over an explicit list of rows, so that any cache bug is one changed rule.

It shares no code with any cache. It keeps every key and value row that was ever computed, in every layer, and attends
over a *list of row numbers* per layer. What a real cache does by slicing and concatenating is here a rule (`rules`).

With no rule changed it is a correct cached decoder. With one changed rule it *is* the decoder that has this bug: a
hypothesis reproduces somebody's logits or it does not.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..subject.uncached import Uncached
from .attention import attend
from .rules import HANDING_ON, ZERO, Correct, Row, Rules

__all__ = ["HANDING_ON", "Row", "Rules", "Witness"]


class Witness(Correct):
    """A duck-typed decoder over a reference's tapped forward. `rules`: name -> function(witness, …), replacing a method."""

    def __init__(self, reference: Uncached, rules: Rules | None = None) -> None:
        self.reference, self.rules = reference, rules or {}
        for name, rule in self.rules.items():
            setattr(self, name, rule.__get__(self))
        for name in HANDING_ON:
            setattr(self, name, partial(self.noted, name, getattr(self, name)))
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
        self.events: list[str] = []  # kinds of all calls ever made
        self.ever = 0  # tokens ever fed, of all requests
        self.memo: list[tuple[int, Tensor]] = []  # (T, positions) that a table keyed by length would remember
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
        self.events.append(kind)
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
        self.ever += T
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
        return attend(self.turn(q), k, v, scale, visible.to(q.device), expand, self.softcap, self.blind())

    def put(self, layer: int, k: Tensor, v: Tensor) -> None:
        for kept, new in ((self.keys, k), (self.values, v)):
            old = kept[layer]
            kept[layer] = new if old is None else torch.cat([old, new], dim=2)

    def take(self, rows: list[Row]) -> tuple[Tensor, Tensor]:
        layers = {layer for layer, _ in rows}
        if len(layers) == 1:
            layer, index = layers.pop(), torch.tensor([row for _, row in rows], device=self.reference.device)
            if min(row for _, row in rows) == ZERO:
                return self.with_zeros(layer, index)
            return tuple(x[layer].index_select(2, index) for x in (self.keys, self.values))  # type: ignore
        return tuple(torch.stack([x[at][:, :, row] for at, row in rows], dim=2) for x in (self.keys, self.values))  # type: ignore

    def with_zeros(self, layer: int, index: Tensor) -> tuple[Tensor, Tensor]:
        there = (index != ZERO)[:, None]  # [S, 1]
        k, v = (x[layer].index_select(2, index.clamp(min=0)) * there for x in (self.keys, self.values))  # type: ignore
        return k, v

    # -- handing on ---------------------------------------------------------------------------------------------------
    def noted(self, name: str, rule: Any, *given: Any) -> Any:
        self.events.append(name)
        return rule(*given)

    def fork(self) -> Witness:
        return self.copied(self.rules)

    def copied(self, rules: Rules) -> Witness:
        """Another witness in the same state, under these rules."""
        twin = type(self)(self.reference, rules)
        for name, value in vars(self).items():
            if name not in ("rules", *HANDING_ON, *self.rules):
                setattr(twin, name, list(value) if isinstance(value, list) else value)
        return twin
