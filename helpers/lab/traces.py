"""Two traces of logits side by side, and a tolerance between what rounding does and what mistakes do. No cache in sight.

A trace is the logits of a decoding, `[B, n, V]`: entry k is what the k-th new token was chosen from.
"""

import math

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..audit import Tolerance
from ..decoding import Oracle, teacher_forced


def compare(a, b):
    """(step, row, difference, certified) of two traces: where they differ most, by how much, and whether greedy text is safe.

    Of equally large differences it is the earliest step's, then the lowest row's; a NaN is an infinite difference.
    Certified: at each step of each row the best token of `a` leads the second by more than twice the difference there,
    so that `b` has the same best token. Raises ValueError for traces of different shape, and for empty ones.
    """
    if a.shape != b.shape or a.numel() == 0:
        raise ValueError(
            f"two traces of one shape [B, n, V] are needed, none of them empty, not {a.shape} and {b.shape}"
        )
    gaps = (a.double() - b.double()).abs().amax(-1).nan_to_num(math.inf, math.inf)  # [B, n]; amax passes a NaN on
    best = a.double().topk(2, dim=-1).values  # [B, n, 2]
    certified = bool((best[..., 0] - best[..., 1] > 2 * gaps).all())
    step, row = divmod(int(gaps.T.argmax()), len(a))  # transposed: all rows of a step before the next step
    return step, row, float(gaps[row, step]), certified


def pick_tolerance(nulls, faults, unit=2.0**-52):
    """The middle, on a log scale, of the largest null and the smallest fault; None where they do not tell apart.

    nulls, faults: largest logits differences of right and of wrong computations. unit: no measured null is trusted to be
    smaller. None unless the tolerance lies a factor of 3 from both, and both were measured and are numbers.
    """
    if not nulls or not faults or any(map(math.isnan, (*nulls, *faults))):
        return None
    measured = Tolerance(max(unit, *nulls), min(faults), len(nulls), len(faults))
    return measured.value if measured.separates and math.isfinite(measured.fault) else None


@torch.inference_mode()
def schedules(model, prompt, tokens):
    """Legitimate ways to compute the trace of `tokens` `[B, n]` after `prompt` `[B, T0]`: `{what was changed: [B, n, V]}`.

    Each is mathematically the same forward pass without a cache; what differs is the order in which floats are added.
    """
    whole = torch.cat([prompt, tokens], dim=1)  # [B, T0 + n]
    rows = [teacher_forced(Oracle(model), p[None], t[None]) for p, t in zip(prompt, tokens)]
    with sdpa_kernel(SDPBackend.MATH):
        by_matmul = teacher_forced(Oracle(model), prompt, tokens)
    return {
        "all steps in one pass": model(whole)[:, prompt.shape[1] - 1 : -1],  # the positions that choose the n tokens
        "batch doubled": teacher_forced(Oracle(model), prompt.repeat(2, 1), tokens.repeat(2, 1))[: len(prompt)],
        "row by row": torch.cat(rows),
        "attention by plain matmul": by_matmul,
    }
