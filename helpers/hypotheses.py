"""Hypotheses: known cache bugs as changed rules of the witness. Generic: nothing here knows anybody's code.

Each names the bug (`fault`, an id of the catalogue where it has one), its family, and the rules. Several may share a
fault: the same mistake made in another place. Order is the prior: of two that fit equally, the first is likelier.
"""

from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class Hypothesis:
    fault: str
    family: str
    words: str  # what the decoder does, as a sentence of a report
    rules: dict = field(hash=False)
    needs: str | None = None  # a feature that the reference or the scripts must have

    def __add__(self, other):
        """Both at once (a double fault)."""
        return Hypothesis(
            f"{self.fault} + {other.fault}", f"{self.family} + {other.family}", f"{self.words}; and {other.words}",
            {**self.rules, **other.rules}, self.needs or other.needs,
        )  # fmt: skip


def in_decode(rule, name):
    """The rule holds for single-token steps; in any other call the witness's own method `name` does."""

    def chosen(w, *args):
        return rule(w, *args) if w.kind == "decode" else getattr(type(w), name)(w, *args)

    return chosen


def in_chunk(rule, name):
    """The rule holds for several tokens on a filled cache."""

    def chosen(w, *args):
        return rule(w, *args) if w.kind == "extend" else getattr(type(w), name)(w, *args)

    return chosen


def in_prefill(rule, name):
    def chosen(w, *args):
        return rule(w, *args) if w.kind == "prefill" else getattr(type(w), name)(w, *args)

    return chosen


def new(w, layer):
    return [(layer, row) for row in w.now]


def position(start):
    return {"position": in_decode(lambda w, T: w.own_position(max(start(w), 0), T), "position")}


def positions():
    yield Hypothesis(
        "pos_restart", "position", "decode counts positions from 0 again", position(lambda w: w.fed - w.prompt)
    )
    yield Hypothesis(
        "pos_restart",
        "position",
        "decode counts from 0 again after each prompt or chunk",
        position(lambda w: w.fed - w.base),
    )
    yield Hypothesis("pos_restart", "position", "decode counts from 1 again", position(lambda w: w.fed - w.prompt + 1))
    yield Hypothesis("pos_zero", "position", "every decode step runs at position 0", position(lambda w: 0))
    yield Hypothesis(
        "pos_zero", "position", "every call counts from position 0", {"position": lambda w, T: w.own_position(0, T)}
    )
    for c in (1, 2, 3):
        late, early = position(lambda w, c=c: w.fed + c), position(lambda w, c=c: w.fed - c)
        yield Hypothesis(f"pos_plus{c}", "position", f"decode positions are {c} too large", late)
        yield Hypothesis(f"pos_minus{c}", "position", f"decode positions are {c} too small", early)
    yield Hypothesis(
        "pos_fixed", "position", "every decode step runs at the prompt's length", position(lambda w: w.prompt)
    )
    yield Hypothesis(
        "pos_fixed",
        "position",
        "every decode step runs at the prompt's last position",
        position(lambda w: w.prompt - 1),
    )
    for c in (1, 2, 3, 4, 5, 8):
        shift = {"position": lambda w, T, c=c: w.own_position(w.fed + c, T)}
        yield Hypothesis("pos_uniform_shift", "position", f"every position is {c} too large", shift)


def top_left(w, T, rows):
    return torch.ones(T, len(rows), dtype=torch.bool).tril()


def all_visible(w, T, rows):
    return torch.ones(T, len(rows), dtype=torch.bool)


def self_only(w, T, rows):
    return torch.eye(len(rows), dtype=torch.bool)[len(rows) - T :]


def strict(w, T, rows):
    return torch.ones(T, len(rows), dtype=torch.bool).tril(len(rows) - T - 1)


def not_the_first(w, T, rows):
    return w.causal(T, len(rows)) & (torch.arange(len(rows)) > 0)


