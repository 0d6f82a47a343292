"""Lesson 06: which of several replays reproduces a trace, and how closely."""

import math

import torch

from ..compare import inputs_kept, own
from ..registry import Exercise, Wrong, kind
from .divergence import TOLERANCE, changed, trace

explain = Exercise(
    name="explain",
    lesson="06",
    call='explain(trace, replays, tolerance) -> (name, residual), name "unknown" where no replay fits',
    minutes=20,
    difficulty="medium",
    hints=(
        "A replay fits if it gives the same logits everywhere. Which one number says that, over all rows, steps and tokens?",
        "What is the residual of a replay that ended early, and of one with a NaN in it? Neither may win.",
        "The largest difference of each replay, infinite where it cannot be compared; the first within the tolerance, "
        'else "unknown" with the smallest of them.',
    ),
)


def expect(answer, replays, right, when, looks=None, seen=None):
    """Raise `Wrong` unless the answer is `right`: (name, residual), the residual to a few digits."""
    got = answer(trace() if seen is None else seen, replays, TOLERANCE)
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        raise Wrong(f"{when}: the result is {kind(got)}; expected two things: (name, residual)")
    name, residual = got
    if name != right[0]:
        raise Wrong(f"{when}: named {name!r}, expected {right[0]!r}", (looks or {}).get(name))
    residual = residual.item() if isinstance(residual, torch.Tensor) and residual.numel() == 1 else residual
    if isinstance(residual, bool) or not isinstance(residual, (int, float)):
        raise Wrong(f"{when}: the residual is {kind(residual)}; expected a number")
    if residual != right[1] and not abs(residual - right[1]) < 1e-9:
        raise Wrong(f"{when}: the residual is {residual:.4g}, expected {right[1]:.4g}", looks_like(residual, right[1]))


def looks_like(residual, right):
    if residual == 0 < right:
        return "the residual of something else than the worst place"
    return "an average, or a sum; one place that differs must not be averaged away" if residual != right else None


SMALL, FAR = TOLERANCE / 4, changed(4.0, (0, 1, 1))


@explain.check("the replay that reproduces the trace")
def _(answer):
    part = {"far": "only a part of the steps was compared; this replay differs at step 1"}
    expect(answer, {"far": FAR, "same": trace()}, ("same", 0.0), "one replay is the trace itself", part)
    expect(answer, {"same": trace(), "far": FAR}, ("same", 0.0), "the same in another order", {"far": "the last one"})


@explain.check("the residual is the largest difference that is left")
def _(answer):
    near = changed(SMALL, (1, 2, 3), (0, 0, 0), base=changed(-SMALL * 2, (2, 2, 6)))
    expect(answer, {"far": FAR, "near": near}, ("near", SMALL * 2), "one replay differs a little in three places")


@explain.check("one wrong step is enough to be wrong")
def _(answer):
    late = changed(3.0, (2, 4, 6))  # right in prefill and in all steps but the last
    looks = {"late": "prefill, an average or argmax was looked at: it is right everywhere but in the last step"}
    everywhere = trace() + SMALL
    expect(answer, {"late": late, "everywhere": everywhere}, ("everywhere", SMALL),
           "one replay is exact but for the last step, one is off by a little everywhere", looks)  # fmt: skip


@explain.check("unknown where none fits, with the smallest residual")
def _(answer):
    closest = {"b": "the closest replay; it does not reproduce the trace, so it explains nothing"}
    two = {"a": FAR, "b": changed(-1.0, (1, 0, 0))}
    expect(answer, two, ("unknown", 1.0), "the closest replay is off by 1", closest)
    expect(answer, {}, ("unknown", math.inf), "there are no replays")
    edge = {"edge": changed(TOLERANCE, (1, 0, 0))}
    expect(answer, edge, ("edge", TOLERANCE), "a replay that is off by exactly the tolerance")


@explain.check("a NaN never fits")
def _(answer):
    broken = changed(math.nan, (1, 2, 3))
    looks = {"broken": "comparisons with NaN are all False: a NaN won because nothing was larger or smaller"}
    for replays in ({"broken": broken, "near": trace() + SMALL}, {"near": trace() + SMALL, "broken": broken}):
        expect(answer, replays, ("near", SMALL), "one replay has a NaN in it", looks)
    expect(answer, {"broken": broken}, ("unknown", math.inf), "the only replay has a NaN in it", looks)


@explain.check("a replay that ended early does not fit")
def _(answer):
    looks = {"short": "only the steps that both have were compared", "one": "tensors that broadcast"}
    short = {"short": trace()[:, :3], "near": trace() + SMALL}
    expect(answer, short, ("near", SMALL), "one replay ran out of positions after 3 steps", looks)
    constant = torch.zeros_like(trace()) + 1.0
    one = {"one": constant[:, :1], "near": constant + SMALL}
    expect(answer, one, ("near", SMALL), "one replay has a single step", looks, seen=constant)


@explain.check("several fit: the first of them, the replays are listed likeliest first")
def _(answer):
    both = {"likely": trace() + SMALL, "contrived": trace() + SMALL / 2}
    looks = {"contrived": "the smallest residual; below the tolerance the difference is rounding and decides nothing"}
    expect(answer, both, ("likely", SMALL), "two replays are within the tolerance", looks)


@explain.check("the trace and the replays are unchanged")
def _(answer):
    given = {"far": FAR.clone(), "same": trace()}
    inputs_kept(lambda seen, replays: own(answer)(seen, replays, TOLERANCE), ("trace", "replays"), trace(), given)
