"""Matrix times vector: nearly all of a decode step. The same model with faster products, or with fewer bits a weight.

One token multiplies every weight once, so that a step costs what reading the weights costs. torch's own product of one
row reads them with one thread on some processors; oneDNN's reads them with all. Which is faster is measured, not known.
Sources: the roofline model (Williams et al. 2009); weight-only quantisation to 8 bits (Dettmers et al. 2022).
"""

import copy
import time
from functools import lru_cache

import torch
from torch import nn
from torch.nn import functional as F

FEW = 8  # rows up to which reading the weights is the cost; above it, a prompt, arithmetic is


def onednn(x, weight, bias):
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class Product(nn.Module):
    """y = x Wᵀ + b over a weight `[N, K]` that is shared, not copied."""

    def __init__(self, weight, bias=None):
        super().__init__()
        self.weight, self.bias = weight, bias
        self.kernel = fastest_kernel(torch.get_num_threads()) if on_cpu_in_float32(weight) else F.linear

    def forward(self, x):  # [B, T, K] -> [B, T, N]
        return self.kernel(x, self.weight, self.bias)


class FewerBits(nn.Module):
    """The weight is stored in fewer bits; input and output keep the model's dtype. A prompt is computed from `whole()`."""

    def __init__(self, weight, bias=None):
        super().__init__()
        self.bias = bias
        self.store(weight.detach())

    def forward(self, x):  # [B, T, K] -> [B, T, N]
        if x.numel() > FEW * x.shape[-1]:
            return F.linear(x, self.whole(x.dtype), self.bias)
        y = self.few(x.reshape(-1, x.shape[-1])).to(x.dtype).view(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias


class Half(FewerBits):
    """16 bits a weight, in `dtype`."""

    dtype = torch.float16

    def store(self, weight):
        self.weight = weight.to(self.dtype)  # [N, K]

    def whole(self, dtype):
        return self.weight.to(dtype)

    def few(self, x):  # [rows, K] -> [rows, N]
        return F.linear(x.to(self.dtype), self.weight)


class BFloat16(Half):
    dtype = torch.bfloat16


class Int8(FewerBits):
    """8 bits a weight and one scale an output channel: weight ≈ codes · scale. The product itself runs in bfloat16."""

    def store(self, weight):
        self.scale = weight.abs().amax(dim=1).clamp(min=1e-12) / 127  # [N]
        self.codes = (weight / self.scale[:, None]).round().to(torch.int8)  # [N, K]
        self.rounded = self.scale.bfloat16()

    def whole(self, dtype):
        return self.codes.to(dtype) * self.rounded[:, None].to(dtype)

    def few(self, x):  # [rows, K] -> [rows, N]
        return torch._weight_int8pack_mm(x.bfloat16(), self.codes, self.rounded)


PRODUCTS = {"float32": Product, "float16": Half, "bfloat16": BFloat16, "int8": Int8}


def with_products(model, weights="float32"):
    """A twin of a MiniGPT whose products are `PRODUCTS[weights]`; everything else, the parameters too, is shared.

    For inference, on the device and with the dtype that the model has now. Raises ValueError for another name.
    """
    if weights not in PRODUCTS:
        raise ValueError(f"weights must be one of {', '.join(PRODUCTS)}, not {weights!r}")
    new = PRODUCTS[weights]
    twin = copy.deepcopy(model, {id(p): p for p in model.parameters()})
    for block in twin.blocks:
        attention, ffn = block.attention, block.ffn
        attention.qkv, attention.project = (new(x.weight, x.bias) for x in (attention.qkv, attention.project))
        ffn[0], ffn[2] = (new(x.weight, x.bias) for x in (ffn[0], ffn[2]))
    vars(twin)["head"] = new(twin.token.weight)  # in the place of the method
    return twin


def on_cpu_in_float32(weight):
    return weight.device.type == "cpu" and weight.dtype == torch.float32


@lru_cache
def fastest_kernel(threads, rounds=5):
    """`F.linear` or oneDNN's product: whichever reads 16 weights that no cache holds sooner, with this many threads."""
    weights = [torch.ones(2048, 1024) for _ in range(16)]  # 8 MiB each
    x, fastest = torch.ones(1, 1024), {}
    for kernel in [F.linear, onednn] * rounds:
        start = time.perf_counter()
        try:
            for weight in weights:
                kernel(x, weight, None)
        except (AttributeError, RuntimeError):  # a build of torch without oneDNN
            continue
        fastest[kernel] = min(time.perf_counter() - start, fastest.get(kernel, float("inf")))
    return min(fastest, key=fastest.get)
