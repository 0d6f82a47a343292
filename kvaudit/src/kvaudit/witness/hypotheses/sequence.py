"""Hypotheses about one sequence: positions, masks, appending, feeding twice, stale rows."""

from __future__ import annotations

from collections.abc import Callable, Container

import torch
from torch import Tensor

from ..witness import Row, Rules, Witness
from .base import Hypothesis, counting_rows, decode, family, in_layer, new, only


def at(start: Callable[[Witness], int]) -> Rules:
    """Decode steps begin at position `start(w)`."""
    return decode(position=lambda w, T: w.own_position(max(start(w), 0), T))


def steps_before(w: Witness) -> int:
    """Single steps of this request before this one; a rollback does not turn such a counter back."""
    return sum(kind == "decode" for kind, _ in w.calls) - 1


def shift(c: int) -> Rules:
    return {"position": lambda w, T: w.own_position(max(w.length() + c, 0), T)}


def from_zero(w: Witness, T: int) -> Tensor:
    return w.own_position(0, T)


def positions() -> list[Hypothesis]:
    rows = [
        ("pos_restart", "decode counts positions from 0 again", at(lambda w: w.length() - w.prompt)),
        ("pos_restart", "decode counts from 0 again after each prompt or chunk", at(lambda w: w.length() - w.base)),
        ("pos_restart", "decode counts its own steps, from 0", at(steps_before)),
        ("pos_restart", "decode counts from 1 again", at(lambda w: w.length() - w.prompt + 1)),
        ("pos_zero", "every decode step runs at position 0", decode(position=from_zero)),
        ("pos_zero", "every call counts from position 0", {"position": from_zero}),
        ("pos_chunk", "a chunk counts from position 0", only("extend", position=from_zero)),
    ]
    for c in (1, 2, 3):
        rows.append((f"pos_plus{c}", f"decode positions are {c} too large", decode(**shift(c))))
        rows.append((f"pos_minus{c}", f"decode positions are {c} too small", decode(**shift(-c))))
    for c, words in ((1, "1 too large"), (-1, "1 too small")):
        rows.append(("pos_chunk", f"a chunk's positions are {words}", only("extend", **shift(c))))
    rows.append(("pos_fixed", "every decode step runs at the prompt's length", at(lambda w: w.prompt)))
    rows.append(("pos_fixed", "every decode step runs at the prompt's last position", at(lambda w: w.prompt - 1)))
    rows += [("pos_uniform_shift", f"every position is {c} too large", shift(c)) for c in (1, 2, 3, 4, 5, 8)]
    return family("position", *rows)


def top_left(w: Witness, T: int, rows: list[Row]) -> Tensor:
    return torch.ones(T, len(rows), dtype=torch.bool).tril()


def all_visible(w: Witness, T: int, rows: list[Row]) -> Tensor:
    return torch.ones(T, len(rows), dtype=torch.bool)


def self_only(w: Witness, T: int, rows: list[Row]) -> Tensor:
    return torch.eye(len(rows), dtype=torch.bool)[len(rows) - T :]


def strict(w: Witness, T: int, rows: list[Row]) -> Tensor:
    return torch.ones(T, len(rows), dtype=torch.bool).tril(len(rows) - T - 1)


def one_ahead(w: Witness, T: int, rows: list[Row]) -> Tensor:
    return torch.ones(T, len(rows), dtype=torch.bool).tril(len(rows) - T + 1)


def not_the_first(w: Witness, T: int, rows: list[Row]) -> Tensor:
    return w.causal(T, len(rows)) & (torch.arange(len(rows)) > 0)


def prompt_only(w: Witness, T: int, rows: list[Row]) -> Tensor:
    return w.causal(T, len(rows)) & (torch.arange(len(rows)) < w.prompt)


