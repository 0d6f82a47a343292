"""Mistakes in what is kept, and in what happens to it: the decoder after transformers."""

import torch

from ...decoders.hf import Decoder, L
from ...mutation import mutation


@mutation(
    "_reorder_cache leaves out the last layer",
    "beams, layers",
    "K V: all rows of beams with another parent in the last layer; the other layers right",
)
class ReordersAllButTheLast(Decoder):
    def reorder_cache(self, past, beam_idx):
        return (*super().reorder_cache(past[:-1], beam_idx), past[-1])


@mutation(
    "beams: the cache follows the parents, the attention mask does not",
    "beams, ragged batch",
    "none; which rows are padding is taken from the wrong beam",
)
class MaskIsNotReordered(Decoder):
    def reorder(self, parents):
        self.past_key_values = self.reorder_cache(self.past_key_values, parents)


@mutation(
    "crop cuts the cache and not the attention mask: positions go on from the longer one",
    "rollback, position",
    "K: rows after a crop are turned by the number of rejected tokens too far, all layers; V right in layer 0",
)
class MaskIsNotCropped(Decoder):
    def crop(self, n):
        mask = self.attention_mask
        super().crop(n)
        self.attention_mask = mask


@mutation(
    "crop takes n as the number of tokens to drop",
    "rollback",
    "K V: after a crop too few rows are left, all layers",
)
class CropDropsN(Decoder):
    def crop(self, n):
        super().crop(max(1, self.attention_mask.shape[1] - n))


@mutation(
    "the first decode feeds the prompt's last token once more",
    "duplicate",
    "K V: the prompt's last token has two rows, all layers",
)
class LastTokenTwice(Decoder):
    def prefill(self, tokens, lengths=None):
        self.pending = tokens[:, -1:]
        return super().prefill(tokens, lengths)

    def decode(self, token):
        if self.pending is not None:
            self.extend(self.pending)
            self.pending = None
        return super().decode(token)


@mutation(
    "prepare_inputs does not cut: all tokens so far are fed again on top of the past",
    "duplicate, append",
    "K V: rows of all earlier tokens are appended again with each decode, all layers",
)
class FeedsEverythingAgain(Decoder):
    def prefill(self, tokens, lengths=None):
        self.ids = tokens
        return super().prefill(tokens, lengths)

    def decode(self, token):
        self.ids = torch.cat([self.ids, token[:, None]], dim=1)
        return self.extend(self.ids)


@mutation(
    "the last layer's present_key_value is made of the new rows only",
    "append, layers",
    "K V: the last layer holds the rows of the last call only",
)
class LastLayerForgets(Decoder):
    def present(self, layer, k, v, T):
        return (k[:, :, -T:], v[:, :, -T:]) if layer == L - 1 else (k, v)

    def self_attn(self, layer, x, cos, sin, mask, past):
        if layer == L - 1:
            mask = mask[..., -x.shape[1] :]
        return super().self_attn(layer, x, cos, sin, mask, past)


@mutation(
    "a quantized cache: int8 with one scale for each row",
    "rounding",
    "K V: all rows, rounded to int8 steps, all layers",
)
class Int8Cache(Decoder):
    def present(self, layer, k, v, T):
        return self.quantized(k), self.quantized(v)

    def quantized(self, x):
        scale = x.abs().amax(dim=-1, keepdim=True) / 127
        return (x / scale).round() * scale


@mutation(
    "past_key_values[0] is handed to every layer",
    "layers",
    "K V: in all layers but the first, the rows before the last call's are layer 0's",
)
class PastOfLayerZero(Decoder):
    def self_attn(self, layer, x, cos, sin, mask, past):
        return super().self_attn(layer, x, cos, sin, mask, self.past_key_values and self.past_key_values[0])
