"""Measure the ledger model: exact notes, and what each fault does to the text.

python -m helpers.ledger.measure prints both for the two models, as the model card shows them.
"""

import statistics
from collections import defaultdict
from dataclasses import dataclass

import torch

from ..decoding import CachedDecoder, generate, teacher_forced
from ..model import OutOfPositions
from .corpus import example, held_out
from .notes import check_note
from .tokenizer import TOKENIZER

LONGEST_NOTE = 120  # tokens; the longest right note has 105 and its end token


def groups(examples):
    """Places of examples whose prompts have the same number of tokens: such prompts share a batch without padding."""
    places = defaultdict(list)
    for i, one in enumerate(examples):
        places[one.prompt_ids.shape[1]].append(i)
    return places.values()


def prompts_of(examples):
    return torch.cat([one.prompt_ids for one in examples])  # [B, T0]


def write_notes(decoder, examples):
    """The decoder's greedy notes, one for each example; prompts of equal length go in one batch."""
    notes = {}
    for rows in groups(examples):
        written = generate(decoder, prompts_of([examples[i] for i in rows]), LONGEST_NOTE, stop=TOKENIZER.stop).tokens
        notes |= {i: TOKENIZER.decode(ids) for i, ids in zip(rows, written.tolist())}
    return [notes[i] for i in range(len(examples))]


def exact_share(model, examples):
    """Share of examples whose note the model writes without a slip."""
    notes = write_notes(CachedDecoder(model), examples)
    return sum(note == one.note for note, one in zip(notes, examples)) / len(examples)


@dataclass
class FaultEffect:
    """What a fault did to the notes of some prompts. Shares from 0 to 1; None where there is nothing to take a share of."""

    id: str
    valid: float  # notes that still fit the template
    wrong_fields: float | None  # wrong values among all values of the valid notes
    borrowed: float | None  # wrong values that belong to another record, among the wrong ones
    silently_wrong: float  # notes that fit the template and have a wrong value, among all
    logits: (
        float | None
    )  # median over prompts of the largest difference, when the right note is fed; None: out of positions


def fault_effect(model, id, examples):
    """Write the notes with the fault `id`, and compare the logits when the right notes are fed."""
    checks, differences = [], []
    for rows in groups(examples):
        batch = [examples[i] for i in rows]
        try:
            notes = write_notes(prepared(model, id, batch), batch)
            differences += largest_differences(model, prepared(model, id, batch), batch)
        except OutOfPositions:
            notes = [""] * len(batch)
        checks += [check_note(one, note) for one, note in zip(batch, notes)]
    valid = [check for check in checks if check.fits_template]
    fields, wrong = sum(map(len, valid)), [field for check in valid for field in check.wrong]
    return FaultEffect(
        id,
        len(valid) / len(checks),
        len(wrong) / fields if fields else None,
        sum(field.record_of is not None for field in wrong) / len(wrong) if wrong else None,
        sum(bool(check.wrong) for check in valid) / len(checks),
        statistics.median(differences) if differences else None,
    )


def prepared(model, id, batch):
    """The faulty decoder for a batch of equal length, in the calls that show the fault.

    It has served one request before (every row the same other prompt and its note), for stale faults; it prefills in
    three chunks where the fault is in chunks; and a buffer that is to overflow ends eight rows after the prompt.
    """
    from ..faults import faulty, find  # here, so that measuring exact notes does not need the catalogue

    scenario, T0 = find(id).scenario, batch[0].prompt_ids.shape[1]
    decoder = faulty(model, id, capacity=T0 + 8 if scenario == "overflow" else None)
    if scenario == "second_request":
        earlier = example(3, 1, seed="an earlier request").prompt_ids.expand(len(batch), -1)
        generate(decoder, earlier, LONGEST_NOTE, stop=TOKENIZER.stop)
    return InThree(decoder) if scenario == "chunked" else decoder


class InThree:
    """A decoder that reads its prompt in three chunks."""

    def __init__(self, decoder):
        self.decoder, self.decode = decoder, decoder.decode

    def prefill(self, tokens):
        first, *rest = tokens.chunk(3, dim=1)
        logits = self.decoder.prefill(first)
        for chunk in rest:
            logits = self.decoder.extend(chunk)
        return logits


def measurable(config):
    """The faults that show in one batch of prompts of equal length: without padding, beams, drafts, stored prefix or window."""
    from ..faults import CATALOGUE

    scenarios = ("plain", "second_request", "chunked", "overflow")
    return [id for id, fault in CATALOGUE.items() if fault.scenario in scenarios and fault.fits(config)]


def largest_differences(model, decoder, batch):
    """For each example the largest difference of any logit from the correct decoder's, the right note being fed."""
    notes = [TOKENIZER.encode(one.note) + [TOKENIZER.stop] for one in batch]
    longest = max(map(len, notes))
    tokens = torch.tensor([ids + [TOKENIZER.stop] * (longest - len(ids)) for ids in notes])  # [B, n]
    logits = [teacher_forced(d, prompts_of(batch), tokens) for d in (CachedDecoder(model), decoder)]  # [B, n, V] each
    difference = (logits[0] - logits[1]).abs().amax(-1)  # [B, n]
    return [row[: len(ids)].max().item() for row, ids in zip(difference, notes)]


def main(prompts=100):
    from . import load

    for positions in ("learned", "rope"):
        model = load(positions)
        print(f"\n{positions}: {exact_share(model, held_out(400)):.2%} of 400 held-out notes exact\n")
        print("| fault | notes that fit | wrong fields | of another record | silently wrong notes | logits |")
        print("|---|---|---|---|---|---|")
        for id in measurable(model.config):
            print(row(fault_effect(model, id, held_out(prompts, seed=1))), flush=True)


def row(effect):
    shares = [effect.valid, effect.wrong_fields, effect.borrowed, effect.silently_wrong]
    texts = ["–" if share is None else f"{share:.0%}" for share in shares]
    logits = "out of positions" if effect.logits is None else f"{effect.logits:.2g}"
    return f"| `{effect.id}` | {' | '.join(texts)} | {logits} |"


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