def masks() -> list[Hypothesis]:
    square = "a chunk on a filled cache gets no mask and sees its own future"
    return family(
        "mask",
        ("sdpa_top_left", "in decode the query sees key 0 only: the mask starts top left", decode(mask=top_left)),
        ("sdpa_top_left", "the mask starts at the top left in every call", {"mask": top_left}),
        ("chunk_top_left", "a chunk's mask is not shifted by the cached rows", only("extend", mask=top_left)),
        ("mask_only_if_square", square, only("extend", mask=all_visible)),
        ("no_mask_with_cache", "nothing is masked: prefill is not causal", {"mask": all_visible}),
        ("no_mask_with_cache", "prefill is not causal", only("prefill", mask=all_visible)),
        ("self_only", "in decode the query sees itself only", decode(mask=self_only)),
        ("mask_strict", "no token sees itself", {"mask": strict}),
        ("mask_strict", "no token of a chunk sees itself", only("extend", mask=strict)),
        ("mask_strict", "no token of the prompt sees itself", only("prefill", mask=strict)),
        ("mask_one_ahead", "every token sees the next one", {"mask": one_ahead}),
        ("mask_one_ahead", "in a chunk every token sees the next one", only("extend", mask=one_ahead)),
        ("mask_one_ahead", "in the prompt every token sees the next one", only("prefill", mask=one_ahead)),
        ("mask_not_extended", "decode keeps the prompt's mask, newer keys are hidden", decode(mask=prompt_only)),
        ("mask_first", "the first key is hidden in decode", decode(mask=not_the_first)),
    )


def old_only(w: Witness, layer: int) -> list[Row]:
    return w.lists[layer]


def grown(w: Witness, layer: int) -> list[Row]:
    return w.lists[layer] + new(w, layer)


def overwriting(w: Witness, layer: int) -> list[Row]:
    return w.lists[layer][:-1] + new(w, layer)


def appends(L: int) -> list[Hypothesis]:
    late, frozen = decode(seen=old_only, keep=grown), decode(keep=old_only)
    lost = [
        ("frozen_cache", "the new row is used but not stored", frozen),
        ("frozen_cache", "a new row is neither seen nor stored", frozen | decode(seen=old_only)),
        ("row_lost", "the prompt's last row is lost", only("prefill", keep=lambda w, layer: w.seen(layer)[:-1])),
        ("row_lost", "the prompt's first row is lost", only("prefill", keep=lambda w, layer: w.seen(layer)[1:])),
        ("row_lost", "each step drops the oldest row", decode(keep=lambda w, layer: w.seen(layer)[1:])),
        ("row_overwritten", "each step overwrites the row before it", decode(seen=overwriting)),
    ]
    rows = [("attend_then_append", "decode attends first and appends its row afterwards", late), *lost]
    rows += [counting_rows(row) for row in lost]
    for layer in range(L):
        only_late = in_layer(layer, **decode(seen=old_only)) | decode(keep=grown)
        only_frozen = in_layer(layer, **decode(keep=old_only))
        rows.append(("attend_then_append", f"layer {layer} attends first and appends afterwards", only_late))
        rows.append(("frozen_cache", f"layer {layer} does not store the new row", only_frozen))
    return family("append", *rows)


def doubled(layers: Container[int]) -> Callable[[Witness, int], list[Row]]:
    """A decode step's new row stands twice in the list of these layers."""
    return lambda w, layer: w.lists[layer] + new(w, layer) * (2 if layer in layers else 1)


def whole(w: Witness, tokens: Tensor, kind: str) -> list[Tensor]:
    return [w.history] if kind == "decode" else [tokens]


def duplicates(L: int) -> list[Hypothesis]:
    last_again = only("prefill", feed=lambda w, tokens, kind: [tokens, tokens[:, -1:]])
    twice = ("decode_row_twice", "every layer appends its new row twice", decode(seen=doubled(range(L))))
    later = ("decode_row_twice", "the new row is stored twice, seen once in its step", decode(keep=doubled(range(L))))
    again = {"feed": whole} | decode(position=from_zero)
    rows = [
        ("refeed_last_prompt_token", "the prompt's last token is fed a second time", last_again),
        ("refeed_everything", "each step feeds the whole sequence into the filled cache", {"feed": whole}),
        ("refeed_everything", "each step feeds the whole sequence again from position 0", again),
        *(twice, counting_rows(twice), later, counting_rows(later)),
        ("prompt_twice", "the prompt is fed twice", only("prefill", feed=lambda w, t, kind: [t, t])),
        ("token_twice", "each new token is fed twice", decode(feed=lambda w, t, kind: [t, t])),
    ]
    for layer in range(L):
        rows.append(("decode_row_twice", f"layer {layer} appends its new row twice", decode(seen=doubled([layer]))))
    return family("duplicate", *rows)


def rows_but_not_count(w: Witness) -> bool:
    w.fed = 0
    return False


def stale() -> list[Hypothesis]:
    return family(
        "stale",
        ("not_reset", "a new request runs on the last one's cache", {"reset": lambda w: False}),
        ("not_reset", "a new request keeps the last one's rows but counts from 0", {"reset": rows_but_not_count}),
    )
