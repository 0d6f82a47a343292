"""Right answers to the exercises of lesson 07, from which the graders' tests make wrong ones."""

TIMER = """
import statistics, time
def fair_timer(variants, rounds=15, warmup=2, clock=time.perf_counter):
    names, seconds = list(variants), {name: [] for name in variants}
    for number in range(-warmup, rounds):
        for name in names:
            began = clock()
            variants[name]()
            took = clock() - began
            if number >= 0:
                seconds[name].append(took)
        names.append(names.pop(0))
    return {name: statistics.median(took) for name, took in seconds.items()}
"""

BYTES = """
def kv_bytes(config, length, batch=1, itemsize=4):
    return 2 * config.n_layers * batch * config.kv_heads * length * config.head_dim * itemsize
"""

SPLIT = """
def split_step(spans):
    own, around = {}, []
    for part, begin, end in sorted(spans, key=lambda span: (span[1], -span[2])):
        while around and around[-1][1] <= begin:
            around.pop()
        if around:
            own[around[-1][0]] -= end - begin
        own[part] = own.get(part, 0.0) + end - begin
        around.append((part, end))
    return own
"""

PREDICT = """
from helpers import bench
def predict_ms(config, length, bandwidth, flops):
    weights = bench.weight_bytes(config)
    rows = bench.kv_bytes(config, length)
    operations = 2 * weights / 4 + 4 * config.n_layers * config.d_model * length
    return 1e3 * max((weights + rows) / bandwidth, operations / flops)
"""

IMPLIED = """
from helpers import bench
def implied(config, length, without_ms, with_ms):
    read, done = bench.read_bytes(config, length), bench.step_flops(config, length, length)
    return read / (1e-3 * with_ms) / 1e9, done / (1e-3 * without_ms) / 1e12
"""

RIGHT = {"fair_timer": TIMER, "kv_bytes": BYTES, "split_step": SPLIT, "predict_ms": PREDICT, "implied": IMPLIED}
