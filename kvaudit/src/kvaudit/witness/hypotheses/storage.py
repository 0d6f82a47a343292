"""Not bugs: what a cache in fewer bits does. Reported as rounding, by the storage that reproduces the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ..witness import Witness
from .base import Hypothesis, after_old, family, old_rows

Rounded = Callable[[Tensor], Tensor]
Store = Callable[[Witness, Tensor, Tensor], tuple[Tensor, Tensor]]


def through(dtype: torch.dtype) -> Rounded:
    return lambda x: x.to(dtype).to(x.dtype)


def in_steps(x: Tensor, most: int, dims: tuple[int, ...] | int) -> Tensor:
    """Rounded to whole steps, `most` of them on each side of 0; one scale for all numbers along `dims`."""
    if not x.numel():  # no old rows yet
        return x
    scale = x.abs().amax(dim=dims, keepdim=True).clamp(min=1e-12) / most
    return (x / scale).round().clamp(-most, most) * scale


def from_zero_point(x: Tensor) -> Tensor:
    """8 bits between the smallest and the largest number of each row."""
    low, high = x.amin(dim=-1, keepdim=True), x.amax(dim=-1, keepdim=True)
    scale = (high - low).clamp(min=1e-12) / 255
    return ((x - low) / scale).round() * scale + low


def in_groups(size: int) -> Rounded:
    """4 bits, one scale for each group of so many numbers of a row."""

    def rounded(x: Tensor) -> Tensor:
        if x.shape[-1] % size or not x.numel():
            return in_steps(x, 7, -1)  # the row is one group
        return in_steps(x.reshape(*x.shape[:-1], -1, size), 7, -1).flatten(-2)

    return rounded


FORMATS: dict[str, tuple[str, Rounded]] = {  # id -> (in words, how rows [B, H_kv, T, D] are rounded)
    "bfloat16": ("bfloat16", through(torch.bfloat16)),
    "float16": ("float16", through(torch.float16)),
    "float32": ("float32", through(torch.float32)),
    "int8": ("int8 with a scale per row", lambda x: in_steps(x, 127, -1)),
    "float8": ("float8 (e4m3)", through(torch.float8_e4m3fn)),
    "float8_e5m2": ("float8 (e5m2)", through(torch.float8_e5m2)),
    "int8_zero": ("int8 with a scale and a zero point per row", from_zero_point),
    "int8_head": ("int8 with a scale per head and call", lambda x: in_steps(x, 127, (2, 3))),
    "int8_all": ("int8 with a scale per call", lambda x: in_steps(x, 127, (1, 2, 3))),
    "int4": ("int4 with a scale per row", lambda x: in_steps(x, 7, -1)),
    **{f"int4_{n}": (f"int4 in groups of {n}", in_groups(n)) for n in (4, 8, 16, 32)},
}


def of_both(rounded: Rounded) -> Store:
    return lambda w, k, v: (rounded(k), rounded(v))


def of_keys(rounded: Rounded) -> Store:
    return lambda w, k, v: (rounded(k), v)


def of_values(rounded: Rounded) -> Store:
    return lambda w, k, v: (k, rounded(v))


PARTS = {"keys and values": of_both, "keys": of_keys, "values": of_values}


def rounding() -> Iterator[Hypothesis]:
    """Each format: keys and values both first, as most caches do, then one of them alone."""
    for part, store in PARTS.items():
        for name, (bits, rounded) in FORMATS.items():
            write = store(rounded)
            yield from family(
                "rounding",
                (f"stored_{name}", f"{part} are stored as {bits}", {"write": write}),
                (
                    f"stored_{name}",
                    f"old {told(part)} are stored as {bits}, new ones used exactly",
                    {"gather": of_old(write)},
                ),
            )


def told(part: str) -> str:
    return "rows" if part == "keys and values" else part


def of_old(write: Store) -> Callable[[Witness, int, Tensor, Tensor], tuple[Tensor, Tensor]]:
    def old(w: Witness, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        n = old_rows(w, k)
        rk, rv = write(w, k[:, :, :n], v[:, :, :n])
        return after_old(w, rk, k), after_old(w, rv, v)

    return old
