"""Whether a run was noisy, from fixed work that was timed before, between and after the rounds."""

import statistics
from dataclasses import dataclass

from ..figures import approx

SPREAD = 0.15  # the middle four fifths of the control: at most this share of its median in a steady run
DRIFT = 0.10  # its last third against its first: at most this much apart
FEWEST = 4  # timings of the control that a judgement needs


@dataclass(frozen=True)
class Noise:
    """`spread` and `drift` of the fixed work as shares of its median; `noisy` None: too few timings to say."""

    spread: float
    drift: float
    noisy: bool | None
    words: str


def judge(control):
    """A `Noise` from the control's seconds, in the order in which they were measured."""
    if len(control) < FEWEST:
        return Noise(float("nan"), float("nan"), None, f"Steady or noisy: not known from {len(control)} timings.")
    middle = statistics.median(control)
    tenths = statistics.quantiles(control, n=10, method="inclusive")
    spread = (tenths[-1] - tenths[0]) / middle
    third = max(len(control) // 3, 1)
    drift = statistics.median(control[-third:]) / statistics.median(control[:third]) - 1
    noisy = spread > SPREAD or abs(drift) > DRIFT
    return Noise(spread, drift, noisy, in_words(spread, drift, noisy, len(control)))


def in_words(spread, drift, noisy, times):
    seen = f"the same fixed work, timed {times} times before, between and after, varied by {percent(spread)}"
    if not noisy:
        return f"Steady: {seen}."
    slower = f" and ended {percent(abs(drift))} {'slower' if drift > 0 else 'faster'} than it began"
    return (
        f"NOISY: {seen}{slower if abs(drift) > DRIFT else ''}. The figures may be off by as much: something else uses "
        "this machine. Close it and measure again."
    )


def percent(share):
    return approx(100 * share, "%")
