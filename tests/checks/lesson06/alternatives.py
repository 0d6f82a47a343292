"""Different but right answers to the exercises of lesson 06: other people's ways, which the graders must let pass."""

from .answers import APPEND, MASK, STEPS

ALTERNATIVES = {
    "first_divergence": [
        """
import torch
def first_divergence(a, b, tolerance):
    if a.shape[::2] != b.shape[::2]:
        raise ValueError
    n = min(a.size(1), b.size(1))
    far = torch.where(a[:, :n] == b[:, :n], 0.0, (a[:, :n].double() - b[:, :n]).abs()).nan_to_num(nan=float("inf"))
    worst = far.amax(-1)  # [B, n]
    bad = torch.argwhere((worst > tolerance).transpose(0, 1))
    if len(bad):
        return tuple(bad[0])
    if a.size(1) != b.size(1):
        return [n, 0]
""",
        """
def first_divergence(a, b, tolerance):
    a, b = a.double(), b.double()
    if len(a) != len(b) or a.shape[-1] != b.shape[-1]:
        raise ValueError("another batch or vocabulary")
    for step in range(max(a.shape[1], b.shape[1])):
        if step >= min(a.shape[1], b.shape[1]):
            return step, 0
        for row in range(a.shape[0]):
            for x, y in zip(a[row, step].tolist(), b[row, step].tolist()):
                if not (x == y or abs(x - y) <= tolerance):
                    return step, row
    return None
""",
        """
import numpy as np
def first_divergence(a, b, tolerance):
    a, b = a.double().numpy().swapaxes(0, 1), b.double().numpy().swapaxes(0, 1)
    if a.shape[1:] != b.shape[1:]:
        raise ValueError((a.shape, b.shape))
    shared = min(len(a), len(b))
    with np.errstate(invalid="ignore"):
        ok = np.isclose(a[:shared], b[:shared], rtol=0, atol=tolerance)
    where = np.argwhere(~ok.all(-1))
    if where.size:
        return int(where[0][0]), int(where[0][1])
    return None if len(a) == len(b) else (shared, 0)
""",
    ],
    "explain": [
        """
def explain(trace, replays, tolerance):
    best = float("inf")
    for name in replays:
        if replays[name].shape != trace.shape:
            continue
        gap = (trace - replays[name]).abs().max()
        if gap <= tolerance:
            return [name, gap]
        if gap < best:
            best = gap.item()
    return "unknown", best
""",
        """
import torch
def explain(trace, replays, tolerance):
    def residual(replay):
        if replay.shape != trace.shape:
            return torch.inf
        gap = torch.nan_to_num((replay - trace).abs(), nan=torch.inf)
        return gap.flatten().sort().values[-1].item()
    found = {name: residual(replay) for name, replay in replays.items()}
    fitting = [name for name, r in found.items() if not r > tolerance]
    return (fitting[0], found[fitting[0]]) if fitting else ("unknown", min([*found.values(), torch.inf]))
""",
        """
import math
def explain(trace, replays, tolerance):
    answer = ("unknown", math.inf)
    for name, replay in reversed(list(replays.items())):
        if tuple(replay.shape) != tuple(trace.shape):
            continue
        r = max(float(x) for x in (replay - trace).abs().amax(dim=(1, 2)))
        if math.isnan(r) or bool((replay != replay).any()):
            continue
        if r <= tolerance:
            answer = (name, r)
        elif answer[0] == "unknown":
            answer = ("unknown", min(r, answer[1]))
    return answer
""",
    ],
    "RepairedSteps": [
        "from helpers.cache import ConcatCache as RepairedSteps",
        STEPS.replace("torch.tensor([self.length])", "torch.tensor([self.keys[0].shape[2]])"),
        STEPS.replace("        if T == 1 and self.length > 0:\n            return torch.tensor([self.length])\n", ""),
        "from helpers.caches import BufferCache\ndef RepairedSteps(n_layers):\n    return BufferCache(n_layers, 17)",
    ],
    "RepairedAppend": [
        "from helpers.cache import ConcatCache\nclass RepairedAppend(ConcatCache):\n    pass",
        APPEND.replace(
            "        keys, values = super().update(k, v, layer)\n",
            "        keys, values = k, v\n"
            "        if self.keys[layer] is not None:\n"
            "            keys, values = (torch.cat(p, 2) for p in ((self.keys[layer], k), (self.values[layer], v)))\n"
            "        self.keys[layer], self.values[layer] = keys, values\n",
        ),
        """
import torch
from helpers.cache import ConcatCache
class RepairedAppend(ConcatCache):
    def update(self, k, v, layer):
        if k.shape[2] == 1 and self.length > 0:
            self.keys[layer] = torch.cat([self.keys[layer], k], dim=2)
            self.values[layer] = torch.cat([self.values[layer], v], dim=2)
            return self.keys[layer], self.values[layer]
        return super().update(k, v, layer)
""",
    ],
    "RepairedMask": [
        MASK.replace("        if T == 1:\n            return None\n", ""),
        MASK.replace("torch.ones(T, S, dtype=torch.bool).tril(S - T)", "torch.ones(S, S).tril()[-T:].bool()"),
        MASK.replace(
            "torch.ones(T, S, dtype=torch.bool).tril(S - T)",
            "torch.arange(S)[None] <= (self.length + torch.arange(T))[:, None]",
        ),
        "from helpers.cache import ConcatCache, causal_mask\n"
        "class RepairedMask(ConcatCache):\n    def mask(self, T, S):\n        return causal_mask(T, S)",
    ],
    "killer_prompts": [
        "def killer_prompts(): return [(list(range(12)), [1, 3, 2, 6], 4), ([22], [1], 2)]",
        "import torch\ndef killer_prompts():\n    p = torch.randperm(14, generator=torch.Generator().manual_seed(0))\n"
        "    return (p, torch.tensor([3, 5, 6]), 2), ([5], (1,), 3), (p.tolist(), [14], 1)",
        "def killer_prompts():\n    return [([0, 0, 4, 4, 9, 9, 0, 3, 3, 8, 1], [4, 2, 5], 2), ([9], [1], 4), ([1, 2], [2], 1)]",
    ],
    "symptoms": [
        "symptoms = dict(sdpa_top_left='A', value_is_key='C ', chunk_top_left='D', frozen_cache='E', "
        "refeed_last_prompt_token='C')",
        "symptoms = {'sdpa_top_left': 'a', 'value_is_key': 'c', 'chunk_top_left': 'd', 'frozen_cache': 'e', "
        "'refeed_last_prompt_token': 'c', 'pos_zero': 'a'}",
        "symptoms = {**dict.fromkeys(['value_is_key', 'refeed_last_prompt_token'], ' c'), 'sdpa_top_left': 'a', "
        "'frozen_cache': 'e', 'chunk_top_left': 'd'}",
    ],
    "mystery_names": [
        'mystery_names = {"seed": 5, 1: "sdpa_top_left", 2: "pos_plus1", 3: "decode_row_twice", 4: 9, 5: 7, 6: 5}',
        'mystery_names = {"seed": 18, "1": "frozen_cache", "2": " Refeed_Last_Prompt_Token", "3": "pos_plus1", "4": 6, '
        '"5": 5, "6": 7}',
        "from helpers.faults.mysteries import draw\nd = draw(3)\n"
        "mystery_names = {'seed': 3, **d.faults, **{n: r.wrong for n, r in d.reviews.items()}}",
    ],
    "boundary_06": [
        "boundary_06 = 512 - 500",
        "boundary_06 = (512 - 1) - 500 + 1",
        "boundary_06 = len([k for k in range(1, 100) if 500 + k <= 511]) + 1",
    ],
}
