"""Hypotheses about what the rows are: keys and values, layers, buffers, windows, rotations, shared heads, storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..attention import tiled
from ..witness import Row, Rules, Witness
from .base import Hypothesis, Known, after_old, counting_rows, decode, family, in_layer, new, old_rows


def values_are_keys(w: Witness, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return k, after_old(w, k[:, :, : old_rows(w, k)], v)


def key_as_value(w: Witness, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return k, k


def exchanged(w: Witness, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return v, k


def key_values(L: int) -> list[Hypothesis]:
    rows: list[Known] = [
        ("value_is_key", "the value slot receives the key", {"write": key_as_value}),
        ("value_is_key", "cached values are the keys", {"gather": values_are_keys}),
        ("value_is_key", "in decode the value slot receives the key", decode(write=key_as_value)),
        ("key_is_value", "the key slot receives the value", {"write": lambda w, k, v: (v, v)}),
        ("key_value_swapped", "keys and values are exchanged", {"write": exchanged}),
        ("key_value_swapped", "in decode keys and values are exchanged", decode(write=exchanged)),
    ]
    for layer in range(L):
        rows.append(
            ("value_is_key", f"layer {layer}'s value slot receives the key", in_layer(layer, write=key_as_value))
        )
    return family("K/V", *rows)


def shared_list(w: Witness, layer: int) -> list[Row]:
    """One list for all layers, in the order of appending: layer 0's new rows, layer 1's, … up to this layer's."""
    return w.lists[0] + [(below, row) for below in range(layer + 1) for row in w.now]


def from_the_front(w: Witness, T: int, rows: list[Row]) -> Tensor:
    """A mask by slot number, made for one layer's rows: query i sees slots up to its position, whatever is behind them."""
    if T == 1:
        return torch.ones(1, len(rows), dtype=torch.bool)
    return torch.arange(len(rows)) <= w.fed + torch.arange(T)[:, None]


def shared_lists() -> tuple[Known, ...]:
    share = {"seen": shared_list, "keep": lambda w, layer: shared_list(w, w.L - 1)}
    row = ("layers_share_list", "all layers append to one shared cache", share)
    front = ("layers_share_list", f"{row[1]}, masked by slot number", share | {"mask": from_the_front})
    return row, counting_rows(row), front, counting_rows(front)


def old_from(source: Callable[[Witness, int], int]) -> Rules:
    """Old rows are read from layer `source(w, layer)`; the new ones are the layer's own."""
    return {"seen": lambda w, layer: [(source(w, layer), row) for _, row in w.lists[layer]] + new(w, layer)}


def layers() -> list[Hypothesis]:
    last = "every layer reads and writes one slot: old rows are the last layer's"
    return family(
        "layers",
        *shared_lists(),
        ("layer_idx_stuck", last, old_from(lambda w, layer: w.L - 1)),
        ("layer_idx_stuck", "every layer reads layer 0's old rows", old_from(lambda w, layer: 0)),
        (
            "layer_idx_off",
            "every layer reads the old rows of the layer below",
            old_from(lambda w, layer: (layer - 1) % w.L),
        ),
    )


def zero_tail(capacity: int) -> Callable[..., tuple[Tensor, Tensor]]:
    """The list is followed by unwritten rows: zeros up to the capacity, which score 0 and weigh exp(0)."""

    def filled(x: Tensor) -> Tensor:
        return pad(x, (0, 0, 0, max(capacity - x.shape[2], 0)))

    return lambda w, layer, k, v: (filled(k), filled(v))


def cropped_rows_stay(w: Witness, length: int) -> None:
    """Rolling back a buffer only moves its end: the rejected rows are still in the tail."""
    w.tail = length, [rows[length:] for rows in w.lists]
    w.lists, w.fed = [rows[:length] for rows in w.lists], length


