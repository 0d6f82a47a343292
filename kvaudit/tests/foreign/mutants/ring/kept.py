"""Mistakes in what is kept, and in what happens to it: the decoder after Mistral's reference code."""

from ...decoders.ring import WINDOW, Decoder, L
from ...mutation import mutation


@mutation(
    "crop moves the position back and does not mark the rejected slots empty: they are seen beside the new rows",
    "rollback, stale",
    "K V: the rejected rows stay visible until they are overwritten, all layers",
)
class RejectedSlotsStay(Decoder):
    def crop(self, n):
        self.length = n


@mutation(
    "crop marks the slots empty and leaves the position where it was",
    "rollback, position",
    "K V: rows after a crop stand (and are turned) as many positions late as were rejected, all layers",
)
class PositionIsNotCropped(Decoder):
    def crop(self, n):
        length = self.length
        super().crop(n)
        self.length = length


@mutation(
    "a new prompt goes on with the ring as it is",
    "stale",
    "K V: the first request's last rows stay in the ring and in the second's window, all layers",
)
class RingIsReused(Decoder):
    def start(self, batch):
        if not self.rings:
            super().start(batch)


@mutation(
    "the flat view's stride is the window, not the ring: rows are written into the neighbour's slots",
    "batch rows, preallocated",
    "K V: all batch rows but the first, written 3 slots early for each row above, over the row before, all layers",
)
class WrongStride(Decoder):
    def stride(self):
        return WINDOW


@mutation(
    "fork clones the keys' rings and shares the values'",
    "aliasing, K/V",
    "V: slots after the fork hold what the other fork wrote, all layers; K right in layer 0",
)
class ForksShareValues(Decoder):
    def fork(self):
        twin = super().fork()
        twin.rings = [(k, v) for (k, _), (_, v) in zip(twin.rings, self.rings)]
        return twin


@mutation(
    "beams: only the slots of the window are reordered, those of the slack are not",
    "beams, window",
    "K V: rows in the last slots of the ring, of beams with another parent, all layers",
)
class ReordersTheWindow(Decoder):
    def reorder(self, parents):
        for ring in self.rings:
            for t in ring:
                t[:, :WINDOW] = t[parents, :WINDOW]


@mutation(
    "beams: each layer's rings are reordered, but the parents are taken for the first layer only",
    "beams, layers",
    "K V: all rows of beams with another parent in all layers but the first",
)
class ReordersLayerZero(Decoder):
    def reorder(self, parents):
        self.rings = [tuple(t[parents] for t in self.rings[0]), *self.rings[1:]]


@mutation(
    "all layers share one ring",
    "layers",
    "K V: all layers hold the last layer's rows",
)
class OneRingForAllLayers(Decoder):
    def start(self, batch):
        super().start(batch)
        self.rings = [self.rings[0]] * L


@mutation(
    "the ring is float16",
    "rounding",
    "K V: all rows, rounded to float16",
)
class HalfPrecisionRing(Decoder):
    def stored(self, new):
        return new.half().to(new.dtype)
