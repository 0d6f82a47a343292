"""Fresh copies of a decoder, and the same decoder in float64."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..protocol import Builder
from .uncached import Uncached


class Unmade:
    """Stands for a decoder whose making failed, so that the report can say why."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def prefill(self, tokens: Tensor) -> Tensor:
        raise RuntimeError(f"the decoder could not be made: {type(self.error).__name__}: {self.error}") from self.error

    decode = prefill


def builder(decoder: Any, model: Any) -> Builder:
    """A function that gives a fresh decoder each time: what one script leaves behind must not reach the next."""
    if isinstance(decoder, type) or not hasattr(decoder, "prefill"):
        return lambda: made(decoder, model)
    pristine = fresh(decoder)
    return lambda: fresh(pristine)


def made(maker: Callable[[Any], Any], model: Any) -> Any:
    try:
        return maker(model)
    except Exception as error:  # noqa: BLE001 - the report says so
        return Unmade(error)


def fresh(decoder: Any) -> Any:
    """A copy with the same weights and its own caches."""
    shared = [x for m in modules(decoder) for x in (*m.parameters(), *filter(keeps_nothing, m.modules()))]
    try:
        return copy.deepcopy(decoder, {id(x): x for x in shared})
    except Exception:  # noqa: BLE001 - it holds something that cannot be copied: go on with the one there is
        return decoder


def keeps_nothing(module: nn.Module) -> bool:
    """Whether it is a layer of torch's own that holds its weights alone: copies may share it, and copying is slow."""
    plain = type(module).__module__.startswith("torch.nn.modules") and not module._modules and not module._buffers
    return plain and not any(isinstance(value, (Tensor, list)) for value in vars(module).values())


def modules(decoder: Any) -> list[nn.Module]:
    return [value for value in getattr(decoder, "__dict__", {}).values() if isinstance(value, nn.Module)]


def in_float64(reference: Uncached, build: Builder) -> tuple[Uncached, Builder] | None:
    """(reference, builder) in float64, or None where the decoder or its model cannot be converted."""
    if reference.dtype == torch.float64:
        return reference, build
    decoder, exact = build(), reference.double()
    if exact is None:
        return None
    if callable(getattr(decoder, "double", None)):
        twin = decoder.double()
    elif any(holds_floats(value) for value in getattr(decoder, "__dict__", {}).values()):
        twin = copy.copy(decoder)
        for name, value in vars(decoder).items():
            same = isinstance(value, nn.Module) and value is reference.model
            setattr(twin, name, exact.model if same else upcast(value))
    else:
        return None
    return exact, lambda: fresh(twin)


def holds_floats(value: Any) -> bool:
    if isinstance(value, dict):
        return any(holds_floats(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return any(holds_floats(v) for v in value)
    return isinstance(value, nn.Module) or (isinstance(value, Tensor) and value.is_floating_point())


def upcast(value: Any) -> Any:
    """float64 copies of the modules and tensors in a value; anything else as it is."""
    if isinstance(value, nn.Module):
        return copy.deepcopy(value).double()
    if isinstance(value, Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {k: upcast(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(upcast(v) for v in value)
    return value
