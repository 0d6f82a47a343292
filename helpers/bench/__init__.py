"""Fair measurements: time, memory, this machine's bandwidth, and the limits that follow from them.

    from helpers.bench import interleaved, kv_bytes, read_bytes, limit_ms, measure_machine
    timings = interleaved({"cached": step, "whole": again}, rounds=15)

timing     interleaved medians with spread; `noise`: when a run is noisy; `ticker`: its line of progress
memory     bytes predicted and counted; peak of a process; `peak`: of a variant in a process of its own
copies     bytes that caches move, counted
bandwidth  probes of memory and arithmetic; `limits`: the roofline, and the blog's table
variants   our decoders and the library's over one set of weights; `equality`: correctness before speed
run        the whole benchmark; `table`, `record`, `figures`, `breakdown`, `cli`: how it is told (`python -m helpers bench`)
"""

from .bandwidth import DecodeProbe, ProductProbe, StreamProbe
from .bandwidth import measure as measure_machine
from .copies import concat_bytes, written_bytes
from .limits import BLOG, BLOG_DEVICE, limit_ms, predict_ms, step_flops
from .machine import Setup, describe
from .memory import counted_bytes, kv_bytes, peak_bytes, read_bytes, row_bytes, weight_bytes
from .shapes import SHAPES, new_model, random_tokens
from .timing import Timing, Timings, fixed_work, interleaved, synchronize

__all__ = [
    "BLOG",
    "BLOG_DEVICE",
    "SHAPES",
    "DecodeProbe",
    "ProductProbe",
    "Setup",
    "StreamProbe",
    "Timing",
    "Timings",
    "concat_bytes",
    "counted_bytes",
    "describe",
    "fixed_work",
    "interleaved",
    "kv_bytes",
    "limit_ms",
    "measure_machine",
    "new_model",
    "peak_bytes",
    "predict_ms",
    "random_tokens",
    "read_bytes",
    "row_bytes",
    "step_flops",
    "synchronize",
    "weight_bytes",
    "written_bytes",
]
