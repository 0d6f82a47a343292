"""Lesson 03: MiniGPT from the learner's own parts, with the trained weights, at an offset, and on a cache."""

import torch
from torch.nn import functional as F

from ...cache import ConcatCache
from ...ledger import example, load
from ...model import NoCache
from ...positions import Rotary
from ..registry import Exercise, Wrong
from ..small import BLOCK, TOLERANCE, D, L, small_model, some_tokens
from .feed_forward import judged, parameters, same_names

AXES = "B T V"
MiniGPT = Exercise(
    name="MiniGPT",
    lesson="03",
    call="MiniGPT(config)(tokens [B, T], offset=0, cache=None) -> logits [B, T, V]",
    minutes=25,
    difficulty="hard",
    hints=(
        "Follow one token: id, vector, plus its position's vector, through every block, one last norm, one score for each word.",
        "The T tokens stand at offset, offset + 1, …; with no cache given, a NoCache() stands in. The head is token.weight.",
        "nn.Embedding refuses a position that it does not have; a slice of its weight does not: it just comes out shorter.",
    ),
)
NAMES = {
    "head": "a head with weights of its own: it is tied to the embedding, F.linear(x, self.token.weight)",
    r"blocks\.\d+\.attention": "blocks that torch cannot find: a plain list hides them, nn.ModuleList does not",
    "ffn": "an FFN whose layers have other names: see check('FFN')",
    "position": "position rows under another name: nn.Embedding, called position",
    "^norm": "the last norm is missing or has another name: norm",
}


class At(NoCache):
    """No cache, and the first token at `offset`."""

    def __init__(self, offset):
        self.offset = offset

    def positions(self, T):
        return torch.arange(self.offset, self.offset + T)


def loaded(answer, reference):
    """The learner's model with the weights of the reference, in its dtype; raises `Wrong` where the names do not fit."""
    model, wanted = answer(reference.config), dict(reference.named_parameters())
    same_names(parameters(model, "MiniGPT(config)"), {key: list(p.shape) for key, p in wanted.items()}, NAMES)
    model = model.to(reference.token.weight.dtype).eval().requires_grad_(False)
    for key, p in model.named_parameters():
        p.copy_(wanted[key])
    return model


def stream(r, x, positions, cache=None):
    cache = NoCache() if cache is None else cache
    for block in r.blocks:
        x = block(x, cache, positions)
    return x


def mistakes(r, model, tokens, offset, cache):
    """Known mistakes -> the logits `[B, T, V]` that each gives: of the reference `r`; `cache()` is what was given."""
    positions = torch.arange(offset, offset + tokens.shape[1])
    word, place = r.token(tokens), r.position(positions)

    def logits(x, norm=r.norm, at=positions, on=cache):
        return F.linear(norm(stream(r, x, at, on())), r.token.weight)

    def at(first):
        return logits(word + r.position((torch.arange(tokens.shape[1]) + first) % BLOCK))

    layers = [block.attention.layer for block in model.blocks]
    apart = "a wrong block in a right model: see check('Block')"
    shared = f"blocks that share their cached rows: they are made as layers {layers}; expected {list(range(L))}"
    known = {
        shared if len(set(layers)) < L else apart: F.linear(
            r.norm(stream(model, word + place, positions, cache())), r.token.weight
        ),
        "the last norm is missing": logits(word + place, norm=lambda x: x),
        "no positions are added": logits(word),
        "the norm stands before the blocks, not behind them": F.linear(
            stream(r, r.norm(word + place), positions, cache()), r.token.weight
        ),
        "probabilities: the logits are what comes before the softmax": logits(word + place).softmax(-1),
        "the embedding is multiplied by √C: these weights were trained without": logits(
            word * word.shape[-1] ** 0.5 + place
        ),
        "no block is run": F.linear(r.norm(word + place), r.token.weight),
        "position 0 for all tokens of the call": logits(word + r.position(torch.zeros(1, dtype=torch.int64))),
    }
    if offset:
        known |= {
            "the offset is ignored: every call begins at position 0": at(0),
            "all tokens of the call at the position of its first one": logits(word + r.position(positions[:1])),
            "the blocks get positions from 0 in every call: hand on those that the table was asked for": logits(
                word + place, at=torch.arange(tokens.shape[1])
            ),
            "an offset that is one too large": at(offset + 1),
            "an offset that is one too small": at(offset - 1),
        }
    if cache() is not None:
        known["the cache is not handed to the blocks: they see the new tokens only"] = logits(
            word + place, on=lambda: None
        )
    return known


