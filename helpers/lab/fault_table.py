"""The headline experiment: what each fault does to text and logits, and whether the audit flags and names it.

python -m helpers faults prints it for {random wide, random GPT-2 initialisation, trained ledger} x {learned, rope}.
"""

import json
from pathlib import Path

import torch

from ..audit import audit
from ..config import Config
from ..faults import CATALOGUE, faulty
from ..faults.scenarios import run_scenario, scenario_texts
from ..ledger import held_out, load, training_record
from ..model import MiniGPT
from ..reference import MiniGPTReference

WEIGHTS = ("random wide", "random GPT-2 init", "trained ledger")
POSITIONS = ("learned", "rope")
WRONG = 1e-7  # float64: correct decoders differ by 1e-12 at most, the smallest fault by 1e-2
PROMPTS, STEPS, WINDOW, ROOM = (
    20,
    24,
    48,
    24,
)  # prompts, tokens written, sliding window, rows of a buffer after the prompt


def model_of(weights, positions):
    """A model of the ledger's size: trained, or random with shared key/value heads (so that one more fault applies)."""
    if weights == "trained ledger":
        return load(positions)
    torch.manual_seed(0)
    config = {**training_record(positions)["config"], "n_kv_heads": 3}
    model = MiniGPT(Config(**config)).eval()
    model.reset_parameters(0.2 if weights == "random wide" else 0.02)
    return model


def prompts_of(weights, vocab_size):
    """`[B, T0]`: ledger prompts of one length for the trained model, random tokens for the others."""
    if weights != "trained ledger":
        return torch.randint(vocab_size, (PROMPTS, 60), generator=torch.Generator().manual_seed(1))
    by_length = {}
    for one in held_out(40 * PROMPTS, seed=2):
        same = by_length.setdefault(one.prompt_ids.shape[1], [])
        same.append(one.prompt_ids)
        if len(same) == PROMPTS:
            return torch.cat(same)
    raise ValueError(f"there are no {PROMPTS} held-out prompts of one length")


def text_differs(model, fault, prompts):
    """Share of prompts whose greedy text is not the oracle's; a decoder that cannot go on has another text."""
    batches = prompts.split(1) if fault.scenario == "beams" else [prompts]
    shares = []
    for batch in batches:
        got, right = scenario_texts(model, [fault.id], prompt=batch, n=STEPS, window=WINDOW)
        wrong = torch.ones(len(right), dtype=torch.bool) if got is None else (got != right).any(dim=1)
        shares.append(float((wrong[:1] if fault.scenario == "beams" else wrong).double().mean()))  # the best beam
    return sum(shares) / len(shares)


def measured(model, exact, references, fault, prompts):
    """The measured part of a row. Text in the model's own float32, logits in float64."""
    trace = run_scenario(exact, [fault.id], prompt=prompts[:5], n=STEPS, window=WINDOW)
    capacity = 13 + ROOM if fault.needs == "buffer" else None
    decoder = faulty(model, fault.id, capacity=capacity, window=WINDOW)
    report = audit(decoder, references[fault.needs == "window"])
    names = [suspect.fault for suspect in report.suspects]
    return {
        "text_differs": text_differs(model, fault, prompts),
        "first_step": trace.first_wrong(WRONG),
        "max_abs_diff": max(step.difference for step in trace.steps),
        "flagged": not report.ok,
        "rank": names.index(fault.id) + 1 if fault.id in names else None,
        "family_first": bool(report.suspects) and report.suspects[0].family == fault.family,
    }


def stored():
    """The rows that come with the course: python -m helpers faults --positions learned --json helpers/lab/fault_table.json."""
    return json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


COLUMNS = ("text_differs", "first_step", "max_abs_diff", "flagged", "rank", "family_first")


def rows(only=None, weights=WEIGHTS, positions=POSITIONS):
    """One dict per fault, weights and positions, as they are measured; null values where a fault does not apply."""
    for kind in weights:
        for position in positions:
            model = model_of(kind, position)
            exact = MiniGPTReference(model).double().model
            references = {windowed: MiniGPTReference(model, WINDOW if windowed else None) for windowed in (False, True)}
            prompts = prompts_of(kind, model.config.vocab_size)
            for fault in CATALOGUE.values():
                if only and fault.id not in only:
                    continue
                fits = fault.fits(model.config)
                values = measured(model, exact, references, fault, prompts) if fits else dict.fromkeys(COLUMNS)
                yield {"fault": fault.id, "weights": kind, "positions": position, **values}
