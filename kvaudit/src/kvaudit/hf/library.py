"""What the adapter has to know about `transformers`: version range, names of arguments, config fields, attention function."""

from __future__ import annotations

import copy
import inspect
from contextvars import ContextVar
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from ..protocol import Attend

VERSIONS = ((5, 10), (6, 0))  # from the first up to, but not, the second; run with 5.10.0 and 5.24.0
TAP = "kv_cache_audit"  # the name of our attention function
tapped: ContextVar[Attend] = ContextVar("tapped")  # attend(layer, q, k, v, scale) of the forward pass that runs now


def check_version(version: str) -> None:
    """Raise ImportError in words for a `transformers` version outside the range that this file was written for."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    low, high = (".".join(map(str, v)) for v in VERSIONS)
    if not VERSIONS[0] <= numbers < VERSIONS[1]:
        raise ImportError(
            f"transformers {version} is installed; this adapter knows versions from {low} up to (not including) {high}. "
            f'Install one: pip install "transformers>={low},<{high}", or pass audit() a decoder and reference of your own'
        )


def check_model(model: Any) -> None:
    """Raise ValueError in words unless `model` is a causal language model in evaluation mode."""
    import transformers

    check_version(transformers.__version__)
    name = type(model).__name__
    if getattr(model, "get_output_embeddings", lambda: None)() is None:
        raise ValueError(
            f"{name} has no language model head: load it as a causal language model (AutoModelForCausalLM)"
        )
    if getattr(model.config, "is_encoder_decoder", False):
        raise ValueError(f"{name} is an encoder-decoder; the audit knows decoder-only models")
    if model.training:
        raise ValueError(f"{name} is in training mode, where dropout makes every call another one: call model.eval()")


def text_config(model: Any) -> Any:
    return model.config.get_text_config(decoder=True)


def rotary_module(model: nn.Module) -> Any:
    return next((m for m in model.modules() if isinstance(getattr(m, "inv_freq", None), torch.Tensor)), None)


def last_position(model: Any) -> int | None:
    """Tokens that fit where positions are learned; None where they are computed (rotary) and none is the last."""
    computed = any("rotary" in type(m).__name__.lower() for m in model.modules())
    return None if computed else getattr(text_config(model), "max_position_embeddings", None)


def windows(config: Any) -> list[int | None]:
    """The sliding window of each layer in tokens, None where a layer sees everything."""
    W, L = getattr(config, "sliding_window", None), config.num_hidden_layers
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * L
    return [W if kind == "sliding_attention" else None for kind in kinds]


def tap(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """The registered attention function: q `[B, H, T, D]`, k and v `[B, H_kv, T, D]` in, `[B, T, H, D]` out."""
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    return tapped.get()(module.layer_idx, query, key, value, scale).transpose(1, 2), None


def with_tap(model: Any) -> Any:
    """A twin of the model over the very same weights, whose layers attend through `tap`; it asks for no mask."""
    from transformers import AttentionInterface

    AttentionInterface.register(TAP, tap)
    twin = copy.deepcopy(model, {id(t): t for t in chain(model.parameters(), model.buffers())})
    twin.set_attn_implementation(TAP)
    return twin


def in_float64(model: Any) -> Any:
    """A copy of the model with float64 weights; experts run one by one, their grouped kernel has no float64."""
    twin = copy.deepcopy(model).double()
    if hasattr(twin, "set_experts_implementation"):
        twin.set_experts_implementation("eager")
    return twin


def cache_argument(model: Any) -> str:
    """What this version calls the cache in `model.forward`: "cache", or "past_key_values" in older ones."""
    names = inspect.signature(model.forward).parameters
    found = next((name for name in ("cache", "past_key_values") if name in names), None)
    if found is None:
        raise ValueError(f"{type(model).__name__}.forward takes neither cache nor past_key_values: it has no K/V cache")
    return found
