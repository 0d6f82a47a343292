"""This machine's memory bandwidth, measured by what a decode step does: matrix × vector products, one after the other.

The matrices have the model's shapes, all layers and the head, each with memory of its own: together they do not fit a
processor's cache, so each product waits for memory. Bandwidth = their bytes / median time. The products are the model's
own (products.py: the kernel that is fastest here), because a slow kernel would make the limit look near.
"""

import torch

from .memory import product_shapes
from .products import PRODUCTS
from .timing import interleaved


class DecodeProbe:
    """A callable for `interleaved`: all products of one token, nothing else. `bytes`: what it reads."""

    def __init__(self, config, device="cpu", dtype=torch.float32):
        c = config
        shapes = product_shapes(c) * c.n_layers + [(c.vocab_size, c.d_model)]
        weights = [torch.full(shape, 0.01, device=device, dtype=dtype) for shape in shapes]
        inputs = {n: torch.ones(1, 1, n, device=device, dtype=dtype) for n in {n for _, n in shapes}}  # [B, T, K]
        self.products = [(PRODUCTS["float32"](weight), inputs[weight.shape[1]]) for weight in weights]
        self.bytes = sum(weight.numel() * weight.element_size() for weight in weights)

    @torch.inference_mode()
    def __call__(self):
        for product, x in self.products:
            product(x)


class StreamProbe:
    """A callable for `interleaved`: reads `megabytes` once, in order, and adds them up. The most that reading can give."""

    def __init__(self, megabytes=256, device="cpu"):
        self.numbers = torch.ones(megabytes * 250_000, device=device)
        self.bytes = self.numbers.numel() * 4

    @torch.inference_mode()
    def __call__(self):
        self.numbers.sum()


class ProductProbe:
    """A callable for `interleaved`: matrix × matrix, which computes much and reads little. `flops`: its operations."""

    def __init__(self, rows=512, width=1024, device="cpu"):
        self.a, self.b = torch.ones(rows, width, device=device), torch.ones(width, width, device=device)
        self.flops = 2 * rows * width * width

    @torch.inference_mode()
    def __call__(self):
        torch.mm(self.a, self.b)


def measure(config, rounds=9, device="cpu", **options):
    """(bytes a second, operations a second, the `Timings`) of this machine for a model of these sizes.

    `options` go to `interleaved`.
    """
    probes = {"decode probe": DecodeProbe(config, device), "product probe": ProductProbe(device=device)}
    timings = interleaved(probes, rounds, device=device, words="measuring the memory", **options)
    bandwidth = probes["decode probe"].bytes / timings["decode probe"].median
    return bandwidth, probes["product probe"].flops / timings["product probe"].median, timings
