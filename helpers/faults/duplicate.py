"""Duplicate faults: something is fed or stored a second time, and every query attends to it twice."""

import torch

from ..cache import ConcatCache
from ..decoding import CachedDecoder
from .position import is_decode
from .registry import fault


class SequenceDecoder(CachedDecoder):
    """A correct decoder that also keeps the token ids of its sequence `[B, T so far]`, as many loops do."""

    tokens = None

    def prefill(self, tokens, **ragged):
        self.tokens = tokens[:, :0]
        return super().prefill(tokens, **ragged)

    def extend(self, tokens):
        self.tokens = torch.cat([self.tokens, tokens], dim=1)
        return super().extend(tokens)

    def extend_all(self, tokens):
        self.tokens = torch.cat([self.tokens, tokens], dim=1)
        return super().extend_all(tokens)

    def crop(self, length):
        self.tokens = self.tokens[:, :length]
        super().crop(length)

    def reorder(self, parents):
        self.tokens = self.tokens[parents]
        super().reorder(parents)


@fault(
    "refeed_last_prompt_token",
    family="duplicate",
    title="last token fed twice",
    does="The whole prompt is prefilled, then its last token is fed once more as the first step.",
    look="what the first step after prefill feeds: prefill has already read the whole prompt and given its logits",
    report="raullenchai/Rapid-MLX#1124",
)
class RefeedLastPromptToken(CachedDecoder):
    def prefill(self, tokens, **ragged):
        super().prefill(tokens, **ragged)
        return self.extend(tokens[:, -1:])


@fault(
    "refeed_everything",
    family="duplicate",
    title="all tokens fed again",
    does="Each step feeds the whole sequence into a cache that already holds it: the rows grow by n.",
    look="what a step feeds: the new token alone, not the sequence that the loop collects",
    report="ggml-org/llama.cpp#7859",
)
class RefeedEverything(SequenceDecoder):
    def decode(self, token):
        everything = torch.cat([self.tokens, token[:, None]], dim=1)
        self.tokens = self.tokens[:, :0]  # extend keeps what it is fed
        return self.extend(everything)


@fault(
    "decode_row_twice",
    family="duplicate",
    title="row stored twice",
    does="In decode a layer appends its new key and value twice: the rows grow by 2 a step.",
    look="every place that appends to the cache: is one in the attention and another one in the loop?",
    report="OpenDriveLab/AgiBot-World#157",
)
class DecodeRowTwice(ConcatCache):
    def update(self, k, v, layer):
        times = 2 if is_decode(self, k.shape[2]) else 1
        return super().update(k.repeat(1, 1, times, 1), v.repeat(1, 1, times, 1), layer)
