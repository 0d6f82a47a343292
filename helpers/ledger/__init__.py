"""The ledger model: a tiny trained MiniGPT that copies amounts, wallets, dates and evidence ids from a prompt.

Its text matters, so a cache fault shows as a fluent sentence with another record's money in it. From outside: the names
below; `measure` and `train` are programs of their own, `forms` is what the text is made of.
"""

import json
from pathlib import Path

import torch

from ..config import Config
from ..model import MiniGPT
from .corpus import Example, Record, example, held_out, parse_prompt
from .notes import Field, Fields, check_note
from .tokenizer import TOKENIZER

__all__ = ["TOKENIZER", "Example", "Field", "Fields", "Record"]
__all__ += ["check_note", "example", "held_out", "load", "parse_prompt", "training_record"]

FOLDER = Path(__file__).parent


def load(positions="learned", dtype=torch.float32):
    """The trained model with "learned" or "rope" positions, in eval mode; every call gives an independent one.

    Raises ValueError for other positions and FileNotFoundError, with the command that helps, where weights are missing.
    """
    from safetensors.torch import load_file

    config = Config(**training_record(positions)["config"])
    model = MiniGPT(config)
    model.load_state_dict(load_file(FOLDER / f"ledger-{positions}.safetensors"))
    return model.to(dtype).eval()


def training_record(positions="learned"):
    """What the training left beside the weights: `config`, and under `training` its seed, steps, seconds and figures."""
    if positions not in ("learned", "rope"):
        raise ValueError(f"the ledger model comes with positions 'learned' or 'rope', not {positions!r}")
    files = FOLDER / f"ledger-{positions}.json", FOLDER / f"ledger-{positions}.safetensors"
    missing = [file.name for file in files if not file.exists()]
    if missing:
        raise FileNotFoundError(
            f"{' and '.join(missing)} not found in {FOLDER}; restore from the repository, or train the model anew with "
            f"python -m helpers.ledger.train --positions {positions} --seed 0"
        )
    return json.loads(files[0].read_text(encoding="utf-8"))
