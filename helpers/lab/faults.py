"""Break it: the oracle's note beside that of a decoder with a fault, and where the logits leave."""

from dataclasses import dataclass

from ..decoding import Oracle, generate
from ..faults import CATALOGUE, faulty
from ..ledger import TOKENIZER, check_note, example
from ..model import OutOfPositions
from ..plots import curves as plots
from .compare import StepTable, compare
from .fault_view import render_fault
from .panel import Choice, Panel

SAMPLES = ("pos_restart", "attend_then_append", "not_reset")
EARLIER = 1  # seed of the request that the decoder serves first, so that something can be left over


@dataclass(frozen=True)
class FaultReport:
    """What one decoder did with one ledger prompt. `fields` and `oracle_fields` are what `check_note` read in the notes."""

    title: str
    oracle_note: str
    note: str
    oracle_fields: list
    fields: list
    table: StepTable
    tolerance: float

    @property
    def first_wrong(self):
        return self.table.first_wrong(self.tolerance)


def run_fault(model, task, faults, tolerance, max_new_tokens=80):
    """Decode the `Example` `task` with the given `faults` (ids; none is the correct decoder) and without a cache.

    The decoder has answered another request before. Its text is what it writes freely; its logits are compared with the
    oracle's tokens fed to both.
    """
    return run_decoder(name_of(faults), lambda: used(model, faults), model, task, tolerance, max_new_tokens)


def run_decoder(title, make, model, task, tolerance, max_new_tokens=80):
    """The `FaultReport` of the decoders that `make()` builds, beside the `model` without a cache."""
    prompt = task.prompt_ids  # [1, T0]
    oracle = generate(Oracle(model), prompt, max_new_tokens, stop=TOKENIZER.stop)
    table = compare(make(), Oracle(model), prompt, oracle.tokens)
    notes = [TOKENIZER.decode(oracle.tokens[0]), write(make(), prompt, max_new_tokens)]
    fields = [check_note(task, note) for note in notes]
    return FaultReport(title, *notes, *fields, table, tolerance)


def name_of(faults):
    return " and ".join(CATALOGUE[id].title for id in faults) or "correct"


def used(model, faults, batch=1):
    """A decoder that has just served another request, of `batch` equal rows."""
    decoder = faulty(model, *faults)
    write(decoder, example(records=2, asked=1, seed=EARLIER).prompt_ids.repeat(batch, 1), 40)
    return decoder


def write(decoder, prompt, max_new_tokens):
    """The text that the decoder writes, up to its stop token or to where it runs out of positions."""
    try:
        return TOKENIZER.decode(generate(decoder, prompt, max_new_tokens, stop=TOKENIZER.stop).tokens[0])
    except OutOfPositions as error:
        return f"(no note: {error})"


def fault_panel(model, tasks, tolerance, faults=SAMPLES):
    """Toggles: the fault (or none) and the prompt. `tasks` maps words to ledger `Example`s.

    `panel.report(words, faults)` is the `FaultReport` behind a setting, computed once.
    """
    options = {name_of(chosen): chosen for chosen in [(), *((id,) for id in faults)]}
    reports = {}

    def report(task, chosen):
        if (task, chosen) not in reports:
            reports[task, chosen] = run_fault(model, tasks[task], chosen, tolerance)
        return reports[task, chosen]

    def still():
        first = next(iter(tasks))
        traces = {name: report(first, chosen).table.differences for name, chosen in options.items()}
        return plots.trace(traces, tolerance).png()

    controls = {"fault": Choice("Decoder:", options), "prompt": Choice("Prompt:", {words: words for words in tasks})}
    panel = Panel("Break it", controls, lambda fault, prompt: render_fault(report(prompt, fault)), still)
    panel.report = report
    return panel
