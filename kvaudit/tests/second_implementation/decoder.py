"""Cached decoding over the plain network: a table of small functions, `STEPS`, that a loop calls in turn.

`storage`: "grow" (a list with one tensor [2, B, S, H_kv, D] a layer, concatenated) or "fixed" (one tensor
[L, 2, B, C, H_kv, D], written by position). `habit`: where a call takes its position from, a counter ("count") or the
rows held ("rows"); and whether masks count from the front or from the back. Changes replace functions of the table.
"""

import torch

from . import network


def begin(d, B, pads):
    """Start a sequence of B rows, row b left-padded by pads[b] tokens (or None)."""
    kv = [None] * d.spec.depth
    if d.storage == "fixed":
        kv = torch.zeros(d.spec.depth, 2, B, d.limit, d.spec.shared, d.spec.dim, dtype=d.w["embed"].dtype)
    d.s = {"kv": kv, "n": 0, "pads": pads, "text": None}


def opening(d, ids):
    """The pieces in which a prompt [B, T] is fed."""
    return [ids]


def feed(d, token):
    """What a decode call runs the network on: [B] -> [B, 1]."""
    return token[:, None]


def past(d):
    """How many tokens came before."""
    kv = d.s["kv"][0]
    counted = d.habit == "count" or d.storage == "fixed" or kv is None
    return d.s["n"] if counted else kv.shape[2]


def room(d, T):
    if past(d) + T > d.limit:
        raise ValueError(f"{past(d)} tokens and {T} more: only {d.limit} fit")


def where(d, T):
    """Positions of T new tokens: [T], or [B, T] in a padded batch."""
    at = past(d) + torch.arange(T)
    return at if d.s["pads"] is None else (at - d.s["pads"][:, None]).clamp(min=0)


def seen(d, T, S):
    """Which of S keys each of T new tokens may look at: [T, S], [B, T, S] or None for all."""
    if T == 1 and d.s["pads"] is None:
        return None
    n, first = d.s["n"], 0
    if d.habit == "rows":
        n = S - T
    elif d.spec.span:
        first = n + T - S  # the window has dropped these
    key = first + torch.arange(S)
    age = n + torch.arange(T)[:, None] - key
    ok = (age >= 0) & (age < (d.spec.span or S + T)) if T > 1 else torch.ones(1, S, dtype=torch.bool)
    return ok if d.s["pads"] is None else ok & (key >= d.s["pads"][:, None, None])


def keep(d, layer, k, v):
    """Store k, v [B, T, H_kv, D]; give back all that is to be looked at, [B, S, H_kv, D] each."""
    new, kv, n, T = torch.stack([k, v]), d.s["kv"], d.s["n"], k.shape[1]
    if d.storage == "fixed":
        kv[layer, :, :, n : n + T] = new
        return kv[layer, :, :, : n + T]
    rows = new if kv[layer] is None else torch.cat([kv[layer], new], 2)
    kv[layer] = rows[:, :, -(d.spec.span or rows.shape[2]) :]
    return rows[:, :, -(d.spec.span + T - 1) :] if d.spec.span else rows


def spread(d, x, heads):
    return network.spread(x, heads)


def turn_q(d, x, at):
    return network.turn(x, at, d.spec)


def turn_k(d, x, at):
    return network.turn(x, at, d.spec)


def reorder(d, parents):
    s, kv = d.s, d.s["kv"]
    s["kv"] = kv[:, :, parents] if d.storage == "fixed" else [rows[:, parents] for rows in kv]
    s["text"], s["pads"] = s["text"][parents], None if s["pads"] is None else s["pads"][parents]


def crop(d, n):
    if d.spec.span and d.s["n"] > d.spec.span:
        raise NotImplementedError("rows that the window has dropped do not come back")
    if d.storage == "grow":
        d.s["kv"] = [rows[:, :, :n] for rows in d.s["kv"]]
    d.s["n"], d.s["text"] = n, d.s["text"][:, :n]


def fork(d):
    twin = Decoder(d.w, d.spec, d.storage, d.habit, d.capacity, d.changes)
    kv = d.s["kv"]
    twin.s = d.s | {"kv": kv.clone() if d.storage == "fixed" else list(kv)}
    return twin


def layer_of(d, layer, x, at):
    """One layer on x [B, T, width] with the cache between its two halves."""
    q, k, v = network.heads(d.w, d.spec, layer, x)
    T = q.shape[1]
    keys, values = d.call("keep", layer, d.call("turn_k", k, at), v)
    ok = d.call("seen", T, keys.shape[1])
    mixed = network.mix(d.call("turn_q", q, at), keys, values, ok, d.spec, lambda y, heads: d.call("spread", y, heads))
    return network.leave(d.w, d.spec, layer, x, mixed)


def out(d, x):
    """Logits [B, V] of the last token of x [B, T, width]."""
    return network.scores(d.w, d.spec, x[:, -1])


STEPS = {
    f.__name__: f
    for f in (begin, opening, feed, room, where, seen, keep, spread, turn_q, turn_k, reorder, crop, fork, layer_of, out)
}


class Decoder:
    """The calls that an audit makes, over a table of functions. `changes`: ({name: old -> new}, …), applied in order."""

    def __init__(self, w, spec, storage="grow", habit="count", capacity=None, changes=()):
        self.w, self.spec, self.storage, self.habit, self.changes = w, spec, storage, habit, tuple(changes)
        self.capacity = capacity if storage == "fixed" else None
        self.limit = min(self.capacity or spec.context, spec.context)
        self.table, self.s = dict(STEPS), None
        for change in self.changes:
            self.table |= {name: wrap(self.table[name]) for name, wrap in change.items()}

    def call(self, name, *args):
        return self.table[name](self, *args)

    @torch.no_grad()
    def run(self, ids):
        """Ids [B, T] through all layers -> logits [B, V] of the last."""
        T = ids.shape[1]
        self.call("room", T)
        at = self.call("where", T)
        x = network.enter(self.w, self.spec, ids, at)
        for layer in range(self.spec.depth):
            x = self.call("layer_of", layer, x, at)
        self.s["n"] += T
        return self.call("out", x)

    def note(self, ids):
        """Remember what was said, whatever is fed of it."""
        text = self.s["text"]
        self.s["text"] = ids if text is None else torch.cat([text, ids], 1)

    def prefill(self, tokens, lengths=None):
        pads = None if lengths is None else tokens.shape[1] - lengths
        self.call("begin", len(tokens), pads)
        self.note(tokens)
        for piece in self.call("opening", tokens):
            logits = self.run(piece)
        self.s["prompt"] = tokens.shape[1]
        return logits

    def extend(self, tokens):
        self.note(tokens)
        return self.run(tokens)

    def decode(self, token):
        self.note(token[:, None])
        return self.run(self.call("feed", token))

    def reorder(self, parents):
        self.call("reorder", parents)

    def crop(self, n):
        self.call("crop", n)

    def fork(self):
        return self.call("fork")

    def layers(self):
        held = (rows[:, :, : self.s["n"]] if self.storage == "fixed" else rows for rows in self.s["kv"])
        return [(k.transpose(1, 2), v.transpose(1, 2)) for k, v in held]

    def double(self):
        return Decoder(
            {name: t.double() for name, t in self.w.items()},
            self.spec,
            self.storage,
            self.habit,
            self.capacity,
            self.changes,
        )
