"""Right answers to the exercises of lesson 06, from which the graders' tests make wrong ones."""

FIRST = """
import torch
def first_divergence(a, b, tolerance):
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[2]:
        raise ValueError('traces of different batches or vocabularies cannot be compared')
    steps = min(a.shape[1], b.shape[1])
    for step in range(steps):
        x, y = a[:, step].double(), b[:, step].double()
        near = ((x - y).abs() <= tolerance) | (x == y)
        for row in range(len(near)):
            if not near[row].all():
                return step, row
    return None if a.shape[1] == b.shape[1] else (steps, 0)
"""

EXPLAIN = """
import math, torch
def explain(trace, replays, tolerance):
    smallest = math.inf
    for name, replay in replays.items():
        residual = math.inf
        if replay.shape == trace.shape and not replay.isnan().any():
            residual = float((replay - trace).abs().max())
        if residual <= tolerance:
            return name, residual
        smallest = min(smallest, residual)
    return "unknown", smallest
"""

STEPS = """
import torch
from helpers.cache import ConcatCache
class RepairedSteps(ConcatCache):
    def __init__(self, n_layers):
        super().__init__(n_layers)
        self.step = 0

    def positions(self, T):
        if T == 1 and self.length > 0:
            return torch.tensor([self.length])
        return torch.arange(self.length, self.length + T)

    def advance(self, T):
        super().advance(T)
        self.step += 1
"""

APPEND = """
import torch
from helpers.cache import ConcatCache
class RepairedAppend(ConcatCache):
    def update(self, k, v, layer):
        keys, values = super().update(k, v, layer)
        return keys, values
"""

MASK = """
import torch
from helpers.cache import ConcatCache
class RepairedMask(ConcatCache):
    def mask(self, T, S):
        if T == 1:
            return None
        return torch.ones(T, S, dtype=torch.bool).tril(S - T)
"""

KILLERS = """
def killer_prompts():
    long = [7, 2, 0, 5, 9, 14, 3, 1, 10, 4, 6, 8]
    return [
        ([3], [1], 3),
        (long, [2, 4, 6], 3),
        (long[:9], [9], 2),
    ]
"""

SYMPTOMS = """
symptoms = {"sdpa_top_left": "a", "value_is_key": "c", "chunk_top_left": "d", "frozen_cache": "e",
            "refeed_last_prompt_token": "c"}
"""

NAMES = """
mystery_names = {"seed": 18, 1: "frozen_cache", 2: "refeed_last_prompt_token", 3: "pos_plus1", 4: 6, 5: 5, 6: 7}
"""

BOUNDARY = "boundary_06 = 12"

RIGHT = {
    "first_divergence": FIRST,
    "explain": EXPLAIN,
    "RepairedSteps": STEPS,
    "RepairedAppend": APPEND,
    "RepairedMask": MASK,
    "killer_prompts": KILLERS,
    "symptoms": SYMPTOMS,
    "mystery_names": NAMES,
    "boundary_06": BOUNDARY,
}