def masks():
    yield Hypothesis(
        "sdpa_top_left",
        "mask",
        "in decode the query sees key 0 only (the mask starts at the top left)",
        {"mask": in_decode(top_left, "mask")},
    )
    yield Hypothesis("sdpa_top_left", "mask", "the mask starts at the top left in every call", {"mask": top_left})
    yield Hypothesis(
        "chunk_top_left",
        "mask",
        "a chunk's mask is not shifted by the cached rows",
        {"mask": in_chunk(top_left, "mask")},
    )
    yield Hypothesis(
        "mask_only_if_square",
        "mask",
        "a chunk on a filled cache gets no mask and sees its own future",
        {"mask": in_chunk(all_visible, "mask")},
    )
    yield Hypothesis("no_mask_with_cache", "mask", "nothing is masked: prefill is not causal", {"mask": all_visible})
    yield Hypothesis("no_mask_with_cache", "mask", "prefill is not causal", {"mask": in_prefill(all_visible, "mask")})
    yield Hypothesis(
        "self_only", "mask", "in decode the query sees itself only", {"mask": in_decode(self_only, "mask")}
    )
    yield Hypothesis("mask_strict", "mask", "no token sees itself", {"mask": strict})
    yield Hypothesis(
        "mask_first", "mask", "the first key is hidden in decode", {"mask": in_decode(not_the_first, "mask")}
    )


def appends():
    late = {
        "seen": in_decode(lambda w, layer: w.lists[layer], "seen"),
        "keep": lambda w, layer: w.lists[layer] + new(w, layer),
    }
    yield Hypothesis("attend_then_append", "append", "decode attends first and appends its row afterwards", late)
    frozen = in_decode(lambda w, layer: w.lists[layer], "keep")
    yield Hypothesis("frozen_cache", "append", "the new row is used but not stored", {"keep": frozen})
    yield Hypothesis(
        "frozen_cache", "append", "a new row is neither seen nor stored", {"keep": frozen, "seen": late["seen"]}
    )
    for words, rule in {
        "the prompt's last row is lost": in_prefill(lambda w, layer: w.seen(layer)[:-1], "keep"),
        "the prompt's first row is lost": in_prefill(lambda w, layer: w.seen(layer)[1:], "keep"),
        "each step drops the oldest row": in_decode(lambda w, layer: w.seen(layer)[1:], "keep"),
    }.items():
        yield Hypothesis("row_lost", "append", words, {"keep": rule})
    over = in_decode(lambda w, layer: w.lists[layer][:-1] + new(w, layer), "seen")
    yield Hypothesis("row_overwritten", "append", "each step overwrites the row before it", {"seen": over})


def doubled(only=None):
    """A decode step's new row twice in the list, in every layer or in one."""
    return lambda w, layer: w.lists[layer] + new(w, layer) * (2 if only in (None, layer) else 1)


def duplicates(L):
    again = in_prefill(lambda w, tokens, kind: [tokens, tokens[:, -1:]], "feed")
    yield Hypothesis(
        "refeed_last_prompt_token", "duplicate", "the prompt's last token is fed a second time", {"feed": again}
    )
    whole = lambda w, tokens, kind: [w.history] if kind == "decode" else [tokens]  # noqa: E731
    yield Hypothesis(
        "refeed_everything", "duplicate", "each step feeds the whole sequence into the filled cache", {"feed": whole}
    )
    from_zero = {"feed": whole, "position": in_decode(lambda w, T: w.own_position(0, T), "position")}
    yield Hypothesis(
        "refeed_everything", "duplicate", "each step feeds the whole sequence again from position 0", from_zero
    )
    for only in [None, *range(L)]:
        rule = {"seen": in_decode(doubled(only), "seen")}
        where = "a layer" if only is None else f"layer {only}"
        yield Hypothesis("decode_row_twice", "duplicate", f"{where} appends its new row twice", rule)
    late = {"keep": in_decode(doubled(), "keep")}
    yield Hypothesis("decode_row_twice", "duplicate", "the new row is stored twice but seen once in its own step", late)
    yield Hypothesis(
        "prompt_twice", "duplicate", "the prompt is fed twice", {"feed": in_prefill(lambda w, t, kind: [t, t], "feed")}
    )
    yield Hypothesis(
        "token_twice",
        "duplicate",
        "each new token is fed twice",
        {"feed": lambda w, t, kind: [t, t] if kind == "decode" else [t]},
    )


def stale():
    def keep_rows(w):
        w.fed = 0
        return False

    yield Hypothesis("not_reset", "stale", "a new request runs on the last one's cache", {"reset": lambda w: False})
    yield Hypothesis(
        "not_reset", "stale", "a new request keeps the last one's rows but counts from 0", {"reset": keep_rows}
    )


def old_rows(w, x):
    return x.shape[2] - len(w.now)


def key_for_old_values(w, layer, k, v):
    n = old_rows(w, k)
    return k, torch.cat([k[:, :, :n], v[:, :, n:]], dim=2)


