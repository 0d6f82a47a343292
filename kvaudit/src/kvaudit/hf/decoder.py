"""A cached decoder over a `transformers` causal language model."""

from __future__ import annotations

import copy
from typing import Any, cast

import torch
from torch import Tensor

from .library import cache_argument, check_model, last_position, text_config, windows

CACHES = ("dynamic", "full", "static")


class HFDecoder:
    """A cached decoder (see protocol.py) over a `transformers` causal language model.

    cache: "dynamic" (keeps a window's rows only, where layers slide), "full" (a DynamicCache that keeps all rows) or
    "static" (a StaticCache of `capacity` rows). Position ids and attention mask are given in every call, from one
    record of which tokens are real. Raises ValueError in words for a model or a cache that it does not know.
    """

    def __init__(self, model: Any, cache: str = "dynamic", capacity: int = 48) -> None:
        check_model(model)
        if cache not in CACHES:
            raise ValueError(f"cache must be one of {', '.join(CACHES)}, not {cache!r}")
        self.model, self.kind, self.rows = model, cache, capacity
        self.cache_argument = cache_argument(model)
        fits = [last_position(model), capacity if cache == "static" and None in windows(text_config(model)) else None]
        self.capacity = min((n for n in fits if n), default=None)  # tokens that fit; None: no limit
        self.cache: Any = None
        if any(getattr(self.new_cache(), "is_linear", ())):
            raise ValueError(f"{type(model).__name__} keeps recurrent states; the audit knows keys and values only")

    def new_cache(self) -> Any:
        from transformers import DynamicCache, StaticCache

        if self.kind == "static":
            return StaticCache(config=self.model.config, max_cache_len=self.rows)
        return DynamicCache(config=self.model.config) if self.kind == "dynamic" else DynamicCache()

    def start(self, tokens: Tensor) -> None:
        """A new sequence: a new cache, and no token seen. `real` `[B, S]` is 1 for tokens and 0 for padding."""
        self.cache, self.real = self.new_cache(), tokens.new_zeros(tokens.shape[0], 0)

    def prefill(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.start(tokens)
        T = tokens.shape[1]
        pads = 0 if lengths is None else T - lengths.to(tokens.device)[:, None]  # padding is on the left
        return self.feed(tokens, (torch.arange(T, device=tokens.device) >= pads).expand(tokens.shape).long())

    def decode(self, token: Tensor) -> Tensor:
        return self.extend(token[:, None])  # [B] -> [B, 1]

    def extend(self, tokens: Tensor) -> Tensor:
        return self.feed(tokens, torch.ones_like(tokens))

    @torch.inference_mode()
    def feed(self, tokens: Tensor, real: Tensor) -> Tensor:
        """One call of the model: `tokens` `[B, T]` on top of what is cached; logits `[B, V]` after the last of them."""
        if self.cache is None:
            raise ValueError("nothing is cached yet: call prefill before decode or extend")
        self.real = torch.cat([self.real, real], dim=1)  # [B, S]
        if self.capacity and self.real.shape[1] > self.capacity:
            raise ValueError(f"{self.real.shape[1]} tokens do not fit: there is room for {self.capacity}")
        answer = self.model(input_ids=tokens, use_cache=True, **self.arguments(tokens.shape[1]))
        return cast(Tensor, answer.logits[:, -1])

    def arguments(self, T: int) -> dict[str, Any]:
        """What the model is told beside the T new tokens."""
        return {
            self.cache_argument: self.cache,
            "attention_mask": self.attention_mask(T),
            "position_ids": self.position_ids(T),
        }

    def attention_mask(self, T: int) -> Tensor | None:
        return self.real  # [B, S]: of the cached tokens as well

    def position_ids(self, T: int) -> Tensor:
        return (self.real.cumsum(dim=1) - 1).clamp(min=0)[:, -T:]  # [B, T]: padding does not count

    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """The live rows `[(K, V), …]`, each `[B, H_kv, S, D]`, without what a static cache has not written yet."""
        filled = [(c, min(int(c.get_seq_length()), c.keys.shape[2])) for c in self.cache.layers]
        return [(c.keys[:, :, :n], c.values[:, :, :n]) for c, n in filled]

    @torch.inference_mode()
    def crop(self, length: int) -> None:
        gone = self.real.shape[1] - length
        if not getattr(self.cache, "is_croppable", True):
            raise NotImplementedError("a cache that has overwritten its oldest rows cannot be rolled back")
        if gone:
            self.cache.crop(-gone)  # the library's sign: minus the number of tokens to forget
        self.real = self.real[:, :length]

    @torch.inference_mode()
    def reorder(self, parents: Tensor) -> None:
        self.cache.reorder_cache(parents)
        self.real = self.real[parents]

    @torch.inference_mode()
    def fork(self) -> HFDecoder:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> HFDecoder:
        """A copy with caches of its own; the model is shared."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if name != "model":
                setattr(twin, name, copy.deepcopy(value, memo))
        return twin
