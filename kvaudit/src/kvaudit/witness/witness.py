"""The witness: a decoder written as rules over an explicit list of rows, so that any cache bug is one changed rule.

It shares no code with any cache. It keeps every key and value row that was ever computed, in every layer, and attends
over a *list of row numbers* per layer. What a real cache does by slicing and concatenating is here a rule:

    feed      which chunks of tokens a call really feeds
    reset     whether a new request starts with an empty list
    length    how many tokens it believes to have;  position: where the new ones stand;  turn: rotate queries further
    write     what is stored of a new key and value row (rounding, exchanged)
    seen      the rows a layer attends over, in order;  mask: which of them each query may see
    gather    the key and value rows as attention meets them;  expand: shared heads
    keep      the list of rows after the call
    crop, reorder, fork

With no rule changed it is a correct cached decoder. With one changed rule it *is* the decoder that has this bug: a
hypothesis reproduces somebody's logits or it does not.
"""

import torch

from .attention import attend


class Witness:
    """A duck-typed decoder over a reference's tapped forward. `rules`: name -> function(witness, …), replacing a method."""

    def __init__(self, reference, rules=None):
        self.reference, self.rules = reference, rules or {}
        for name, rule in self.rules.items():
            setattr(self, name, rule.__get__(self))
        self.L, self.layer = reference.n_layers, 0  # layer: the one that attends right now
        self.windows = getattr(reference, "windows", None) or [getattr(reference, "window", None)] * self.L
        self.softcap = getattr(reference, "softcap", None)
        self.capacity = getattr(reference, "capacity", None) or reference.block_size
        self.lists, self.keys, self.born = [[] for _ in range(self.L)], None, []  # born: the call that made each row
        self.count = self.fed = self.prompt = self.base = 0  # rows computed; tokens in the sequence; of the prefill
        self.pads, self.history, self.calls = None, None, []  # calls: (kind, tokens) since the request began

    # -- calls of a decoder -------------------------------------------------------------------------------------------
    def prefill(self, tokens, lengths=None):
        if self.reset():
            self.lists, self.fed, self.keys, self.count = [[] for _ in range(self.L)], 0, None, 0
            self.born = []
        self.calls = []
        self.pads = None if lengths is None else tokens.shape[1] - lengths.cpu()  # [B]
        self.prompt, self.history = tokens.shape[1], tokens
        return self.run(tokens, "prefill")

    def decode(self, token):
        self.history = torch.cat([self.history, token[:, None]], dim=1)
        return self.run(token[:, None], "decode")

    def extend(self, tokens):
        self.history = torch.cat([self.history, tokens], dim=1)
        return self.run(tokens, "extend")

    def run(self, tokens, kind):
        self.kind = kind
        for chunk in self.feed(tokens, kind):
            logits = self.step(chunk, kind)
        return logits

    def step(self, tokens, kind):  # [B, T] -> [B, V]
        T = tokens.shape[1]
        self.calls.append((kind, T))
        self.now = list(range(self.count, self.count + T))  # numbers of the new rows
        positions = self.position(T)
        self.count += T
        self.born += [len(self.calls)] * T
        logits = self.reference.forward(tokens, positions, self.attend)
        self.lists = [self.keep(layer) for layer in range(self.L)]
        self.fed += T
        if kind != "decode":
            self.base = self.fed  # where single steps begin: after the prompt, or after the last chunk
        return logits[:, -1]

    # -- attention ----------------------------------------------------------------------------------------------------
    def attend(self, layer, q, k, v, scale):
        self.layer = layer
        k, v = self.write(k, v)
        self.put(layer, k, v)
        rows = self.seen(layer)  # [(layer, row), …], S of them
        k, v = self.gather(layer, *self.take(rows))
        visible = self.mask(q.shape[2], rows)[..., : k.shape[2]]
        if visible.shape[-1] < k.shape[2]:  # rows beyond the list (an unwritten tail) are seen by all
            visible = torch.nn.functional.pad(visible, (0, k.shape[2] - visible.shape[-1]), value=True)
        expand = self.expand(q.shape[1], k.shape[1])
        return attend(self.turn(q), k, v, scale, visible.to(q.device), expand, self.softcap)

    def put(self, layer, k, v):
        if self.keys is None:
            self.keys, self.values = [None] * self.L, [None] * self.L
        old = self.keys[layer]
        self.keys[layer] = k if old is None else torch.cat([old, k], dim=2)  # [B, H_kv, rows, D]
        self.values[layer] = v if old is None else torch.cat([self.values[layer], v], dim=2)

    def take(self, rows):
        layers = {layer for layer, _ in rows}
        if len(layers) == 1:
            layer, index = layers.pop(), torch.tensor([row for _, row in rows], device=self.reference.device)
            return self.keys[layer].index_select(2, index), self.values[layer].index_select(2, index)
        return tuple(torch.stack([x[layer][:, :, row] for layer, row in rows], dim=2) for x in (self.keys, self.values))

    # -- the rules ----------------------------------------------------------------------------------------------------
    def feed(self, tokens, kind):
        return [tokens]

    def reset(self):
        return True

    def length(self):
        return self.fed

    def position(self, T):
        return self.own_position(self.length(), T)

    def own_position(self, start, T):
        """start, start + 1, …; counted from each row's first real token where the batch is padded on the left."""
        p = torch.arange(start, start + T)
        return p if self.pads is None else (p[None, :] - self.pads[:, None]).clamp(min=0)  # [T] or [B, T]

    def turn(self, q):
        return q

    def write(self, k, v):
        return k, v

    def seen(self, layer):
        return self.lists[layer] + [(layer, row) for row in self.now]

    def mask(self, T, rows):
        return self.causal(T, len(rows))

    def causal(self, T, S, window="own"):
        """Boolean `[T, S]` or `[B, 1, T, S]`: the past and itself, inside the window, without padding."""
        own = self.windows[self.layer]  # a layer that sees everything has no window to get wrong
        window = own if window == "own" or own is None else window
        age = torch.arange(T)[:, None] + (S - T) - torch.arange(S)[None, :]  # 0 for the token itself
        visible = (age >= 0) & (age < (window or S + T))
        if self.pads is None:
            return visible
        return visible[None, None] & self.real(S)[:, None, None]

    def real(self, S):
        """Boolean `[B, S]`: False for the rows that are padding (the first `pads` rows of the padded prompt)."""
        return torch.arange(S)[None, :] >= self.pads[:, None]

    def gather(self, layer, k, v):
        return k, v

    def expand(self, H, H_kv):
        return None

    def keep(self, layer):
        return self.seen(layer)

    def layers(self):
        return [self.take(rows) for rows in self.lists]

    def crop(self, length):
        self.lists, self.fed = [rows[:length] for rows in self.lists], length
        self.history = self.history[:, :length]

    def reorder(self, parents):
        self.history = self.history[parents]
        self.keys = [x[parents] for x in self.keys]
        self.values = [x[parents] for x in self.values]

    def fork(self):
        return self.copied(self.rules)

    def copied(self, rules):
        """Another witness in the same state, under these rules."""
        twin = type(self)(self.reference, rules)
        for name, value in vars(self).items():
            if name != "rules" and name not in self.rules:
                setattr(twin, name, list(value) if isinstance(value, list) else value)
        return twin
