"""Lesson 05, prefill and decode: the past carried through the model, one step."""

import torch

from ..compare import inputs_kept, own
from ..registry import Exercise, Wrong
from ..small import BLOCK, Case, equal, follow

forward_with_past = Exercise(
    name="forward_with_past",
    lesson="05",
    call="forward_with_past(model, tokens, past=None) -> (logits [B, T, V], new_past)",
    minutes=15,
    difficulty="medium",
    hints=(
        "Three places know about the past: the positions of the new tokens, each layer's keys and values, the mask.",
        "The first new token stands at the number of rows that are cached already. Where can you read that number?",
        "Layer i attends with past[i] and returns a pair of its own; collect the pairs in a new list, in the layers' order.",
    ),
)
follow(forward_with_past, "without a past", lambda: Case(6), lambda f, c: f(c.model, c.tokens), last_only=False)
follow(
    forward_with_past, "one token", lambda: Case(6, 1), lambda f, c: f(c.model, c.pieces[-1], c.past()), last_only=False
)
follow(
    forward_with_past, "a chunk", lambda: Case(6, 5), lambda f, c: f(c.model, c.pieces[-1], c.past()), last_only=False
)


@forward_with_past.check("the past that it was given is unchanged")
def _(answer):
    case = Case(6, 1)
    inputs_kept(lambda past: own(answer)(case.model, case.pieces[-1], past), ("past",), case.past())


prefill = Exercise(
    name="prefill",
    lesson="05",
    call="prefill(model, tokens) -> (logits [B, V], past)",
    minutes=5,
    difficulty="easy",
    hints=(
        "A prompt is a chunk with nothing before it.",
        "Only one of the T positions predicts the token that comes next.",
        "The rows of all T prompt tokens stay in the past; of the logits, only those of the last position are needed.",
    ),
)


def last_logits_only(case, out):
    """Name the mistake of another position's logits before the general message."""
    everything = case.model(case.tokens)  # [B, T, V]
    for position in range(case.S - 1):
        if isinstance(out[0], torch.Tensor) and equal(out[0], everything[:, position]):
            raise Wrong(
                f"the logits are those of position {position}; expected position {case.S - 1}, the prompt's last"
            )
    return out


def call_prefill(answer, case):
    out = answer(case.model, case.tokens)
    return last_logits_only(case, out) if isinstance(out, tuple) and len(out) == 2 else out


follow(prefill, "a prompt of 6", lambda: Case(6), call_prefill)
follow(prefill, "a prompt of 1", lambda: Case(1), call_prefill)
follow(prefill, "a prompt as long as the block", lambda: Case(BLOCK), call_prefill)

decode_step = Exercise(
    name="decode_step",
    lesson="05",
    call="decode_step(model, token, past) -> (logits [B, V], past)",
    minutes=5,
    difficulty="easy",
    hints=(
        "token has shape [B]; what does the model need?",
        "The new token's position is the number of rows in the past, in every step, not only in the first.",
        "Feed a chunk of one token on top of the past, drop the axis of length 1 from the logits, return the grown past.",
    ),
)


def call_decode(answer, case):
    return answer(case.model, case.pieces[-1][:, 0], case.past())


follow(decode_step, "step 1", lambda: Case(6, 1), call_decode)
follow(decode_step, "step 1 after a prompt of 1, a batch of 1", lambda: Case(1, 1, batch=1), call_decode)


@decode_step.check("steps 2 to 6, each on the past that the step before returned")
def _(answer):
    past, details = Case(6, 1).past(), None
    for step in range(1, 7):
        case = Case(6, *[1] * step)
        out = answer(case.model, case.pieces[-1][:, 0], past)
        case.structure(out, last_only=True)
        details, past = case.check_logits(out, step), out[1]
    return details


@decode_step.check("the past that it was given is unchanged")
def _(answer):
    case = Case(6, 1)
    inputs_kept(lambda past: own(answer)(case.model, case.pieces[-1][:, 0], past), ("past",), case.past())
