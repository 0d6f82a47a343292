"""The catalogue of cache faults, and the one function that builds a decoder which has some of them.

A fault is one class with one overridden method: of the cache, of the attention or block, or of the decoder. Its class
is also its catalogue entry: `@fault(...)` files it under its id.
"""

import copy
from collections import Counter
from dataclasses import dataclass

from ..cache import ConcatCache
from ..decoding import CachedDecoder
from ..model import Block, CausalAttention


@dataclass(frozen=True)
class Fault:
    """One entry: what a reader sees of the fault, and the class that has it."""

    id: str
    family: str  # position, mask, append, duplicate, ... : the answer that a diagnosis must get right
    title: str  # two to five words, as on a toggle
    does: str  # what the faulty code does, in one sentence
    look: str  # where to look in one's own code
    report: str  # a public report of the same fault
    cls: type
    needs: str | None = None  # a feature without which the fault does not exist: "rope", "buffer", "window", ...

    @property
    def part(self):
        """Which part of the decoder the fault replaces: "cache", "attention", "block" or "decoder"."""
        parts = {"attention": CausalAttention, "block": Block, "decoder": CachedDecoder}
        return next((part for part, base in parts.items() if issubclass(self.cls, base)), "cache")

    @property
    def method(self):
        """Name of the one method that the class overrides."""
        return next(name for name in vars(self.cls) if not name.startswith("__"))


CATALOGUE: dict[str, Fault] = {}


def fault(id, **words):
    """Class decorator that files the class in the catalogue under `id`."""

    def file(cls):
        CATALOGUE[id] = Fault(id=id, cls=cls, **words)
        return cls

    return file


def find(id):
    """The catalogue entry of `id`; ValueError with the known ids if there is none."""
    if id not in CATALOGUE:
        raise ValueError(f"there is no fault {id!r}; the catalogue has: {', '.join(sorted(CATALOGUE))}")
    return CATALOGUE[id]


def faulty(model, *ids):
    """A decoder over `model` (weights shared) with the faults `ids`; without ids, the correct one.

    Raises ValueError for an unknown id and for two faults that replace the same method.
    """
    chosen = [find(id) for id in ids]
    clash = [key for key, count in Counter((f.part, f.method) for f in chosen).items() if count > 1]
    if clash:
        names = [f.id for f in chosen if (f.part, f.method) == clash[0]]
        raise ValueError(f"{' and '.join(names)} cannot be combined: both replace {clash[0][1]}() of the {clash[0][0]}")
    by_part = {part: [f.cls for f in chosen if f.part == part] for part in ("cache", "attention", "block", "decoder")}
    cache_class = combine(by_part["cache"], ConcatCache)
    decoder_class = combine(by_part["decoder"], CachedDecoder)
    model = with_modules(model, by_part["attention"], by_part["block"])
    return decoder_class(model, lambda: cache_class(model.config.n_layers))


def combine(classes, base):
    return base if not classes else classes[0] if len(classes) == 1 else type("Combined", tuple(classes), {})


def with_modules(model, attention, block):
    """`model` with other attention or block classes and the very same parameters; `model` itself where none is given."""
    if not attention and not block:
        return model
    shared = [*model.parameters(), *model.buffers()]
    twin = copy.deepcopy(model, {id(tensor): tensor for tensor in shared})
    for layer in twin.blocks:
        layer.attention.__class__ = combine(attention, CausalAttention)
        layer.__class__ = combine(block, Block)
    return twin
