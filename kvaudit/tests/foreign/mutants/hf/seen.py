"""Mistakes in what a token sees of the cache, and where it stands: the decoder after transformers."""

import torch

from ...decoders.hf import GROUPS, Decoder
from ...mutation import mutation


@mutation(
    "a padded prompt's position_ids count the padding, those of decode do not",
    "ragged batch, position",
    "K: a padded prompt's rows are turned by its padding too far, all layers; V right in layer 0",
)
class PromptCountsPadding(Decoder):
    def position_ids(self, T):
        if self.past_key_values is None:
            return torch.arange(T).expand(len(self.attention_mask), T)
        return super().position_ids(T)


@mutation(
    "decode's position is the past length, padding included",
    "ragged batch, position",
    "K: decoded rows of padded sequences are turned by the padding too far, all layers; V right in layer 0",
)
class DecodeCountsPadding(Decoder):
    def position_ids(self, T):
        if self.past_key_values is None:
            return super().position_ids(T)
        past = self.past_length(self.past_key_values)
        return torch.arange(past, past + T).expand(len(self.attention_mask), T)


@mutation(
    "the mask grows on the left: a padded row's padding moves",
    "ragged batch, mask",
    "none in layer 0; deeper layers follow (decoded rows of padded sequences)",
)
class MaskGrowsOnTheLeft(Decoder):
    def longer_mask(self, new):
        return torch.cat([new, self.attention_mask], dim=1)

    def position_ids(self, T):
        return (
            super().position_ids(T)
            if self.past_key_values is None
            else self.attention_mask.sum(1, True) - T + torch.arange(T)
        )


@mutation(
    "the padding is masked in the prompt only: decode sees it",
    "ragged batch, mask",
    "none in layer 0; deeper layers follow (decoded rows of padded sequences)",
)
class DecodeSeesPadding(Decoder):
    def padding(self, S):
        padding = super().padding(S)
        return padding if self.past_key_values is None else torch.ones_like(padding)


@mutation(
    "the padding is never masked",
    "ragged batch, mask",
    "none in layer 0; deeper layers follow (padded sequences)",
)
class PaddingIsSeen(Decoder):
    def padding(self, S):
        return torch.ones_like(super().padding(S))


@mutation(
    "-inf instead of finfo.min: what stands in the padding sees nothing and becomes NaN",
    "ragged batch, mask",
    "K V: the padding's rows are NaN in all layers but the first",
)
class MinusInfinity(Decoder):
    def causal_mask(self, T, past_length):
        mask = super().causal_mask(T, past_length)
        return mask.masked_fill(mask < 0, -torch.inf)


@mutation(
    "the prompt's logits are taken at lengths - 1, as if it were padded on the right",
    "ragged batch",
    "none",
)
class LogitsAtTheLength(Decoder):
    def last(self, hidden):
        if hidden.shape[1] < self.attention_mask.shape[1]:
            return super().last(hidden)
        return hidden[torch.arange(len(hidden)), self.attention_mask.sum(1) - 1]


@mutation(
    "position_ids of batch row 0 are used for all rows in decode",
    "ragged batch, batch rows, position",
    "K: decoded rows of shorter sequences are turned as row 0's, all layers; V right in layer 0",
)
class PositionsOfRowZero(Decoder):
    def position_ids(self, T):
        positions = super().position_ids(T)
        return positions[:1].expand_as(positions) if self.past_key_values is not None else positions


@mutation(
    "the causal part of the mask starts at 0 whatever the past is",
    "mask",
    "none in layer 0; deeper layers follow (rows of chunks and decoded rows)",
)
class CausalFromZero(Decoder):
    def causal_mask(self, T, past_length):
        hidden = torch.arange(past_length + T) > torch.arange(T)[:, None]
        return torch.zeros(1, 1, *hidden.shape, dtype=torch.float64).masked_fill(hidden, torch.finfo(torch.float64).min)


@mutation(
    "query heads are grouped for keys by torch.repeat",
    "shared heads, K/V",
    "none in layer 0; deeper layers follow",
)
class RepeatedKeys(Decoder):
    def repeated(self, k, v):
        return k.repeat(1, GROUPS, 1, 1), super().repeated(k, v)[1]


@mutation(
    "key/value heads are expanded one head off (rolled)",
    "shared heads",
    "none in layer 0; deeper layers follow",
)
class HeadsOneOff(Decoder):
    def repeated(self, k, v):
        return super().repeated(k.roll(1, dims=1), v.roll(1, dims=1))


@mutation(
    "rotary_emb is given arange(T): new rows are turned as if they stood at 0 …",
    "rotary, position",
    "K: rows of decode and extend are turned as if they stood at 0 …, all layers; V right in layer 0",
)
class RotatesFromZero(Decoder):
    def rotary_emb(self, position_ids):
        return super().rotary_emb(torch.arange(position_ids.shape[1])[None])


@mutation(
    "the queries are not rotated in decode",
    "rotary",
    "none in layer 0; deeper layers follow (decoded rows)",
)
class QueriesNotRotated(Decoder):
    def apply_rotary(self, q, k, cos, sin):
        turned, k = super().apply_rotary(q, k, cos, sin)
        return (q if q.shape[2] == 1 else turned), k
