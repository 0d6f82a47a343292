"""Hypotheses about several rows or requests: padding, beams, stored prefixes, rejected drafts."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..rules import picked
from ..witness import Rules, Witness
from .base import Hypothesis, decode, family


def through_padding(w: Witness, T: int) -> Tensor:
    return torch.arange(w.fed, w.fed + T)


def pads_count(w: Witness, S: int) -> Tensor:
    return torch.ones(len(w.history), S, dtype=torch.bool)


def left_padding() -> list[Hypothesis]:
    shared = "decode positions are the padded length for every row"
    return family(
        "ragged batch",
        ("leftpad_arange_pos", "positions are counted through the padding", {"position": through_padding}),
        ("leftpad_decode_pos_shared", shared, decode(position=through_padding)),
        ("leftpad_visible", "padding is visible", {"real": pads_count}),
        ("leftpad_visible", "padding is visible in decode", decode(real=pads_count)),
    )


def cropped(rows: int = 0, count: int = 0) -> Rules:
    """Roll back to `length`, by so many rows too few or too many, in the rows and in the count."""

    def crop(w: Witness, length: int) -> None:
        w.lists, w.fed = [kept[: length + rows] for kept in w.lists], length + count

    return {"crop": crop}


def rows_only(w: Witness, length: int) -> None:
    w.lists = [rows[:length] for rows in w.lists]


def count_only(w: Witness, length: int) -> None:
    w.fed = length


def reordered(keys: bool = True, values: bool = True, inverse: bool = False) -> Rules:
    """The cache follows the beams in part only, or the wrong way round."""

    def reorder(w: Witness, parents: Tensor) -> None:
        parents = parents.argsort() if inverse else parents
        w.keys = picked(w.keys, parents) if keys else w.keys
        w.values = picked(w.values, parents) if values else w.values

    return {"reorder": reorder}


def handed_on() -> Iterator[Hypothesis]:
    """Rows that follow other rows, stored prefixes, rejected drafts."""
    by_reference = "a stored prefix is handed out by reference and appended to"
    no_reorder = "the beams follow their parents, the cache does not"
    yield from family(
        "beams",
        ("beam_no_reorder", no_reorder, {"reorder": lambda w, parents: None}),
        ("beam_part_reorder", "the keys follow the beams, the values do not", reordered(values=False)),
        ("beam_part_reorder", "the values follow the beams, the keys do not", reordered(keys=False)),
        ("beam_part_reorder", "the cache follows the beams by the inverse order", reordered(inverse=True)),
    )
    yield from family("aliasing", ("prefix_store_mutated", by_reference, {"fork": lambda w: w}))
    yield from family(
        "rollback",
        ("spec_no_crop", "rejected draft rows stay in the cache", {"crop": lambda w, length: None}),
        ("crop_not_positions", "rollback drops the rows but not the positions", {"crop": rows_only}),
        ("crop_not_rows", "rollback resets the position but keeps the rows", {"crop": count_only}),
        ("crop_off", "rollback keeps one row too many", cropped(rows=1)),
        ("crop_off", "rollback drops one row too many", cropped(rows=-1)),
        ("crop_off", "rollback goes one token too short", cropped(1, 1)),
        ("crop_off", "rollback goes one token too far", cropped(-1, -1)),
    )
