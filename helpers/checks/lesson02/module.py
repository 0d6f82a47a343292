"""Lesson 02: the module, against nn.MultiheadAttention and the fused attention with the same weights."""

import torch
from torch import nn
from torch.nn import functional as F

from ...cache import causal_mask
from ...config import Config
from ...faults.mistakes import MISTAKES, MORE
from ...lab.leaks import leaks
from ...model import NoCache
from ..compare import compare, inputs_kept, tensor_like, within
from ..registry import Exercise, Wrong, kind
from .heads import looks_like

B, T, H, D = 2, 7, 3, 4
C = H * D
LINEARS = ("W_Q", "W_K", "W_V", "W_O")
ROUNDING = 1e-12

MultiHeadAttention = Exercise(
    name="MultiHeadAttention",
    lesson="02",
    call="MultiHeadAttention(d_model, n_heads), called as attention(x [B, T, C], mask=None) -> y [B, T, C]",
    minutes=10,
    difficulty="medium",
    hints=(
        "You have all parts. In which order do split_heads, attend, merge_heads and the four maps stand?",
        "Three maps stand before the split, the fourth one after the merge: it is what lets the heads' channels mix.",
        "Split W_Q(x), W_K(x) and W_V(x); attend with the mask; W_O of the merged rows.",
    ),
)


class Given(NoCache):
    """Hands the course's attention the mask that the check uses."""

    def __init__(self, mask):
        self.given = mask

    def mask(self, T, S):
        return self.given


def some_weights(linears, seed=3):
    """Fills the linear maps with numbers that do not depend on how they were made before."""
    g = torch.Generator().manual_seed(seed)
    for linear in linears:
        for p in linear.parameters():
            p.data = torch.randn(p.shape, generator=g, dtype=torch.float64).to(p.dtype) * 0.5


def linears_of(module, size=C, owner="the module"):
    """The four maps, each from `size` to `size` channels; raises `Wrong` where one is missing or another."""
    found = [getattr(module, name, None) for name in LINEARS]
    for name, linear in zip(LINEARS, found):
        if not isinstance(linear, nn.Linear):
            raise Wrong(f"{owner} has no nn.Linear named {name}; expected W_Q, W_K, W_V and W_O, each nn.Linear(C, C)")
        if linear.weight.shape != (size, size) or linear.bias is None:
            raise Wrong(f"{name} is a {linear}; expected nn.Linear({size}, {size}) with a bias")
    return found


def built(answer, dtype=torch.float64):
    module = answer(C, H)
    if not isinstance(module, nn.Module):
        raise Wrong(f"MultiHeadAttention(12, 3) is {kind(module)}; expected an nn.Module")
    module = module.to(dtype).eval().requires_grad_(False)
    some_weights(linears_of(module))
    return module


def some_x(length=T, dtype=torch.float64):
    return torch.randn(B, length, C, generator=torch.Generator().manual_seed(length), dtype=torch.float64).to(dtype)


def torch_answer(linears, x, mask):
    """What nn.MultiheadAttention gives with the same weights; its mask says True = may NOT attend."""
    mha = nn.MultiheadAttention(C, H, batch_first=True, dtype=x.dtype).eval().requires_grad_(False)
    mha.in_proj_weight.copy_(torch.cat([w.weight for w in linears[:3]]))
    mha.in_proj_bias.copy_(torch.cat([w.bias for w in linears[:3]]))
    mha.out_proj.load_state_dict(linears[3].state_dict())
    return mha(x, x, x, attn_mask=None if mask is None else ~mask, need_weights=False)[0]


def fused_answer(linears, x, mask, n_heads=H):
    """The same from torch's fused attention, which takes a mask for each row of the batch."""
    q, k, v = (torch.stack(linear(x).chunk(n_heads, dim=-1), dim=1) for linear in linears[:3])
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return linears[3](torch.cat(y.unbind(1), dim=-1))


