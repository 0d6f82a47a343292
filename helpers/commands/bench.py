"""`python -m helpers bench`: the decoder's speed and memory beside `transformers` and this machine's limits.

Exit code: 0 measured, 1 one of our own variants is not equal to the reference, 2 the options cannot be used, 130
interrupted (what was measured until then is printed).
"""

import argparse
import json
import sys
from pathlib import Path

import torch

from ..bench.breakdown import break_down
from ..bench.record import to_dict
from ..bench.run import WARMUP, Bench, Plan, measure
from ..bench.shapes import SHAPES, new_model, random_tokens
from ..bench.table import markdown
from ..bench.variants import BUFFER, LIBRARY, NETWORKS, VARIANTS, Stepper

INTERRUPTED = 130
QUICK = {"rounds": 8, "loop_rounds": 2, "compiled": False, "memory": False}
PROFILED = 10


def main(arguments):
    """Measure as the command line asks and print it; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        plan = plan_of(options)
        check_files(options)
        if options.threads:
            torch.set_num_threads(options.threads)
        return profile(plan) if options.profile else report(plan, options)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted before anything was measured", file=sys.stderr)
        return INTERRUPTED


def parser():
    p = argparse.ArgumentParser(
        prog="python -m helpers bench",
        description="Speed and memory of cached decoding, beside transformers and the limits.",
    )
    p.add_argument("--shape", choices=SHAPES, default="gpt2", help="of the model, random weights (%(default)s)")
    p.add_argument(
        "--lengths", type=int, nargs="+", default=[64, 256, 1024], metavar="N", help="tokens, rising (64 256 1024)"
    )
    p.add_argument("--rounds", type=int, metavar="N", help="timed steps of each variant and length (24)")
    p.add_argument("--threads", type=int, metavar="N", help="of torch (as torch chooses)")
    p.add_argument("--device", default="cpu", help="cpu, cuda or mps (%(default)s)")
    p.add_argument("--quick", action="store_true", help="few rounds; without compiling and without process memory")
    p.add_argument("--profile", action="store_true", help="only say where the time of one decode step goes")
    p.add_argument("--json", metavar="FILE", help="write all figures")
    p.add_argument("--plot", metavar="FILE.png", help="draw ms per token and speed-up against length")
    return p


def plan_of(options):
    """The `Plan` that the options ask for. Raises ValueError in words."""
    for name in ("rounds", "threads"):
        given = getattr(options, name)
        if given is not None and given < 1:
            raise ValueError(f"--{name} must be at least 1, not {given}")
    check_device(options.device)
    changes = dict(QUICK) if options.quick else {}
    if options.rounds:
        changes |= {"rounds": options.rounds, "loop_rounds": min(options.rounds, 5)}
    return Plan(options.shape, tuple(options.lengths), device=options.device, **changes)


def check_device(name):
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"--device {name!r} cannot be used here: {str(error).splitlines()[0]}") from error


def check_files(options):
    """Raise ValueError for a file that could not be written, before minutes are spent."""
    for name in filter(None, (options.json, options.plot)):
        if not Path(name).resolve().parent.is_dir():
            raise ValueError(f"{name} cannot be written: there is no folder {Path(name).resolve().parent}")
    if options.plot and Path(options.plot).suffix != ".png":
        raise ValueError(f"--plot writes a .png file, not {options.plot!r}")


def report(plan, options):
    bench = measure(plan)
    if bench.partial and not bench.steps:
        raise KeyboardInterrupt
    print(markdown(bench))
    write(bench, options)
    if bench.partial:
        return INTERRUPTED
    return 1 if any(VARIANTS[name].network != LIBRARY for name in bench.refused) else 0


def write(bench: Bench, options):
    if options.json:
        Path(options.json).write_text(json.dumps(to_dict(bench), indent=1) + "\n", encoding="utf-8")
    if options.plot and bench.steps:
        from ..plots.bench import curves

        Path(options.plot).write_bytes(curves(bench).png())


def profile(plan):
    """Print where the time of our step goes at the shortest and the longest length."""
    variant = VARIANTS[BUFFER]
    network = NETWORKS[variant.network](new_model(plan.config, device=plan.device))
    for length in sorted({plan.lengths[0], plan.lengths[-1]}):
        tokens = random_tokens(plan.config, length, device=plan.device)
        step = Stepper(variant.new(network, plan.lengths[-1]), tokens, 2 * (PROFILED + WARMUP))
        print(f"## {BUFFER}, length {length}\n\n{break_down(step, PROFILED, WARMUP, plan.device)}\n")
    return 0
