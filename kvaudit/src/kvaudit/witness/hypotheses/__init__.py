"""Hypotheses: known cache bugs as changed rules of the witness, and the storage formats that only round."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from ...subject.uncached import Uncached
from . import batches, rows, sequence, storage
from .base import Hypothesis

__all__ = ["Hypothesis", "catalogue"]


def catalogue(reference: Uncached, capacities: Sequence[int] = ()) -> list[Hypothesis]:
    """Every hypothesis that makes sense for this reference, likeliest first within a family."""
    L = reference.n_layers
    made = [*once(storage.rounding), *once(sequence.positions), *once(sequence.masks), *once(sequence.appends, L)]
    made += [*once(sequence.duplicates, L), *once(sequence.stale), *once(rows.key_values, L), *once(rows.layers)]
    made += [*once(rows.buffers, tuple(capacities)), *once(batches.left_padding), *once(batches.handed_on)]
    if reference.shared_heads:
        made += once(rows.shared_heads, reference.tiled)
    if reference.window:
        made += once(rows.windows, reference.window)
    return made + list(once(rows.rotary) if reference.rotary else ())


@cache
def once(make: Callable[..., Iterable[Hypothesis]], *sizes: int | tuple[int, ...]) -> tuple[Hypothesis, ...]:
    """A family of hypotheses: the same objects each time, so that two audits can tell that they mean the same."""
    return tuple(make(*sizes))
