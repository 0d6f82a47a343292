"""The decoder under audit: its reference, fresh copies of it, and the same decoder in float64."""

import copy

import torch
from torch import nn

from .inputs import Unmade

KNOWN = {}  # class of a decoder's model -> function that makes the reference of such a decoder


def register(model_class, make):
    """Let `audit(decoder)` find its reference by itself where `decoder.model` is a `model_class`: `make(decoder)` makes it."""
    KNOWN[model_class] = make


def reference_for(decoder):
    """The reference of the model that a decoder holds; ValueError in words where there is none to find."""
    model = getattr(decoder, "model", None)
    make = next((make for known, make in KNOWN.items() if isinstance(model, known)), None)
    if make:
        return make(decoder)
    if hasattr(model, "get_input_embeddings"):
        from ..hf import HFReference  # only now: transformers is no requirement of the course

        return HFReference(model)
    raise ValueError(
        f"{type(decoder).__name__} has no .model that the audit knows; pass reference=, an object with logits(tokens), "
        "vocab_size, block_size, dtype and device (helpers/reference.py says what each must give)"
    )


def trait(decoder, name):
    """`window` or `capacity` of a decoder, or of the cache that it makes; None where it has none."""
    found = getattr(decoder, name, None)
    if found is None and callable(getattr(decoder, "new_cache", None)):
        found = getattr(decoder.new_cache(), name, None)
    return found if isinstance(found, int) else None


def builder(decoder, reference):
    """A function that gives a fresh decoder each time: what one script leaves behind must not reach the next."""
    if isinstance(decoder, type) or not hasattr(decoder, "prefill"):
        return lambda: made(decoder, reference.model)
    pristine = fresh(decoder)
    return lambda: fresh(pristine)


def made(maker, model):
    try:
        return maker(model)
    except Exception as error:  # noqa: BLE001 - the report says so
        return Unmade(error)


def fresh(decoder):
    """A copy with the same weights and its own caches."""
    shared = [x for m in modules(decoder) for x in (*m.parameters(), *filter(keeps_nothing, m.modules()))]
    try:
        return copy.deepcopy(decoder, {id(x): x for x in shared})
    except Exception:  # noqa: BLE001 - it holds something that cannot be copied: go on with the one there is
        return decoder


def keeps_nothing(module):
    """Whether it is a layer of torch's own that holds its weights alone: copies may share it, and copying is slow."""
    plain = type(module).__module__.startswith("torch.nn.modules") and not module._modules and not module._buffers
    return plain and not any(isinstance(value, (torch.Tensor, list)) for value in vars(module).values())


def modules(decoder):
    return [value for value in getattr(decoder, "__dict__", {}).values() if isinstance(value, nn.Module)]


def in_float64(reference, build):
    """(reference, builder) in float64, or None where the decoder cannot be converted."""
    if reference.dtype == torch.float64:
        return reference, build
    if not hasattr(reference, "double"):
        return None
    decoder = build()
    exact = remembered(reference, "float64", reference.double)
    if exact is None:  # the model's kernels know no float64
        return None
    if callable(getattr(decoder, "double", None)):
        twin = decoder.double()
    elif any(holds_floats(value) for value in getattr(decoder, "__dict__", {}).values()):
        twin = copy.copy(decoder)
        for name, value in vars(decoder).items():
            same = isinstance(value, nn.Module) and value is getattr(reference, "model", None)
            setattr(twin, name, exact.model if same else upcast(value))
    else:
        return None
    return exact, lambda: fresh(twin)


def holds_floats(value):
    if isinstance(value, dict):
        return any(holds_floats(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return any(holds_floats(v) for v in value)
    return isinstance(value, nn.Module) or (isinstance(value, torch.Tensor) and value.is_floating_point())


def upcast(value):
    """float64 copies of the modules and tensors in a value; anything else as it is."""
    if isinstance(value, nn.Module):
        return copy.deepcopy(value).double()
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {k: upcast(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(upcast(v) for v in value)
    return value


def remembered(reference, key, compute):
    """What was measured on a reference before: a table of many audits against one reference measures it once."""
    known = reference.__dict__.setdefault("measured", {})
    if key not in known:
        known[key] = compute()
    return known[key]