def key_values():
    yield Hypothesis("value_is_key", "K/V", "the value slot receives the key", {"write": lambda w, k, v: (k, k)})
    yield Hypothesis("value_is_key", "K/V", "cached values are the keys", {"gather": key_for_old_values})
    yield Hypothesis("key_is_value", "K/V", "the key slot receives the value", {"write": lambda w, k, v: (v, v)})
    yield Hypothesis("key_value_swapped", "K/V", "keys and values are exchanged", {"write": lambda w, k, v: (v, k)})


def shared_list(w, layer):
    """One list for all layers, in the order of appending: layer 0's new rows, layer 1's, … up to this layer's."""
    return w.lists[0] + [(below, row) for below in range(layer + 1) for row in w.now]


def from_layer(source):
    def seen(w, layer):
        return [(source(w, layer), row) for _, row in w.lists[layer]] + new(w, layer)

    return seen


def layers():
    share = {"seen": shared_list, "keep": lambda w, layer: shared_list(w, w.L - 1)}
    yield Hypothesis("layers_share_list", "layers", "all layers append to one shared cache", share)
    stuck = {"seen": from_layer(lambda w, layer: w.L - 1)}
    yield Hypothesis(
        "layer_idx_stuck", "layers", "every layer reads and writes one slot: old rows are the last layer's", stuck
    )
    zero = {"seen": from_layer(lambda w, layer: 0)}
    yield Hypothesis("layer_idx_stuck", "layers", "every layer reads layer 0's old rows", zero)
    below = {"seen": from_layer(lambda w, layer: (layer - 1) % w.L)}
    yield Hypothesis("layer_idx_off", "layers", "every layer reads the old rows of the layer below", below)


def zero_tail(capacity):
    def gather(w, layer, k, v):
        tail = capacity - k.shape[2]
        return tuple(torch.nn.functional.pad(x, (0, 0, 0, max(tail, 0))) for x in (k, v))

    return gather


def buffers(capacities):
    for c in capacities:
        yield Hypothesis(
            "tail_unmasked",
            "preallocated",
            f"the unwritten rows of a buffer of {c} take part in the softmax",
            {"gather": zero_tail(c)},
            "buffer",
        )
        clamp = lambda w, layer, c=c: (lambda rows: rows if len(rows) <= c else w.lists[layer][: c - 1] + rows[-1:])(
            w.lists[layer] + new(w, layer)
        )  # noqa: E731
        yield Hypothesis(
            "clamp_overflow", "capacity", "past the last row, the last slot is overwritten", {"seen": clamp}, "buffer"
        )
        stop = lambda w, T, c=c: w.own_position(min(w.fed, c - 1), T)  # noqa: E731
        yield Hypothesis(
            "clamp_overflow",
            "capacity",
            "past the last row, slot and position stay at the last",
            {"seen": clamp, "position": stop},
            "buffer",
        )


def windows(W):
    for kept in (W, W - 1):
        rule = in_decode(lambda w, T, kept=kept: w.own_position(min(w.fed, kept), T), "position")
        yield Hypothesis(
            "evict_pos_rows",
            "window",
            "after eviction the position is the number of rows kept",
            {"position": rule},
            "window",
        )
    for size, name in ((W + 1, "window_keeps_one_more"), (W - 1, "window_keeps_one_less"), (None, "window_ignored")):
        rule = lambda w, T, rows, size=size: w.causal(T, len(rows), size)  # noqa: E731
        words = f"a query sees {size} keys, not {W}" if size else "the window is not applied"
        yield Hypothesis(name, "window", f"in decode {words}", {"mask": in_decode(rule, "mask")}, "window")
        yield Hypothesis(name, "window", words, {"mask": rule}, "window")


def turned_again(times):
    def gather(w, layer, k, v):
        n = old_rows(w, k)
        again = w.reference.rotate(k[:, :, :n], torch.arange(n) * times(w))
        return torch.cat([again, k[:, :, n:]], dim=2), v

    return in_decode(gather, "gather")


def decode_steps(w):
    return sum(kind == "decode" for kind, _ in w.calls)


