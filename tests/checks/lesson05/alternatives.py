"""Different but right answers to the exercises of lesson 05: other people's ways, which the graders must let pass."""

from .answers import ATTENTION, CACHE, CHAT, DECODE, DECODER, FORWARD, GENERATE, PREFILL


def swap(code, *pairs):
    for old, new in pairs:
        assert code.count(old) == 1, f"{old!r} stands {code.count(old)} times"
        code = code.replace(old, new)
    return code


SOFTMAX = """    mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    scores = (q @ k.transpose(-2, -1) / D**0.5).masked_fill(~mask, float("-inf"))
    y = scores.softmax(-1) @ v
"""
SDPA = """    mask = torch.arange(S - T, S)[:, None] >= torch.arange(S)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
"""
ADDITIVE = """    mask = torch.zeros(T, S, dtype=torch.float64).masked_fill(torch.ones(T, S).triu(S - T + 1) == 1, float("-inf"))
    y = torch.softmax((q @ k.mT).double() / D**0.5 + mask, dim=-1).to(v.dtype) @ v
"""
EINSUM = """    scores = torch.einsum("bhtd,bhsd->bhts", q, k) * D**-0.5
    mask = torch.ones(S, S, dtype=torch.bool).tril()[S - T :]
    y = torch.einsum("bhts,bhsd->bhtd", scores.where(mask, -1e300 if x.dtype == torch.float64 else -1e30).softmax(-1), v)
"""
LOOPS = """    y = torch.empty_like(q)
    for h in range(n_heads):
        for t in range(T):
            seen = S - T + t + 1
            w = (q[:, h, t, None] * k[:, h, :seen]).sum(-1) / D**0.5
            y[:, h, t] = (w.softmax(-1)[..., None] * v[:, h, :seen]).sum(1)
"""
SEPARATE = """
import torch
from torch.nn import functional as F
def attention_with_past(x, qkv_weight, qkv_bias, out_weight, out_bias, n_heads, past_kv=None):
    B, T, C = x.shape
    q, k, v = F.linear(x, qkv_weight, qkv_bias).split(C, dim=-1)
    q, k, v = (z.view(B, T, n_heads, C // n_heads).permute(0, 2, 1, 3) for z in (q, k, v))
    if past_kv:
        k, v = (torch.cat(pair, -2) for pair in zip(past_kv, (k, v)))
    causal = T == k.shape[2]
    mask = None if causal or T == 1 else torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T)
    y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
    return [F.linear(y.permute(0, 2, 1, 3).reshape(B, T, C), out_weight, out_bias), [k, v]]
"""

WITH_CACHE = """
import torch
from helpers.cache import ConcatCache
def forward_with_past(model, tokens, past=None):
    cache = ConcatCache(len(model.blocks))
    if past:
        cache.length = past[0][0].shape[2]
        cache.keys, cache.values = [k for k, _ in past], [v for _, v in past]
    logits = model(tokens, cache)
    return logits, cache.layers()
"""
OWN_EMBEDDING = swap(
    FORWARD,
    ("model.embed(tokens, torch.arange(n, n + tokens.shape[1]))",
     "model.token.weight[tokens] + model.position.weight[n : n + tokens.shape[1]]"),
    ("model.norm(x) @ model.token.weight.T", "torch.nn.functional.linear(model.norm(x), model.token.weight)"),
)  # fmt: skip
EMPTY_PAST = swap(
    FORWARD,
    ("    n = 0", "    past = past or [None] * len(model.blocks)\n    n = 0"),
    ("0 if past is None else", "0 if past[0] is None else"),
    ("past[layer] if past else None", "past[layer]"),
)
LAST = "    logits, past = forward_with_past(model, tokens)\n    return logits[:, -1], past\n"
STEP = "    logits, past = forward_with_past(model, token[:, None], past)\n    return logits[:, -1], past\n"


# Only the right code before it differs: what a function uses may be written in any of these ways.
def tail(code, start):
    return code[code.index(f"def {start}") :]


