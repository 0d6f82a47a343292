"""What is timed against what: our decoders and the library's, each built over one network.

All networks have the same weights. "ours" are MiniGPTs with the products that are fastest for one row; where fewer bits
a weight are named, the logits differ by more than rounding, and the table says by how much.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..caches import PreallocatedCache
from ..decoding import CachedDecoder, Oracle
from . import gpt2
from .products import with_products

LIBRARY = "transformers"
NETWORKS = {  # name: built from a MiniGPT
    "plain": lambda model: model,
    "products": with_products,
    "float16": lambda model: with_products(model, "float16"),
    "bfloat16": lambda model: with_products(model, "bfloat16"),
    "int8": lambda model: with_products(model, "int8"),
    LIBRARY: gpt2.gpt2_twin,
}


@dataclass(frozen=True)
class Variant:
    """One row of the table. `new(network, capacity)` builds its decoder over `NETWORKS[network]`.

    exact: its logits are to be the reference's but for rounding; cached: a step costs one token, not the whole sequence.
    """

    name: str
    network: str
    new: Callable
    cached: bool = True
    exact: bool = True


def preallocated(model, capacity):
    return CachedDecoder(model, lambda: PreallocatedCache(model.config.n_layers, capacity))


def concatenated(model, capacity):
    return CachedDecoder(model)


def dynamic(model, capacity):
    return gpt2.LibraryDecoder(model, lambda: gpt2.dynamic_cache(model))


def static(model, capacity):
    return gpt2.LibraryDecoder(model, lambda: gpt2.static_cache(model, capacity))


def compiled(model, capacity):
    """The static cache with the step compiled: it compiles in its first calls, and may refuse there."""
    decoder = static(model, capacity)
    decoder.step = torch.compile(model.forward, dynamic=False)
    return decoder


BUFFER, CONCAT, LOOP = "preallocated", "concatenated", "no cache"
DYNAMIC, COMPILED = "transformers dynamic", "transformers static, compiled"
LIBRARY_LOOP = "transformers no cache"

VARIANTS = {
    v.name: v
    for v in (
        Variant(BUFFER, "products", preallocated),
        Variant(CONCAT, "products", concatenated),
        Variant("preallocated, nn.Linear", "plain", preallocated),
        Variant("preallocated, float16 weights", "float16", preallocated, exact=False),
        Variant("preallocated, bfloat16 weights", "bfloat16", preallocated, exact=False),
        Variant("preallocated, int8 weights", "int8", preallocated, exact=False),
        Variant(DYNAMIC, LIBRARY, dynamic),
        Variant("transformers static", LIBRARY, static),
        Variant(COMPILED, LIBRARY, compiled),
        Variant(LOOP, "products", lambda model, capacity: Oracle(model), cached=False),  # the fastest loop that we have
        Variant(LIBRARY_LOOP, LIBRARY, lambda model, capacity: gpt2.LibraryLoop(model), cached=False),
    )
}


class Stepper:
    """A callable for `interleaved`: decodes one given token a call, up to the last of `tokens` `[B, length]`.

    Before, it feeds all but the last `steps` tokens as the prompt. Returns the logits `[B, V]`.
    """

    def __init__(self, decoder, tokens, steps):
        length = tokens.shape[1]
        if not 0 < steps < length:
            raise ValueError(
                f"a sequence of {length} tokens has no room for {steps} timed steps after a prompt: take fewer rounds "
                "or a longer length"
            )
        self.decoder, self.tokens, self.next = decoder, tokens, length - steps
        decoder.prefill(tokens[:, : self.next])

    def __call__(self):
        logits = self.decoder.decode(self.tokens[:, self.next])
        self.next += 1
        return logits
