"""Lesson 04: greedy generation without a cache that also returns the logits of each step."""

import torch

from ...decoding import Oracle, generate
from ...lab.repeats import forgetful
from ..compare import compare, inputs_kept, own, parts, tensor_like, within
from ..registry import Exercise, Wrong, kind
from ..small import BLOCK, TOLERANCE, B, V, fed_in, small_model, some_tokens

generate_uncached = Exercise(
    name="generate_uncached",
    lesson="04",
    call="generate_uncached(model, prompt, max_new_tokens) -> (tokens [B, n], logits [B, n, V])",
    minutes=15,
    difficulty="medium",
    hints=(
        "One pass gives logits at every position. Which position knows what comes next? Keep those logits, then choose.",
        "Whether layers drop anything is a mode of the model, and whether it keeps what a gradient needs is one of torch.",
        "model.eval(); with torch.no_grad(), n times: the whole sequence, [:, -1], keep, argmax, append. n = 0 gives "
        "tensors with an axis of length 0.",
    ),
)


def greedy(prompt, n):
    """(tokens `[B, n]`, logits `[B, n, V]`) of the course's own oracle."""
    out = generate(Oracle(small_model()), prompt, n)
    return out.tokens, out.logits


def both(out, prompt, n):
    """The learner's (tokens, logits) and the right ones; raises `Wrong` for another form or shape."""
    tokens, logits = parts(out, ("tokens", "logits"))
    right = greedy(prompt, n)
    if isinstance(tokens, torch.Tensor) and n and tokens.shape == (B, prompt.shape[1] + n):
        raise Wrong(f"tokens has shape {list(tokens.shape)}; expected the {n} new ones only, without the prompt")
    if isinstance(logits, torch.Tensor) and logits.shape == (B, prompt.shape[1] + n - 1, V) != right[1].shape:
        seen = f"logits has shape {list(logits.shape)}; expected one entry for each of the {n} new tokens"
        raise Wrong(seen, "the logits of every position of the last pass: the first of them only predict the prompt")
    if n == 0 and isinstance(logits, torch.Tensor) and logits.is_floating_point():
        logits = logits.to(right[1].dtype)  # where there are no numbers, any precision will do
    tensor_like(tokens, right[0], "B n", "tokens")
    tensor_like(logits, right[1], "B n V", "logits")
    return tokens, logits, *right


def tokens_are(out, prompt, n):
    tokens, logits, right, _ = both(out, prompt, n)
    try:
        compare(tokens, right, 0, "B n", "tokens")
    except Wrong as wrong:
        raise Wrong(wrong.seen, token_mistake(tokens, logits, right)) from None


def token_mistake(tokens, logits, right):
    if not torch.equal(tokens, logits.argmax(-1)):
        return "tokens that are not the argmax of the logits beside them: sampling, or another row or step"
    if torch.equal(tokens[:1].expand_as(right), tokens) and not torch.equal(right[:1].expand_as(right), right):
        return "one row's token given to all rows"
    return None


def logits_are(out, prompt, n):
    _, got, _, right = both(out, prompt, n)
    try:
        return within(compare(got, right, TOLERANCE, "B n V", "logits"), TOLERANCE)
    except Wrong as wrong:
        known = {
            "probabilities, not logits: the softmax loses a constant per row": right.softmax(-1),
            "log-probabilities, not logits": right.log_softmax(-1),
            "the logits of step 0 at every step": right[:, :1].expand_as(right),
            "the logits in reverse order": right.flip(1),
        }
        looks = next((w for w, x in known.items() if float((x - got).abs().max()) < TOLERANCE), None)
        if n > 1 and float((got[:, :-1] - right[:, 1:]).abs().max()) < TOLERANCE:
            looks = "the logits after each token was fed; asked are those that it was chosen from"
        raise Wrong(wrong.seen, looks) from None


@generate_uncached.check("7 new tokens, with the logits of each step: shapes")
def _(answer):
    both(answer(small_model(), some_tokens(6), 7), some_tokens(6), 7)


@generate_uncached.check("7 new tokens: each the argmax, after a pass over everything before it")
def _(answer):
    tokens_are(answer(small_model(), some_tokens(6), 7), some_tokens(6), 7)


@generate_uncached.check("the logits are those that each token was chosen from")
def _(answer):
    return logits_are(answer(small_model(), some_tokens(6), 7), some_tokens(6), 7)


@generate_uncached.check("a prompt of 1 token")
def _(answer):
    out = answer(small_model(), some_tokens(1), 5)
    tokens_are(out, some_tokens(1), 5)
    return logits_are(out, some_tokens(1), 5)


@generate_uncached.check("a model left in training mode: dropout is off")
def _(answer):
    try:
        return logits_are(answer(forgetful(small_model(), 0.5), some_tokens(6), 3), some_tokens(6), 3)
    except Wrong as wrong:
        looks = "evaluation mode forgotten: dropout throws away other numbers in every pass"
        raise Wrong(f"with a dropout of 0.5 and model.train() before, {wrong.seen}", looks) from None


@generate_uncached.check("nothing is kept for a gradient")
def _(answer):
    model = small_model().requires_grad_(True)
    with torch.enable_grad():
        _, logits, *_ = both(answer(model, some_tokens(6), 3), some_tokens(6), 3)
    if logits.requires_grad:
        seen = "with gradients on, as torch starts, the logits have requires_grad = True"
        raise Wrong(seen, "no torch.no_grad() in the function: every pass keeps its activations for a backward pass")


@generate_uncached.check("every pass computes every position")
def _(answer):
    fed = fed_in(answer, 6, 5)
    if not fed:
        return "not counted, the code does not call the model's modules"
    if min(fed) < 6:
        seen = f"a prompt of 6 and 5 new tokens: layer 0 was given {fed} tokens, less than the prompt"
        raise Wrong(seen, "a cache, which is what this function is there to judge")
    return f"passes over {fed} tokens"


@generate_uncached.check("fills the block: prompt + new - 1 = block; one more raises an error")
def _(answer):
    fed = fed_in(answer, 6, 5)
    if max(fed, default=0) > 10:
        seen = f"a prompt of 6 and 5 new tokens: passes over {fed} tokens"
        raise Wrong(seen, "a pass for the last new token, which is chosen and never fed")
    tokens_are(answer(small_model(), some_tokens(6), BLOCK - 5), some_tokens(6), BLOCK - 5)
    try:
        out = answer(small_model(), some_tokens(6), BLOCK - 4)
    except Exception:  # noqa: BLE001 (any error will do)
        return
    seen = f"no error where {BLOCK + 1} positions would be needed and the block has {BLOCK}; got {kind(out)}"
    raise Wrong(seen, "a context cut to its last tokens: all of them then stand at other positions than before")


@generate_uncached.check("0 and 1 new tokens")
def _(answer):
    for n in (0, 1):
        out = answer(small_model(), some_tokens(6), n)
        tokens_are(out, some_tokens(6), n)
        logits_are(out, some_tokens(6), n)


@generate_uncached.check("the prompt is unchanged")
def _(answer):
    inputs_kept(lambda prompt: own(answer)(small_model(), prompt, 3), ("prompt",), some_tokens(6))
