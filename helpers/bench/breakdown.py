"""Where the time of one decode step goes: torch's profiler for the operations, the clock for what is left.

The profiler slows what it watches, most of all small operations. So the step is timed without it, the operations that
compute are taken from it, and the rest of the step's time is Python and dispatch: views, checks, calls. Where a kernel
applies GELU or adds the residual itself, that is inside its matrix product.
"""

import os
import statistics
import time
from dataclasses import dataclass

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler's library writes to stderr whenever it starts and stops
from torch.profiler import ProfilerActivity, profile

from .table import markdown_table, moving
from .ticker import Ticker
from .timing import synchronize

PARTS = {  # part: beginnings of the names of torch's operations
    "matrix products": (
        "addmm",
        "mm",
        "mv",
        "addmv",
        "linear",
        "matmul",
        "mkldnn_linear",
        "_weight_int8pack_mm",
        "mkldnn::_linear_pointwise",
    ),
    "attention": ("scaled_dot_product_attention", "bmm", "_softmax"),
    "cache writes": ("copy_", "cat", "index_put_", "_index_put_impl_", "index_copy_", "_index_copy", "slice_scatter"),
    "norms, GELU, sums, embedding": ("native_layer_norm", "gelu", "add", "add_", "mul", "embedding", "index_select"),
}
REST = "Python and dispatch"


@dataclass(frozen=True)
class Breakdown:
    """Milliseconds of one step: `whole` by the clock, `parts` `{part: ms}`; `operations` `{name: (ms, calls)}`, each a step."""

    whole: float
    parts: dict[str, float]
    operations: dict[str, tuple[float, float]]

    def __str__(self):
        rows = [[name, moving(ms), f"{moving(100 * ms / self.whole, 2)} %"] for name, ms in self.parts.items()]
        return markdown_table(["one decode step", "ms", "share"], [*rows, ["whole", moving(self.whole), ""]])


def part_of(operation):
    """The part that an operation such as "aten::addmm" belongs to; the rest for views and what is not known."""
    name = operation.removeprefix("aten::")
    if name.startswith("_scaled_dot_product"):  # one name a kernel, and kernels come and go
        return "attention"
    return next((part for part, names in PARTS.items() if name in names), REST)


def break_down(step, steps=10, warmup=2, device="cpu", show=None):
    """A `Breakdown` of the callable `step`: in turns timed without and watched by the profiler, medians of `steps` of each."""
    wholes, watched = [], []
    with Ticker("profiling", warmup + steps, show) as ticker:
        for _ in range(warmup + steps):
            wholes.append(milliseconds(step, device))
            with profile(activities=[ProfilerActivity.CPU]) as seen:
                step()
            watched.append({event.key: (event.self_cpu_time_total / 1e3, event.count) for event in seen.key_averages()})
            ticker.tick()
    operations = medians(watched[warmup:])
    whole = statistics.median(wholes[warmup:])
    return Breakdown(whole, split(operations, whole), operations)


def milliseconds(step, device):
    synchronize(device)
    began = time.perf_counter()
    step()
    synchronize(device)
    return 1e3 * (time.perf_counter() - began)


def medians(watched):
    """`{operation: (ms, calls)}`, each the median over the steps watched."""
    names = dict.fromkeys(name for seen in watched for name in seen)
    columns = {name: zip(*(seen.get(name, (0.0, 0)) for seen in watched)) for name in names}
    return {name: tuple(map(statistics.median, column)) for name, column in columns.items()}


def split(operations, whole):
    """`{part: ms}` of `{operation: (ms, calls)}`; what they leave of the whole is Python and dispatch."""
    parts = dict.fromkeys(PARTS, 0.0)
    for name, (ms, _) in operations.items():
        if part_of(name) != REST:
            parts[part_of(name)] += ms
    return parts | {REST: max(whole - sum(parts.values()), 0.0)}
