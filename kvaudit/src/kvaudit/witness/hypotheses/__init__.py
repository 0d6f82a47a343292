"""Hypotheses: known cache bugs as changed rules of the witness, and the storage formats that only round."""

from functools import cache

from . import batches, rows, sequence
from .base import Hypothesis

__all__ = ["Hypothesis", "catalogue"]


def catalogue(reference, capacities=()):
    """Every hypothesis that makes sense for this reference, likeliest first within a family."""
    L = reference.n_layers
    made = [*once(rows.rounding), *once(sequence.positions), *once(sequence.masks), *once(sequence.appends, L)]
    made += [*once(sequence.duplicates, L), *once(sequence.stale), *once(rows.key_values, L), *once(rows.layers)]
    made += [*once(rows.buffers, tuple(capacities)), *once(batches.left_padding), *once(batches.handed_on)]
    if getattr(reference, "shared_heads", True):
        made += once(rows.shared_heads)
    if getattr(reference, "window", None):
        made += once(rows.windows, reference.window)
    return made + list(once(rows.rotary) if getattr(reference, "rotary", False) else ())


@cache
def once(make, *sizes):
    """A family of hypotheses: the same objects each time, so that two audits can tell that they mean the same."""
    return tuple(make(*sizes))
