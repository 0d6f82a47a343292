"""A tolerance that is measured, from both sides: what legitimate schedules differ by, and what faults differ by.

Null: correct decoders of the same model on the same tokens, differing in how the prompt is chunked and batched.
Alternative: a few faults injected into this very model at this dtype. The tolerance is their geometric mean. Where the
two do not stand a factor of 3 on either side of it, no difference in between proves anything: *inconclusive*.
"""

from dataclasses import dataclass

import torch

from ..witness.hypotheses import Hypothesis, catalogue
from ..witness.witness import Witness

PROBES = ("pos_plus1", "pos_minus1", "attend_then_append", "row_lost", "row_overwritten", "decode_row_twice")
SEPARATION = 3.0  # the tolerance must be this far from both sides


@dataclass(frozen=True)
class Tolerance:
    """`null`: largest difference between legitimate schedules; `fault`: smallest of an injected fault; in logits."""

    null: float
    fault: float
    schedules: int
    faults: int

    @property
    def value(self):
        return (self.null * self.fault) ** 0.5

    @property
    def separates(self):
        return self.fault >= self.null * SEPARATION**2


def measure(reference, seed=0, T=9, n=4):
    """Measure a Tolerance on random tokens `[3, T + n]`: 20 schedules, six probes."""
    T, n = min(T, reference.block_size // 2), min(n, reference.block_size // 4)
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(reference.vocab_size, (3, T + n), generator=draw).to(reference.device)
    exact = reference.logits(tokens)[:, T - 1 :]  # [B, n + 1, V]: after the prompt and after each step
    if not hasattr(reference, "forward"):
        return from_logits_alone(reference, tokens, exact, T)
    nulls = [largest(stepped(reference, tokens, T, cuts, rows), exact) for cuts in chunkings(T) for rows in batches(3)]
    known = catalogue(reference)
    probes = [next(h for h in known if h.fault == fault) for fault in PROBES]
    faults = [largest(stepped(reference, tokens, T, (T,), [[0, 1, 2]], h), exact) for h in probes]
    return Tolerance(max(*nulls, rounding_unit(exact, reference)), min(faults), len(nulls), len(faults))


def rounding_unit(logits, reference):
    """One unit in the last place of the largest logit: no measured floor can be trusted to be smaller.

    A reference whose layers compute in fewer bits than their logits have says so by its own `eps`.
    """
    return float(logits.abs().max()) * getattr(reference, "eps", torch.finfo(logits.dtype).eps)


def chunkings(T):
    """Ways to feed a prompt of T tokens: whole, first token apart, last apart, halves, one at a time."""
    return {(T,), (1, T - 1), (T - 1, 1), (T // 2, T - T // 2), (1,) * T}


def batches(B):
    """Ways to group B rows into calls: together, one by one, two and one, together in another order."""
    everyone = list(range(B))
    return ([everyone], [[b] for b in everyone], [everyone[:2], everyone[2:]], [everyone[::-1]])


def stepped(reference, tokens, T, cuts, groups, hypothesis: Hypothesis | None = None):
    """Logits `[B, n + 1, V]` of a witness that is fed the prompt in pieces of `cuts` and the rows in `groups`."""
    out = {}
    for rows in groups:
        witness, at, last = Witness(reference, hypothesis and hypothesis.rules), 0, []
        for i, size in enumerate(cuts):
            piece = tokens[rows, at : at + size]
            logits, at = witness.prefill(piece) if i == 0 else witness.extend(piece), at + size
        last = [logits] + [witness.decode(tokens[rows, t]) for t in range(T, tokens.shape[1])]
        out.update(zip(rows, torch.stack(last, dim=1)))
    return torch.stack([out[b] for b in sorted(out)])


def largest(a, b):
    return float((a.double() - b.double()).abs().max())


def from_logits_alone(reference, tokens, exact, T):
    """Without a tapped forward: prefixes and single rows as the null, tokens lost, doubled or exchanged as the faults."""
    nulls = [
        largest(reference.logits(tokens[:, : t + 1])[:, -1], exact[:, t - T + 1]) for t in range(T - 1, tokens.shape[1])
    ]
    nulls += [largest(reference.logits(tokens[b : b + 1])[:, T - 1 :], exact[b : b + 1]) for b in range(len(tokens))]
    doubled = torch.cat([tokens[:, :T], tokens[:, T - 1 :]], dim=1)[:, : tokens.shape[1]]
    swapped = tokens[:, [1, 0, *range(2, tokens.shape[1])]]
    lost = torch.cat([tokens[:, 1:], tokens[:, -1:]], dim=1)
    faults = [largest(reference.logits(x)[:, T - 1 :], exact) for x in (doubled, swapped, lost)]
    return Tolerance(max(*nulls, rounding_unit(exact, reference)), min(faults), len(nulls), len(faults))
