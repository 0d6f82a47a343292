"""Lesson 02: what a wrong fill lets through, and a printed decoder layer that has to be made to run and to be right."""

import torch

from ...lab.leaks import leaks
from ..choices import Choices, entry
from ..compare import compare, tensor_like, within
from ..registry import Exercise, Wrong, kind
from .heads import looks_like
from .module import fused_answer, linears_of, some_weights, with_mistakes

FILL_LINE = 7  # of the printed attention's forward, as the lesson numbers it; a test compares

lets_through = Choices(
    name="lets_through",
    lesson="02",
    call='{"line": number, 0: [keys], 1: [keys], 2: [keys], 3: [keys]}',
    minutes=10,
    difficulty="medium",
    hints=(
        "Write the additive mask of 4 tokens down. Where is it equal to 0?",
        "The filled places get -1e9. What score keeps a place that is not filled?",
        "In row 3 every key is filled with the same number. What is the softmax of four equal scores?",
    ),
    in_order=False,
    keys=("line", 0, 1, 2, 3),
)
WEIGHTED = {0: [1, 2, 3], 1: [2, 3], 2: [3], 3: [0, 1, 2, 3]}


@lets_through.check("the line that turns the mask round")
def _(answer):
    line = entry(answer, "line")
    if line not in (FILL_LINE, str(FILL_LINE)):
        raise Wrong(f"line {line} may stay with a mask of 0 and -inf; one other line may not")


for query, right in WEIGHTED.items():

    @lets_through.check(f"the keys that get weight in row {query}")
    def _(answer, query=query, right=right):
        keys = entry(answer, query)
        if not isinstance(keys, (list, tuple, set, range)):
            raise Wrong(f"the entry for {query} is {kind(keys)}; expected a list of keys, as in [0, 2]")
        if sorted(keys) == right:
            return
        looks = None
        if sorted(keys) == list(range(query + 1)):
            looks = "a mask that works: these are the places where the mask is 0, and those are filled with -1e9"
        if query < 3 and sorted(keys) == list(range(query, 4)):
            looks = "which tokens move the row: its own token does so as the query, and gets no weight"
        if query == 3 and not keys:
            looks = "all hidden: but a softmax always gives weights that sum to 1, and equal scores share them"
        raise Wrong(f"row {query}: {sorted(keys)} is not where the weight goes", looks)


RepairedLayer = Exercise(
    name="RepairedLayer",
    lesson="02",
    call="RepairedLayer(d_model, heads), called as layer(x [B, T, C]) -> [B, T, C]",
    minutes=25,
    difficulty="hard",
    hints=(
        "Run it after each repair and read the error: sizes come from x.shape and from self, not from the air.",
        "The result of the product with v is [B, H, T, D]. What shape does W_O need, and what must happen between?",
        "When it runs it is not done: does anybody hand the attention a mask, and which of the two conventions does its fill expect?",
    ),
)
C, H = 24, 6


def some_x(B=3, T=7):
    return torch.randn(B, T, C, generator=torch.Generator().manual_seed(B + T), dtype=torch.float64)


def built(answer):
    layer = answer(C, H)
    if not isinstance(layer, torch.nn.Module):
        raise Wrong(f"RepairedLayer(24, 6) is {kind(layer)}; expected an nn.Module")
    for name in ("attention", "norm1", "norm2", "ffn"):
        if not isinstance(getattr(layer, name, None), torch.nn.Module):
            raise Wrong(
                f"the layer has no module named {name}; keep the printed names, so that weights can be compared"
            )
    layer = layer.double().eval().requires_grad_(False)
    some_weights(linears_of(layer.attention, C, "the layer's attention"))
    return layer


def output(layer, x):
    y = layer(x)
    if isinstance(y, tuple):
        raise Wrong(
            f"the layer returns a tuple of {len(y)}; expected one tensor, y",
            "the printed pair (x, new_kv): a past belongs to a cache, which comes in lesson 05. Leave it out here",
        )
    tensor_like(y, x, "B T C", "y")
    return y


@RepairedLayer.check("it can be built: RepairedLayer(24, 6)")
def _(answer):
    built(answer)


@RepairedLayer.check("it runs: x [3, 7, 24] gives y [3, 7, 24]")
def _(answer):
    output(built(answer), some_x())


@RepairedLayer.check("a batch of 2 gives what its texts give alone")
def _(answer):
    layer, x = built(answer), some_x(B=2)
    alone = torch.cat([output(layer, one[None]) for one in x])
    try:
        compare(output(layer, x), alone, 1e-12, "B T C", "y")
    except Wrong as wrong:
        raise Wrong(
            wrong.seen, "`y, new_kv = tensor`: a batch of exactly 2 is taken apart into its two texts"
        ) from None


@RepairedLayer.check("no row moves when a later token changes")
def _(answer):
    layer = built(answer)
    found = leaks(lambda x: output(layer, x), 5, C)
    if found:
        i, j = min(found)
        seen = f"{len(found)} of 10 pairs leak; row {i} of y moves when token {j} changes"
        raise Wrong(seen, likeness(layer, some_x()))
    return "10 pairs, none moves"


def masked(x):
    return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()


def through(layer, x, attended):
    """The pre-norm layer's y with `attended` in the place of its attention's output."""
    x = x + attended
    return x + layer.ffn(layer.norm2(x))


def expected(layer, x):
    return through(layer, x, fused_answer_of(layer, x))


def fused_answer_of(layer, x):
    return fused_answer(linears_of(layer.attention, C), layer.norm1(x), masked(x), H)


def likeness(layer, x):
    """The known mistake that gives the layer's very output, or None."""
    linears, mask = linears_of(layer.attention, C), masked(x)
    found = with_mistakes(linears, layer.norm1(x), mask, H)
    found["a mask turned round: what may be seen is filled"] = found.pop("additive mask, == 0")
    known = {words: through(layer, x, attended) for words, attended in found.items()}
    right = fused_answer_of(layer, x)
    known["a residual that is left out: x + attention(norm1(x))"] = right + layer.ffn(layer.norm2(right))
    known["the second residual is left out: x + ffn(norm2(x))"] = layer.ffn(layer.norm2(x + right))
    known["norm1 is left out: x + attention(x)"] = through(layer, x, fused_answer(linears, x, mask, H))
    known["norm2 is left out: x + ffn(x)"] = x + right + layer.ffn(x + right)
    after = layer.norm1(x + fused_answer(linears, x, mask, H))
    known["post-norm: each norm stands after its residual"] = layer.norm2(after + layer.ffn(after))
    return looks_like(output(layer, x), known)


@RepairedLayer.check("y equals a right pre-norm layer with the same weights")
def _(answer):
    layer = built(answer)
    for x in (some_x(), some_x(2, 6), some_x(4, 1)):
        try:
            worst = compare(output(layer, x), expected(layer, x), 1e-12, "B T C", "y")
        except Wrong as wrong:
            raise Wrong(wrong.seen, likeness(layer, x) or wrong.looks_like) from None
    return within(worst, 1e-12)
