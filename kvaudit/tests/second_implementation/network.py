"""The network: a dictionary of weights and plain functions over it. Activations are [B, T, H, D], kernels are einsum.

Two habits in one file. "gpt": LayerNorm, learned positions, GELU. "llama": RMSNorm, rotary positions (by halves or by
interleaved pairs), SwiGLU. Both share keys between heads and may have a sliding window.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Spec:
    """Sizes and habits. `span`: how many of the newest tokens a query sees, itself among them; None for all."""

    vocab: int = 41
    context: int = 48
    depth: int = 2
    heads: int = 4
    shared: int = 2  # key and value heads
    dim: int = 6  # of a head
    hidden: int = 40
    positions: str = "learned"  # "learned", "halves" or "pairs"
    kernel: str = "einsum"  # "einsum", "loop" or "sdpa"
    span: int | None = None

    @property
    def style(self):
        return "gpt" if self.positions == "learned" else "llama"


def weights(spec, seed=0, std=None, dtype=torch.float32):
    """Random weights. `std` None is the usual small start: 0.02, and less where a residual is added to."""
    draw = torch.Generator().manual_seed(seed)
    width, kv = spec.heads * spec.dim, spec.shared * spec.dim

    def matrix(*shape, scale=1.0):
        return (torch.randn(*shape, generator=draw, dtype=torch.float64) * (std or 0.02) * scale).to(dtype)

    back = 1.0 if std else (2 * spec.depth) ** -0.5
    w = {"embed": matrix(spec.vocab, width), "place": matrix(spec.context, width), "unembed": matrix(width, spec.vocab)}
    for layer in range(spec.depth):
        w |= {
            f"{layer}.wq": matrix(width, width),
            f"{layer}.wk": matrix(width, kv),
            f"{layer}.wv": matrix(width, kv),
            f"{layer}.wo": matrix(width, width, scale=back),
            f"{layer}.up": matrix(width, spec.hidden),
            f"{layer}.gate": matrix(width, spec.hidden),
            f"{layer}.down": matrix(spec.hidden, width, scale=back),
            f"{layer}.g1": 1 + matrix(width),
            f"{layer}.g2": 1 + matrix(width),
        }
    return w | {"g3": 1 + matrix(width)}


def norm(x, gain, spec):
    if spec.style == "gpt":
        x = x - x.mean(-1, keepdim=True)
    return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * gain


def turn(x, where, spec):
    """Rotate x [B, T, H, D] to the positions `where` [T] or [B, T]; angles in float64, so that far positions stay exact."""
    if spec.positions == "learned":
        return x
    half = spec.dim // 2
    rate = 10_000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = where.double()[..., None, None] * rate  # [(B,) T, 1, D/2]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    if spec.positions == "halves":
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)


def spread(x, heads):
    """[B, S, H_kv, D] -> [B, S, H, D]: query head h reads shared head h // (H / H_kv)."""
    return x[:, :, torch.arange(heads) // (heads // x.shape[2])]


def mix(q, k, v, seen, spec, spread=spread):
    """Attention of q [B, T, H, D] over k, v [B, S, H_kv, D]; seen [T, S] or [B, T, S] is True where it may look."""
    k, v = spread(k, spec.heads), spread(v, spec.heads)
    scale = 1 / math.sqrt(spec.dim)
    if seen is not None:
        seen = seen if seen.dim() == 3 else seen[None]  # [B or 1, T, S]
    if spec.kernel == "sdpa":
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, None if seen is None else seen[:, None], scale=scale).transpose(
            1, 2
        )
    if spec.kernel == "loop":
        return torch.stack([one_head(q[:, :, h], k[:, :, h], v[:, :, h], seen, scale) for h in range(spec.heads)], 2)
    scores = torch.einsum("bthd,bshd->bhts", q, k) * scale
    if seen is not None:
        scores = scores.masked_fill(~seen[:, None], torch.finfo(scores.dtype).min)
    return torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v)


def one_head(q, k, v, seen, scale):
    """The same, one head at a time and with the softmax written out: q [B, T, D], k and v [B, S, D]."""
    scores = (q * scale) @ k.mT  # [B, T, S]
    if seen is not None:
        scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    weight = (scores - scores.amax(-1, keepdim=True)).exp()
    return weight @ v / weight.sum(-1, keepdim=True)


def enter(w, spec, ids, where):
    """Token ids [B, T] at positions `where` [T] or [B, T] -> [B, T, width]."""
    x = w["embed"][ids]
    return x + w["place"][where] if spec.positions == "learned" else x


def heads(w, spec, layer, x):
    """The layer's queries [B, T, H, D], keys and values [B, T, H_kv, D], not turned yet."""
    x = norm(x, w[f"{layer}.g1"], spec)
    q, k, v = x @ w[f"{layer}.wq"], x @ w[f"{layer}.wk"], x @ w[f"{layer}.wv"]
    return tuple(y.unflatten(-1, (-1, spec.dim)) for y in (q, k, v))


def leave(w, spec, layer, x, mixed):
    """The rest of the layer: the mixed heads [B, T, H, D] and the feed-forward part, added to x [B, T, width]."""
    x = x + mixed.flatten(-2) @ w[f"{layer}.wo"]
    y = norm(x, w[f"{layer}.g2"], spec)
    y = F.gelu(y @ w[f"{layer}.up"]) if spec.style == "gpt" else F.silu(y @ w[f"{layer}.gate"]) * (y @ w[f"{layer}.up"])
    return x + y @ w[f"{layer}.down"]


def scores(w, spec, x):
    return norm(x, w["g3"], spec) @ w["unembed"]


def whole(w, spec, ids, where=None, attention=None):
    """No cache: ids [B, T] -> logits [B, T, V]. `attention(layer, q, k, v)` replaces the causal one, for a reference."""
    T = ids.shape[1]
    where = torch.arange(T) if where is None else where
    age = torch.arange(T)[:, None] - torch.arange(T)
    seen = (age >= 0) & (age < (spec.span or T))
    attention = attention or (lambda layer, q, k, v: mix(q, k, v, seen, spec))
    x = enter(w, spec, ids, where)
    for layer in range(spec.depth):
        q, k, v = heads(w, spec, layer, x)
        x = leave(w, spec, layer, x, attention(layer, turn(q, where, spec), turn(k, where, spec), v))
    return scores(w, spec, x)
