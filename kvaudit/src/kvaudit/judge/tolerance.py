"""A tolerance that is measured, from both sides: what legitimate schedules differ by, and what faults differ by.

Null: correct decoders of the same model on the same tokens, differing in how the prompt is chunked and batched.
Alternative: a few faults injected into this very model at this dtype. The tolerance is their geometric mean. Where the
two do not stand a factor of 3 on either side of it, no difference in between proves anything: *inconclusive*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..play import Run
from ..play.history import histories
from ..subject import Side, Uncached
from ..witness.hypotheses import Hypothesis, catalogue
from ..witness.witness import Witness

PROBES = ("pos_plus1", "pos_minus1", "attend_then_append", "row_lost", "row_overwritten", "decode_row_twice")
SEPARATION = 3.0  # the tolerance must be this far from both sides


@dataclass(frozen=True)
class Tolerance:
    """`null`: largest difference between legitimate schedules; `fault`: smallest of an injected fault; in logits.

    Injected faults that change not one bit of this model's logits (a position where none is used) are no faults of it;
    `fault` is 0 where none changes any.
    """

    null: float
    fault: float
    schedules: int
    faults: int

    @property
    def value(self) -> float:
        """The tolerance itself."""
        return (self.null * self.fault) ** 0.5 if self.fault else SEPARATION * self.null

    @property
    def separates(self) -> bool:
        """Whether it stands far enough from both sides."""
        return self.fault > 0 and self.fault >= self.null * SEPARATION**2


def measure(source: Any, seed: int = 0, T: int = 9, n: int = 4) -> Tolerance:
    """Measure a Tolerance on a reference with random tokens `[3, T + n]`: 20 schedules, six injected faults."""
    reference = Uncached.of(source)
    T, n = min(T, reference.block_size // 2), min(n, reference.block_size // 4)
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(reference.vocab_size, (3, T + n), generator=draw).to(reference.device)
    exact = reference.logits(tokens)[:, T - 1 :]  # [B, n + 1, V]: after the prompt and after each step
    if not reference.tapped:
        return from_logits_alone(reference, tokens, exact, T)
    nulls = [largest(stepped(reference, tokens, T, cuts, rows), exact) for cuts in chunkings(T) for rows in batches(3)]
    known = catalogue(reference)
    probes = [next(h for h in known if h.fault == fault) for fault in PROBES]
    together: tuple[tuple[int, ...], list[list[int]]] = (T,), [[0, 1, 2]]
    right = stepped(reference, tokens, T, *together)
    made = [stepped(reference, tokens, T, *together, h) for h in probes]
    faults = [0.0 if torch.equal(wrong, right) else largest(wrong, exact) for wrong in made]
    return between(nulls, faults, exact, reference)


def between(nulls: list[float], faults: list[float], exact: Tensor, reference: Uncached) -> Tolerance:
    """The tolerance of these differences. No measured null is trusted to be below one unit in the last place."""
    unit = float(exact.abs().max()) * reference.unit
    moving = [fault for fault in faults if fault > 0]
    return Tolerance(max(*nulls, unit), min(moving, default=0.0), len(nulls), len(faults))


def for_scripts(measured: Tolerance, runs: Sequence[Run], side: Side) -> Tolerance:
    """The measured tolerance, its null no smaller than what the scripts' own lengths and batches give without a cache."""
    own = [gap for run in runs for gap in own_nulls(side.reference, run)]
    size = max((float(right.abs().max()) for r in runs for right in r.right), default=0.0)
    unit = side.reference.unit if any(run.hung for run in runs) else side.unit  # what hung is not called once more
    return replace(measured, null=max(measured.null, *own, unit * size))


def own_nulls(reference: Uncached, run: Run) -> Iterator[float]:
    """Differences between the uncached logits of a script and those of its histories by themselves, at their own shapes.

    Each shape `[B, T]` is measured once.
    """
    for rows, right in zip(histories(run.script), run.right):
        together = len({len(row) for row in rows}) == 1
        for group, logits in [(rows, right)] if together else [([row], x[None]) for row, x in zip(rows, right)]:
            tokens = torch.stack(group)
            yield reference.remembered(("null", tuple(tokens.shape)), partial(own_null, reference, tokens, logits))


def own_null(reference: Uncached, tokens: Tensor, right: Tensor) -> float:
    return largest(reference.logits(tokens)[:, -1], right)


def chunkings(T: int) -> set[tuple[int, ...]]:
    """Ways to feed a prompt of T tokens: whole, first token apart, last apart, halves, one at a time."""
    return {(T,), (1, T - 1), (T - 1, 1), (T // 2, T - T // 2), (1,) * T}


def batches(B: int) -> tuple[list[list[int]], ...]:
    """Ways to group B rows into calls: together, one by one, two and one, together in another order."""
    everyone = list(range(B))
    return ([everyone], [[b] for b in everyone], [everyone[:2], everyone[2:]], [everyone[::-1]])


def stepped(
    reference: Uncached,
    tokens: Tensor,
    T: int,
    cuts: Iterable[int],
    groups: Sequence[list[int]],
    hypothesis: Hypothesis | None = None,
) -> Tensor:
    """Logits `[B, n + 1, V]` of a witness that is fed the prompt in pieces of `cuts` and the rows in `groups`."""
    out: dict[int, Tensor] = {}
    for rows in groups:
        witness, at = Witness(reference, hypothesis.rules if hypothesis else None), 0
        for size in cuts:
            piece = tokens[rows, at : at + size]
            logits, at = witness.extend(piece) if at else witness.prefill(piece), at + size
        last = [logits] + [witness.decode(tokens[rows, t]) for t in range(T, tokens.shape[1])]
        out.update(zip(rows, torch.stack(last, dim=1)))
    return torch.stack([out[b] for b in sorted(out)])


def largest(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).abs().max())


def from_logits_alone(reference: Uncached, tokens: Tensor, exact: Tensor, T: int) -> Tolerance:
    """Without a tapped forward: prefixes and single rows as the null, tokens lost, doubled or exchanged as the faults."""
    nulls = [
        largest(reference.logits(tokens[:, : t + 1])[:, -1], exact[:, t - T + 1]) for t in range(T - 1, tokens.shape[1])
    ]
    nulls += [largest(reference.logits(tokens[b : b + 1])[:, T - 1 :], exact[b : b + 1]) for b in range(len(tokens))]
    doubled = torch.cat([tokens[:, :T], tokens[:, T - 1 :]], dim=1)[:, : tokens.shape[1]]
    swapped = tokens[:, [1, 0, *range(2, tokens.shape[1])]]
    lost = torch.cat([tokens[:, 1:], tokens[:, -1:]], dim=1)
    faults = [largest(reference.logits(x)[:, T - 1 :], exact) for x in (doubled, swapped, lost)]
    return between(nulls, faults, exact, reference)
