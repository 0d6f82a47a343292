"""What can be wrong in the attention itself: masks, what a row holds, whose row it is, which layer's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from ..attention import MEAN, tiled
from ..hypotheses import batches, rows, sequence
from ..hypotheses.base import after_old, new, old_rows
from ..rules import ZERO, Row, Rules
from ..witness import Witness
from . import scopes
from .change import Change
from .scopes import SCOPES


def masks() -> list[Change]:
    edges = {
        "mask_strict": ("no token sees itself", sequence.strict),
        "mask_one_ahead": ("every token sees the next one", sequence.one_ahead),
        "mask_missing": ("nothing is masked", sequence.all_visible),
        "sdpa_top_left": ("the mask starts at the top left", sequence.top_left),
        "self_only": ("a token sees itself only", sequence.self_only),
        "mask_not_extended": ("rows after the prompt are hidden", sequence.prompt_only),
        "mask_first": ("the first row is hidden", sequence.not_the_first),
        "mask_last_two": ("the row before the new one is hidden", without_previous),
    }
    edges = {fault: (words, and_padding(rule)) for fault, (words, rule) in edges.items()}
    made = [Change(fault, words, {"mask": rule}, SCOPES, True) for fault, (words, rule) in edges.items()]
    return [
        *made,
        *at_once(edges),
        *padding(),
    ]


def and_padding(rule: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The mask, with the padding of the batch hidden as it should be."""

    def mask(w: Witness, T: int, rows: list[Row]) -> Tensor:
        visible = rule(w, T, rows)
        return (
            visible if w.pads is None or visible.dim() > 2 else visible[None, None] & w.real(len(rows))[:, None, None]
        )

    return mask


def at_once(edges: Mapping[str, tuple[str, Callable[..., Tensor]]]) -> list[Change]:
    """The same masks, where several tokens are fed at once; and what a query that sees nothing gets from large numbers."""
    made = [Change("mask_strict", edges["mask_strict"][0], {"mask": edges["mask_strict"][1]}, SCOPES, beside=MEANS)]
    for fault, (words, rule) in edges.items():
        told = f"where several tokens are fed, {words}"
        for beside in ({}, MEANS) if fault == "mask_strict" else ({},):
            made.append(Change(fault, told, {"mask": several(rule)}, (scopes.ALWAYS,), cost=2, beside=beside))
    return made


def several(rule: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda w, T, rows: rule(w, T, rows) if T > 1 else w.causal(T, len(rows))


MEANS: Rules = {"blind": lambda w: MEAN}


def padding() -> list[Change]:
    """The padding of a batch is seen, or another row's; each way of giving something to a query that may see nothing."""
    rolled = {"own_position": of_rolled("own_position"), "real": of_rolled("real")}
    some = (scopes.ALWAYS, scopes.DECODE, scopes.FILLED)
    return [
        Change(fault, words, rules, some, beside=beside, cost=cost)
        for fault, words, rules in (
            ("leftpad_visible", "padding is visible", {"real": batches.pads_count}),
            ("leftpad_other", "the padding is that of another row of the batch", rolled),
        )
        for beside, cost in (({}, 1), (MEANS, 2))
    ]


def of_rolled(name: str) -> Callable[..., Tensor]:
    def rule(w: Witness, *given: int) -> Tensor:
        assert w.pads is not None or name == "own_position"
        pads = w.pads
        try:
            w.pads = None if pads is None else pads.roll(1)
            return getattr(type(w), name)(w, *given)  # type: ignore[no-any-return]
        finally:
            w.pads = pads

    return rule


def without_previous(w: Witness, T: int, rows: list[Row]) -> Tensor:
    S = len(rows)
    age = torch.arange(T)[:, None] + (S - T) - torch.arange(S)[None, :]
    return w.causal(T, S) & (age != 1)


def values() -> list[Change]:
    stores = {
        "value_is_key": ("the value slot receives the key", rows.key_as_value),
        "key_is_value": ("the key slot receives the value", lambda w, k, v: (v, v)),
        "key_value_swapped": ("keys and values are exchanged", rows.exchanged),
        "key_zero": ("keys are stored as zeros", lambda w, k, v: (k * 0, v)),
        "value_zero": ("values are stored as zeros", lambda w, k, v: (k, v * 0)),
    }
    made = [Change(fault, words, {"write": rule}, SCOPES, True) for fault, (words, rule) in stores.items()]
    made += [
        Change("batch_mixed", f"new {part} are stored as those {how}", {"write": stored(part, how)})
        for part in PARTS
        for how in MIXES
    ]
    return made + [
        Change("gqa_tile", "key/value heads are expanded in the other order", {"expand": other_order}, SCOPES, cost=1),
        *(mixed(part, how) for part in PARTS for how in MIXES),
    ]


def other_order(w: Witness, H: int, H_kv: int) -> Callable[[Tensor], Tensor]:
    return rows.in_place(w, H, H_kv) if w.reference.tiled else tiled(H, H_kv)


MIXES: dict[str, Callable[[Tensor], Tensor]] = {
    "of the next row of the batch": lambda x: x.roll(-1, 0),
    "of the row of the batch before": lambda x: x.roll(1, 0),
    "of the batch's first row": lambda x: x[:1].expand_as(x),
}


PARTS = ("keys and values", "keys", "values")


def stored(part: str, how: str) -> Callable[..., tuple[Tensor, Tensor]]:
    mix = MIXES[how]
    return lambda w, k, v: (k if part == "values" else mix(k), v if part == "keys" else mix(v))


def mixed(part: str, how: str) -> Change:
    """Old rows are read from another row of the batch."""
    mix = MIXES[how]

    def gather(w: Witness, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        n = old_rows(w, k)
        return tuple(  # type: ignore
            after_old(w, mix(x[:, :, :n]), x) if part in ("keys and values", name) else x
            for x, name in ((k, "keys"), (v, "values"))
        )

    return Change(
        "batch_mixed", f"cached {part} are those {how}", {"gather": gather}, cost=1 + (part != "keys and values")
    )


def reads(reader: int, source: int) -> Callable[[Witness, int], int]:
    return lambda w, layer: source if layer == reader else layer


def whole_layer(by: int) -> Change:
    """All rows, the new ones too, are another layer's, as far as there is one; what is not written yet is zeros."""

    def seen(w: Witness, layer: int) -> list[Row]:
        source = min(max(layer + by, 0), w.L - 1)
        rows = [(source, row) for _, row in w.lists[layer]]
        return rows + ([(source, ZERO)] * len(w.now) if source > layer else new(w, source))

    words = f"every layer reads all rows of the layer {'below' if by < 0 else 'above'}"
    return Change("layer_idx_off", words, {"seen": seen, "keep": sequence.grown})


def layers(L: int) -> list[Change]:
    made = [
        Change(
            "layer_idx_off",
            "every layer reads the old rows of the layer above",
            rows.old_from(lambda w, layer: (layer + 1) % w.L),
        ),
        Change(
            "layer_idx_off",
            "every layer reads the old rows of the layer below",
            rows.old_from(lambda w, layer: (layer - 1) % w.L),
        ),
        *(whole_layer(by) for by in (-1, 1)),
        Change("layer_idx_stuck", "every layer reads layer 0's old rows", rows.old_from(lambda w, layer: 0)),
    ]
    for reader in range(L):
        for source in range(L):
            if reader != source:
                words = f"layer {reader} reads layer {source}'s old rows"
                rule = rows.old_from(reads(reader, source))
                made.append(Change("layer_idx_off", words, rule, (scopes.ALWAYS, scopes.DECODE, scopes.CHUNK), cost=2))
    return made  # fmt: skip
