"""The whole benchmark: compare, then time the cached steps and the loops without a cache, then look at the memory.

Every phase leaves its part in a `Bench`; Ctrl-C ends it and keeps what is there.
"""

from dataclasses import dataclass, field

from ..config import Config
from . import peak
from .bandwidth import DecodeProbe, StreamProbe
from .equality import COMPARED, COMPARED_STEPS, Equality, compare, largest, refused
from .machine import Setup, describe
from .shapes import SHAPES, new_model, random_tokens
from .ticker import Ticker
from .timing import Timings, interleaved
from .variants import COMPILED, LOOP, NETWORKS, VARIANTS, Stepper

PROBE, STREAM = "decode probe", "stream probe"
WARMUP, LOOP_WARMUP = 2, 1  # a pass without a cache is long: one makes it warm


@dataclass(frozen=True)
class Plan:
    """What to measure. `rounds` of each cached step, `loop_rounds` of each pass without a cache."""

    shape: str = "gpt2"
    lengths: tuple[int, ...] = (64, 256, 1024)
    rounds: int = 24
    loop_rounds: int = 5
    device: str = "cpu"
    compiled: bool = True
    memory: bool = True

    def __post_init__(self):
        """Raise ValueError in words for lengths that cannot be measured."""
        longest, shortest = self.config.block_size, self.rounds + WARMUP + 1
        for length in self.lengths:
            if not shortest <= length <= longest:
                raise ValueError(
                    f"length {length} cannot be measured: {self.rounds} rounds need at least {shortest} tokens, and the "
                    f"shape {self.shape!r} has {longest} positions"
                )
        if list(self.lengths) != sorted(set(self.lengths)) or not self.lengths:
            raise ValueError(f"lengths must be given once each and rising, not {list(self.lengths)}")

    @property
    def config(self) -> Config:
        return SHAPES[self.shape]

    @property
    def grid(self):
        """Lengths at which the loops without a cache are timed: what is between is interpolated."""
        between = [(a + b) // 2 for a, b in zip(self.lengths, self.lengths[1:])]
        return sorted({max(self.lengths[0] // 4, 1), *self.lengths, *between})


@dataclass
class Bench:
    """What was measured so far; None is what was not. `refused`: variants that were not timed, and why."""

    plan: Plan
    setup: Setup
    equality: Equality | None = None
    refused: dict[str, str] = field(default_factory=dict)
    steps: Timings | None = None  # cached steps and the probes, in turns
    loops: Timings | None = None  # passes without a cache, in turns
    late: dict[str, float] = field(default_factory=dict)  # logits differences of the last timed steps
    memory: dict[str, peak.Peak] = field(default_factory=dict)
    probe_bytes: dict[str, int] = field(default_factory=dict)
    partial: bool = False


def key(name, length):
    """The name of a variant at a length in the timings."""
    return f"{name} at {length}"


def measure(plan, show=None):
    """Run all phases of a `Plan`; returns a `Bench`, partial where Ctrl-C ended it."""
    bench = Bench(plan, describe(plan.device))
    try:
        networks = build(plan, bench, show)
        check(bench, networks, show)
        bench.steps = time_steps(bench, networks, show)
        bench.loops = None if bench.steps.partial else time_loops(bench, networks, show)
        bench.partial = bench.loops is None or bench.loops.partial
        drop_wrong(bench)
        if plan.memory and not bench.partial:
            look_at_memory(bench, show)
    except KeyboardInterrupt:
        bench.partial = True
    return bench


def build(plan, bench, show):
    """`{network: module}` with the same weights; the library's only where it is installed."""
    networks = {}
    with Ticker("building the networks", len(NETWORKS), show) as ticker:
        model = new_model(plan.config, device=plan.device)
        for name, make in NETWORKS.items():
            try:
                networks[name] = make(model)
            except ImportError as error:
                bench.refused |= {v.name: str(error) for v in VARIANTS.values() if v.network == name}
            ticker.tick()
    if not plan.compiled:
        bench.refused.setdefault(COMPILED, "left out")
    return networks


def timed(bench, cached):
    """The variants that may be timed, of the cached ones or of the loops."""
    return [v for v in VARIANTS.values() if v.cached == cached and v.name not in bench.refused]


def check(bench, networks, show):
    """Correctness before speed: what differs from the reference is not timed."""
    plan = bench.plan
    chosen = [*timed(bench, True), *timed(bench, False)]
    decoders = {v.name: v.new(networks[v.network], plan.lengths[-1]) for v in chosen}
    tokens = random_tokens(plan.config, COMPARED, device=plan.device)
    with Ticker("comparing logits before timing", len(decoders), show) as ticker:
        bench.equality = compare(networks["plain"], decoders, tokens, COMPARED_STEPS, ticker.tick)
    bench.refused |= refused(bench.equality, [v.name for v in chosen if not v.exact])


def time_steps(bench, networks, show):
    """Cached steps of every variant at every length, and the probes, all in turns."""
    plan = bench.plan
    probes = {PROBE: DecodeProbe(plan.config, plan.device), STREAM: StreamProbe(device=plan.device)}
    bench.probe_bytes = {name: probe.bytes for name, probe in probes.items()}
    steppers = new_steppers(plan, networks, timed(bench, True), show)
    return in_turns(bench, probes | steppers, (plan.rounds, WARMUP), "timing cached steps", show)


def new_steppers(plan, networks, variants, show):
    """`{key: Stepper}`, each with its prompt already fed and as many tokens left as it will be called."""
    steppers = {}
    with Ticker("feeding the prompts", len(variants) * len(plan.lengths), show) as ticker:
        for length in plan.lengths:
            tokens = random_tokens(plan.config, length, device=plan.device)
            for v in variants:
                decoder = v.new(networks[v.network], plan.lengths[-1])
                steppers[key(v.name, length)] = Stepper(decoder, tokens, plan.rounds + WARMUP)
                ticker.tick()
    return steppers


def time_loops(bench, networks, show):
    """Whole passes without a cache at every length of the grid, in turns."""
    plan, calls = bench.plan, {}
    for length in plan.grid:
        tokens = random_tokens(plan.config, length, device=plan.device)
        for v in timed(bench, False):
            decoder = v.new(networks[v.network], length)
            calls[key(v.name, length)] = lambda d=decoder, t=tokens: d.prefill(t)
    return in_turns(bench, calls, (plan.loop_rounds, LOOP_WARMUP), "timing the loops without a cache", show)


def in_turns(bench, calls, rounds, words, show):
    return interleaved(calls, *rounds, setup=bench.setup, device=bench.plan.device, words=words, show=show)


def drop_wrong(bench):
    """Forget the timings of a variant whose last timed step gave other logits than our loop at the same token."""
    bench.late = late_differences(bench)
    for name, difference in bench.late.items():
        if VARIANTS[name].exact and not difference <= bench.equality.tolerance:
            bench.refused[name] = (
                f"the logits of its last timed step differ by {difference:.1e} from the loop without a cache; rounding "
                f"explains {bench.equality.tolerance:.1e}"
            )
            for timings in (bench.steps, bench.loops):
                for length in bench.plan.lengths:
                    timings.variants.pop(key(name, length), None)


def late_differences(bench):
    """`{variant: largest logits difference}` of the last timed steps from our loop at the same tokens, over all lengths."""
    if bench.partial or LOOP in bench.refused:
        return {}
    found = {}
    for v in timed(bench, True):
        pairs = [(bench.steps.last[key(v.name, n)], bench.loops.last[key(LOOP, n)]) for n in bench.plan.lengths]
        found[v.name] = max(largest(a.double(), b.double()) for a, b in pairs)
    return found


def look_at_memory(bench, show):
    """Peak memory of each variant that was timed, in a process of its own; the compiler's would hide its variant's."""
    chosen = [v.name for v in (*timed(bench, True), *timed(bench, False)) if v.name != COMPILED]
    with Ticker("measuring the memory", len(chosen), show) as ticker:
        for name in chosen:
            bench.memory[name] = peak.in_own_process(name, bench.plan.shape, bench.plan.lengths[-1])
            ticker.tick()
