"""Different but right answers to the exercises of lesson 07: other people's ways, which the graders must let pass."""

ALTERNATIVES = {
    "fair_timer": [
        # another order by chance, the warm-up first and by itself
        """
import random, time
import numpy as np
def fair_timer(variants, rounds=15, warmup=2, clock=time.perf_counter):
    for call in variants.values():
        for _ in range(warmup):
            call()
    took = {name: np.zeros(rounds) for name in variants}
    for i in range(rounds):
        for name in random.sample(sorted(variants), len(variants)):
            start = clock(); variants[name](); took[name][i] = clock() - start
    return {name: float(np.median(values)) for name, values in took.items()}
""",
        # every order in turn, sorted by hand
        """
import itertools, time
def fair_timer(variants, rounds=15, warmup=2, clock=time.perf_counter):
    orders = itertools.cycle(itertools.permutations(variants))
    seen = {}
    for i, order in zip(range(warmup + rounds), orders):
        for name in order:
            t0 = clock()
            variants[name]()
            seen.setdefault(name, []).append(clock() - t0)
    middle = lambda values: sorted(values)[len(values) // 2]
    return {name: middle(values[warmup:]) for name, values in seen.items()}
""",
        # rotation by an index, tensors
        """
import time, torch
def fair_timer(variants, rounds=15, warmup=2, clock=time.perf_counter):
    names = list(variants)
    n = len(names)
    table = torch.zeros(rounds, n, dtype=torch.float64)
    for r in range(-warmup, rounds):
        for j in range(n):
            k = (r + j) % n
            begin = clock()
            variants[names[k]]()
            end = clock()
            if r >= 0: table[r, k] = end - begin
    return dict(zip(names, table.median(0).values.tolist()))
""",
    ],
    "kv_bytes": [
        "def kv_bytes(config, length, batch=1, itemsize=4):\n    c = config\n    return sum(2 * batch * c.kv_heads * length * c.head_dim * itemsize for _ in range(c.n_layers))",
        "import math\nkv_bytes = lambda c, S, batch=1, itemsize=4: math.prod([itemsize, 2, c.n_layers, batch, c.kv_heads, S, c.head_dim])",
        "import numpy as np\ndef kv_bytes(config, length, batch=1, itemsize=4):\n    width = config.d_model // (config.n_heads // config.kv_heads)\n    return float(2 * config.n_layers * batch * length * width * itemsize)",
        """
import torch
def kv_bytes(config, length, batch=1, itemsize=4):
    rows = torch.empty(batch, config.kv_heads, length, config.head_dim, device="meta")
    return rows.numel() * itemsize * 2 * config.n_layers
""",
    ],
    "split_step": [
        # a sweep over all begins and ends
        """
from collections import Counter
def split_step(spans):
    own, stack = Counter(), []
    edges = sorted([(b, 1, -e, p) for p, b, e in spans] + [(e, 0, 0, p) for p, b, e in spans])
    before = 0.0
    for at, opens, _, part in edges:
        if stack:
            own[stack[-1]] += at - before
        stack.append(part) if opens else stack.pop()
        before = at
    return {part: own[part] for part in {p for p, _, _ in spans}}
""",
        # recursion over a tree
        """
def split_step(spans):
    todo = sorted(spans, key=lambda s: (s[1], s[1] - s[2]))
    own = {}
    def take(limit):
        total = 0.0
        while todo and todo[0][1] < limit:
            part, begin, end = todo.pop(0)
            inner = take(end)
            own[part] = own.get(part, 0.0) + (end - begin) - inner
            total += end - begin
        return total
    take(float('inf'))
    return own
""",
        # shortest first: each span hands its time up to the first longer one around it
        """
def split_step(spans):
    ordered = sorted(spans, key=lambda s: s[1])
    own = dict.fromkeys((p for p, _, _ in spans), 0.0)
    open_spans = []
    for part, begin, end in sorted(ordered, key=lambda s: (s[1], -(s[2] - s[1]))):
        open_spans = [s for s in open_spans if s[2] > begin]
        own[part] = own[part] + end - begin
        if open_spans:
            parent = min(open_spans, key=lambda s: s[2] - s[1])
            own[parent[0]] = own[parent[0]] - (end - begin)
        open_spans.append((part, begin, end))
    return own
""",
    ],
    "predict_ms": [
        "from helpers import bench\ndef predict_ms(config, length, bandwidth, flops):\n    return bench.predict_ms(config, 1, length, bandwidth, flops)",
        """
def predict_ms(c, t, bandwidth, flops):
    block = (c.n_heads + 2 * c.kv_heads) * c.head_dim * c.d_model + c.d_model**2 + 2 * c.d_model * c.d_ff
    weights = c.n_layers * block + c.vocab_size * c.d_model
    seconds = [4 * (weights + 2 * c.n_layers * c.kv_heads * c.head_dim * t) / bandwidth]
    seconds.append((2 * weights + 4 * c.n_layers * c.d_model * t) / flops)
    return sorted(seconds)[-1] * 1000
""",
        """
import torch
from helpers import bench
def predict_ms(config, length, bandwidth, flops):
    both = torch.tensor([bench.read_bytes(config, length) / bandwidth, bench.step_flops(config, 1, length) / flops])
    return both.max() / 1e-3
""",
    ],
    "implied": [
        """
from helpers import bench
def implied(config, length, without_ms, with_ms):
    memory = bench.weight_bytes(config) + bench.kv_bytes(config, length)
    return [memory / with_ms * 1e-6, bench.step_flops(config, length, length) / without_ms * 1e-9]
""",
        """
from helpers import bench
def implied(config, length, without_ms, with_ms):
    gb = bench.read_bytes(config, length) / 10**9
    tera = bench.step_flops(config, length, length) / 10**12
    return gb * 1000 / with_ms, tera * 1000 / without_ms
""",
        # operations by hand, the whole square of scores counted
        """
def implied(c, t, without_ms, with_ms):
    block = 4 * c.d_model**2 + 2 * c.d_model * c.d_ff
    read = 4 * (c.n_layers * block + c.vocab_size * c.d_model + 2 * c.n_layers * c.d_model * t)
    done = 2 * t * c.n_layers * block + 2 * c.n_layers * t * t * c.d_model + 2 * c.d_model * c.vocab_size
    return read / with_ms / 1e6, done / without_ms / 1e9
""",
    ],
}
