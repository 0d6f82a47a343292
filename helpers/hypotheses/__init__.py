"""Hypotheses: known cache bugs as changed rules of the witness, and the storage formats that only round."""

from . import batches, rows, sequence
from .base import Hypothesis

__all__ = ["Hypothesis", "catalogue"]


def catalogue(reference, capacities=()):
    """Every hypothesis that makes sense for this reference, likeliest first within a family."""
    L = reference.n_layers
    made = [*rows.rounding(), *sequence.positions(), *sequence.masks(), *sequence.appends(L)]
    made += [*sequence.duplicates(L), *sequence.stale(), *rows.key_values(L), *rows.layers()]
    made += [*rows.buffers(capacities), *batches.left_padding(), *batches.handed_on()]
    if getattr(reference, "shared_heads", True):
        made += rows.shared_heads()
    if getattr(reference, "window", None):
        made += rows.windows(reference.window)
    return made + (rows.rotary() if getattr(reference, "rotary", False) else [])
