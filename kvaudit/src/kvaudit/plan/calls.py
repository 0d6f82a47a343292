"""Calls and scripts: what is asked of a decoder, as data. Every script says what it exercises."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

ANSWERING = ("prefill", "decode", "extend")  # calls that return logits [B, V]


@dataclass(frozen=True)
class Call:
    """One call: `kind` is a decoder's method, `value` its argument; `on` names the decoder (forks have names)."""

    kind: str
    value: Any = None
    lengths: Tensor | None = None  # [B], with prefill of a left-padded batch
    on: str = "main"


@dataclass(frozen=True)
class Script:
    """A named list of calls. `ends` is True where the last call must be refused (one token past the last position)."""

    name: str
    about: str
    calls: tuple[Call, ...]
    ends: bool = False

    @cached_property
    def content(self) -> str:
        """Text that tells these calls from others."""
        return str([[getattr(x, "tolist", lambda x=x: x)() for x in vars(call).values()] for call in self.calls])

    @property
    def answering(self) -> list[int]:
        """Places of the calls that answer with logits."""
        return [i for i, call in enumerate(self.calls) if call.kind in ANSWERING]

    @property
    def cost(self) -> int:
        """Tokens fed in all calls and rows: what running the script is worth, to begin with the cheapest."""
        return sum(call.value.numel() for call in self.calls if isinstance(call.value, Tensor))
