"""A benchmark whose timings are made up, so that every figure that follows from them is known beforehand."""

from helpers.bench import equality, machine
from helpers.bench.run import PROBE, STREAM, Bench, Plan, key
from helpers.bench.timing import Timing, Timings
from helpers.bench.variants import BUFFER, DYNAMIC, LIBRARY_LOOP, LOOP
from helpers.model import Config

CONFIG = Config(vocab_size=61, block_size=64, n_layers=2, n_heads=4, d_model=32, d_ff=48, gelu="tanh")
LENGTHS = (16, 32, 64)
STEP = {16: 0.010, 32: 0.012, 64: 0.015}  # seconds of our step
LOOPS = {4: 0.020, 16: 0.050, 24: 0.080, 32: 0.110, 48: 0.200, 64: 0.330}
PROBE_BYTES = 500_000


def plan(**changes):
    """A plan for `SHAPES["test"]`, which a test sets to CONFIG."""
    return Plan(**{"shape": "test", "lengths": LENGTHS, "rounds": 3, "loop_rounds": 2, "memory": False} | changes)


def timings(seconds, rounds=3, setup=None):
    """Timings of exactly these seconds; each round is slower than the one before by the same factor for all."""
    slow = [1 + 0.01 * r for r in range(rounds)]
    named = {name: Timing(tuple(s * f for f in slow)) for name, s in seconds.items()}
    return Timings(named, (1.0,) * 6, setup or machine.describe(), rounds)


def made_up():
    """A whole `Bench`: our step, the library's at twice its time, loops, and what was found equal."""
    steps = {PROBE: 0.008, STREAM: 0.004}
    steps |= {key(BUFFER, n): s for n, s in STEP.items()} | {key(DYNAMIC, n): 2 * s for n, s in STEP.items()}
    loops = {key(LOOP, n): s for n, s in LOOPS.items()} | {key(LIBRARY_LOOP, n): s * 1.5 for n, s in LOOPS.items()}
    loops[key(LIBRARY_LOOP, 64)] = 0.165
    made = Bench(plan(), machine.describe(), steps=timings(steps), loops=timings(loops))
    made.probe_bytes = {PROBE: PROBE_BYTES, STREAM: 1_000_000}
    made.equality = equality.Equality({BUFFER: 1e-7, DYNAMIC: 2e-7, LOOP: 1e-7}, 1e-7, 0.5, {})
    return made
