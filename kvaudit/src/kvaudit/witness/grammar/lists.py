"""What can be wrong with the lists of rows: lost, doubled, late, in the wrong slot, kept from an earlier request."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..hypotheses import sequence
from ..hypotheses.base import new
from ..rules import ZERO, Row, Rules
from ..witness import Witness
from . import scopes
from .change import Change
from .scopes import SCOPES


def slots(w: Witness, layer: int) -> list[Row]:
    """Reads as many slots as there are tokens, whatever stands in them."""
    rows = sequence.grown(w, layer)
    return (rows + [(layer, ZERO)] * len(rows))[: w.fed + len(w.now)]


def one_slot_late(w: Witness, layer: int) -> list[Row]:
    """The write index is one too large, once: a slot stays empty before the new rows."""
    rows = w.lists[layer]
    hole = [] if any(row == ZERO for _, row in rows) else [(layer, ZERO)]
    return rows + hole + new(w, layer)


def read_by_length(rule: Callable[[Witness, int], list[Row]]) -> Callable[[Witness, int], list[Row]]:
    return lambda w, layer: rule(w, layer)[: w.fed + len(w.now)]


def kept_rows_counted_anew(w: Witness) -> bool:
    w.fed = 0
    return False


def with_a_zero(w: Witness, layer: int) -> list[Row]:
    return w.lists[layer] + new(w, layer) + [(layer, ZERO)]


def doubled(w: Witness, layer: int) -> list[Row]:
    return w.lists[layer] + new(w, layer) * 2


def mask_unchanged(w: Witness, T: int, rows: list[Row]) -> Tensor:
    """The mask is that of the right number of rows: what stands behind them is hidden."""
    right = w.causal(T, w.fed + T)
    return torch.nn.functional.pad(right, (0, max(len(rows) - right.shape[-1], 0)), value=False)


def forgotten() -> list[Change]:
    """A step's row that is not stored, now and then."""
    made = []
    for words, when in (("the second token", lambda n: n == 1), ("every second token", lambda n: n % 2 == 1)):
        rules: Rules = {"keep": forgetting(when)}
        said = f"in decode {words} after the prompt is used but not stored"
        made.append(Change("frozen_cache", said, rules, (scopes.ALWAYS,), cost=3))
        counting = rules | {"length": lambda w: len(w.lists[0])}
        made.append(Change("frozen_cache", f"{said}; positions count the rows", counting, (scopes.ALWAYS,), cost=4))
    return made


def forgetting(when: Callable[[int], bool]) -> Callable[[Witness, int], list[Row]]:
    """`when(tokens fed since the prompt)`."""

    def keep(w: Witness, layer: int) -> list[Row]:
        lost = w.kind == "decode" and when(w.fed - w.prompt)
        return sequence.old_only(w, layer) if lost else sequence.grown(w, layer)

    return keep


def row_changes() -> list[Change]:
    late = {"seen": sequence.old_only, "keep": sequence.grown}
    return [
        Change("row_lost", "the newest row is used and then lost", {"keep": lambda w, layer: sequence.grown(w, layer)[:-1]}, SCOPES, True),
        Change("row_lost", "the oldest row is lost", {"keep": lambda w, layer: sequence.grown(w, layer)[1:]}, SCOPES, True),
        Change("frozen_cache", "new rows are used but not stored", {"keep": sequence.old_only}, layers=True),
        Change("frozen_cache", "new rows are neither seen nor stored", {"seen": sequence.old_only, "keep": sequence.old_only}, layers=True),
        Change("attend_then_append", "new rows are appended after the attention", late, layers=True),
        Change("row_overwritten", "the new row overwrites the one before it", {"seen": sequence.overwriting}, layers=True),
        Change("row_overwritten", "the new row is written over the last one, its own slot stays empty",
               {"seen": lambda w, layer: sequence.overwriting(w, layer) + [(layer, ZERO)], "keep": sequence.overwriting}),
        *forgotten(),
        Change("slot_off", "the new row is written one slot late and an empty slot is read",
               {"seen": read_by_length(one_slot_late), "keep": one_slot_late}, layers=True),
        Change("slot_off", "the new row is written one slot late, with an empty slot before it", {"seen": one_slot_late}),
        Change("slot_not_reset", "the write index goes on from the request before, the length does not",
               {"reset": kept_rows_counted_anew, "seen": slots, "keep": sequence.grown}, (scopes.ALWAYS,)),
        Change("decode_row_twice", "new rows are appended twice", {"seen": doubled}, layers=True),
        Change("decode_row_twice", "rows are doubled under an unchanged mask", {"seen": doubled, "mask": mask_unchanged}),
        Change("tail_visible", "one unwritten row behind the new ones is seen",
               {"seen": with_a_zero, "keep": sequence.grown, "mask": padded}),
        Change("not_reset", "the last request's rows are kept", {"reset": lambda w: False}, (scopes.ALWAYS,)),
    ]  # fmt: skip


def padded(w: Witness, T: int, rows: list[Row]) -> Tensor:
    return torch.nn.functional.pad(w.causal(T, len(rows) - 1), (0, 1), value=True)
