"""Loads a saved `transformers` model from a folder: local files only, none of the folder's own code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .library import check_version

DTYPES = {name: getattr(torch, name) for name in ("float64", "float32", "bfloat16", "float16")}
WEIGHTS = ("*.safetensors", "*.bin")
SAFE = {"local_files_only": True, "trust_remote_code": False}  # nothing is asked: not a hub, and not the terminal


class Unusable(Exception):
    """What was named cannot be audited; the text says why and what to do."""


def load(folder: Path, dtype: str = "auto", device: str = "cpu") -> Any:
    """The causal language model in `folder`, in evaluation mode. Raises Unusable; never asks a hub, never runs its code."""
    check_folder(folder)
    transformers = library()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **SAFE)
        check_causal(transformers, config, folder)
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=DTYPES.get(dtype, "auto"), output_loading_info=True, **SAFE
        )
        model = model.to(device).eval()
    except Unusable:
        raise
    except Exception as error:
        raise Unusable(f"{folder} could not be loaded: {type(error).__name__}: {error}") from error
    check_weights(model, info["missing_keys"], folder)
    return model


def library() -> Any:
    try:
        import transformers

        check_version(transformers.__version__)
    except ImportError as error:
        hint = "" if "installed" in str(error) else '; install it: pip install "transformers>=5.10,<6"'
        raise Unusable(f"{error}{hint}") from error
    return transformers


def check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise Unusable(f"there is no folder {folder} (models are read from disk; nothing is downloaded)")
    if not (folder / "config.json").is_file():
        raise Unusable(f"{folder} has no config.json: save the model with model.save_pretrained({str(folder)!r})")
    if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        raise Unusable(f"{folder} has a config.json but no weights ({' or '.join(WEIGHTS)})")


def check_causal(transformers: Any, config: Any, folder: Path) -> None:
    known = transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    name, saved_as = known.get(config.model_type), config.architectures or []
    names = name if isinstance(name, (list, tuple)) else [name]
    if name is None or (saved_as and not set(saved_as) & set(names)):
        what = " or ".join(saved_as) or config.model_type
        raise Unusable(f"{folder} holds a {what}, which is not a causal language model: there is no cached decoding")


def check_weights(model: Any, missing: set[str], folder: Path) -> None:
    if missing:
        some = ", ".join(sorted(missing)[:3])
        raise Unusable(f"{folder}: {len(missing)} weights are missing and would be random ({some}, …)")
    bad = next((name for name, p in model.named_parameters() if not bool(torch.isfinite(p).all())), None)
    if bad is not None:
        raise Unusable(f"{folder}: the weight {bad} holds NaN or infinity; every logit would be one, and prove nothing")
