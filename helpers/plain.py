"""An independent oracle: the same mathematics in plain loops over positions and heads.

It imports neither `model` nor `cache` and takes only the weights, so that a mistake there cannot hide here. Slow on
purpose: one query, one head at a time, in float64.
"""

import math

import torch


def plain_logits(weights, config, tokens):
    """Logits `[B, T, V]` in float64 for `tokens` `[B, T]` from a MiniGPT's `weights` (its state_dict) and `config`."""
    w = {name: tensor.double() for name, tensor in weights.items()}
    return torch.stack([one_sequence(w, config, ids.tolist()) for ids in tokens])


def one_sequence(w, config, ids):
    x = torch.stack([w["token.weight"][i] + position_vector(w, config, t) for t, i in enumerate(ids)])  # [T, C]
    for layer in range(config.n_layers):
        x = block(w, config, f"blocks.{layer}.", x)
    x = layer_norm(x, w["norm.weight"], w["norm.bias"], config.norm_eps)
    return x @ w["token.weight"].T  # [T, V]


def position_vector(w, config, t):
    if config.positions == "learned":
        return w["position.weight"][t]
    if config.positions == "rope":
        return 0.0
    angle = [t / 10_000 ** (2 * (c // 2) / config.d_model) for c in range(config.d_model)]
    return torch.tensor([math.cos(a) if c % 2 else math.sin(a) for c, a in enumerate(angle)], dtype=torch.float64)


def block(w, config, name, x):  # [T, C] -> [T, C]
    h = layer_norm(x, w[name + "norm1.weight"], w[name + "norm1.bias"], config.norm_eps)
    x = x + linear(w, name + "attention.project", attention(w, config, name, h))
    h = layer_norm(x, w[name + "norm2.weight"], w[name + "norm2.bias"], config.norm_eps)
    return x + linear(w, name + "ffn.2", gelu(linear(w, name + "ffn.0", h), config.gelu))


def attention(w, config, name, x):  # [T, C] -> [T, H D]
    H, H_kv, D = config.n_heads, config.n_kv_heads or config.n_heads, config.d_model // config.n_heads
    heads = linear(w, name + "attention.qkv", x).split(D, dim=-1)  # H + 2 H_kv pieces of [T, D]
    if config.positions == "rope":
        heads = [rotate(h, config) if i < H + H_kv else h for i, h in enumerate(heads)]
    out = []
    for h in range(H):
        q, k, v = heads[h], heads[H + h * H_kv // H], heads[H + H_kv + h * H_kv // H]  # [T, D] each
        rows = []
        for t in range(len(x)):
            scores = [float(q[t] @ k[s]) / math.sqrt(D) for s in range(t + 1)]  # keys 0 to t: the causal mask
            top = max(scores)
            weight = [math.exp(s - top) for s in scores]
            rows.append(sum(p / sum(weight) * v[s] for s, p in enumerate(weight)))
        out.append(torch.stack(rows))
    return torch.cat(out, dim=-1)


def rotate(x, config):  # [T, D]: channels i and i + D/2 form a plane that turns by t / base^(2i/D)
    half = x.shape[1] // 2
    rows = []
    for t, row in enumerate(x):
        turned = row.clone()
        for i in range(half):
            a = t / config.rope_base ** (2 * i / (2 * half))
            turned[i] = row[i] * math.cos(a) - row[i + half] * math.sin(a)
            turned[i + half] = row[i + half] * math.cos(a) + row[i] * math.sin(a)
        rows.append(turned)
    return torch.stack(rows)


def linear(w, name, x):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + eps) * weight + bias


def gelu(x, kind):
    if kind == "tanh":
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
