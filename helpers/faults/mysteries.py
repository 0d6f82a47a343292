"""Mysteries, drawn with a seed: three decoders with a hidden fault, and three changes to review, one line of each wrong.

chosen = draw(6)
decoders = chosen.decoders(model)   # {1: …, 2: …, 3: …}
chosen.reviews                      # {4: …, 5: …, 6: …}, each prints as a numbered diff
"""

import random
from dataclasses import dataclass
from functools import cache

import torch

from ..model import OutOfPositions
from . import CATALOGUE, faulty
from .reviews import REVIEWS, Review

# What may be hidden in a decoder: every fault that one sequence on a plain cache can show.
CANDIDATES = tuple(
    fault.id
    for fault in CATALOGUE.values()
    if fault.needs is None
    and fault.scenario in ("plain", "chunked", "second_request")
    and fault.id != "layers_share_list"
)
FAMILIES = tuple(dict.fromkeys(CATALOGUE[id].family for id in CANDIDATES))


class Sealed:
    """A decoder that shows what it computes, not what it is made of."""

    def __init__(self, decoder):
        self.prefill, self.decode, self.extend, self.layers = (
            decoder.prefill,
            decoder.decode,
            decoder.extend,
            decoder.layers,
        )


@dataclass(frozen=True)
class Draw:
    """`faults` {number: catalogue id}, `reviews` {number: Review}: what is hidden, and in what."""

    faults: dict[int, str]
    reviews: dict[int, Review]

    def decoders(self, model):
        """`{number: Sealed}` over `model`."""
        return {number: Sealed(faulty(model, id)) for number, id in self.faults.items()}


@cache
def draw(seed):
    """Three faults of different families and three reviews; the same for the same seed, a whole number."""
    rng = random.Random(f"mysteries {seed}")
    families = rng.sample(FAMILIES, 3)
    faults = [rng.choice([id for id in CANDIDATES if CATALOGUE[id].family == family]) for family in families]
    reviews = rng.sample(REVIEWS, 3)
    return Draw(dict(enumerate(faults, 1)), dict(enumerate(reviews, 4)))


@torch.inference_mode()
def interrogate(decoder, prompt, tokens, chunk=5):
    """Logits `[B, 2 + n, V]` of one script that leaves no candidate an excuse.

    Another request first (the prompt backwards, one step); then the `prompt` `[B, T0]` in two pieces, the second of
    them `chunk` tokens, both pieces' logits kept; then the `tokens` `[B, n]`, one at a time. Where the decoder runs out of
    positions the trace is shorter.
    """
    logits = []
    try:
        decoder.prefill(prompt.flip(1))
        decoder.decode(tokens[:, 0])
        logits.append(decoder.prefill(prompt[:, :-chunk]))
        logits.append(decoder.extend(prompt[:, -chunk:]))
        for token in tokens.unbind(1):
            logits.append(decoder.decode(token))
    except OutOfPositions:
        pass  # the trace ends here
    return torch.stack(logits, dim=1) if logits else torch.empty(len(prompt), 0, 0)


def shipped(model):
    """The decoder of lesson 06's opening, sealed: its notes read well."""
    return Sealed(faulty(model, "pos_restart"))
