"""What can be wrong with a cache of numbered slots, into which rows are written in place."""

from __future__ import annotations

from collections.abc import Iterable

from ..hypotheses.base import new
from ..rules import ZERO, Row, Rules
from ..witness import Witness
from . import scopes
from .change import Change


def written_at(by: int, limit: int | None = None) -> Rules:
    """New rows go `by` slots from where they should (the last slot at most); as many slots are read as it should be."""

    def keep(w: Witness, layer: int) -> list[Row]:
        T, start = len(w.now), max(w.fed + by, 0)
        start = start if limit is None else min(start, limit - T)
        slots = w.lists[layer] + [(layer, ZERO)] * (start + T - len(w.lists[layer]))
        return [*slots[:start], *new(w, layer), *slots[start + T :]]

    def seen(w: Witness, layer: int) -> list[Row]:
        right = w.fed + len(w.now)
        return (keep(w, layer) + [(layer, ZERO)] * right)[:right]

    return {"keep": keep, "seen": seen}


def count_back(w: Witness, length: int) -> None:
    """Rolling back moves the end, the rows stay in their slots."""
    w.fed, w.history = length, w.history[:, :length]


def changes(capacities: Iterable[int]) -> list[Change]:
    """A write index that is off, in steps or in all later calls; where rows are written in place."""
    in_place = written_at(0) | {"crop": count_back}
    return [
        Change(
            "slot_off",
            f"new rows are written {abs(by)} slot{'s' * (abs(by) > 1)} {'early' if by < 0 else 'late'}",
            written_at(by, limit),
            (scopes.DECODE, scopes.FILLED, scopes.CHUNK),
            beside=in_place,
        )
        for by in (-1, 1, 2)
        for limit in (None, *capacities)
    ]
