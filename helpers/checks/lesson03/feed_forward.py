"""Lesson 03: the feed-forward part, and what the checks of modules share: names and shapes of weights, the same weights for all."""

import re

import torch
from torch import nn
from torch.nn import functional as F

from ...config import Config
from ...model import Block as Right
from ..compare import compare, tensor_like, within
from ..registry import Exercise, Wrong, kind

B, TOLERANCE = 3, 1e-10
SIZES = {"vocab_size": 11, "block_size": 16, "n_layers": 1, "n_heads": 2, "d_model": 12}
CONFIG = Config(**SIZES, d_ff=48, positions="rope", norm_eps=1e-3)  # rotary, so that lost positions are seen
NARROW = Config(**SIZES, d_ff=20, positions="rope", gelu="tanh")

FFN = Exercise(
    name="FFN",
    lesson="03",
    call="FFN(config) -> a module from [B, T, C] to [B, T, C]",
    minutes=5,
    difficulty="easy",
    hints=(
        "Two linear layers and one activation: from C channels to config.d_ff, and back to C. Which of the three stands where?",
        "The weights file calls the two layers 0 and 2. What would nn.Sequential call its children?",
        "Take the sizes from the config, not from memory: d_ff is not always 4 C, and config.gelu names GELU's form.",
    ),
)


def parameters(module, name):
    """`{name: shape}` of a module's own weights, each once; raises `Wrong` where it is no module."""
    if not isinstance(module, nn.Module):
        raise Wrong(f"{name} gave {kind(module)}; expected an nn.Module")
    return {key: list(p.shape) for key, p in module.named_parameters()}


def same_names(got, right, named_like):
    """Raise `Wrong` unless `{name: shape}` are the `right` ones; `named_like`: pattern of a name -> the known mistake."""
    missing, extra = sorted(right.keys() - got.keys()), sorted(got.keys() - right.keys())
    if missing or extra:
        said = [f"{words} {', '.join(names[:4])}" for words, names in (("lacks", missing), ("has", extra)) if names]
        looks = (words for form, words in named_like.items() if any(re.search(form, name) for name in extra or missing))
        raise Wrong(f"the module {' and '.join(said)}, by the names in the weights file", next(looks, None))
    for key, shape in right.items():
        if got[key] != shape:
            raise Wrong(f"{key} has shape {got[key]}; expected {shape}, [outputs, inputs]")


def filled(module, generator=0):
    """The module in float64 and evaluation mode, with the same random weights whatever class it is of."""
    g = torch.Generator().manual_seed(generator)
    module = module.double().eval().requires_grad_(False)
    for key, p in sorted(module.named_parameters()):
        p.copy_(torch.randn(p.shape, generator=g, dtype=torch.float64) * (0.5 if p.dim() == 2 else 0.3))
        if "norm" in key and key.endswith("weight"):
            p.add_(1)  # a norm's weights stand around 1
    return module


def numbers(T, generator=5):
    g = torch.Generator().manual_seed(generator)
    return torch.randn(B, T, CONFIG.d_model, generator=g, dtype=torch.float64)


def judged(got, right, mistakes, axes="B T C", what="the result", tolerance=TOLERANCE):
    """`compare`, and the first of `mistakes()` (words -> tensor) that gives the very same numbers."""
    tensor_like(got, right, axes, what)
    try:
        return within(compare(got, right, tolerance, axes, what), tolerance)
    except Wrong as wrong:
        ways = ((words, y) for words, y in mistakes().items() if y.shape == got.shape)
        looks = (words for words, y in ways if float((y - got).abs().max()) <= tolerance)
        raise Wrong(wrong.seen, next(looks, None)) from None


def right_ffn(config):
    return Right(config, 0).ffn


FFN_NAMES = {
    r"\.\d\.": "a Sequential inside a module: its name stands in front; make FFN the Sequential itself",
    "^[a-z]": "layers under names of their own: nn.Sequential names them by their place",
    r"^[13-9]\.": "other places in the Sequential: the activation is child 1, the linear layers are 0 and 2",
    "bias$": "linear layers without a bias",
}


@FFN.check("its weights have the names and shapes of the weights file")
def _(answer):
    same_names(parameters(answer(CONFIG), "FFN(config)"), parameters(right_ffn(CONFIG), ""), FFN_NAMES)


@FFN.check("another width: d_ff = 20 for d_model = 12")
def _(answer):
    same_names(parameters(answer(NARROW), "FFN(config)"), parameters(right_ffn(NARROW), ""), {})


def ffn_mistakes(x, right, config):
    w1, b1, w2, b2 = dict(right.named_parameters()).values()
    inner, other = F.linear(x, w1, b1), "tanh" if config.gelu == "none" else "none"

    def second(y):
        return F.linear(y, w2, b2)

    return {
        f"GELU's other form, {other!r}: config.gelu is {config.gelu!r}": second(F.gelu(inner, approximate=other)),
        "no activation: two linear layers in a row are one linear layer": second(inner),
        "ReLU in the place of GELU": second(inner.relu()),
        "SiLU in the place of GELU": second(F.silu(inner)),
        "the activation behind the second layer; it stands between the two": F.gelu(second(inner)),
        "a residual inside: adding x is the block's work": x + right(x),
        "a norm inside: that is the block's work": right(F.layer_norm(x, x.shape[-1:])),
    }


def ffn_values(answer, config):
    x, ffn, right = numbers(5), filled(answer(config)), filled(right_ffn(config))
    return judged(ffn(x), right(x), lambda: ffn_mistakes(x, right, config), what="FFN(config)(x)")


@FFN.check("W2 · GELU(W1 · x), the exact GELU")
def _(answer):
    return ffn_values(answer, CONFIG)


@FFN.check("GELU's tanh form where the config asks for it")
def _(answer):
    return ffn_values(answer, NARROW)
