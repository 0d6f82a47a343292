"""The catalogue of cache faults, and the one function that builds a decoder which has some of them.

A fault is one class with one overridden method: of the cache, of the attention, or of the decoder. Its class is also
its catalogue entry: `@fault(...)` files it under its id. A fault of a feature (a buffer, a window, padding, …) overrides
the smallest correct cache or decoder that has the feature.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from kvaudit.bugs import BUGS

from ..cache import ConcatCache
from ..caches import BufferCache, PaddedCache, WindowCache
from ..decoding import CachedDecoder
from ..loops import RaggedDecoder
from ..model import Block, CausalAttention
from ..modules import combine, with_modules

WINDOW = 8  # tokens that a sliding window keeps, where nothing else is said

# What a feature brings: the correct cache and the correct decoder.
FEATURES = {
    None: (ConcatCache, CachedDecoder),
    "buffer": (BufferCache, CachedDecoder),
    "window": (WindowCache, CachedDecoder),
    "left padding": (PaddedCache, RaggedDecoder),
}

# Features that the model has or has not: feature -> (does this config have it?, what it asks for, in words).
OF_THE_MODEL = {
    "rope": (lambda c: c.positions == "rope", 'a model with rotary positions (positions="rope")'),
    "shared heads": (lambda c: 1 < c.kv_heads < c.n_heads, "a model with 1 < n_kv_heads < n_heads"),
}


@dataclass(frozen=True)
class Fault:
    """One entry: what a reader sees of the fault, and the class that has it."""

    id: str  # that of the bug in the audit's table, whose words it takes: `family`, `does`, `look`
    title: str  # two to five words, as on a toggle
    report: str  # a public report of the same fault
    cls: type
    needs: str | None = None  # a feature without which the fault does not exist: a key of FEATURES or OF_THE_MODEL
    scenario: str = "plain"  # the calls that show it, a key of scenarios.SCENARIOS

    @property
    def family(self):
        """position, mask, append, duplicate, …: the answer that a diagnosis must get right."""
        return BUGS[self.id].family

    @property
    def does(self):
        """What the faulty code does, in one sentence."""
        return BUGS[self.id].does

    @property
    def look(self):
        """Where to look in one's own code."""
        return BUGS[self.id].look

    @cached_property
    def part(self):
        """Which part of the decoder the fault replaces: "cache", "attention", "block" or "decoder"."""
        parts = {"attention": CausalAttention, "block": Block, "decoder": CachedDecoder}
        return next((part for part, base in parts.items() if issubclass(self.cls, base)), "cache")

    @property
    def method(self):
        """Name of the one method that the class overrides."""
        return next(name for name in vars(self.cls) if not name.startswith("_"))

    def fits(self, config):
        """Whether a model of this config can have the fault."""
        return self.needs not in OF_THE_MODEL or OF_THE_MODEL[self.needs][0](config)


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


def faulty(model, *ids, feature=None, capacity=None, window=WINDOW):
    """A decoder over `model` (weights shared) with the faults `ids`; without ids, the correct one.

    `feature` ("buffer", "window", "left padding") asks for a decoder that has it; a fault that needs one brings it.
    `capacity` is the number of rows of a buffer (default: the block size), `window` the tokens that a window keeps.
    Raises ValueError for an unknown id, for a fault that the model cannot have, and for faults that cannot be combined.
    """
    chosen = [find(id) for id in ids]
    check_model(model, chosen)
    check_methods(chosen)
    feature = one_feature(chosen, feature)
    by_part = {part: [f.cls for f in chosen if f.part == part] for part in ("cache", "attention", "block", "decoder")}
    cache_base, decoder_base = FEATURES[feature]
    cache_class = combine(cache_base, *by_part["cache"])
    sizes = {"buffer": (capacity or model.config.block_size,), "window": (window,)}.get(feature, ())
    model = with_modules(model, by_part["attention"], by_part["block"])
    return combine(decoder_base, *by_part["decoder"])(model, lambda: cache_class(model.config.n_layers, *sizes))


def check_model(model, chosen):
    for f in chosen:
        if not f.fits(model.config):
            raise ValueError(f"{f.id} needs {OF_THE_MODEL[f.needs][1]}; this one has {model.config}")


def check_methods(chosen):
    """Raise ValueError where two of the faults replace the same method: only one of them would be there."""
    clash = [key for key, count in Counter((f.part, f.method) for f in chosen).items() if count > 1]
    if clash:
        names = [f.id for f in chosen if (f.part, f.method) == clash[0]]
        raise ValueError(f"{' and '.join(names)} cannot be combined: both replace {clash[0][1]}() of the {clash[0][0]}")


def one_feature(chosen, feature):
    """The one cache that all the faults can live in; ValueError where there is none."""
    asked = {f.needs: f"{f.id} needs a decoder with {f.needs}" for f in chosen if f.needs in FEATURES and f.needs}
    if feature is not None and feature not in FEATURES:
        raise ValueError(f"there is no feature {feature!r}; known are: {', '.join(sorted(filter(None, FEATURES)))}")
    if feature is not None:
        asked.setdefault(feature, f"a decoder with {feature} was asked for")
    if len(asked) > 1:
        raise ValueError(f"{' and '.join(asked.values())}: these cannot be combined, a decoder has one kind of cache")
    feature = next(iter(asked), None)
    for f in chosen:  # a buffer writes in place: code that concatenates rows makes no sense there
        if feature == "buffer" and f.part == "cache" and f.method == "update" and f.needs != "buffer":
            raise ValueError(
                f"{f.id} cannot be combined with a buffer: it replaces update() of a cache that concatenates"
            )
    return feature
