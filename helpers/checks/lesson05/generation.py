"""Lesson 05, prefill and decode: the loop."""

import torch

from ..compare import compare, tensor_like
from ..registry import Exercise, Wrong, kind
from ..small import BLOCK, fed_in, small_model, some_tokens

generate_cached = Exercise(
    name="generate_cached",
    lesson="05",
    call="generate_cached(model, prompt, max_new_tokens) -> tokens [B, n]",
    minutes=15,
    difficulty="medium",
    hints=(
        "Which logits choose the first new token? Which token does the first decode step feed?",
        "n new tokens need one prefill and n - 1 decode steps.",
        "Choose, keep, and feed only if one more is wanted: the last token is never fed, so it needs no position.",
    ),
)


def greedy(model, prompt, n):
    """The oracle's tokens `[B, n]`: the whole sequence again for each."""
    tokens = prompt
    for _ in range(n):
        tokens = torch.cat([tokens, model(tokens)[:, -1].argmax(-1, keepdim=True)], dim=1)
    return tokens[:, prompt.shape[1] :]


def same_tokens(answer, prompt, n):
    got, right = answer(small_model(), prompt, n), greedy(small_model(), prompt, n)
    if isinstance(got, torch.Tensor) and got.shape == (len(prompt), prompt.shape[1] + n) and n:
        raise Wrong(f"the result has shape {list(got.shape)}; expected the {n} new tokens only, without the prompt")
    tensor_like(got, right, "B n", "the tokens")
    try:
        compare(got, right, 0, "B n", "the tokens")
    except Wrong as wrong:
        raise Wrong(wrong.seen, shifted(got, right, prompt)) from None


def shifted(got, right, prompt):
    """The known mistake around the first token that gives these tokens, or None."""
    n = got.shape[1]
    if n > 1 and torch.equal(got[:, :-1], right[:, 1:]):
        return "the token that the prefill's logits choose is not kept"
    twice = torch.cat([prompt, prompt[:, -1:]], dim=1)
    if twice.shape[1] + n - 1 <= BLOCK and torch.equal(got, greedy(small_model(), twice, n)):
        return "the prompt's last token is fed twice: its logits, from the prefill, choose the first new token"


@generate_cached.check("7 new tokens are the oracle's")
def _(answer):
    same_tokens(answer, some_tokens(6), 7)


@generate_cached.check("a second request does not see the first")
def _(answer):
    try:
        for seed in (1, 2, 1):
            same_tokens(answer, some_tokens(3, seed), 3)
    except Wrong as wrong:
        raise Wrong(wrong.seen, "a cache that the request before has filled: each one starts with none") from None


@generate_cached.check("a prompt of 1 token, in a batch and alone")
def _(answer):
    same_tokens(answer, some_tokens(1), 5)
    same_tokens(answer, some_tokens(1)[:1], 5)


@generate_cached.check("0 and 1 new tokens")
def _(answer):
    same_tokens(answer, some_tokens(6), 0)
    same_tokens(answer, some_tokens(6), 1)


@generate_cached.check("feeds each token once")
def _(answer):
    fed = fed_in(answer, 6, 5)
    if not fed:
        return "not counted, the code does not call the model's modules"
    if sum(fed) != 10:
        looks = {
            11: "the last token is fed too, though no token follows it",
            5 * 6 + 10: "the whole sequence is fed again",
        }
        raise Wrong(
            f"a prompt of 6 and 5 new tokens: {sum(fed)} tokens went through layer 0, in calls of {fed}; expected 6 + 4 = 10",
            looks.get(sum(fed)),
        )
    return f"calls of {fed} tokens"


@generate_cached.check("fills the block: prompt + new - 1 = block")
def _(answer):
    same_tokens(answer, some_tokens(6), BLOCK - 6 + 1)
    same_tokens(answer, some_tokens(BLOCK), 1)


@generate_cached.check("one token more raises an error")
def _(answer):
    try:
        out = answer(small_model(), some_tokens(6), BLOCK - 6 + 2)
    except Exception:  # noqa: BLE001 (any error will do)
        return
    got = list(out.shape) if isinstance(out, torch.Tensor) else kind(out)
    seen = f"no error where {BLOCK + 1} positions would be needed and the block has {BLOCK}; got {got}"
    raise Wrong(
        seen, "a position clamped to the last one, a prompt cut short, or a loop that stops early without a word"
    )
