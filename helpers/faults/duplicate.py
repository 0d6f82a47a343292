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
    title="last token fed twice",
    report="raullenchai/Rapid-MLX#1124",
)
class RefeedLastPromptToken(CachedDecoder):
    def prefill(self, tokens, **ragged):
        super().prefill(tokens, **ragged)
        return self.extend(tokens[:, -1:])


@fault(
    "refeed_everything",
    title="all tokens fed again",
    report="ggml-org/llama.cpp#7859",
)
class RefeedEverything(SequenceDecoder):
    def decode(self, token):
        everything = torch.cat([self.tokens, token[:, None]], dim=1)
        self.tokens = self.tokens[:, :0]  # extend keeps what it is fed
        return self.extend(everything)


@fault(
    "decode_row_twice",
    title="row stored twice",
    report="OpenDriveLab/AgiBot-World#157",
)
class DecodeRowTwice(ConcatCache):
    def update(self, k, v, layer):
        times = 2 if is_decode(self, k.shape[2]) else 1
        return super().update(k.repeat(1, 1, times, 1), v.repeat(1, 1, times, 1), layer)
