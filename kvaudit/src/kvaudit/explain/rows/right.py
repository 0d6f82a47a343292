"""The right rows: what a correct witness holds at one moment, and every right row that there has been so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...plan import Script
from ...witness.replays import Answered
from ...witness.witness import Witness
from .record import Pair, Step


@dataclass
class Right:
    """A correct witness's rows `[B, H_kv, S, D]`, in order."""

    witness: Witness
    windows: list[int | None]

    @cached_property
    def layers(self) -> list[Pair]:
        return [tuple(x.double().cpu() for x in pair) for pair in self.witness.layers()]  # type: ignore[misc]

    @property
    def S(self) -> int:
        return len(self.witness.lists[0])

    @property
    def B(self) -> int:
        return len(self.witness.history)

    @cached_property
    def pads(self) -> Tensor:
        """Padded tokens of each row, `[B, 1]`."""
        pads = self.witness.pads
        return torch.zeros(self.B, 1, dtype=torch.int64) if pads is None else pads.cpu()[:, None]

    @cached_property
    def positions(self) -> Tensor:
        """Where each row stands, `[B, S]`."""
        return (torch.arange(self.S) - self.pads).clamp(min=0)

    def needed(self, layer: int) -> Tensor:
        """Boolean `[B, S]`: rows that a later token will look at; padding and what has left the window are not."""
        place, window = torch.arange(self.S), self.windows[layer]
        return (place >= self.pads) & (place >= self.S - max((window or self.S + 1) - 1, 1))


def right_at(step: Step) -> Right:
    witness = step.answers[-1].decoders[step.call.on]
    return Right(witness, witness.windows)


@dataclass(frozen=True)
class Group:
    """Right rows `[B, H_kv, N, D]` of one layer and part, with the place of each in its sequence; `when`: see `Of`."""

    layer: int
    part: int  # 0: keys, 1: values
    when: str
    rows: Tensor
    places: tuple[int, ...]


def groups(step: Step, script: Script) -> Iterator[Group]:
    """Every right row that there was until this answer: what is held now, and what has been."""
    name, now = step.call.on, step.answers[-1]
    yield from of_witness(now.decoders[name], "", live=True)
    yield from of_witness(now.decoders[name], "rejected", live=False)
    for witness in now.decoders.values():
        if witness is not now.decoders[name]:
            yield from of_witness(witness, "fork", live=True)
    for before, call in zip(step.answers, script.calls[1 : step.at + 1]):
        if call.on == name and call.kind in ("prefill", "reorder", "select"):
            yield from earlier(before, name, "request" if call.kind == "prefill" else "reorder")


def earlier(answered: Answered, name: str, when: str) -> Iterator[Group]:
    if name in answered.decoders:
        yield from of_witness(answered.decoders[name], when, live=True)


def of_witness(witness: Witness, when: str, live: bool) -> Iterator[Group]:
    """A witness's rows that are in its lists, or (not `live`) those that have been rejected."""
    for layer, pair in enumerate(zip(witness.keys, witness.values)):
        listed = [row for _, row in witness.lists[layer]]
        picked = listed if live else sorted(set(range(witness.count)) - set(listed))
        for part, rows in enumerate(pair):
            if rows is not None and picked:
                places = tuple(range(len(picked))) if live else tuple(picked)
                yield Group(layer, part, when, rows[:, :, picked].double().cpu(), places)
