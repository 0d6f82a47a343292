"""A hypothesis: a known cache bug, as changed rules of the witness. Generic: nothing here knows anybody's code."""

from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class Hypothesis:
    """A bug's catalogue id (`fault`), its family, what the decoder does in words, and the rules that make it.

    Several may share a fault: the same mistake made in another place. Of two that fit equally the first is likelier.
    """

    fault: str
    family: str
    words: str
    rules: dict = field(hash=False)

    def __add__(self, other):
        """Both at once (a double fault)."""
        both = (f"{a} + {b}" for a, b in zip((self.fault, self.family), (other.fault, other.family)))
        return Hypothesis(*both, f"{self.words}; and {other.words}", {**self.rules, **other.rules})


def family(name, *rows):
    """Hypotheses of one family from rows of (fault, words, rules)."""
    return [Hypothesis(fault, name, words, rules) for fault, words, rules in rows]


def only(kind, **rules):
    """Rules that hold in calls of one kind ("prefill", "decode" or "extend"); elsewhere the witness keeps its own."""

    def limited(name, rule):
        def chosen(w, *args):
            return rule(w, *args) if w.kind == kind else getattr(type(w), name)(w, *args)

        chosen.kind = kind
        return chosen

    return {name: limited(name, rule) for name, rule in rules.items()}


def decode(**rules):
    return only("decode", **rules)


WITH_LAYER = ("seen", "keep", "gather")  # rules that are told the layer; for the others it is the one at work


def in_layer(layer, **rules):
    """Rules that hold in one layer only."""

    def limited(name, rule):
        def chosen(w, *args):
            here = args[0] if name in WITH_LAYER else w.layer
            return rule(w, *args) if here == layer else getattr(type(w), name)(w, *args)

        chosen.kind = getattr(rule, "kind", None)
        return chosen

    return {name: limited(name, rule) for name, rule in rules.items()}


def counting_rows(row):
    """The same mistake in a decoder that takes its length from the rows it holds (`cache.shape`), not from a counter."""
    fault, words, rules = row
    return fault, f"{words}; positions count the rows held", rules | {"length": lambda w: len(w.lists[0])}


def new(w, layer):
    """The rows of this call, as entries of a layer's list."""
    return [(layer, row) for row in w.now]


def old_rows(w, x):
    """How many of the rows x `[B, H_kv, S, D]` were there before this call."""
    return x.shape[2] - len(w.now)


def after_old(w, old, x):
    """`old` rows in place of the old rows of x, the new ones as they are."""
    return torch.cat([old, x[:, :, old.shape[2] :]], dim=2)
