"""Where a decoder's reference is found by itself: in classes of models that were registered, and in `transformers`."""

from collections.abc import Callable
from typing import Any

KNOWN: dict[type, Callable[[Any], Any]] = {}


def register(model_class: type, make: Callable[[Any], Any]) -> None:
    """Let `audit(decoder)` find its reference where `decoder.model` is a `model_class`: `make(decoder)` gives it."""
    KNOWN[model_class] = make


def reference_for(decoder: Any) -> Any:
    """The reference of the model that a decoder holds; ValueError in words where there is none to find."""
    model = getattr(decoder, "model", None)
    make = next((make for known, make in KNOWN.items() if isinstance(model, known)), None)
    if make is not None:
        return make(decoder)
    if hasattr(model, "get_input_embeddings"):
        from .hf import HFReference  # only now: transformers is no requirement

        return HFReference(model)
    raise ValueError(
        f"{type(decoder).__name__} has no .model that the audit knows; pass reference=, a function of tokens [B, T] that "
        "returns logits [B, T, V] without a cache, or an object (kvaudit.protocol says what it can have)"
    )
