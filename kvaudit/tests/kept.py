"""A cached decoder whose rows may be kept in any form, and spoilt in any way: a toy for the tests of rows.

The form says how tensors look from outside (`layers`) and how they come back; attention is done over what comes back.
"""

import torch

from kvaudit.explain.rows.examine import examine
from kvaudit.judge.result import result_of
from kvaudit.plan import plan_for
from kvaudit.play import play_script
from kvaudit.subject import subject_of
from kvaudit.witness import attend

TOLERANCE = 1e-8

SLOTS = 4  # rows of a block
ROOM = 40  # rows of a buffer


class Form:
    """Rows [B, H, S, D] as they are. `shown` gives what `layers()` shows; `stored` what is kept of new rows."""

    def stored(self, x):
        return x

    def shown(self, x, part):
        return x

    def key(self, decoder, k, positions):
        """A new key as it is stored."""
        return k

    def value(self, decoder, v):
        return v

    def read(self, decoder, k, v):
        """Stored keys and values as attention meets them."""
        return k, v

    window = None


def layout(axes, flat=None):
    """A form with the axes in this order, "BSHD" or so, two of them flattened ("last" or "first") or the batch left out."""

    class Made(Form):
        def shown(self, x, part):
            x = x.permute(["BHSD".index(a) for a in axes]).contiguous()
            return {"last": lambda: x.flatten(-2), "first": lambda: x.flatten(0, 1), None: lambda: x}[flat]()

    return Made()


class Buffer(Form):
    """All of a buffer is shown; what is not written is zeros."""

    def shown(self, x, part):
        return torch.nn.functional.pad(x, (0, 0, 0, ROOM - x.shape[2]))


class Dirty(Form):
    """All of a buffer is shown; what is not written is what happened to be there."""

    def shown(self, x, part):
        return torch.cat([x, torch.ones(1).expand(*x.shape[:2], ROOM - x.shape[2], x.shape[3]) * 7], dim=2)


class Steps(Form):
    """A buffer that grows by 16 rows; behind the rows stands what a rejected draft left, or zeros."""

    def shown(self, x, part):
        return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[2] % 16))