ALTERNATIVES = {
    "attention_with_past": [
        *(swap(ATTENTION, (SOFTMAX, way)) for way in (SDPA, ADDITIVE, EINSUM, LOOPS)),
        SEPARATE,
    ],
    "forward_with_past": [WITH_CACHE, OWN_EMBEDDING, EMPTY_PAST, SEPARATE + tail(FORWARD, "forward_with_past")],
    "prefill": [
        swap(PREFILL, (LAST, "    logits, past = forward_with_past(model, tokens, None)\n    return [logits.select(1, -1), tuple(past)]\n")),
        swap(PREFILL, (LAST, ("    logits, past = forward_with_past(model, tokens[:, :1])\n    for t in range(1, tokens.shape[1]):\n"
                             "        logits, past = forward_with_past(model, tokens[:, t : t + 1], past)\n    return logits[:, 0], past\n"))),
        WITH_CACHE + tail(PREFILL, "prefill"),
    ],
    "decode_step": [
        swap(DECODE, (STEP, "    logits, past = forward_with_past(model, token.unsqueeze(-1), past)\n    return logits.squeeze(1), past\n")),
        WITH_CACHE + tail(DECODE, "decode_step"),
        OWN_EMBEDDING + tail(DECODE, "decode_step"),
        EMPTY_PAST + tail(DECODE, "decode_step"),
    ],
    "generate_cached": [
        WITH_CACHE + tail(GENERATE, "prefill"),
        OWN_EMBEDDING + tail(GENERATE, "prefill"),
        DECODE + """
def generate_cached(model, prompt, max_new_tokens):
    out = torch.empty(prompt.shape[0], max_new_tokens, dtype=torch.long)
    if max_new_tokens == 0:
        return out
    logits, past = prefill(model, prompt)
    out[:, 0] = logits.topk(1).indices[:, 0]
    for i in range(1, max_new_tokens):
        logits, past = decode_step(model, out[:, i - 1], past)
        out[:, i] = logits.max(dim=-1).indices
    return out
""",
        DECODE + """
@torch.inference_mode()
def generate_cached(model, prompt, max_new_tokens):
    if prompt.shape[1] + max_new_tokens - 1 > model.config.block_size:
        raise ValueError('too long')
    tokens, past, feed = prompt, None, prompt
    while tokens.shape[1] < prompt.shape[1] + max_new_tokens:
        logits, past = prefill(model, feed) if past is None else decode_step(model, feed, past)
        feed = logits.argmax(-1)
        tokens = torch.cat([tokens, feed[:, None]], 1)
    return tokens[:, prompt.shape[1]:]
""",
    ],
    "Cache": [
        "from helpers.cache import ConcatCache as Cache",
        swap(CACHE, ("return None if T == 1 else torch", "return torch")),
        swap(CACHE, ("torch.ones(T, S, dtype=torch.bool).tril(S - T)", "(torch.arange(S) <= torch.arange(S - T, S)[:, None])[None, None]")),
        """
import torch
class Cache:
    def __init__(self, n_layers, capacity=64):
        self.n, self.capacity, self.k, self.v = 0, capacity, {}, {}
    def positions(self, T):
        return self.n + torch.arange(T)
    def update(self, k, v, layer):
        B, H, T, D = k.shape
        for store, new in ((self.k, k), (self.v, v)):
            if layer not in store:
                store[layer] = new.new_zeros(B, H, self.capacity, D)
            store[layer][:, :, self.n : self.n + T] = new
        return [self.k[layer][:, :, : self.n + T], self.v[layer][:, :, : self.n + T]]
    def mask(self, T, S):
        if T > 1:
            return torch.ones(S, S).tril()[-T:] > 0
    def advance(self, T):
        self.n = self.n + T
""",
    ],
    "rows_expected": [
        "def rows_expected(p, emitted, window=None):\n    fed = p if emitted == 0 else p + emitted - 1\n    return fed if not window else min(window, fed)",
        "def rows_expected(p, e, w=None):\n    rows = p\n    for _ in range(1, e): rows += 1\n    return rows if w is None or rows < w else w",
        "rows_expected = lambda prompt_length, emitted, window=float('inf'): min(prompt_length + (emitted or 1) - 1, window)",
        "import torch\ndef rows_expected(p, e, w=10**9): return int(torch.tensor(p + max(0, e - 1)).clamp(max=w))",
    ],
    "continue_chat": [
        WITH_CACHE + tail(CHAT, "continue_chat"),
        OWN_EMBEDDING + tail(CHAT, "continue_chat"),
        FORWARD + """
def continue_chat(model, past, last_token, new_ids):
    _, past = forward_with_past(model, last_token.unsqueeze(1), past)
    logits, past = forward_with_past(model, new_ids, past)
    return logits[:, -1], past
""",
        FORWARD + """
def continue_chat(model, past, last_token, new_ids):
    for token in (last_token, *new_ids.T):
        logits, past = forward_with_past(model, token[:, None], past)
    return logits[:, 0], past
""",
    ],
    "Decoder": [
        WITH_CACHE + DECODER[DECODER.index("class Decoder") :],
        "from helpers.decoding import CachedDecoder as Decoder",
        PREFILL + """
class Decoder:
    def __init__(self, model):
        self.model = model
    def prefill(self, tokens):
        self.rows = None
        return self.extend(tokens)
    def extend(self, tokens):
        for token in tokens.T:
            logits = self.decode(token)
        return logits
    def decode(self, token):
        logits, self.rows = forward_with_past(self.model, token.unsqueeze(1), self.rows)
        return logits.squeeze(1)
    def layers(self):
        return tuple((k, v) for k, v in self.rows)
""",
        CACHE + """
class Decoder:
    def __init__(self, model):
        self.model, self.cache = model, None
    def prefill(self, tokens):
        self.cache = Cache(len(self.model.blocks))
        return self.extend(tokens)
    def extend(self, tokens):
        with torch.inference_mode():
            return self.model(tokens, self.cache)[:, -1]
    def decode(self, token):
        return self.extend(token.reshape(-1, 1))
    def layers(self):
        return self.cache.rows
""",
    ],
}  # fmt: skip
