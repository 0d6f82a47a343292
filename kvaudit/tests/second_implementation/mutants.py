"""Mutation operators, bugs outside the catalogue, and pairs of catalogue faults, each with its truth beside it.

The truth was written down before the audit saw any of them: the families that are a fair answer. "unknown pattern" is
always fair here; a family that is not listed is a wrong accusation.
"""

import torch

from . import network
from .decoder import past
from .faults import FAULTS, at_offset, decoding, mask_when, shifted


def rows_seen(change):
    """`change(rows [B, S, H_kv, D])` of what a decode step looks at; what is stored stays right."""

    def wrap(old):
        def keep(d, layer, k, v):
            rows = old(d, layer, k, v)
            return tuple(change(x) for x in rows) if decoding(d, k.shape[1]) else rows

        return keep

    return {"keep": wrap}


def rows_stored(change, only=None):
    """Store `change(k, v)` in decode, in all layers or in `only` one."""

    def wrap(old):
        def keep(d, layer, k, v):
            apply = decoding(d, k.shape[1]) and only in (None, layer)
            return old(d, layer, *(change(k, v) if apply else (k, v)))

        return keep

    return {"keep": wrap}


def in_layer(which, fault):
    """A catalogue fault of the function "keep", in one layer only."""

    def wrap(old):
        wrong = FAULTS[fault]["keep"](old)
        return lambda d, layer, k, v: (wrong if layer == which % d.spec.depth else old)(d, layer, k, v)

    return {"keep": wrap}


def drop_update(when):
    """Use the new row, and forget it where `when(steps fed since the prompt)`."""

    def wrap(old):
        def keep(d, layer, k, v):
            held, fed = d.s["kv"][layer], d.s["n"] - d.s.get("prompt", d.s["n"])
            rows = old(d, layer, k, v)
            if decoding(d, k.shape[1]) and when(fed):
                d.s["kv"][layer] = held
            return rows

        return keep

    return {"keep": wrap}


def write_at(by):
    """A fixed buffer written `by` slots from where it should be, in decode."""

    def wrap(old):
        def keep(d, layer, k, v):
            if not decoding(d, k.shape[1]):
                return old(d, layer, k, v)
            n = d.s["n"]
            slot = max(0, min(n + by, d.limit - 1))
            d.s["kv"][layer, :, :, slot : slot + 1] = torch.stack([k, v])
            return d.s["kv"][layer, :, :, : n + 1]

        return keep

    return {"keep": wrap}


def diagonal(by):
    def mask(d, T, S):
        open_to = torch.ones(T, S).tril(S - T + by).bool()
        return open_to if d.s["pads"] is None else open_to & (torch.arange(S) >= d.s["pads"][:, None, None])

    return mask_when(lambda d, T, S: T > 1, mask)


def previous_layer(old):
    def keep(d, layer, k, v):
        rows = old(d, layer, k, v)
        if not decoding(d, k.shape[1]):
            return rows
        other = d.s["kv"][max(layer - 1, 0)]
        return other[:, :, : rows[0].shape[1]]

    return keep


def cropped(change):
    return {"crop": lambda old: lambda d, n: change(old, d, n)}


def rows_only(old, d, n):
    counter = d.s["n"]
    old(d, n)
    d.s["n"] = counter


def counter_only(old, d, n):
    kv = d.s["kv"]
    old(d, n)
    d.s["kv"] = kv


def keys_only(old):
    def reorder(d, parents):
        before = d.s["kv"]
        old(d, parents)
        for rows, stale in zip(d.s["kv"], before):
            rows[1] = stale[1]

    return reorder


def shared_buffer(old):
    def fork(d):
        twin = old(d)
        twin.s["kv"] = d.s["kv"]
        return twin

    return fork


def counter_survives(old):
    def begin(d, B, pads):
        n = d.s["n"] if d.s else 0
        old(d, B, pads)
        d.s["ghost"] = n

    return begin


def plus_ghost(old):
    return lambda d, T: old(d, T) + d.s["ghost"]


def dirty_buffer(old):
    """The buffer of the last request is used again, not zeroed."""

    def begin(d, B, pads):
        used = d.s and d.s["kv"]
        old(d, B, pads)
        if used is not None and used.shape == d.s["kv"].shape:
            d.s["kv"] = used

    return begin


def pads_lost_in_decode(old):
    return lambda d, T, S: None if decoding(d, T) else old(d, T, S)


