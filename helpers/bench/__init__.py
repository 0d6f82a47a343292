"""Fair measurements: time, memory, this machine's bandwidth, and the limits that follow from them. Draws nothing.

    from helpers.bench import interleaved, kv_bytes, read_bytes, limit_ms, measure_machine
    timings = interleaved({"cached": step, "whole": again}, rounds=15)

From outside: the names below, `spans` (the parts of a step), and for the command `run`, `table`, `record` and `findings`.

timing     interleaved medians with spread; `noise`: when a run is noisy; `ticker`: its line of progress
memory     bytes predicted and counted; peak of a process; `peak`: of a variant in a process of its own
copies     bytes that caches move, counted
bandwidth  probes of memory and arithmetic; `limits`: the roofline, and the blog's table
variants   our decoders and the library's over one set of weights; `equality`: correctness before speed
products   products that read weights soonest here; `stopwatch`: times only what was proved; `scripted`: a made-up machine
run        the whole benchmark; `table`, `record`, `findings`, `breakdown`: how it is told (`python -m helpers bench`)
"""

from .bandwidth import DecodeProbe, ProductProbe, StreamProbe
from .bandwidth import measure as measure_machine
from .copies import concat_bytes, written_bytes
from .limits import BLOG, BLOG_DEVICE, limit_ms, predict_ms, step_flops
from .machine import Setup, describe
from .memory import counted_bytes, kv_bytes, peak_bytes, read_bytes, row_bytes, weight_bytes
from .products import with_products
from .scripted import Scripted, slowing
from .shapes import SHAPES, new_model, random_tokens
from .stopwatch import NotProved, Stopwatch, medians
from .ticker import Ticker, silent
from .timing import Timing, Timings, fixed_work, interleaved, synchronize
from .variants import concatenated, preallocated

__all__ = [
    "BLOG",
    "BLOG_DEVICE",
    "SHAPES",
    "DecodeProbe",
    "NotProved",
    "ProductProbe",
    "Scripted",
    "Setup",
    "Stopwatch",
    "StreamProbe",
    "Ticker",
    "Timing",
    "Timings",
    "concat_bytes",
    "concatenated",
    "counted_bytes",
    "describe",
    "fixed_work",
    "interleaved",
    "kv_bytes",
    "limit_ms",
    "measure_machine",
    "medians",
    "new_model",
    "peak_bytes",
    "preallocated",
    "predict_ms",
    "random_tokens",
    "read_bytes",
    "row_bytes",
    "silent",
    "slowing",
    "step_flops",
    "synchronize",
    "weight_bytes",
    "with_products",
    "written_bytes",
]
