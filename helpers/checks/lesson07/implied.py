"""Lesson 07: a published table held against its own bytes and operations."""

from ...bench import kv_bytes as rows_bytes
from ...bench import read_bytes, step_flops
from ..compare import parts
from ..registry import Exercise, Wrong, kind
from .predict import GPT2, SMALL, near

implied = Exercise(
    name="implied",
    lesson="07",
    call="implied(config, length, without_ms, with_ms) -> (GB/s of the cached step, TFLOP/s of the pass without a cache)",
    minutes=10,
    difficulty="medium",
    hints=(
        "A step of so many milliseconds that has to read so many bytes: how many bytes a second?",
        "The cached step reads bench.read_bytes(config, length); the pass without a cache does "
        "bench.step_flops(config, length, length) operations.",
        "bytes / seconds / 1e9 and operations / seconds / 1e12; milliseconds are 1e-3 seconds.",
    ),
)
TABLES = ((GPT2, 1024, 982.3, 28.6), (GPT2, 64, 15.2, 8.7), (SMALL, 512, 300.0, 9.0))


def rates(config, length, without_ms, with_ms):
    return read_bytes(config, length) / with_ms / 1e6, step_flops(config, length, length) / without_ms / 1e9


def rate_mistakes(which, config, length, without_ms, with_ms):
    """Known mistakes of the first or second rate -> what each of them gives."""
    right, rows = rates(config, length, without_ms, with_ms)[which], rows_bytes(config, length)
    factors = (10.0**power for power in (-9, -6, -3, 3, 6, 9, 12))
    powers = {f"{factor:g} times as much: powers of ten of a unit": factor * right for factor in factors}
    if which == 0:
        special = {
            "the other column's milliseconds": read_bytes(config, length) / without_ms / 1e6,
            "the keys and values alone; a step reads the weights as well": rows / with_ms / 1e6,
            "numbers, not bytes": right / 4,
        }
    else:
        special = {
            "the other column's milliseconds": step_flops(config, length, length) / with_ms / 1e9,
            "the operations of one token; without a cache all of them are computed": step_flops(config, 1, length) / without_ms / 1e9,
            "multiply-adds; a product and a sum are two operations": right / 2,
        }  # fmt: skip
    return special | powers


def rate_is(answer, which, tables):
    names, units = ("the bandwidth", "the operations"), ("GB/s", "TFLOP/s")
    for table in tables:
        got, right = parts(answer(*table), units), rates(*table)
        value = got[which]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Wrong(f"{names[which]}: {kind(value)}; expected a number in {units[which]}")
        if near(value, right[which], 1.15):
            continue
        exchanged = near(value, right[1 - which], 1.15) and "the two rates in the other order"
        known = rate_mistakes(which, *table)
        looks = exchanged or next((w for w, t in known.items() if near(value, t, 1.02)), None)
        seen = f"{table[1]:,} tokens, {table[2]:g} ms without and {table[3]:g} ms with a cache"
        raise Wrong(f"{seen}: got {value:.4g} {units[which]}, expected {right[which]:.4g}", looks)


@implied.check("the bandwidth that a cached step would need")
def _(answer):
    rate_is(answer, 0, TABLES[:2])


@implied.check("the operations a second of a pass without a cache")
def _(answer):
    rate_is(answer, 1, TABLES[:2])


@implied.check("another model, other milliseconds")
def _(answer):
    rate_is(answer, 0, TABLES[2:])
    rate_is(answer, 1, TABLES[2:])
