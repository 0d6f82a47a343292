"""Matrix times vector: nearly all of a decode step. The same model with faster products, or with fewer bits a weight.

One token multiplies every weight once, so that a step costs what reading the weights costs. torch's own product of one
row reads them with one thread on some processors; oneDNN's reads them with all. Which is faster is measured, not known.
Sources: the roofline model (Williams et al. 2009); weight-only quantisation to 8 bits (Dettmers et al. 2022).
"""

import copy
import time
from functools import lru_cache, partial

import torch
from torch import nn
from torch.nn import functional as F

from ..model import Block

FEW = 8  # rows up to which reading the weights is the cost; above it, a prompt, arithmetic is


def onednn(x, weight, bias):
    return torch.ops.mkldnn._linear_pointwise.default(x, weight, bias, "none", [], "")


class Product(nn.Module):
    """y = x Wᵀ + b over a weight `[N, K]` that is shared, not copied."""

    def __init__(self, weight, bias=None):
        super().__init__()
        self.weight, self.bias = weight, bias

    def forward(self, x):  # [B, T, K] -> [B, T, N]
        return F.linear(x, self.weight, self.bias)

    def gelu(self, x, approximate):
        return F.gelu(self(x), approximate=approximate)

    def add(self, x, other):
        return other + self(x)


class OneDNN(Product):
    """The same by oneDNN, which also applies GELU or adds the residual while the result is still in a register."""

    def forward(self, x):
        return onednn(x, self.weight, self.bias) if x.dtype == torch.float32 else super().forward(x)

    def gelu(self, x, approximate):
        if x.dtype != torch.float32:  # a twin that was converted after it was made
            return super().gelu(x, approximate)
        return torch.ops.mkldnn._linear_pointwise.default(x, self.weight, self.bias, "gelu", [], approximate)

    def add(self, x, other):
        if x.dtype != torch.float32:
            return super().add(x, other)
        return torch.ops.mkldnn._linear_pointwise.binary(x, other, self.weight, self.bias, "add")


def product(weight, bias=None):
    """The faster of both for this weight, on this machine, with as many threads as torch has now."""
    here = weight.device.type == "cpu" and weight.dtype == torch.float32
    return (OneDNN if here and onednn_is_faster(torch.get_num_threads()) else Product)(weight, bias)


class FewerBits(Product):
    """The weight is stored in fewer bits; input and output keep the model's dtype. A prompt is computed from `whole()`.

    A kind defines `store(weight [N, K])`, `whole(dtype) -> [N, K]` and `few(x [rows, K]) -> [rows, N]`, the fast product.
    """

    def __init__(self, weight, bias=None):
        super().__init__(None, bias)
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


PRODUCTS = {"float32": product, "float16": Half, "bfloat16": BFloat16, "int8": Int8}


class FusedBlock(Block):
    """A block of larger operations: the same sums, with what follows a product done inside it.

    Its parts are looked up once: between two products the weights have passed through the processor's cache, so that
    every line of Python is read from memory again, and costs more than it seems to.
    """

    def forward(self, x, cache, positions):  # [B, T, C] -> [B, T, C]
        attention, norm1, norm2, up, gelu, down = self.parts
        x = attention.project.add(attention.mix(norm1(x), cache, positions), x)
        return down.add(up.gelu(norm2(x), gelu), x)


def parts(block):
    norms = (
        partial(F.layer_norm, normalized_shape=n.normalized_shape, weight=n.weight, bias=n.bias, eps=n.eps)
        for n in (block.norm1, block.norm2)
    )
    return block.attention, *norms, block.ffn[0], block.ffn[1].approximate, block.ffn[2]


def with_products(model, weights="float32"):
    """A twin of a MiniGPT whose products are `PRODUCTS[weights]`; everything else, the parameters too, is shared.

    For inference (no dropout), on the device and with the dtype that the model has now. Raises ValueError for another
    name of the weights.
    """
    if weights not in PRODUCTS:
        raise ValueError(f"weights must be one of {', '.join(PRODUCTS)}, not {weights!r}")
    new = PRODUCTS[weights]
    twin = copy.deepcopy(model, {id(p): p for p in model.parameters()}).eval()
    for block in twin.blocks:
        for part, name in ((block.attention, "qkv"), (block.attention, "project"), (block.ffn, "0"), (block.ffn, "2")):
            old = getattr(part, name)
            setattr(part, name, new(old.weight, old.bias))
        block.__class__ = FusedBlock
        vars(block)["parts"] = parts(block)
    vars(twin)["head"] = new(twin.token.weight)  # in the place of the method
    return twin


@lru_cache
def onednn_is_faster(threads, rounds=5):
    """Whether oneDNN reads 16 weights that no cache holds sooner than `F.linear`, with this many threads."""
    weights = [torch.ones(2048, 1024) for _ in range(16)]  # 8 MiB each
    x, fastest = torch.ones(1, 1024), dict.fromkeys((F.linear, onednn), float("inf"))
    try:
        for kernel in [F.linear, onednn] * rounds:
            start = time.perf_counter()
            for weight in weights:
                kernel(x, weight, None)
            fastest[kernel] = min(time.perf_counter() - start, fastest[kernel])
    except (AttributeError, RuntimeError):  # a build of torch without oneDNN
        return False
    return fastest[onednn] < fastest[F.linear]
