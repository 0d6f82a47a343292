"""What a script must give: each call is answered with the tokens behind it, and those with uncached logits."""

from __future__ import annotations

import torch
from torch import Tensor

from ..plan.calls import Script
from ..subject.uncached import Uncached
from .run import run

Ids = tuple[int, ...]


class Historian:
    """Answers each call with the tokens `[T so far]` of every row, padding left out."""

    def prefill(self, tokens: Tensor, lengths: Tensor | None = None) -> list[Tensor]:
        T = tokens.shape[1]
        self.rows = [ids[T - int(n) :] for ids, n in zip(tokens, [T] * len(tokens) if lengths is None else lengths)]
        self.pads = [T - len(ids) for ids in self.rows]
        return list(self.rows)

    def extend(self, tokens: Tensor) -> list[Tensor]:
        self.rows = [torch.cat([row, new]) for row, new in zip(self.rows, tokens)]
        return list(self.rows)

    def decode(self, token: Tensor) -> list[Tensor]:
        return self.extend(token[:, None])

    def crop(self, length: int) -> None:
        self.rows = [row[: length - pad] for row, pad in zip(self.rows, self.pads)]

    def reorder(self, parents: Tensor) -> None:
        self.rows = [self.rows[p] for p in parents.tolist()]

    def fork(self) -> Historian:
        twin = Historian()
        twin.rows, twin.pads = list(self.rows), self.pads
        return twin


def histories(script: Script) -> list[list[Tensor]]:
    """Per answering call, the list of token histories `[T so far]`, one a row of the batch."""
    return [list(rows) for rows in run(script, Historian()).logits]


def expected(reference: Uncached, script: Script) -> list[Tensor]:
    """The uncached logits `[B, V]` of every answering call: each history is computed whole, in few forward passes.

    It ends at the first call that goes past the last position: there is nothing to expect.
    """
    steps: list[list[Ids]] = [[tuple(row.tolist()) for row in rows] for rows in histories(script)]
    whole: list[Ids] = []  # the histories that are no beginning of another one
    for ids in sorted({ids for rows in steps for ids in rows}, key=len, reverse=True):
        if len(ids) <= reference.block_size and not any(seq[: len(ids)] == ids for seq in whole):
            whole.append(ids)
    logits: dict[Ids, Tensor] = {}  # sequence -> [T, V]
    for length in sorted({len(seq) for seq in whole}):
        group = [seq for seq in whole if len(seq) == length]
        logits.update(zip(group, reference.logits(torch.tensor(group, device=reference.device))))
    answers = []
    for rows in steps:
        found = [logits[seq][len(ids) - 1] for ids in rows for seq in [home(ids, whole)] if seq is not None]
        if len(found) < len(rows):
            break
        answers.append(torch.stack(found))
    return answers


def home(ids: Ids, whole: list[Ids]) -> Ids | None:
    """The sequence that begins with these ids."""
    return next((seq for seq in whole if seq[: len(ids)] == ids), None)
