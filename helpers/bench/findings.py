"""What follows from a `Bench`: limits, ratios, speed-ups, goals.

What was timed in turns is compared round by round: a ratio is the median of the rounds' ratios. The loops without a cache
take a hundred times longer and have turns of their own: a speed-up is a quotient of two medians.
"""

from bisect import bisect_left
from dataclasses import dataclass

from .limits import BLOG
from .memory import read_bytes
from .run import PROBE, STREAM, key
from .variants import BUFFER, CONCAT, DYNAMIC, LIBRARY_LOOP, LOOP

GOAL_LIMIT, GOAL_LIBRARY, GOAL_SPEEDUP, GOAL_GROWTH = 1.15, 0.85, 0.85, 1.05


def bandwidth(bench, probe=PROBE):
    """Bytes a second of a probe; None where it was not timed."""
    return bench.probe_bytes[probe] / bench.steps[probe].median if bench.steps else None


def stream_bandwidth(bench):
    return bandwidth(bench, STREAM)


def step_bytes(bench, length):
    """Bytes that the timed steps read, taken at the middle one: they end at `length`, one token after the other."""
    middle = length - (bench.steps.rounds - 1) / 2
    return read_bytes(bench.plan.config, middle)


def limit_ms(bench, length):
    return 1e3 * step_bytes(bench, length) / bandwidth(bench)


def ratio(timings, a, b):
    """`timings.ratio(a, b)`, or None where one of the two was not timed."""
    return timings.ratio(a, b) if timings and {a, b} <= timings.variants.keys() else None


def limit_ratio(bench, length):
    """Our step over the limit, the bandwidth taken from the same round."""
    found = ratio(bench.steps, key(BUFFER, length), PROBE)
    return found and found * bench.probe_bytes[PROBE] / step_bytes(bench, length)


def library_ratio(bench, length):
    return ratio(bench.steps, key(BUFFER, length), key(DYNAMIC, length))


def concat_ratio(bench, length):
    return ratio(bench.steps, key(CONCAT, length), key(BUFFER, length))


def growth(bench):
    """(our step at the longest length over that at the shortest, the same ratio of the bytes read)."""
    short, *_, long = bench.plan.lengths
    read = step_bytes(bench, long) / step_bytes(bench, short)
    return ratio(bench.steps, key(BUFFER, long), key(BUFFER, short)), read


def baseline(bench, length):
    """The faster loop without a cache at this length: a slow one would flatter the cache. None where none was timed."""
    names = [key(name, length) for name in (LOOP, LIBRARY_LOOP)]
    found = [name for name in names if bench.loops and name in bench.loops.variants]
    return min(found, key=lambda name: bench.loops[name].median, default=None)


def speedup(bench, length):
    """Time of one token without a cache over with one, at this length; None where one of the two was not timed."""
    loop, step = baseline(bench, length), key(BUFFER, length)
    return bench.loops.ms(loop) / bench.steps.ms(step) if loop and step in bench.steps.variants else None


def speedup_limit(bench, length):
    """The speed-up of a step that takes no longer than its limit."""
    loop = baseline(bench, length)
    return loop and bench.loops.ms(loop) / limit_ms(bench, length)


def speedup_total(bench, length):
    """Time to generate `length` tokens without a cache over with one, both added up from the steps timed."""
    if speedup(bench, length) is None:
        return None
    loops = {n: bench.loops[baseline(bench, n)].median for n in bench.plan.grid}
    steps = {n: bench.steps[key(BUFFER, n)].median for n in bench.plan.lengths}
    return total(loops, length) / total(steps, length)


def total(seconds, length):
    """Sum over the tokens 1 … `length` of a step's seconds, `{length: seconds}` interpolated in straight lines."""
    return sum(between(seconds, t) for t in range(1, length + 1))


def between(seconds, t):
    """Seconds at length t; below the shortest length, as at the shortest."""
    lengths = sorted(seconds)
    right = bisect_left(lengths, t)
    if right == 0:
        return seconds[lengths[0]]
    a, b = lengths[right - 1], lengths[right]
    share = (t - a) / (b - a)
    return (1 - share) * seconds[a] + share * seconds[b]


@dataclass(frozen=True)
class Goal:
    """`measured` must be at most (`most`) or at least `bound`; None: not measured."""

    words: str
    length: int | None
    measured: float | None
    bound: float
    most: bool

    @property
    def met(self):
        if self.measured is None:
            return None
        return self.measured <= self.bound if self.most else self.measured >= self.bound


def goals(bench):
    """The goals of the decoder, each with what was measured."""
    if not bench.steps:
        return []
    found = []
    for n in bench.plan.lengths:
        found.append(Goal("time / limit", n, limit_ratio(bench, n), GOAL_LIMIT, True))
        found.append(Goal("time / transformers dynamic", n, library_ratio(bench, n), GOAL_LIBRARY, True))
        faster, possible = speedup(bench, n), speedup_limit(bench, n)
        found.append(Goal("speed-up / the limit's", n, faster and faster / possible, GOAL_SPEEDUP, False))
        if n in BLOG:
            found.append(Goal("speed-up, the blog's", n, faster, BLOG[n][2], False))
    if len(bench.plan.lengths) > 1:
        measured, read = growth(bench)
        found.append(Goal("longest / shortest length", None, measured, GOAL_GROWTH * read, True))
    return found
