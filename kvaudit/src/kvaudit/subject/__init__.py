"""Stage 1, the subject: a decoder and its reference, in the dtype as it runs and in float64, and what fits into them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from ..protocol import Builder
from .copies import builder, in_float64
from .precision import Narrowest
from .traits import trait
from .uncached import BadReference, Uncached

__all__ = ["BadReference", "Side", "Subject", "Uncached", "check_decoder", "subject_of", "trait"]


@dataclass(frozen=True)
class Side:
    """Decoder and reference in one dtype; `build` gives a fresh decoder each time."""

    reference: Uncached
    build: Builder

    @cached_property
    def unit(self) -> float:
        """The bits that decoder and reference compute in, as the smallest step from 1.

        What the decoder *stores* in fewer than float32 counts as float32: that is for the verdict to find.
        """
        tokens = torch.arange(4, device=self.reference.device)[None] % self.reference.vocab_size  # [1, 4]
        with Narrowest() as met:
            try:
                decoder = self.build()
                decoder.prefill(tokens[:, :3])
                decoder.decode(tokens[:, 3])
            except (Exception, SystemExit):  # noqa: BLE001 - what it does in earnest is seen when it is played
                pass
        return max(self.reference.unit, min(float(met.eps), float(torch.finfo(torch.float32).eps)))


@dataclass(frozen=True)
class Subject:
    """What is audited. `exact` is the float64 side, None where there is none; it is `native` where that is float64."""

    native: Side
    exact: Side | None = None
    capacity: int | None = None  # rows that the decoder can hold, where it says so

    @property
    def room(self) -> int:
        """Tokens that fit into one sequence."""
        return min(self.native.reference.block_size, self.capacity or self.native.reference.block_size)

    @property
    def last_position(self) -> int | None:
        """Tokens that fit, where one more must be refused."""
        return self.capacity or self.native.reference.last_position


def check_decoder(decoder: Any) -> None:
    """Raise TypeError in words for what is neither a decoder nor a function that makes one."""
    if not hasattr(decoder, "prefill") and not callable(decoder):
        raise TypeError(
            "audit() takes a decoder, an object with prefill(tokens [B, T]) and decode(token [B]), or a function that "
            f"makes one from a model; got {type(decoder).__name__}"
        )


def subject_of(decoder: Any, reference: Any, float64: bool = True) -> Subject:
    """Take a decoder, or a function that makes one from a model, and its reference. Raises TypeError for what is neither."""
    check_decoder(decoder)
    uncached = Uncached.of(reference)
    build = builder(decoder, uncached.model)
    native = Side(uncached, build)
    exact = in_float64(uncached, build) if float64 else None
    if exact is not None:
        exact_side = native if exact[0] is uncached else Side(*exact)
    return Subject(native, exact_side if exact is not None else None, trait(build(), "capacity"))
