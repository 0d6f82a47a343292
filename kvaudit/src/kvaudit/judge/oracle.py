"""The reference is audited first: does it agree with itself, and is its `forward` the same network as its `logits`?"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..subject import Uncached
from ..witness.attention import attend, band, tiled

LENGTH, HEAD = 6, 3  # tokens that are looked at; the beginning that must not depend on the rest


@dataclass
class Oracle:
    """What is known of a reference. `problem`: in words, why it judges nobody; empty where it can."""

    independence: str = ""
    problem: str = ""
    notes: list[str] = field(default_factory=list)


def examine(reference: Uncached) -> Oracle:
    """Look at a reference, once. Also finds what it does not say: whether heads are shared, and how they are grouped."""
    return reference.remembered("oracle", lambda: looked_at(reference))


def looked_at(reference: Uncached) -> Oracle:
    told = Oracle()
    ids = torch.arange(2 * LENGTH, device=reference.device).view(2, LENGTH) % reference.vocab_size
    logits = reference.logits(ids)
    limit = reference.unit**0.5 * float(logits.abs().max())  # half the digits: no rounding does that
    with_itself(reference, ids, logits, limit, told)
    if reference.tapped and not told.problem:
        with_its_forward(reference, ids, logits, limit, told)
    if reference.rotary and not told.problem:
        its_rotation(reference, ids, told)
    return told


def with_itself(reference: Uncached, ids: Tensor, logits: Tensor, limit: float, told: Oracle) -> None:
    """Against a second computation of its own where it has one; logits must not depend on what follows, nor on length."""
    second = reference.second_difference(ids[:1])
    later = ids.clone()
    later[:, HEAD:] = (later[:, HEAD:] + 1) % reference.vocab_size
    ahead = float((reference.logits(later)[:, :HEAD] - logits[:, :HEAD]).abs().max())
    length = float((reference.logits(ids[:, :HEAD]) - logits[:, :HEAD]).abs().max())
    told.independence = (
        f"self-consistent only (logits of a beginning do not depend on what follows, to {length:.1e})"
        if second is None
        else f"{reference.independence}; they agree to {second:.1e}"
    )
    doubts = (
        (second or 0.0, "The reference and a second computation of its own disagree"),
        (ahead, "Its logits move when only later tokens change: the model looks ahead"),
        (length, "Its logits of a beginning depend on how many tokens follow"),
    )
    for gap, words in doubts:
        if gap > limit:
            same = f"Two uncached computations of the same tokens differ by {gap:.2e}; nothing can be judged."
            told.problem = f"{same} {words}."
            return


def with_its_forward(reference: Uncached, ids: Tensor, logits: Tensor, limit: float, told: Oracle) -> None:
    """`forward` with plain attention must give `logits`, whole and from an offset on; heads and scale are found by trial."""
    whole = Attention(reference)
    gap = whole.gap(ids, logits)
    reference.shared_heads = whole.heads[0] > whole.heads[1]
    if gap > limit and reference.shared_heads:
        reference.tiled = Attention(reference, tile=True).gap(ids, logits) <= limit
        gap = 0.0 if reference.tiled else gap
    if gap > limit:
        told.problem = (
            f"The reference's forward is not the network of its logits: they differ by {gap:.2e} with plain attention; "
            f"nothing can be judged.{scale_found(reference, ids, logits, limit)}"
        )
    elif reference.tiled:
        told.notes.append("this model's key/value heads are tiled (0 1 0 1 …): found by trial")


def scale_found(reference: Uncached, ids: Tensor, logits: Tensor, limit: float) -> str:
    """In words, the scale with which it would be right, where one of the usual ones is."""
    dim = Attention(reference).head_dim(ids)
    usual = {"1 / sqrt(head_dim)": dim**-0.5, "1": 1.0, "1 / head_dim": 1 / dim}
    right = [w for w, scale in usual.items() if Attention(reference, scale=scale).gap(ids, logits) <= limit]
    return f" With the scale {right[0]} it would be: look at the scale that it hands to attend." if right else ""


class Attention:
    """Plain attention to hand to a `forward`: notes `heads` (query, key/value); `scale` replaces the one that is given."""

    def __init__(self, reference: Uncached, tile: bool = False, scale: float | None = None) -> None:
        self.reference, self.tile, self.scale = reference, tile, scale
        self.heads, self.keys = (0, 0), list[Tensor]()

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        self.heads = (q.shape[1], k.shape[1])
        self.keys.append(k)
        mask = band(q.shape[2], self.reference.windows[layer] or q.shape[2]).to(q.device)
        expand = tiled(q.shape[1], k.shape[1]) if self.tile else None
        return attend(q, k, v, scale if self.scale is None else self.scale, mask, expand, self.reference.softcap)

    def gap(self, ids: Tensor, logits: Tensor) -> float:
        """Largest difference of the forward with this attention to `logits` `[B, T, V]`."""
        mine = self.reference.forward(ids, torch.arange(ids.shape[1]), self)
        return float((mine - logits).abs().max())

    def head_dim(self, ids: Tensor) -> int:
        self.reference.forward(ids, torch.arange(ids.shape[1]), self)
        return int(self.keys[0].shape[-1])


def its_rotation(reference: Uncached, ids: Tensor, told: Oracle) -> None:
    """`rotate` must turn the model's own keys; where it does not, bugs of rotations cannot be re-enacted."""
    here, there = Attention(reference), Attention(reference)
    reference.forward(ids, torch.arange(LENGTH), here)
    reference.forward(ids, torch.arange(LENGTH) + HEAD, there)
    right = there.keys[0]  # layer 0's, the same tokens HEAD positions later
    turned = reference.rotate(here.keys[0], torch.full((LENGTH,), HEAD, device=right.device))
    gap = float((turned - right).abs().max())
    if gap > 0.02 * float(right.abs().max()):
        reference.rotary = False
        told.notes.append(f"rotate does not turn this model's keys (off by {gap:.1e}): bugs of rotations are not tried")
