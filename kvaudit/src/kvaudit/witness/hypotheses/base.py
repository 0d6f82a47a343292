"""A hypothesis: a known cache bug, as changed rules of the witness. Generic: nothing here knows anybody's code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..witness import Row, Rules, Witness

Known = tuple[str, str, Rules]  # (id of the bug, what the decoder does in words, changed rules)


@dataclass(frozen=True)
class Hypothesis:
    """A bug's catalogue id (`fault`), its family, what the decoder does in words, and the rules that make it.

    Several may share a fault: the same mistake made in another place. Of two that fit equally the first is likelier.
    """

    fault: str
    family: str
    words: str
    rules: Rules = field(hash=False)
    cost: int = 0  # how much must be said to say it
    holds: Callable[[Sequence[str]], bool] | None = field(
        default=None, compare=False
    )  # whether it acts in the last of these calls; None: not said

    def __add__(self, other: Hypothesis) -> Hypothesis:
        """Both at once (a double fault)."""
        fault, kind = f"{self.fault} + {other.fault}", f"{self.family} + {other.family}"
        words = f"{self.words}; and {other.words}"
        return Hypothesis(fault, kind, words, {**self.rules, **other.rules}, self.cost + other.cost)


def family(name: str, *rows: Known) -> list[Hypothesis]:
    """Hypotheses of one family from rows of (fault, words, rules)."""
    return [Hypothesis(fault, name, words, rules) for fault, words, rules in rows]


def only(kind: str, **rules: Callable[..., Any]) -> Rules:
    """Rules that hold in calls of one kind ("prefill", "decode" or "extend"); elsewhere the witness keeps its own."""

    def limited(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(w: Witness, *args: Any) -> Any:
            return rule(w, *args) if w.kind == kind else getattr(type(w), name)(w, *args)

        chosen.kind = kind  # type: ignore[attr-defined]
        return chosen

    return {name: limited(name, rule) for name, rule in rules.items()}


def decode(**rules: Callable[..., Any]) -> Rules:
    return only("decode", **rules)


WITH_LAYER = ("seen", "keep", "gather")  # rules that are told the layer; for the others it is the one at work


def in_layer(layer: int, **rules: Callable[..., Any]) -> Rules:
    """Rules that hold in one layer only."""

    def limited(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(w: Witness, *args: Any) -> Any:
            here = args[0] if name in WITH_LAYER else w.layer
            return rule(w, *args) if here == layer else getattr(type(w), name)(w, *args)

        chosen.kind = getattr(rule, "kind", None)  # type: ignore[attr-defined]
        return chosen

    return {name: limited(name, rule) for name, rule in rules.items()}


def counting_rows(row: Known) -> Known:
    """The same mistake in a decoder that takes its length from the rows it holds (`cache.shape`), not from a counter."""
    fault, words, rules = row
    return fault, f"{words}; positions count the rows held", rules | {"length": lambda w: len(w.lists[0])}


def new(w: Witness, layer: int) -> list[Row]:
    """The rows of this call, as entries of a layer's list."""
    return [(layer, row) for row in w.now]


def old_rows(w: Witness, x: Tensor) -> int:
    """How many of the rows x `[B, H_kv, S, D]` were there before this call."""
    return x.shape[2] - len(w.now)


def after_old(w: Witness, old: Tensor, x: Tensor) -> Tensor:
    """`old` rows in place of the old rows of x, the new ones as they are."""
    return torch.cat([old, x[:, :, old.shape[2] :]], dim=2)
