"""Rolling back and reordering that reach one part of a cache only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from ..hypotheses import batches
from ..witness import Witness
from . import scopes
from .change import Change


def partly(L: int) -> list[Change]:
    """Rolling back or reordering that reaches only one part of a cache."""
    made = []
    for layer in range(L):
        only, but = ([layer], f"layer {layer}"), ([i for i in range(L) if i != layer], f"every layer but {layer}")
        for some, words in (only, but) if L > 2 else (only,):
            made.append(
                Change(
                    "crop_part",
                    f"a rollback does not reach {words}",
                    {"crop": crop_all_but(some)},
                    (scopes.ALWAYS,),
                    cost=2,
                )
            )
            made.append(
                Change(
                    "beam_part_reorder",
                    f"the beams' order does not reach {words}",
                    {"reorder": reorder_all_but(some)},
                    (scopes.ALWAYS,),
                    cost=2,
                )
            )
    return made  # fmt: skip


def crop_all_but(some: Sequence[int]) -> Callable[[Witness, int], None]:
    def crop(w: Witness, length: int) -> None:
        kept = w.lists
        type(w).crop(w, length)
        w.lists = [kept[layer] if layer in some else rows for layer, rows in enumerate(w.lists)]

    return crop


def reorder_all_but(some: Sequence[int]) -> Callable[[Witness, Tensor], None]:
    def reorder(w: Witness, parents: Tensor) -> None:
        keys, values = w.keys, w.values
        type(w).reorder(w, parents)
        w.keys = [keys[i] if i in some else x for i, x in enumerate(w.keys)]
        w.values = [values[i] if i in some else x for i, x in enumerate(w.values)]

    return reorder


def parts() -> list[Change]:
    """Reordering that reaches keys or values only."""
    return [
        Change("beam_part_reorder", words, rule, (scopes.ALWAYS,))
        for words, rule in (
            ("the beams' order does not reach the values", batches.reordered(values=False)),
            ("the beams' order does not reach the keys", batches.reordered(keys=False)),
        )
    ]
