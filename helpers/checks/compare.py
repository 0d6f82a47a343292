"""Comparisons that cannot pass by accident: type, shape, dtype, finiteness, then every number, counted.

A bare `allclose` would let an empty tensor or a scalar that broadcasts pass.
"""

import torch

from ..figures import approx
from .values import Wrong, kind, plain


def compare(actual, expected, tolerance, axes, what="the result"):
    """Raise `Wrong` unless `actual` equals the tensor `expected` within `tolerance`; returns the largest difference.

    `axes` names the axes in the exercise's own terms, as in "B T C"; the first place that differs is told in them.
    """
    tensor_like(actual, expected, axes, what)
    actual = actual.detach()
    difference = (actual.double() - expected.double()).abs()
    wrong = difference > tolerance
    if wrong.any():
        place = tuple(int(i) for i in wrong.nonzero()[0])
        where = ", ".join(f"{axis}={i}" for axis, i in zip(axes.split(), place) if axis != "1")
        by = f" by more than {tolerance:g} (at most {float(difference.max()):.3g})" if tolerance else ""
        raise Wrong(
            f"{int(wrong.sum()):,} of {wrong.numel():,} numbers of {what} differ{by}; the first at {where}: "
            f"{got_expected(actual[place], expected[place])}"
        )
    return float(difference.max()) if difference.numel() else 0.0


def tensor_like(actual, expected, axes, what="the result"):
    """Raise `Wrong` unless `actual` is a finite tensor of the shape, dtype and device of `expected`."""
    if not isinstance(actual, torch.Tensor):
        raise Wrong(f"{what} is {kind(actual)}; expected a tensor {shaped(expected, axes)}")
    if (actual.device, actual.layout) != (expected.device, expected.layout):
        raise Wrong(
            f"{what} is on {actual.device} ({actual.layout}); expected {expected.device} ({expected.layout})",
            "a device or layout of its own, where the input's should stay",
        )
    if actual.shape != expected.shape:
        transposed = sorted(actual.shape) == sorted(expected.shape) and "the right axes in another order"
        raise Wrong(f"{what} has shape {list(actual.shape)}; expected {shaped(expected, axes)}", transposed or None)
    if actual.dtype != expected.dtype:
        raise Wrong(f"{what} is {actual.dtype}; expected {expected.dtype}")
    if actual.is_floating_point() and not actual.isfinite().all():
        bad = ~actual.isfinite()
        place = ", ".join(f"{axis}={int(i)}" for axis, i in zip(axes.split(), bad.nonzero()[0]))
        seen = f"{int(bad.sum())} of {bad.numel()} numbers of {what} are not finite; the first at {place}: {number(actual[bad][0])}"
        raise Wrong(seen, "a softmax over a row in which everything is masked" if actual.isnan().any() else None)


def shaped(tensor, axes):
    return f"of shape [{', '.join(axes.split())}] = {list(tensor.shape)}"


def within(difference, tolerance):
    """The detail behind a passed comparison."""
    return f"largest difference {approx(difference)}, tolerance {tolerance:g}"


def number(value, digits=4):
    value = value.item()
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def got_expected(got, expected):
    """Both numbers, with as many digits as it takes to tell them apart."""
    both = [(number(got, digits), number(expected, digits)) for digits in range(4, 18)]
    got, expected = next((pair for pair in both if pair[0] != pair[1]), both[0])
    return f"got {got}, expected {expected}"


def parts(actual, names, what="the result"):
    """Unpack a tuple or list of exactly `len(names)` things; a tensor is not taken apart along its first axis."""
    if not isinstance(actual, (tuple, list)) or len(actual) != len(names):
        got = f"{kind(actual)} of {len(actual)}" if isinstance(actual, (tuple, list)) else kind(actual)
        raise Wrong(f"{what} is {got}; expected {len(names)} things: ({', '.join(names)})")
    return actual


def copied(value):
    """The same nest of lists, tuples and dicts with every tensor cloned; models and caches stay what they are."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copied(x) for x in value)
    return {key: copied(x) for key, x in value.items()} if isinstance(value, dict) else value


def same(a, b):
    """Whether two such nests hold equal tensors in the same places."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a is b or a == b


def inputs_kept(function, names, *args):
    """Call `function(*args)` and raise `Wrong` if it changed one of them (a cache that is shared would change too)."""
    given = copied(list(args))
    function(*given)
    for name, before, after in zip(names, args, plain(given)):
        if not same(before, after):
            raise Wrong(
                f"the call changed its argument {name} in place", "an in-place write (`+=`, `[...] =`, append) on it"
            )


def own(answer):
    """The learner's own function, without the copies of its arguments that `check` hands out."""
    return getattr(answer, "own", answer)
