"""Right answers to the exercises of lesson 05, from which the graders' tests make wrong ones."""

ATTENTION = """
import torch
def attention_with_past(x, qkv_weight, qkv_bias, out_weight, out_bias, n_heads, past_kv=None):
    D = x.shape[-1] // n_heads
    qkv = x @ qkv_weight.T + qkv_bias
    q, k, v = qkv.unflatten(-1, (3 * n_heads, D)).transpose(1, 2).chunk(3, dim=1)
    if past_kv is not None:
        k = torch.cat([past_kv[0], k], dim=2)
        v = torch.cat([past_kv[1], v], dim=2)
    T, S = q.shape[2], k.shape[2]
    mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    scores = (q @ k.transpose(-2, -1) / D**0.5).masked_fill(~mask, float("-inf"))
    y = scores.softmax(-1) @ v
    return y.transpose(1, 2).flatten(2) @ out_weight.T + out_bias, (k, v)
"""

FORWARD = (
    ATTENTION
    + """
def forward_with_past(model, tokens, past=None):
    n = 0 if past is None else past[0][0].shape[2]
    x = model.embed(tokens, torch.arange(n, n + tokens.shape[1]))
    model.check_positions(torch.arange(n, n + tokens.shape[1]))
    new_past = []
    for layer, block in enumerate(model.blocks):
        a = block.attention
        weights = a.qkv.weight, a.qkv.bias, a.project.weight, a.project.bias
        y, kv = attention_with_past(block.norm1(x), *weights, model.config.n_heads, past[layer] if past else None)
        x = x + y
        x = x + block.ffn(block.norm2(x))
        new_past.append(kv)
    return model.norm(x) @ model.token.weight.T, new_past
"""
)

PREFILL = (
    FORWARD
    + """
def prefill(model, tokens):
    logits, past = forward_with_past(model, tokens)
    return logits[:, -1], past
"""
)

DECODE = (
    PREFILL
    + """
def decode_step(model, token, past):
    logits, past = forward_with_past(model, token[:, None], past)
    return logits[:, -1], past
"""
)

GENERATE = (
    DECODE
    + """
def generate_cached(model, prompt, max_new_tokens):
    logits, past = prefill(model, prompt)
    tokens = []
    for step in range(max_new_tokens):
        if step:
            logits, past = decode_step(model, tokens[-1], past)
        tokens.append(logits.argmax(-1))
    return torch.stack(tokens, 1) if tokens else prompt[:, :0]
"""
)

CACHE = """
import torch
class Cache:
    def __init__(self, n_layers):
        self.length = 0
        self.rows = [None] * n_layers
    def positions(self, T):
        return torch.arange(self.length, self.length + T)
    def update(self, k, v, layer):
        if self.rows[layer] is not None:
            k = torch.cat([self.rows[layer][0], k], dim=2)
            v = torch.cat([self.rows[layer][1], v], dim=2)
        self.rows[layer] = k, v
        return k, v
    def mask(self, T, S):
        return None if T == 1 else torch.ones(T, S, dtype=torch.bool).tril(S - T)
    def advance(self, T):
        self.length += T
"""

ROWS = """
def rows_expected(prompt_length, emitted, window=None):
    rows = prompt_length + max(emitted - 1, 0)
    return rows if window is None else min(rows, window)
"""

CHAT = (
    FORWARD
    + """
def continue_chat(model, past, last_token, new_ids):
    chunk = torch.cat([last_token[:, None], new_ids], dim=1)
    logits, past = forward_with_past(model, chunk, past)
    return logits[:, -1], past
"""
)

DECODER = (
    FORWARD
    + """
class Decoder:
    def __init__(self, model):
        self.model, self.past = model, None
    def prefill(self, tokens):
        logits, self.past = forward_with_past(self.model, tokens)
        return logits[:, -1]
    def extend(self, tokens):
        logits, self.past = forward_with_past(self.model, tokens, self.past)
        return logits[:, -1]
    def decode(self, token):
        return self.extend(token[:, None])
    def layers(self):
        return self.past
"""
)

RIGHT = {
    "attention_with_past": ATTENTION,
    "forward_with_past": FORWARD,
    "prefill": PREFILL,
    "decode_step": DECODE,
    "generate_cached": GENERATE,
    "Cache": CACHE,
    "rows_expected": ROWS,
    "continue_chat": CHAT,
    "Decoder": DECODER,
}
