"""What a decoder and a correct witness hold after each answer of a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ...plan import Call, Script
from ...plan.calls import ANSWERING
from ...play.run import perform
from ...subject import Side
from ...witness.replays import Answered, replays

ROOM = 512e6  # bytes of rows that are kept of one script; beyond them the rest is not looked at

Pair = tuple[Tensor, Tensor]


@dataclass
class Step:
    """One answer: the call (number `at` in the script), the decoder's logits and raw rows, and all witnesses so far."""

    number: int
    at: int
    call: Call
    logits: Tensor
    layers: list[Pair]
    table: Tensor | None  # [B, blocks], of a paged cache
    answers: list[Answered]  # of the calls up to this one

    @property
    def T(self) -> int:
        """Tokens of the call."""
        return 1 if self.call.value.dim() == 1 else int(self.call.value.shape[1])


def record(script: Script, side: Side) -> list[Step]:
    """The script's answers with what is held after each, as far as the decoder shows it; empty where it does not."""
    answers = list(replays(side.reference).answers(script, {}))
    decoders, used = {"main": side.build()}, 0
    steps: list[Step] = []
    for at, (call, _) in enumerate(zip(script.calls, answers)):
        given = call.value.clone() if isinstance(call.value, Tensor) else call.value
        try:
            logits = perform(replace(call, value=given), decoders)
            if call.kind not in ANSWERING:
                continue
            layers, table = shown(decoders[call.on])
        except Exception:  # noqa: BLE001 - a decoder under audit may raise anything; what was seen so far is enough
            break
        if not layers or not all(x.is_floating_point() for pair in layers for x in pair):
            break
        used += sum(x.nbytes for pair in layers for x in pair)
        if used > ROOM:
            break
        steps.append(Step(len(steps), at, call, logits, layers, table, answers[: at + 1]))
    return steps


def shown(decoder: Any) -> tuple[list[Pair], Tensor | None]:
    """Copies of a decoder's rows on the CPU, for it may go on writing into them, and its block table `[B, blocks]`, if it has one."""
    layers = [(k.detach().cpu().clone(), v.detach().cpu().clone()) for k, v in decoder.layers()]
    ask = getattr(decoder, "block_table", None)
    table = ask() if callable(ask) else ask
    if table is None:
        return layers, None
    return layers, even(table)


def even(table: Tensor | Sequence[Sequence[int]]) -> Tensor:
    """A block table as `[B, blocks]`; shorter rows end in -1."""
    if isinstance(table, Tensor):
        return table.detach().cpu().clone().long()
    rows = [list(row) for row in table]
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [-1] * (longest - len(row)) for row in rows])
