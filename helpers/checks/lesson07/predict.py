"""Lesson 07: a step's time predicted before it is measured."""

from dataclasses import dataclass, replace
from functools import cache

import torch

from ...bench import SHAPES, DecodeProbe, ProductProbe, interleaved, new_model, read_bytes, step_flops, weight_bytes
from ...bench import kv_bytes as rows_bytes
from ...bench import predict_ms as roofline_ms
from ...bench.products import with_products
from ...bench.ticker import silent
from ...bench.variants import Stepper, preallocated
from ...figures import approx
from ..registry import Exercise, Wrong, kind

BAND = 1.5  # a prediction is right within this factor
GPT2, SMALL = SHAPES["gpt2"], SHAPES["small"]
GROUPED = replace(SMALL, n_kv_heads=1)
LENGTH, ROUNDS, WARMUP = 512, 11, 2

predict_ms = Exercise(
    name="predict_ms",
    lesson="07",
    call="predict_ms(config, length, bandwidth, flops) -> milliseconds of one cached step",
    minutes=15,
    difficulty="medium",
    seconds=30.0,
    hints=(
        "Two roads lead through the machine: bytes through the memory, operations through the cores. They are travelled "
        "at the same time. Which one decides?",
        "One token uses every weight once: all of them are read, with two operations each. And all K/V rows.",
        "bytes = weight_bytes + kv_bytes; operations = 2 · weights + 4 · L · H · D · length; the larger of the two "
        "times, in milliseconds.",
    ),
)


@dataclass(frozen=True)
class Here:
    """What was measured on this machine: one step, the bandwidth, the operations a second; `noisy`: cannot be trusted."""

    ms: float
    bandwidth: float
    flops: float
    noisy: bool


@cache
def measured_here(tries=3):
    """A `Here`, once a kernel: measured again, up to `tries` times, while the run is noisy."""
    model = with_products(new_model(SMALL))
    tokens = torch.zeros(1, LENGTH, dtype=torch.int64)
    for _ in range(tries):
        probes = {"bytes": DecodeProbe(SMALL), "operations": ProductProbe()}
        step = Stepper(preallocated(model, LENGTH), tokens, ROUNDS + WARMUP)
        timings = interleaved(probes | {"step": step}, ROUNDS, WARMUP, show=silent)
        found = Here(
            timings.ms("step"),
            probes["bytes"].bytes / timings["bytes"].median,
            probes["operations"].flops / timings["operations"].median,
            timings.noise.noisy is not False,
        )
        if not found.noisy:
            break
    return found


def number(got):
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        raise Wrong(f"the result is {kind(got)}; expected a number of milliseconds")
    return got


def near(got, right, band):
    return right / band <= got <= right * band


def mistakes(config, length, bandwidth, flops):
    """Known mistakes -> the milliseconds that each of them gives."""
    read, done = read_bytes(config, length), step_flops(config, 1, length)
    rows, right = rows_bytes(config, length), roofline_ms(config, 1, length, bandwidth, flops)
    memory, cores = 1e3 * read / bandwidth, 1e3 * done / flops
    whole = 1e3 * step_flops(config, length, length) / flops
    heads = rows * config.n_heads // config.kv_heads
    return {
        "seconds; asked are milliseconds": right / 1e3,
        "microseconds; asked are milliseconds": right * 1e3,
        "the memory alone; here the operations take longer": memory,
        "the operations alone; here the bytes take longer": cores,
        "the sum of both; they run at the same time": memory + cores,
        "the faster of the two; the step waits for the slower": min(memory, cores),
        "the keys and values are not read": 1e3 * weight_bytes(config) / bandwidth,
        "the keys and values alone; the weights are read as well": 1e3 * rows / bandwidth,
        "as many key heads as query heads; these are shared": 1e3 * (weight_bytes(config) + heads) / bandwidth,
        "numbers, not bytes: four bytes each in float32": memory / 4,
        "the operations of all tokens; with a cache one token is computed": whole,
        "the scores and their mixture are not computed": 1e3 * 2 * (weight_bytes(config) // 4) / flops,
    }


def predicted(answer, config, length, bandwidth, flops, band=BAND, looks=None):
    got, right = number(answer(config, length, bandwidth, flops)), roofline_ms(config, 1, length, bandwidth, flops)
    if near(got, right, band):
        return
    wrong = mistakes(config, length, bandwidth, flops).items()
    known = next((words for words, ms in wrong if not near(ms, right, band) and near(got, ms, 1.02)), looks)
    case = f"{weight_bytes(config) / 1e6:,.0f} MB of weights, {config.kv_heads} of {config.n_heads} heads have keys"
    machine = f"{length:,} tokens, {bandwidth / 1e9:g} GB/s, {flops / 1e9:,.0f} GFLOP/s"
    raise Wrong(f"{case}, {machine}: got {got:.4g} ms, expected {right:.4g} ms", known)


@predict_ms.check("a short text: the weights go through the memory")
def _(answer):
    predicted(answer, GPT2, 64, 20e9, 5e12)
    predicted(answer, SMALL, 64, 50e9, 5e12)


@predict_ms.check("a long text: the K/V rows do, too, and shared heads have fewer")
def _(answer):
    predicted(answer, SMALL, 65_536, 20e9, 1e12)
    predicted(answer, GROUPED, 65_536, 20e9, 1e12)


@predict_ms.check("slow cores: the operations decide")
def _(answer):
    predicted(answer, GPT2, 64, 20e9, 1e9)
    predicted(answer, SMALL, 65_536, 1e12, 1e10)


@predict_ms.check("both take as long: not their sum")
def _(answer):
    bandwidth = 20e9
    flops = bandwidth * step_flops(GPT2, 1, 64) / read_bytes(GPT2, 64)
    predicted(answer, GPT2, 64, bandwidth, flops)


@predict_ms.check(f"this machine, measured now: right within {BAND} ×")
def _(answer):
    here = measured_here()
    got = number(answer(SMALL, LENGTH, here.bandwidth, here.flops))
    right = roofline_ms(SMALL, 1, LENGTH, here.bandwidth, here.flops)
    said = f"predicted {approx(got, 'ms')}, measured {approx(here.ms, 'ms')}, a ratio of {approx(here.ms / got, '×')}"
    if near(got, here.ms, BAND):
        return said
    if here.noisy:
        return f"NOISY, so not judged: something else uses this machine. {said}"
    if near(got, right, BAND):
        return f"{said}: as far off as the roofline itself; on this machine Python is a large part of so small a step"
    raise Wrong(f"a steady run: {said}; the roofline says {approx(right, 'ms')}")