def logits_are(answer, T, offset=0, cached=0, rotary=False):
    """Compare the logits of T tokens at `offset`, after `cached` others; `rotary`: attention too looks at positions."""
    r = small_model()
    model, tokens = loaded(answer, r), some_tokens(cached + T)
    for block in (*r.blocks, *model.blocks) if rotary else ():
        block.attention.rotary = Rotary(D, BLOCK, r.config.rope_base)

    def cache():
        if not cached:
            return None
        filled = ConcatCache(L)
        r(tokens[:, :cached], filled)
        return filled

    new, given = tokens[:, cached:], cache()
    got = model(new.clone(), *([offset] if offset else []), **({"cache": given} if cached else {}))
    if (
        isinstance(got, torch.Tensor)
        and got.dim() == 3
        and got.shape[:2] == new.shape
        and got.shape[2] == r.config.d_model
    ):
        raise Wrong(
            f"the result has shape {list(got.shape)}, C channels; expected V = {r.config.vocab_size}", "no head"
        )
    right = r(tokens)[:, cached:] if cached else r(new, At(offset))
    return judged(got, right, lambda: mistakes(r, model, new, offset, cache), AXES, "the logits", TOLERANCE)


@MiniGPT.check("its weights have the names and shapes of the weights file")
def _(answer):
    loaded(answer, small_model())


@MiniGPT.check("7 tokens: the logits of the reference", 2)
def _(answer):
    return logits_are(answer, 7)


@MiniGPT.check("the same at offset 6")
def _(answer):
    return logits_are(answer, 5, offset=6)


@MiniGPT.check("one token at offset 6, on a cache of 6")
def _(answer):
    return logits_are(answer, 1, offset=6, cached=6)


@MiniGPT.check("a chunk of 3 at offset 6, on a cache of 6")
def _(answer):
    return logits_are(answer, 3, offset=6, cached=6, rotary=True)  # so that positions lost on the way are seen


WEAK = {
    RuntimeError: "a slice of the table that came out too short",
    AssertionError: "an assert: python -O leaves it out",
}


@MiniGPT.check(f"past the last of {BLOCK} positions it refuses")
def _(answer):
    model = loaded(answer, small_model())
    for T, offset in ((3, BLOCK - 2), (1, BLOCK)):
        case = f"{T} token{'s' if T > 1 else ''} at offset {offset}"
        try:
            got = model(some_tokens(T), offset)
        except (ValueError, IndexError):
            continue
        except tuple(WEAK) as error:
            name = type(error).__name__
            raise Wrong(f"{case} raised {name}; expected a ValueError or IndexError", WEAK.get(type(error))) from None
        seen = f"{case} gave a result of shape {list(got.shape)}; expected a ValueError or IndexError"
        raise Wrong(seen, past_the_end(got))


def past_the_end(got):
    if got.numel() == 0:
        return "a slice past the table's end: it is empty, and an axis of length 1 plus one of length 0 is empty, without an error"
    return "positions that are clamped to the last row, or taken modulo the block: two tokens then share one position"


@MiniGPT.check("the trained ledger model: the logits of the reference", 2)
def _(answer):
    r = load("learned", dtype=torch.float64).requires_grad_(False)
    tokens = example(records=2, asked=1, seed=3).prompt_ids
    model = loaded(answer, r)
    return judged(model(tokens), r(tokens), dict, AXES, "the logits", TOLERANCE)