def pads_rolled(old):
    return lambda d, B, pads: old(d, B, None if pads is None else pads.roll(1))


def window_minus_one(old):
    def keep(d, layer, k, v):
        keys, values = old(d, layer, k, v)
        short = k.shape[1] == 1 and keys.shape[1] == d.spec.span
        return (keys[:, 1:], values[:, 1:]) if short else (keys, values)

    return keep


def unturned(old):
    return lambda d, x, at: x if decoding(d, x.shape[1]) else old(d, x, at)


def turned_on_read(old):
    def keep(d, layer, k, v):
        keys, values = old(d, layer, k, v)
        if decoding(d, k.shape[1]):
            T = keys.shape[1] - 1
            keys = torch.cat([network.turn(keys[:, :T], torch.arange(T), d.spec), keys[:, T:]], 1)
        return keys, values

    return keep


GROW, FIXED, ROPE, WINDOW = {"storage": "grow"}, {"storage": "fixed"}, {"positions": "rope"}, {"span": 8}

# name -> (changes, families that are a fair answer, what the decoder must have)
MUTANTS = {
    "newest row not seen": (rows_seen(lambda x: x[:, :-1]), {"append", "mask"}, {}),
    "oldest row not seen": (rows_seen(lambda x: x[:, 1:]), {"append", "mask", "window"}, {}),
    "every second update dropped": (drop_update(lambda n: n % 2 == 1), {"append"}, GROW),
    "one update dropped": (drop_update(lambda n: n == 1), {"append"}, GROW),
    "k and v exchanged in decode": (rows_stored(lambda k, v: (v, k)), {"K/V"}, {}),
    "v is k in decode": (rows_stored(lambda k, v: (k, k)), {"K/V"}, {}),
    "v is k in the last layer": (in_layer(-1, "value_is_key"), {"K/V", "layers"}, {}),
    "frozen in the last layer": (in_layer(-1, "frozen_cache"), {"append", "layers"}, GROW),
    "attend first in layer 0": (in_layer(0, "attend_then_append"), {"append", "layers"}, GROW),
    "twice in the last layer": (in_layer(-1, "decode_row_twice"), {"duplicate", "layers"}, GROW),
    "batch rows rolled in decode": (
        rows_stored(lambda k, v: (k.roll(1, 0), v.roll(1, 0))),
        {"beams", "ragged batch", "batch rows"},
        {},
    ),
    "written one slot early": (write_at(-1), {"append", "capacity", "preallocated"}, FIXED),
    "written one slot late": (write_at(1), {"append", "preallocated"}, FIXED),
    "layer index one too low": ({"keep": previous_layer}, {"layers"}, {}),
    "position plus 2 in decode": (at_offset(lambda d: past(d) + 2), {"position"}, {}),
    "positions plus 1 everywhere": (shifted(1), {"position"}, {}),
    "position counts decode calls": (at_offset(lambda d: d.s["text"].shape[1] - d.s["prompt"] - 1), {"position"}, {}),
    "position minus 1 in chunks": (
        {"where": lambda old: lambda d, T: old(d, T) - int(T > 1 and d.s["n"] > 0)},
        {"position"},
        {},
    ),
    "chunks start at position 0": (
        {"where": lambda old: lambda d, T: torch.arange(T) if T > 1 and d.s["n"] > 0 else old(d, T)},
        {"position"},
        {},
    ),
    "mask one too open": (diagonal(1), {"mask"}, {}),
    "mask one too tight": (diagonal(-1), {"mask", "append"}, {}),
    "crop keeps one more": (cropped(lambda old, d, n: old(d, n + 1)), {"rollback"}, {}),
    "crop keeps one less": (cropped(lambda old, d, n: old(d, n - 1)), {"rollback"}, {}),
    "crop forgets the counter": (cropped(rows_only), {"rollback", "position"}, GROW | {"habit": "count"}),
    "crop forgets the rows": (cropped(counter_only), {"rollback"}, GROW | {"habit": "count"}),
    "reorder moves keys only": ({"reorder": keys_only}, {"beams", "K/V"}, {}),
    "reorder by the inverse": (
        {"reorder": lambda old: lambda d, parents: old(d, parents.argsort(stable=True))},
        {"beams"},
        {},
    ),
    "fork shares the buffer": ({"fork": shared_buffer}, {"aliasing"}, FIXED),
    "counter survives the request": (
        {"begin": counter_survives, "where": plus_ghost},
        {"stale", "position"},
        {},
    ),
    "pads seen in decode": ({"seen": pads_lost_in_decode}, {"ragged batch", "mask"}, {}),
    "pads of another row": ({"begin": pads_rolled}, {"ragged batch", "mask"}, {}),
    "dirty buffer, tail seen": ({"begin": dirty_buffer} | FAULTS["tail_unmasked"], {"preallocated"}, FIXED),
    "window one too short": ({"keep": window_minus_one}, {"window"}, WINDOW),
    "token fed twice": ({"feed": lambda old: lambda d, t: t[:, None].repeat(1, 2)}, {"duplicate"}, {}),
    "keys not turned in decode": ({"turn_k": unturned}, {"rotary", "position"}, ROPE),
    "query one further than its key": (
        {"turn_q": lambda old: lambda d, x, at: old(d, x, at + int(decoding(d, x.shape[1])))},
        {"rotary", "position"},
        ROPE,
    ),
    "stored keys turned on read": ({"keep": turned_on_read}, {"rotary"}, ROPE),
}