def rotary():
    back = in_decode(lambda w, q: w.reference.rotate(q, torch.tensor([-w.fed])), "turn")
    yield Hypothesis("rope_query_restarts", "rotary", "queries rotate from 0, keys from n", {"turn": back}, "rotary")
    since = in_decode(lambda w, q: w.reference.rotate(q, torch.tensor([-w.prompt])), "turn")
    yield Hypothesis(
        "rope_query_restarts", "rotary", "queries count from 0 since the prompt, keys from n", {"turn": since}, "rotary"
    )
    yield Hypothesis(
        "rope_again", "rotary", "cached keys are rotated a second time", {"gather": turned_again(lambda w: 1)}, "rotary"
    )
    yield Hypothesis(
        "rope_again",
        "rotary",
        "cached keys are rotated again at every step",
        {"gather": turned_again(decode_steps)},
        "rotary",
    )
    plain = in_decode(lambda w, k, v: (w.reference.rotate(k, torch.tensor([-w.fed])), v), "write")
    yield Hypothesis("rope_key_restarts", "rotary", "keys rotate from 0, queries from n", {"write": plain}, "rotary")


def batches():
    through = lambda w, T: torch.arange(w.fed, w.fed + T)  # noqa: E731
    yield Hypothesis(
        "leftpad_arange_pos",
        "ragged batch",
        "positions are counted through the padding",
        {"position": through},
        "left padding",
    )
    yield Hypothesis(
        "leftpad_decode_pos_shared",
        "ragged batch",
        "decode positions are the padded length for every row",
        {"position": in_decode(through, "position")},
        "left padding",
    )
    bare = lambda w, S: torch.ones(len(w.pads), S, dtype=torch.bool)  # noqa: E731
    yield Hypothesis("leftpad_visible", "ragged batch", "padding is visible", {"real": bare}, "left padding")
    later = in_decode(bare, "real")
    yield Hypothesis("leftpad_visible", "ragged batch", "padding is visible in decode", {"real": later}, "left padding")
    yield Hypothesis(
        "beam_no_reorder",
        "beams",
        "the beams follow their parents, the cache does not",
        {"reorder": lambda w, parents: None},
        "beams",
    )
    yield Hypothesis(
        "prefix_store_mutated",
        "aliasing",
        "a stored prefix is handed out by reference and appended to",
        {"fork": lambda w: w},
        "shared prefix",
    )
    yield Hypothesis(
        "spec_no_crop",
        "rollback",
        "rejected draft rows stay in the cache",
        {"crop": lambda w, length: None},
        "rollback",
    )

    def rows_only(w, length):
        w.lists = [rows[:length] for rows in w.lists]

    def count_only(w, length):
        w.fed = length

    yield Hypothesis(
        "crop_not_positions",
        "rollback",
        "rollback drops the rows but not the positions",
        {"crop": rows_only},
        "rollback",
    )
    yield Hypothesis(
        "crop_not_rows", "rollback", "rollback resets the position but keeps the rows", {"crop": count_only}, "rollback"
    )


def shared_heads():
    tile = lambda w, H, H_kv: lambda x: x.repeat(1, H // H_kv, 1, 1)  # noqa: E731
    yield Hypothesis(
        "gqa_tile", "shared heads", "key/value heads are tiled, not interleaved", {"expand": tile}, "shared heads"
    )


def through(dtype):
    return lambda w, k, v: (k.to(dtype).to(k.dtype), v.to(dtype).to(v.dtype))


def int8(x):
    """Rows `[B, H_kv, T, D]` rounded to 8 bits with one scale a row (per head)."""
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127) * scale


def rounding():
    """Not bugs: what a cache in fewer bits does. Reported as rounding, by the storage that reproduces the numbers."""
    stores = {"bfloat16": through(torch.bfloat16), "float16": through(torch.float16), "float32": through(torch.float32)}
    stores["int8 with a scale per row"] = lambda w, k, v: (int8(k), int8(v))
    for name, write in stores.items():
        yield Hypothesis(
            f"stored_{name.split()[0]}", "rounding", f"keys and values are stored as {name}", {"write": write}
        )

        def old(w, layer, k, v, write=write):
            n = old_rows(w, k)
            rk, rv = write(w, k[:, :, :n], v[:, :, :n])
            return torch.cat([rk, k[:, :, n:]], dim=2), torch.cat([rv, v[:, :, n:]], dim=2)

        yield Hypothesis(
            f"stored_{name.split()[0]}",
            "rounding",
            f"old rows are stored as {name}, new ones used exactly",
            {"gather": old},
        )


def catalogue(reference, capacities=()):
    """Every hypothesis that makes sense for this reference, likeliest first within a family."""
    made = [*rounding(), *positions(), *masks(), *appends(), *duplicates(reference.n_layers), *stale(), *key_values()]
    made += [*layers(), *buffers(capacities), *batches(), *shared_heads()]
    if getattr(reference, "window", None):
        made += windows(reference.window)
    return made + ([*rotary()] if getattr(reference, "rotary", False) else [])
