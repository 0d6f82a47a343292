"""A change: a mistake without a place or a time, as rules of the witness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..rules import Rules
from .scopes import ON_FILLED, Scope


@dataclass(frozen=True)
class Change:
    """`fault`: the bug's id; `words` follow a scope's; `places`: whether one layer alone may have it."""

    fault: str
    words: str
    rules: Rules
    scopes: Sequence[Scope] = ON_FILLED
    layers: bool = False
    cost: int = 1
    beside: Rules = field(default_factory=dict)  # what holds in every call, where the change is made or not
