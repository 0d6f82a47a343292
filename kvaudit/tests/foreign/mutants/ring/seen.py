"""Mistakes in what a token sees of the cache, and where it stands: the decoder after Mistral's reference code."""

import torch

from ...decoders.ring import RING, WINDOW, Decoder, G, H
from ...mutation import mutation


@mutation(
    "ago <= window: one token too many is seen",
    "window",
    "none in layer 0; deeper layers follow",
)
class WindowOneLonger(Decoder):
    def visible(self, positions, places):
        ago = positions[:, None] - places
        return (places >= 0) & (ago >= 0) & (ago <= WINDOW)


@mutation(
    "the window is one token too short in decode",
    "window",
    "none in layer 0; deeper layers follow (decoded rows)",
)
class WindowOneShorter(Decoder):
    def visible(self, positions, places):
        return super().visible(positions, places) & (positions[:, None] - places < WINDOW - (len(positions) == 1))


@mutation(
    "decode sees all that is in the ring, also what is older than the window",
    "window, mask",
    "none in layer 0; deeper layers follow (decoded rows)",
)
class WholeRingIsSeen(Decoder):
    def visible(self, positions, places):
        if len(positions) > 1:
            return super().visible(positions, places)
        return (places >= 0)[None]


@mutation(
    "the prompt is masked causally, without the window",
    "window, mask",
    "none in layer 0; deeper layers follow (the prompt's rows)",
)
class PromptWithoutWindow(Decoder):
    def visible(self, positions, places):
        ago = positions[:, None] - places
        return (places >= 0) & (ago >= 0) & ((ago < WINDOW) | (positions[0] == 0))


@mutation(
    "a chunk is written before the ring is read: what its first tokens still see may be gone",
    "window, append",
    "none in layer 0; deeper layers follow (the first rows of prompts longer than the ring)",
)
class WritesBeforeReading(Decoder):
    def read(self, layer, k, v, positions):
        self.write(layer, k, v, positions)
        held = self.held
        self.note(positions)
        places, self.held = self.held, held
        return *self.rings[layer], places


@mutation(
    "the ring forgets the positions of slots after the write head once it has wrapped",
    "window, mask",
    "none in layer 0; deeper layers follow (once the ring has wrapped)",
)
class ForgetsTheOldLap(Decoder):
    def read(self, layer, k, v, positions):
        keys, values, places = super().read(layer, k, v, positions)
        lap = self.length - self.length % RING
        return keys, values, places.masked_fill(places < lap, -1)


@mutation(
    "keys and queries are turned by their slot, not by their position",
    "rotary, position, window",
    "K: rows after the first lap are turned by position % ring, all layers; V right in layer 0",
)
class TurnedBySlot(Decoder):
    def turns(self, positions):
        return positions % RING


@mutation(
    "the position is clamped at the ring's length",
    "rotary, position, window",
    "K: rows from position RING on are all turned alike, all layers; V right in layer 0",
)
class ClampedPosition(Decoder):
    def turns(self, positions):
        return positions.clamp(max=RING - 1)


@mutation(
    "of a prompt longer than the ring the first rows are kept, not the last",
    "window, append",
    "K V: of long prompts the first RING rows are in the ring, marked as the last ones, all layers",
)
class KeepsTheFirst(Decoder):
    def write(self, layer, k, v, positions):
        first = (torch.arange(len(positions)) - max(0, len(positions) - RING)).clamp(min=0)
        super().write(layer, k[:, first], v[:, first], positions)


@mutation(
    "values are tiled over the query heads, keys are interleaved",
    "shared heads, K/V",
    "none in layer 0; deeper layers follow",
)
class TiledValues(Decoder):
    def repeated(self, keys, values):
        return super().repeated(keys, values)[0], values.repeat(1, 1, H // G, 1)


@mutation(
    "the ring's modulus is the window for writing, the ring's length for the table of positions",
    "window, append, preallocated",
    "K V: rows in slots WINDOW … are never written (zeros), the others are overwritten early, all layers",
)
class TwoModuli(Decoder):
    def scatter(self, ring, new, slots):
        super().scatter(ring, new, slots % WINDOW)


@mutation(
    "the position of a decoded token counts the tokens in the ring, so it stops at the ring's length",
    "position, rotary, window",
    "K V: decoded rows after the ring is full all are written to slot 0 and turned by RING, all layers",
)
class LengthStopsAtTheRing(Decoder):
    def feed(self, tokens):
        logits = super().feed(tokens)
        self.length = min(self.length, RING)
        return logits