class Paged(Form):
    """Pools of blocks; those of a sequence are scattered, its table names them."""

    def shown(self, x, part):
        B, H, S, D = x.shape
        n = -(-S // SLOTS)
        x = torch.nn.functional.pad(x, (0, 0, 0, n * SLOTS - S)).view(B, H, n, SLOTS, D).permute(0, 2, 3, 1, 4)
        pool = torch.full((B * n + 3, SLOTS, H, D), 5.0, dtype=x.dtype)
        pool[self.table(B, S).flatten()] = x.flatten(0, 1)
        return pool

    def table(self, B, S):
        n = -(-S // SLOTS)
        return (torch.arange(B * n).flip(0) + 2).view(B, n)


class Windowed(Form):
    """The newest rows of a window only."""

    def __init__(self, window):
        self.window = window

    def stored(self, x):
        return x[:, :, -self.window :]


class Ring(Form):
    """The rows of a window in slots that go round."""

    def __init__(self, window):
        self.window = window

    def shown(self, x, part):
        S, W = x.shape[2], self.window
        if S <= W:
            return x
        places = torch.arange(S - W, S)
        return x[:, :, places[(places % W).argsort()]]


class Unturned(Form):
    """Keys are stored before their rotation."""

    def key(self, decoder, k, positions):
        return turn(decoder, k, -positions)

    def read(self, decoder, k, v):
        return turn(decoder, k, decoder.positions_of(k.shape[2])), v


class Scaled(Form):
    """Keys with the scale of the scores in them, values halved."""

    def key(self, decoder, k, positions):
        return k * 0.37

    def value(self, decoder, v):
        return v * 0.5

    def read(self, decoder, k, v):
        return k / 0.37, v / 0.5


class Expanded(Form):
    """Each key/value head once for every query head that reads it."""

    def shown(self, x, part):
        return x.repeat_interleave(2, dim=1)


class Rounded(Form):
    def __init__(self, rounded):
        self.rounded = rounded

    def key(self, decoder, k, positions):
        return self.rounded(k)

    def value(self, decoder, v):
        return self.rounded(v)


def turn(decoder, x, positions):
    """x [B, H, T, D] turned by positions [B, T]."""
    return torch.cat([decoder.reference.rotate(row[None], at) for row, at in zip(x, positions)])


class Kept:
    """The decoder. `form` keeps rows; `spoil(decoder, layer, k, v)` gives other rows after each call."""

    def __init__(self, reference, form=None, spoil=None, attention=None, shift=0):
        self.reference, self.form, self.spoil, self.attention = reference, form or Form(), spoil, attention
        self.shift = shift  # of all positions
        self.rows, self.n, self.calls, self.pads, self.dropped = None, 0, 0, None, 0

    def double(self):
        return Kept(self.reference.double(), self.form, self.spoil, self.attention, self.shift)

    def prefill(self, tokens, lengths=None):
        self.rows, self.n = [None] * self.reference.n_layers, 0
        self.pads = None if lengths is None else tokens.shape[1] - lengths
        return self.extend(tokens)

    def decode(self, token):
        return self.extend(token[:, None])

    def extend(self, tokens):
        B, T = tokens.shape
        self.B, self.new, self.tokens = B, T, tokens
        self.at = self.positions(self.n, T)
        logits = self.reference.forward(tokens, self.at, self.attend)[:, -1]
        self.n += T
        self.calls += 1
        for layer in range(self.reference.n_layers):
            k, v = self.rows[layer]
            self.rows[layer] = self.spoil(self, layer, k, v) if self.spoil else (k, v)
        return logits

    def positions(self, start, T):
        at = (torch.arange(start, start + T) + self.shift).expand(self.B, T)
        return at if self.pads is None else (at - self.pads[:, None]).clamp(min=0)

    def positions_of(self, S):
        """Of the S rows that are held, the new ones among them."""
        return self.positions(0, self.n + self.new)[:, -S:]

    def attend(self, layer, q, k, v, scale):
        T, old = q.shape[2], self.rows[layer]
        k, v = self.form.key(self, k, self.at), self.form.value(self, v)
        if old is not None:
            k, v = (torch.cat(pair, dim=2) for pair in zip(old, (k, v)))
        self.rows[layer] = tuple(map(self.form.stored, (k, v)))
        k, v = self.form.read(self, k, v)
        S, window = k.shape[2], self.form.window
        age = torch.arange(T)[:, None] + S - T - torch.arange(S)
        seen = (age >= 0) & (age < (window or S + 1))
        if self.pads is not None:
            place = torch.arange(self.n + T - S, self.n + T)
            seen = seen[None, None] & (place >= self.pads[:, None])[:, None, None]
        if self.attention:
            q, k, v, seen = self.attention(self, layer, q, k, v, seen)
        return attend(q, k, v, scale, seen)

    def layers(self):
        return [tuple(self.form.shown(x, part) for part, x in enumerate(pair)) for pair in self.rows]

    def block_table(self):
        return self.form.table(self.B, self.rows[0][0].shape[2]) if isinstance(self.form, Paged) else None

    def crop(self, n):
        self.rows, self.n = [tuple(x[:, :, :n] for x in pair) for pair in self.rows], n

    def reorder(self, parents):
        self.rows = [tuple(x[parents] for x in pair) for pair in self.rows]
        self.pads = None if self.pads is None else self.pads[parents]

    def fork(self):
        twin = Kept(self.reference, self.form, self.spoil, self.attention, self.shift)
        vars(twin).update(vars(self) | {"rows": list(self.rows)})
        return twin


def examined(decoder, name="plain", calibration=("one token",), reference=None):
    """What the rows say in one script, in float64, and that script's result."""
    who = subject_of(decoder, reference or decoder.reference)
    scripts = [script for script in plan_for(who) if script.name in (name, *calibration)]
    played = {script.name: (script, result_of(play_script(script, who.exact), TOLERANCE)) for script in scripts}
    script, result = played[name]
    right = [played[n] for n in calibration if played[n][1].status == "equal"]
    return examine(script, who.exact, result, TOLERANCE, right), result


def signs(seen):
    """(layer, part, kind, rows, whose or how) of all that is wrong; of batch rows and heads, where they are not all."""
    B, H, _ = seen.shapes
    return {
        (w.layer, w.part, w.kind, w.rows)
        + tuple(x for x in (w.of.layer, w.of.part, w.of.batch, w.of.row, w.of.when, w.detail) if x not in (None, ""))
        + (() if len(w.batch) == B else (f"batch {w.batch}",))
        + (() if len(w.heads) == H else (f"heads {w.heads}",))
        for w in seen.wrong
    }
