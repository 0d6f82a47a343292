"""The uncached reference over a `transformers` model, in whose layers a witness can attend.

Projections, rotations, norms and everything else stay the model's own. What cannot be witnessed in that way (found by
trying, not by name) is judged by its logits alone: a verdict, and no name for the bug.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from ..protocol import Attend
from ..witness.attention import attend, band
from .library import check_model, in_float64, last_position, rotary_module, tapped, text_config, windows, with_tap

LONGEST = 512  # positions that an audit uses at most, however many the model has
FLOAT32 = torch.finfo(torch.float32).eps


class HFReference:
    """The reference (see protocol.py) for a `transformers` model. `block_size`: positions that the audit may use."""

    def __init__(self, model: Any, block_size: int | None = None) -> None:
        check_model(model)
        self.model, config = model, text_config(model)
        positions = getattr(config, "max_position_embeddings", None) or LONGEST
        trained = getattr(config, "original_max_position_embeddings", None) or positions
        self.block_size = block_size or min(positions, trained, LONGEST)
        self.vocab_size, self.n_layers = config.vocab_size, config.num_hidden_layers
        self.dtype, self.device = model.dtype, model.device
        self.eps = max(torch.finfo(self.dtype).eps, FLOAT32)  # norms and rotations are float32 whatever the weights are
        if last_position(model) == self.block_size:
            self.last_position = self.block_size  # one token more must be refused
        self.windows = [w if w and w < self.block_size else None for w in windows(config)]  # one a layer
        self.window = min((w for w in self.windows if w), default=None)
        self.softcap = getattr(config, "attn_logit_softcapping", None)
        self.rotary_module, self.rotary = rotary_module(model), False
        self.note_dynamic(config, min(positions, trained))
        self.twin = with_tap(model)
        if self.agrees():
            self.forward = self.tapped_forward  # a reference without `forward` gets a verdict, but no name for the bug
            self.rotary = self.rotary_module is not None and self.turns()

    def note_dynamic(self, config: Any, trained: int) -> None:
        kind = (getattr(config, "rope_parameters", None) or {}).get("rope_type")
        if kind in ("dynamic", "longrope") and self.block_size > trained:
            self.specification = (
                f"{kind} rotary frequencies change beyond {trained} tokens: keys that were cached before keep the old "
                "angles, an uncached pass gives all of them new ones. The two are meant to differ."
            )

    @torch.inference_mode()
    def logits(self, tokens: Tensor) -> Tensor:
        return cast(Tensor, self.model(input_ids=tokens, use_cache=False).logits)

    @torch.inference_mode()
    def tapped_forward(self, tokens: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        token = tapped.set(attend)
        try:
            positions = positions.to(tokens.device).expand(tokens.shape)  # [B, T]
            return cast(Tensor, self.twin(input_ids=tokens, position_ids=positions, use_cache=False).logits)
        finally:
            tapped.reset(token)

    def rotate(self, x: Tensor, by: Tensor) -> Tensor:
        """Turn rows of x `[B, H, T, D]` by `by` `[T]` positions: the model's frequencies, its first and second half paired."""
        turns = self.rotary_module.inv_freq.double()  # [R / 2], of the R <= D rotated numbers
        angle = by[:, None].to(turns) * turns
        cos, sin = angle.cos().to(x), angle.sin().to(x)
        a, b, rest = torch.split(x, [len(turns), len(turns), x.shape[-1] - 2 * len(turns)], dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], dim=-1)

    def double(self) -> HFReference | None:
        """The same in float64; None where the model's kernels know no float64."""
        try:
            return type(self)(in_float64(self.model), self.block_size)
        except (RuntimeError, NotImplementedError, ValueError, TypeError):
            return None

    independence = "a second attention and mask over the model's own projections"

    def independent_difference(self, tokens: Tensor) -> float | None:
        if not hasattr(self, "forward"):
            return None
        return float((self.plain(tokens, []) - self.logits(tokens)).abs().max())

    def plain(self, tokens: Tensor, met: list[tuple[int, Tensor]]) -> Tensor:
        """Logits by our own attention; each layer's number and keys are added to the list `met`."""
        T = tokens.shape[1]

        def attention(layer: int, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
            met.append((layer, k))
            return attend(q, k, v, scale, band(T, self.windows[layer] or T).to(q.device), softcap=self.softcap)

        return self.tapped_forward(tokens, torch.arange(T), attention)

    def agrees(self) -> bool:
        """Whether our attention in the model's layers gives the model's logits, so that a witness can stand in for it."""
        tokens = self.some_tokens(max(8, (self.window or 0) + 3))
        met: list[tuple[int, Tensor]] = []
        try:
            mine = self.plain(tokens, met)
        except Exception:  # noqa: BLE001 - a model's own code, called in a way that it need not allow
            return False
        right = self.logits(tokens)
        close = self.eps**0.5 * float(right.abs().max())
        return [layer for layer, _ in met] == list(range(self.n_layers)) and float((mine - right).abs().max()) <= close

    def turns(self) -> bool:
        """Whether `rotate` moves this model's keys along: only then can rotary bugs be replayed."""
        keys: list[Tensor] = []
        tokens = self.some_tokens(4)

        def listen(layer: int, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
            keys.append(k)
            return torch.zeros_like(q)

        for start in (0, 3):
            self.tapped_forward(tokens, torch.arange(4) + start, listen)
        before, after = keys[0], keys[self.n_layers]  # layer 0 at positions 0 … 3 and 3 … 6
        moved = self.rotate(before, torch.full((4,), 3, device=before.device))
        return bool(torch.allclose(moved, after, atol=0.02 * float(after.abs().max())))

    def some_tokens(self, T: int) -> Tensor:
        ids: Tensor = torch.arange(2 * min(T, self.block_size)) * 7 % self.vocab_size
        return ids.view(2, -1).to(self.device)
