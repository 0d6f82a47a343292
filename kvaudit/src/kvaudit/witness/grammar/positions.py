"""What can be wrong with positions: where new tokens stand, and what is turned by them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..rules import Rules
from ..witness import Witness
from . import scopes
from .change import Change
from .scopes import SCOPES


def start(first: Callable[[Witness], int]) -> Rules:
    return {"position": lambda w, T: w.own_position(max(first(w), 0), T)}


def off(k: int) -> Callable[[Witness], int]:
    return lambda w: w.length() + k


def by_length(w: Witness, T: int) -> Tensor:
    """A table of angles that is kept by the number of tokens: who comes first with T tokens fills it for all."""
    found = next((positions for length, positions in w.memo if length == T), None)
    if found is None:
        found = w.own_position(w.length(), T)
        w.memo.append((T, found))
    return found


def positions() -> list[Change]:
    made = [
        Change(f"pos_{'plus' if k > 0 else 'minus'}{abs(k)}", f"positions are {abs(k)} too {'large' if k > 0 else 'small'}",
               start(off(k)), SCOPES, cost=1 + (abs(k) > 1))
        for k in (1, -1, 2, -2, 3, -3)
    ]  # fmt: skip
    return [
        *made,
        Change("pos_restart", "positions count from 0", start(lambda w: 0)),
        Change("pos_fixed", "positions stay at the prompt's length", start(lambda w: w.prompt)),
        Change("pos_doubled", "positions are doubled", start(lambda w: 2 * w.length())),
        Change("pos_rows", "positions count the rows that are held", start(lambda w: len(w.lists[0])), cost=2),
        Change("pos_not_reset", "positions go on from the request before", start(lambda w: w.ever), (scopes.ALWAYS,)),
        Change("pos_by_length", "positions are remembered by the number of tokens", {"position": by_length},
               (scopes.ALWAYS, scopes.FILLED)),
    ]  # fmt: skip


def rotations() -> list[Change]:
    return [
        Change("rope_again", "the new key is rotated twice", {"write": lambda w, k, v: (w.reference.rotate(k, own(w, k)), v)}, SCOPES),
        Change("rope_missing", "the new key is not rotated", {"write": lambda w, k, v: (w.reference.rotate(k, -own(w, k)), v)}, SCOPES),
        Change("rope_query_restarts", "queries are not rotated", {"turn": lambda w, q: w.reference.rotate(q, -own(w, q))}, SCOPES),
    ]  # fmt: skip


def own(w: Witness, x: Tensor) -> Tensor:
    """Positions of the T new tokens."""
    return torch.arange(w.length(), w.length() + x.shape[2])