def with_mistakes(linears, x, mask, n_heads=H):
    """`{words: y}` of the course's attention with each of the usual mistakes, over the same weights."""
    config = Config(2, n_layers=1, n_heads=n_heads, d_model=x.shape[-1], d_ff=1)
    found = {}
    for words, cls in (MISTAKES | MORE).items():
        attention = cls(config, 0).to(x.dtype).requires_grad_(False)
        attention.qkv.weight.copy_(torch.cat([w.weight for w in linears[:3]]))
        attention.qkv.bias.copy_(torch.cat([w.bias for w in linears[:3]]))
        attention.project.load_state_dict(linears[3].state_dict())
        found[words] = attention(x, Given(mask), None)
    del found["correct"]
    return found


def other_mistakes(linears, x, mask):
    """Mistakes of the module itself: which map stands where."""
    W_Q, W_K, W_V, W_O = linears
    swapped = {
        "W_Q and W_K exchanged": (W_K, W_Q, W_V, W_O),
        "one map used for queries and keys": (W_Q, W_Q, W_V, W_O),
        "W_K used for the values": (W_Q, W_K, W_K, W_O),
        "W_V used for the keys": (W_Q, W_V, W_V, W_O),
        "the output projection W_O is left out": (W_Q, W_K, W_V, nn.Identity()),
    }
    found = {words: fused_answer(maps, x, mask) for words, maps in swapped.items()}
    found["the channels are not split into heads"] = fused_answer(linears, x, mask, 1)
    found["x is added: the residual belongs to the block"] = x + fused_answer(linears, x, mask)
    if mask is not None:
        blind = mask.all(dim=-1).reshape(-1, x.shape[1], 1)  # [1 or B, T, 1]: rows that see nothing, turned round
        turned = fused_answer(linears, x, ~mask).masked_fill(blind, torch.nan)
        found["a mask turned round: what may be seen is filled; True must mean *may attend*"] = turned
    return found


def module_is(module, right, x, mask=None, tolerance=ROUNDING):
    got = module(x) if mask is None else module(x, mask)
    try:
        return within(compare(got, right, tolerance, "B T C", "y"), tolerance)
    except Wrong as wrong:
        linears = linears_of(module)
        known = with_mistakes(linears, x, mask) | other_mistakes(linears, x, mask)
        raise Wrong(wrong.seen, looks_like(got, known) or wrong.looks_like) from None


@MultiHeadAttention.check(f"x [{B}, {T}, {C}] in {H} heads gives y of the same shape")
def _(answer):
    tensor_like(built(answer)(some_x()), some_x(), "B T C", "y")


@MultiHeadAttention.check("no mask: equals nn.MultiheadAttention with the same weights")
def _(answer):
    module, x = built(answer), some_x()
    return module_is(module, torch_answer(linears_of(module), x, None), x)


@MultiHeadAttention.check("a causal mask: equals nn.MultiheadAttention, whose mask means the opposite")
def _(answer):
    module, x, mask = built(answer), some_x(), causal_mask(T, T)
    return module_is(module, torch_answer(linears_of(module), x, mask), x, mask)


@MultiHeadAttention.check("a mask for each text of the batch: equals scaled_dot_product_attention")
def _(answer):
    module, x = built(answer), some_x()
    mask = torch.stack([causal_mask(T, T), causal_mask(T, T).T])[:, None]
    return module_is(module, fused_answer(linears_of(module), x, mask), x, mask)


@MultiHeadAttention.check("with the causal mask no row moves when a later token changes")
def _(answer):
    module = built(answer)
    found = leaks(lambda x: module(x, causal_mask(x.shape[1], x.shape[1])), 5, C)
    if found:
        i, j = min(found)
        raise Wrong(f"{len(found)} of 10 pairs leak; row {i} of y moves when token {j} changes")
    return "10 pairs, none moves"


@MultiHeadAttention.check("one token; three tokens in three heads")
def _(answer):
    module = built(answer)
    for length in (1, H):
        x, mask = some_x(length), causal_mask(length, length)
        module_is(module, fused_answer(linears_of(module), x, mask), x, mask)


@MultiHeadAttention.check("float32 stays float32; x and the mask are unchanged")
def _(answer):
    module, x, mask = built(answer, torch.float32), some_x(dtype=torch.float32), causal_mask(T, T)
    inputs_kept(module, ("x", "mask"), x, mask)
    return module_is(module, fused_answer(linears_of(module), x, mask), x, mask, 1e-4)
