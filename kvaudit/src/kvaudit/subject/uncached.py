"""A reference as the audit's stages meet it: everything that is optional filled in, and what was measured on it kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from ..protocol import Attend
from .precision import Narrowest

Measured = TypeVar("Measured")
REQUIRED = ("logits", "vocab_size", "block_size", "dtype", "device")
LENGTH = 32  # positions that are used of a plain function, which does not say how many it has


class BadReference(ValueError):
    """The reference cannot be used; the text says why."""


class Uncached:
    """A reference (see protocol.py) with every attribute. `tapped`: whether a witness can attend in its layers."""

    def __init__(self, source: Any) -> None:
        lacks = [name for name in REQUIRED if not hasattr(source, name)]
        if lacks:
            raise TypeError(
                f"the reference ({type(source).__name__}) has no {', '.join(lacks)}; it needs {', '.join(REQUIRED)}, or "
                "is a function of tokens [B, T] that returns logits [B, T, V]"
            )

        def optional(name: str, default: Any = None) -> Any:
            return getattr(source, name, default)

        self.source, self.model = source, optional("model")
        self.vocab_size, self.block_size = int(source.vocab_size), int(source.block_size)
        self.dtype, self.device = source.dtype, torch.device(source.device)
        self.n_layers: int = optional("n_layers", 0)
        self.window: int | None = optional("window")
        self.windows: list[int | None] = optional("windows") or [self.window] * self.n_layers
        self.softcap: float | None = optional("softcap")
        self.rotary, self.shared_heads = bool(optional("rotary", False)), bool(optional("shared_heads", True))
        self.tiled = False  # how shared heads are grouped: found by trial
        self.last_position: int | None = optional("last_position")
        self.capacity: int = optional("capacity") or self.block_size
        self.eps: float | None = optional("eps")
        self.specification: str | None = optional("specification")
        self.independence: str = optional("independence", "")
        self.tapped = callable(optional("forward"))
        self.memory: dict[Any, Any] = {}

    @classmethod
    def of(cls, source: Any) -> Uncached:
        """The one `Uncached` of a reference: what is measured on it once is there for every later audit."""
        if isinstance(source, cls):
            return source
        kept = vars(source) if hasattr(source, "__dict__") else {}
        mine = kept.get("_uncached")
        if mine is None or mine.source is not source:  # not there yet, or a copy brought it along
            mine = cls(source if hasattr(source, "logits") or not callable(source) else Function(source))
            if mine.source is source:
                kept["_uncached"] = mine
        return cast(Uncached, mine)

    def __deepcopy__(self, memo: dict[int, Any]) -> Uncached:
        return self  # a decoder that holds its reference is copied often: not with all that was measured

    def logits(self, tokens: Tensor) -> Tensor:
        logits = self.asked("logits", tokens)
        shape = [*tokens.shape, self.vocab_size]
        if not isinstance(logits, Tensor) or list(logits.shape) != shape or not logits.is_floating_point():
            seen = f"{logits.dtype} {list(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
            raise BadReference(f"the reference's logits must be floating-point [B, T, V] = {shape}, not {seen}")
        if not bool(torch.isfinite(logits).all()):
            raise BadReference(f"the reference's logits for tokens {list(tokens.shape)} hold NaN or infinity")
        return logits

    def forward(self, tokens: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        return cast(Tensor, self.asked("forward", tokens, positions, attend))

    def rotate(self, x: Tensor, by: Tensor) -> Tensor:
        return cast(Tensor, self.asked("rotate", x, by))

    def asked(self, name: str, given: Tensor, *more: Any) -> Any:
        """What the reference answers; whatever it raises is said in words. Raises BadReference."""
        try:
            return getattr(self.source, name)(given, *more)
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            raise BadReference(f"the reference's {name} raised {words} (given {list(given.shape)})") from error

    def second_difference(self, tokens: Tensor) -> float | None:
        """Largest difference to a second uncached computation of its own; None where it has none."""
        second = getattr(self.source, "independent_difference", None)
        return second(tokens) if second else None

    @cached_property
    def unit(self) -> float:
        """The bits in which the logits are computed, as the smallest step from 1: the coarsest that is met on the way."""
        with Narrowest() as met:
            self.logits(torch.arange(4, device=self.device)[None] % self.vocab_size)
        return max(self.eps or 0.0, float(met.eps), float(torch.finfo(self.dtype).eps))

    def double(self) -> Uncached | None:
        """The same in float64; None where it cannot be made."""
        if self.dtype == torch.float64:
            return self
        if not hasattr(self.source, "double"):
            return None
        exact = self.remembered("float64", self.source.double)
        return None if exact is None else Uncached.of(exact)

    def remembered(self, key: Any, compute: Callable[[], Measured]) -> Measured:
        """What was measured on this reference before, else what `compute` gives now."""
        if key not in self.memory:
            self.memory[key] = compute()
        return cast(Measured, self.memory[key])


class Function:
    """A plain function tokens [B, T] -> logits [B, T, V] as a reference: what it does not say is found by calling it."""

    def __init__(self, logits: Callable[[Tensor], Tensor]) -> None:
        answer = logits(torch.zeros(1, 2, dtype=torch.int64))
        if not isinstance(answer, Tensor) or answer.dim() != 3 or answer.shape[:2] != (1, 2):
            seen = list(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
            raise TypeError(f"the reference must return logits [B, T, V] for tokens [B, T]; for [1, 2] it gave {seen}")
        self.call, self.vocab_size, self.block_size = logits, answer.shape[2], LENGTH
        self.dtype, self.device = answer.dtype, answer.device

    def logits(self, tokens: Tensor) -> Tensor:
        with torch.no_grad():
            return self.call(tokens)
