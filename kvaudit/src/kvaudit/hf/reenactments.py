"""Public bug reports, re-enacted on a `transformers` model: each is a decoder with one thing told to the model wrongly.

Whether a wrong argument matters is up to the installed version: it may ignore it, and a model may have nothing to get wrong
there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .decoder import HFDecoder


def decoding(T: int, decoder: HFDecoder) -> bool:
    """A single step on top of a prompt, in the sense of code that tests `input_ids.shape[1] == 1`."""
    return T == 1 and decoder.real.shape[1] > 1


class PositionZero(HFDecoder):
    def position_ids(self, T: int) -> Tensor:
        right = super().position_ids(T)
        return torch.zeros_like(right) if decoding(T, self) else right


class PositionPlusOne(HFDecoder):
    def position_ids(self, T: int) -> Tensor:
        return super().position_ids(T) + int(decoding(T, self))


class PositionRestarts(HFDecoder):
    def prefill(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.counter = 0
        return super().prefill(tokens, lengths)

    def position_ids(self, T: int) -> Tensor:
        right = super().position_ids(T)
        if not decoding(T, self):
            return right
        self.counter += 1
        return torch.full_like(right, self.counter - 1)


class PositionThroughPadding(HFDecoder):
    def position_ids(self, T: int) -> Tensor:
        S = self.real.shape[1]
        return torch.arange(S - T, S, device=self.real.device).expand(len(self.real), T)


class PositionShared(HFDecoder):
    def position_ids(self, T: int) -> Tensor:
        S = self.real.shape[1]
        return torch.full_like(self.real[:, -1:], S - 1) if decoding(T, self) else super().position_ids(T)


class MaskDroppedInDecode(HFDecoder):
    def attention_mask(self, T: int) -> Tensor | None:
        return None if decoding(T, self) else self.real


class MaskDropped(HFDecoder):
    def attention_mask(self, T: int) -> Tensor | None:
        return None


class MaskNotExtended(HFDecoder):
    def prefill(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.prompt = tokens.shape[1]
        return super().prefill(tokens, lengths)

    def attention_mask(self, T: int) -> Tensor | None:
        return self.real[:, : self.prompt] if decoding(T, self) else self.real


class CacheReused(HFDecoder):
    """One cache for every request, never reset; the library then counts positions from what the cache holds."""

    def start(self, tokens: Tensor) -> None:
        if self.cache is None or len(self.real) != len(tokens):
            super().start(tokens)


class CacheReusedPositionsNew(CacheReused):
    """One cache for every request; the positions begin at 0 again, the mask covers all that is cached."""

    def prefill(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.before = 0 if self.cache is None else self.real.shape[1]
        return super().prefill(tokens, lengths)

    def position_ids(self, T: int) -> Tensor:
        return (super().position_ids(T) - self.before).clamp(min=0)


class DraftNotCropped(HFDecoder):
    def crop(self, length: int) -> None:
        pass


class DraftPositionsOnly(HFDecoder):
    """The loop's own count goes back, the cache keeps the rejected rows."""

    def crop(self, length: int) -> None:
        self.rejected = self.real.shape[1] - length

    def position_ids(self, T: int) -> Tensor:
        return super().position_ids(T) - getattr(self, "rejected", 0)


class LastTokenAgain(HFDecoder):
    def prefill(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        super().prefill(tokens, lengths)
        return self.extend(tokens[:, -1:])


class EverythingAgain(HFDecoder):
    def prefill(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.ids = tokens
        return super().prefill(tokens, lengths)

    def extend(self, tokens: Tensor) -> Tensor:
        self.ids = torch.cat([self.ids, tokens], dim=1)
        return super().extend(self.ids if tokens.shape[1] == 1 else tokens)


class BeamsNotReordered(HFDecoder):
    def reorder(self, parents: Tensor) -> None:
        pass


class PrefixByReference(HFDecoder):
    def fork(self) -> HFDecoder:
        return self


class CachePosition(HFDecoder):
    """`cache_position` as older versions took it, and wrong: every call begins at row 0."""

    def arguments(self, T: int) -> dict[str, Any]:
        return super().arguments(T) | {"cache_position": torch.arange(T, device=self.real.device)}


@dataclass(frozen=True)
class Reenactment:
    """`faults`: catalogue ids (see faults) or ids of hypotheses that name it right; `report`: where it was reported."""

    decoder: type[HFDecoder]
    does: str
    family: str
    faults: tuple[str, ...]
    report: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)  # for the decoder, such as cache="static"


def again(decoder: type[HFDecoder], does: str, family: str, report: str, *faults: str, **options: Any) -> Reenactment:
    return Reenactment(decoder, does, family, faults, report, options)


REENACTMENTS = {
    r.decoder.__name__ + ("" if not r.options else " " + r.options["cache"]): r
    for r in (
        again(PositionZero, "position_ids is 0 in every decode step", "position", "huggingface/transformers#32279", "pos_zero"),
        again(PositionPlusOne, "position_ids is one too large in decode", "position", "skyzh/tiny-llm#46", "pos_plus1"),
        again(PositionRestarts, "decode counts position_ids from 0 again", "position", "huggingface/transformers#15751", "pos_restart"),
        again(PositionThroughPadding, "position_ids counts the padding", "ragged batch", "ndif-team/nnsight#673", "leftpad_arange_pos"),
        again(PositionShared, "in decode all rows get the padded length", "ragged batch", "unslothai/unsloth#3699", "leftpad_decode_pos_shared"),
        again(MaskDroppedInDecode, "decode passes no attention_mask", "ragged batch", "huggingface/transformers#30670", "leftpad_visible"),
        again(MaskDropped, "no call passes an attention_mask", "ragged batch", "TransformerLensOrg/TransformerLens#1760", "leftpad_visible"),
        again(MaskNotExtended, "decode passes the prompt's attention_mask", "mask", "huggingface/transformers#23197", "mask_not_extended"),
        again(CacheReused, "the cache is kept between prompts", "stale", "casper-hansen/AutoAWQ#170", "not_reset"),
        again(CacheReusedPositionsNew, "the cache is kept, positions start again", "stale", "casper-hansen/AutoAWQ#170", "not_reset"),
        again(CacheReused, "a static cache is not reset", "stale", "casper-hansen/AutoAWQ#170", "not_reset", cache="static"),
        again(DraftNotCropped, "rejected draft tokens stay", "rollback", "paiml/aprender#2014", "spec_no_crop"),
        again(DraftPositionsOnly, "the count goes back, the rows stay", "rollback", "paiml/aprender#2014", "crop_not_rows"),
        again(LastTokenAgain, "the prompt's last token is fed again", "duplicate", "raullenchai/Rapid-MLX#1124", "refeed_last_prompt_token"),
        again(EverythingAgain, "each step feeds all input_ids", "duplicate", "ggml-org/llama.cpp#7859", "refeed_everything"),
        again(BeamsNotReordered, "the cache is not reordered with the beams", "beams", "huggingface/transformers#46612", "beam_no_reorder"),
        again(PrefixByReference, "a stored prefix is not copied", "aliasing", "MemTensor/MemOS#2301", "prefix_store_mutated"),
        again(CachePosition, "cache_position is wrong in decode", "position", "huggingface/transformers#44759", "ignored"),
    )
}  # fmt: skip
