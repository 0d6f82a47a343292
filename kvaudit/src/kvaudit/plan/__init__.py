"""Stage 2, the plan: which scripts of calls are run on a subject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from ..subject import Subject
from .calls import Call, Script
from .inputs import check_prompt
from .scripts import scripts

__all__ = ["Call", "Plan", "Script", "check_prompt", "plan_for", "scripts"]


@dataclass(frozen=True)
class Plan:
    """The scripts for a subject, the plain one first."""

    subject: Subject
    scripts: tuple[Script, ...]
    seed: int = 0

    def __iter__(self) -> Iterator[Script]:
        return iter(self.scripts)

    @property
    def plain(self) -> Script:
        return self.scripts[0]


def plan_for(subject: Subject, prompt: Tensor | None = None, tokens: Tensor | None = None, seed: int = 0) -> Plan:
    """Scripts of random tokens, drawn with `seed`; `prompt` `[B, T0]` and `tokens` `[B, n]` are fed in the plain one.

    Raises ValueError in words for ids that cannot be fed.
    """
    reference = subject.native.reference
    check_prompt(prompt, tokens, reference.vocab_size, subject.room)
    made = scripts(
        subject.room,
        reference.vocab_size,
        prompt=prompt,
        tokens=tokens,
        device=reference.device,
        seed=seed,
        window=reference.window,
        capacity=subject.last_position,
    )
    return Plan(subject, tuple(made), seed)
