"""The bug lab: any faults of the catalogue that one sequence can show, on a ledger prompt, beside the no-cache oracle.

    report = run(TWO, ["pos_restart"], steps=48)    # a LabReport: notes, values, differences, rows
    render(report)                                  # its picture and sentence, as HTML (module bug_view)
    audited(["pos_restart"])                        # verdict and suspects of an audit of this decoder (module findings)
    bug_lab()                                       # the widget over the three (module bug_panel)

Models, oracle notes and tolerances are kept, so that a new set of faults costs one cached decode.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch

from ..audit import measure
from ..caches import NoCacheWindow
from ..decoding import Oracle, generate
from ..faults import CATALOGUE, faulty, find
from ..ledger import TOKENIZER, Example, example, load, parse_prompt
from ..model import NoCache
from ..reference import MiniGPTReference
from .calls import Setting, decode_both, setting_of
from .compare import StepTable
from .faults import FaultReport, name_of
from .values import values_in

# Chosen, not typical: a decode that restarts at 0 writes another record's money into notes that read well. Of 150 prompts
# of the first size 9 show it, of 66 of the second 26.
TWO = example(records=2, asked=2, seed=66)
FIVE = example(records=5, asked=2, seed=31)
WHOLE = 128  # tokens: the longest note, on all of five records, has about 105
ONE_SEQUENCE = ("plain", "chunked", "second_request", "overflow", "window", "draft")


@dataclass(frozen=True, repr=False)
class LabReport(FaultReport):
    """What a decoder with `faults` (catalogue ids) did; `setting` are the calls, `floor` is what rounding alone does.

    The trace `table` has the oracle's tokens fed to both sides; `note` is what the decoder writes by itself.
    """

    prompt: str
    faults: tuple[str, ...]
    positions: str
    steps: int
    setting: Setting
    floor: float

    def __repr__(self):
        first = "no wrong step" if self.first_wrong is None else f"first wrong step {self.first_wrong}"
        return f"<LabReport: {self.title}; {first}; {len(self.fields.wrong)} of {len(self.fields)} values wrong>"


def applicable():
    """The catalogue's faults that one sequence can show, in its order: `{id: Fault}`."""
    return {
        id: fault for id, fault in CATALOGUE.items() if fault.scenario in ONE_SEQUENCE and fault.needs != "shared heads"
    }


def run(prompt, faults=(), steps=48, positions="learned"):
    """Decode `steps` tokens of a note with the given `faults`, and without a cache: a `LabReport`.

    `prompt` is a ledger `Example` or a prompt's text, `faults` are catalogue ids (none: the correct decoder), `positions`
    "learned" or "rope". Raises ValueError in words for a prompt that is not of the ledger's form, for an unknown fault
    and for faults that this model cannot have or that cannot be combined.
    """
    task, faults = parse(prompt), tuple(faults)
    model, tolerance = ledger_model(positions), tolerance_of(positions)
    setting = setting_of(faults, task.prompt_ids.shape[1])
    decoder = build(model, faults, setting)
    tokens, logits = oracle(task, steps, positions, setting.window)
    trace = decode_both(decoder, task.prompt_ids, tokens, steps, setting)
    table = StepTable(**trace.compared(logits), error=trace.error)
    notes = [TOKENIZER.decode(tokens), trace.note()]
    fields = [values_in(task, note) for note in notes]
    read = (name_of(faults), *notes, *fields, table, tolerance.value)
    return LabReport(*read, task.prompt, faults, positions, steps, setting, tolerance.null)


def parse(prompt):
    """The `Example` that a prompt's text describes; an `Example` is returned as it is."""
    if isinstance(prompt, Example):
        return prompt
    task = parse_prompt(prompt)
    TOKENIZER.encode(task.prompt)  # names the place where a word is unknown
    return task


def build(model, faults, setting):
    """The decoder, or ValueError in the words of the toggles."""
    for id in faults:
        if not find(id).fits(model.config):
            raise ValueError(f'"{find(id).title}" exists with rotary positions only; choose those, or leave it out.')
    try:
        return faulty(model, *faults, capacity=setting.capacity, window=setting.window or 0)
    except ValueError as error:
        words = str(error)
        for id in sorted(faults, key=len, reverse=True):
            words = words.replace(id, f'"{CATALOGUE[id].title}"') if id in CATALOGUE else words
        raise ValueError(f"{words}. Leave one of them out.") from error


@lru_cache
def ledger_model(positions):
    return load(positions)


@lru_cache
def tolerance_of(positions):
    """The float32 `Tolerance` of the ledger model: its floor, and the line between rounding and the smallest fault."""
    return measure(MiniGPTReference(ledger_model(positions)))


@lru_cache(maxsize=16)
@torch.inference_mode()
def oracle(task, steps, positions, window=None):
    """The oracle's note `[n]` and the logits `[n, V]` that choose it, n <= steps.

    A correct cached decoder drafts the note; one uncached pass over prompt and draft gives the logits. Where they choose
    the draft, token by token, it is what step-by-step decoding without a cache writes; otherwise that is done.
    """
    model, prompt = ledger_model(positions), task.prompt_ids
    new = min(steps, model.config.block_size - prompt.shape[1] + 1)
    no_cache = (lambda: NoCacheWindow(window)) if window else NoCache
    drafter = faulty(model, feature="window", window=window) if window else faulty(model)
    tokens = generate(drafter, prompt, new, stop=TOKENIZER.stop).tokens
    logits = uncached(model, prompt, tokens, no_cache())
    if not torch.equal(logits.argmax(-1), tokens[0]):
        tokens = generate(Oracle(model, no_cache), prompt, new, stop=TOKENIZER.stop).tokens
        logits = uncached(model, prompt, tokens, no_cache())
    return tokens[0], logits


def uncached(model, prompt, tokens, no_cache):
    """Logits `[n, V]` of one pass over prompt `[1, T0]` and tokens `[1, n]`: those that choose the tokens."""
    return model(torch.cat([prompt, tokens[:, :-1]], dim=1), no_cache)[0, prompt.shape[1] - 1 :]
