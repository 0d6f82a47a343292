"""Whether the rows explain the logits: a correct witness attends over the decoder's own rows instead of its own."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ...play.run import perform
from ...subject import Uncached
from ...witness.witness import Row, Rules, Witness
from .beside import Beside

Rows = list[tuple[Tensor, Tensor]]  # of each layer, in order


def residual(now: Beside, before: Beside | None, reference: Uncached) -> float | None:
    """Largest difference of the logits of a witness that attends over the rows held after, or before, the step.

    None where the rows of some layer cannot be read. `before`: the step before on the same decoder.
    """
    found = []
    for held, own in ((rows_of(now), False), (rows_of(before) if before else None, True)):
        if held is not None:
            gap = off(now, held, own, reference)
            found += [] if gap is None else [gap]
    return min(found, default=None)


def rows_of(state: Beside) -> Rows | None:
    """The rows of each layer in the cache's order; of a buffer only those that are written."""
    layers: Rows = []
    for layer in range(len(state.right.layers)):
        laid = [state.laid.get((layer, part)) for part in (0, 1)]
        if laid[0] is None or laid[1] is None:
            return None
        k, v = (x.held[:, :, : x.held.shape[2] - behind(x.held)] for x in laid if x is not None)
        if k.shape[2] != v.shape[2] or not k.shape[2]:
            return None
        layers.append((k, v))
    return layers


def behind(held: Tensor) -> int:
    """Rows at the end that are all zeros: not written yet."""
    written = (held != 0).any(dim=3).any(dim=1).any(dim=0).nonzero()  # [S]
    return int(held.shape[2] - (written[-1, 0] + 1 if len(written) else 0))


def off(now: Beside, held: Rows, own: bool, reference: Uncached) -> float | None:
    """The difference where these rows are attended over; `own`: and then the new ones."""
    step, call = now.step, now.step.call
    T = step.T

    def gather(w: Witness, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        pair = (x.to(k) for x in held[layer])
        if not own:
            return tuple(pair)  # type: ignore[return-value]
        return tuple(torch.cat([old, x[:, :, -T:]], dim=2) for old, x in zip(pair, (k, v)))  # type: ignore[return-value]

    def mask(w: Witness, T: int, rows: list[Row]) -> Tensor:
        return w.causal(T, held[w.layer][0].shape[2] + own * T)

    rules: Rules = {"gather": gather, "mask": mask}
    earlier = step.answers[-2].decoders.get(call.on) if len(step.answers) > 1 else None
    starts = call.kind == "prefill" or earlier is None
    witness = Witness(reference, rules) if starts or earlier is None else earlier.copied(rules)
    try:
        logits = perform(replace(call, on="main"), {"main": witness})
    except (RuntimeError, ValueError, IndexError):  # rows of another number of heads, fewer rows than new tokens, …
        return None
    return float((logits.double() - step.logits.double()).abs().max())
