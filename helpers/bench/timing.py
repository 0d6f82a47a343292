"""Fair timing: warm, in turns in one process, medians with their spread, and a control that says when a run is noisy.

    timings = interleaved({"with cache": step, "without": whole}, rounds=15)
    print(timings)                                    # medians, quartiles, ratios, the setup, steady or noisy
    timings.ratio("without", "with cache")            # of the same rounds, so that a slow moment meets both

What is timed is called once a round, in a new order each round: what runs before a call leaves the processor's caches
and the memory in some state, and none must always inherit the same. Before, between and after the rounds the same *fixed
work* is timed: what that varies by, the machine varies by.
"""

import random
import statistics
import time
from dataclasses import dataclass, field

import torch

from ..figures import approx
from .machine import Setup, describe
from .noise import Noise, judge
from .ticker import Ticker


@dataclass(frozen=True)
class Timing:
    """Seconds of one variant, one a round (warm-up left out)."""

    seconds: tuple[float, ...]

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def quartiles(self):
        """(first, third) quartile in seconds: half of the rounds lie between them."""
        if len(self.seconds) == 1:
            return self.seconds * 2
        first, _, third = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return first, third

    def __str__(self):
        low, high = self.quartiles
        return f"{approx(1e3 * self.median, 'ms')} ({approx(1e3 * low)} to {approx(1e3 * high)})"


@dataclass
class Timings:
    """What `interleaved` measured. `control`: seconds of the fixed work before, between and after the rounds."""

    variants: dict[str, Timing]
    control: tuple[float, ...]
    setup: Setup
    wanted: int  # rounds asked for
    partial: bool = False  # interrupted: fewer rounds than wanted, all of them complete
    last: dict = field(default_factory=dict, repr=False)  # what each variant returned in its last call

    def __getitem__(self, name):
        return self.variants[name]

    @property
    def rounds(self):
        return len(next(iter(self.variants.values())).seconds)

    @property
    def noise(self) -> Noise:
        return judge(self.control)

    def ms(self, name):
        """Median milliseconds of a call."""
        return 1e3 * self.variants[name].median

    def ratio(self, a, b):
        """Median over the rounds of (time of `a`) / (time of `b`) in the same round."""
        return statistics.median(x / y for x, y in zip(self.variants[a].seconds, self.variants[b].seconds))

    def __str__(self):
        width = max(map(len, self.variants))
        lines = [f"{name:<{width}}  {timing}" for name, timing in self.variants.items()]
        part = f"Interrupted: {self.rounds} of {self.wanted} rounds. " if self.partial else ""
        how = f"{part}Median of {self.rounds} rounds in turns (quartiles in brackets)."
        return "\n".join([*lines, how, str(self.setup), self.noise.words])


def interleaved(
    variants,
    rounds=15,
    warmup=2,
    *,
    setup=None,
    device="cpu",
    control=None,
    clock=time.perf_counter,
    show=None,
    words="timing",
):
    """Time `variants` `{name: callable without arguments}` in turns; returns `Timings`.

    rounds: timed calls of each; warmup: calls of each before them, not counted. setup: the `Setup` to record (default:
    this machine, float32, batch 1). device: synchronised before each look at the clock ("cuda", "mps"). control: the
    fixed work, a callable (default `fixed_work()`). clock: seconds; show: where progress is written, a function of a
    text. Ctrl-C returns the rounds that were complete, marked partial; before the first it is raised as ever.
    Raises ValueError for no variants, or fewer than 1 round or 0 warm-up calls.
    """
    if not variants:
        raise ValueError("there is nothing to time: give interleaved() a dict of {name: callable}")
    if rounds < 1 or warmup < 0:
        raise ValueError(f"interleaved() needs at least 1 round and 0 warm-up calls, not {rounds} and {warmup}")
    run = Run(variants, control or fixed_work(device), device, clock)
    partial = False
    try:
        with Ticker(words, (rounds + warmup) * len(variants), show) as ticker:
            run.all(rounds, warmup, ticker)
    except KeyboardInterrupt:
        partial = True
        if not run.complete:
            raise
    timed = {name: Timing(tuple(seconds[: run.complete])) for name, seconds in run.seconds.items()}
    return Timings(timed, tuple(run.control_seconds), setup or describe(device), rounds, partial, run.last)


class Run:
    """The state of one `interleaved` call: what an interruption leaves behind."""

    def __init__(self, variants, control, device, clock):
        self.variants, self.control, self.device, self.clock = variants, control, device, clock
        self.seconds = {name: [] for name in variants}
        self.control_seconds, self.last = [], {}

    @property
    def complete(self):
        return min(map(len, self.seconds.values()))

    def all(self, rounds, warmup, ticker):
        names = list(self.variants)
        for number in range(-warmup, rounds):
            if number == 0:
                self.timed(self.control)  # warm as well
                self.look_at_control(2)
            random.Random(number).shuffle(names)
            for name in names:
                seconds, self.last[name] = self.timed(self.variants[name])
                if number >= 0:
                    self.seconds[name].append(seconds)
                ticker.tick()
            if number >= 0:
                self.look_at_control(1)
        self.look_at_control(1)

    def look_at_control(self, times):
        self.control_seconds += [self.timed(self.control)[0] for _ in range(times)]

    def timed(self, call):
        """(seconds, what the call returned)."""
        synchronize(self.device)
        began = self.clock()
        result = call()
        synchronize(self.device)
        return self.clock() - began, result


def synchronize(device):
    """Wait until the device has done what it was given; a CPU always has."""
    kind = torch.device(device).type
    if kind == "cuda":
        torch.cuda.synchronize(device)
    elif kind == "mps":
        torch.mps.synchronize()


def fixed_work(device="cpu"):
    """The control: a matrix × vector product over 64 MB and a short Python loop, a few milliseconds on a laptop."""
    matrix, vector = torch.ones(4096, 4096, device=device), torch.ones(4096, device=device)

    def work():
        torch.mv(matrix, vector)
        return sum(i & 3 for i in range(10_000))

    return work
