"""The thirty faults of the catalogue, written again from their descriptions: each replaces functions of the table.

A fault is {name of a function: old -> new}. `needs` lists what the decoder must have for the fault to exist.
"""

from dataclasses import replace

import torch

from . import network
from .decoder import past


def decoding(d, T):
    return T == 1 and past(d) > 0


def at_offset(offset):
    """Decode runs at `offset(d)` instead of the tokens before; padding is still subtracted."""

    def wrap(old):
        def where(d, T):
            if not decoding(d, T):
                return old(d, T)
            at = offset(d) + torch.arange(T)
            return at if d.s["pads"] is None else (at - d.s["pads"][:, None]).clamp(min=0)

        return where

    return {"where": wrap}


def shifted(by):
    return {"where": lambda old: lambda d, T: old(d, T) + by}


def mask_when(applies, mask):
    """`mask(d, T, S)` where `applies(d, T, S)`, the right one elsewhere."""
    return {"seen": lambda old: lambda d, T, S: mask(d, T, S) if applies(d, T, S) else old(d, T, S)}


def first_triangle(d, T, S):
    triangle = torch.ones(T, S).tril().bool()
    return triangle if d.s["pads"] is None else triangle & (torch.arange(S) >= d.s["pads"][:, None, None])


def nothing_hidden(d, T, S):
    return None


def old_rows(d, layer):
    """What the layer holds before this call: (keys, values), [B, S, H_kv, D]."""
    return d.s["kv"][layer, :, :, : d.s["n"]] if d.storage == "fixed" else d.s["kv"][layer]


def attend_old_then_store(old):
    def keep(d, layer, k, v):
        before = old_rows(d, layer) if past(d) and d.s["kv"][layer] is not None else None
        after = old(d, layer, k, v)
        return after if before is None else before

    return keep


def use_but_do_not_store(old):
    def keep(d, layer, k, v):
        held = d.s["kv"][layer]
        rows = old(d, layer, k, v)
        if held is not None:
            d.s["kv"][layer] = held
        return rows

    return keep


def store_twice(old):
    def keep(d, layer, k, v):
        rows = old(d, layer, k, v)
        return old(d, layer, k, v) if k.shape[1] == 1 and rows.shape[2] > 1 else rows

    return keep


def slot_zero(old):
    return lambda d, layer, k, v: old(d, 0, k, v)


def one_list(old):
    def keep(d, layer, k, v):
        rows = old(d, 0, k, v)
        d.s["kv"] = [d.s["kv"][0]] * d.spec.depth
        return rows

    return keep


def whole_buffer(old):
    def keep(d, layer, k, v):
        old(d, layer, k, v)
        return d.s["kv"][layer]

    return keep


def unwritten_visible(old):
    def seen(d, T, S):
        written = d.s["n"] + T
        right = old(d, T, written)
        tail = torch.ones(1, 1, S - written, dtype=torch.bool)
        right = torch.ones(1, 1, written, dtype=torch.bool) if right is None else right.reshape(-1, T, written)
        return torch.cat([right.expand(-1, T, -1), tail.expand(len(right), T, -1)], 2)

    return seen


def clamp_write(old):
    def keep(d, layer, k, v):
        n = d.s["n"]
        d.s["n"] = min(n, d.limit - k.shape[1])
        rows = old(d, layer, k, v)
        d.s["n"] = n
        return rows

    return keep


