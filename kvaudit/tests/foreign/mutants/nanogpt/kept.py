"""Mistakes in what is kept, and in what happens to it: the decoder after nanoGPT."""

import copy

from ...decoders.nanogpt import Decoder, H, L
from ...mutation import mutation


@mutation(
    "the prompt is fed onto the last request's cache: it is never cleared",
    "stale",
    "K V: all rows of the first request stand before the second's, all layers",
)
class NeverCleared(Decoder):
    def clear(self):
        pass


@mutation(
    "only layer 0's past is cleared for a new request",
    "stale, layers",
    "K V: the first request's rows stay in all layers but the first",
)
class ClearsLayerZero(Decoder):
    def clear(self):
        self.past[0] = None


@mutation(
    "torch.cat((new, past)): the new rows come first",
    "append, mask",
    "K V: order of rows, the newest first, all layers",
)
class NewRowsFirst(Decoder):
    def joined(self, past, new):
        return super().joined(new, past)


@mutation(
    "values are concatenated in the other order than keys",
    "append, K/V",
    "V: order of rows, the newest first, all layers; K right",
)
class ValuesInFront(Decoder):
    def joined(self, past, new):
        return super().joined(past, new)[0], super().joined(new, past)[1]


@mutation(
    "[[None] * 2] * n_layer: all layers append to one list",
    "layers, aliasing, append, position",
    "K V: one list holds the rows of all layers, in every layer",
)
class OneListForAllLayers(Decoder):
    def remember(self, layer, k, v):
        k, v = super().remember(0, k, v)
        self.past = [self.past[0]] * L
        return k, v


@mutation(
    "idx[:, -1:] whenever there is a past: of a chunk only the last token is fed",
    "append",
    "K V: a chunk's rows but its last are missing, all layers",
)
class LastTokenOfAChunk(Decoder):
    def extend(self, tokens):
        return super().extend(tokens[:, -1:])


@mutation(
    "crop keeps n + 1 rows",
    "rollback",
    "K V: one rejected row stays, all layers; later rows stand one position too far",
)
class CropKeepsOneMore(Decoder):
    def crop(self, n):
        super().crop(n + 1)


@mutation(
    "crop takes k[:, :, -n:]: the last n rows, not the first",
    "rollback",
    "K V: after a crop the first rows are gone and the rejected ones are kept, all layers",
)
class CropKeepsTheEnd(Decoder):
    def crop(self, n):
        self.past = [(k[:, :, -n:], v[:, :, -n:]) for k, v in self.past]


@mutation(
    "beams: keys follow their parents, values do not",
    "beams, K/V",
    "V: all rows of beams with another parent, all layers",
)
class ReordersKeysOnly(Decoder):
    def reorder(self, parents):
        self.past = [(k.index_select(0, parents), v) for k, v in self.past]


@mutation(
    "beams: the inverse order is taken (argsort of the parents)",
    "beams",
    "K V: all rows of beams, in another beam's place, all layers",
)
class ReordersBackwards(Decoder):
    def reorder(self, parents):
        super().reorder(parents.argsort(stable=True))


@mutation(
    "fork shares the list of layers, and a layer's entry is replaced in it",
    "aliasing",
    "K V: rows of one fork are appended to the other's, all layers",
)
class ForksShareTheList(Decoder):
    def fork(self):
        return copy.copy(self)


@mutation(
    "the cache is kept in float16",
    "rounding",
    "K V: all rows, rounded to float16",
)
class HalfPrecisionCache(Decoder):
    def stored(self, k, v):
        return k.half().to(k.dtype), v.half().to(v.dtype)


@mutation(
    "the keys of more than one token are reshaped to heads by view alone, without the transpose",
    "K/V",
    "K: rows of prompts and chunks, all layers, heads and tokens mixed; V right",
)
class ViewWithoutTranspose(Decoder):
    def remember(self, layer, k, v):
        B, _, T, D = k.shape
        return super().remember(layer, k.transpose(1, 2).reshape(B, H, T, D), v)
