"""Decoders that differ from the plain cached one and are right: by rounding, by schedule, by kernel. No fault is in them."""

import copy

import torch

from ..caches import Int8Cache, RoundedCache
from ..decoding import CachedDecoder
from ..model import CAUSAL, CausalAttention
from ..modules import with_modules


class ChunkedDecoder(CachedDecoder):
    """Prefills `chunk` tokens at a time."""

    chunk = 3

    def prefill(self, tokens):
        self.start()
        for piece in tokens.split(self.chunk, dim=1):
            logits = self.extend(piece)
        return logits


class ExplicitAttention(CausalAttention):
    """Another kernel: matrix products and a softmax, where the model calls scaled_dot_product_attention."""

    def attend(self, q, k, v, mask):
        scores = q @ k.transpose(-2, -1) * self.scale()  # [B, H, T, S]
        if mask is CAUSAL:
            mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return scores.softmax(dim=-1) @ v


def cached_in(new_cache):
    return lambda model: CachedDecoder(model, lambda: new_cache(model.config.n_layers))


# name -> builder of a decoder over a model
CONTROLS = {
    "cache in bfloat16": cached_in(lambda n_layers: RoundedCache(n_layers, torch.bfloat16)),
    "cache in float16": cached_in(lambda n_layers: RoundedCache(n_layers, torch.float16)),
    "cache in int8": cached_in(Int8Cache),
    "chunked prefill": ChunkedDecoder,
    "explicit attention": lambda model: CachedDecoder(with_modules(model, [ExplicitAttention], [])),
    "float64": lambda model: CachedDecoder(copy.deepcopy(model).double()),
}


def control(model, name):
    """The correct decoder `name`, a key of CONTROLS, over `model`; ValueError with the known names if there is none."""
    if name not in CONTROLS:
        raise ValueError(f"there is no control {name!r}; known are: {', '.join(CONTROLS)}")
    return CONTROLS[name](model)
