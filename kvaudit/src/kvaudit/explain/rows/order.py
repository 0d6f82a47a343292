"""Which slot of a decoder holds which place of the sequence: found by trying, since caches grow, slide, go round and leave holes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .compare import gaps
from .right import Right

MOST = 100_000  # pairs of a place and a slot that are tried
FIRST, NEWEST, BETWEEN, UNPADDED = range(4)  # alignments

Trial = tuple[Tensor, Tensor, float, Tensor]  # held rows, right rows, the difference that is none, places needed [B, S]


def alignments(S: int, right: Right, T: int) -> Iterator[Tensor]:
    """Slots `[B, places]` of S held rows, -1 for none; T of the places are new.

    The first place first; the newest last; the T new ones last and the others first; without padding; a ring.
    """
    place = torch.arange(right.S).expand(right.B, -1)
    newest = place + S - right.S
    between = torch.where(place < right.S - T, torch.where(place < S - T, place, -1), newest)
    for slots in (place, newest, between, place - right.pads):
        yield torch.where((slots >= 0) & (slots < S), slots, -1)
    if 0 < S < right.S:
        yield torch.where(place >= right.S - S, place % S, -1)


def aligned(trials: Sequence[Trial], right: Right, T: int, order: int | None = None) -> Tensor:
    """The alignment `[B, places]` under which most of the needed rows are right; the first of equals.

    Without padding: only where most rows of the padded sequences are right so. `order`: a number of the alignments, to
    take that one.
    """
    found = list(alignments(trials[0][0].shape[2], right, T))
    if order is not None:
        return found[order]
    every = sum(int(needed.sum()) for *_, needed in trials)
    scores = [good(found[FIRST], trials)]
    if scores[0] == every:
        return found[FIRST]
    scores += [good(slots, trials) for slots in found[1:]]
    padded = sum(int((needed & (right.pads > 0)).sum()) for *_, needed in trials)
    if not padded or scores[UNPADDED] <= scores[FIRST] + padded / 2:
        scores[UNPADDED] = -1
    held = trials[0][0].shape[2]
    if held != right.S and held * right.S <= MOST:
        found.append(by_content(trials, right))
        scores.append(good(found[-1], trials))
    return found[scores.index(max(scores))]


def good(slots: Tensor, trials: Sequence[Trial]) -> int:
    """How many needed rows are right."""
    return sum(int(((gaps(held, want, slots).amax(1) <= bound) & needed).sum()) for held, want, bound, needed in trials)


def by_content(trials: Sequence[Trial], right: Right) -> Tensor:
    """Slots `[B, places]` by what they hold: the longest run, in order, of slots that equal their place in all sequences."""
    S, held = right.S, trials[0][0].shape[2]
    equal = torch.zeros(S, held, dtype=torch.int64)
    for rows, want, bound, _ in trials:
        if held:
            places, slots = (x.permute(2, 0, 1, 3).flatten(1).nan_to_num(nan=torch.inf) for x in (want, rows))
            equal += torch.cdist(places, slots, p=torch.inf) <= bound
    same: list[list[int]] = equal.tolist()
    best = [[0] * (held + 1) for _ in range(S + 1)]  # of the places and slots from here on
    for p in reversed(range(S)):
        for s in reversed(range(held)):
            both = same[p][s] + best[p + 1][s + 1] if same[p][s] else 0
            best[p][s] = max(both, best[p + 1][s], best[p][s + 1])
    pairs, p, s = [], 0, 0
    while p < S and s < held:
        if same[p][s] and best[p][s] == same[p][s] + best[p + 1][s + 1]:
            pairs.append((p, s))
            p, s = p + 1, s + 1
        elif best[p][s] == best[p + 1][s]:
            p += 1
        else:
            s += 1
    return between(pairs, S, held).expand(right.B, -1)


def between(pairs: Sequence[tuple[int, int]], S: int, held: int) -> Tensor:
    """Slots `[places]` of matched pairs; as many places as slots between two of them belong together."""
    slots = torch.full((S,), -1)
    at, to = 0, 0
    for p, s in (*pairs, (S, held)):
        if p - at == s - to:
            slots[at:p] = torch.arange(to, s)
        if p < S:
            slots[p] = s
        at, to = p + 1, s + 1
    return slots
