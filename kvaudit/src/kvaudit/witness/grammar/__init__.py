"""The grammar of bugs: what is wrong, how, when and in which layer. Its points are hypotheses, the shortest said first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ...bugs import BUGS
from ...subject.uncached import Uncached
from ..hypotheses.base import Hypothesis
from . import lists, parts, positions, reading, slots
from .change import Change
from .scopes import ALWAYS, DECODE, Scope, scoped

__all__ = ["points"]

PLACED = 2  # what naming a layer costs


def points(reference: Uncached, capacities: Sequence[int] = ()) -> list[Hypothesis]:
    """Every point that makes sense for this reference."""
    return list(said(reference.n_layers, reference.rotary, reference.shared_heads, tuple(capacities)))


@cache
def said(L: int, rotary: bool, shared: bool, capacities: tuple[int, ...]) -> tuple[Hypothesis, ...]:
    every = [*positions.positions(), *lists.row_changes(), *reading.masks(), *reading.values(), *reading.layers(L)]
    every += [*slots.changes(capacities), *parts.partly(L), *parts.parts(), *(positions.rotations() if rotary else ())]
    made = [
        point(change, scope, layer)
        for change in every
        if shared or change.fault != "gqa_tile"
        for scope in change.scopes
        for layer in (None, *(range(L) if change.layers and scope in (ALWAYS, DECODE) and L > 1 else ()))
    ]
    return tuple(sorted(made, key=lambda h: h.cost))


def point(change: Change, scope: Scope, layer: int | None) -> Hypothesis:
    where = "" if layer is None else f" in layer {layer}"
    words = f"{scope.words}{where} {change.words}" if scope is not ALWAYS or where else change.words
    cost = change.cost + scope.cost + (0 if layer is None else PLACED)
    rules = change.beside | scoped(scope, change.rules, layer, change.beside)
    return Hypothesis(change.fault, BUGS[change.fault].family, words, rules, cost, scope.holds)
