"""Mistakes in what a token sees of the cache, and where it stands: the decoder after gpt-fast."""

import torch

from ...decoders.gptfast import D, Decoder, G, H, apply_rotary_emb
from ...mutation import mutation


@mutation(
    "after the prompt input_pos is T - 1: the first token overwrites the prompt's last row",
    "position, append, preallocated",
    "K V: the prompt's last row is overwritten by the first decoded one, later rows stand one slot early, all layers",
)
class InputPosOneBack(Decoder):
    def prefill(self, tokens):
        logits = super().prefill(tokens)
        self.next -= 1
        return logits


@mutation(
    "after the prompt input_pos is T + 1: a slot is left out, and the mask shows it",
    "position, append, preallocated",
    "K V: the slot after the prompt is empty (zeros), later rows stand one slot late, all layers",
)
class InputPosOneAhead(Decoder):
    def prefill(self, tokens):
        logits = super().prefill(tokens)
        self.next += 1
        return logits


@mutation(
    "no mask for one token: empty slots take part in the softmax",
    "mask, preallocated",
    "none in layer 0; deeper layers follow (decoded rows)",
)
class NoMaskForOneToken(Decoder):
    def mask(self, input_pos):
        mask = super().mask(input_pos)
        return torch.ones_like(mask) if len(input_pos) == 1 else mask


@mutation(
    "mask rows from 0 on, not those of input_pos",
    "mask",
    "none in layer 0; deeper layers follow (decoded rows and chunks)",
)
class MaskRowsFromZero(Decoder):
    def mask(self, input_pos):
        return super().mask(torch.arange(len(input_pos)))


@mutation(
    "freqs_cis[:T] for a chunk instead of freqs_cis[input_pos]",
    "rotary, position",
    "K: rows of chunks on a filled cache, turned as if they stood at 0 …, all layers; V right in layer 0",
)
class ChunksRotatedFromZero(Decoder):
    def extend(self, tokens):
        self.chunk = True
        logits = super().extend(tokens)
        self.chunk = False
        return logits

    def freqs(self, input_pos):
        return super().freqs(torch.arange(len(input_pos)) if getattr(self, "chunk", False) else input_pos)


@mutation(
    "the prompt's keys are cached before the rotation, those of decode after it",
    "rotary",
    "K: the prompt's rows are not turned, all layers; V right in layer 0",
)
class PromptCachedUnrotated(Decoder):
    def attention(self, layer, x, freqs_cis, mask, input_pos):
        y = super().attention(layer, x, freqs_cis, mask, input_pos)
        if input_pos[0] == 0:
            _, k, _ = self.split(x @ self.w["wqkv"][layer])
            self.cache_of(layer).k_cache[:, :, input_pos] = k.transpose(1, 2)
        return y


@mutation(
    "one token is rotated by halves, a prompt by pairs",
    "rotary",
    "K: decoded rows, turned with other pairs, all layers; V right in layer 0",
)
class HalvesInDecode(Decoder):
    def turned(self, q, k, freqs_cis):
        if q.shape[1] > 1:
            return super().turned(q, k, freqs_cis)
        order = torch.arange(D).view(2, -1).T.flatten()  # 0, D / 2, 1, D / 2 + 1, …
        return tuple(apply_rotary_emb(x[..., order], freqs_cis)[..., order.argsort()] for x in (q, k))


@mutation(
    "repeat instead of repeat_interleave: heads are tiled",
    "shared heads",
    "none in layer 0; deeper layers follow",
)
class TiledHeads(Decoder):
    def expanded(self, k, v):
        return k.repeat(1, H // G, 1, 1), v.repeat(1, H // G, 1, 1)


@mutation(
    "keys are interleaved, values tiled",
    "shared heads, K/V",
    "none in layer 0; deeper layers follow",
)
class TiledValues(Decoder):
    def expanded(self, k, v):
        return super().expanded(k, v)[0], v.repeat(1, H // G, 1, 1)