def tile(old):
    return lambda d, x, heads: x.repeat(1, 1, heads // x.shape[2], 1)


def kept_rows(d):
    return min(d.s["n"], d.spec.span)


def one_row_more(old):
    def keep(d, layer, k, v):
        right, d.spec = d.spec, replace(d.spec, span=d.spec.span + 1)
        rows = old(d, layer, k, v)
        d.spec = right
        return rows

    return keep


def rotate_stored_again(old):
    def keep(d, layer, k, v):
        if past(d) and d.s["kv"][layer] is not None:
            held = old_rows(d, layer).clone()
            held[0] = network.turn(held[0], torch.arange(held.shape[2]), d.spec)
            if d.storage == "fixed":
                d.s["kv"][layer, :, :, : held.shape[2]] = held
            else:
                d.s["kv"][layer] = held
        return old(d, layer, k, v)

    return keep


def not_if_started(old):
    return lambda d, B, pads: old(d, B, pads) if d.s is None else None


def padded_position(only_decode):
    def wrap(old):
        return lambda d, T: past(d) + torch.arange(T) if decoding(d, T) or not only_decode else old(d, T)

    return {"where": wrap}


def nothing(old):
    return lambda d, *args: None


def by_reference(old):
    """Every request that continues the stored prompt gets the stored prompt itself."""
    return lambda d: d


FAULTS = {
    "pos_zero": at_offset(lambda d: 0),
    "pos_restart": at_offset(lambda d: past(d) - d.s["prompt"]),
    "pos_plus1": at_offset(lambda d: past(d) + 1),
    "pos_minus1": at_offset(lambda d: past(d) - 1),
    "pos_uniform_shift": shifted(3),
    "sdpa_top_left": mask_when(lambda d, T, S: decoding(d, T), first_triangle),
    "chunk_top_left": mask_when(lambda d, T, S: T > 1 and d.s["n"] > 0, first_triangle),
    "mask_only_if_square": mask_when(lambda d, T, S: T != S, nothing_hidden),
    "no_mask_with_cache": mask_when(lambda d, T, S: True, nothing_hidden),
    "attend_then_append": {"keep": attend_old_then_store},
    "frozen_cache": {"keep": use_but_do_not_store},
    "refeed_last_prompt_token": {"opening": lambda old: lambda d, ids: [ids, ids[:, -1:]]},
    "refeed_everything": {"feed": lambda old: lambda d, token: d.s["text"]},
    "decode_row_twice": {"keep": store_twice},
    "not_reset": {"begin": not_if_started},
    "value_is_key": {"keep": lambda old: lambda d, layer, k, v: old(d, layer, k, k)},
    "layer_idx_stuck": {"keep": slot_zero},
    "layers_share_list": {"keep": one_list},
    "tail_unmasked": {"keep": whole_buffer, "seen": unwritten_visible},
    "clamp_overflow": {"keep": clamp_write, "room": nothing},
    "gqa_tile": {"spread": tile},
    "evict_pos_rows": at_offset(kept_rows),
    "window_keeps_one_more": {"keep": one_row_more},
    "rope_again": {"keep": rotate_stored_again},
    "rope_query_restarts": {"turn_q": lambda old: lambda d, x, at: old(d, x, torch.arange(x.shape[1]))},
    "leftpad_arange_pos": padded_position(only_decode=False),
    "leftpad_decode_pos_shared": padded_position(only_decode=True),
    "beam_no_reorder": {"reorder": nothing},
    "prefix_store_mutated": {"fork": by_reference},
    "spec_no_crop": {"crop": nothing},
}

FAMILIES = {
    "position": "pos_zero pos_restart pos_plus1 pos_minus1 pos_uniform_shift",
    "mask": "sdpa_top_left chunk_top_left mask_only_if_square no_mask_with_cache",
    "append": "attend_then_append frozen_cache",
    "duplicate": "refeed_last_prompt_token refeed_everything decode_row_twice",
    "stale": "not_reset",
    "K/V": "value_is_key",
    "layers": "layer_idx_stuck layers_share_list",
    "preallocated": "tail_unmasked",
    "capacity": "clamp_overflow",
    "shared heads": "gqa_tile",
    "window": "evict_pos_rows window_keeps_one_more",
    "rotary": "rope_again rope_query_restarts",
    "ragged batch": "leftpad_arange_pos leftpad_decode_pos_shared",
    "beams": "beam_no_reorder",
    "aliasing": "prefix_store_mutated",
    "rollback": "spec_no_crop",
}
FAMILY = {fault: family for family, faults in FAMILIES.items() for fault in faults.split()}

# What a fault asks of the decoder; everything else is free.
NEEDS = {
    "layer_idx_stuck": {"storage": "fixed"},
    "layers_share_list": {"storage": "grow"},
    "tail_unmasked": {"storage": "fixed"},
    "clamp_overflow": {"storage": "fixed"},
    "frozen_cache": {"storage": "grow"},
    "decode_row_twice": {"storage": "grow"},
    "evict_pos_rows": {"span": 8},
    "window_keeps_one_more": {"span": 8},
    "rope_again": {"positions": "rope"},
    "rope_query_restarts": {"positions": "rope"},
}