def in_decode(change):
    """`change(d, x)` of the logits of a decode step."""
    return {
        "out": lambda old: lambda d, x: change(d, old(d, x)) if d.s.get("prompt") and x.shape[1] == 1 else old(d, x)
    }


def scaled_queries(by):
    return {"turn_q": lambda old: lambda d, x, at: old(d, x, at) * (by(d) if decoding(d, x.shape[1]) else 1)}


def no_feed_forward(old):
    def layer_of(d, layer, x, at):
        y = old(d, layer, x, at)
        return y if x.shape[1] > 1 or layer else 0.5 * (x + y)

    return layer_of


def one_head_lost(old):
    def keep(d, layer, k, v):
        keys, values = old(d, layer, k, v)
        return (keys, values.index_fill(2, torch.tensor([0]), 0)) if decoding(d, k.shape[1]) else (keys, values)

    return keep


def quarter_kept(old):
    """Keys are kept to two digits: a storage format that nobody uses."""
    return lambda d, layer, k, v: old(d, layer, (k * 4).round() / 4, v)


# Bugs that no entry of the catalogue is: nobody may be accused of anything.
OUTSIDE = {
    "scale applied twice in decode": scaled_queries(lambda d: d.spec.dim**-0.5),
    "scale forgotten in decode": scaled_queries(lambda d: d.spec.dim**0.5),
    "logits of the vocabulary rolled": in_decode(lambda d, x: x.roll(1, -1)),
    "a repetition penalty left on": in_decode(lambda d, x: x - x.gt(0) * 0.2 * x),
    "half a residual in layer 0": {"layer_of": no_feed_forward},
    "values of one head lost": {"keep": one_head_lost},
    "previous token fed": {"feed": lambda old: lambda d, t: d.s["text"][:, -2:-1]},
    "keys kept to quarters": {"keep": quarter_kept},
}

# Pairs of catalogue faults; the second is applied after the first. The truth: the families of both.
DOUBLES = [
    ("pos_plus1", "frozen_cache"),
    ("pos_zero", "gqa_tile"),
    ("pos_restart", "value_is_key"),
    ("pos_minus1", "sdpa_top_left"),
    ("pos_uniform_shift", "mask_only_if_square"),
    ("pos_plus1", "beam_no_reorder"),
    ("pos_minus1", "spec_no_crop"),
    ("pos_zero", "not_reset"),
    ("chunk_top_left", "attend_then_append"),
    ("chunk_top_left", "beam_no_reorder"),
    ("mask_only_if_square", "value_is_key"),
    ("no_mask_with_cache", "frozen_cache"),
    ("attend_then_append", "gqa_tile"),
    ("frozen_cache", "not_reset"),
    ("refeed_last_prompt_token", "chunk_top_left"),
    ("decode_row_twice", "gqa_tile"),
    ("not_reset", "spec_no_crop"),
    ("value_is_key", "gqa_tile"),
    ("leftpad_decode_pos_shared", "chunk_top_left"),
    ("leftpad_decode_pos_shared", "beam_no_reorder"),
    ("beam_no_reorder", "prefix_store_mutated"),
    ("spec_no_crop", "prefix_store_mutated"),
    ("refeed_last_prompt_token", "frozen_cache"),
    ("pos_restart", "no_mask_with_cache"),
]
