"""Not bugs: what a cache in fewer bits does. Reported as rounding, by the storage that reproduces the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ..witness import Witness
from .base import Hypothesis, after_old, family, old_rows

Store = Callable[[Witness, Tensor, Tensor], tuple[Tensor, Tensor]]


def through(dtype: torch.dtype) -> Store:
    return lambda w, k, v: (k.to(dtype).to(k.dtype), v.to(dtype).to(v.dtype))


def int8(x: Tensor) -> Tensor:
    """Rows `[B, H_kv, T, D]` rounded to 8 bits with one scale a row (per head)."""
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127) * scale


def rounding() -> Iterator[Hypothesis]:
    stores = {str(d).removeprefix("torch."): through(d) for d in (torch.bfloat16, torch.float16, torch.float32)}
    stores["int8"] = lambda w, k, v: (int8(k), int8(v))
    for name, write in stores.items():

        def old(w: Witness, layer: int, k: Tensor, v: Tensor, write: Store = write) -> tuple[Tensor, Tensor]:
            n = old_rows(w, k)
            rk, rv = write(w, k[:, :, :n], v[:, :, :n])
            return after_old(w, rk, k), after_old(w, rv, v)

        bits = name if name != "int8" else "int8 with a scale per row"
        yield from family(
            "rounding",
            (f"stored_{name}", f"keys and values are stored as {bits}", {"write": write}),
            (f"stored_{name}", f"old rows are stored as {bits}, new ones used exactly", {"gather": old}),
        )
