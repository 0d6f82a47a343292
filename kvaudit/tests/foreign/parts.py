"""What the six networks share: weights from a seed, norms, and a reference's frame around one network."""

import torch


class Weights(dict):
    """Tensors by name. Nobody changes them, so copies of a decoder share them."""

    def __deepcopy__(self, memo):
        return self


def draw(seed, **shapes):
    """float64 weights of these shapes; the spread of a matrix keeps the size of what it is applied to."""
    source = torch.Generator().manual_seed(seed)
    spread = {name: 1.0 if name.startswith("embed") else shape[-2] ** -0.5 for name, shape in shapes.items()}
    return Weights({n: torch.randn(*s, generator=source, dtype=torch.float64) * spread[n] for n, s in shapes.items()})


def layer_norm(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()


def rms_norm(x):
    return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()


def pairs(x, positions, theta=100.0):
    """Rotary: neighbours in a head are a pair. x `[B, H, T, D]`, positions `[T]` or `[B, T]`."""
    cos, sin = angles(x, positions, theta)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


def halves(x, positions, theta=100.0):
    """Rotary: the first half of a head is paired with the second."""
    cos, sin = angles(x, positions, theta)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def angles(x, positions, theta):
    D = x.shape[-1]
    turns = theta ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    turned = (positions[..., None] * turns).unsqueeze(-3)  # [1, T, D / 2] or [B, 1, T, D / 2]
    return turned.cos(), turned.sin()


class Reference:
    """A network without a cache; a subclass brings `forward` and, where it turns rows, `rotate`."""

    dtype, device = torch.float64, torch.device("cpu")
    rotary, shared_heads, window, softmax_in = False, False, None, torch.float64

    def __init__(self, weights):
        self.w = weights

    def logits(self, tokens):
        return self.forward(tokens, torch.arange(tokens.shape[1]), self.causal)

    def causal(self, layer, q, k, v, scale):
        """Attention of a whole sequence to itself; neighbouring query heads share a key/value head."""
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
        places = torch.arange(q.shape[2])
        ago = places[:, None] - places
        visible = (ago >= 0) & (ago < (self.window or len(places)))
        scores = (q @ k.mT * scale).masked_fill(~visible, -torch.inf)
        return scores.to(self.softmax_in).softmax(-1).to(v.dtype) @ v
