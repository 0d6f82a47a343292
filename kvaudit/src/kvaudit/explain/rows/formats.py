"""Storage formats: what rounding does to rows `[B, H, S, D]`, so that rounded rows can be told from wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

Round = Callable[[Tensor], Tensor]

AXES: dict[str, Sequence[int]] = {  # one scale for …
    "a row": (-1,),
    "a row of all heads": (1, 3),
    "a head": (2, 3),
    "a channel": (2,),
    "a tensor": (0, 1, 2, 3),
}
LARGE = 0.35  # of the largest number: no format moves a number that far
LOOSE = 10  # times what the format moves: so far may rows of later layers be off, which are made of rounded ones
ALIKE = 0.98  # of the numbers must be what the format makes of them: some stand on an edge


def through(dtype: torch.dtype) -> Round:
    return lambda x: x.to(dtype).to(x.dtype)


def steps(bits: int, axes: Sequence[int], zero: bool) -> Round:
    """Whole steps of one scale over `axes`: symmetric about 0, or (`zero`) from the smallest number to the largest."""

    def rounded(x: Tensor) -> Tensor:
        if zero:
            low = x.amin(list(axes), keepdim=True)
            scale = ((x.amax(list(axes), keepdim=True) - low) / ((1 << bits) - 1)).clamp(min=1e-30)
            return ((x - low) / scale).round() * scale + low
        top = (1 << (bits - 1)) - 1
        scale = (x.abs().amax(list(axes), keepdim=True) / top).clamp(min=1e-30)
        return (x / scale).round().clamp(-top - 1, top) * scale

    return rounded


def in_groups(rounded: Round, size: int) -> Round:
    """The same, each `size` numbers of head_dim by themselves."""
    return lambda x: rounded(x.reshape(*x.shape[:2], -1, size)).reshape(x.shape)


def scaled(dtype: torch.dtype, axes: Sequence[int]) -> Round:
    """Through a float format of few bits, scaled so that the largest number just fits."""

    def rounded(x: Tensor) -> Tensor:
        scale = (x.abs().amax(list(axes), keepdim=True) / torch.finfo(dtype).max).clamp(min=1e-30)
        return (x / scale).to(dtype).to(x.dtype) * scale

    return rounded


def formats(D: int) -> Iterator[tuple[str, Round]]:
    """Formats and their names, the commonest first."""
    for dtype in (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float32):
        yield str(dtype).removeprefix("torch.").removesuffix("fn"), through(dtype)
    for bits in (8, 4):
        for over, axes in AXES.items():
            yield f"int{bits}, a scale for {over}", steps(bits, axes, zero=False)
            yield f"int{bits}, a scale and a zero point for {over}", steps(bits, axes, zero=True)
        for size in (128, 64, 32, 16, 8, 4):
            if D > size and D % size == 0:
                yield f"int{bits} in groups of {size}", in_groups(steps(bits, (-1,), False), size)
                yield f"int{bits} in groups of {size} with zero points", in_groups(steps(bits, (-1,), True), size)
    for over in ("a row", "a tensor"):
        yield f"float8_e4m3, a scale for {over}", scaled(torch.float8_e4m3fn, AXES[over])


def recognise(held: Tensor, want: Tensor) -> tuple[str, float]:
    """(name of the format, what it moves as a part of the largest number) by which right rows became these; "" for none."""
    size = float(want.abs().max())
    gap = (held - want).abs()
    moved = float(gap.max())
    if not 0 < moved <= LARGE * size:
        return "", 0.0
    for name, rounded in formats(want.shape[-1]):
        alike = (rounded(want) - held).abs() <= 1e-6 * size
        if float(alike.double().mean()) >= ALIKE and moved <= 2.1 * float((rounded(want) - want).abs().max()):
            return name, min(LOOSE * moved / size, LARGE)
    step = grid_step(held)
    if step and moved <= 0.51 * step:
        return f"multiples of {step:.3g}", min(LOOSE * moved / size, LARGE)
    return "", 0.0


def grid_step(held: Tensor) -> float:
    """The number of which all these are multiples, where they are few different ones; 0 where there is none."""
    found = held.abs().flatten().sort().values
    found = found[(found > 0) & (found.diff(prepend=found[:1] - 1) > 0)]  # each number once
    if not 2 <= len(found) <= held.numel() / 4:
        return 0.0
    step = float(found[0])
    step = min(step, float(found.diff().min()))
    multiples = found / step
    return step if bool(((multiples - multiples.round()).abs() < 1e-6 * multiples.clamp(min=1)).all()) else 0.0