def dirty_tail(capacity: int) -> Rules:
    def gather(w: Witness, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        length, rows = w.tail[0], w.tail[1][layer]
        left = rows[k.shape[2] - length :]  # what the new rows have not yet overwritten
        if left:
            k, v = (torch.cat([x, old], dim=2) for x, old in zip((k, v), w.take(left)))
        return zero_tail(capacity)(w, layer, k, v)

    return {"gather": gather, "crop": cropped_rows_stay}


def clamped(capacity: int) -> Callable[[Witness, int], list[Row]]:
    def seen(w: Witness, layer: int) -> list[Row]:
        rows = w.lists[layer] + new(w, layer)
        return rows if len(rows) <= capacity else w.lists[layer][: capacity - 1] + rows[-1:]

    return seen


def stopped(capacity: int) -> Callable[[Witness, int], Tensor]:
    return lambda w, T: w.own_position(min(w.fed, capacity - 1), T)


def buffers(capacities: Iterable[int]) -> Iterator[Hypothesis]:
    for c in capacities:
        tail = f"the unwritten rows of a buffer of {c} take part in the softmax"
        stop = {"seen": clamped(c), "position": stopped(c)}
        clean, dirty = {"gather": zero_tail(c)}, dirty_tail(c)
        yield from family("preallocated", ("tail_unmasked", tail, dirty), ("tail_unmasked", tail, clean))
        yield from family(
            "capacity",
            ("clamp_overflow", "past the last row, the last slot is overwritten", {"seen": clamped(c)}),
            ("clamp_overflow", "past the last row, slot and position stay at the last", stop),
        )


def windows(W: int) -> Iterator[Hypothesis]:
    words = "after eviction the position is the number of rows kept"
    for kept in (W, W - 1):

        def position(w: Witness, T: int, kept: int = kept) -> Tensor:
            return w.own_position(min(w.fed, kept), T)

        yield from family("window", ("evict_pos_rows", words, {"position": position}))
        yield from family("window", ("evict_pos_rows", f"in decode, {words}", decode(position=position)))
    for size, fault in ((W + 1, "window_keeps_one_more"), (W - 1, "window_keeps_one_less"), (None, "window_ignored")):

        def mask(w: Witness, T: int, rows: list[Row], size: int | None = size) -> Tensor:
            return w.causal(T, len(rows), size)

        sees = f"a query sees {size} keys, not {W}" if size else "the window is not applied"
        yield from family("window", (fault, f"in decode {sees}", decode(mask=mask)), (fault, sees, {"mask": mask}))


def turned_once(w: Witness, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    n = old_rows(w, k)
    return after_old(w, w.reference.rotate(k[:, :, :n], torch.arange(n)), k), v


def turned_every_call(w: Witness, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """A key in place i has been turned by i more positions in every call since its own."""
    n = old_rows(w, k)
    times = torch.tensor([len(w.calls) - w.born[row] for _, row in w.lists[layer]])
    return after_old(w, w.reference.rotate(k[:, :, :n], torch.arange(n) * times), k), v


def back_by(count: Callable[[Witness], int]) -> Callable[[Witness, Tensor], Tensor]:
    return lambda w, q: w.reference.rotate(q, torch.tensor([-count(w)]))


def rotary() -> list[Hypothesis]:
    restart, since = back_by(lambda w: w.fed), back_by(lambda w: w.prompt)
    keys = decode(write=lambda w, k, v: (w.reference.rotate(k, torch.tensor([-w.fed])), v))
    return family(
        "rotary",
        ("rope_query_restarts", "queries rotate from 0, keys from n", {"turn": restart}),
        ("rope_query_restarts", "in decode queries rotate from 0, keys from n", decode(turn=restart)),
        ("rope_query_restarts", "queries count from 0 since the prompt, keys from n", decode(turn=since)),
        ("rope_again", "cached keys are rotated again at every call", {"gather": turned_every_call}),
        ("rope_again", "cached keys are rotated again at every step", decode(gather=turned_every_call)),
        ("rope_again", "cached keys are rotated a second time", decode(gather=turned_once)),
        ("rope_key_restarts", "keys rotate from 0, queries from n", keys),
        ("rope_query_off", "queries stand one position behind their keys", {"turn": back_by(lambda w: 1)}),
        ("rope_query_off", "queries stand one position past their keys", {"turn": back_by(lambda w: -1)}),
        ("rope_query_off", "in decode queries stand one position behind", decode(turn=back_by(lambda w: 1))),
        ("rope_query_off", "in decode queries stand one position past", decode(turn=back_by(lambda w: -1))),
    )


def in_place(w: Witness, H: int, H_kv: int) -> Callable[[Tensor], Tensor]:
    return lambda x: x.repeat_interleave(H // H_kv, dim=1)


def shared_heads(tiled_by_right: bool) -> list[Hypothesis]:
    if tiled_by_right:
        return family(
            "shared heads", ("gqa_tile", "key/value heads are repeated in place, not tiled", {"expand": in_place})
        )
    words = "key/value heads are tiled, not interleaved"
    return family("shared heads", ("gqa_tile", words, {"expand": lambda w, H, H_kv: tiled(H, H_kv)}))
