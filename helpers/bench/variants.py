"""What is timed against what: our decoders and the library's, each built over one network."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..caches.buffer import BufferCache
from ..decoding import CachedDecoder, Oracle
from . import gpt2

OURS, THEIRS = "ours", "transformers"


@dataclass(frozen=True)
class Variant:
    """One row of the table. `new(network, capacity)` builds its decoder; the network is a MiniGPT (ours) or a GPT-2."""

    name: str
    family: str
    new: Callable
    cached: bool = True


def buffered(model, capacity):
    return CachedDecoder(model, lambda: BufferCache(model.config.n_layers, capacity))


def compiled(model, capacity):
    """The static cache with the step compiled: it compiles in its first calls, and may refuse there."""
    step = torch.compile(model.forward, dynamic=False)
    return gpt2.LibraryDecoder(model, lambda: gpt2.static_cache(model, capacity), step)


BUFFER, CONCAT, LOOP = "preallocated", "concatenated", "no cache"
DYNAMIC, LIBRARY_LOOP = "transformers dynamic", "transformers no cache"
COMPILED = "transformers static, compiled"

VARIANTS = {
    v.name: v
    for v in (
        Variant(BUFFER, OURS, buffered),
        Variant(CONCAT, OURS, lambda model, capacity: CachedDecoder(model)),
        Variant(DYNAMIC, THEIRS, lambda m, capacity: gpt2.LibraryDecoder(m, lambda: gpt2.dynamic_cache(m))),
        Variant("transformers static", THEIRS, lambda m, n: gpt2.LibraryDecoder(m, lambda: gpt2.static_cache(m, n))),
        Variant(COMPILED, THEIRS, compiled),
        Variant(LOOP, OURS, lambda model, capacity: Oracle(model), cached=False),
        Variant(LIBRARY_LOOP, THEIRS, lambda m, capacity: gpt2.LibraryLoop(m), cached=False),
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
