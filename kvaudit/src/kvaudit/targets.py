"""What the terminal names: a folder with a saved model, or a function that makes a decoder."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .hf.loading import Unusable, load


@dataclass
class Target:
    """What is audited, under which `name`; `note` is a line for the report."""

    name: str
    decoder: Any
    reference: Any = None
    device: torch.device | str = "cpu"
    float64: bool = True
    note: str = ""


def find(options: argparse.Namespace) -> Target:
    """The target of a command line. Raises Unusable in words."""
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", options.target) and not Path(options.target).exists():
        return made_by(options.target, options.float64 != "never")
    return saved_in(Path(options.target), options)


def made_by(target: str, float64: bool) -> Target:
    """Call `module:function` and take what it returns: a decoder, or (decoder, reference)."""
    module, _, name = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), name)
        made = function()
    except (ImportError, AttributeError) as error:
        raise Unusable(f"{target} was not found from {Path.cwd()}: {error}") from error
    except Exception as error:
        raise Unusable(f"{target} raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    decoder, reference = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    return Target(target, decoder, reference, float64=float64)


def saved_in(folder: Path, options: argparse.Namespace) -> Target:
    from .hf import HFDecoder, HFReference

    check_device(options.device)
    model = load(folder, options.dtype, options.device)
    float64, note = wants_float64(model, options.float64)
    try:
        decoder, reference = HFDecoder(model, options.cache, options.capacity), HFReference(model)
    except ValueError as error:
        raise Unusable(str(error)) from error
    return Target(folder.resolve().name, decoder, reference, model.device, float64, note)


def check_device(name: str) -> None:
    """Raise Unusable where nothing can be computed on the device."""
    try:
        if torch.zeros(1, device=name).is_meta:
            raise RuntimeError("tensors there have a shape and no values")
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise Unusable(f"--device {name!r} cannot be used here: {str(error).splitlines()[0]}") from error


def wants_float64(model: Any, choice: str) -> tuple[bool, str]:
    """(whether to make a float64 copy, a note where it was left out for want of memory)."""
    need, free = 8 * sum(p.numel() for p in model.parameters()), free_memory(model.device)
    if choice != "auto" or free is None or need <= free / 2:
        return choice != "never", ""
    words = f"it takes {need / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; --float64 always makes it anyway"
    return False, f"no float64 copy was made: {words}"


def free_memory(device: torch.device) -> int | None:
    """Bytes of free memory where the model is; None where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
